"""Build an EditVal-style benchmark from annotated photographs."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from editgauge._util.batching import run_async
from editgauge._util.coco import Coco, CocoImage, read_coco
from editgauge._util.datasets import slug
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.files import write_json
from editgauge._util.phrases import read_placing
from editgauge._util.progress import log_info
from editgauge._util.text import format_count
from editgauge._vision.geometry import middle, third
from editgauge.benchmarks.editval import NAMES, SIDES, SIZES, TYPES
from editgauge.builders._common import (
    RULES,
    Ask,
    BuiltBenchmark,
    OmittedTask,
    OpenPrompt,
    bound_calls,
    check_paths,
    open_single_judge,
    report_path,
    run_concurrently,
    similar_classes,
    transcripts_path,
    write_report,
    written_by,
)
from editgauge.builders.review.file import (
    MAX_VALUE_LENGTH,
    CandidateGroup,
    FieldName,
    Review,
    ReviewCandidate,
    ReviewPicture,
    instance_of,
    read_review,
    review_path,
    write_review,
)
from editgauge.edit_types import EDIT_TYPES
from editgauge.engine._judges import JudgeConfig, read_judge_config
from editgauge.errors import BadInputError, UnscorableError
from editgauge.judges import NoAnswerError, Question, open_prompt
from editgauge.judges._questions import Structured
from editgauge.options import Amount, Count, JudgeOptions, Share, document_options

BY_RULES = "rules.v1"
ALL = "*"
PROMPTS = ("editval_classes", "editval_operations")
FIXED: dict[str, tuple[str, ...]] = {"size": SIZES, "position_replacement": tuple(SIDES)}
"""Types whose operations the benchmark itself fixes; no judge is asked."""
FORMS = {
    "positional_addition": "the thing and its side, one of: to left, to right, on top, below. 'ball to left'.",
    "alter_parts": "'add handle'.",
}
"""How an operation is written where it is not the plain value of `to`."""
Pair = tuple[str, str]
"""A class and an edit type."""


@dataclass
class Proposed:
    """Proposals so far, and those that were omitted."""

    classes: dict[str, list[str]] = field(default_factory=dict)
    """By edit type."""
    operations: dict[Pair, list[str]] = field(default_factory=dict)
    left_out: list[OmittedTask] = field(default_factory=list)

    def add_image(self, image: CocoImage) -> bool:
        """Return whether the benchmark will find the image by its number; omit it if not."""
        names = [name.format(image.number) for name in NAMES]
        if image.file in names:
            return True
        self.left_out.append(OmittedTask(image.file, f"is not found by its number: call it {names[1]}"))
        return False

    def add_classes(self, edit_type: str, words: Sequence[str], class_names: Sequence[str]) -> None:
        """Add the valid classes of an edit type and omit the others."""
        self.classes[edit_type] = [word for word in words if word in class_names]
        self.left_out += [
            OmittedTask(f"{edit_type}: {word}", "is no class of the annotations with a fitting image")
            for word in words
            if word not in class_names
        ]

    def add_operations(self, pair: Pair, words: Sequence[str]) -> None:
        """Add the operations that are valid and new for the class (appendix E) and omit the others."""
        class_, edit_type = pair
        taken = [
            (kind, word)
            for (owner, kind), words_of_kind in self.operations.items()
            for word in words_of_kind
            if owner == class_
        ]
        fit: list[str] = []
        for word in words:
            earlier = [*taken, *((edit_type, item) for item in fit)]
            why = form_fault(edit_type, word) or overlap_fault(edit_type, word, earlier)
            if why is None and edit_type in {"object_addition", "object_replacement"} and word == class_:
                why = "is the class itself"
            if why:
                self.left_out.append(OmittedTask(f"{class_}, {edit_type}: {word}", why))
            else:
                fit.append(word)
        self.operations[pair] = fit


@cache
def table() -> dict[str, dict[str, Any]]:
    """Read the table `_editval_rules.yaml`."""
    text = (resources.files(__package__) / "_editval_rules.yaml").read_text(encoding="utf-8")
    rules: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {kind: rules[kind] for kind in TYPES}


def classes_for(edit_type: str, coco: Coco, among: Iterable[str]) -> list[str]:
    """Return the classes for which an edit type makes sense."""
    suited = table()[edit_type]["classes"]
    return [item for item in among if ALL in suited or item in suited or coco.classes[item] in suited]


def operations_for(edit_type: str, class_: str, coco: Coco, number: int) -> list[str]:
    """Return at most `number` operations for a class."""
    rule = table()[edit_type]
    by: dict[str, list[str]] = rule.get("by", {})
    operations = [*rule.get("operations", []), *by.get(class_, by.get(coco.classes[class_], []))]
    if operations:
        return operations[:number]
    near, further = similar_classes(coco, class_, present=[class_])
    if edit_type == "object_replacement":
        return [*near, *further][:number]
    together: Mapping[str, int] = coco.together.get(class_, {})
    often = sorted(together, key=lambda word: (-together[word], word)) or [*near, *further]
    if edit_type == "positional_addition":
        positions: list[str] = rule["places"]
        return [f"{word} {positions[index % len(positions)]}" for index, word in enumerate(often[:number])]
    return often[:number]


class Classes(BaseModel, extra="forbid"):
    """Response of a judge."""

    classes: list[str]


class Operations(BaseModel, extra="forbid"):
    """Response of a judge."""

    operations: list[str]


async def ask_classes(edit_type: str, classes: Sequence[str], ask: Ask, prompt: OpenPrompt) -> list[str]:
    """Ask the judge for classes that suit an edit type; raise `NoAnswerError`."""
    words = prompt(PROMPTS[0]).render(
        edit_type=_spoken(edit_type), meaning=EDIT_TYPES[edit_type].meaning, classes=", ".join(classes)
    )
    answer: Classes = (await ask(Question(words=words, form=Structured(Classes)))).value
    return _distinct(answer.classes)


async def ask_operations(edit_type: str, class_: str, number: int, ask: Ask, prompt: OpenPrompt) -> list[str]:
    """Ask the judge for operations of a type for a class; raise `NoAnswerError`."""
    if edit_type in FIXED:
        return list(FIXED[edit_type])
    words = prompt(PROMPTS[1]).render(
        class_name=class_,
        edit_type=_spoken(edit_type),
        meaning=EDIT_TYPES[edit_type].meaning,
        number=number,
        form=FORMS.get(edit_type) or f"{', '.join(map(repr, EDIT_TYPES[edit_type].values))}.",
    )
    answer: Operations = (await ask(Question(words=words, form=Structured(Operations)))).value
    return _distinct(answer.operations)[:number]


def _spoken(edit_type: str) -> str:
    return edit_type.replace("_", " ")


def _distinct(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(word.split()) for word in words if word.strip()))


Edits = dict[str, dict[str, dict[str, dict[str, list[str]]]]]


def operation_fault(candidate: ReviewCandidate, value: str, review: Review) -> str | None:
    """Return why an operation is invalid, or None; it belongs to one edit type only (appendix E)."""
    if not value.strip() or len(value) > MAX_VALUE_LENGTH:
        return f"an operation has 1 to {MAX_VALUE_LENGTH} signs, got {format_value(value)}"
    unreadable = form_fault(candidate.task, value)
    if unreadable:
        return unreadable
    operations = (
        element for element in review.of_group(candidate.group) if element.field == "operation" and element.is_kept
    )
    accepted = [(item.task, item.value) for item in operations if item.id != candidate.id]
    return overlap_fault(candidate.task, value, accepted)


def overlap_fault(edit_type: str, value: str, operations: Iterable[tuple[str, str]]) -> str | None:
    """Return why an operation repeats another one of the class, or None.

    >>> overlap_fault("texture", "Golden", [("color", "golden")])
    "'Golden' is an operation of color already"
    >>> overlap_fault("object_replacement", "dog", [("object_addition", "dog")]) is None
    True
    """
    for kind, operation in operations:
        is_apart = kind != edit_type and (_names_new_object(kind) or _names_new_object(edit_type))
        if _plain(operation) == _plain(value) and not is_apart:
            return f"'{value}' is an operation of {kind} already"
    return None


def _names_new_object(edit_type: str) -> bool:
    """Return whether operations of the type name a new object, which may repeat across types."""
    return EDIT_TYPES[edit_type].effect in {"adds", "replaces"}


def form_fault(edit_type: str, value: str) -> str | None:
    """Return why the words of an operation cannot be parsed, or None.

    >>> form_fault("size", "huge")
    "unknown wish 'huge'. There are: large, small."
    """
    words = " ".join(value.lower().split())
    if edit_type == "positional_addition":
        try:
            read_placing(words)
        except UnscorableError as unable:
            return unable.detail
    allowed: Mapping[str, Sequence[str]] = {"size": SIZES, "position_replacement": tuple(SIDES)}
    if edit_type in allowed and words not in allowed[edit_type]:
        return describe_unknown("wish", value, allowed[edit_type])
    return None


def edits_of(review: Review) -> Edits:
    """Return the edits: for every image and suitable type, a random sample of operations."""
    suits = {
        (candidate.group, candidate.task)
        for candidate in review.candidates
        if candidate.field == "suits" and candidate.is_kept
    }
    operations: dict[tuple[str, str], list[str]] = defaultdict(list)
    for item in review.candidates:
        if item.field == "operation" and item.is_kept and (item.group, item.task) in suits:
            normalized = {_plain(value) for value in operations[item.group, item.task]}
            operations[item.group, item.task] += [] if _plain(item.value) in normalized else [item.value]
    number, seed = int(review.settings.get("per_type", 1)), int(review.settings.get("seed", 0))
    edits: Edits = {}
    for group in review.groups:
        for picture in group.pictures:
            by_class: dict[str, dict[str, list[str]]] = {}
            for kind in TYPES:
                before, fitting = _fitting_operations(kind, group.name, operations[group.name, kind], picture)
                drawn = _drawn(fitting, number, (seed, group.name, picture.number, kind))
                if drawn:
                    by_class[kind] = {"from": [before], "to": drawn}
            if by_class:
                edits.setdefault(group.name.replace(" ", "_"), {})[str(picture.number)] = by_class
    return edits


def write_editval(review: Review, file: Path) -> None:
    """Write the edits, or remove the file if none is left."""
    edits: Any = edits_of(review)
    if edits:
        write_json(file, edits)
    else:
        file.unlink(missing_ok=True)


def _fitting_operations(
    kind: str, class_: str, operations: Sequence[str], picture: ReviewPicture
) -> tuple[str, list[str]]:
    """Return the current state and the operations that would change it."""
    if kind == "position_replacement":
        instance = next((item for item in picture.instances if item.class_ == class_), None)
        side = (
            third(middle((instance.box[0], instance.box[1], instance.box[2], instance.box[3]))[0], picture.width)
            if instance
            else ""
        )
        return side, [operation for operation in operations if _plain(operation) != side]
    if kind in {"object_addition", "object_replacement"}:
        present = {_plain(instance.class_) for instance in picture.instances}
        return (class_ if kind == "object_replacement" else ""), [
            element for element in operations if _plain(element) not in present
        ]
    return "", list(operations)


def _drawn(operations: Sequence[str], number: int, key: tuple[object, ...]) -> list[str]:
    """Draw at most `number` operations reproducibly by the key, in their original order."""

    def chance(word: str) -> bytes:
        return hashlib.sha256("\0".join(map(str, (*key, word))).encode("utf-8", "surrogatepass")).digest()

    sampled = sorted(operations, key=chance)[:number]
    return [operation for operation in operations if operation in sampled]


def _plain(words: str) -> str:
    return " ".join(words.casefold().replace("_", " ").split())


DEFAULT_MAX_TOKENS = 1024


@document_options
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
    check_paths(file, folder)
    if min(classes, per_class, per_type, operations) < 1 or not 0 <= least_share < most_share <= 1:
        raise BadInputError(
            "`classes`, `per_class`, `per_type` and `operations` are at least 1; shares rise from 0 to 1."
        )
    judges = JudgeOptions(
        judge=judge, price=price, budget=budget, max_tokens=max_tokens, prompts=prompts, replay=replay
    )
    judge_config = None if judge == RULES else read_judge_config(judges, max_tokens=DEFAULT_MAX_TOKENS)
    coco_annotations = read_coco(Path(coco))
    proposed = Proposed()
    named = [image for image in coco_annotations.images if proposed.add_image(image)]
    fitting = _images_by_class(replace(coco_annotations, images=tuple(named)), folder, least_share, most_share, seed)
    if not fitting:
        raise BadInputError(
            f"No image in '{folder}' shows one object of a class, alone and neither too small nor too large."
        )
    if dry_run:
        questions = len(TYPES) * (1 + min(classes, len(fitting)))
        names = len(", ".join(fitting).encode())
        asking = bound_calls(judge_config or JudgeConfig(), questions, prompts=PROMPTS, text_bytes=names, quiet=quiet)
        return BuiltBenchmark(file, review_path(file), report_path(file), asking=asking)
    if judge_config is None:
        by = BY_RULES
        _by_rules(proposed, coco_annotations, list(fitting), classes, operations)
    else:
        by = written_by(judge_config, PROMPTS)
        run_async(_by_judge(proposed, list(fitting), classes, operations, judge_config=judge_config, file=file))
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
    review = _with_earlier(review, review_path(file))
    write_review(review, review_path(file))
    write_editval(review, file)
    summary = f"EditVal from '{Path(coco).name}' by {by}: {len(pictures)} classes, {len(review.candidates)} candidates."
    write_report(report_path(file), summary, proposed.left_out)
    count = len({element.number for some in pictures.values() for element in some})
    log_info(
        f"{format_count(count, 'image')} of {len(pictures)} classes with "
        f"{format_count(len(review.candidates), 'candidate')} by "
        f"{by}; {len(proposed.left_out)} left out, listed in '{report_path(file)}'. "
        f"Next: editgauge build review {file}",
        quiet=quiet,
    )
    reviewed = sum(bool(candidate.decisions) for candidate in review.candidates)
    return BuiltBenchmark(
        file,
        review_path(file),
        report_path(file),
        count,
        len(review.candidates),
        reviewed,
        tuple(proposed.left_out),
    )


def _images_by_class(coco: Coco, folder: Path, least: float, most: float, seed: int) -> dict[str, list[CocoImage]]:
    """Return by class the images with one such object of a fitting size, in random order."""

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
        proposed.add_classes(kind, classes_for(kind, coco, class_names), class_names)
    for class_ in _chosen(proposed.classes, class_names, classes):
        for kind in (kind for kind in TYPES if class_ in proposed.classes[kind]):
            proposed.add_operations((class_, kind), operations_for(kind, class_, coco, number))


async def _by_judge(
    proposed: Proposed, class_names: list[str], classes: int, number: int, *, judge_config: JudgeConfig, file: Path
) -> None:
    prompt = partial(open_prompt, folder=judge_config.prompts)
    answers: dict[Pair, list[str]] = {}
    async with open_single_judge(judge_config, transcripts_path(file)) as judge:

        async def classes_of(kind: str) -> None:
            try:
                proposed.add_classes(kind, await ask_classes(kind, class_names, judge.ask, prompt), class_names)
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

        await run_concurrently(judge, TYPES, classes_of)
        selected = _chosen(proposed.classes, class_names, classes)
        pairs = [(class_, kind) for class_ in selected for kind in TYPES if class_ in proposed.classes.get(kind, ())]
        await run_concurrently(judge, pairs, operations_of)
    for pair in (pair for pair in pairs if pair in answers):  # in the order of the plan, not of the answers
        proposed.add_operations(pair, answers[pair])
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
        raise BadInputError(f"'{file}' holds candidates of {earlier.kind} by {earlier.by}; choose another `out`.")
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
