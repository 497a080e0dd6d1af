"""A judge's choices among the scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from editgauge.analysis.agree import Agreement, agree
from editgauge.analysis.evaluators.choice_agreement import ChosenScore
from editgauge.errors import BadInputError
from editgauge.results import JournalEntry

EDITS = 8


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> Path:
    return make_run(
        *(
            make_record(f"e{edit}", {"gain": gain}, method=method, place=edit, source=f"{edit}.png")
            for edit in range(EDITS)
            for method, gain in (("a", 0.9), ("b", 0.5), ("c", 0.1))
        )
    )


def lines(file: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def verdict(edit: int, chosen: str | None, swapped: str | None, second: str = "b") -> Mapping[str, object]:
    told = {"edit": f"e{edit}", "first": "a", "second": second, "chosen": chosen, "swapped": swapped, "seed": 0}
    return told | {"rater": "tiny", "unanswered": None if chosen and swapped else "refused: no"}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """They always prefer a, and name the two the other way round."""
    told = [{"edit": f"e{edit}", "first": "b", "second": "a", "chosen": "second"} for edit in range(EDITS)]
    return lines(tmp_path / "people.jsonl", told)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ((), {"toy", "judge[tiny]", "judge[huge]"}),
        (("gain",), {"toy", "judge[tiny]", "judge[huge]"}),
        (("judge*/prefers",), {"judge[tiny]", "judge[huge]"}),
        (("judge[huge]/prefers",), {"judge[huge]"}),
    ],
)
def test_judges_can_be_named_as_scores_are(
    asked: tuple[str, ...], shown: set[str], run: Path, people: Path, tmp_path: Path
) -> None:
    told = [{**verdict(edit, "first", "first"), "rater": name} for edit in range(3) for name in ("tiny", "huge")]
    found = agree(run, choices=people, score=asked, judge_choices=[lines(tmp_path / "judge.jsonl", told)])
    assert found.chosen is not None
    assert {each.protocol for each in found.chosen.scores} == shown


def test_a_judge_is_one_more_score_beside_choices(run: Path, people: Path, tmp_path: Path) -> None:
    """Right twice, wrong once, swayed by the order twice, alike once, half-decided once, silent once."""
    told = [
        verdict(0, "first", "first"),
        verdict(1, "first", "first"),
        verdict(2, "second", "second"),
        verdict(3, "first", "second"),
        verdict(4, "first", "second"),
        verdict(5, "tie", "tie"),
        verdict(6, "first", "tie"),
        verdict(7, "first", None),
    ]
    found = agree(run, choices=people, judge_choices=[lines(tmp_path / "judge.jsonl", told)])
    judge = evaluator(found, "judge[tiny]")
    assert judge.share is not None
    assert judge.share.value == pytest.approx((1 + 1 + 0 + 0.5 + 0.5 + 0.5 + 1) / 7)
    assert (judge.spec.name, judge.share.n, judge.equal, judge.unscored) == ("prefers", 7, 3, 1)
    (its,) = found.judges
    assert (its.name, its.pairs, its.unanswered, its.ties) == ("tiny", 8, 1, 1)
    assert its.consistent is not None
    assert its.towards_first is not None
    assert its.consistent.value == pytest.approx(4 / 7)
    assert its.consistent.n == 7
    assert its.towards_first.value == pytest.approx((2 + 0.5) / 7)
    assert found.rankings[0].scores[0].ranks["a"].value == 1


def evaluator(found: Agreement, protocol: str) -> ChosenScore:
    assert found.chosen is not None
    return next(each for each in found.chosen.scores if each.protocol == protocol)


def test_a_judge_selects_among_triplets(run: Path, tmp_path: Path) -> None:
    told = [verdict(0, "first", "first"), verdict(0, "first", "first", "c")]
    told += [verdict(1, "first", "first"), verdict(1, "second", "second", "c")]
    told += [verdict(2, "first", "second"), verdict(2, "first", "first", "c")]
    told += [verdict(3, "first", "first")]
    found = agree(run, triplets="good=a,preserved=b,modified=c", judge_choices=[lines(tmp_path / "judge.jsonl", told)])
    assert found.selected is not None
    judge = next(each for each in found.selected.scores if each.protocol == "judge[tiny]")
    assert judge.both is not None
    assert judge.both.value == pytest.approx((1 + 0 + 0.5) / 3)
    assert judge.unscored == EDITS - 3


def test_one_order_is_taken_as_it_is_and_said_to_be_so(run: Path, people: Path, tmp_path: Path) -> None:
    told = [{"edit": f"e{edit}", "first": "a", "second": "b", "chosen": "first"} for edit in range(4)]
    found = agree(run, choices=people, judge_choices=[lines(tmp_path / "judge.jsonl", told)])
    share = evaluator(found, "judge[judge]").share
    assert share is not None
    assert (share.value, share.n) == (1.0, 4)
    assert (found.judges[0].consistent, found.judges[0].towards_first) == (None, None)


def test_a_file_of_another_kind_is_told_apart(run: Path, people: Path, tmp_path: Path) -> None:
    wrong = lines(tmp_path / "judge.jsonl", [{"edit": "e0", "first": "a", "second": "b", "swapped": "left"}])
    with pytest.raises(BadInputError) as error:
        agree(run, choices=people, judge_choices=[wrong])
    assert error.value.problems == (
        "judge.jsonl:1: 'chosen' is missing; a judge that gave no answer has null",
        "judge.jsonl:1: 'swapped' must be first, second or tie, got 'left'",
    )
