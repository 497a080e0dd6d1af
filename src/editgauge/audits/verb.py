"""The verb `audit`: does an evaluator tell good edits from bad ones? A card for every score."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from editgauge.audits.cards.assemble import card_of, models_of, score_named, scores_to_mix
from editgauge.audits.cards.page import write_page
from editgauge.audits.cards.result import CARD, AuditCard, is_steadiness, to_json
from editgauge.audits.judges.ask import ask_about_pairs, spent_in
from editgauge.audits.judges.sides import tell_sides, two_objects
from editgauge.audits.probes.build import MOST_OF_A_TYPE
from editgauge.audits.probes.build import probes as make_probes
from editgauge.audits.probes.probes import OUTCOMES, TRUTHS, Probe, read_probes
from editgauge.core.errors import BadInput
from editgauge.core.files import write_json
from editgauge.engine.judges import FOLDER, read_jury
from editgauge.engine.options import choose_with_models
from editgauge.engine.options import pairs as pairs_of
from editgauge.engine.run import run
from editgauge.models.profiles import LEFT_OUT

RUNS, PROBES, PAIRS = "runs", "probes", "pairs"
NO_SETS = {"fid_features": LEFT_OUT}
"""Probes of all kinds together are no set of outcomes: an FID of them tells nothing, and costs more than all else."""


def audit(
    protocol: Sequence[str] = (),
    out: str | Path = "audit",
    probes: str | Path | None = None,
    models: str | None = None,
    model: Mapping[str, str] | Sequence[str] = (),
    judge: Mapping[str, str] | Sequence[str] = (),
    price: str | None = None,
    budget: float | None = None,
    max_tokens: int | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    pairs: int | None = None,
    blend: str | None = None,
    against: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    processes: int = 0,
    quiet: bool = False,
) -> AuditCard:
    """Holds protocols and judges against probes whose truth is known, and writes a card of how they fare.

    Given again it continues. The card (`card.json`, `index.html`) tells of the held-back photographs alone; the others
    serve to choose a mark for scores that have none.

    Args:
        protocol: the protocols to audit; none for a judge that is only shown pairs.
        out: the folder for the card, and for the runs behind it.
        probes: the folder with the probes; they are made there when there are none. Left out, in `out`.
        models: the profile whose models add scores: lite, paper or best.
        model: another model for a role: `{"detector": "name"}` or `["detector=name"]`.
        judge: who answers, for protocols that ask: `openai:MODEL@URL`, `transformers:FOLDER`, or `NAME=ADDRESS`.
        price: what a million tokens cost, as `PROMPT,COMPLETION`.
        budget: the most that all calls may cost together; needs `price`.
        max_tokens: how long an answer of a judge may become; 512 when left out.
        prompts: a folder of prompts in place of the built-in ones.
        replay: ask no judge; answer from the transcripts of the run.
        pairs: show each judge so many pairs of outcomes of which the better one is known, in both orders and once more.
        blend: two scores to be mixed, as PRESERVATION,MODIFICATION: does a mix do better than either?
        against: a score, such as `editgauge/edit`, to be compared with each other one on the probes that both can
            score; left out, the best-telling scores of the protocols are compared two by two.
        limit: when probes are made, at most so many edits of each type.
        seed: for everything drawn at random.
        processes: worker processes; 0 chooses by cores and work.
        quiet: no progress, no remarks.
    """
    wanted = [protocol] if isinstance(protocol, str) else list(protocol)
    if not wanted and pairs is None:
        raise BadInput("Name at least one protocol to audit, or give --judge and --pairs.")
    if pairs is not None and not judge:
        raise BadInput("--pairs shows outcomes to a judge: give --judge too.")
    asked = {**NO_SETS, **pairs_of(model, "model", "ROLE=NAME")}
    if wanted:
        jury = read_jury(judge, price, budget, max_tokens, replay, prompts)
        _check_names(wanted, models, asked, jury.addresses, blend, against)
    folder = Path(out)
    place = Path(probes) if probes is not None else folder / PROBES
    told = _probes(place, limit, seed, quiet)
    seconds = _earlier(folder)
    runs = []
    for name in wanted:  # a run of its own each: its time is known, and another one's models never start it anew
        begun = time.monotonic()
        runs.append(
            run(
                place,
                {"probes": place / OUTCOMES},
                [name],
                folder / RUNS / _folder_name(name),
                models=models,
                model=asked,
                judge=judge,
                price=price,
                budget=what_is_left(budget, folder, folder / RUNS / _folder_name(name)),
                max_tokens=max_tokens,
                prompts=prompts,
                replay=replay,
                seed=seed,
                processes=processes,
                quiet=quiet,
            )
        )
        seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - begun, 1)
    sides = tell_sides(two_objects(place, told), models_of(runs))
    shown = {}
    if pairs is not None:
        jury = read_jury(judge, price, what_is_left(budget, folder, folder / PAIRS), max_tokens, replay, prompts)
        shown = ask_about_pairs(jury, place, told, pairs, folder / PAIRS / FOLDER, seed, quiet)
    card = card_of(runs, told, blend, seconds, sides, shown, against)
    write_json(folder / CARD, to_json(card))
    write_page(card, place, folder)
    return card


def _check_names(
    wanted: Sequence[str],
    models: str | None,
    model: Mapping[str, str],
    judges: Collection[str],
    blend: str | None,
    against: str | None,
) -> None:
    """A wrong name is told now, and not when everything is scored."""
    protocols, _ = choose_with_models(wanted, models, model, judges)
    known = [(each.name, spec.name) for each in protocols for spec in each.scores if not is_steadiness(spec.name)]
    if blend is not None:
        scores_to_mix(blend, known)
    if against is not None:
        score_named(against, known, "--against")


def what_is_left(budget: float | None, folder: Path, mine: Path) -> float | None:
    """Of a budget for all calls together, what is left for one part beside what the others cost."""
    if budget is None:
        return None
    parts = [*(folder / RUNS).glob("*"), folder / PAIRS]
    return max(0.0, budget - spent_in(part / FOLDER for part in parts if part != mine))


def _folder_name(protocol: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^\w@=,\[\]-]", "-", protocol)


def _probes(place: Path, limit: int | None, seed: int, quiet: bool) -> tuple[Probe, ...]:
    if not (place / TRUTHS).is_file():
        return make_probes(place, limit=MOST_OF_A_TYPE if limit is None else limit, seed=seed, quiet=quiet)
    if limit is not None:
        raise BadInput(f"--limit is for probes that are to be made; those in '{place}' are there already.")
    return read_probes(place)


def _earlier(folder: Path) -> dict[str, float]:
    """The seconds that earlier calls took; a card that cannot be read costs nothing but them."""
    try:
        return {
            str(name): float(took) for name, took in json.loads((folder / CARD).read_text("utf-8"))["seconds"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
