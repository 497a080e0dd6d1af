"""State the result of a run in one sentence: which method does best, and which damages the rest.

Which methods differ comes from `significance`, as in `compare`, ranks and the leaderboard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge._util.text import format_count
from editgauge.analysis.summary import ALL, FEW_SOURCES, Cell, ScoreKey, answers, headlines
from editgauge.types import Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from editgauge.analysis.significance import RunTests, ScoreTests

MAX_NAMED = 3
"""Largest number of methods named in one clause; further ones are counted."""
BEST: Mapping[Question | None, tuple[str, str]] = {
    "done": ("does what was asked best", "do what was asked best"),
    "kept": ("keeps the rest best", "keep the rest best"),
    "artifacts": ("leaves the fewest artifacts", "leave the fewest artifacts"),
    "quality": ("makes the most natural images", "make the most natural images"),
    None: ("does best", "do best"),
}
"""Phrases for one method, and for several."""
NO_DIFFERENCE: Mapping[Question | None, str] = {
    "done": "No method does what was asked significantly better than another",
    "kept": "no method keeps the rest significantly better than another",
    "artifacts": "no method leaves significantly fewer artifacts than another",
    "quality": "no method makes significantly more natural images than another",
    None: "No two methods differ significantly",
}
WORST: Mapping[Question | None, tuple[str, str]] = {
    "kept": ("breaks the rest", "break the rest"),
    "artifacts": ("leaves the most artifacts", "leave the most artifacts"),
}


class MethodName(str):
    """A method name inside a sentence; pages print it bold."""

    __slots__ = ()


Part = str | MethodName


@dataclass(frozen=True, slots=True)
class ScoreStandings:
    """The methods that edit, ordered by rank on one score."""

    cells: tuple[Cell, ...]
    verdicts: ScoreTests | None

    @classmethod
    def of(cls, cells: Iterable[Cell], verdicts: ScoreTests | None) -> ScoreStandings:
        """Select methods with enough source images for a claim that do not return the source unchanged."""
        ranks = verdicts.ranks if verdicts else {}
        enough = [cell for cell in cells if cell.mean and not cell.mean.few and cell.method in ranks]
        return cls(tuple(sorted(enough, key=lambda cell: ranks[cell.method].value)), verdicts)

    def beats(self, first: Cell, second: Cell) -> bool:
        """Tell whether the first is significantly better."""
        return self.verdicts is not None and self.verdicts.beats(first.method, second.method)

    @property
    def top(self) -> list[Cell]:
        """Return the methods that none is significantly better than."""
        return [cell for cell in self.cells if not any(self.beats(rival, cell) for rival in self.cells)]

    @property
    def bottom(self) -> list[Cell]:
        """Return the methods that every other one is significantly better than, unless they differ among themselves."""
        last = [cell for cell in self.cells if not any(self.beats(cell, rival) for rival in self.cells)]
        better = [cell for cell in self.cells if cell not in last]
        return last if better and all(self.beats(leader, rival) for leader in better for rival in last) else []

    @property
    def best(self) -> Cell | None:
        """Return the method that is significantly better than every other."""
        leaders = (
            leader
            for leader in self.cells
            if all(self.beats(leader, rival) for rival in self.cells if rival is not leader)
        )
        return next(leaders, None)

    @property
    def level(self) -> bool:
        """Tell whether no two methods differ significantly."""
        return len(self.top) == len(self.cells)


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline of a run."""

    parts: tuple[Part, ...]
    primary: Mapping[Question, ScoreKey]
    """The score that answers each question that has one."""

    @property
    def sentence(self) -> str:
        """Return the headline as plain text."""
        return "".join(self.parts)


def make_headline(cells: Sequence[Cell], verdicts: RunTests) -> Headline:
    """Return the headline of a run and the scores it rests on."""
    overall = [cell for cell in cells if cell.edit_type == ALL]
    primary = {question: keys[0] for question, keys in answers(overall).items()}
    primary_scores = headlines(overall)
    if not primary_scores:
        return Headline(("Nothing has a score yet.",), primary)
    question: Question | None = next(iter(primary), None)
    first = _first(question, primary_scores[0], overall, verdicts)
    second = _preservation(primary, overall, verdicts) if question == "done" else []
    return Headline((*first, *(["; ", *second] if second else []), "."), primary)


