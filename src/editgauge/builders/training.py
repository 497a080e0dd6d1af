"""Build training data for judges from scored or rated edits.

- `llava.json`: the LLaVA format, with both images side by side in one.
- `messages.jsonl`: chat messages for transformers and trl, with the two images as a judge gets them.
- `sheet.png`: a few examples in one image, for inspection.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from random import Random
from textwrap import wrap
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from editgauge._util.batching import run_async
from editgauge._util.files import require_new, write_json, write_jsonl, write_text
from editgauge._util.images import Pixels, pixel_hash, read_image, resize_image, write_png
from editgauge._util.progress import log_info, progress
from editgauge.analysis.ratings import read_ratings
from editgauge.benchmarks import open_benchmark
from editgauge.builders._common import RULES, OpenPrompt, bound_calls, edit_bytes, open_single_judge, written_by
from editgauge.builders._training_changes import ChangeScene
from editgauge.builders._training_lessons import (
    ACCEPTED,
    ALL,
    KINDS,
    MAIN_DIFFERENCE,
    REFERENCE,
    UNKNOWN_ANSWER,
    Author,
    JudgeAuthor,
    Kind,
    Labels,
    Lesson,
    LessonAnswer,
    OmittedLesson,
    RuleAuthor,
    Subject,
    labels_of,
    left_out,
    lessons_of,
    rated,
)
from editgauge.engine._judges import FOLDER, JudgeConfig, read_judge_config
from editgauge.engine._options import pairs
from editgauge.errors import BadImageError, BadInputError, UnscorableError
from editgauge.judges import open_prompt
from editgauge.judges._cost import CallBound
from editgauge.judges.prompts import Prompt
from editgauge.methods.outcomes import find_outcomes
from editgauge.models.perception import ModelService
from editgauge.models.profiles import choose_models, describe
from editgauge.options import Amount, Count, JudgeOptions, Pairs, Paths, document_options
from editgauge.protocols import open_protocol
from editgauge.types import Benchmark, Edit, Item, Outcome, Unscored

LLAVA = "llava.json"
MESSAGES = "messages.jsonl"
PICTURES = "pictures"
PAIRS = "pairs"
SEAM = 16
"""Pixels of white between the two halves."""
DIGITS = 12
"""Of a picture's hash, in its name."""
WHITE = 255
LABELS = {MAIN_DIFFERENCE: ("Before the change:", "After the change:")}
USUAL_LABELS = ("The picture before the change:", "The picture after the change:")
"""As the protocols show the pictures: a judge is asked what it was taught."""
SHEET = "sheet.png"
OUTCOMES = 4
"""This many outcomes are shown at least, each in a row with its instances."""
WIDTH, HEIGHT, GAP = 460, 230, 14
LINE, LETTERS = 19, 60
"""Of the text under a picture."""
INK, YES, NO = (40, 40, 40), (0, 110, 60), (170, 40, 30)


@dataclass(frozen=True, slots=True)
class Shot:
    """Two pictures of one size as they were written, and the two of them side by side."""

    before: str
    after: str
    pair: str


def format_answer(answer: LessonAnswer) -> str:
    """Return an answer in the form that the prompts ask for.

    >>> format_answer(True), format_answer("A cup was added.")
    ('{"answer": "yes"}', '{"difference": "A cup was added."}')
    """
    fields = {"difference": answer} if isinstance(answer, str) else {"answer": "yes" if answer else "no"}
    return json.dumps(fields, ensure_ascii=False)


def side_by_side(before: Pixels, after: Pixels) -> Pixels:
    """Join both images, the source on the left, with a white seam between them."""
    seam = np.full((before.shape[0], SEAM, 3), WHITE, np.uint8)
    return np.concatenate([before, seam, after], axis=1)


def export(lessons: Sequence[Lesson], out: Path, prompt: OpenPrompt) -> dict[str, Shot]:
    """Write both formats and every image once; return the images of each lesson."""
    write = cache(lambda before, after: _write(before, after, out))
    shots = {lesson.id: write(lesson.before, lesson.after) for lesson in lessons}
    halves = prompt("side_by_side")
    write_json(out / LLAVA, [_llava(lesson, shots[lesson.id], halves) for lesson in lessons])
    write_jsonl(out / MESSAGES, (_messages(lesson, shots[lesson.id]) for lesson in lessons))
    return shots


