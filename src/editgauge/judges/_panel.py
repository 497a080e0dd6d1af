"""Combine judges to panels, measure their consistency, and serve them by role.

The name of a panel states its rule and members: `median(gpt-4o+qwen)`, or `majority3(a+b+c+d)` with a quorum of three.
A panel can be opened by its name, so that a run can be continued and verified.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, TypeVar

from editgauge.errors import BadInputError, UnscorableError
from editgauge.judges._faults import NoAnswerError
from editgauge.judges._interfaces import Answer, Judge, JudgeCard
from editgauge.judges._questions import Choice, Question
from editgauge.judges.prompts import Prompt, open_prompt

Value = TypeVar("Value")

PANEL_RULES = ("median", "mean", "majority")
_NAME = re.compile(r"(median|mean|majority)(\d*)\((.+)\)")


def panel_name(rule: str, members: Sequence[str], quorum: int | None = None) -> str:
    """Return the name of a panel; raise `BadInputError` for an impossible one.

    >>> panel_name("median", ["a", "b", "c"]), panel_name("mean", ["a", "b"], 2)
    ('median(a+b+c)', 'mean2(a+b)')
    """
    if rule not in PANEL_RULES:
        raise BadInputError(f"`panel` must be one of {', '.join(PANEL_RULES)}; got '{rule}'.")
    if len(members) < 2:
        raise BadInputError(f"`panel={rule}` needs at least two judges; give `judge` once for each.")
    if quorum is not None and not 1 <= quorum <= len(members):
        raise BadInputError(f"`quorum` must be between 1 and {len(members)}, the number of judges; got {quorum}.")
    invalid = [name for name in members if set(name) & set("+()")]
    if invalid:
        raise BadInputError(f"Judges of a panel must not have '+' or brackets in their names: {', '.join(invalid)}.")
    return f"{rule}{quorum or ''}({'+'.join(members)})"


class JudgePanel:
    """Several judges whose answers are combined.

    Args:
        name: name of the panel, see `panel_name`.
        members: judges by name.

    """

    def __init__(self, name: str, members: Mapping[str, Judge]) -> None:
        match = _NAME.fullmatch(name)
        if match is None:
            raise BadInputError(f"'{name}' is not a panel; use a name such as median(a+b+c).")
        self.name = name
        self._rule = match[1]
        self.members: dict[str, Judge] = {member: members[member] for member in match[3].split("+")}
        self._quorum = int(match[2]) if match[2] else len(self.members) // 2 + 1

    @property
    def card(self) -> JudgeCard:
        """Description of the panel."""
        first = next(iter(self.members.values())).card
        return replace(first, model=self.name, endpoint="panel")

    async def ask(self, question: Question[Value]) -> Answer[Value]:
        """Return the combined answer; raise `NoAnswerError` without a quorum or a majority."""
        names = list(self.members)
        replies = await asyncio.gather(*(self.members[name].ask(question) for name in names), return_exceptions=True)
        answers = {name: reply for name, reply in zip(names, replies, strict=True) if isinstance(reply, Answer)}
        failures = {name: reply for name, reply in zip(names, replies, strict=True) if isinstance(reply, BaseException)}
        for failure in failures.values():
            if not isinstance(failure, NoAnswerError):
                raise failure
        if len(answers) < self._quorum:
            reasons = "; ".join(f"{name}: {failure}" for name, failure in failures.items())
            fault = next(failure.fault for failure in failures.values() if isinstance(failure, NoAnswerError))
            raise NoAnswerError(
                fault, f"{len(answers)} of {len(names)} judges answered, {self._quorum} are needed: {reasons}"
            )
        values = {name: answer.value for name, answer in answers.items()}
        first = next(iter(answers.values()))
        return Answer(combine(self._rule, values), first.call, members=values)


def is_panel(name: str) -> bool:
    """Return whether a name is that of a panel."""
    return _NAME.fullmatch(name) is not None


def panel_members(name: str) -> list[str]:
    """Return the names of a panel's members; for a single judge its own name.

    >>> panel_members("median2(a+b)"), panel_members("a")
    (['a', 'b'], ['a'])
    """
    match = _NAME.fullmatch(name)
    return match[3].split("+") if match else [name]


def combine(rule: str, values: Mapping[str, Any]) -> Any:
    """Combine values: numbers by the rule, words and booleans by majority, ratings per dimension.

    >>> combine("median", {"a": 1, "b": 5, "c": 4}), combine("median", {"a": True, "b": True, "c": False})
    (4.0, True)
    """
    answers = list(values.values())
    if all(isinstance(answer, Mapping) for answer in answers):
        return {key: combine(rule, {name: value[key] for name, value in values.items()}) for key in answers[0]}
    numbers = [answer for answer in answers if isinstance(answer, int | float) and not isinstance(answer, bool)]
    if len(numbers) == len(answers) and rule != "majority":
        return float(median(numbers)) if rule == "median" else fmean(numbers)
    if not all(isinstance(answer, bool | int | float) or answer in ("one", "two", "tie") for answer in answers):
        raise NoAnswerError("unparsable", "a panel cannot combine texts; use a single judge")
    return _majority(answers, values)


def _majority(answers: Iterable[Any], values: Mapping[str, Any]) -> Any:
    (first, count), *runners_up = Counter(answers).most_common()
    if runners_up and runners_up[0][1] == count:
        listed = ", ".join(f"{name}: {value}" for name, value in values.items())
        raise NoAnswerError("unparsable", f"the panel is split ({listed})")
    return first


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
    """Agreement of a judge with itself on repeated questions.

    `agreement` is the probability that two answers to one question are equal, averaged over questions; `unanimous` is
    the share of questions with only one distinct answer.
    """

    questions: int
    agreement: float
    unanimous: float


def position_bias(choices: Sequence[tuple[Choice, Choice]]) -> PositionBias:
    """Measure position bias from choices on pairs in both orders.

    >>> position_bias([("one", "one"), ("one", "two"), ("two", "two"), ("tie", "tie")])
    PositionBias(pairs=4, consistent=0.75, towards_first=0.25)
    """
    if not choices:
        raise UnscorableError("not_applicable", "no pair was judged in both orders")
    same = sum(first_order == swapped for first_order, swapped in choices)
    shown_first = sum((first_order == "one") + (swapped == "two") for first_order, swapped in choices)
    shown_second = sum((first_order == "two") + (swapped == "one") for first_order, swapped in choices)
    answers = 2 * len(choices)
    return PositionBias(len(choices), same / len(choices), (shown_first - shown_second) / answers)


def self_consistency(answers: Sequence[Sequence[Hashable]]) -> SelfConsistency:
    """Measure agreement among repeated answers, one list per question.

    >>> self_consistency([[True, True, True], [True, False], [False]])
    SelfConsistency(questions=2, agreement=0.5, unanimous=0.5)
    """
    repeated = [list(group) for group in answers if len(group) > 1]
    if not repeated:
        raise UnscorableError("not_applicable", "no question was answered more than once")
    shares = [_agreement(group) for group in repeated]
    unanimous = sum(len(set(group)) == 1 for group in repeated)
    return SelfConsistency(len(repeated), sum(shares) / len(shares), unanimous / len(repeated))


def combine_orders(first_order: Choice, swapped: Choice) -> Choice | None:
    """Combine the choices of both orders; None if they contradict each other.

    A tie in one order does not contradict a choice in the other.
    """
    edits = {first_order, swapped} - {"tie"}
    if len(edits) > 1:
        return None
    return edits.pop() if edits else "tie"


def _agreement(answers: Sequence[Hashable]) -> float:
    """Return the probability that two of the answers are equal."""
    n = len(answers)
    return sum(count * (count - 1) for count in Counter(answers).values()) / (n * (n - 1))


class JudgeService:
    """Serves judges by role; most protocols use one role, `judge`.

    Args:
        judges: judge of each role.
        prompts: folder of prompts that override built-in ones of the same name.

    """

    def __init__(self, judges: Mapping[str, Judge], prompts: Path | None = None) -> None:
        self._judges = dict(judges)
        self._prompts = prompts

    def judge(self, role: str = "judge") -> Judge:
        """Return the judge of a role, or raise `UnscorableError`."""
        if (
            role not in self._judges
            and is_panel(role)
            and all(member in self._judges for member in panel_members(role))
        ):
            self._judges[role] = JudgePanel(role, self._judges)
        if role not in self._judges:
            raise UnscorableError("no_model", f"no judge for the role '{role}'; give one, such as openai:MODEL@URL")
        return self._judges[role]

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """Ask the judge of a role."""
        return await self.judge(role).ask(question)

    def prompt(self, name: str) -> Prompt:
        """Return a prompt by name; prompts of the user override built-in ones."""
        return open_prompt(name, folder=self._prompts)
