"""What leaves a run for other programs: the same rows in every format, and nothing that upsets the reader."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from editgauge._render.text import without_folders
from editgauge._util.text import from_csv_text
from editgauge.analysis.summary import FEW_SOURCES, summarize
from editgauge.errors import BadInputError, BadRunError, UnknownNameError
from editgauge.reports import export as export_module
from editgauge.reports.export import COLUMNS, FORMATS, export, schema_of
from editgauge.results import JournalEntry, Run, RunWriter, tables, writer
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]


@pytest.fixture
def run(make_run: MakeRun, make_record: Make) -> Path:
    return make_run(
        make_record("a", {"gain": 0.1 + 0.2, "loss": "refused"}, detail='said "no",\nin 猫 ☃'),
        make_record("b", {"gain": 1.0, "loss": 0.25}, place=1, source="dog.png", edit_type="size", seed=2**40),
        make_record("a", {"gain": "missing_outcome", "loss": "missing_outcome"}, method="theirs"),
    )


def from_csv(content: bytes) -> list[dict[str, Any]]:
    """Typed as in the other formats; CSV has no other sign for nothing than the empty field."""
    rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True))
    for row in rows:
        row["seed"] = int(row["seed"])
        row["value"] = float(row["value"]) if row["value"] else None
        row["reason"] = row["reason"] or None
        row["detail"] = from_csv_text(row["detail"])
    return rows


def from_jsonl(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.decode().split("\n") if line]


def from_parquet(content: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(content)).to_pylist()
    return rows


def test_all_formats_hold_the_same_rows(run: Path) -> None:
    rows = from_jsonl(export(run, format="jsonl"))

    assert from_csv(export(run, format="csv")) == rows
    assert from_parquet(export(run, format="parquet")) == rows
    assert [(row["method"], row["edit"], row["name"], row["value"]) for row in rows] == [
        ("mine", "a", "gain", 0.1 + 0.2),
        ("mine", "a", "loss", None),
        ("mine", "b", "gain", 1.0),
        ("mine", "b", "loss", 0.25),
        ("theirs", "a", "gain", None),
        ("theirs", "a", "loss", None),
    ]
    assert all(list(row) == list(COLUMNS) for row in rows)


def test_rows_have_the_verdict_where_a_protocol_judges_edits(make_run: MakeRun, make_record: Make, run: Path) -> None:
    specs = tuple(ScoreSpec(name, True, (0.0, 1.0)) for name in ("edit", "kept", "quality"))
    entry = ProtocolEntry("Rules.", "none", "1", (), specs)
    values = {"edit": 0.95, "kept": 0.9, "quality": 0.1}
    judged = make_run(make_record(scores=values, protocol="editgauge"), name="judged", protocols={"editgauge": entry})

    rows = [json.loads(line) for line in export(judged, format="jsonl").splitlines()]
    assert {(row["done"], row["kept"], row["quality"]) for row in rows} == {("yes", "well", "poor")}
    assert all("0.95" in row["because"] and row["confidence"] in {"low", "medium", "high"} for row in rows)
    assert pq.read_table(pa.BufferReader(export(judged, format="parquet"))).to_pylist() == rows
    assert "done" not in json.loads(export(run, format="jsonl").splitlines()[0])


def test_an_unscored_row_has_no_value_but_a_reason_and_a_detail(run: Path) -> None:
    rows = from_jsonl(export(run, format="jsonl"))
    scored, unscored = rows[0], rows[1]

    assert (scored["status"], scored["reason"], scored["detail"]) == ("scored", None, "")
    assert (unscored["status"], unscored["reason"], unscored["value"]) == ("unscored", "refused", None)
    assert unscored["detail"] == 'said "no",\nin 猫 ☃'
    line = export(run, format="csv").decode().split("\n")[2]
    assert line.startswith("a,color,cat.png,mine,0,toy,loss,,unscored,refused,")


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(detail=st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.sampled_from(',"\n\r\t;\\\0\u2028=')))
def test_any_detail_comes_back_from_every_format(detail: str, make_run: MakeRun, make_record: Make) -> None:
    with TemporaryDirectory() as folder:
        run = make_run(make_record("a", {"gain": "crashed"}, detail=detail), name=folder)

        for read, name in ((from_csv, "csv"), (from_jsonl, "jsonl"), (from_parquet, "parquet")):
            (row,) = read(export(run, format=name))
            assert row["detail"] == without_folders(detail), name


@pytest.mark.parametrize("read", [from_csv, from_jsonl, from_parquet])
def test_a_detail_tells_nothing_of_the_machine(
    read: Callable[[bytes], list[dict[str, Any]]], make_run: MakeRun, make_record: Make
) -> None:
    """And the run folder keeps what it was given."""
    detail = "There is no image at '/home/ada/secret/outcomes/a.png'."
    run = make_run(make_record("a", {"gain": "missing_outcome"}, detail=detail))

    (row,) = read(export(run, format=read.__name__.removeprefix("from_")))
    assert row["detail"] == "There is no image at '…/outcomes/a.png'."
    assert Run.open(run).scores["detail"].to_pylist() == [detail]


def test_parquet_has_plain_columns(run: Path) -> None:
    """Dictionary columns are a trap for some readers."""
    schema = pq.read_schema(pa.BufferReader(export(run, format="parquet")))

    assert {name: str(schema.field(name).type) for name in schema.names} == {
        **dict.fromkeys(COLUMNS, "string"),
        "seed": "int64",
        "value": "double",
    }


def test_the_same_scores_give_the_same_bytes(make_run: MakeRun, make_record: Make) -> None:
    """Whatever the order in which they were written, and wherever the images lie."""
    from editgauge.results import ImageStamp

    records = [make_record(name, place=index) for index, name in enumerate("abc")]
    elsewhere = [
        make_record(name, place=index, source_image=ImageStamp("/elsewhere", 1, 2)) for index, name in enumerate("abc")
    ]
    here, there = make_run(*records, name="1"), make_run(*reversed(elsewhere), name="2")

    for name in (name for name in FORMATS if not name.startswith("methods-")):  # those state the hash of the edits
        assert export(here, format=name) == export(there, format=name), name


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_without_scores_can_be_exported(name: str, make_run: MakeRun) -> None:
    assert export(make_run(finish=False), format=name) is not None


def test_an_empty_csv_still_has_its_header(make_run: MakeRun) -> None:
    assert export(make_run(finish=False), format="csv").decode() == ",".join(COLUMNS) + "\n"


# --- tables ------------------------------------------------------------------------------------------------------


def test_markdown_has_a_table_per_score(run: Path) -> None:
    lines = export(run, format="markdown").decode().split("\n")

    assert lines[:7] == [
        "### toy: gain (higher is better; mean [95% interval] n scored + unscored; "
        f"few: under {FEW_SOURCES} source images)",
        "",
        "| edit type | mine | theirs |",
        "|---|---|---|",
        "| size | 1.000 n=1 | - |",
        "| color | 0.300 n=1 | unscored 1 |",
        "| all | 0.650 [0.000, 1.000] (few) n=2 | unscored 1 |",
    ]
    assert "| all | 0.250 n=1+1 | unscored 1 |" in lines


@pytest.mark.parametrize(
    ("method", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("*bold*", r"\*bold\*"),
        ("_slanted_", r"\_slanted\_"),
        ("snake_case", "snake_case"),
        ("<b>", r"\<b\>"),
        ("[link](x)", r"\[link\](x)"),
        ("`code`", r"\`code\`"),
        ("imagic[eta=0.8]", r"imagic\[eta=0.8\]"),
    ],
)
def test_markdown_shows_a_method_s_name_as_it_is(
    method: str, escaped: str, make_run: MakeRun, make_record: Make
) -> None:
    text = export(make_run(make_record(method=method)), format="markdown").decode()

    assert f"\n| edit type | {escaped} |\n" in text


def test_latex_has_a_table_per_score(run: Path) -> None:
    text = export(run, format="latex").decode()

    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 2
    assert r"color & 0.300 n=1 & unscored 1 \\" in text
    meaning = rf"mean [95\% interval] n scored + unscored; few: under {FEW_SOURCES} source images"
    assert rf"\caption{{toy: gain (higher is better; {meaning})}}" in text


def test_latex_shows_names_as_they_are(make_run: MakeRun, make_record: Make) -> None:
    record = make_record(method="50%_&$#{}~^猫", protocol="100%")
    toy = Run.open(make_run(make_record())).manifest.protocols["toy"]
    text = export(make_run(record, name="odd", protocols={"100%": toy}), format="latex").decode()

    assert r"edit type & 50\%\_\&\$\#\{\}\textasciitilde{}\textasciicircum{}猫 \\" in text
    assert r"\caption{100\%: gain (higher" in text


# --- files and mistakes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_what_is_returned_without_a_file(name: str, run: Path, tmp_path: Path) -> None:
    written = export(run, format=name, out=tmp_path / "deep" / "scores")

    assert written == b"scores\n"
    assert (tmp_path / "deep" / "scores").read_bytes() == export(run, format=name)


@pytest.mark.parametrize("name", ["csv", "parquet"])
@pytest.mark.slow
def test_standard_output_has_the_same_bytes(name: str, run: Path) -> None:
    command = [sys.executable, "-m", "editgauge", "export", str(run), "--format", name]

    assert subprocess.run(command, check=True, capture_output=True).stdout == export(run, format=name)


def test_an_unknown_format(run: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no format called 'cvs'\. Did you mean 'csv'\?"):
        export(run, format="cvs")


def test_a_folder_is_no_place_for_a_file(run: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"is a folder; give a file such as '.*scores\.csv'"):
        export(run, format="csv", out=tmp_path)


def test_the_summary_has_intervals_and_counts_in_every_format(run: Path) -> None:
    output = [json.loads(line) for line in export(run, format="jsonl", summary=True).splitlines()]
    assert output == pq.read_table(pa.BufferReader(export(run, format="parquet", summary=True))).to_pylist()
    written = list(csv.DictReader(io.StringIO(export(run, format="csv", summary=True).decode())))
    assert [row["n"] for row in written] == [str(row["n"]) for row in output]
    cells = summarize(Run.open(run))
    assert [row["mean"] for row in output] == [cell.mean.value if cell.mean else None for cell in cells]
    assert [row["low"] for row in output] == [cell.mean.low if cell.mean else None for cell in cells]
    assert [row["unscored"] for row in output] == [sum(cell.unscored.values()) for cell in cells]
    assert export(run, format="markdown", summary=True) == export(run, format="markdown")


METHODS = ("mine", "theirs", "猫")
FEW, MANY = 20_000, 200_000
GROWTH = 60_000_000
"""Bytes; ten times the scores in memory would be some hundred and fifty megabytes more."""


def at_once(run: Path, kind: str) -> bytes:
    """All rows as one table, then all bytes as one: plain, and as much memory as they take."""
    scores = Run.open(run).scores
    detail = pa.array([without_folders(text) for text in scores["detail"].to_pylist()], pa.string())
    table = scores.set_column(scores.schema.get_field_index("detail"), "detail", detail)
    status = pc.if_else(pc.is_null(table["value"]), "unscored", "scored")
    table = table.append_column("status", status).select(list(COLUMNS)).cast(schema_of(Run.open(run)))
    if kind == "parquet":
        sink = pa.BufferOutputStream()
        group = export_module.CHUNKS_PER_GROUP * export_module.ROWS_PER_CHUNK
        pq.write_table(table, sink, compression="zstd", row_group_size=group)
        return bytes(sink.getvalue().to_pybytes())
    if kind == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()).encode()
    lines = io.StringIO(newline="")
    output = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
    output.writeheader()
    output.writerows(table.to_pylist())
    return lines.getvalue().encode()


@pytest.fixture
def scattered(make_run: MakeRun, make_record: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of 1,400 records in no order, written in 20 parts and an open journal."""
    monkeypatch.setattr(writer, "ENTRIES_PER_JOURNAL", 66)
    chance = random.Random(4)
    records = [
        make_record(
            f"edit {index}",
            {"gain": chance.random(), "loss": chance.choice(["refused", 0.25])},
            place=index,
            method=method,
            seed=seed,
            detail=f"of number {index}, in '/home/ada/outcomes/{index}.png'" if index % 7 == 0 else "",
        )
        for index in range(200)
        for method in METHODS
        for seed in range(1 + (index % 3 == 0) * 4)
    ]
    chance.shuffle(records)
    return make_run(*records, finish=False)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("rows_in_turn", [1, 37, 600, 10**6])
