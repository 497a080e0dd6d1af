"""The verb `best`: choose the best of several outcomes per edit by a score."""

from __future__ import annotations

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from editgauge._util.files import require_new, write_json, write_jsonl
from editgauge._util.progress import log_info
from editgauge.analysis.outcomes import select_scores
from editgauge.engine.prefer import ScoredImages, named_methods, read_scored_image
from editgauge.errors import BadInputError
from editgauge.methods.outcomes import OUTCOMES_FILE
from editgauge.results import Run, tables
from editgauge.types import ScoreSpec

CHOICES_FILE = "best.json"
_SAFE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,120}")


@dataclass(frozen=True, slots=True)
class BestOutcomes:
    """Result of `best`."""

    folder: Path
    score: str
    winners: Mapping[str, int]
    """Number of chosen outcomes by method."""
    most: int
    """Largest number of candidates of an edit."""
    fewest: int
    ties: int
    """Edits with several best outcomes; the first was taken."""
    without: int
    """Edits without an outcome that has the score."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    method: str
    seed: int
    value: float


def best(
    run: str | Path,
    *,
    score: str,
    out: str | Path,
    method: Sequence[str] = (),
    quiet: bool = False,
) -> BestOutcomes:
    """Choose the best of several outcomes per edit by a score, and write them as the outcomes of a new method.

    The outcomes are those of several seeds or methods in one run. Compare the choice by another score than the one that
    chose: a maximum always looks good to what it maximizes.

    Example:
        $ editgauge best run --score "rubric:editreward[editreward]/reward" --out outcomes/best
        >>> editgauge.best("run", score="rubric:editreward[editreward]/reward", out="outcomes/best")

    Args:
        run: run folder; its images must still exist.
        score: name of the score that chooses, such as `reward` or `editgauge/overall`.
        out: folder to write: images, `outcomes.jsonl`, and `best.json` with every choice.
        method: choose among the outcomes of this method; repeat for several. Default: all.
        quiet: print no remarks.
    """
    folder, opened = Path(out), Run.open(Path(run))
    require_new(folder)
    if any(edit.get("follows") for edit in opened.edits.values()):
        raise BadInputError("Edits of this run follow one another, so that an outcome cannot be chosen by itself.")
    protocol, spec = _select_score(opened, score)
    candidates, unscored = _candidates(opened, protocol, spec, named_methods(opened, method))
    if not candidates:
        raise BadInputError(f"No outcome has a value of '{protocol}/{spec.name}', so none can be chosen.")
    return _write(opened, folder, (protocol, spec), candidates, unscored, quiet=quiet)


def _select_score(run: Run, name: str) -> tuple[str, ScoreSpec]:
    matches = select_scores(run, [name])
    if len(matches) > 1:
        names = [f"{protocol}/{spec.name}" for protocol, spec in matches]
        raise BadInputError(f"`score` '{name}' means {len(names)} scores of the run; name one of them.", names[:12])
    return matches[0]


def _candidates(
    run: Run, protocol: str, spec: ScoreSpec, methods: Sequence[str]
) -> tuple[dict[str, list[_Candidate]], dict[str, Counter[str]]]:
    """Return the outcomes of each edit that have the score, and the reasons of those that do not."""
    columns = ("edit", "method", "seed", "protocol", "name", "value", "reason")
    values: dict[str, list[_Candidate]] = defaultdict(list)
    unscored: dict[str, Counter[str]] = defaultdict(Counter)
    for edit, method, seed, score_protocol, name, value, reason in tables.iter_rows(run.table, columns):
        if (score_protocol, name) != (protocol, spec.name) or method not in methods:
            continue
        if value is None:
            unscored[edit][reason] += 1
        else:
            values[edit].append(_Candidate(method, seed, value))
    return values, unscored


def _write(
    run: Run,
    folder: Path,
    score: tuple[str, ScoreSpec],
    candidates: Mapping[str, list[_Candidate]],
    unscored: Mapping[str, Counter[str]],
    *,
    quiet: bool,
) -> BestOutcomes:
    protocol, spec = score
    images = ScoredImages.of(run)
    sign = 1.0 if spec.higher_is_better else -1.0
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, object]] = []
    choices: list[dict[str, object]] = []
    ties = 0
    for number, edit in enumerate(run.edits):
        scored = candidates.get(edit, [])
        if not scored:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in unscored.get(edit, {}).items())
            lines.append({"id": edit, "absence": f"no outcome has a value of {spec.name} ({reasons or 'no outcome'})"})
            continue
        first = max(scored, key=lambda candidate: sign * candidate.value)  # of equals the first, in the run's order
        ties += sum(candidate.value == first.value for candidate in scored) > 1
        stamp = images.outcomes[edit, first.method, first.seed]
        read_scored_image(stamp)  # the file may have changed since
        name = f"{edit if _SAFE_NAME.fullmatch(edit) else f'{number:06d}'}{Path(stamp.path).suffix}"
        shutil.copyfile(stamp.path, folder / name)
        lines.append({"id": edit, "image_path": name})
        values = [[candidate.method, candidate.seed, candidate.value] for candidate in scored]
        choices.append({"edit": edit, "method": first.method, "seed": first.seed, "value": first.value, "of": values})
    write_jsonl(folder / OUTCOMES_FILE, lines)
    counts = [len(scored) for scored in candidates.values()]
    result = BestOutcomes(
        folder=folder,
        score=f"{protocol}/{spec.name}",
        winners=dict(Counter(str(choice["method"]) for choice in choices).most_common()),
        most=max(counts),
        fewest=min(counts),
        ties=ties,
        without=len(lines) - len(choices),
    )
    write_json(folder / CHOICES_FILE, {"run": run.manifest.benchmark, "score": result.score, "choices": choices})
    log_info(_summary(result), quiet=quiet)
    return result


def _summary(result: BestOutcomes) -> str:
    candidates = f"{result.most}" if result.most == result.fewest else f"{result.fewest} to {result.most}"
    winners = ", ".join(f"{method} {count}" for method, count in result.winners.items())
    parts = [f"{sum(result.winners.values())} edits, the best of {candidates} outcomes by {result.score}: {winners}."]
    parts += [f"{result.ties} of them tied, the first was taken."] if result.ties else []
    parts += [f"{result.without} edits have no outcome with this score."] if result.without else []
    return " ".join([*parts, f"Next: editgauge run … --outcomes best={result.folder}, by another score."])
