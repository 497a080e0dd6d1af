"""The review file while people work at it: every answer is checked, saved, and only then confirmed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from editgauge.builders._unibench_proposals import (
    FIELDS,
    Proposal,
    candidates_of,
    color_fault,
    fault_of,
    proposal_of,
)
from editgauge.builders._unibench_scenes import cropped, square_of
from editgauge.builders.editval import operation_fault, write_editval
from editgauge.builders.review.file import (
    CandidateGroup,
    ColorCorrection,
    Decision,
    FieldName,
    Kind,
    Review,
    ReviewCandidate,
    ReviewPicture,
    benchmark_path,
    decided,
    read_review,
    review_path,
    withdrawn,
    write_review,
)
from editgauge.builders.unibench import write_unibench
from editgauge.errors import BadInputError

IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".bmp": "image/bmp",
}
"""What is served: pictures that browsers show, by suffix; never a page or a script."""
Verdict = Literal["keep", "drop", "withdraw"]
BUILD: dict[Kind, Callable[[Review, Path], None]] = {"unibench": write_unibench, "editval": write_editval}


class UnfitCandidateError(Exception):
    """A value that a candidate must not have; the message says why."""


class Desk:
    """One review file. Safe for threads; a file that someone else changed meanwhile is read again first.

    Args:
        file: what was built, or its review file.
        images: the folder of the pictures, when it is not where the review file says.

    """

    def __init__(self, file: Path, images: Path | None = None) -> None:
        self.file = review_path(file)
        self._lock = threading.RLock()
        self._seen = (0, 0)
        self._review = self._read()
        self.images = images or (self.file.parent / self._review.images)
        if images is None and not self.images.resolve().is_relative_to(self.file.parent.resolve()):
            raise BadInputError(
                f"'{self.file}' says that its pictures lie outside its own folder, in '{self.images}'. A review file "
                "from others could name any folder of yours; if this one is right, pass it as `images`."
            )
        if not self.images.is_dir():
            raise BadInputError(f"There is no folder of pictures at '{self.images}'; pass it as `images`.")

    @property
    def review(self) -> Review:
        """The review as it is on disk now."""
        with self._lock:
            return self._review if self._stamp() == self._seen else self._read()

    def picture(self, group: str, index: int) -> Path:
        """Return the path of an image of a group; raise `KeyError` if there is none inside the image folder."""
        candidates = self.review.group(group)
        if candidates is None or not 0 <= index < len(candidates.pictures):
            raise KeyError(group)
        path = (self.images / candidates.pictures[index].file).resolve()
        if not path.is_relative_to(self.images.resolve()) or not path.is_file():
            raise KeyError(group)
        if path.suffix.lower() not in IMAGE_TYPES:
            raise KeyError(group)
        return path

    def decide(
        self, name: str, reviewer: str, verdict: Verdict, value: str = "", anchor: str | None = None
    ) -> ReviewCandidate:
        """Save a decision; raise `KeyError` for an unknown candidate and `UnfitCandidateError` for an invalid value."""
        with self._lock:
            review = self.review
            candidate = next((item for item in review.candidates if item.id == name), None)
            if candidate is None:
                raise KeyError(name)
            changed = self._changed(review, candidate, reviewer, verdict, value=" ".join(value.split()), anchor=anchor)
            self._save(review.with_candidate(changed))
            return changed

    def add(self, group: str, reviewer: str, proposal: Proposal) -> ReviewCandidate:
        """Save a new candidate; raise `KeyError` for an unknown group, `UnfitCandidateError` for an invalid value."""
        with self._lock:
            review, current = self._unibench(group)
            fault = fault_of(proposal, current.pictures[0], review.classes)
            if fault:
                raise UnfitCandidateError(fault)
            [plain] = candidates_of([proposal], group)
            names = {item.id for item in review.of_group(group)}
            number = next(index for index in range(1, len(names) + 2) if f"{plain.id}-added-{index}" not in names)
            named = plain.model_copy(update={"id": f"{plain.id}-added-{number}", "added_by": reviewer})
            candidate = decided(named, Decision(by=reviewer, status="accepted", at=_now()))
            self._save(review.model_copy(update={"candidates": [*review.candidates, candidate]}))
            return candidate

    def correct_color(self, group: str, reviewer: str, instance: str, color: str) -> None:
        """Save the true color of an object; candidates that ask for this color are withdrawn."""
        with self._lock:
            review, current = self._unibench(group)
            word = " ".join(color.split()).casefold() or None
            picture = current.pictures[0]
            instance_found = next((item for item in picture.instances if item.id == instance), None)
            if instance_found is None:
                raise UnfitCandidateError(f"there is no object '{instance}' in the picture")
            if word and (fault := color_fault(word)):
                raise UnfitCandidateError(fault)
            correction = ColorCorrection(
                group=group, instance=instance, was=instance_found.color, color=word, by=reviewer, at=_now()
            )
            changed: dict[str, Any] = {"pictures": [_colored(picture, instance, word)]}
            if current.uncropped:
                changed["uncropped"] = _colored(current.uncropped, instance, word)
            changed_review = review.with_group(current.model_copy(update=changed))
            self._save(changed_review.model_copy(update={"corrections": [*review.corrections, correction]}))

    def crop(self, group: str, box: tuple[int, int, int] | None) -> None:
        """Crop the image of a group to a square (left, top, side), or undo that; the old file stays.

        Objects that vanish take their candidates with them, until the crop is undone.
        """
        with self._lock:
            review, current = self._unibench(group)
            full_image = current.uncropped or current.pictures[0]
            try:
                picture = cropped(full_image, square_of(box, full_image), self.images) if box else full_image
            except BadInputError as unable:
                raise UnfitCandidateError(str(unable)) from unable
            uncropped = full_image if box else None
            self._save(review.with_group(current.model_copy(update={"pictures": [picture], "uncropped": uncropped})))

    def _unibench(self, group: str) -> tuple[Review, CandidateGroup]:
        review = self.review
        current = review.group(group)
        if current is None or review.kind != "unibench":
            raise KeyError(group)
        return review, current

    def _changed(
        self,
        review: Review,
        candidate: ReviewCandidate,
        reviewer: str,
        verdict: Verdict,
        *,
        value: str,
        anchor: str | None,
    ) -> ReviewCandidate:
        at = _now()
        if verdict == "withdraw" and candidate.added_by != reviewer:
            return withdrawn(candidate, reviewer)
        if verdict != "keep":  # who takes back what was only their own idea drops it
            return decided(candidate, Decision(by=reviewer, status="dropped", at=at))
        if (value, anchor) == (candidate.proposed, candidate.proposed_anchor) or candidate.field == "suits":
            return decided(candidate, Decision(by=reviewer, status="accepted", at=at))
        fault = _fault(review, candidate, value, anchor)
        if fault:
            raise UnfitCandidateError(fault)
        return decided(candidate, Decision(by=reviewer, status="edited", value=value, anchor=anchor, at=at))

    def _save(self, review: Review) -> None:
        write_review(review, self.file)
        self._review, self._seen = review, self._stamp()
        BUILD[review.kind](review, benchmark_path(self.file))

    def _read(self) -> Review:
        self._seen = self._stamp()
        self._review = read_review(self.file)
        return self._review

    def _stamp(self) -> tuple[int, int]:
        try:
            status = self.file.stat()
        except FileNotFoundError:
            return 0, 0
        return status.st_mtime_ns, status.st_size


def read_proposal(what: str, value: str, anchor: str | None) -> Proposal:
    """Parse a form: `what` is a task, one of its fields and the object, such as `move place cat-1`."""
    task, _, fields = what.partition(" ")
    field, _, instance = fields.partition(" ")
    kind = next((item for item in FIELDS if item == task), None)
    part: FieldName | None = next((element for element in FIELDS[kind] if element == field), None) if kind else None
    if kind is None or part is None or (kind == "generate") == bool(instance):
        raise UnfitCandidateError(f"there is nothing to add called '{what}'")
    return Proposal(kind, instance or None, part, " ".join(value.split()), anchor if part == "place" else None)


def _colored(picture: ReviewPicture, instance: str, color: str | None) -> ReviewPicture:
    """Return the image with another color for one object."""
    instances = [
        item.model_copy(update={"color": color}) if item.id == instance else item for item in picture.instances
    ]
    return picture.model_copy(update={"instances": instances})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _fault(review: Review, candidate: ReviewCandidate, value: str, anchor: str | None) -> str | None:
    if review.kind == "editval":
        return operation_fault(candidate, value, review)
    group = review.group(candidate.group)
    if group is None:
        return f"there is no picture '{candidate.group}'"
    return fault_of(proposal_of(candidate, value, anchor), group.pictures[0], review.classes)
