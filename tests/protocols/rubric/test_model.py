"""Rubric files are validated completely before a judge is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from editgauge.errors import BadInputError
from editgauge.protocols import open_protocol
from editgauge.protocols.rubric._model import open_rubric, rubric_names

VALID = """
name: mine
about: Is it good?
fields: {task: [task]}
questions:
  - name: first
    shows: [outcome]
    range: [1, 5]
    asks: Look at {task} and {instruction}.
    dimensions: [{name: a, asks: how good}, {name: b, asks: how bad}]
scores:
  - {name: total, about: both, range: [1, 5], is: {mean: [a, b]}}
"""


def rubric_with(folder: Path, old: str, new: str) -> str:
    assert old in VALID
    path = folder / "mine.yaml"
    path.write_text(VALID.replace(old, new))
    open_rubric.cache_clear()
    return f"rubric:{path}"


def faults(folder: Path, old: str, new: str) -> list[str]:
    with pytest.raises(BadInputError) as caught:
        open_protocol(rubric_with(folder, old, new))
    return [str(fault) for fault in caught.value.problems]


def test_a_valid_file_opens(tmp_path: Path) -> None:
    assert open_protocol(rubric_with(tmp_path, "Is it good?", "Good?")).about == "Good?"


FORMULA = "{mean: [a, b]}"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        pytest.param("{if: {a: {below: 2}}, then: a, else: b}", "below", id="unknown limit"),
        pytest.param("{if: {a: {atmost: 2}}, then: a, else: b}", "atmost", id="misspelled limit"),
        pytest.param("{if: {a: {}}, then: a, else: b}", "at_most or at_least", id="no limit"),
        pytest.param("{if: {c: {at_most: 2}}, then: a, else: b}", "'c'", id="condition on an unknown name"),
        pytest.param("{if: 3, then: a, else: b}", "dictionary", id="number as condition"),
        pytest.param("{if: [a], then: a, else: b}", "dictionary", id="list as condition"),
        pytest.param("{if: {a: {at_most: two}}, then: a, else: b}", "valid number", id="text as limit"),
        pytest.param("{mean: []}", "at least 1", id="empty list"),
        pytest.param("{mean: a}", "valid list", id="name instead of a list"),
        pytest.param("{mean: [a], min: [b]}", "one operation", id="two operations"),
        pytest.param("{mean: [a], extra: 1}", "extra", id="unknown key"),
        pytest.param("{median: [a]}", "one operation", id="unknown operation"),
        pytest.param("{weighted: {a: .nan}}", "valid number", id="NaN weight"),
        pytest.param("{weighted: {a: .inf}}", "valid number", id="infinite weight"),
        pytest.param(f"{{weighted: {{a: {'9' * 400}}}}}", "finite number", id="huge weight"),
        pytest.param("{weighted: {a: much}}", "valid number", id="text as weight"),
        pytest.param("{weighted: {a: true}}", "valid number", id="boolean as weight"),
        pytest.param("{weighted: {c: 1}}", "'c'", id="weight of an unknown name"),
        pytest.param("{scaled: a, minus: x, times: 1}", "valid number", id="text as number"),
        pytest.param("{scaled: a, minus: 1}", "times", id="missing key"),
        pytest.param("{root_of_product: [{scaled: a, minus: 3, times: 1}, b]}", "cannot be computed", id="square root"),
        pytest.param(
            "{root_of_product: [{scaled: a, minus: 3, times: 1}, b, b]}", "cannot be computed", id="cube root"
        ),
        pytest.param("{scaled: a, minus: 0, times: 3}", "outside its range", id="out of range"),
        pytest.param("bad", "'bad'", id="unknown name"),
        pytest.param("[{when: {type: [colour]}, is: a}]", "no edit type 'colour'", id="unknown edit type"),
        pytest.param("[]", "at least 1", id="no formula"),
    ],
)
def test_formulas_that_cannot_work_are_refused(tmp_path: Path, formula: str, expected: str) -> None:
    result = faults(tmp_path, FORMULA, formula)
    assert any(expected in fault for fault in result), result


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("name: total", "name: a", "name of a dimension", id="score named like a dimension"),
        pytest.param(
            "is: {mean: [a, b]}}",
            "is: a}\n  - {name: total, about: again, range: [1, 5], is: b}",
            "another score",
            id="two scores of one name",
        ),
        pytest.param("{name: b, asks: how bad}", "{name: a, asks: how bad}", "twice", id="dimension twice"),
        pytest.param("range: [1, 5]\n", "range: [5, 1]\n", "LOW, HIGH", id="reversed range"),
        pytest.param("range: [1, 5]\n", "range: [1, .nan]\n", "valid number", id="NaN in a range"),
        pytest.param("range: [1, 5]\n", "range: [1, .inf]\n", "valid number", id="infinite range"),
        pytest.param("{task} and", "{taks} and", "{taks}", id="unknown slot"),
        pytest.param(
            "{name: b, asks: how bad}",
            "{name: b, asks: 'how bad for {who}'}",
            "{who}",
            id="unknown slot of a dimension",
        ),
        pytest.param("scores:", "rules: [{set: a, to: 9, if: {b: {at_most: 2}}}]\nscores:", "range", id="rule range"),
        pytest.param("scores:", "rules: [{set: a, to: 1, if: {z: {at_most: 2}}}]\nscores:", "'z'", id="rule name"),
        pytest.param("scores:", "caps: {a: z}\nscores:", "'z'", id="cap by an unknown name"),
        pytest.param("about: Is it good?", "about: Is it good?\nabout: Twice?", "about", id="duplicate key"),
        pytest.param("about: Is it good?", "about: &x Good?\npaper: *x", "alias", id="alias"),
        pytest.param("about: Is it good?", "abuot: Is it good?", "abuot", id="unknown key"),
    ],
)
def test_files_that_cannot_work_are_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    result = faults(tmp_path, old, new)
    assert any(expected in fault for fault in result), result


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    result = faults(tmp_path, "{name: total, about: both, range: [1, 5], is: {mean: [a, b]}}",
                   "{name: a, about: both, range: [1, 5], is: z}\nanswers: {done: nothing}")  # fmt: skip
    assert len(result) == 3


@pytest.mark.timeout(20)
def test_an_alias_bomb_is_refused_quickly(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{index}: &a{index} [{', '.join([f'*a{index - 1}'] * 9)}]\n" for index in range(1, 12)
    )
    path = tmp_path / "bomb.yaml"
    path.write_text(bomb)
    with pytest.raises(BadInputError):
        open_protocol(f"rubric:{path}")


@pytest.mark.parametrize("name", rubric_names())
def test_built_in_rubrics_are_valid(name: str) -> None:
    open_rubric.cache_clear()
    assert open_rubric(name).rubric.faults() == []
