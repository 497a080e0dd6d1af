"""Yes and no of scores beside people's: whose answer counts, what yes means, what is left out and why."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score

from editgauge._cli._show_agreement import show_binary
from editgauge.analysis.binary_agreement import BinaryAgreement, BinaryScore, Confusion, binary_agreement
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

UNIT = (0.0, 1.0)
SPECS = ScoreSpec("edit", True, UNIT), ScoreSpec("artifacts", False, UNIT), ScoreSpec("psnr", True, (0.0, 100.0))
ENTRY = ProtocolEntry("", "", "1", (), SPECS)
EDITS = 24
TRUE_EDIT = [number % 3 > 0 for number in range(EDITS)]
SAID_EDIT = [number % 4 > 0 for number in range(EDITS)]
FLAWED = [number % 5 == 0 for number in range(EDITS)]
Tell = Callable[..., Path]


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., Any]) -> Path:
    """Two judges: `a` follows SAID_EDIT and finds every flaw; `b` says yes to all and refuses the last two edits."""

    def record(number: int, judge: str) -> Any:
        says = float(SAID_EDIT[number]) if judge == "a" else 1.0
        scores: dict[str, float | str] = {"edit": says, "artifacts": float(FLAWED[number]), "psnr": 30.0}
        if judge == "b" and number >= EDITS - 2:
            scores = dict.fromkeys(scores, "refused")
        kind = ("object_addition", "object_removal")[number % 2]
        place = {"place": number, "source": f"{number // 2}.png", "edit_type": kind}
        return make_record(f"e{number}", scores, protocol=f"inspector[{judge}]", **place)

    records = [record(number, judge) for number in range(EDITS) for judge in "ab"]
    return make_run(*records, protocols={f"inspector[{judge}]": ENTRY for judge in "ab"})


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def write(**questions: Sequence[Sequence[float]]) -> Path:
        with (tmp_path / "ratings.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["edit", "method", "question", "rater", "value"])
            for question, answers in questions.items():
                for number, given in enumerate(answers):
                    writer.writerows([f"e{number}", "mine", question, who, value] for who, value in enumerate(given))
        return tmp_path / "ratings.csv"

    return write


def only(found: BinaryAgreement, protocol: str, question: str) -> BinaryScore:
    (score,) = [one for one in found.scores if (one.protocol, one.question) == (protocol, question)]
    return score


def test_rates_are_those_of_scikit_learn(run: Path, tell: Tell) -> None:
    result = only(binary_agreement(run, tell(applied=[[float(good)] for good in TRUE_EDIT])), "inspector[a]", "applied")
    rates = result.rates
    assert result.n == EDITS
    assert rates.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(TRUE_EDIT, SAID_EDIT))
    assert rates.precision.value == pytest.approx(precision_score(TRUE_EDIT, SAID_EDIT))
    assert rates.recall.value == pytest.approx(recall_score(TRUE_EDIT, SAID_EDIT))
    assert rates.specificity.value == pytest.approx(recall_score(TRUE_EDIT, SAID_EDIT, pos_label=0))
    assert rates.negative_predictive_value.value == pytest.approx(precision_score(TRUE_EDIT, SAID_EDIT, pos_label=0))


def test_levels_are_made_yes_or_no_by_each_rater_before_the_majority_counts(run: Path, tell: Tell) -> None:
    """Levels 0, 2, 3 have no majority of their own; two of three find the edit accurate (2 or more)."""
    answers = [[0, 2, 3] if good else [1, 1, 3] for good in TRUE_EDIT]
    result = only(binary_agreement(run, tell(accuracy=answers)), "inspector[a]", "accuracy")
    both = sum(said and true for said, true in zip(SAID_EDIT, TRUE_EDIT, strict=True))
    assert result.confusion.yes_rightly == both
    assert result.confusion.no_wrongly == sum(TRUE_EDIT) - both
    assert (result.good_from, result.without_majority) == (2, 0)


def test_yes_to_a_flaw_is_the_flaw_that_people_find(run: Path, tell: Tell) -> None:
    """Ratings are better when higher: 0 is significant, and mild ones count as none."""
    answers = [[0, 0, 2] if flawed else [1, 1, 0] for flawed in FLAWED]
    result = only(binary_agreement(run, tell(artifacts=answers)), "inspector[a]", "artifacts")
    assert result.confusion == Confusion(sum(FLAWED), 0, 0, EDITS - sum(FLAWED))
    assert result.rates.balanced_accuracy.value == 1


def test_judge_and_detector_of_artifacts_answer_the_same_question(
    make_run: Callable[..., Path], make_record: Callable[..., Any], tell: Tell
) -> None:
    """EditInspector, section 4.2: the judge's score is `artifacts`, the detector's `artifact`; an oracle joins them."""
    judge = ProtocolEntry("", "", "1", (), (ScoreSpec("artifacts", False, UNIT), ScoreSpec("edit", True, UNIT)))
    detector = ProtocolEntry("", "", "1", (), (ScoreSpec("artifact", False, UNIT),))
    missed_by_judge = [flawed and number % 2 == 0 for number, flawed in enumerate(FLAWED)]
    records = []
    for number, flawed in enumerate(FLAWED):
        place = {"place": number, "source": f"{number}.png"}
        found_by_judge = float(flawed and not missed_by_judge[number])
        records.append(make_record(f"e{number}", {"artifacts": found_by_judge, "edit": 1.0}, protocol="judge", **place))
        records.append(make_record(f"e{number}", {"artifact": float(flawed)}, protocol="artifacts", **place))
    run = make_run(*records, protocols={"judge": judge, "artifacts": detector})
    agreement = binary_agreement(run, tell(artifacts=[[0] if flawed else [2] for flawed in FLAWED]))
    names = [(score.protocol, score.spec.name) for score in agreement.scores]
    assert names == [("artifacts", "artifact"), ("judge", "artifacts")]
    assert agreement.scores[0].rates.balanced_accuracy.value == 1
    (pair,) = agreement.together
    assert pair.question == "artifacts"
    assert pair.oracle.balanced_accuracy.value == 1


def test_a_split_panel_is_left_out_and_a_refusal_is_counted(run: Path, tell: Tell) -> None:
    answers = [[0.0, 1.0], *([float(good)] for good in TRUE_EDIT[1:])]
    result = only(binary_agreement(run, tell(applied=answers)), "inspector[b]", "applied")
    assert result.without_majority == 1
    assert result.unscored == {"refused": 2}
    assert result.n == EDITS - 3
    assert result.rates.specificity.value == 0
    assert result.rates.negative_predictive_value.value is None
    assert result.rates.negative_predictive_value.reason == "none is called bad"


def test_a_question_with_many_answers_needs_a_level(run: Path, tell: Tell) -> None:
    ratings = tell(quality=[[1 + number % 5] for number in range(EDITS)])
    assert binary_agreement(run, ratings).scores == ()
    result = binary_agreement(run, ratings, levels={"quality": 4}).scores
    assert {(one.question, one.spec.name, one.good_from) for one in result} == {("quality", "edit", 4)}


def test_dependence_compares_where_people_find_another_aspect_good_and_bad(run: Path, tell: Tell) -> None:
    halves = [[float(number < EDITS // 2)] for number in range(EDITS)]
    told = tell(applied=[[float(good)] for good in TRUE_EDIT], consistent=halves)
    given = only(binary_agreement(run, told), "inspector[a]", "applied").conditional["consistent"]
    right = [said == true for said, true in zip(SAID_EDIT, TRUE_EDIT, strict=True)]
    first, second = right[: EDITS // 2], right[EDITS // 2 :]
    assert given.where_good.value == pytest.approx(sum(first) / len(first))
    assert given.where_bad.value == pytest.approx(sum(second) / len(second))
    assert given.difference.value == pytest.approx(sum(first) / len(first) - sum(second) / len(second))
    assert (given.where_good.n, given.where_bad.n) == (EDITS // 2, EDITS // 2)


def test_two_judges_together_reach_what_an_oracle_would(run: Path, tell: Tell) -> None:
    (pair,) = binary_agreement(run, tell(applied=[[float(good)] for good in TRUE_EDIT]), ["edit"]).together
    rows = range(EDITS - 2)  # both answered
    oracle = [TRUE_EDIT[i] if TRUE_EDIT[i] or SAID_EDIT[i] == TRUE_EDIT[i] else True for i in rows]
    truth = [TRUE_EDIT[i] for i in rows]
    assert pair.oracle.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(truth, oracle))
    assert pair.shares.oracle.n == EDITS - 2
    assert pair.shares.both.value + pair.shares.only_first.value + pair.shares.only_second.value == pytest.approx(
        pair.shares.oracle.value
    )


def test_edits_are_taken_apart_by_type(run: Path, tell: Tell) -> None:
    result = only(binary_agreement(run, tell(applied=[[float(good)] for good in TRUE_EDIT])), "inspector[a]", "applied")
    assert {name: item.balanced_accuracy.n for name, item in result.by_action.items()} == {
        "object_addition": EDITS // 2,
        "object_removal": EDITS // 2,
    }


def test_the_table_shows_all_of_it(run: Path, tell: Tell, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [[float(good)] for good in TRUE_EDIT]
    show_binary(binary_agreement(run, tell(applied=answers, consistent=answers)))
    shown = capsys.readouterr().out
    for words in ("yes or no to 'applied'", "unscored: 2 refused", "object_removal", "where bad", "oracle"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 100
