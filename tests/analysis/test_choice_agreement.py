"""A judge's choices among the scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from editgauge.analysis.agree import Agreement, agree
from editgauge.analysis.choice_agreement import ChoiceScore, SelectedScore, read_roles
from editgauge.errors import BadInputError, UnknownNameError
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
    result = agree(run, choices=people, score=asked, judge_choices=[lines(tmp_path / "judge.jsonl", told)])
    assert result.choice_scores is not None
    assert {score.protocol for score in result.choice_scores.scores} == shown


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
    result = agree(run, choices=people, judge_choices=[lines(tmp_path / "judge.jsonl", told)])
    judge = evaluator(result, "judge[tiny]")
    assert judge.share is not None
    assert judge.share.value == pytest.approx((1 + 1 + 0 + 0.5 + 0.5 + 0.5 + 1) / 7)
    assert (judge.spec.name, judge.share.n, judge.equal, judge.unscored) == ("prefers", 7, 3, 1)
    (its,) = result.judges
    assert (its.name, its.pairs, its.unanswered, its.ties) == ("tiny", 8, 1, 1)
    assert its.consistent is not None
    assert its.towards_first is not None
    assert its.consistent.value == pytest.approx(4 / 7)
    assert its.consistent.n == 7
    assert its.towards_first.value == pytest.approx((2 + 0.5) / 7)
    assert result.rankings[0].scores[0].ranks["a"].value == 1


def evaluator(found: Agreement, protocol: str) -> ChoiceScore:
    assert found.choice_scores is not None
    return next(score for score in found.choice_scores.scores if score.protocol == protocol)


def test_a_judge_selects_among_triplets(run: Path, tmp_path: Path) -> None:
    told = [verdict(0, "first", "first"), verdict(0, "first", "first", "c")]
    told += [verdict(1, "first", "first"), verdict(1, "second", "second", "c")]
    told += [verdict(2, "first", "second"), verdict(2, "first", "first", "c")]
    told += [verdict(3, "first", "first")]
    result = agree(run, triplets="good=a,preserved=b,modified=c", judge_choices=[lines(tmp_path / "judge.jsonl", told)])
    assert result.selected is not None
    judge = next(score for score in result.selected.scores if score.protocol == "judge[tiny]")
    assert judge.both is not None
    assert judge.both.value == pytest.approx((1 + 0 + 0.5) / 3)
    assert judge.unscored == EDITS - 3


def test_one_order_is_taken_as_it_is_and_said_to_be_so(run: Path, people: Path, tmp_path: Path) -> None:
    told = [{"edit": f"e{edit}", "first": "a", "second": "b", "chosen": "first"} for edit in range(4)]
    result = agree(run, choices=people, judge_choices=[lines(tmp_path / "judge.jsonl", told)])
    share = evaluator(result, "judge[judge]").share
    assert share is not None
    assert (share.value, share.n) == (1.0, 4)
    assert (result.judges[0].consistent, result.judges[0].towards_first) == (None, None)


def test_a_file_of_another_kind_is_told_apart(run: Path, people: Path, tmp_path: Path) -> None:
    wrong = lines(tmp_path / "judge.jsonl", [{"edit": "e0", "first": "a", "second": "b", "swapped": "left"}])
    with pytest.raises(BadInputError) as error:
        agree(run, choices=people, judge_choices=[wrong])
    assert error.value.problems == (
        "judge.jsonl:1: 'chosen' is missing; a judge that gave no answer has null",
        "judge.jsonl:1: 'swapped' must be first, second or tie, got 'left'",
    )


MakeRun = Callable[..., Path]
Make = Callable[..., JournalEntry]
ROLES = "good=ours,preserved=same,modified=new"


def selected(found: Agreement, name: str) -> SelectedScore:
    assert found.selected is not None
    return next(score for score in found.selected.scores if score.spec.name == name)


@pytest.fixture
def triplet_run(make_run: MakeRun, make_record: Make) -> Path:
    """`gain` (ours, same, new) by edit; `loss`, where lower is better, always falls for what stays the same."""
    gains: dict[str, tuple[float | str, float, float]] = {
        "won": (0.9, 0.5, 0.5),
        "kept-too-much": (0.5, 0.9, 0.1),
        "changed-too-much": (0.5, 0.1, 0.9),
        "one-tie": (0.9, 0.9, 0.1),
        "two-ties": (0.4, 0.4, 0.4),
        "refused": ("refused", 0.5, 0.5),
    }
    return make_run(
        *(
            make_record(
                edit,
                {"gain": gain, "loss": loss},
                method=method,
                place=place,
                source=f"{place}.png",
                edit_type=("color", "style")[place % 2],
            )
            for place, (edit, three) in enumerate(gains.items())
            for method, gain, loss in zip(("ours", "same", "new"), three, (0.3, 0.0, 0.8), strict=True)
        )
    )


def test_triplets_by_hand(triplet_run: Path) -> None:
    result = agree(triplet_run, triplets=ROLES)
    assert result.selected is not None
    gain, loss = (selected(result, name) for name in ("gain", "loss"))
    assert gain.both is not None
    assert gain.over_preserved is not None
    assert gain.over_modified is not None
    assert gain.both.value == pytest.approx((1 + 0 + 0 + 1 / 2 + 1 / 3) / 5)
    assert gain.over_preserved.value == pytest.approx((1 + 0 + 1 + 0.5 + 0.5) / 5)
    assert gain.over_modified.value == pytest.approx((1 + 1 + 0 + 1 + 0.5) / 5)
    assert (gain.both.n, gain.equal, gain.unscored) == (5, 2, 1)
    assert {name: mean.n for name, mean in gain.by_type.items()} == {"color": 3, "style": 2}
    assert loss.both is not None
    assert loss.over_modified is not None
    assert (loss.both.value, loss.over_modified.value, loss.unscored) == (0.0, 1.0, 0)
    assert [score.spec.name for score in result.selected.scores] == ["gain", "loss"]
    assert [(score.first, score.second, score.difference.n) for score in result.selected.behind] == [
        ("toy/gain", "toy/loss", 5)
    ]


def test_a_method_with_one_seed_lends_it_to_all(make_run: MakeRun, make_record: Make) -> None:
    records = [
        make_record("e", {"gain": 0.9}, method="ours", seed=0),
        make_record("e", {"gain": 0.3}, method="ours", seed=1),
        make_record("e", {"gain": 0.5}, method="same", seed=0),
        make_record("e", {"gain": 0.8}, method="new", seed=0),
        make_record("e", {"gain": 0.2}, method="new", seed=1),
        make_record("lonely", {"gain": 0.9}, method="ours", seed=0, place=1),
        make_record("several", {"gain": 0.9}, method="ours", seed=0, place=2),
        make_record("several", {"gain": 0.9}, method="same", seed=0, place=2),
        *(make_record("several", {"gain": 0.9}, method="new", seed=seed, place=2) for seed in (5, 6)),
    ]
    result = agree(make_run(*records), triplets=ROLES)
    assert result.selected is not None
    assert (result.selected.triplets, result.selected.incomplete) == (2, 2)
    both = selected(result, "gain").both
    assert both is not None
    assert both.value == 0.5


@pytest.mark.parametrize(
    "text", ["", "good=a,preserved=b", "a,b,c", "good=a,preserved=b,modified=", "x,good=a,preserved=b,modified=c"]
)
def test_roles_are_written_in_one_form(text: str) -> None:
    with pytest.raises(BadInputError, match="good=METHOD,preserved=METHOD,modified=METHOD"):
        read_roles(text)


def test_three_roles_need_three_methods_of_the_run(triplet_run: Path) -> None:
    with pytest.raises(BadInputError, match="three methods"):
        agree(triplet_run, triplets="good=ours,preserved=ours,modified=new")
    with pytest.raises(UnknownNameError, match="Did you mean 'ours'"):
        agree(triplet_run, triplets="good=our,preserved=same,modified=new")


def test_methods_that_share_no_edit_make_no_triplet(make_run: MakeRun, make_record: Make) -> None:
    records = [make_record(f"e{n}", {"gain": 0.5}, method=m, place=n) for n, m in enumerate(("ours", "same", "new"))]
    with pytest.raises(BadInputError, match="No edit of the run has outcomes of all three"):
        agree(make_run(*records), triplets=ROLES)
