"""Pairs of probes with a known better one, and what a judge's choices between them tell about the judge.

Each pair is shown in both orders, and once more in the first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.intervals import Labels, Numbers
from editgauge._util.batching import Ask
from editgauge._util.concurrency import run_async
from editgauge._util.images import read_image
from editgauge._util.progress import progress
from editgauge.audits._probe_set import OUTCOMES, Probe
from editgauge.audits.cards.card import Sheet, share
from editgauge.audits.cards.result import Cost
from editgauge.benchmarks import open_benchmark
from editgauge.engine.prefer import ComparisonWording, choice_of, compare_each
from editgauge.errors import BadInputError
from editgauge.judges import Choice, ModelJudge, NoAnswerError, Question

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.engine._judges import JudgeConfig
    from editgauge.types import Edit

PEOPLE = "people"
"""The group of pairs whose better one is what most people prefer."""
LEAD: Mapping[Choice, float] = {"one": 1.0, "tie": 0.5, "two": 0.0}
"""What the first outcome earns."""


@dataclass(frozen=True, slots=True)
class ProbePair:
    """Two probes of one edit in the order in which they are first shown."""

    first: str
    second: str
    better_first: bool
    photo: str
    group: str
    """What the worse one suffers from; or `people`."""


@dataclass(frozen=True, slots=True)
class PairAnswers:
    """A judge's answers to one pair; each names the outcome, not its place, and is None without an answer."""

    first_order: Choice | None
    swapped: Choice | None
    """Shown the other way round."""
    again: Choice | None
    """Asked once more in the first order."""
    faults: tuple[str, ...] = ()
    """Why answers are missing."""


@dataclass(frozen=True, slots=True)
class PairFindings:
    """How a judge performs when it is shown two outcomes; what it did not answer in both orders enters no share."""

    pairs: int
    right: Estimate
    """How often it chooses the better one, over both orders; a tie counts half."""
    people: Estimate
    """The same for pairs that people compared."""
    by_group: Mapping[str, Estimate]
    """The same by what the worse one suffers from."""
    first_shown: Estimate
    """Of its choices, how many fell on the outcome shown first: half for a judge that looks at the outcomes."""
    order_changes: Estimate
    """How often the other order changes its answer."""
    same_again: Estimate
    """How often it answers the same when asked again."""
    answers: int
    ties: int
    """Of these answers."""
    unanswered: Mapping[str, int]
    """Questions by the reason for which there is no answer."""
    cost: Cost


def ask_about_pairs(
    jury: JudgeConfig, folder: Path, probes: Sequence[Probe], count: int, transcripts: Path, seed: int, quiet: bool
) -> dict[str, PairFindings]:
    """Measure each judge on pairs of outcomes.

    Pairs are drawn from the held-out probes and from those that people compared. What the transcripts hold is not
    asked again.
    """
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    pairs = draw_pairs(Sheet.of(probes), edits, count, seed)
    if not pairs:
        raise BadInputError(f"The probes in '{folder}' hold no pair with a known better one to show to a judge.")
    words = ComparisonWording.of(jury.prompts)
    by_judge = {}
    for name, address in jury.addresses.items():
        alone = replace(jury, addresses={name: address})
        with progress(f"{name}: comparing", len(pairs), quiet=quiet) as advance:
            asking = _ask(alone, transcripts, pairs, lambda pair: _question(pair, folder, edits, words), advance)
            by_judge[name] = run_async(asking)
    return by_judge


def _question(pair: ProbePair, folder: Path, edits: Mapping[str, Edit], words: ComparisonWording) -> Question[Choice]:
    edit = edits[pair.first]
    first, second = (read_image(folder / OUTCOMES / f"{name}.png") for name in (pair.first, pair.second))
    return words.ask(edit.instruction, read_image(edit.source.path), first, second)


async def _ask(
    jury: JudgeConfig,
    transcripts: Path,
    pairs: Sequence[ProbePair],
    question: Callable[[ProbePair], Question[Choice]],
    advance: Callable[[], None],
) -> PairFindings:
    ask = Ask()
    (judge,) = jury.open(transcripts, ask).values()

    async def tell(pair: ProbePair) -> PairAnswers:
        return await _said(judge, await asyncio.to_thread(question, pair))

    try:
        async with judge:
            answers = await compare_each(judge, pairs, tell, advance)
            mine = [call for call in judge.transcripts if call.question["model"] == judge.name]
            return findings(pairs, answers, Cost.of(mine, sum(call.cost for call in mine)))
    finally:
        ask.close()


