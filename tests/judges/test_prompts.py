"""Prompts are files with versions, rendered strictly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadInputError, UnknownNameError
from editgauge.judges import prompts
from editgauge.judges.prompts import check_prompts, open_prompt

BUILT_IN = sorted({file.name.partition(".")[0] for file in Path(prompts.__file__).parent.glob("*.txt")})


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_prompt_is_rendered_whole(name: str) -> None:
    prompt = open_prompt(name)
    words = prompt.render(**{slot: f"<{slot}>" for slot in prompt.slots})
    assert (words.prompt, words.version) == (name, prompt.version)
    assert all(f"<{slot}>" in words.text for slot in prompt.slots)


@given(st.text())
def test_what_fills_a_slot_is_never_read_as_a_prompt(text: str) -> None:
    assert text.strip() in open_prompt("yes_no").render(question=text).text
    assert "{low}" in open_prompt("describe").render(question="{low} {question}").text


def test_slots_too_few_and_too_many_are_all_named() -> None:
    with pytest.raises(BadInputError) as error:
        open_prompt("yes_no").render(questoin="?", picture="x")
    assert error.value.problems == (
        "'question' is missing",
        "'picture' is not a slot of the prompt",
        "'questoin' is not a slot of the prompt",
    )


def test_the_newest_version_of_a_folder_counts_before_the_built_in_ones(tmp_path: Path) -> None:
    (tmp_path / "yes_no.v9.txt").write_text("Old: {question}")
    (tmp_path / "yes_no.v10.txt").write_text("New: {question}")
    assert open_prompt("yes_no", folder=tmp_path).render(question="Red?").text == "New: Red?"
    assert open_prompt("yes_no", 9, tmp_path).render(question="Red?").text == "Old: Red?"
    assert open_prompt("scale", folder=tmp_path) == open_prompt("scale")


def test_what_cannot_be_used_is_explained(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'yes_no'"):
        open_prompt("yes_on")
    with pytest.raises(BadInputError, match=r"has no version 7\. Available: v1"):
        open_prompt("yes_no", 7)
    with pytest.raises(BadInputError, match="No prompts at"):
        open_prompt("yes_no", folder=tmp_path / "none")
    with pytest.raises(BadInputError, match="has no prompts"):
        open_prompt("yes_no", folder=tmp_path)
    (tmp_path / "mine.v1.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInputError, match="cannot be read"):
        open_prompt("mine", folder=tmp_path)
    (tmp_path / "mine.v2.txt").write_text(" \n")
    with pytest.raises(BadInputError, match="is empty"):
        open_prompt("mine", folder=tmp_path)
    (tmp_path / "yes-no.txt").write_text("{question}")
    with pytest.raises(BadInputError, match=r"invalid names.*\n  - yes-no.txt"):
        open_prompt("yes_no", folder=tmp_path)


def test_a_folder_is_checked_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "inspect_precis.v2.txt").write_text("Is it clean?")
    (tmp_path / "inspect_accuracy.v2.txt").write_text("{instruction} {picture}")
    with pytest.raises(BadInputError) as error:
        check_prompts(tmp_path)
    assert error.value.problems == (
        "'inspect_accuracy.v2' has an unknown slot {picture}",
        "'inspect_precis': unknown prompt; did you mean 'inspect_precise'?",
    )
