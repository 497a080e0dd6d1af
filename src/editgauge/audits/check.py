"""Check a judge against anchor questions and detect drift over time.

Two kinds: pictures drawn by rule, whose answer anyone sees; and questions that a user's own run asked before.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import cv2
import numpy as np

from editgauge._stats.intervals import clustered_mean
from editgauge._util.batching import run_async
from editgauge._util.files import write_json
from editgauge._util.images import Pixels, pixel_hash, read_image, resize_image
from editgauge.engine._judges import judge_name
from editgauge.errors import BadImageError, BadInputError, BadRunError
from editgauge.judges import (
    LabeledImage,
    ModelJudge,
    NoAnswerError,
    Parameters,
    Question,
    ask_scale,
    ask_yes_no,
    open_judge,
)
from editgauge.judges._endpoint import parse_reply
from editgauge.judges._questions import Ratings, Scale, YesNo
from editgauge.judges._transcripts import Call, Transcripts
from editgauge.judges.prompts import RenderedPrompt
from editgauge.options import Count, document_options
from editgauge.results import Run

VERSION = "drawn.v1"
"""Of the drawn anchors; another set is another version, and is not compared with this one."""
MAX_RUN_ANCHORS = 48
"""Anchors that come from one run."""
SIDE = 224
COLORS = {"red": (200, 30, 30), "green": (30, 150, 60), "blue": (40, 70, 200), "yellow": (230, 200, 40)}
NUMERIC_KINDS = ("yes_no", "scale", "ratings")
"""Kinds of questions whose answers are numbers."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """One question with a name that stays."""

    name: str
    question: Question[Any]
    earlier: Call | None = None
    """What the judge answered in the run that the question comes from."""


def drawn_anchors() -> list[Anchor]:
    """Return 36 questions about drawn images: colors, shapes, counts, changes, noise and blur."""
    return [*_about_shapes(), *_about_changes(), *_about_damage()]


def anchors_of_run(folder: Path) -> list[Anchor]:
    """Sample questions that the judges of a run answered; their images must still exist."""
    calls = [call for call in Transcripts(folder / "transcripts") if _can_be_asked_again(call)]
    if not calls:
        raise BadInputError(f"The run '{folder}' has no answered question that could be asked again as an anchor.")
    count = min(MAX_RUN_ANCHORS, len(calls))
    sampled = [calls[index * len(calls) // count] for index in range(count)]
    hashes = {image[1] for call in sampled for image in call.question["images"]}
    pictures = _pictures(Run.open(folder), hashes)
    anchors = [
        Anchor(f"run:{call.identity[:16]}", _question(call, pictures), call)
        for call in sampled
        if all(image[1] in pictures for image in call.question["images"])
    ]
    if not anchors:
        raise BadInputError(f"The pictures that the judges of '{folder}' saw are no longer where they were.")
    return anchors


def _can_be_asked_again(call: Call) -> bool:
    form: Mapping[str, Any] = call.question.get("form") or {}
    return call.fault is None and form.get("kind") in NUMERIC_KINDS and "repairs" not in call.question


def _question(call: Call, pictures: Mapping[str, Pixels]) -> Question[Any]:
    description = call.question
    prompt, _, version = str(description["prompt"]).rpartition(".v")
    images = tuple(LabeledImage(label, pictures[pixels]) for label, pixels in description["images"])
    return Question(
        words=RenderedPrompt(prompt, int(version), str(description["text"])),
        form=recorded_form(description["form"]),
        images=images,
    )


def recorded_form(form: Mapping[str, Any]) -> YesNo | Scale | Ratings:
    """Return the form of a recorded question of a `NUMERIC_KINDS` kind."""
    numbers = {name: item["enum"] for name, item in form["schema"]["properties"].items() if "enum" in item}
    if form["kind"] == "yes_no":
        return YesNo()
    every = [value for values in numbers.values() for value in values]
    if form["kind"] == "scale":
        return Scale(min(every), max(every))
    return Ratings(tuple((name, ()) for name in numbers), min(every), max(every), ends_only=len(set(every)) == 2)


def _pictures(run: Run, hashes: Iterable[str]) -> dict[str, Pixels]:
    """Return the images of a run by hash, edited ones in the size of their source."""
    missing, pictures = set(hashes), {}
    columns = ("source_path", "edited_path")
    for pair in dict.fromkeys(zip(*(run.scores[column].to_pylist() for column in columns), strict=True)):
        if not missing:
            break
        for pixels in _shown(*pair):
            name = pixel_hash(pixels)
            if name in missing:
                pictures[name] = pixels
                missing.discard(name)
    return pictures


def _shown(source: str | None, edited: str | None) -> Iterator[Pixels]:
    try:
        before = read_image(Path(source or ""))
        yield before
        yield resize_image(read_image(Path(edited or "")), before.shape[1], before.shape[0])
    except (BadImageError, OSError):
        return


def _about_shapes() -> Iterator[Anchor]:
    for index, color in enumerate(COLORS):
        for shape in ("circle", "square"):
            picture = LabeledImage("The picture:", _drawn([(shape, color, (112, 112))]))
            yield Anchor(f"{shape} is {color}", ask_yes_no(f"Is the {shape} {color}?", picture))
            other = list(COLORS)[(index + 1) % len(COLORS)]
            yield Anchor(f"{color} {shape} is {other}", ask_yes_no(f"Is the {shape} {other}?", picture))


def _about_changes() -> Iterator[Anchor]:
    for index, color in enumerate(COLORS):
        before = _drawn([("circle", color, (70, 112))])
        after = _drawn([("circle", color, (70, 112)), ("square", "blue" if color != "blue" else "red", (160, 112))])
        for name, pair in (("added", (before, after)), ("unchanged", (before, before))):
            images = LabeledImage("Before:", pair[0]), LabeledImage("After:", pair[1])
            yield Anchor(f"square {name} {index}", ask_yes_no("Was a square added to the second picture?", *images))


def _about_damage() -> Iterator[Anchor]:
    rng = np.random.default_rng(0)
    clean = _drawn([("circle", "red", (80, 80)), ("square", "green", (150, 150))])
    for strength in (0, 15, 30, 60, 90, 120):
        noisy = np.clip(clean + rng.normal(0, strength, clean.shape), 0, 255).astype(np.uint8)
        yield _quality(f"noise {strength}", noisy)
    for width in (1, 5, 9, 17, 25, 41):
        yield _quality(f"blur {width}", np.asarray(cv2.GaussianBlur(clean, (width, width), 0), np.uint8))


def _quality(name: str, picture: Pixels) -> Anchor:
    ends = "badly damaged by noise or blur", "perfectly clean"
    return Anchor(name, ask_scale("How clean is the picture?", 1, 10, *ends, LabeledImage("The picture:", picture)))


def _drawn(shapes: Iterable[tuple[str, str, tuple[int, int]]]) -> Pixels:
    picture = np.full((SIDE, SIDE, 3), 235, np.uint8)
    for shape, color, (x, y) in shapes:
        if shape == "circle":
            cv2.circle(picture, (x, y), 40, COLORS[color], -1)
        else:
            cv2.rectangle(picture, (x - 36, y - 36), (x + 36, y + 36), COLORS[color], -1)
    return picture


REPETITIONS = 2
"""How often each anchor is asked in one check, to know how far the judge agrees with itself on one day."""
FILE = "check.json"
Answers = Mapping[str, Sequence[float | None]]
"""Anchor to what was answered each time; yes is 1, no is 0, None where there was no answer."""


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """What a judge answered on one day."""

    judge: str
    model: str | None
    """As the endpoint calls it."""
    endpoint: str
    at: str
    anchors: str
    answers: Answers
    faults: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Drift:
    """How two checks of one judge differ."""

    since: str
    anchors: int
    """Answered in both."""
    other_model: bool
    """The endpoint calls the model by another name since."""
    changed: float
    """The share of anchors with another answer."""
    excess: float
    low: float | None
    high: float | None
    """`changed` beyond what the judge changes its own mind by on one day, with a 95% interval."""
    shift: float
    shift_low: float | None
    shift_high: float | None
    """How far answers moved on average, in shares of their scale, with a 95% interval."""

    @property
    def moved(self) -> bool:
        """Is the interval of either away from nothing?"""
        more = self.low is not None and self.low > 0
        shifted = (
            self.shift_low is not None and self.shift_high is not None and not self.shift_low <= 0 <= self.shift_high
        )
        return more or shifted


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """A check, and how it differs from the first and the last one before it."""

    check: CheckRecord
    folder: str
    since_first: Drift | None
    since_last: Drift | None


@document_options
def check(
    judge: str,
    *,
    ledger: str | Path = "judge-ledger",
    run: str | Path | None = None,
    max_tokens: Count | None = None,
) -> JudgeCheck:
    """Ask a judge questions that never change, and test whether its answers moved since earlier checks.

    Every question is asked twice, so that a judge that merely changes its mind is not taken for one that moved. The
    exit code is 1 if it moved.

    Example:
        $ editgauge judges check openai:qwen2.5vl:7b@http://localhost:11434/v1
        >>> check("openai:qwen2.5vl:7b@http://localhost:11434/v1")

    Args:
        judge: address, such as `openai:MODEL@URL` or `transformers:FOLDER`.
        ledger: folder in which checks are kept, each with its transcripts.
        run: run folder whose answered questions become further anchors, and its answers the first check.

    """
    anchors = drawn_anchors() + (anchors_of_run(Path(run)) if run is not None else [])
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", judge_name(judge))
    folder = Path(ledger) / name
    earlier = read_checks(folder)
    before = _from_run(anchors, name)
    at = datetime.now(UTC)
    check_folder = folder / at.strftime("%Y%m%dT%H%M%S.%fZ")
    parameters = Parameters(max_tokens=max_tokens) if max_tokens else Parameters()
    opened = open_judge(judge, transcripts=check_folder / "transcripts", parameters=parameters)
    answers, faults, model = run_async(_answers(opened, anchors))
    result = CheckRecord(
        judge=opened.name,
        model=model,
        endpoint=opened.card.endpoint,
        at=at.isoformat(timespec="seconds"),
        anchors=VERSION,
        answers=answers,
        faults=faults,
    )
    if not any(value is not None for values in answers.values() for value in values):
        raise BadInputError(f"The judge '{judge}' answered none of {len(anchors)} anchors: {', '.join(faults)}.")
    write_json(check_folder / FILE, asdict(result))
    first = before or (earlier[0] if earlier else None)
    return JudgeCheck(
        result,
        str(check_folder),
        drift(first, result, anchors) if first else None,
        drift(earlier[-1], result, anchors) if earlier else None,
    )


def read_checks(folder: Path) -> list[CheckRecord]:
    """Read the checks of a judge, oldest first."""
    checks = []
    for file in sorted(folder.glob(f"*/{FILE}")):
        try:
            checks.append(CheckRecord(**json.loads(file.read_text("utf-8"))))
        except (OSError, ValueError, TypeError) as error:
            raise BadRunError(f"'{file}' cannot be read: {error}.") from error
    return checks


def drift(before: CheckRecord, now: CheckRecord, anchors: Sequence[Anchor]) -> Drift | None:
    """Return how far a judge moved between two checks; None when they share no answered anchor."""
    scales = {anchor.name: _scale(anchor) for anchor in anchors}
    excess, changes, shifts, names = [], [], [], []
    for name, values in now.answers.items():
        old = [item for item in before.answers.get(name, ()) if item is not None]
        new = [value for value in values if value is not None]
        if not old or not new:
            continue
        between = fmean(float(a != b) for a in old for b in new)
        within = [fmean(float(a != b) for a in entry for b in entry) * len(entry) / (len(entry) - 1)
                  for entry in (old, new) if len(entry) > 1]  # fmt: skip
        changes.append(between)
        excess.append(between - (fmean(within) if within else 0.0))
        shifts.append((fmean(new) - fmean(old)) / scales.get(name.partition("/")[0], 1.0))
        names.append(name.partition("/")[0])
    if not names:
        return None
    clusters = np.array(names)
    more, moved = (clustered_mean(np.array(element), clusters) for element in (excess, shifts))
    return Drift(
        since=before.at,
        anchors=len(names),
        other_model=bool(before.model and now.model and before.model != now.model),
        changed=fmean(changes),
        excess=more.value,
        low=more.low,
        high=more.high,
        shift=moved.value,
        shift_low=moved.low,
        shift_high=moved.high,
    )


async def _answers(
    judge: ModelJudge, anchors: Sequence[Anchor]
) -> tuple[dict[str, list[float | None]], dict[str, int], str | None]:
    by_question: dict[str, list[float | None]] = {}
    faults: dict[str, int] = {}
    models: list[str] = []

    async def ask(anchor: Anchor, time: int) -> None:
        try:
            answer = await judge.ask(anchor.question.again(time))
        except NoAnswerError as error:
            faults[error.fault] = faults.get(error.fault, 0) + 1
            by_question.setdefault(anchor.name, [None] * REPETITIONS)
            return
        models.extend([answer.call.model] if answer.call.model else [])
        for name, value in _numbers(anchor.name, answer.value).items():
            by_question.setdefault(name, [None] * REPETITIONS)[time] = value

    async with judge:
        await asyncio.gather(*(ask(anchor, time) for anchor in anchors for time in range(REPETITIONS)))
    return by_question, faults, models[0] if models else None


def _numbers(name: str, value: Any) -> dict[str, float]:
    """Return an answer as numbers, one or one per dimension."""
    if isinstance(value, Mapping):
        return {f"{name}/{dimension}": float(number) for dimension, number in value.items()}
    return {name: float(value)}


def _from_run(anchors: Sequence[Anchor], name: str) -> CheckRecord | None:
    """Return the answers of the run behind the anchors as a check."""
    calls = [(item, item.earlier) for item in anchors if item.earlier is not None]
    if not calls:
        return None
    answers: dict[str, list[float | None]] = {}
    for anchor, call in calls:
        text = parse_reply(call.body).text if call.body is not None else ""
        for key, value in _numbers(anchor.name, anchor.question.form.read(text)).items():
            answers[key] = [value]
    first = min(call.at for _, call in calls)
    return CheckRecord(name, calls[0][1].model, calls[0][1].endpoint, first, VERSION, answers, {})


def _scale(anchor: Anchor) -> float:
    form = anchor.question.form
    return float(getattr(form, "high", 1) - getattr(form, "low", 0)) or 1.0
