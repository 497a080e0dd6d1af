"""A run in parts: every outcome in one of them, and together the same scores to the byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from editgauge.engine._run_plan import Shard, read_shard
from editgauge.engine.merge import merge
from editgauge.engine.run import run
from editgauge.engine.verify import verify
from editgauge.errors import BadInputError, BadRunError
from editgauge.reports.export import export
from editgauge.results import JournalEntry, Run

pytestmark = pytest.mark.slow

Make = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> Path:
    """A benchmark of twelve edits of six photographs, and the outcomes of two methods."""
    make_benchmark(tmp_path / "photos", edits=12, size=32)
    for method in ("mine", "yours"):
        make_outcomes(tmp_path / "photos", tmp_path / method)
    return tmp_path


def score(home: Path, out: str, shard: str | None = None, **options: Any) -> Run:
    outcomes = {method: home / method for method in ("yours", "mine")}
    settings = {"processes": 1, "quiet": True, "protocol": ["preservation"], **options}
    return run(home / "photos", outcomes=outcomes, out=home / out, shard=shard, **settings)


@given(some.lists(some.text(max_size=20), unique=True, max_size=40), some.integers(1, 9))
def test_every_source_is_in_one_shard(sources: list[str], of: int) -> None:
    shards = [Shard(number, of) for number in range(1, of + 1)]
    assert all(sum(shard.holds(source) for shard in shards) == 1 for source in sources)


def test_where_a_source_belongs_never_changes() -> None:
    """Machines with other versions of Python must agree, today and next year."""
    names = [f"{number}.png" for number in range(12)]
    assert [next(n for n in (1, 2, 3) if Shard(n, 3).holds(name)) for name in names] == [
        2,
        1,
        3,
        2,
        1,
        3,
        2,
        3,
        3,
        2,
        3,
        1,
    ]


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match=r"`shard` takes NUMBER/OF"):
        read_shard(text)


def test_shards_become_the_run_they_are_parts_of(home: Path) -> None:
    whole = score(home, "whole")
    parts = [score(home, f"part-{number}", f"{number}/3") for number in (3, 1, 2)]

    merged = merge([part.folder for part in parts], out=home / "merged", quiet=True)

    assert all(0 < part.planned < whole.planned for part in parts)
    assert sum(part.planned for part in parts) == whole.planned == merged.planned
    for kind in ("csv", "jsonl", "parquet", "latex"):
        assert export(merged.folder, format=kind) == export(whole.folder, format=kind)
    assert sorted(merged.iter_evidence()) == sorted(whole.iter_evidence())
    assert merged.manifest.shard == ""
    assert verify(merged.folder, benchmark=home / "photos", quiet=True).sound


def test_outcomes_of_one_source_stay_together(home: Path) -> None:
    sources = [set(score(home, f"part-{n}", f"{n}/2").scores["source"].to_pylist()) for n in (1, 2)]
    assert sources[0] & sources[1] == set()


def test_a_merged_run_is_continued_like_any_other(home: Path) -> None:
    """Nothing is left to score: no part of it is written again."""
    parts = [score(home, f"part-{number}", f"{number}/2").folder for number in (1, 2)]
    merged = merge(parts, out=home / "merged", quiet=True)
    assert score(home, "merged").manifest.segments == merged.manifest.segments


def test_a_merge_that_was_stopped_goes_on(home: Path) -> None:
    parts = [score(home, f"part-{number}", f"{number}/2").folder for number in (1, 2)]
    whole = export(merge(parts, out=home / "merged", quiet=True).folder, format="csv")
    manifest = json.loads((home / "merged" / "manifest.json").read_text())
    last = list(manifest["segments"])[-1]
    del manifest["segments"][last]
    manifest["finished"] = None
    (home / "merged" / "manifest.json").write_text(json.dumps(manifest))

    assert export(merge(parts, out=home / "merged", quiet=True).folder, format="csv") == whole


def test_a_missing_shard_is_named(home: Path) -> None:
    parts = [score(home, f"part-{number}", f"{number}/3").folder for number in (1, 3)]
    with pytest.raises(BadInputError, match="shard 2/3 is not among them"):
        merge(parts, out=home / "merged", quiet=True)
    assert not (home / "merged").exists()


def test_runs_that_differ_are_told_apart(home: Path) -> None:
    one, other = score(home, "one", "1/2"), score(home, "other", "2/2", seed=7)
    with pytest.raises(BadInputError, match="the seed changed from 0 to 7"):
        merge([one.folder, other.folder], out=home / "merged", quiet=True)


def test_another_shard_wants_another_folder(home: Path) -> None:
    score(home, "part", "1/2")
    with pytest.raises(BadInputError, match="holds shard 1/2; give shard 2/2 a folder of its own"):
        score(home, "part", "2/2")
    assert Run.open(home / "part").manifest.shard == "1/2"


@pytest.mark.slow
def test_without_a_shard_it_becomes_the_whole_run(home: Path) -> None:
    part = score(home, "part", "1/2")
    assert export(score(home, "part").folder, format="csv") == export(score(home, "whole").folder, format="csv")
    assert part.planned < Run.open(home / "part").planned


def test_what_two_runs_hold_must_be_the_same(
    tmp_path: Path, make_run: Make, make_record: Callable[..., JournalEntry]
) -> None:
    one = make_run(make_record("a"), make_record("b"), name="one")
    same = make_run(make_record("a"), make_record("b"), name="same")
    assert merge([one, same], out=tmp_path / "both", quiet=True).scores.num_rows == 4
    other = make_run(make_record("a", scores={"gain": 0.75, "loss": "not_applicable"}), make_record("b"), name="other")
    with pytest.raises(BadRunError, match=r"says something else .* 'a' by 'mine', seed 0, toy"):
        merge([one, other], out=tmp_path / "mixed", quiet=True)


def test_an_unfinished_run_is_not_merged(
    tmp_path: Path, make_run: Make, make_record: Callable[..., JournalEntry]
) -> None:
    one = make_run(make_record("a"), name="one", finish=False)
    with pytest.raises(BadInputError, match="is not finished"):
        merge([one], out=tmp_path / "out", quiet=True)
