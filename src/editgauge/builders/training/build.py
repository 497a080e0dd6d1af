"""The verb `build training`: from edits with their outcomes to conversations that teach a judge."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random

from editgauge._util.concurrency import run_async
from editgauge._util.files import require_new
from editgauge._util.images import read_image, resize_image
from editgauge._util.progress import log_info, progress
from editgauge.analysis.ratings import read_ratings
from editgauge.benchmarks import open_benchmark
from editgauge.builders.judge_calls import RULES, OpenPrompt, edit_bytes, most_calls, the_judge, written_by
from editgauge.builders.training.authors import Author, JudgeAuthor, RuleAuthor
from editgauge.builders.training.card import Training, summary_lines, write_card
from editgauge.builders.training.decoys import ChangeScene
from editgauge.builders.training.export import export, write_sheet
from editgauge.builders.training.lessons import (
    ACCEPTED,
    ALL,
    REFERENCE,
    Labels,
    Lesson,
    OmittedLesson,
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
from editgauge.methods.outcomes import find_outcomes
from editgauge.models._factory import describe
from editgauge.models._service import ModelService
from editgauge.models.profiles import choose_models
from editgauge.options import Amount, Count, JudgeOptions, Pairs, Paths
from editgauge.protocols import open_protocol
from editgauge.types import Benchmark, Edit, Item, Outcome, Unscored

AT_ONCE = 16
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
) -> Training:
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
    jury = read_judge_config(judges)
    chosen = choose_models(models, pairs(model, "model", "ROLE=NAME"), ROLES)
    if not {*ROLES} <= chosen.models.keys():
        raise BadInputError(
            "Negative edits need a model that finds things, and one that tells which are alike.", chosen.remarks
        )
    opened = open_benchmark(benchmark, data, images)
    jobs = _jobs(opened, outcomes, ratings, limit)
    if dry_run:
        texts = edit_bytes(job.edit for job in jobs)
        asking = most_calls(jury, QUESTIONS * len(jobs), prompts=PROMPTS, text_bytes=texts, quiet=quiet)
        return Training(folder, opened.name, opened.license, next(iter(jury.addresses)), seed, asking=asking)
    prompt = partial(open_prompt, folder=jury.prompts)
    with ModelService(chosen.models) as service:
        if machine_artifacts:
            jobs = run_async(_with_artifacts(jobs, service))
        results = run_async(_all(jobs, service, jury, folder / FOLDER, prompt, seed, quiet))
    made = list(chain.from_iterable(lessons for lessons, _ in results))
    kept, dropped = balanced(made, seed)
    shots = export(kept, folder, prompt)
    write_sheet(kept, shots, folder)
    done = Training(
        folder,
        opened.name,
        opened.license,
        written_by(jury, PROMPTS) if jury.addresses else RULES,
        seed,
        tuple(kept),
        tuple(dropped),
        tuple(chain.from_iterable(lacking for _, lacking in results)),
        describe(chosen.models),
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
    """Every outcome there is, with what is known about it; raises `BadInputError` when there is none."""
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
            "and no method gave any. Name outcomes with --outcomes NAME=FOLDER."
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
    slots = asyncio.Semaphore(AT_ONCE)

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
    jury: JudgeConfig,
    transcripts: Path,
    prompt: OpenPrompt,
    seed: int,
    quiet: bool,
) -> list[tuple[list[Lesson], list[OmittedLesson]]]:
    """Build the lessons of all outcomes in order."""
    slots = asyncio.Semaphore(AT_ONCE)
    async with AsyncExitStack() as stack:
        author: Author = RuleAuthor()
        if jury.addresses:
            opened = await stack.enter_async_context(the_judge(jury, transcripts))
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
