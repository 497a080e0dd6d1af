"""The journal loses at most the line in hand, and says which line was altered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadRunError
from editgauge.results import ImageStamp, Record, Row
from editgauge.results.journal import Journal, read_journal

Make = Callable[..., Record]
numbers = st.integers(-(2**63), 2**63 - 1)
stamps = st.builds(ImageStamp, st.text(), numbers, numbers, st.none() | st.text())
json_values = st.dictionaries(st.text(), st.text() | st.floats(allow_nan=False) | st.none(), max_size=3)
rows = st.builds(
    Row,
    st.text(),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.text(),
    st.text(),
    st.lists(json_values, max_size=2).map(tuple),
)
records = st.builds(
    Record,
    place=st.integers(0, 10**6),
    edit=st.text(),
    edit_type=st.text(),
    source=st.text(),
    method=st.text(),
    seed=numbers,
    protocol=st.text(),
    source_image=stamps,
    edited_image=st.none() | stamps,
    rows=st.lists(rows, max_size=3).map(tuple),
)


def three(make_record: Make, path: Path) -> list[Record]:
    written = [make_record(name, detail=f"the {name}, ☃\n") for name in ("first", "second", "third")]
    journal = Journal(path)
    for record in written:
        journal.append(record)
    journal.close()
    return written


@given(records)
def test_a_record_comes_back_from_its_line(record: Record) -> None:
    line = record.to_line()

    assert Record.from_line(line) == record
    assert line.count(b"\n") == 1


def test_what_was_appended_is_read_in_order(make_record: Make, tmp_path: Path) -> None:
    written = three(make_record, tmp_path / "1.jsonl")

    assert list(read_journal(tmp_path / "1.jsonl")) == written
    assert Journal(tmp_path / "1.jsonl").records == 3


def test_a_record_is_in_the_file_as_soon_as_append_returns(make_record: Make, tmp_path: Path) -> None:
    """No buffer of ours stands between it and a kill."""
    journal = Journal(tmp_path / "1.jsonl")
    journal.append(make_record("first"))

    assert [record.edit for record in read_journal(tmp_path / "1.jsonl")] == ["first"]
    journal.close()
    journal.close()


def test_a_tail_torn_anywhere_is_dropped_and_the_rest_kept(make_record: Make, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    written = three(make_record, path)
    content = path.read_bytes()
    start = len(content) - len(written[-1].to_line())

    for length in range(start, len(content)):
        path.write_bytes(content[:length])
        assert list(read_journal(path)) == written[:2]

        journal = Journal(path)
        assert journal.records == 2
        journal.append(written[-1])
        journal.close()
        assert path.read_bytes() == content


def test_any_altered_byte_of_a_line_is_noticed_and_the_line_named(make_record: Make, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    first, second, _ = three(make_record, path)
    content = path.read_bytes()
    start, end = len(first.to_line()), len(first.to_line()) + len(second.to_line())

    for place in range(start, end):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(BadRunError) as caught:
            list(read_journal(path))
        assert f"'{path}', line 2" in str(caught.value)


def test_a_line_that_was_taken_out_or_doubled_leaves_the_others_whole(make_record: Make, tmp_path: Path) -> None:
    """Each line is checked by itself; that none is missing is for `verify`, which knows how many there should be."""
    path = tmp_path / "1.jsonl"
    first, _, third = three(make_record, path)
    path.write_bytes(first.to_line() + third.to_line())

    assert list(read_journal(path)) == [first, third]


def test_an_empty_journal_leaves_no_file(tmp_path: Path) -> None:
    Journal(tmp_path / "1.jsonl").close()

    assert list(tmp_path.iterdir()) == []


def test_appending_goes_on_after_closing(make_record: Make, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1.jsonl")
    journal.append(make_record("first"))
    journal.close()
    journal.append(make_record("second"))
    journal.close()

    assert [record.edit for record in read_journal(tmp_path / "1.jsonl")] == ["first", "second"]


def test_a_full_disk_costs_the_line_in_hand_only(make_record: Make, tiny_disk: Path) -> None:
    path = tiny_disk / "1.jsonl"
    (tiny_disk / "ballast").write_bytes(bytes(40_000))
    journal = Journal(path)
    written: list[Record] = []

    def fill_up() -> None:
        for number in range(1000):
            record = make_record(f"edit-{number}", detail="x" * 500)
            journal.append(record)
            written.append(record)

    with pytest.raises(BadRunError, match=r"1\.jsonl' cannot be written: No space left on device.* same command"):
        fill_up()

    assert len(written) > 5
    assert path.read_bytes() == b"".join(record.to_line() for record in written)
    assert journal.records == len(written)

    (tiny_disk / "ballast").unlink()
    journal.append(make_record("last"))
    journal.close()
    assert [record.edit for record in read_journal(path)] == [*(record.edit for record in written), "last"]


def test_a_disk_that_fails_when_flushing_is_told_too(
    make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Network disks say that they are full only then."""
    journal = Journal(tmp_path / "1.jsonl")
    journal.append(make_record("first"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("editgauge.results.lines.os.fsync", full)
        patch.setattr("editgauge.results.lines.SECONDS_BETWEEN_SYNCS", -1)
        with pytest.raises(BadRunError, match="cannot be written: No space left on device"):
            journal.append(make_record("second"))
        with pytest.raises(BadRunError, match="cannot be written: No space left on device"):
            journal.close()

    journal.append(make_record("third"))
    journal.close()
    assert [record.edit for record in read_journal(tmp_path / "1.jsonl")] == ["first", "third"]