def _write(first: Path, second: Path, out: Path) -> Shot:
    before, other = read_image(first), read_image(second)
    after = resize_image(other, before.shape[1], before.shape[0])
    one, two = (pixel_hash(item)[:DIGITS] for item in (before, after))
    shot = Shot(f"{PICTURES}/{one}.png", f"{PICTURES}/{two}.png", f"{PAIRS}/{one}-{two}.png")
    pictures = {shot.before: before, shot.after: after, shot.pair: side_by_side(before, after)}
    for name, pixels in pictures.items():
        if not (out / name).exists():
            write_png(pixels, out / name)
    return shot


def _llava(lesson: Lesson, shot: Shot, halves: Prompt) -> dict[str, Any]:
    request = halves.render(question=lesson.prompt).text
    turns = [("human", f"<image>\n{request}"), ("gpt", format_answer(lesson.answer))]
    return {
        "id": lesson.id,
        "image": shot.pair,
        "conversations": [{"from": who, "value": text} for who, text in turns],
        **_mark(lesson),
    }


def _messages(lesson: Lesson, shot: Shot) -> dict[str, Any]:
    first, second = LABELS.get(lesson.question, USUAL_LABELS)
    content = [_text(first), {"type": "image"}, _text(second), {"type": "image"}]
    return {
        "id": lesson.id,
        "images": [shot.before, shot.after],
        "messages": [
            {"role": "user", "content": [*content, _text(lesson.prompt)]},
            {"role": "assistant", "content": [_text(format_answer(lesson.answer))]},
        ],
        **_mark(lesson),
    }


def _mark(lesson: Lesson) -> dict[str, str]:
    """Return the mark of answers that a machine gave."""
    return {"labeled_by": lesson.labeled_by} if lesson.labeled_by else {}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def write_sheet(lessons: Sequence[Lesson], shots: Mapping[str, Shot], out: Path) -> None:
    """Draws the instances of a few outcomes, of every action at least one, with what is asked and answered."""
    rows = [
        {kind: _draw_cell(lesson, out / shots[lesson.id].pair) for kind, lesson in row.items()}
        for row in _rows(lessons)
    ]
    heights = [max(cell.height for cell in row.values()) for row in rows]
    sheet = Image.new("RGB", (GAP + len(KINDS) * (WIDTH + GAP), GAP + sum(heights) + GAP * len(rows)), "white")
    top = GAP
    for row, height in zip(rows, heights, strict=True):
        for kind, cell in row.items():
            sheet.paste(cell, (GAP + KINDS.index(kind) * (WIDTH + GAP), top))
        top += height + GAP
    write_png(np.asarray(sheet, np.uint8), out / SHEET)


def _rows(lessons: Sequence[Lesson]) -> list[dict[Kind, Lesson]]:
    """Return lessons on accuracy of some outcomes, those with most instances first."""
    outcomes: dict[tuple[str, str, int], dict[Kind, Lesson]] = {}
    for lesson in lessons:
        if lesson.question == "edit":
            outcomes.setdefault((lesson.edit, lesson.method, lesson.seed), {})[lesson.kind] = lesson
    fullest = sorted(outcomes.values(), key=lambda row: -len(row))
    first = {next(iter(row.values())).action: row for row in reversed(fullest)}
    rows = sorted(first.values(), key=lambda row: -len(row))
    return [*rows, *(row for row in fullest if row not in rows)][: max(OUTCOMES, len(rows))]


