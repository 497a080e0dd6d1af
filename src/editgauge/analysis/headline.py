"""The answer of a run in one sentence: who does what was asked, and who breaks the rest.

Which methods differ is what `findings.verdicts` says, as in `compare`, the places and the leaderboard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge._util.text import format_count, join_words
from editgauge.analysis.summary import ALL, FEW_SOURCES, Cell, ScoreKey, answers, headlines
from editgauge.types import Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from editgauge.analysis.significance import RunTests, ScoreTests

MAX_NAMED = 3
"""Methods named in one clause; further ones are counted."""
BEST: Mapping[Question | None, tuple[str, str]] = {
    "done": ("does what was asked best", "do what was asked best"),
    "kept": ("keeps the rest best", "keep the rest best"),
    "artifacts": ("leaves the fewest artifacts", "leave the fewest artifacts"),
    "quality": ("makes the most natural pictures", "make the most natural pictures"),
    None: ("does best", "do best"),
}
"""Words about one method, and about several."""
NO_DIFFERENCE: Mapping[Question | None, str] = {
    "done": "No method does what was asked significantly better than another",
    "kept": "no method keeps the rest significantly better than another",
    "artifacts": "no method leaves significantly fewer artifacts than another",
    "quality": "no method makes significantly more natural pictures than another",
    None: "No two methods differ significantly",
}
WORST: Mapping[Question | None, tuple[str, str]] = {
    "kept": ("breaks the rest", "break the rest"),
    "artifacts": ("leaves the most artifacts", "leave the most artifacts"),
}


class MethodName(str):
    """A method, in a sentence; pages print it bold."""

    __slots__ = ()


Part = str | MethodName


@dataclass(frozen=True, slots=True)
class ScoreStandings:
    """The methods that edit by one score, the best place first."""

    cells: tuple[Cell, ...]
    verdicts: ScoreTests | None

    @classmethod
    def of(cls, cells: Iterable[Cell], verdicts: ScoreTests | None) -> ScoreStandings:
        """Only methods with enough source images for a claim, and none that leaves the source as it is."""
        places = verdicts.ranks if verdicts else {}
        enough = [each for each in cells if each.mean and not each.mean.few and each.method in places]
        return cls(tuple(sorted(enough, key=lambda cell: places[cell.method].value)), verdicts)

    def beats(self, first: Cell, second: Cell) -> bool:
        """Whether the first is significantly better."""
        return self.verdicts is not None and self.verdicts.beats(first.method, second.method)

    @property
    def top(self) -> list[Cell]:
        """The methods that none is significantly better than."""
        return [cell for cell in self.cells if not any(self.beats(other, cell) for other in self.cells)]

    @property
    def bottom(self) -> list[Cell]:
        """The methods that every other one is significantly better than, unless they differ from each other."""
        last = [cell for cell in self.cells if not any(self.beats(cell, other) for other in self.cells)]
        rest = [cell for cell in self.cells if cell not in last]
        return last if rest and all(self.beats(one, other) for one in rest for other in last) else []

    @property
    def best(self) -> Cell | None:
        """The method that is significantly better than every other."""
        ahead = (one for one in self.cells if all(self.beats(one, other) for other in self.cells if other is not one))
        return next(ahead, None)

    @property
    def level(self) -> bool:
        """Whether no two differ significantly."""
        return len(self.top) == len(self.cells)


@dataclass(frozen=True, slots=True)
class Headline:
    """What a run says first."""

    parts: tuple[Part, ...]
    primary: Mapping[Question, ScoreKey]
    """The score that answers each question; those that nothing answers are not there."""

    @property
    def sentence(self) -> str:
        """The answer as plain text."""
        return "".join(self.parts)


def make_headline(cells: Sequence[Cell], verdicts: RunTests) -> Headline:
    """The sentence of a run, and the scores it rests on."""
    overall = [cell for cell in cells if cell.edit_type == ALL]
    primary = {question: keys[0] for question, keys in answers(overall).items()}
    shown = headlines(overall)
    if not shown:
        return Headline(("Nothing has a score yet.",), primary)
    question: Question | None = next(iter(primary), None)
    first = _first(question, shown[0], overall, verdicts)
    second = _kept(primary, overall, verdicts) if question == "done" else []
    return Headline((*first, *(["; ", *second] if second else []), "."), primary)


def _first(question: Question | None, key: ScoreKey, cells: Sequence[Cell], verdicts: RunTests) -> list[Part]:
    mine = _of(key, cells)
    standings = ScoreStandings.of(mine, verdicts.of(*key))
    on = "" if question else f" on {key[1]}"
    judged = _judged(question, standings.cells or mine, verdicts)
    if not standings.cells:
        most = max((cell.mean.clusters for cell in mine if cell.mean), default=0)
        few = f"Too few source images ({most}; {FEW_SOURCES} are needed) to say which method {BEST[question][0]}"
        return [f"{few}{on}: ", *_listed(mine, intervals=False)]
    if len(standings.cells) == 1:
        [cell] = standings.cells
        does = "does what was asked" if question == "done" else f"is judged{on or f' by {key[1]}'}"
        return [MethodName(cell.method), f" {does}: {_numbers(cell)}{judged}"]
    if standings.level:
        return [f"{NO_DIFFERENCE[question]}{on}: ", *_listed(standings.cells), judged]
    top, others = standings.top, len(standings.cells)
    one, many = BEST[question]
    if standings.best:
        return [MethodName(top[0].method), f" {one}{on}: {_numbers(top[0])}{judged}"]
    if len(top) == 1 or len(top) == others:
        return [f"Some methods differ significantly{on}, but none from all others: ", *_listed(standings.cells), judged]
    between = ", without a significant difference between them: "
    return [*_listed(top, numbers=False), f" {many}{on}{between}", *_joined([_numbers(cell) for cell in top]), judged]


def _kept(primary: Mapping[Question, ScoreKey], cells: Sequence[Cell], verdicts: RunTests) -> list[Part]:
    """Who breaks the rest, or who leaves artifacts where nothing says what was kept."""
    question: Question | None = next((each for each in ("kept", "artifacts") if each in primary), None)
    if question is None:
        return []
    standings = ScoreStandings.of(_of(primary[question], cells), verdicts.of(*primary[question]))
    if len(standings.cells) < 2:
        return []
    if standings.level:
        return [NO_DIFFERENCE[question]]
    if bottom := standings.bottom:
        return [*_listed(bottom, numbers=False), f" {WORST[question][len(bottom) > 1]}"]
    if standings.best:
        return [MethodName(standings.best.method), f" {BEST[question][0]}"]
    return []


def _of(key: ScoreKey, cells: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in cells if (cell.protocol, cell.spec.name) == key and cell.mean]


def _judged(question: Question | None, cells: Sequence[Cell], verdicts: RunTests) -> str:
    """Over how many edits the means go; where methods have different numbers, the largest."""
    if question != "done" or not cells:
        return ""
    one_each = len(verdicts.run.scores["seed"].unique()) == 1
    numbers = {cell.scored for cell in cells}
    most = format_count(max(numbers), "edit" if one_each else "outcome")
    return f" on average over {'up to ' if len(numbers) > 1 else ''}{most} that can be judged"


def _listed(cells: Sequence[Cell], *, numbers: bool = True, intervals: bool = True) -> list[Part]:
    named: list[list[Part]] = [
        [MethodName(cell.method), *([f" {_numbers(cell, interval=intervals)}"] if numbers else [])]
        for cell in cells[:MAX_NAMED]
    ]
    if len(cells) > MAX_NAMED:
        named.append([f"{len(cells) - MAX_NAMED} more"])
    parts: list[Part] = []
    for place, each in enumerate(named):
        parts += [*([" and " if place == len(named) - 1 else ", "] if place else []), *each]
    return parts


def _joined(texts: Sequence[str]) -> list[Part]:
    return [join_words([*texts[:MAX_NAMED], *(["…"] if len(texts) > MAX_NAMED else [])])]


def _numbers(cell: Cell, *, interval: bool = True) -> str:
    mean = cell.mean
    if mean is None:
        return "no score"
    low, high = cell.spec.range
    form = ".1f" if high - low > 10 else ".2f"
    ends = f" [{mean.low:{form}}, {mean.high:{form}}]" if interval and mean.low is not None else ""
    return f"{mean.value:{form}}{ends}".replace("-", "−")
