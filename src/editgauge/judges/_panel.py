"""Several judges as one: their answers combined, as long as enough of them answer.

A panel is named after what it does and who sits on it: `median(gpt-4o+qwen)`, or `majority3(a+b+c+d)` with a quorum of
three. The name alone is enough to open it again, so that a run can be continued and verified.
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
from editgauge.judges._faults import NoAnswer
from editgauge.judges._interfaces import Answer, Judge, JudgeCard
from editgauge.judges._questions import Choice, Question
from editgauge.judges.prompts import Prompt, open_prompt

Value = TypeVar("Value")

WAYS = ("median", "mean", "majority")
_NAME = re.compile(r"(median|mean|majority)(\d*)\((.+)\)")


def panel_name(way: str, members: Sequence[str], quorum: int | None = None) -> str:
    """What a panel is called; raises `BadInputError` for one that could never answer.

    >>> panel_name("median", ["a", "b", "c"]), panel_name("mean", ["a", "b"], 2)
    ('median(a+b+c)', 'mean2(a+b)')
    """
    if way not in WAYS:
        raise BadInputError(f"--panel is one of {', '.join(WAYS)}; got '{way}'.")
    if len(members) < 2:
        raise BadInputError(f"--panel {way} needs at least two judges; give --judge once for each of them.")
    if quorum is not None and not 1 <= quorum <= len(members):
        raise BadInputError(f"--quorum goes from 1 to the {len(members)} judges of the panel; got {quorum}.")
    strange = [name for name in members if set(name) & set("+()")]
    if strange:
        raise BadInputError(f"Judges of a panel must not have '+' or brackets in their names: {', '.join(strange)}.")
    return f"{way}{quorum or ''}({'+'.join(members)})"


class JudgePanel:
    """Judges who answer together.

    Args:
        name: as `panel_name` writes it
        members: the judges, by name
    """

    def __init__(self, name: str, members: Mapping[str, Judge]) -> None:
        read = _NAME.fullmatch(name)
        if read is None:
            raise BadInputError(f"'{name}' is no panel; one is called as in median(a+b+c).")
        self.name = name
        self._way = read[1]
        self.members: dict[str, Judge] = {each: members[each] for each in read[3].split("+")}
        self._quorum = int(read[2]) if read[2] else len(self.members) // 2 + 1

    @property
    def card(self) -> JudgeCard:
        """What it is."""
        first = next(iter(self.members.values())).card
        return replace(first, model=self.name, endpoint="panel")

    async def ask(self, question: Question[Value]) -> Answer[Value]:
        """The combined answer; raises `NoAnswer` when too few answer, or when they are split."""
        names = list(self.members)
        said = await asyncio.gather(*(self.members[name].ask(question) for name in names), return_exceptions=True)
        answers = {name: each for name, each in zip(names, said, strict=True) if isinstance(each, Answer)}
        failures = {name: each for name, each in zip(names, said, strict=True) if isinstance(each, BaseException)}
        for failure in failures.values():
            if not isinstance(failure, NoAnswer):
                raise failure
        if len(answers) < self._quorum:
            why = "; ".join(f"{name}: {failure}" for name, failure in failures.items())
            fault = next(each.fault for each in failures.values() if isinstance(each, NoAnswer))
            raise NoAnswer(fault, f"{len(answers)} of {len(names)} judges answered, {self._quorum} are needed: {why}")
        values = {name: answer.value for name, answer in answers.items()}
        first = next(iter(answers.values()))
        return Answer(combine(self._way, values), first.call, members=values)


def is_panel(name: str) -> bool:
    """Does a name belong to a panel?"""
    return _NAME.fullmatch(name) is not None


def members_of(name: str) -> list[str]:
    """The judges of a panel by name; of a single judge itself.

    >>> members_of("median2(a+b)"), members_of("a")
    (['a', 'b'], ['a'])
    """
    read = _NAME.fullmatch(name)
    return read[3].split("+") if read else [name]


def combine(way: str, values: Mapping[str, Any]) -> Any:
    """One value of several: numbers by the way itself, words and yes or no by majority, ratings each for itself.

    >>> combine("median", {"a": 1, "b": 5, "c": 4}), combine("median", {"a": True, "b": True, "c": False})
    (4.0, True)
    """
    answers = list(values.values())
    if all(isinstance(each, Mapping) for each in answers):
        return {key: combine(way, {name: each[key] for name, each in values.items()}) for key in answers[0]}
    numbers = [each for each in answers if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) == len(answers) and way != "majority":
        return float(median(numbers)) if way == "median" else fmean(numbers)
    if not all(isinstance(each, bool | int | float) or each in ("one", "two", "tie") for each in answers):
        raise NoAnswer("unparsable", "a panel cannot make one text of several; ask a single judge for it")
    return _most(answers, values)


def _most(answers: Iterable[Any], values: Mapping[str, Any]) -> Any:
    (first, count), *others = Counter(answers).most_common()
    if others and others[0][1] == count:
        listed = ", ".join(f"{name}: {value}" for name, value in values.items())
        raise NoAnswer("unparsable", f"the panel is split ({listed})")
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


class JudgeService:
    """Answers what protocols ask, with the judges chosen for a run.

    Args:
        chosen: the judge that plays each role; most protocols know one role, `judge`
        prompts: a folder of prompts that replace the built-in ones of the same name
    """

    def __init__(self, chosen: Mapping[str, Judge], prompts: Path | None = None) -> None:
        self._chosen = dict(chosen)
        self._prompts = prompts

    def judge(self, role: str = "judge") -> Judge:
        """The judge that plays a role."""
        if role not in self._chosen and is_panel(role) and all(each in self._chosen for each in members_of(role)):
            self._chosen[role] = JudgePanel(role, self._chosen)
        if role not in self._chosen:
            raise UnscorableError("no_model", f"no judge plays the role '{role}'; choose one, such as openai:MODEL@URL")
        return self._chosen[role]

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """The answer of the judge that plays a role."""
        return await self.judge(role).ask(question)

    def prompt(self, name: str) -> Prompt:
        """The prompt of a name: the user's own where there is one, else the built-in one."""
        return open_prompt(name, folder=self._prompts)
