"""How far a judge can be trusted: does the order of pictures sway it, does it agree with itself? From answers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from editgauge.errors import UnscorableError
from editgauge.judges.forms import Choice


@dataclass(frozen=True, slots=True)
class PositionBias:
    """What the order of two edits does to a judge.

    `consistent` is the share of pairs with the same verdict in both orders. `towards_first` goes from -1 (always the
    edit shown second) to 1 (always the one shown first); a judge that looks at the edits alone has 0.
    """

    pairs: int
    consistent: float
    towards_first: float


@dataclass(frozen=True, slots=True)
class SelfConsistency:
    """How far a judge agrees with itself when it is asked the same again.

    `agreement` is the chance that two of its answers to one question are the same, averaged over questions;
    `unanimous` the share of questions with one answer only.
    """

    questions: int
    agreement: float
    unanimous: float


def position_bias(verdicts: Sequence[tuple[Choice, Choice]]) -> PositionBias:
    """The bias in verdicts on pairs, each in the given order and in the swapped one.

    >>> position_bias([("one", "one"), ("one", "two"), ("two", "two"), ("tie", "tie")])
    PositionBias(pairs=4, consistent=0.75, towards_first=0.25)
    """
    if not verdicts:
        raise UnscorableError("not_applicable", "no pair was judged in both orders")
    same = sum(first_order == swapped for first_order, swapped in verdicts)
    shown_first = sum((first_order == "one") + (swapped == "two") for first_order, swapped in verdicts)
    shown_second = sum((first_order == "two") + (swapped == "one") for first_order, swapped in verdicts)
    answers = 2 * len(verdicts)
    return PositionBias(len(verdicts), same / len(verdicts), (shown_first - shown_second) / answers)


def self_consistency(answers: Sequence[Sequence[Hashable]]) -> SelfConsistency:
    """The agreement among repeated answers, given as one list per question; a single answer says nothing.

    >>> self_consistency([[True, True, True], [True, False], [False]])
    SelfConsistency(questions=2, agreement=0.5, unanimous=0.5)
    """
    repeated = [list(each) for each in answers if len(each) > 1]
    if not repeated:
        raise UnscorableError("not_applicable", "no question was answered more than once")
    shares = [_same_pairs(each) for each in repeated]
    unanimous = sum(len(set(each)) == 1 for each in repeated)
    return SelfConsistency(len(repeated), sum(shares) / len(shares), unanimous / len(repeated))


def settled(first_order: Choice, swapped: Choice) -> Choice | None:
    """The verdict of both orders together; None when the judge followed the order.

    A tie in one order and an edit in the other is the edit, because nothing contradicts it.
    """
    named = {first_order, swapped} - {"tie"}
    if len(named) > 1:
        return None
    return named.pop() if named else "tie"


def _same_pairs(answers: Sequence[Hashable]) -> float:
    """The chance that two different ones of the answers are equal."""
    n = len(answers)
    return sum(count * (count - 1) for count in Counter(answers).values()) / (n * (n - 1))
