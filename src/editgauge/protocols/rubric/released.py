"""What the released code of others makes of an answer that it cannot read. For `@released` and `guess-cost` only."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from editgauge.judges.forms import Ratings
from editgauge.judges.reading import Unreadable

_LONE_DIGIT = re.compile(r"(?<![\d.])([1-5])(?![\d.])")


def guessed(rule: str, text: str, form: Ratings) -> Mapping[str, float]:
    """The numbers that a rule puts in place of an unreadable answer; raises `Unreadable` where it drops it.

    Args:
        rule: `random` (a whole number each, drawn from the text itself, so that a second look gives the same),
            `zero`, `middle`, `lone_digit` (the first digit from 1 to 5 that stands alone), or `dropped`
        text: the answer
        form: what was asked for
    """
    names = [name for name, _ in form.names]
    if rule == "random":
        draw = random.Random(text)  # noqa: S311 - no secret
        return {name: float(draw.randint(int(form.low), int(form.high))) for name in names}
    if rule == "zero":
        return dict.fromkeys(names, 0.0)
    if rule == "middle":
        return dict.fromkeys(names, (form.low + form.high) / 2)
    digit = _LONE_DIGIT.search(text) if rule == "lone_digit" else None
    if digit is None:
        raise Unreadable("numbers", text)
    return dict.fromkeys(names, float(digit[1]))


@dataclass(frozen=True, slots=True)
class GuessedRatings(Ratings):
    """Ratings as released code reads them: what cannot be read is guessed by its rule."""

    rule: str = "dropped"

    def read(self, text: str) -> Mapping[str, float]:
        """The numbers, read or guessed."""
        try:
            return Ratings.read(self, text)
        except Unreadable:
            return guessed(self.rule, text, self)