@pytest.mark.slow
def test_the_bytes_are_those_of_all_rows_at_once(
    scattered: Path, kind: str, rows_in_turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "SAMPLING_STEP", 1)
    monkeypatch.setattr(tables, "ROWS_PER_CHUNK", rows_in_turn)
    monkeypatch.setattr(tables, "BYTES_IN_MEMORY", 1000)
    monkeypatch.setattr(export_module, "ROWS_PER_CHUNK", 1024)
    monkeypatch.setattr(export_module, "CHUNKS_PER_GROUP", 1)

    assert export(scattered, format=kind) == at_once(scattered, kind)


def test_rows_come_in_divisions_of_about_the_size_that_was_asked_for(
    scattered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "SAMPLING_STEP", 1)
    monkeypatch.setattr(tables, "ROWS_PER_CHUNK", 100)
    run = Run.open(scattered)
    sizes = [table.num_rows for table in run.iter_scores(["edit"])]

    assert sum(sizes) == run.scores.num_rows
    assert len(sizes) >= sum(sizes) // 100 - 1
    assert max(sizes) <= 110, "an edit has ten rows of a method, which are never parted"


def test_a_damaged_file_is_told_before_anything_is_given(scattered: Path) -> None:
    last = max((scattered / "scores").glob("*.parquet"))
    last.write_bytes(last.read_bytes()[:-1])

    with pytest.raises(BadRunError, match=rf"{last.name}' was changed since it was written"):
        Run.open(scattered).iter_scores(["edit"])


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, int], Path]:
    base = tmp_path_factory.mktemp("large")

    def make(run: Path, records: int) -> Path:
        """A run of that many records of two scores, in no order; its manifest is that of another run."""
        folder = base / str(records)
        if not folder.exists():
            manifest = Run.open(run).manifest
            manifest.segments = {}
            with RunWriter(folder, manifest, b"") as out:
                for part in np.array_split(np.random.default_rng(0).permutation(records), records // 10_000):
                    out.adopt(columns_of(np.repeat(part, 2)), tables.EVIDENCE.empty_table())
        return folder

    return make


def columns_of(indices: Any) -> pa.Table:
    """Two scores for each index, as a sealed journal has them."""
    texts = {
        "edit": [f"edit-{index:09d}" for index in indices],
        "source": [f"images/{index // 10:08d}.png" for index in indices],
        "name": ["gain", "loss"] * (len(indices) // 2),
        "detail": [f"nothing like a cat in picture {index}" for index in indices],
    }
    same = {"edit_type": "color", "method": "mine", "protocol": "toy", "source_path": "/s.png", "reason": "refused"}
    values = {
        **{name: pa.array(text, pa.string()) for name, text in texts.items()},
        **{name: pa.array([text] * len(indices), pa.string()) for name, text in same.items()},
        "index": pa.array(indices, pa.int32()),
        **dict.fromkeys(("seed", "source_size", "source_changed_ns"), pa.array(np.zeros(len(indices), np.int64))),
    }
    nothing = pa.nulls(len(indices), pa.string())
    return pa.table([values.get(field.name, nothing).cast(field.type) for field in tables.SCORES], tables.SCORES)


def most_memory(*words: str) -> int:
    """Bytes that a command held at most."""
    process = subprocess.Popen([sys.executable, "-m", "editgauge", *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--format", "csv"], ["--format", "jsonl"], ["--format", "jsonl", "--out", "FILE"]])
def test_ten_times_the_scores_take_no_more_memory(
    words: list[str],
    large: Callable[[Path, int], Path],
    make_run: MakeRun,
    make_record: Make,
    tmp_path: Path,
) -> None:
    small = make_run(make_record())
    words = [str(tmp_path / "scores") if word == "FILE" else word for word in words]
    few, many = (most_memory("export", str(large(small, records)), *words) for records in (FEW, MANY))

    assert many - few < GROWTH
