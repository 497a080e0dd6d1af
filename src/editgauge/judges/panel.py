"""Several judges as one: their answers combined, as long as enough of them answer.

A panel is named after what it does and who sits on it: `median(gpt-4o+qwen)`, or `majority3(a+b+c+d)` with a quorum of
three. The name alone is enough to open it again, so that a run can be continued and verified.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any, TypeVar

from editgauge.errors import BadInputError
from editgauge.judges.faults import NoAnswer
from editgauge.judges.interfaces import Answer, Judge, JudgeCard
from editgauge.judges.questions import Question

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
