"""The verb `build editval`: a set of edits of 13 types as EditVal was made (section 3.1, appendix H).

Classes are proposed for every edit type, those that suit the most types are chosen, operations are proposed for every
class and type, and people check both in `build review`. What is written can be read as the benchmark `editval`.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from editgauge._util.coco import Coco, CocoImage, read_coco
from editgauge._util.concurrency import run_async
from editgauge._util.datasets import slug
from editgauge._util.progress import log_info
from editgauge._util.text import format_count
from editgauge.benchmarks.editval import TYPES
from editgauge.builders.built import BuiltBenchmark, OmittedTask, check_places, report_beside, write_report
from editgauge.builders.editval.file import write_editval
from editgauge.builders.editval.proposals import (
    BY_RULES,
    PROMPTS,
    Pair,
    Proposed,
    ask_classes,
    ask_operations,
    classes_for,
    operations_for,
)
from editgauge.builders.judge_calls import RULES, each_of, most_calls, the_judge, transcripts_beside, written_by
from editgauge.builders.review.file import (
    CandidateGroup,
    FieldName,
    Review,
    ReviewCandidate,
    ReviewPicture,
    instance_of,
    read_review,
    review_beside,
    write_review,
)
from editgauge.engine._judges import JudgeConfig, read_judge_config
from editgauge.errors import BadInputError
from editgauge.judges import NoAnswerError, open_prompt
from editgauge.options import Amount, Count, JudgeOptions, Share

MOST_TOKENS = 1024


def editval(
    *,
    coco: str | Path,
    images: str | Path,
    out: str | Path,
    judge: str = "rules",
    classes: Count = 19,
    per_class: Count = 5,
    per_type: Count = 1,
    operations: Count = 5,
    seed: int = 0,
    least_share: Share = 0.02,
    most_share: Share = 0.6,
    price: str | None = None,
    budget: Amount | None = None,
    max_tokens: Count | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
) -> BuiltBenchmark:
    """Build a set of edits in the way of EditVal from COCO annotations, for people to review.

    Example:
        $ editgauge build editval --coco instances.json --images val2017 --out object.json
        >>> editgauge.build.editval(coco="instances.json", images="val2017", out="object.json")

    Args:
        coco: COCO's instance annotations (JSON).
        images: folder with the images.
        out: file to write, in EditVal's public format.
        judge: source of proposals: `rules`, `openai:MODEL@URL`, `transformers:FOLDER`, or `NAME=ADDRESS`.
        classes: number of classes; those that suit the most edit types come first.
        per_class: number of images per class.
        per_type: number of operations per image and edit type.
        operations: maximum number of proposals per class and edit type.
        seed: random seed that draws images and operations.
        least_share: minimum share of the image that the object's box covers.
        most_share: maximum share of the image that the object's box covers.
        max_tokens: maximum length of an answer in tokens; default 1024.
        dry_run: ask and write nothing; say what a judge can be asked at most.
        quiet: print no progress or remarks.

    """
    file, folder = Path(out), Path(images)
    check_places(file, folder)
    if min(classes, per_class, per_type, operations) < 1 or not 0 <= least_share < most_share <= 1:
        raise BadInputError(
            "--classes, --per-class, --per-type and --operations are at least 1; shares rise from 0 to 1."
        )
    judges = JudgeOptions(
        judge=judge, price=price, budget=budget, max_tokens=max_tokens, prompts=prompts, replay=replay
    )
    jury = None if judge == RULES else read_judge_config(judges, max_tokens=MOST_TOKENS)
    coco_annotations = read_coco(Path(coco))
    proposed = Proposed()
    named = [image for image in coco_annotations.images if proposed.take_image(image)]
    fitting = _fitting(replace(coco_annotations, images=tuple(named)), folder, least_share, most_share, seed)
    if not fitting:
        raise BadInputError(
            f"No image in '{folder}' shows one object of a class, alone and neither too small nor too large."
        )
    if dry_run:
        questions = len(TYPES) * (1 + min(classes, len(fitting)))
        names = len(", ".join(fitting).encode())
        asking = most_calls(jury or JudgeConfig(), questions, prompts=PROMPTS, text_bytes=names, quiet=quiet)
        return BuiltBenchmark(file, review_beside(file), report_beside(file), asking=asking)
    if jury is None:
        by = BY_RULES
        _by_rules(proposed, coco_annotations, list(fitting), classes, operations)
    else:
        by = written_by(jury, PROMPTS)
        run_async(_by_judge(proposed, list(fitting), classes, operations, jury, file))
    settings = {"classes": classes, "per_class": per_class, "per_type": per_type, "seed": seed}
    relative = os.path.relpath(folder.resolve(), file.parent.resolve())
    pictures = {name: fitting[name][:per_class] for name in _chosen(proposed.classes, list(fitting), classes)}
    review = Review(
        format="editgauge-review/1",
        kind="editval",
        by=by,
        images=Path(relative).as_posix(),
        settings=settings,
        classes=list(coco_annotations.classes),
        groups=[
            CandidateGroup(name=name, pictures=[picture_of(item) for item in some]) for name, some in pictures.items()
        ],
        candidates=_candidates(proposed, list(pictures)),
    )
    review = _with_earlier(review, review_beside(file))
    write_review(review, review_beside(file))
    write_editval(review, file)
    summary = f"EditVal from '{Path(coco).name}' by {by}: {len(pictures)} classes, {len(review.candidates)} candidates."
    write_report(report_beside(file), summary, proposed.left_out)
    count = len({element.number for some in pictures.values() for element in some})
    log_info(
        f"{format_count(count, 'image')} of {len(pictures)} classes with "
        f"{format_count(len(review.candidates), 'candidate')} by "
        f"{by}; {len(proposed.left_out)} left out, listed in '{report_beside(file)}'. "
        f"Next: editgauge build review {file}",
        quiet=quiet,
    )
    reviewed = sum(bool(candidate.decisions) for candidate in review.candidates)
    return BuiltBenchmark(
        file,
        review_beside(file),
        report_beside(file),
        count,
        len(review.candidates),
        reviewed,
        tuple(proposed.left_out),
    )


def _fitting(coco: Coco, folder: Path, least: float, most: float, seed: int) -> dict[str, list[CocoImage]]:
    """For every class its images with one such object, of a fitting size, in an order of chance."""

    def fits(image: CocoImage, class_: str) -> bool:
        left, top, right, bottom = next(object_.box for object_ in image.objects if object_.class_ == class_)
        return least <= (right - left) * (bottom - top) / (image.width * image.height) <= most

    by_class: dict[str, list[CocoImage]] = {}
    for image in sorted(coco.images, key=lambda item: hashlib.sha256(f"{seed} {item.number}".encode()).digest()):
        for class_ in dict.fromkeys(object_.class_ for object_ in image.objects):
            if image.count(class_) == 1 and fits(image, class_) and (folder / image.file).is_file():
                by_class.setdefault(class_, []).append(image)
    return {class_: by_class[class_] for class_ in coco.classes if class_ in by_class}


def _chosen(suited: Mapping[str, Sequence[str]], class_names: Sequence[str], number: int) -> list[str]:
    """Return the classes that suit the most edit types (the overlap filter of section 3.1)."""
    counts = Counter(word for words in suited.values() for word in words)
    return sorted(
        (word for word in class_names if counts[word]), key=lambda word: (-counts[word], class_names.index(word))
    )[:number]


def _by_rules(proposed: Proposed, coco: Coco, class_names: list[str], classes: int, number: int) -> None:
    for kind in TYPES:
        proposed.take_classes(kind, classes_for(kind, coco, class_names), class_names)
    for class_ in _chosen(proposed.classes, class_names, classes):
        for kind in (kind for kind in TYPES if class_ in proposed.classes[kind]):
            proposed.take_operations((class_, kind), operations_for(kind, class_, coco, number))


async def _by_judge(
    proposed: Proposed, class_names: list[str], classes: int, number: int, jury: JudgeConfig, file: Path
) -> None:
    prompt = partial(open_prompt, folder=jury.prompts)
    answers: dict[Pair, list[str]] = {}
    async with the_judge(jury, transcripts_beside(file)) as judge:

        async def classes_of(kind: str) -> None:
            try:
                proposed.take_classes(kind, await ask_classes(kind, class_names, judge.ask, prompt), class_names)
            except NoAnswerError as unable:
                proposed.left_out.append(
                    OmittedTask(kind, f"the judge named no classes ({unable.fault}): {unable.message}")
                )

        async def operations_of(pair: Pair) -> None:
            try:
                answers[pair] = await ask_operations(pair[1], pair[0], number, judge.ask, prompt)
            except NoAnswerError as unable:
                why = f"the judge named no operations ({unable.fault}): {unable.message}"
                proposed.left_out.append(OmittedTask(f"{pair[0]}, {pair[1]}", why))

        await each_of(judge, TYPES, classes_of)
        selected = _chosen(proposed.classes, class_names, classes)
        pairs = [(class_, kind) for class_ in selected for kind in TYPES if class_ in proposed.classes.get(kind, ())]
        await each_of(judge, pairs, operations_of)
    for pair in (pair for pair in pairs if pair in answers):  # in the order of the plan, not of the answers
        proposed.take_operations(pair, answers[pair])
    proposed.left_out.sort(key=lambda item: item.what)


def _candidates(proposed: Proposed, class_names: Sequence[str]) -> list[ReviewCandidate]:
    def one(class_: str, kind: str, what: FieldName, word: str) -> ReviewCandidate:
        name = f"{slug(class_)}/{kind}/{what}/{slug(word)}"
        return ReviewCandidate(id=name, group=class_, task=kind, field=what, proposed=word, value=word)

    return [
        candidate
        for class_ in class_names
        for kind in TYPES
        if class_ in proposed.classes.get(kind, ())
        for candidate in (
            one(class_, kind, "suits", class_),
            *(one(class_, kind, "operation", word) for word in proposed.operations.get((class_, kind), ())),
        )
    ]


def _with_earlier(review: Review, file: Path) -> Review:
    """Carry over earlier decisions on the same candidates."""
    if not file.exists():
        return review
    earlier = read_review(file)
    if earlier.kind != review.kind or earlier.by != review.by:
        raise BadInputError(f"'{file}' holds candidates of {earlier.kind} by {earlier.by}; choose another --out.")
    by_id = {candidate.id: candidate for candidate in earlier.candidates}
    return review.model_copy(update={"candidates": [by_id.get(item.id, item) for item in review.candidates]})


def picture_of(image: CocoImage) -> ReviewPicture:
    """Return the image with all outlined objects."""
    masks = ((name, item.class_, item.render(image.width, image.height)) for name, item in image.named_objects())
    instances = [instance_of(name, class_, mask) for name, class_, mask in masks if mask.any()]
    return ReviewPicture(
        file=image.file,
        width=image.width,
        height=image.height,
        number=image.number,
        captions=list(image.captions),
        license=image.license,
        instances=instances,
    )
