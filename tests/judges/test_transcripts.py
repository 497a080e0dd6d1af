"""Transcripts survive kills, notice changes, and are shared by processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadRunError
from editgauge.judges._transcripts import Call, Transcripts

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))


def make(identity: str = "a", **changes: Any) -> Call:
    usual: dict[str, Any] = {
        "identity": identity,
        "question": {"model": "m"},
        "endpoint": "http://here",
        "body": {"choices": []},
        "model": "m",
        "fault": None,
        "detail": "",
        "estimated_tokens": 9,
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "cost": 0.25,
        "latency": 0.1,
        "seconds": 0.2,
        "attempts": ("answered",),
        "at": "2025-01-01T00:00:00+00:00",
    }
    return Call(**{**usual, **changes})


@given(st.text(), st.dictionaries(st.text(), JSON), st.text())
def test_a_line_gives_the_call_back(detail: str, body: dict[str, Any], attempt: str) -> None:
    call = make(detail=detail, body=body, attempts=(attempt, "answered"))
    assert Call.from_line(call.to_line()) == call
    assert call.to_line().count(b"\n") == 1


def test_calls_are_recalled_by_the_next_process(tmp_path: Path) -> None:
    first = Transcripts(tmp_path)
    for identity in "abc":
        first.append(make(identity))
    first.close()
    second = Transcripts(tmp_path)
    assert (len(second), second.recall("b"), second.recall("d")) == (3, make("b"), None)
    assert second.spent == 0.75
    second.append(make("d"))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_torn_last_line_is_passed_over_wherever_it_is_torn(tmp_path: Path) -> None:
    whole, torn = make("a").to_line(), make("b").to_line()
    for length in (0, 1, 8, 9, 50, len(torn) - 1):
        (tmp_path / "1.jsonl").write_bytes(whole + torn[:length])
        assert [call.identity for call in Transcripts(tmp_path)] == ["a"]


@pytest.mark.parametrize("damage", [b"answered", b"0.25", b"http"])
def test_an_altered_line_is_an_error_that_names_it(tmp_path: Path, damage: bytes) -> None:
    altered = make("b").to_line().replace(damage, damage[::-1])
    (tmp_path / "1.jsonl").write_bytes(make("a").to_line() + altered)
    with pytest.raises(BadRunError, match=r"1.jsonl', line 2: a line of the transcript is torn or was altered"):
        Transcripts(tmp_path)


def test_the_first_settled_call_counts(tmp_path: Path) -> None:
    transcripts = Transcripts(tmp_path)
    for call in (
        make(fault="unreachable", body=None),
        make(fault="budget", body=None),
        make(fault="refused", detail="first"),
        make(detail="second"),
    ):
        transcripts.append(call)
    for item in (transcripts, Transcripts(tmp_path)):
        result = item.recall("a")
        assert result is not None
        assert (result.fault, result.detail) == ("refused", "first")
        assert item.counts() == {"refused": 1}
        assert item.spent == 1.0
    transcripts.close()


def test_nothing_is_written_before_the_first_call(tmp_path: Path) -> None:
    Transcripts(tmp_path / "new").close()
    assert not (tmp_path / "new").exists()


def test_a_full_disk_is_told_and_leaves_whole_lines(small_disk: Any) -> None:
    folder = small_disk("64k")
    transcripts = Transcripts(folder)

    def fill() -> None:
        for number in range(100):
            transcripts.append(make(str(number), detail="x" * 2000))

    with pytest.raises(BadRunError, match="cannot be written: No space left"):
        fill()
    transcripts.close()
    assert 10 < len(Transcripts(folder)) == len(transcripts)
