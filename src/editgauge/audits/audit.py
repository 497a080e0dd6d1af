"""The verb `audit`: does an evaluator tell good edits from bad ones? A card for every score."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from editgauge._util.files import write_json
from editgauge.analysis.ratings import read_ratings
from editgauge.audits._card_page import write_page
from editgauge.audits._probe_questions import ask_about_pairs, tell_sides, two_objects, two_objects_of_coco
from editgauge.audits._probe_set import OUTCOMES, TRUTH_FILE, Probe, read_probes
from editgauge.audits.audit_card import (
    CARD,
    STEADINESS,
    AuditCard,
    card_of,
    models_of,
    score_named,
    scores_to_mix,
)
from editgauge.audits.human_reference import human_reference, reference_runs
from editgauge.audits.probes import DEFAULT_EDITS_PER_TYPE
from editgauge.audits.probes import probes as make_probes
from editgauge.engine._judges import FOLDER, read_judge_config
from editgauge.engine._options import open_protocols_with_models
from editgauge.engine._options import pairs as pairs_of
from editgauge.engine.run import run
from editgauge.errors import BadInputError
from editgauge.judges._transcripts import Transcripts
from editgauge.models.profiles import NO_MODEL
from editgauge.options import Amount, Count, JudgeOptions, ModelOptions, Natural, Pairs, document_options
from editgauge.results import Run

RUNS, PROBES, PAIRS, GROUND = "runs", "probes", "pairs", "ground"
WITHOUT_SET_METRICS = {"fid_features": NO_MODEL}
"""Probes of all kinds together are no set of outcomes: an FID of them tells nothing, and costs more than all else."""


@document_options
def audit(
    *,
    protocol: Sequence[str] = (),
    out: str | Path = "audit",
    probes: str | Path | None = None,
    models: str | None = None,
    model: Pairs = (),
    judge: str | Pairs = (),
    price: str | None = None,
    budget: Amount | None = None,
    max_tokens: Count | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    pairs: Count | None = None,
    blend: str | None = None,
    against: str | None = None,
    coco: str | Path | None = None,
    images: str | Path | None = None,
    ground: str | None = None,
    ratings: str | Path | None = None,
    limit: Count | None = None,
    seed: int = 0,
    processes: Natural = 0,
    quiet: bool = False,
) -> AuditCard:
    """Test protocols and judges on edits whose right answer is known, and write a card with the results.

    Probes are made of photographs (`editgauge data pull photos`) unless a folder of them is given. The card
    (`card.json`, `index.html`) reports held-out photographs only; the others serve to choose thresholds. Run the same
    command again to continue after a stop.

    Example:
        $ editgauge audit --protocol editval --protocol preservation --models lite --out audit
        $ editgauge audit --protocol editgauge --ground run --ratings imagenhub=Text-Guided_IE --out audit
        >>> editgauge.audit(protocol=["editval", "preservation"], models="lite", out="audit")

    Args:
        protocol: protocol to audit; repeat for several. None for a judge that only compares pairs.
        out: folder for the card and the runs behind it.
        probes: folder with the probes; they are made there if it is empty. Default: a folder in `out`.
        pairs: show each judge N pairs with a known better outcome, to measure its bias towards one position.
        blend: two scores, `PRESERVATION,MODIFICATION`: is a mix better than either?
        against: score to compare with every other one, such as `editgauge/edit`; by default the best scores of the
            protocols are compared in pairs.
        coco: COCO's instance annotations (JSON): whether models tell left from right is then asked about annotated
            photographs, as in EditVal's appendix J; needs `images`.
        images: folder of COCO's photographs.
        ground: real edits that people rated, as a reference set: a run folder, or `BENCHMARK=FOLDER` with a subfolder
            of outcomes per method, such as `imagenhub=ImagenHub_Text-Guided_IE`; needs `ratings`.
        ratings: people's ratings of the reference set, in the formats of `editgauge agree`.
        limit: maximum number of edits per type when probes are made; default 20.
        seed: random seed.
        processes: worker processes; 0 chooses by cores and work.
        quiet: print no progress, remarks or tables.

    """
    names = [protocol] if isinstance(protocol, str) else list(protocol)
    if not names and pairs is None:
        raise BadInputError("Name at least one protocol to audit, or give `judge` and `pairs`.")
    if pairs is not None and not judge:
        raise BadInputError("`pairs` shows outcomes to a judge: give `judge` too.")
    if (coco is None) != (images is None):
        raise BadInputError("`coco` and `images` go together: the annotations, and the folder of the photographs.")
    if (ground is None) != (ratings is None):
        raise BadInputError(
            "`ground` and `ratings` go together: outcomes of real edits, and what people said about them."
        )
    photographs = two_objects_of_coco(Path(coco), Path(images)) if coco is not None and images is not None else None
    chosen_models = {**WITHOUT_SET_METRICS, **pairs_of(model, "model", "ROLE=NAME")}
    judges = JudgeOptions(
        judge=judge, price=price, budget=budget, max_tokens=max_tokens, prompts=prompts, replay=replay
    )
    if names:
        options = ModelOptions(models=models, model=chosen_models)
        _check_names(names, options, read_judge_config(judges).addresses, blend=blend, against=against)
    folder = Path(out)
    path = Path(probes) if probes is not None else folder / PROBES
    listed_probes = _probes(path, limit, seed, quiet=quiet)
    seconds = _earlier(folder)
    runs = []

    def scored(benchmark: str | Path, data: Path | None, outcomes: Mapping[str, Path], name: str, part: str) -> Run:
        """Run each protocol on its own, to know its time and isolate its models."""
        out = folder / part / _folder_name(name)
        return run(
            benchmark,
            data=data,
            outcomes=outcomes,
            protocol=[name],
            out=out,
            models=models,
            model=chosen_models,
            judge=judge,
            price=price,
            budget=what_is_left(budget, folder, out),
            max_tokens=max_tokens,
            prompts=prompts,
            replay=replay,
            seed=seed,
            processes=processes,
            quiet=quiet,
        )

    for name in names:
        begun = time.monotonic()
        runs.append(scored(path, None, {"probes": path / OUTCOMES}, name, RUNS))
        seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - begun, 1)
    sides = tell_sides(photographs or two_objects(path, listed_probes), models_of(runs))
    pair_findings = {}
    if pairs is not None:
        jury = read_judge_config(replace(judges, budget=what_is_left(budget, folder, folder / PAIRS)))
        pair_findings = ask_about_pairs(
            jury, path, listed_probes, pairs, transcripts=folder / PAIRS / FOLDER, seed=seed, quiet=quiet
        )
    card = card_of(runs, listed_probes, blend=blend, seconds=seconds, sides=sides, pairs=pair_findings, against=against)
    if ground is not None and ratings is not None:
        benchmark = ground if Path(ground).is_dir() else ground.partition("=")[0]
        rated = reference_runs(
            ground, ratings, names, lambda name, data, outcomes: scored(benchmark, data, outcomes, name, GROUND)
        )
        card = replace(card, human_reference=human_reference(Path(benchmark).name, rated, read_ratings(Path(ratings))))
    write_json(folder / CARD, asdict(card))
    write_page(card, path, folder)
    return card


def _check_names(
    names: Sequence[str], models: ModelOptions, judges: Collection[str], *, blend: str | None, against: str | None
) -> None:
    """Check all names before scoring."""
    protocols, _ = open_protocols_with_models(names, models, judges)
    available = [
        (protocol.name, spec.name) for protocol in protocols for spec in protocol.scores if spec.name not in STEADINESS
    ]
    if blend is not None:
        scores_to_mix(blend, available)
    if against is not None:
        score_named(against, available, "against")


def what_is_left(budget: float | None, folder: Path, mine: Path) -> float | None:
    """Return what is left of a budget for one part, after the cost of the others."""
    if budget is None:
        return None
    parts = [*(folder / RUNS).glob("*"), *(folder / GROUND).glob("*"), folder / PAIRS]
    other_parts = [part / FOLDER for part in parts if part != mine and (part / FOLDER).is_dir()]
    return max(0.0, budget - sum(Transcripts(candidate).spent for candidate in other_parts))


def _folder_name(protocol: str) -> str:
    """Return a valid file name."""
    return re.sub(r"[^\w@=,\[\]-]", "-", protocol)


def _probes(path: Path, limit: int | None, seed: int, *, quiet: bool) -> tuple[Probe, ...]:
    if not (path / TRUTH_FILE).is_file():
        return make_probes(out=path, limit=DEFAULT_EDITS_PER_TYPE if limit is None else limit, seed=seed, quiet=quiet)
    if limit is not None:
        raise BadInputError(f"`limit` is for probes that are to be made; those in '{path}' are there already.")
    return read_probes(path)


def _earlier(folder: Path) -> dict[str, float]:
    """Return the seconds of earlier calls."""
    try:
        return {
            str(name): float(took) for name, took in json.loads((folder / CARD).read_text("utf-8"))["seconds"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