def _draw_cell(lesson: Lesson, pair: Path) -> Image.Image:
    """Draw an image pair with request and answer."""
    picture = Image.fromarray(read_image(pair))
    picture.thumbnail((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    request = wrap(lesson.prompt.splitlines()[0], LETTERS)
    lines = [(f"{lesson.kind.replace('_', ' ')} · {lesson.action}", INK), *((line, INK) for line in request)]
    lines.append((format_answer(lesson.answer), YES if lesson.answer else NO))
    cell = Image.new("RGB", (WIDTH, picture.height + LINE * (len(lines) + 1)), "white")
    cell.paste(picture, (0, 0))
    pen, font = ImageDraw.Draw(cell), ImageFont.load_default(15)
    for number, (line, color) in enumerate(lines):
        pen.text((0, picture.height + LINE // 3 + number * LINE), line, color, font)
    return cell


CARD = "card.json"
PAGE = "README.md"


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Result of `training`."""

    folder: Path
    benchmark: str
    license: str
    author: str
    """Rules, or the judge with its prompts."""
    seed: int
    lessons: tuple[Lesson, ...] = ()
    dropped: tuple[Lesson, ...] = ()
    """For the balance of yes and no."""
    left_out: tuple[OmittedLesson, ...] = ()
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    asking: CallBound | None = None
    """Of a dry run: what the judge can be asked at most."""

    def counts(self) -> dict[str, dict[str, int]]:
        """How many lessons there are, counted in several ways."""
        return {
            "by action": _count(item.action for item in self.lessons),
            "by question": _count(element.question for element in self.lessons),
            "by instance": _count(lesson.kind for lesson in self.lessons),
            "by answer": _count(f"{entry.question}: {_word(entry)}" for entry in self.lessons),
            "labeled by a machine": _count(
                f"{lesson.question}: {_word(lesson)}, by {lesson.labeled_by}"
                for lesson in self.lessons
                if lesson.labeled_by
            ),
            "dropped for balance": _count(f"{value.question}: {_word(value)}" for value in self.dropped),
        }

    def faults(self) -> dict[str, int]:
        """How many instances and questions were left out, by what they are and why."""
        return _count(f"{item.what}: {item.reason}" for item in self.left_out)


def write_card(done: TrainingSet) -> None:
    """Write the card as JSON and as a page."""
    fields = {
        "benchmark": done.benchmark,
        "license": done.license,
        "author": done.author,
        "seed": done.seed,
        "models": done.models,
        "lessons": len(done.lessons),
        **done.counts(),
        "left out": done.faults(),
        "each left out": [asdict(item) for item in done.left_out],
    }
    write_json(done.folder / CARD, fields)
    write_text(done.folder / PAGE, _page(done))


def _page(done: TrainingSet) -> str:
    tables = [_table(title, counts) for title, counts in done.counts().items()]
    examples = {f"{item.what}: {item.reason}": f"{item.edit}: {item.detail}" for item in reversed(done.left_out)}
    rows = [f"| {name} | {count} | {_table_cell(examples[name])} |" for name, count in done.faults().items()]
    left = "\n".join(["| left out | number | such as |", "|---|---|---|", *rows]) if rows else "Nothing was left out."
    return f"""# Training data for judges of edits

{len(done.lessons)} questions with answers about edits of `{done.benchmark}`, made by {done.author}, seed {done.seed}.
{_origin(done)}
Of each question and action there are as many yes as no.

License of the pictures and labels: {done.license or "not stated by the benchmark"}.

- `{LLAVA}`: conversations, both pictures side by side in one
- `{MESSAGES}`: chat messages, two pictures each, as judges are asked

![a few instances]({SHEET})

{chr(10).join(tables)}
## Left out, and why

{left}
"""


def _origin(done: TrainingSet) -> str:
    if any(lesson.labeled_by for lesson in done.lessons):
        return (
            "Answers follow from how the instance was made, were given by people, or, where `labeled_by` says so, by a "
            "machine, which errs: such labels are weak."
        )
    return "Every answer follows from how the instance was made or was given by people; else there is no lesson."


def _table(title: str, counts: dict[str, int]) -> str:
    rows = "\n".join(f"| {name} | {count} |" for name, count in counts.items())
    return f"## {title.capitalize()}\n\n| | lessons |\n|---|---|\n{rows}\n" if rows else ""


def _table_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _word(lesson: Lesson) -> str:
    return "text" if isinstance(lesson.answer, str) else "yes" if lesson.answer else "no"


def summary_lines(done: TrainingSet) -> Sequence[str]:
    """Summarize the result in a few lines."""
    answers = ", ".join(f"{name} {count}" for name, count in done.counts()["by question"].items())
    lines = [
        f"{done.folder}: {len(done.lessons)} lessons ({answers or 'none'}), {len(done.dropped)} dropped for balance."
    ]
    lines += [f"  left out, {name}: {count}" for name, count in done.faults().items()]
    unjudged = sum(item.detail == UNKNOWN_ANSWER for item in done.left_out)
    if unjudged:
        lines.append(f"  {unjudged} answers only people know: `ratings` brings what they said.")
    return lines


MAX_CONCURRENT = 16
"""Outcomes under way: their pictures are in memory."""
ROLES = ("detector", "text_similarity")
PROMPTS = ("negative_edit", "reverse_edit")
QUESTIONS = 3
"""About one outcome at most: how the edit reads, a negative of it, and one of the way back."""
ARTIFACTS, HALF = "artifacts", 0.5
"""The protocol that may label artifacts, and from which value its verdict is a yes."""


@dataclass(frozen=True, slots=True)
class _Job:
    """An outcome, and what is known about it."""

    edit: Edit
    outcome: Outcome
    labels: Labels


@document_options
def training(
    benchmark: str | Path,
    *,
    out: str | Path,
    outcomes: Paths = ("reference",),
    judge: str = "rules",
    data: str | Path | None = None,
    images: str | Path | None = None,
    limit: Count | None = None,
    ratings: str | Path | None = None,
    machine_artifacts: bool = False,
    models: str = "lite",
    model: Pairs = (),
    seed: int = 0,
    price: str | None = None,
    budget: Amount | None = None,
    max_tokens: Count | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
) -> TrainingSet:
    """Build training data for judges: edits, negatives of them, and the reverse edits, as conversations.

    Every answer is known from how an instance was made, or from people; what is not known is left out and counted.
    Labels of a machine are taken only where you ask for them, and are marked.

    Example:
        $ editgauge build training magicbrush --data dev --out lessons
        >>> editgauge.build.training("magicbrush", data="dev", out="lessons")

    Args:
        benchmark: a name from `editgauge list benchmarks`, or a folder of your own.
        out: folder to write; new or empty, except for a judge's transcripts.
        outcomes: `reference` for the benchmark's own edited images; `NAME=FOLDER` for those of a method.
        judge: source of the text of made-up edits: `rules`, `openai:MODEL@URL`, `transformers:FOLDER`, or
            `NAME=ADDRESS`.
        ratings: people's ratings of the methods' outcomes, in the format that `editgauge agree` reads.
        machine_artifacts: label artifacts by the protocol `artifacts` where people did not; such lessons are marked.
        seed: random seed that draws decoys and balances the classes.
        dry_run: ask and write nothing; say what a judge can be asked at most.
        quiet: print no progress or remarks.

    """
    folder = Path(out)
    require_new(folder, ignore=FOLDER)
    judges = JudgeOptions(
        judge=None if judge == RULES else judge,
        price=price,
        budget=budget,
        max_tokens=max_tokens,
        prompts=prompts,
        replay=replay,
    )
    judge_config = read_judge_config(judges)
    selected_models = choose_models(models, pairs(model, "model", "ROLE=NAME"), ROLES)
    if not {*ROLES} <= selected_models.models.keys():
        raise BadInputError(
            "Negative edits need a model that finds things, and one that tells which are alike.",
            selected_models.remarks,
        )
    opened = open_benchmark(benchmark, data, images)
    jobs = _jobs(opened, outcomes, ratings, limit)
    if dry_run:
        texts = edit_bytes(job.edit for job in jobs)
        asking = bound_calls(judge_config, QUESTIONS * len(jobs), prompts=PROMPTS, text_bytes=texts, quiet=quiet)
        return TrainingSet(folder, opened.name, opened.license, next(iter(judge_config.addresses)), seed, asking=asking)
    prompt = partial(open_prompt, folder=judge_config.prompts)
    with ModelService(selected_models.models) as service:
        if machine_artifacts:
            jobs = run_async(_with_artifacts(jobs, service))
        results = run_async(_all(jobs, service, judge_config, folder / FOLDER, prompt=prompt, seed=seed, quiet=quiet))
    made = list(chain.from_iterable(lessons for lessons, _ in results))
    balanced_lessons, dropped = balanced(made, seed)
    shots = export(balanced_lessons, folder, prompt)
    write_sheet(balanced_lessons, shots, folder)
    done = TrainingSet(
        folder,
        opened.name,
        opened.license,
        written_by(judge_config, PROMPTS) if judge_config.addresses else RULES,
        seed,
        tuple(balanced_lessons),
        tuple(dropped),
        tuple(chain.from_iterable(lacking for _, lacking in results)),
        describe(selected_models.models),
    )
    write_card(done)
    for line in summary_lines(done):
        log_info(line, quiet=quiet)
    return done


def _jobs(
    benchmark: Benchmark,
    outcomes: Mapping[str, str | Path] | Sequence[str],
    ratings: str | Path | None,
    limit: int | None,
) -> list[_Job]:
    """Return a job for every outcome with its known labels; raise `BadInputError` if there is none."""
    edits = benchmark.edits[:limit]
    folders = [outcomes] if isinstance(outcomes, str) else outcomes
    folders_given = folders if isinstance(folders, Mapping) else [folder for folder in folders if folder != REFERENCE]
    methods = pairs(folders_given, "outcomes", "NAME=FOLDER or reference")
    jobs = [_by_reference(edit) for edit in edits if edit.reference] if REFERENCE in folders else []
    people = rated(read_ratings(Path(ratings))) if ratings else {}
    by_id = {edit.id: edit for edit in edits}
    for method, folder in methods.items():
        for outcome in find_outcomes(method, Path(folder), edits).outcomes:
            candidates = (people.get((outcome.edit_id, method, seed)) for seed in (outcome.seed, None))
            labels = next((item for item in candidates if item), Labels())
            if outcome.image is not None:
                jobs.append(_Job(by_id[outcome.edit_id], outcome, labels))
    if not jobs:
        raise BadInputError(
            f"There is no outcome to learn from: '{benchmark.name}' has "
            f"{sum(edit.reference is not None for edit in edits)} edited images of its own among {len(edits)} edits, "
            "and no method gave any. Name outcomes as NAME=FOLDER with `outcomes`."
        )
    return jobs


def _by_reference(edit: Edit) -> _Job:
    """Return the reference outcome, which is right unless people rated it."""
    levels = edit.extras.get("majority")
    image = edit.reference.path if edit.reference else None
    labels = ACCEPTED if levels is None else labels_of(levels)
    return _Job(edit, Outcome(edit_id=edit.id, method=REFERENCE, image=image), labels)


async def _with_artifacts(jobs: Sequence[_Job], see: ModelService) -> list[_Job]:
    """Add artifact labels of a protocol where no person gave one."""
    protocol = open_protocol(ARTIFACTS)
    labeled_by = f"{ARTIFACTS} with {see.card('detector').id}"
    slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def one(job: _Job) -> _Job:
        if job.labels.artifacts is not None:
            return job
        async with slots:
            try:
                scene = (await asyncio.to_thread(_subject, job, see)).scene
                item = Item(
                    edit=job.edit, outcome=job.outcome, source=scene.before, edited=scene.after, mask=scene.mask
                )
                verdict = (await protocol.score(item, see))["artifact"]  # type: ignore[arg-type]
            except (BadImageError, UnscorableError):
                return job  # without a verdict there is no such lesson, which is then counted as left out
        if isinstance(verdict, Unscored):
            return job
        return replace(job, labels=replace(job.labels, artifacts=verdict.value >= HALF, artifacts_by=labeled_by))

    return list(await asyncio.gather(*map(one, jobs)))


async def _all(
    jobs: Sequence[_Job],
    see: ModelService,
    judge_config: JudgeConfig,
    transcripts: Path,
    *,
    prompt: OpenPrompt,
    seed: int,
    quiet: bool,
) -> list[tuple[list[Lesson], list[OmittedLesson]]]:
    """Build the lessons of all outcomes in order."""
    slots = asyncio.Semaphore(MAX_CONCURRENT)
    async with AsyncExitStack() as stack:
        author: Author = RuleAuthor()
        if judge_config.addresses:
            opened = await stack.enter_async_context(open_single_judge(judge_config, transcripts))
            author = JudgeAuthor(opened.ask, prompt)
        with progress("training data", len(jobs), quiet=quiet) as advance:

            async def one(job: _Job) -> tuple[list[Lesson], list[OmittedLesson]]:
                async with slots:
                    try:
                        subject = await asyncio.to_thread(_subject, job, see)
                        return await lessons_of(subject, author, prompt, seed)
                    except BadImageError as unreadable:
                        unable = UnscorableError("unreadable_image", str(unreadable))
                        return [], [left_out(job.edit.id, ALL, unable)]
                    finally:
                        advance()

            return list(await asyncio.gather(*map(one, jobs)))


def _subject(job: _Job, see: ModelService) -> Subject:
    """Load the images of an outcome in one size."""
    if job.outcome.image is None:
        raise BadImageError(f"'{job.edit.id}' has no edited image.")
    before, after = read_image(job.edit.source.path), read_image(job.outcome.image)
    height, width = before.shape[:2]
    mask = job.edit.mask.render(width, height) if job.edit.mask else None
    scene = ChangeScene(before, resize_image(after, width, height), see, mask, bool(job.labels.accurate))
    paths = (job.edit.source.path, job.outcome.image)
    return Subject(job.edit, job.outcome.method, job.outcome.seed, *paths, job.labels, scene)


def balanced(lessons: Sequence[Lesson], seed: int) -> tuple[list[Lesson], list[Lesson]]:
    """Return a balanced set of lessons in order, and the dropped ones.

    Of each question and action as many are kept with yes as with no, by chance; questions for a text are kept whole.
    """
    cells: dict[tuple[str, str], dict[bool, list[str]]] = defaultdict(lambda: {True: [], False: []})
    for lesson in lessons:
        if isinstance(lesson.answer, bool):
            cells[lesson.question, lesson.action][lesson.answer].append(lesson.id)
    dropped: set[str] = set()
    for (question, action), answers in cells.items():
        chance = Random(f"{seed}/{question}/{action}")  # noqa: S311
        fewer = min(map(len, answers.values()))
        for names in answers.values():
            dropped.update(chance.sample(names, len(names) - fewer))
    return [element for element in lessons if element.id not in dropped], [
        item for item in lessons if item.id in dropped
    ]
