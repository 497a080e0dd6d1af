"""`score` and `run` say the same about the same pair: same protocols, models and reading of the instruction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skimage import data

import editgauge
from editgauge._util.images import Pixels
from editgauge.models.weights import available
from editgauge.results import Run

CAT: Callable[[], Pixels] = data.chelsea


@pytest.mark.slow
@pytest.mark.skipif(not available("efficientdet-lite2"), reason="NOT TESTED: run `editgauge models pull lite`")
def test_score_and_run_agree_on_a_folder_with_only_an_instruction(tmp_path: Path) -> None:
    photo = CAT()
    (tmp_path / "outcomes").mkdir()
    Image.fromarray(photo).save(tmp_path / "cat.png")
    Image.fromarray((photo * np.array([0.3, 0.35, 1.0])).astype(np.uint8)).save(tmp_path / "outcomes" / "one.png")
    text = "Could you make the cat blue?"
    (tmp_path / "benchmark.yaml").write_text(
        f"name: own\nsources:\n  cat: {{image: cat.png}}\nedits:\n  - {{id: one, source: cat, instruction: {text!r}}}\n"
    )
    editgauge.run(tmp_path, outcomes=[f"mine={tmp_path / 'outcomes'}"], out=tmp_path / "run", processes=1, quiet=True)
    result = editgauge.score(tmp_path / "cat.png", tmp_path / "outcomes" / "one.png", text)
    table = Run.open(tmp_path / "run").scores.to_pylist()
    in_run = {f"{row['protocol']}/{row['name']}": (row["value"], row["reason"]) for row in table}
    alone = {f"{each.protocol}/{each.name}": (each.value, each.reason) for each in result}
    assert in_run == alone
    assert result.edit.type == "color"
