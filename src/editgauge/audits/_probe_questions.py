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
from editgauge._util.batching import Ask, run_async
from editgauge._util.coco import CocoImage, read_coco
from editgauge._util.images import Pixels, read_image
from editgauge._util.progress import progress
from editgauge._vision.geometry import box_area, middle
from editgauge.audits._probe_set import OUTCOMES, RIGHT, Probe
from editgauge.audits.audit_card import Cost
from editgauge.audits.card import Sheet, share
from editgauge.benchmarks import open_benchmark
from editgauge.engine.prefer import ComparisonWording, choice_of, compare_each
from editgauge.errors import BadInputError, UnscorableError
from editgauge.judges import Choice, ModelJudge, NoAnswerError, Question
from editgauge.models._cache import cache_dir
from editgauge.models.perception import ModelService

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.engine._judges import JudgeConfig
    from editgauge.models.perception import Perception
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
    jury: JudgeConfig,
    folder: Path,
    probes: Sequence[Probe],
    count: int,
    *,
    transcripts: Path,
    seed: int,
    quiet: bool,
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


SIDES = ("left", "right")
SIDE_KINDS = (RIGHT, "mirrored")
SIDE_ROLES = ("detector", "joint_embedder")
"""The roles that can say which caption is true: by boxes, or by the caption that is nearer to the picture."""


@dataclass(frozen=True, slots=True)
class TwoObjects:
    """A picture of two objects side by side."""

    picture: Path
    photo: str
    new: str
    anchor: str
    side: str
    """Where the new object lies, seen from the anchor."""

    def caption(self, side: str) -> str:
        """Return the caption that states a side."""
        return f"{self.new} to the {side} of {self.anchor}"


@dataclass(frozen=True, slots=True)
class SideChoices:
    """How often one model picks the true caption, by what is true; pictures on which it cannot tell are left out."""

    role: str
    left: Estimate
    right: Estimate
    pictures: int
    answered: int


def two_objects(folder: Path, probes: Sequence[Probe]) -> tuple[TwoObjects, ...]:
    """Return the images of a set of probes with two objects side by side."""
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    pictures = []
    for probe in probes:
        edit = edits[probe.id]
        where = edit.position
        if probe.kind in SIDE_KINDS and where and where.relation in SIDES and where.anchor and edit.to:
            picture = folder / OUTCOMES / f"{probe.id}.png"
            pictures.append(TwoObjects(picture, probe.photo, edit.to, where.anchor, where.relation))
    return tuple(pictures)


def two_objects_of_coco(annotations: Path, images: Path) -> tuple[TwoObjects, ...]:
    """Return photographs of COCO with two objects side by side, each the only one of its class."""
    pairs = [
        pair
        for image in read_coco(annotations).images
        if (images / image.file).is_file() and (pair := _side_by_side(images / image.file, image))
    ]
    if not pairs:
        raise BadInputError(f"No photograph in '{images}' has two objects side by side, each alone of its class.")
    return tuple(pairs)


def _side_by_side(picture: Path, image: CocoImage) -> TwoObjects | None:
    """Return the two largest objects that are unique in their class, if they are separated horizontally."""
    alone = [object_ for object_ in image.objects if image.count(object_.class_) == 1]
    largest = sorted(alone, key=lambda element: (-box_area(element.box), element.class_))[:2]
    if len(largest) < 2:
        return None
    new, anchor = sorted(largest, key=lambda item: item.class_)
    if new.box[2] <= anchor.box[0]:
        return TwoObjects(picture, picture.name, new.class_, anchor.class_, "left")
    is_right = anchor.box[2] <= new.box[0]
    return TwoObjects(picture, picture.name, new.class_, anchor.class_, "right") if is_right else None


def tell_sides(pictures: Sequence[TwoObjects], models: Mapping[str, str]) -> dict[str, SideChoices]:
    """Ask each model that can tell sides; return its choices by model name."""
    roles = [role for role in SIDE_ROLES if role in models]
    if not pictures or not roles:
        return {}

    async def ask() -> dict[str, SideChoices]:
        with ModelService({role: models[role] for role in roles}, cache_dir()) as see:
            return {
                models[role]: _choices(role, pictures, [await _answer(role, image, see) for image in pictures])
                for role in roles
            }

    return run_async(ask())


async def _answer(role: str, objects: TwoObjects, see: Perception) -> str | None:
    pixels = read_image(objects.picture)
    try:
        return await (_by_boxes if role == "detector" else _by_likeness)(pixels, objects, see)
    except UnscorableError:
        return None


async def _by_boxes(pixels: Pixels, objects: TwoObjects, see: Perception) -> str | None:
    new, anchor = await asyncio.gather(see.detect(pixels, objects.new), see.detect(pixels, objects.anchor))
    if not (new.found and anchor.found):
        return None
    across = [middle(tuple(item.boxes[0].tolist()))[0] for item in (new, anchor)]
    return "left" if across[0] < across[1] else "right"


async def _by_likeness(pixels: Pixels, objects: TwoObjects, see: Perception) -> str | None:
    picture, *captions = await asyncio.gather(
        see.joint_image(pixels), *(see.joint_text(objects.caption(side)) for side in SIDES)
    )
    return SIDES[int(np.argmax([float(picture @ caption) for caption in captions]))]


def _choices(role: str, pictures: Sequence[TwoObjects], answers: Sequence[str | None]) -> SideChoices:
    photos = np.array([image.photo for image in pictures], dtype=np.str_)
    right: Numbers = np.array(
        [
            np.nan if answer is None else float(answer == element.side)
            for element, answer in zip(pictures, answers, strict=True)
        ]
    )
    on_left, on_right = (
        share(np.where([item.side == side for item in pictures], right, np.nan), photos) for side in SIDES
    )
    return SideChoices(role, on_left, on_right, len(pictures), sum(answer is not None for answer in answers))
