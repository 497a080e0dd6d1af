"""Files of attributes: read with every fault at once, attached to edits, written as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.attributes import Attributes, attach, of_edit, read_attributes, write_attributes
from editgauge.errors import BadInputError

phrase = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1).filter(str.strip)
phrases = st.lists(phrase.map(lambda text: " ".join(text.split())), min_size=1).map(tuple)


@given(found=st.dictionaries(phrase, st.builds(Attributes, phrases, phrases, phrase, phrase), max_size=4))
def test_what_is_written_is_read(found: dict[str, Attributes], tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("attributes") / "a.jsonl"
    write_attributes(file, found)
    assert read_attributes(file) == found


def test_every_fault_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    good = '{"edit_id": "a", "source": ["red cat"], "target": ["blue cat"]}'
    lines = [
        good,
        "not json",
        "[1]",
        '{"source": ["x"], "target": ["y"]}',
        '{"edit_id": 7, "source": ["x"], "target": ["y"]}',
        good,
        '{"edit_id": "b", "source": "red", "target": []}',
        '{"edit_id": "c", "source": ["x", " ", 3], "extra": 1, "by": 2}',
    ]
    file.write_text("\n".join(lines))
    with pytest.raises(BadInputError) as error:
        read_attributes(file)
    problems = error.value.problems
    where = [int(problem.partition(": ")[0].removeprefix("a.jsonl:")) for problem in problems]
    assert where == [2, 3, 4, 5, 6, 7, 7, 8, 8, 8, 8, 8]
    told = "\n".join(problems)
    for part in (
        "not valid JSON",
        "must be a mapping",
        "'edit_id' is missing",
        "'edit_id' must be a text, got 7",
        "the edit 'a' was given before",
        "'source' must be a list of texts, got 'red'",
        "'target' is empty",
        "holds ' '",
        "holds 3",
        "no key 'extra'",
        "'by' must be a text",
        "'target' is missing",
    ):
        assert part in told


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="cannot be read"):
        read_attributes(tmp_path / "none.jsonl")


def test_attributes_are_attached_to_the_edits_they_belong_to() -> None:
    sample = open_benchmark("sample")
    first, second, *_ = sample.edits
    attached = attach(sample, {first.id: Attributes(("a",), ("b",), "me"), "elsewhere": Attributes(("c",), ("d",))})
    assert of_edit(attached.edits[0]) == Attributes(("a",), ("b",), "me")
    assert attached.edits[1] == second
    assert attached.name == sample.name


def test_a_file_for_another_benchmark_is_refused() -> None:
    with pytest.raises(BadInputError, match="None of the 1 attribute lists belongs to an edit of 'sample'"):
        attach(open_benchmark("sample"), {"elsewhere": Attributes(("c",), ("d",))})
