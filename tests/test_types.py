"""The words of the project refuse what would later become a wrong number or a lost file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import ImageFile
from editgauge._util.masks import Rectangle
from editgauge.errors import BadInputError, UnscorableError
from editgauge.results.edits import to_lines
from editgauge.types import MAX_ID_BYTES, REASONS, Benchmark, Edit, Outcome, Position, Score, Unscored, id_problem

SOURCE = ImageFile("cat.png", Path("/photos/cat.png"))


def edit(name: str = "cat-black", **fields: object) -> Edit:
    return Edit(id=name, source=SOURCE, type="color", instruction="Make it black.", **fields)  # type: ignore[arg-type]


# --- ids ---------------------------------------------------------------------------------------------------------

awkward = st.text(st.sampled_from("a.é猫 /\\:\0\n\r\t\u2028\u200b\ud800~*?'\"[]=-"), max_size=12)


@given(st.text(max_size=80) | awkward)
def test_an_accepted_id_is_a_single_file_name_inside_a_folder(name: str) -> None:
    if id_problem(name) is not None:
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.png"
        path.touch()

        assert [result.name for result in Path(folder).iterdir()] == [f"{name}.png"]
        assert path.stem == name
        assert len(f"{name}\n".splitlines()) == 1


@pytest.mark.parametrize(
    "name", ["cat-black", "猫-black", "v1.5", "a b", "imagic[eta=0.8]", "é" * (MAX_ID_BYTES // 2), "-x", "a."]
)
def test_sensible_ids_are_accepted(name: str) -> None:
    assert id_problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("a/b", "path separator"),
        ("a\\b", "path separator"),
        ("C:x", "path separator"),
        ("..", "begins with a dot"),
        (".hidden", "begins with a dot"),
        (" a", "blank"),
        ("a\n", "blank"),
        ("a\nb", "control character"),
        ("a\0b", "control character"),
        ("a\u2028b", "control character"),
        ("a\u2029b", "control character"),
        ("a\u202eb", "control character"),
        ("\udcff", "control character"),
        ("x" * (MAX_ID_BYTES + 1), f"longer than {MAX_ID_BYTES} bytes"),
        ("猫" * 67, f"longer than {MAX_ID_BYTES} bytes"),
    ],
)
def test_other_ids_are_refused_with_the_reason(name: str, problem: str) -> None:
    result = id_problem(name)

    assert result is not None
    assert problem in result


@given(st.text(max_size=100) | awkward)
def test_what_is_said_about_an_id_can_be_printed(name: str) -> None:
    """An id may come from a stranger's file; a terminal must not obey what stands in it."""
    assert (id_problem(name) or "").isprintable()


def test_an_edit_needs_a_usable_id() -> None:
    with pytest.raises(BadInputError, match="path separator"):
        edit("../../etc/passwd")


# --- scores ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_a_score_is_a_finite_number(value: float) -> None:
    with pytest.raises(ValueError, match="return Unscored"):
        Score(value)


def test_unscored_takes_a_reason_of_the_closed_list() -> None:
    assert [Unscored(reason).reason for reason in REASONS] == list(REASONS)
    with pytest.raises(ValueError, match="unknown reason 'because'; the closed list is missing_outcome, "):
        Unscored("because")  # type: ignore[arg-type]


def test_what_cannot_be_told_keeps_its_reason_and_detail() -> None:
    raised = UnscorableError("unknown_word", "the detector does not know 'axolotl'")

    assert (raised.reason, raised.detail) == ("unknown_word", "the detector does not know 'axolotl'")
    assert str(raised) == "unknown_word: the detector does not know 'axolotl'"


# --- outcomes and benchmarks -------------------------------------------------------------------------------------


def test_an_outcome_is_an_image_or_an_absence() -> None:
    assert Outcome(edit_id="a", method="m", absence="").image is None
    for parts in ({}, {"image": Path("a.png"), "absence": "none"}):
        with pytest.raises(BadInputError, match="'m' for 'a' needs an image or an absence"):
            Outcome(edit_id="a", method="m", **parts)  # type: ignore[arg-type]


def test_a_benchmark_has_every_id_once() -> None:
    with pytest.raises(BadInputError, match="more than once") as caught:
        Benchmark("mine", (edit("a"), edit("b"), edit("a")))

    assert caught.value.problems == ("a",)


def test_two_spellings_of_one_file_name_are_one_id() -> None:
    """Some file systems store 'é' as two characters: their outcomes would be one and the same file."""
    with pytest.raises(BadInputError, match="more than once"):
        Benchmark("mine", (edit("caf\u00e9"), edit("cafe\u0301")))


# --- edits as lines ----------------------------------------------------------------------------------------------


def test_an_edit_is_told_without_what_it_does_not_have() -> None:
    line = to_lines([edit()])

    assert line == (
        b'{"id": "cat-black", "instruction": "Make it black.", "source": "cat.png", "turn": 1, "type": "color"}\n'
    )


def test_every_part_of_an_edit_that_can_move_a_score_moves_its_line() -> None:
    others = [
        edit(subject="cat"),
        edit(from_="white"),
        edit(to="black"),
        edit(position=Position("left", "dog")),
        edit(source_caption="a cat"),
        edit(target_caption="a black cat"),
        edit(mask=Rectangle(0, 0, 5, 5)),
        edit(mask=Rectangle(0, 0, 5, 6)),
        edit(reference=SOURCE),
        edit(turn=2),
        edit(extras={"level": 3}),
    ]

    assert len({to_lines([item]) for item in [edit(), *others]}) == len(others) + 1


def test_one_edit_is_one_line_whatever_its_words() -> None:
    content = to_lines([edit(extras={"note": "one\ntwo\u2028three\x85four"}), edit("b")])

    assert content.count(b"\n") == 2


def test_control_characters_of_texts_are_removed_everywhere() -> None:
    texts = {name: f"c\x00a\x1b[31mt\x07 {name}\u202e" for name in ("subject", "from_", "to", "source_caption")}
    cleaned = edit(**texts, position=Position("left", "d\x00og"))
    assert [getattr(cleaned, name) for name in texts] == [f"cat {name}" for name in texts]
    assert cleaned.position == Position("left", "dog")
    lines = Edit(id="a", source=SOURCE, type="color", instruction="Make\x00 the cat\nblack.")
    assert lines.instruction == "Make the cat\nblack."
