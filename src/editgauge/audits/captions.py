"""The verb `judges captions`: the difference captions of a run's outcomes, and what people of a study made of them."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from editgauge._util.progress import log_info
from editgauge._util.variants import paper_name
from editgauge.benchmarks.outcome_captions import Captions, OutcomeCaption, write_captions
from editgauge.errors import BadInputError
from editgauge.results import Run

PROTOCOL, SCORE, CAPTION_PREFIX = "difference-captions", "differences", "Told: "
"""Which protocol writes captions, and how the evidence of which score gives one."""
NOTHING = "no difference"
CORRECTION_QUESTION = "differences"
"""The question of the study design `editinspector` whose answer is the corrected caption."""


def captions(
    run: str | Path,
    *,
    out: str | Path,
    protocol: str | None = None,
    study: str | Path | None = None,
    quiet: bool = False,
) -> Path:
    """Write the difference caption of every outcome of a run, with what people corrected in a study.

    `editgauge study create --captions` shows the captions to people; `editgauge run --captions` scores with them.

    Example:
        $ editgauge judges captions run --out captions.jsonl
        $ editgauge judges captions run --study study --out corrected.jsonl
        >>> captions("run", out="captions.jsonl")

    Args:
        run: run folder with the protocol `difference-captions`.
        out: file to write, `.jsonl`: a line per outcome.
        protocol: full name of the protocol whose captions to take, where the run has several.
        study: study folder with the design `editinspector`: what people wrote is kept next to the machine's caption.
        quiet: print no remarks.

    """
    opened = Run.open(Path(run))
    name = _protocol(opened, protocol)
    by_machine = _captions(opened, name)
    people = _corrected(Path(study)) if study is not None else {}
    unmatched = [key for key in people if key not in by_machine]
    if people and len(unmatched) == len(people):
        raise BadInputError(f"No outcome of the study '{study}' is one of the run '{run}'.")
    merged = {
        key: OutcomeCaption(item.caption, item.by, tuple(people.get(key, ()))) for key, item in by_machine.items()
    }
    write_captions(out, merged)
    edited = sum(bool(value.people) for value in merged.values())
    words = f", {edited} with captions by people" if study is not None else ""
    log_info(f"{out}: captions of {len(merged)} outcomes by {name}{words}.", quiet=quiet)
    return Path(out)


def _protocol(run: Run, name: str | None) -> str:
    candidates = [name for name in run.manifest.protocols if paper_name(name) == PROTOCOL]
    if name in candidates:
        return str(name)
    if name is not None or len(candidates) != 1:
        problem = f"has no protocol '{name}'" if name else f"has {len(candidates)} protocols that write captions"
        raise BadInputError(f"The run '{run.folder}' {problem}; name one with `protocol`.", candidates)
    return candidates[0]


def _captions(run: Run, protocol: str) -> Captions:
    captions: Captions = {}
    for key, score, text in run.iter_evidence():
        if key.protocol != protocol or score != SCORE:
            continue
        note = str(json.loads(text).get("note", ""))
        if note.startswith(CAPTION_PREFIX):
            caption = note.removeprefix(CAPTION_PREFIX)
            captions[key.edit, key.method, key.seed] = OutcomeCaption("" if caption == NOTHING else caption, protocol)
    if not captions:
        raise BadInputError(f"No outcome of the run '{run.folder}' has a caption by '{protocol}'.")
    return captions


def _corrected(folder: Path) -> dict[tuple[str, str, int], list[str]]:
    """Return the captions that people wrote about each outcome."""
    from editgauge.studies.records import records
    from editgauge.studies.study import Study

    texts: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    with Study.open(folder) as study:
        if study.design.question(CORRECTION_QUESTION) is None or study.design.unit != "outcome":
            raise BadInputError(
                f"The study '{folder}' has no question about captions; its design must be `editinspector`."
            )
        with study.database.read() as session:
            for page in records(session):
                text = page.answers.get(CORRECTION_QUESTION)
                if page.state == "done" and page.kind == "rated" and isinstance(text, str) and text.strip():
                    (outcome,) = page.compared
                    texts[page.edit, outcome["method"], outcome["seed"]].append(text.strip())
    return texts
