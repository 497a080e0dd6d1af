"""A sealed journal holds, as columns, what the journal held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadRunError
from editgauge.evidence import Note
from editgauge.results import ImageStamp, JournalEntry, ScoreRecord, tables
from editgauge.results._journal import decode_line
from editgauge.types import REASONS, ScoreSpec

Make = Callable[..., JournalEntry]
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**63), 2**63 - 1)
stamps = st.builds(ImageStamp, words, numbers, numbers, st.none() | words)
identity = {"edit": words, "method": words, "seed": numbers, "protocol": words}
specs = st.builds(ScoreSpec, words, st.booleans(), st.just((0.0, 1.0)))
scored = st.builds(ScoreRecord, **identity, spec=specs, value=st.floats(allow_nan=False, allow_infinity=False))
unscored = st.builds(
    ScoreRecord,
    **identity,
    spec=specs,
    reason=st.sampled_from(REASONS),
    detail=words,
    evidence=st.lists(st.builds(Note, words)).map(tuple),
)
entries = st.builds(
    JournalEntry,
    index=st.integers(0, 2**31 - 1),
    edit=words,
    edit_type=words,
    source=words,
    method=words,
    seed=numbers,
    protocol=words,
    source_image=stamps,
    edited_image=st.none() | stamps,
    scores=st.lists(scored | unscored, min_size=1, max_size=3).map(tuple),
).map(JournalEntry.to_dict)


@given(st.lists(entries, max_size=5))
def test_scores_and_evidence_come_back_from_the_file(written: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        for table, schema in (
            (tables.scores_table(written), tables.SCORES),
            (tables.evidence_table(written), tables.EVIDENCE),
        ):
            sha256 = tables.write_table(table, Path(folder) / "1.parquet")
            again = tables.read_table(Path(folder) / "1.parquet", schema, sha256)
            assert again.to_pylist() == table.to_pylist()

    rows = [row for record in written for row in tables.score_rows(record)]
    assert tables.scores_table(written).to_pylist() == rows
    assert [row["value"] for row in rows] == [row["value"] for entry in written for row in entry["rows"]]


def test_the_same_records_give_the_same_bytes(make_record: Make, tmp_path: Path) -> None:
    table = tables.scores_table([make_record().to_dict()])

    assert tables.write_table(table, tmp_path / "1.parquet") == tables.write_table(table, tmp_path / "2.parquet")


@pytest.mark.parametrize("seed", [0, -1, 2**32 - 1, 2**63 - 1])
def test_seeds_may_be_as_large_as_those_of_image_generators(seed: int, make_record: Make) -> None:
    table = tables.scores_table([make_record(seed=seed).to_dict()])

    assert next(tables.iter_keys(table)).seed == seed


def test_a_detail_may_quote_what_is_no_text(make_record: Make) -> None:
    """A file name in another encoding, say: the journal keeps it, and so must the columns."""
    line = make_record(detail="no image at 'caf\udce9.png'").encode().line

    table = tables.scores_table([decode_line(line, "journal")])
    assert table["detail"].to_pylist()[-1] == r"no image at 'caf\udce9.png'"


def test_stamps_and_keys_come_back(make_record: Make) -> None:
    here, there = ImageStamp("/a.png", 10, 20, "f00"), ImageStamp("/b.png", 30, 40, None)
    both = replace(make_record("a", source_image=here, edited_image=there), reference_image=here)
    absent = make_record("b", source_image=here)

    result = list(tables.iter_stamps(tables.scores_table([both.to_dict(), absent.to_dict()])))

    as_files = (ImageStamp("/a.png", 10, 20), ImageStamp("/b.png", 30, 40), ImageStamp("/a.png", 10, 20))
    assert result == [(both.key, as_files), (absent.key, (as_files[0], None, None))]


def test_columns_of_before_ground_truth_was_recorded_can_be_read(make_record: Make, tmp_path: Path) -> None:
    table = tables.scores_table([make_record().to_dict()])
    earlier = table.drop_columns([name for name in table.column_names if name.startswith("reference_")])
    sha256 = tables.write_table(earlier, tmp_path / "earlier.parquet")

    assert tables.read_table(tmp_path / "earlier.parquet", tables.SCORES, sha256).equals(table)


@pytest.mark.parametrize("folder", ["seed=7", "method=x/edit=y", "猫"])
def test_a_folder_s_name_adds_no_columns(folder: str, make_record: Make, tmp_path: Path) -> None:
    """`name=value` in a path means a column to some readers of Parquet."""
    table = tables.scores_table([make_record(seed=3).to_dict()])
    sha256 = tables.write_table(table, tmp_path / folder / "1.parquet")

    assert tables.read_table(tmp_path / folder / "1.parquet", tables.SCORES, sha256).equals(table)


@pytest.mark.parametrize("damage", [lambda content: content[:-20], lambda _: b"", None])
def test_a_damaged_or_missing_file_is_named(damage: Any, make_record: Make, tmp_path: Path) -> None:
    path = tmp_path / "1.parquet"
    sha256 = tables.write_table(tables.scores_table([make_record().to_dict()]), path)
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()

    with pytest.raises(BadRunError, match=r"1\.parquet' (cannot be read|was changed).*editgauge verify"):
        tables.read_table(path, tables.SCORES, sha256)
