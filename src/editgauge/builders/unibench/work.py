"""A UniBench while it is built: kept whatever stops the work, and continued where it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from editgauge._util.fields import format_value
from editgauge._util.progress import progress
from editgauge.builders.built import OmittedTask, report_beside, write_report
from editgauge.builders.review.file import (
    CandidateGroup,
    Omission,
    Review,
    ReviewCandidate,
    ReviewPicture,
    read_review,
    review_beside,
    write_review,
)
from editgauge.builders.unibench.file import annotations_of, write_unibench
from editgauge.builders.unibench.scenes import EditableScene
from editgauge.errors import BadInputError

T = TypeVar("T")


class ReviewWork:
    """The review file of a file of annotations while it is filled; one built with other settings is refused."""

    def __init__(self, file: Path, by: str, settings: Mapping[str, Any], classes: Sequence[str]) -> None:
        self.file = file
        self.classes = tuple(classes)
        self.pictures = file.with_name(f"{file.stem}.images")
        self.report = report_beside(file)
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
        self._review = _earlier(review_beside(file), empty)
        self._groups = list(self._review.groups)
        self._candidates = list(self._review.candidates)
        self._parts_out = list(self._review.left_out)
        self._known = {group.pictures[0].number for group in self._groups}
        self._tried = 0
        self.kept = 0
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
    def saved(self, made: str, limit: int | None, quiet: bool) -> Iterator[None]:
        """Show progress; on any exit, write what was found so far."""
        try:
            with progress("images", limit or 0, quiet=quiet) as self.advance:
                yield
        finally:
            review = self._whole()
            write_review(review, review_beside(self.file))
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
        """How many images to look at next."""
        return most if limit is None else min(most, limit - self._tried)

    def keep(self, number: int) -> bool:
        """Is the image here already, from an earlier run?"""
        if number not in self._known:
            return False
        self.kept += 1
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
        raise BadInputError(f"'{file}' was built with other options; give those again, or choose another --out.", pairs)
    return review


def _options(review: Review) -> dict[str, object]:
    """Return the options that must match for reviews to be combined."""
    return {"kind": review.kind, "by": review.by, **review.settings, "classes": review.classes}
