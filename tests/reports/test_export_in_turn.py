"""Many scores leave a run a few at a time: the same bytes as all at once, in the memory of a few."""

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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from editgauge._render.text import without_folders
from editgauge.errors import BadRunError
from editgauge.reports import export as export_module
from editgauge.reports.export import COLUMNS, export, schema_of
from editgauge.results import JournalEntry, Run, RunWriter, tables, writer

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]
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
    told = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
    told.writeheader()
    told.writerows(table.to_pylist())
    return lines.getvalue().encode()


@pytest.fixture
def scattered(make_run: MakeRun, make_record: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of 1,400 records in no order, written in 20 parts and an open journal."""
    monkeypatch.setattr(writer, "ENTRIES_PER_JOURNAL", 66)
    chance = random.Random(4)
    records = [
        make_record(
            f"edit {place}",
            {"gain": chance.random(), "loss": chance.choice(["refused", 0.25])},
            place=place,
            method=method,
            seed=seed,
            detail=f"of number {place}, in '/home/ada/outcomes/{place}.png'" if place % 7 == 0 else "",
        )
        for place in range(200)
        for method in METHODS
        for seed in range(1 + (place % 3 == 0) * 4)
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


def columns_of(places: Any) -> pa.Table:
    """Two scores for each place, as a sealed journal has them."""
    texts = {
        "edit": [f"edit-{place:09d}" for place in places],
        "source": [f"images/{place // 10:08d}.png" for place in places],
        "name": ["gain", "loss"] * (len(places) // 2),
        "detail": [f"nothing like a cat in picture {place}" for place in places],
    }
    same = {"edit_type": "color", "method": "mine", "protocol": "toy", "source_path": "/s.png", "reason": "refused"}
    values = {
        **{name: pa.array(text, pa.string()) for name, text in texts.items()},
        **{name: pa.array([text] * len(places), pa.string()) for name, text in same.items()},
        "place": pa.array(places, pa.int32()),
        **dict.fromkeys(("seed", "source_size", "source_changed_ns"), pa.array(np.zeros(len(places), np.int64))),
    }
    nothing = pa.nulls(len(places), pa.string())
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
