"""Why there is no outcome, in a word that can be counted and a sentence that can be read: `refused: nudity filter`."""

from __future__ import annotations

from typing import Literal, get_args

from editgauge.errors import CannotEditError

AbsenceReason = Literal[
    "refused",  # a filter or the model itself would not; another try would end the same way
    "timeout",  # it took longer than it was given
    "unreachable",  # the editor did not answer, however often it was asked
    "crashed",  # it failed, or gave something that is no picture
    "cannot",  # the edit lacks something that the method needs
]
ABSENCE_REASONS: tuple[AbsenceReason, ...] = get_args(AbsenceReason)


class RefusedError(CannotEditError):
    """A content filter or the model refused the edit; recorded as an absence, never as a black image."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"refused: {detail}")


def absence_reason(absence: str) -> AbsenceReason:
    """Return the category under which an absence is counted.

    >>> absence_reason("refused: nudity filter"), absence_reason("there is no cat")
    ('refused', 'cannot')
    """
    word = absence.partition(":")[0]
    return next((category for category in ABSENCE_REASONS if word == category), "cannot")