async def _said(judge: ModelJudge, question: Question[Choice]) -> PairAnswers:
    answers = [await choice_of(judge, element) for element in (question, question.swapped(), question.again(1))]
    first_order, swapped, again = (None if isinstance(item, NoAnswerError) else item for item in answers)
    return PairAnswers(
        first_order, swapped, again, tuple(answer.fault for answer in answers if isinstance(answer, NoAnswerError))
    )


def draw_pairs(sheet: Sheet, edits: Mapping[str, Edit], count: int, seed: int) -> list[ProbePair]:
    """Sample pairs, alternating groups, of outcomes with the same source and instruction."""
    chance = np.random.default_rng(seed)
    fitting = [candidate for candidate in _candidates(sheet) if _same_request(*candidate[:2], edits)]
    turns: Counter[str] = Counter()
    ranked = []
    for number in chance.permutation(len(fitting)):
        better, worse, photo, group = fitting[number]
        better_first = bool(chance.integers(2))
        first, second = (better, worse) if better_first else (worse, better)
        ranked.append((turns[group], ProbePair(first, second, better_first, photo, group)))
        turns[group] += 1
    return [pair for _, pair in sorted(ranked, key=lambda item: item[0])][:count]


def _candidates(sheet: Sheet) -> Iterator[tuple[str, str, str, str]]:
    """Better, worse, photograph and group: what was made on held-out photographs, and all that people compared."""
    for made, pairs in ((True, sheet.choices("held_back")), (False, sheet.preferred)):
        for better, worse in pairs:
            one, other = sheet.probes[better], sheet.probes[worse]
            group = (other.family.partition("/")[0] or other.kind) if made else PEOPLE
            yield one.id, other.id, one.photo, group


def _same_request(one: str, other: str, edits: Mapping[str, Edit]) -> bool:
    first, second = edits[one], edits[other]
    return (first.source.name, first.instruction) == (second.source.name, second.instruction)


def findings(pairs: Sequence[ProbePair], answers: Sequence[PairAnswers], cost: Cost) -> PairFindings:
    """Summarize the answers to pairs."""
    photos = np.array([pair.photo for pair in pairs], dtype=np.str_)
    groups = np.array([pair.group for pair in pairs], dtype=np.str_)
    first_order, swapped, again = (
        np.array([np.nan if item is None else LEAD[item] for item in column])
        for column in zip(*((one.first_order, one.swapped, one.again) for one in answers), strict=True)
    )
    both = (first_order + swapped) / 2
    right: Numbers = np.where([pair.better_first for pair in pairs], both, 1 - both)
    return PairFindings(
        pairs=len(pairs),
        right=share(right[groups != PEOPLE], photos[groups != PEOPLE]),
        people=share(right[groups == PEOPLE], photos[groups == PEOPLE]),
        by_group={
            str(group): share(right[groups == group], photos[groups == group])
            for group in np.unique(groups[groups != PEOPLE])
        },
        first_shown=_first_shown(first_order, swapped, photos),
        order_changes=share(_differ(first_order, swapped), photos),
        same_again=share(1 - _differ(first_order, again), photos),
        answers=int(sum((~np.isnan(element)).sum() for element in (first_order, swapped, again))),
        ties=int(sum((entry == LEAD["tie"]).sum() for entry in (first_order, swapped, again))),
        unanswered=dict(Counter(fault for one in answers for fault in one.faults)),
        cost=cost,
    )


def _first_shown(first_order: Numbers, swapped: Numbers, photos: Labels) -> Estimate:
    """Both orders of a pair or none of them: so that the better one stands first as often as second."""
    is_valid = ~np.isnan(first_order + swapped)
    first_place = np.concatenate([first_order[is_valid], 1 - swapped[is_valid]])
    decided = np.where(first_place == LEAD["tie"], np.nan, first_place)
    return share(decided, np.concatenate([photos[is_valid], photos[is_valid]]), "no choice was made in both orders")


def _differ(one: Numbers, other: Numbers) -> Numbers:
    return np.where(np.isnan(one + other), np.nan, (one != other).astype(np.float64))
