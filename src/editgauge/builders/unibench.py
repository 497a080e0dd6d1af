"""Build a UniBench-style benchmark from annotated photographs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from editgauge._util.batching import run_async
from editgauge._util.coco import read_coco
from editgauge._util.fields import format_value
from editgauge._util.files import write_text
from editgauge._util.images import read_image, write_png
from editgauge._util.progress import log_info, progress
from editgauge._util.text import format_count
from editgauge.benchmarks._unibench_annotations import (
    FORMAT,
    AnnotatedImage,
    Annotations,
    ChangeClass,
    ChangeColor,
    Generate,
    MoveTask,
    RelativePosition,
    Task,
    TaskType,
    described,
    forbidden_colors,
)
from editgauge.builders import _unibench_proposals as by_rules
from editgauge.builders._common import (
    RULES,
    BuiltBenchmark,
    OmittedTask,
    bound_calls,
    check_paths,
    open_single_judge,
    report_path,
    run_concurrently,
    transcripts_path,
    write_report,
    written_by,
)
from editgauge.builders._unibench_proposals import (
    FIELDS,
    MAX_CORRECTIONS,
    PROMPTS,
    Drafted,
    candidates_of,
    draft,
    relation_of,
    sorted_out,
)
from editgauge.builders._unibench_scenes import Chosen, Criteria, EditableScene, choose, make_scene
from editgauge.builders.review.file import (
    CandidateGroup,
    Omission,
    Review,
    ReviewCandidate,
    ReviewPicture,
    one_per_line,
    read_review,
    review_path,
    write_review,
)
from editgauge.engine._judges import JudgeConfig, read_judge_config
from editgauge.errors import BadImageError, BadInputError
from editgauge.judges import NoAnswerError, open_prompt
from editgauge.options import Amount, Count, JudgeOptions, Share, document_options

FORMS: dict[TaskType, type[ChangeClass | ChangeColor | MoveTask | Generate]] = {
    "change_class": ChangeClass,
    "change_color": ChangeColor,
    "move": MoveTask,
    "generate": Generate,
}
PLURAL = {"class": "classes", "color": "colors", "place": "places", "template": "templates"}


def annotations_of(review: Review) -> Annotations | None:
    """Return the annotations, or None if none is left; a task needs a candidate of every kind."""
    candidates = review.by_group()
    images = [image for group in review.groups if (image := _image(group, candidates[group.name])) is not None]
    if not images:
        return None
    people = sorted({decision.by for candidate in review.candidates for decision in candidate.decisions})
    by = f" by {', '.join(people)}" if people else ""
    about = f"Drafted by {review.by}; {review.reviewed} of {len(review.candidates)} candidates reviewed{by}."
    return Annotations.model_construct(format=FORMAT, about=about, images=images)


def write_unibench(review: Review, file: Path) -> None:
    """Write the annotations, or remove the file if none is left.

    Each candidate was checked when it was proposed or edited, so that the whole need not be checked at every answer.
    """
    annotations = annotations_of(review)
    if annotations is None:
        file.unlink(missing_ok=True)
        return
    write_text(file, one_per_line(described(annotations)))


def _image(group: CandidateGroup, candidates: Iterable[ReviewCandidate]) -> AnnotatedImage | None:
    by_task: dict[tuple[str, str | None], list[ReviewCandidate]] = defaultdict(list)
    (picture,) = group.pictures
    for candidate in candidates:
        if candidate.is_kept and fits_picture(candidate, picture):
            by_task[candidate.task, candidate.instance].append(candidate)
    tasks = [
        task for (kind, instance), of_task in by_task.items() if (task := _task(kind, instance, of_task)) is not None
    ]
    if not tasks:
        return None
    # Not checked again: both were when they were read, and run lengths are long.
    fields: dict[str, Any] = {name: getattr(picture, name) for name in type(picture).model_fields if name != "number"}
    return AnnotatedImage.model_construct(**fields, tasks=tasks)


def fits_picture(candidate: ReviewCandidate, picture: ReviewPicture) -> bool:
    """Return whether a candidate still applies after a crop or a color correction."""
    by_id = {instance.id: instance for instance in picture.instances}
    if not {candidate.instance, candidate.anchor} <= {None, *by_id}:
        return False
    return candidate.field != "color" or not forbidden_colors([candidate.value], by_id.get(candidate.instance or ""))


def _task(kind: str, instance: str | None, candidates: list[ReviewCandidate]) -> Task | None:
    form = next(form for form in FORMS if form == kind)
    parts: dict[str, Any] = {"type": kind, **({"instance": instance} if instance else {})}
    for field in FIELDS[form]:
        distinct = {_spelled(candidate): candidate for candidate in reversed(candidates) if candidate.field == field}
        if not distinct:
            return None
        ordered = reversed(distinct.values())
        parts[PLURAL[field]] = [_place(item) if field == "place" else item.value for item in ordered]
    return FORMS[form].model_validate(parts)


def _spelled(candidate: ReviewCandidate) -> str:
    """Return a key that is equal for equivalent candidates."""
    return f"{candidate.anchor} {candidate.value}".casefold().replace("grey", "gray")


def _place(candidate: ReviewCandidate) -> RelativePosition:
    return RelativePosition(anchor=candidate.anchor or "", words=candidate.value, relation=relation_of(candidate.value))


T = TypeVar("T")


class ReviewWork:
    """The review file of a file of annotations while it is filled; one built with other settings is refused."""

    def __init__(self, file: Path, by: str, settings: Mapping[str, Any], classes: Sequence[str]) -> None:
        self.file = file
        self.classes = tuple(classes)
        self.pictures = file.with_name(f"{file.stem}.images")
        self.report = report_path(file)
        empty = Review(
            format="editgauge-review/1",
            kind="unibench",
            by=by,
            images=".",
            settings=dict(settings),
            classes=list(classes),
            groups=[],
            candidates=[],
        )
        self._review = _earlier(review_path(file), empty)
        self._groups = list(self._review.groups)
        self._candidates = list(self._review.candidates)
        self._parts_out = list(self._review.left_out)
        self._known = {group.pictures[0].number for group in self._groups}
        self._tried = 0
        self.reused = 0
        self._images_out: list[OmittedTask] = []

    @property
    def images(self) -> int:
        """How many images there are now."""
        return len(self._groups)

    @property
    def candidates(self) -> int:
        """How many candidates there are now."""
        return len(self._candidates)

    @property
    def left_out(self) -> tuple[OmittedTask, ...]:
        """Images, objects and candidates that were left out."""
        return (*self._images_out, *(OmittedTask(item.what, item.why) for item in self._parts_out))

    @contextmanager
    def saved(self, made: str, limit: int | None, *, quiet: bool) -> Iterator[None]:
        """Show progress; on any exit, write what was found so far."""
        try:
            with progress("images", limit or 0, quiet=quiet) as self.advance:
                yield
        finally:
            review = self._whole()
            write_review(review, review_path(self.file))
            write_unibench(review, self.file)
            summary = f"{made}: {self.images} images, {self.candidates} candidates."
            write_report(self.report, summary, sorted(self.left_out, key=lambda item: item.what))

    def unless_left_out(self, image: T | OmittedTask) -> T | None:
        """Return the image, or note why it is left out."""
        if not isinstance(image, OmittedTask):
            return image
        self.leave_out(image)
        return None

    def wanted(self, limit: int | None, most: int) -> int:
        """Return how many images to process next."""
        return most if limit is None else min(most, limit - self._tried)

    def keep(self, number: int) -> bool:
        """Return whether an image of an earlier run can be reused."""
        if number not in self._known:
            return False
        self.reused += 1
        self._tried += 1
        self.advance()
        return True

    def begin(self, scene: EditableScene | OmittedTask) -> EditableScene | None:
        """Count and return the square image, or note why it is left out."""
        self._tried += isinstance(scene, EditableScene)
        return self.unless_left_out(scene)

    def leave_out(self, what: OmittedTask) -> None:
        """Note an image that is left out."""
        self._images_out.append(what)

    def add(
        self, picture: ReviewPicture, candidates: Sequence[ReviewCandidate], left_out: Sequence[OmittedTask]
    ) -> bool:
        """Add an image with its candidates; return whether they contain a task."""
        self.advance()
        group = CandidateGroup(name=picture.file, pictures=[picture])
        alone = self._review.model_copy(update={"groups": [group], "candidates": list(candidates)})
        if annotations_of(alone) is None:
            self.leave_out(OmittedTask(picture.file, "no task is complete: each needs a candidate and a template"))
            return False
        self._groups.append(group)
        self._candidates += candidates
        self._parts_out += [Omission(what=item.what, why=item.why) for item in left_out]
        return True

    def _whole(self) -> Review:
        """Return the review ordered by image name."""
        return self._review.model_copy(
            update={
                "groups": sorted(self._groups, key=lambda item: item.name),
                "candidates": sorted(self._candidates, key=lambda element: element.group),
                "left_out": self._parts_out,
            }
        )


def _earlier(file: Path, empty: Review) -> Review:
    if not file.exists():
        return empty
    review = read_review(file)
    earlier_options, now = _options(review), _options(empty)
    pairs = [
        f"{name}: {format_value(earlier_options.get(name))} there, {format_value(now.get(name))} now"
        for name in {**earlier_options, **now}
        if earlier_options.get(name) != now.get(name)
    ]
    if pairs:
        raise BadInputError(f"'{file}' was built with other options; give those again, or choose another `out`.", pairs)
    return review


def _options(review: Review) -> dict[str, object]:
    """Return the options that must match for reviews to be combined."""
    return {"kind": review.kind, "by": review.by, **review.settings, "classes": review.classes}


DEFAULT_MAX_TOKENS = 4096
"""A draft of ten objects is long."""
MAX_CONCURRENT = 32
"""Images that are decoded and asked about before the next are looked at."""
SIZES = 64, 4096
MAX_ATTEMPTS = 2
"""With a limit, a judge is asked about no more than that many times as many images."""
BYTES_PER_OBJECT = 120
"""In a question: its name and where it is."""


@document_options
def unibench(
    *,
    coco: str | Path,
    images: str | Path,
    out: str | Path,
    captions: str | Path | None = None,
    judge: str = "rules",
    size: int = 512,
    limit: Count | None = None,
    seed: int = 0,
    candidates: Count = 5,
    least_share: Share = 0.01,
    most_share: Share = 0.5,
    fewest: Count = 2,
    most_objects: Count = 12,
    least_kept: Share = 0.9,
    price: str | None = None,
    budget: Amount | None = None,
    max_tokens: Count | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
) -> BuiltBenchmark:
    """Build a UniBench from COCO annotations, with candidates for people to review.

    Run the same command again to continue after a stop: what people have reviewed is kept.

    Example:
        $ editgauge build unibench --coco instances.json --captions captions.json --images val2017 --out unibench.json
        >>> editgauge.build.unibench(coco="instances.json", images="val2017", out="unibench.json")

    Args:
        coco: COCO's instance annotations (JSON).
        images: folder with the images.
        out: file of annotations to write.
        captions: COCO's captions (JSON); then only objects that a caption mentions are edited.
        judge: source of proposals: `rules`, `openai:MODEL@URL`, `transformers:FOLDER`, or `NAME=ADDRESS`.
        size: side of the square images in pixels, from 64 to 4096.
        limit: limit to the first N images.
        seed: random seed that orders images and draws candidates.
        candidates: maximum number of candidates of each kind.
        least_share: minimum share of the image that an editable object covers.
        most_share: maximum share of the image that an editable object covers.
        fewest: minimum number of editable objects per image.
        most_objects: maximum number of annotated objects per image.
        least_kept: minimum share of an object that lies inside the square.
        max_tokens: maximum length of an answer in tokens; default 4096.
        dry_run: ask and write nothing; say what a judge can be asked at most.
        quiet: print no progress or remarks.

    """
    criteria = Criteria(least_share, most_share, fewest, most_objects, least_kept)
    if not SIZES[0] <= size <= SIZES[1] or candidates < 1 or (limit is not None and limit < 1):
        raise BadInputError(f"`size` goes from {SIZES[0]} to {SIZES[1]}, `candidates` and `limit` are at least 1.")
    file, folder = Path(out), Path(images)
    check_paths(file, folder)
    judges = JudgeOptions(
        judge=judge, price=price, budget=budget, max_tokens=max_tokens, prompts=prompts, replay=replay
    )
    judge_config = None if judge == RULES else read_judge_config(judges, max_tokens=DEFAULT_MAX_TOKENS)
    annotations = read_coco(Path(coco), Path(captions) if captions else None)
    if dry_run:
        fit = sum(
            isinstance(item, Chosen) for item in choose(annotations, criteria, seed, with_captions=captions is not None)
        )
        fit = fit if limit is None else min(fit, MAX_ATTEMPTS * limit)
        texts = len(", ".join(annotations.classes).encode()) * 2 + criteria.most_objects * BYTES_PER_OBJECT
        asking = bound_calls(
            judge_config or JudgeConfig(),
            fit * (MAX_CORRECTIONS + 1),
            prompts=PROMPTS,
            text_bytes=texts,
            images=1,
            quiet=quiet,
        )
        return BuiltBenchmark(file, review_path(file), report_path(file), asking=asking)
    by = written_by(judge_config, PROMPTS) if judge_config else by_rules.BY
    settings = {"size": size, "seed": seed, "candidates": candidates, "captions": captions is not None}
    work = ReviewWork(file, by, {**settings, **asdict(criteria)}, tuple(annotations.classes))
    waves = _waves(choose(annotations, criteria, seed, with_captions=captions is not None), work, limit)

    def scene_of(selected: Chosen) -> EditableScene | OmittedTask:
        """Return the square image, or the reason why it is left out."""
        name = f"{work.pictures.name}/{selected.image.number:012d}.png"
        try:
            return make_scene(selected, read_image(folder / selected.image.file), name, size, criteria)
        except BadImageError as unreadable:
            return OmittedTask(selected.image.file, str(unreadable))

    with work.saved(f"UniBench from '{Path(coco).name}' by {by}, seed {seed}", limit, quiet=quiet):
        if judge_config is None:
            for selected in chain.from_iterable(waves):
                if scene := work.begin(scene_of(selected)):
                    proposed = by_rules.propose(scene, annotations, candidates, seed)
                    _add(work, Drafted(scene, *sorted_out(proposed, scene.picture, work.classes)))
        else:
            most = None if limit is None else MAX_ATTEMPTS * limit
            run_async(_by_judge(_at_most(waves, most), work, scene_of, judge_config, candidates))
    built = BuiltBenchmark(
        file, review_path(file), work.report, work.images, work.candidates, work.reused, work.left_out
    )
    following = f" Next: editgauge build review {file}" if built.candidates else ""
    log_info(
        f"{format_count(built.images, 'image')} ({built.reused} kept) with "
        f"{format_count(built.candidates, 'candidate')} by {by}; "
        f"{len(built.left_out)} left out, listed in '{built.report}'.{following}",
        quiet=quiet,
    )
    return built


def _waves(selected: Iterator[Chosen | OmittedTask], work: ReviewWork, limit: int | None) -> Iterator[list[Chosen]]:
    """Yield batches of images until enough became squares."""
    fit = (element for element in map(work.unless_left_out, selected) if element is not None)
    while wave := list(islice(fit, work.wanted(limit, MAX_CONCURRENT))):
        yield [item for item in wave if not work.keep(item.image.number)]


def _at_most(waves: Iterator[list[Chosen]], most: int | None) -> Iterator[list[Chosen]]:
    """No more images than that: a judge that drafts nothing would be asked about all there are."""
    for wave in waves:
        yield wave[:most]
        most = None if most is None else most - len(wave)
        if most is not None and most <= 0:
            return


async def _by_judge(
    waves: Iterator[list[Chosen]],
    work: ReviewWork,
    scene_of: Callable[[Chosen], EditableScene | OmittedTask],
    judge_config: JudgeConfig,
    number: int,
) -> None:
    prompt = partial(open_prompt, folder=judge_config.prompts)
    async with open_single_judge(judge_config, transcripts_path(work.file)) as judge:

        async def one(selected: Chosen) -> None:
            scene = work.begin(await asyncio.to_thread(scene_of, selected))
            if scene is None:
                return
            try:
                _add(work, await draft(scene, work.classes, judge.ask, prompt, number))
            except NoAnswerError as unable:
                why = f"the judge gave no draft ({unable.fault}): {unable.message}"
                work.leave_out(OmittedTask(selected.image.file, why))
                work.advance()

        for wave in waves:
            await run_concurrently(judge, wave, one)


def _add(work: ReviewWork, drafted: Drafted) -> None:
    picture = drafted.scene.picture
    proposed = candidates_of(drafted.proposals, picture.file)
    if work.add(picture, proposed, (*drafted.scene.left_out, *drafted.left_out)):
        write_png(drafted.scene.pixels, work.file.parent / picture.file)
