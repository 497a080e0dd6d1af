"""The ledger of judges: one that stays, one that changes its mind, one that moved; behind a real endpoint."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from editgauge.audits import check as check_module
from editgauge.audits.check import check, drawn_anchors, read_checks
from editgauge.errors import BadInputError
from editgauge.judges import open_judge
from tests.endpoint import MODEL, Served


def chance(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0]


def steady(text: str, seen: int) -> str:
    if "How clean" in text:
        return json.dumps({"answer": 5})
    return json.dumps({"answer": "yes" if chance(text) % 2 else "no"})


def moved(text: str, seen: int) -> str:
    if "How clean" in text:
        return json.dumps({"answer": 7})
    return json.dumps({"answer": "no" if chance(text) % 2 else "yes"})


def fickle(text: str, seen: int) -> str:
    if "How clean" in text:
        return json.dumps({"answer": 4 + chance(f"{text} {seen}") % 3})
    return json.dumps({"answer": "yes" if chance(f"{text} {seen}") % 2 else "no"})


@pytest.fixture
def judge(served: Served) -> str:
    return f"openai:{MODEL}@{served.url}"


@pytest.mark.slow
def test_a_judge_that_stays_has_not_moved(served: Served, judge: str, tmp_path: Path) -> None:
    served.plan = steady
    first = check(judge, ledger=tmp_path)
    assert (first.since_first, first.since_last) == (None, None)
    asked = len(served.requests)
    second = check(judge, ledger=tmp_path)
    assert len(served.requests) == 2 * asked, "a check asks again"
    assert second.since_last is not None
    assert (second.since_last.changed, second.since_last.moved) == (0.0, False)
    (folder,) = tmp_path.iterdir()
    checks = read_checks(folder)
    assert [each.model for each in checks] == [MODEL, MODEL]
    assert checks[0].at <= checks[1].at


@pytest.mark.slow
def test_a_judge_that_moved_is_caught_and_one_that_changes_its_mind_is_not(
    served: Served, judge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One question at a time: otherwise the order of arrival decides which anchor gets which answer.
    monkeypatch.setattr(check_module, "open_judge", partial(open_judge, client={"at_once": 1}))
    served.plan = steady
    check(judge, ledger=tmp_path / "a")
    served.plan = moved
    caught = check(judge, ledger=tmp_path / "a").since_first
    assert caught is not None
    assert caught.moved
    assert caught.low is not None
    assert caught.low > 0
    served.plan = fickle
    check(judge, ledger=tmp_path / "b")
    same = check(judge, ledger=tmp_path / "b").since_last
    assert same is not None
    assert same.changed > 0.2
    assert not same.moved


def test_a_judge_that_answers_nothing_leaves_no_check(served: Served, judge: str, tmp_path: Path) -> None:
    served.plan = lambda text, seen: "I cannot see any image."
    with pytest.raises(BadInputError, match="answered none of 36 anchors: refused"):
        check(judge, ledger=tmp_path)


def test_anchors_are_the_same_every_time() -> None:
    first, second = drawn_anchors(), drawn_anchors()
    assert [each.name for each in first] == [each.name for each in second]
    assert len({each.name for each in first}) == len(first) == 36
    pictures: Any = zip(first, second, strict=True)
    assert all((a.question.images[0].pixels == b.question.images[0].pixels).all() for a, b in pictures)
