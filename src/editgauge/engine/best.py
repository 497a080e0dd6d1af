"""The verb `best`: of several outcomes of an edit the one that a score prefers, as outcomes of a new method."""

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
from editgauge.engine.prefer import Pictures, named_methods, read_scored
from editgauge.errors import BadInputError
from editgauge.methods.outcomes import OUTCOMES_FILE
from editgauge.results import Run, tables
from editgauge.types import ScoreSpec

RECORD = "best.json"
_PLAIN = re.compile(r"[A-Za-z0-9][\w.-]{0,120}")


@dataclass(frozen=True, slots=True)
class BestOf:
    """What `best` wrote."""

    folder: Path
    score: str
    chosen: Mapping[str, int]
    """How many edits each method won."""
    most: int
    """Outcomes that an edit had to choose from, at most."""
    fewest: int
    ties: int
    """Edits of which several outcomes had the best value: the first of them was taken."""
    without: int
    """Edits none of whose outcomes has the score."""


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
) -> BestOf:
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
    protocol, spec = _one_score(opened, score)
    candidates, unscored = _candidates(opened, protocol, spec, named_methods(opened, method))
    if not candidates:
        raise BadInputError(f"No outcome has a value of '{protocol}/{spec.name}', so none can be chosen.")
    return _write(opened, folder, (protocol, spec), candidates, unscored, quiet)


def _one_score(run: Run, name: str) -> tuple[str, ScoreSpec]:
    fitting = select_scores(run, [name])
    if len(fitting) > 1:
        names = [f"{protocol}/{spec.name}" for protocol, spec in fitting]
        raise BadInputError(f"--score '{name}' means {len(names)} scores of the run; name one of them.", names[:12])
    return fitting[0]


def _candidates(
    run: Run, protocol: str, spec: ScoreSpec, methods: Sequence[str]
) -> tuple[dict[str, list[_Candidate]], dict[str, Counter[str]]]:
    """The outcomes of each edit that have the score, and why the others have none."""
    columns = ("edit", "method", "seed", "protocol", "name", "value", "reason")
    values: dict[str, list[_Candidate]] = defaultdict(list)
    unscored: dict[str, Counter[str]] = defaultdict(Counter)
    for edit, method, seed, of, name, value, reason in tables.iter_rows(run.scores, columns):
        if (of, name) != (protocol, spec.name) or method not in methods:
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
    quiet: bool,
) -> BestOf:
    protocol, spec = score
    pictures = Pictures.of(run)
    sign = 1.0 if spec.higher_is_better else -1.0
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, object]] = []
    choices: list[dict[str, object]] = []
    ties = 0
    for number, edit in enumerate(run.edits):
        there = candidates.get(edit, [])
        if not there:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in unscored.get(edit, {}).items())
            lines.append({"id": edit, "absence": f"no outcome has a value of {spec.name} ({reasons or 'no outcome'})"})
            continue
        first = max(there, key=lambda each: sign * each.value)  # of equals the first, in the order of the run
        ties += sum(each.value == first.value for each in there) > 1
        place = pictures.outcomes[edit, first.method, first.seed]
        read_scored(place)  # another picture may lie there by now
        name = f"{edit if _PLAIN.fullmatch(edit) else f'{number:06d}'}{Path(place.path).suffix}"
        shutil.copyfile(place.path, folder / name)
        lines.append({"id": edit, "image_path": name})
        others = [[each.method, each.seed, each.value] for each in there]
        choices.append({"edit": edit, "method": first.method, "seed": first.seed, "value": first.value, "of": others})
    write_jsonl(folder / OUTCOMES_FILE, lines)
    counts = [len(each) for each in candidates.values()]
    done = BestOf(
        folder=folder,
        score=f"{protocol}/{spec.name}",
        chosen=dict(Counter(str(each["method"]) for each in choices).most_common()),
        most=max(counts),
        fewest=min(counts),
        ties=ties,
        without=len(lines) - len(choices),
    )
    write_json(folder / RECORD, {"run": run.manifest.benchmark, "score": done.score, "choices": choices})
    log_info(_summary(done), quiet=quiet)
    return done


def _summary(done: BestOf) -> str:
    among = f"{done.most}" if done.most == done.fewest else f"{done.fewest} to {done.most}"
    won = ", ".join(f"{method} {count}" for method, count in done.chosen.items())
    parts = [f"{sum(done.chosen.values())} edits, the best of {among} outcomes by {done.score}: {won}."]
    parts += [f"{done.ties} of them tied, the first was taken."] if done.ties else []
    parts += [f"{done.without} edits have no outcome with this score."] if done.without else []
    return " ".join([*parts, f"Next: editgauge run … --outcomes best={done.folder}, by another score."])
