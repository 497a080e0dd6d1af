"""Errors of studies, all of the family `EditGaugeError`.

EditGaugeError
├── BadStudyError        a study folder or database that cannot be used
├── BadAnswersError      answers that do not fit the questions; tells the problem of each question
└── NotAllowedError      a rater asks for something that is not theirs, or may not take part (any more)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.errors import EditGaugeError

if TYPE_CHECKING:
    from collections.abc import Mapping


class BadStudyError(EditGaugeError):
    """A study folder or database that cannot be used."""


class BadAnswersError(EditGaugeError):
    """Answers that do not fit the questions."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        """Question id to what is wrong, in words that a page can show next to the question."""
        super().__init__("; ".join(f"{question}: {problem}" for question, problem in problems.items()))


class NotAllowedError(EditGaugeError):
    """A rater asks for something that is not theirs, or may not take part."""
