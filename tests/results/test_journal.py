"""The journal loses at most the line in hand, and says which line was altered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadRunError
from editgauge.evidence import Note
from editgauge.results import ImageStamp, JournalEntry, ScoreRecord
from editgauge.results._journal import Journal, decode_line, images_of, key_of, read_journal
from editgauge.types import REASONS, ScoreSpec

Make = Callable[..., JournalEntry]
numbers = st.integers(-(2**63), 2**63 - 1)
stamps = st.builds(ImageStamp, st.text(), numbers, numbers, st.none() | st.text())
specs = st.builds(ScoreSpec, st.text(), st.booleans(), st.just((0.0, 1.0)))
scores = st.builds(
    ScoreRecord,
    edit=st.text(),
    method=st.text(),
    seed=numbers,
    protocol=st.text(),
    spec=specs,
    value=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    reason=st.none() | st.sampled_from(REASONS),
    detail=st.text(),
    evidence=st.lists(st.builds(Note, st.text()), max_size=2).map(tuple),
)
entries = st.builds(
    JournalEntry,
    index=st.integers(0, 10**6),
    edit=st.text(),
    edit_type=st.text(),
    source=st.text(),
    method=st.text(),
    seed=numbers,
    protocol=st.text(),
    source_image=stamps,
    edited_image=st.none() | stamps,
    scores=st.lists(scores, max_size=3).map(tuple),
)


def three(make_record: Make, path: Path) -> list[JournalEntry]:
    written = [make_record(name, detail=f"the {name}, ☃\n") for name in ("first", "second", "third")]
    journal = Journal(path)
    for record in written:
        journal.append(record.encode().line)
    journal.close()
    return written


@given(entries)
def test_an_entry_comes_back_from_its_line(entry: JournalEntry) -> None:
    encoded = entry.encode()
    stored = decode_line(encoded.line, "journal")

    assert stored == entry.to_dict()
    assert (key_of(stored), images_of(stored)) == (entry.key, entry.images) == (encoded.key, encoded.images)
    assert encoded.line.count(b"\n") == 1


def test_what_was_appended_is_read_in_order(make_record: Make, tmp_path: Path) -> None:
    written = three(make_record, tmp_path / "1.jsonl")

    assert list(read_journal(tmp_path / "1.jsonl")) == [entry.to_dict() for entry in written]
    assert Journal(tmp_path / "1.jsonl").entries == 3


def test_a_record_is_in_the_file_as_soon_as_append_returns(make_record: Make, tmp_path: Path) -> None:
    """No buffer of ours stands between it and a kill."""
    journal = Journal(tmp_path / "1.jsonl")
    journal.append(make_record("first").encode().line)

    assert [entry["edit"] for entry in read_journal(tmp_path / "1.jsonl")] == ["first"]
    journal.close()
    journal.close()


def test_a_tail_torn_anywhere_is_dropped_and_the_rest_kept(make_record: Make, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    written = three(make_record, path)
    content = path.read_bytes()
    start = len(content) - len(written[-1].encode().line)

    for length in range(start, len(content)):
        path.write_bytes(content[:length])
        assert list(read_journal(path)) == [entry.to_dict() for entry in written[:2]]

        journal = Journal(path)
        assert journal.entries == 2
        journal.append(written[-1].encode().line)
        journal.close()
        assert path.read_bytes() == content


def test_any_altered_byte_of_a_line_is_noticed_and_the_line_named(make_record: Make, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    first, second, _ = three(make_record, path)
    content = path.read_bytes()
    start, end = len(first.encode().line), len(first.encode().line) + len(second.encode().line)

    for place in range(start, end):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(BadRunError) as caught:
            list(read_journal(path))
        assert f"'{path}', line 2" in str(caught.value)


def test_a_line_that_was_taken_out_or_doubled_leaves_the_others_whole(make_record: Make, tmp_path: Path) -> None:
    """Each line is checked by itself; that none is missing is for `verify`, which knows how many there should be."""
    path = tmp_path / "1.jsonl"
    first, _, third = three(make_record, path)
    path.write_bytes(first.encode().line + third.encode().line)

    assert list(read_journal(path)) == [first.to_dict(), third.to_dict()]


def test_an_empty_journal_leaves_no_file(tmp_path: Path) -> None:
    Journal(tmp_path / "1.jsonl").close()

    assert list(tmp_path.iterdir()) == []


def test_appending_goes_on_after_closing(make_record: Make, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1.jsonl")
    journal.append(make_record("first").encode().line)
    journal.close()
    journal.append(make_record("second").encode().line)
    journal.close()

    assert [entry["edit"] for entry in read_journal(tmp_path / "1.jsonl")] == ["first", "second"]


def test_a_full_disk_costs_the_line_in_hand_only(make_record: Make, tiny_disk: Path) -> None:
    path = tiny_disk / "1.jsonl"
    (tiny_disk / "ballast").write_bytes(bytes(40_000))
    journal = Journal(path)
    written: list[JournalEntry] = []

    def fill_up() -> None:
        for number in range(1000):
            record = make_record(f"edit-{number}", detail="x" * 500)
            journal.append(record.encode().line)
            written.append(record)

    with pytest.raises(BadRunError, match=r"1\.jsonl' cannot be written: No space left on device.* same command"):
        fill_up()

    assert len(written) > 5
    assert path.read_bytes() == b"".join(record.encode().line for record in written)
    assert journal.entries == len(written)

    (tiny_disk / "ballast").unlink()
    journal.append(make_record("last").encode().line)
    journal.close()
    assert [entry["edit"] for entry in read_journal(path)] == [*(record.edit for record in written), "last"]


def test_a_disk_that_fails_when_flushing_is_told_too(
    make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Network disks say that they are full only then."""
    journal = Journal(tmp_path / "1.jsonl")
    journal.append(make_record("first").encode().line)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("editgauge.results._journal.os.fsync", full)
        patch.setattr("editgauge.results._journal.SECONDS_BETWEEN_SYNCS", -1)
        with pytest.raises(BadRunError, match="cannot be written: No space left on device"):
            journal.append(make_record("second").encode().line)
        with pytest.raises(BadRunError, match="cannot be written: No space left on device"):
            journal.close()

    journal.append(make_record("third").encode().line)
    journal.close()
    assert [entry["edit"] for entry in read_journal(tmp_path / "1.jsonl")] == ["first", "third"]
