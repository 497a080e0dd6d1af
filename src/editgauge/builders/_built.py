"""What the builders of benchmarks share: their places, what they made, and a report of what they left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from editgauge._util.coco import Coco
from editgauge._util.files import write_text
from editgauge.errors import BadInputError, UnscorableError
from editgauge.judges._cost import CallBound
from editgauge.models.vocabulary import siblings


@dataclass(frozen=True, slots=True)
class OmittedTask:
    """Something that did not become part of the benchmark."""

    what: str
    """An image, an object or a candidate."""
    why: str


@dataclass(frozen=True, slots=True)
class BuiltBenchmark:
    """What a builder left behind."""

    file: Path
    """The benchmark's own file."""
    review: Path
    report: Path
    images: int = 0
    candidates: int = 0
    reused: int = 0
    """Images of an earlier run that were left as they were."""
    left_out: tuple[OmittedTask, ...] = ()
    asking: CallBound | None = None
    """Of a dry run: what the judge can be asked at most."""


def check_paths(file: Path, images: Path) -> None:
    """Raise `BadInputError` unless the benchmark file can be built from these images."""
    if file.suffix != ".json":
        raise BadInputError(f"`out` is a file NAME.json, got '{file}'.")
    if not images.is_dir():
        raise BadInputError(f"There is no folder '{images}' for `images`.")


def similar_classes(coco: Coco, class_: str, present: Collection[str]) -> tuple[list[str], list[str]]:
    """Absent classes that could stand in its place: WordNet siblings, and others of its supercategory."""
    try:
        beside = set(siblings(class_))
    except UnscorableError:
        beside = set()
    absent = [word for word in coco.classes if word not in present]
    near = [word for word in absent if word in beside]
    return near, [word for word in absent if word not in beside and coco.classes[word] == coco.classes[class_]]


def report_path(out: Path) -> Path:
    """Where the report of what is built lies."""
    return out.with_name(f"{out.stem}.report.txt")


def write_report(file: Path, made: str, left_out: Sequence[OmittedTask]) -> None:
    """Write what was made, each reason with its count, and everything that was left out."""
    reasons = Counter(item.why for item in left_out)
    lines = [made, "", f"Left out: {len(left_out)}." if left_out else "Nothing was left out."]
    lines += [f"  {count:>5}  {why}" for why, count in reasons.most_common()]
    lines += ["", *(f"{element.what}: {element.why}" for element in left_out)] if left_out else []
    write_text(file, "\n".join(lines) + "\n")