def _first(question: Question | None, key: ScoreKey, cells: Sequence[Cell], verdicts: RunTests) -> list[Part]:
    score_cells = _cells_of(key, cells)
    standings = ScoreStandings.of(score_cells, verdicts.of(*key))
    on = "" if question else f" on {key[1]}"
    basis = _basis(question, standings.cells or score_cells, verdicts)
    if not standings.cells:
        most = max((cell.mean.clusters for cell in score_cells if cell.mean), default=0)
        goal = f"to say which method {BEST[question][0]}" if len(score_cells) > 1 else "for an interval"
        text = f"Too few source images ({most}; {FEW_SOURCES} are needed) {goal}{on}: "
        return [text, *_listed(score_cells, intervals=False)]
    if len(standings.cells) == 1:
        [cell] = standings.cells
        low, high = cell.spec.range
        scale = f" on a scale from {low:g} to {high:g}" if math.isfinite(high - low) else ""
        name = "edit done" if question == "done" else key[1]
        return [MethodName(cell.method), f" scores {_numbers(cell)} for '{name}'{scale}{basis}"]
    if standings.level:
        return [f"{NO_DIFFERENCE[question]}{on}: ", *_listed(standings.cells), basis]
    top, total = standings.top, len(standings.cells)
    singular, plural = BEST[question]
    if standings.best:
        return [MethodName(top[0].method), f" {singular}{on}: {_numbers(top[0])}{basis}"]
    if len(top) == 1 or len(top) == total:
        return [f"Some methods differ significantly{on}, but none from all others: ", *_listed(standings.cells), basis]
    return [*_listed(top), f" {plural}{on}{basis}, without a significant difference between them"]


def _preservation(primary: Mapping[Question, ScoreKey], cells: Sequence[Cell], verdicts: RunTests) -> list[Part]:
    """State who damages the rest, or leaves artifacts where no score measures preservation."""
    question: Question | None = next((candidate for candidate in ("kept", "artifacts") if candidate in primary), None)
    if question is None:
        return []
    standings = ScoreStandings.of(_cells_of(primary[question], cells), verdicts.of(*primary[question]))
    if len(standings.cells) < 2:
        return []
    if standings.level:
        return [NO_DIFFERENCE[question]]
    if bottom := standings.bottom:
        return [*_listed(bottom, numbers=False), f" {WORST[question][len(bottom) > 1]}"]
    if standings.best:
        return [MethodName(standings.best.method), f" {BEST[question][0]}"]
    return []


def _cells_of(key: ScoreKey, cells: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in cells if (cell.protocol, cell.spec.name) == key and cell.mean]


def _basis(question: Question | None, cells: Sequence[Cell], verdicts: RunTests) -> str:
    """Return the number of edits behind the means; the largest where methods differ."""
    if question != "done" or not cells:
        return ""
    single_seed = len(verdicts.run.table["seed"].unique()) == 1
    numbers = {cell.scored for cell in cells}
    count = format_count(max(numbers), "edit" if single_seed else "outcome")
    return f" on average over {'up to ' if len(numbers) > 1 else ''}{count} that can be judged"


def _listed(cells: Sequence[Cell], *, numbers: bool = True, intervals: bool = True) -> list[Part]:
    named: list[list[Part]] = [
        [MethodName(cell.method), *([f" {_numbers(cell, interval=intervals)}"] if numbers else [])]
        for cell in cells[:MAX_NAMED]
    ]
    if len(cells) > MAX_NAMED:
        named.append([f"{len(cells) - MAX_NAMED} more"])
    parts: list[Part] = []
    for index, parts_of_method in enumerate(named):
        parts += [*([" and " if index == len(named) - 1 else ", "] if index else []), *parts_of_method]
    return parts


def _numbers(cell: Cell, *, interval: bool = True) -> str:
    mean = cell.mean
    if mean is None:
        return "no score"
    low, high = cell.spec.range
    form = ".1f" if high - low > 10 else ".2f"
    ends = f" [{mean.low:{form}}, {mean.high:{form}}]" if interval and mean.low is not None else ""
    return f"{mean.value:{form}}{ends}".replace("-", "−")
