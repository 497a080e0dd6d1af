"""Reading what people said: both forms, and every problem with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from editgauge.analysis.outcomes import match
from editgauge.analysis.ratings import PreferredOutcome, Rating, read_choices, read_ratings
from editgauge.errors import BadInputError
from editgauge.results import OutcomeKey


def written(folder: Path, name: str, *lines: str) -> Path:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / name


def test_a_csv_and_its_json_lines_say_the_same(tmp_path: Path) -> None:
    table = written(tmp_path, "r.csv", "edit,method,rater,question,value,seed,time", "e1,mine,anna,did it?,3,7,12 s")
    lines = written(
        tmp_path,
        "r.jsonl",
        '{"edit": "e1", "method": "mine", "rater": "anna", "question": "did it?", "value": 3, "seed": 7}',
        "",
    )
    assert read_ratings(table) == read_ratings(lines) == [Rating("e1", "mine", 3.0, "anna", "did it?", 7)]


def test_what_is_optional_may_be_left_out_or_blank(tmp_path: Path) -> None:
    assert read_ratings(written(tmp_path, "r.csv", "edit,method,value", "1,mine,0.5")) == [Rating("1", "mine", 0.5)]
    assert read_ratings(written(tmp_path, "b.csv", "\ufeffedit,method,value,rater,seed", "1,mine,0.5, ,")) == [
        Rating("1", "mine", 0.5)
    ]
    numbered = written(tmp_path, "n.jsonl", '{"edit": 1, "method": "mine", "value": 0.5, "rater": 3}')
    assert read_ratings(numbered) == [Rating("1", "mine", 0.5, "3")]


def test_every_problem_of_a_csv_has_its_line(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "r.csv",
        "edit,method,value,ratr,seed",
        "e1,mine,good,anna,",
        ",mine,1,anna,",
        "e1,mine,nan,anna,1.5",
        "e1,mine,1,anna,0,more",
    )
    with pytest.raises(BadInputError) as result:
        read_ratings(file)
    assert result.value.problems == (
        "r.csv:2: 'value' must be a number, got 'good'",
        "r.csv:2: there is no field 'ratr'; did you mean 'rater'?",
        "r.csv:3: 'edit' is missing",
        "r.csv:4: 'seed' must be a whole number, got '1.5'",
        "r.csv:4: 'value' must be a number, got 'nan'",
        "r.csv:5: more values than the header has names; is a comma not quoted?",
    )


def test_every_problem_of_json_lines_has_its_line(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "r.jsonl",
        '{"edit": "e1", "method": "mine", "value": true}',
        "{",
        "[1]",
        '{"edit": ["e1"], "method": "mine", "value": 1}',
        '{"edit": "e1", "method": "mine", "value": NaN}',
    )
    with pytest.raises(BadInputError) as result:
        read_ratings(file)
    assert [problem.split(":")[1] for problem in result.value.problems] == ["1", "2", "3", "4", "5"]
    assert result.value.problems[0] == "r.jsonl:1: 'value' must be a number, got True"
    assert result.value.problems[3] == "r.jsonl:4: 'edit' must be a text, got ['e1']"


def test_a_rater_answers_a_question_once_but_nameless_ones_may_be_many(tmp_path: Path) -> None:
    twice = ("e1,mine,1,{0}", "e1,mine,2,{0}")
    with pytest.raises(BadInputError, match=r"r\.csv:3: rater 'anna' answered this before, on line 2"):
        read_ratings(written(tmp_path, "r.csv", "edit,method,value,rater", *(item.format("anna") for item in twice)))
    assert len(read_ratings(written(tmp_path, "r.csv", "edit,method,value,rater", *(t.format("") for t in twice)))) == 2


@pytest.mark.parametrize(
    ("name", "lines", "told"),
    [
        ("r.csv", ["edit,value", "e1,1"], "the header must name edit, method, value; method is not there"),
        ("r.csv", ["edit,method,value"], "holds no ratings"),
        ("r.jsonl", [""], "holds no ratings"),
        ("r.txt", ["edit,method,value"], "must end with .csv or .jsonl"),
    ],
)
def test_a_file_that_cannot_be_used_says_so(tmp_path: Path, name: str, lines: list[str], told: str) -> None:
    with pytest.raises(BadInputError, match=told):
        read_ratings(written(tmp_path, name, *lines))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"gone\.csv' cannot be read"):
        read_ratings(tmp_path / "gone.csv")


def test_choices_are_read(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "c.jsonl",
        '{"edit": "e1", "first": "mine", "second": "theirs", "chosen": "second", "rater": "anna"}',
        '{"edit": "e1", "first": "theirs", "second": "mine", "chosen": "tie"}',
    )
    assert read_choices(file) == [
        PreferredOutcome("e1", "mine", "theirs", "second", "anna"),
        PreferredOutcome("e1", "theirs", "mine", "tie"),
    ]


def test_problems_of_choices_are_listed(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "c.csv",
        "edit,first,second,chosen,rater",
        "e1,mine,theirs,mine,anna",
        "e1,mine,mine,first,anna",
        "e1,mine,theirs,first,anna",
        "e1,theirs,mine,first,anna",
    )
    with pytest.raises(BadInputError) as result:
        read_choices(file)
    assert result.value.problems == (
        "c.csv:2: 'chosen' must be first, second or tie, got 'mine'",
        "c.csv:3: 'first' and 'second' are the same method, 'mine'",
        "c.csv:5: rater 'anna' answered this before, on line 4",
    )


# --- matching ------------------------------------------------------------------------------------------------------

SEEDS = {("e1", "mine"): [0], ("e1", "theirs"): [4], ("e2", "mine"): [0, 1]}


def test_outcomes_are_found_and_strangers_counted() -> None:
    told = [
        Rating("e1", "mine", 1),
        Rating("e9", "mine", 1),
        Rating("e1", "theirs", 1, seed=5),
        Rating("e2", "mine", 1),
    ]
    result = match(told, SEEDS)
    assert result.pairs == (((OutcomeKey("e1", "mine", 0),), told[0]),)
    assert (result.unmatched, result.first_unmatched, result.ambiguous) == (2, "edit 'e9', method 'mine'", 1)


def test_a_seed_says_which_of_several_outcomes_was_rated() -> None:
    assert match([Rating("e2", "mine", 1, seed=1)], SEEDS).pairs[0][0] == (OutcomeKey("e2", "mine", 1),)


def test_a_choice_needs_both_outcomes() -> None:
    both, one = PreferredOutcome("e1", "theirs", "mine", "first"), PreferredOutcome("e1", "mine", "nobody", "first")
    result = match([both, one], SEEDS)
    assert result.pairs == (((OutcomeKey("e1", "theirs", 4), OutcomeKey("e1", "mine", 0)), both),)
    assert result.first_unmatched == "edit 'e1', method 'nobody'"


def test_ratings_of_another_run_are_refused() -> None:
    with pytest.raises(
        BadInputError, match="None of the 1 answers is of an outcome of this run; the first is of edit 'e9'"
    ):
        match([Rating("e9", "mine", 1)], SEEDS)
    with pytest.raises(BadInputError, match="the run has several seeds: say which was shown"):
        match([Rating("e2", "mine", 1)], SEEDS)
