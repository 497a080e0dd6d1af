"""`score`, `Scorer`, `run`, `serve` and `verify` give identical numbers for the same pair of images."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from pathlib import Path

import pytest

import editgauge
from editgauge.benchmarks import open_benchmark
from editgauge.engine._options import DEFAULT_PROTOCOLS
from editgauge.models.weights import available
from editgauge.results import ScoreRecord, Signature

Values = dict[str, tuple[float | None, str | None]]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A benchmark folder with one edit of the sample, known by its instruction only, and the outcomes folder."""
    home = tmp_path_factory.mktemp("pair")
    edit = next(edit for edit in open_benchmark("sample").edits if edit.type == "color")
    shutil.copy(edit.source.path, home / "source.png")
    (home / "edits.jsonl").write_text(
        json.dumps({"id": "one", "source": "source.png", "instruction": edit.instruction}) + "\n"
    )
    editgauge.edit("sample", method="classical", out=home / "made", limit=_position(edit.id) + 1, quiet=True)
    (home / "outcomes").mkdir()
    shutil.copy(home / "made" / f"{edit.id}.png", home / "outcomes" / "one.png")
    return home, home / "outcomes", edit.instruction


def _position(name: str) -> int:
    return [edit.id for edit in open_benchmark("sample").edits].index(name)


def by_name(records: list[ScoreRecord]) -> Values:
    return {record.full_name: (record.value, record.reason) for record in records}


@pytest.mark.skipif(not available("efficientdet-lite2"), reason="NOT TESTED: run `editgauge models pull lite`")
def test_every_way_of_scoring_gives_the_same_numbers(pair: tuple[Path, Path, str], tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from editgauge.serving._schema import ScoreRequest
    from editgauge.serving._scoring import OneScorer

    home, outcomes, instruction = pair
    before, after = home / "source.png", outcomes / "one.png"

    by_score = editgauge.score(before, after, instruction)
    run = editgauge.run(home, outcomes={"mine": outcomes}, out=tmp_path / "run", processes=1, quiet=True)
    with editgauge.Scorer() as scorer:
        by_scorer = scorer.score(before, after, instruction)
        encoded = (base64.b64encode(path.read_bytes()).decode() for path in (before, after))
        fields = {"sources": [next(encoded)], "outcome": next(encoded), "instruction": instruction}
        request = ScoreRequest.model_validate(fields)
        served = asyncio.run(OneScorer(scorer).score(request)).result
    verified = editgauge.verify(run.folder, quiet=True)

    expected = by_name(list(by_score))
    assert {name.split("/")[0] for name in expected} == set(DEFAULT_PROTOCOLS)
    assert any(value is not None for value, _ in expected.values())
    assert by_name(list(by_scorer)) == expected
    rows = run.table.select(["protocol", "name", "value", "reason"]).to_pylist()
    assert {f"{row['protocol']}/{row['name']}": (row["value"], row["reason"]) for row in rows} == expected
    assert served is not None
    assert {f"{score.protocol}/{score.name}": (score.value, score.reason) for score in served.scores} == expected
    for score in by_score:
        alone, in_run = (Signature.parse(line) for line in (score.signature, str(run.signature(score.protocol))))
        assert alone.fields.items() <= in_run.fields.items()
    assert {score.signature for score in served.scores} == {score.signature for score in by_score}
    assert verified.sound
    assert verified.sentence.startswith(f"Of {len(expected)} scores, {len(expected)} were recomputed from the images")
    assert verified.recomputed.scores == len(expected)
    assert by_score.edit.type == "color"
