"""Small published tables, typed as numbers, so that the golden tests need no file from elsewhere.

`tests/golden/tables` holds the larger ones; `test_published.py` compares all of them with the public files where
`EDITGAUGE_SHARED_DATA` names them.

- `imagenhub_ratings.tsv`: TIGER-AI-Lab/ImagenHub (arXiv 2310.01596), commit 439f72c9, MIT. A cell has two digits per
  rater: semantic consistency and perceptual quality in halves (0, 1, 2 for 0, 0.5, 1).
- `viescore_answers.tsv`: TIGER-AI-Lab/VIEScore (arXiv 2312.14867), commit 2cbea4e8, MIT. A cell has the lowest answer,
  of 10, to semantic consistency and perceptual quality, first by Gemini and then by GPT-4o (both without examples).
- `editval_*.csv`: deep-ml-research/editval (arXiv 2310.02426), commit 60e035a6, CC0. A method, six edit types, their
  mean.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._stats.intervals import Numbers

TABLES = Path(__file__).parent / "tables"
JUDGES = ("gemini_0shot", "gpt4o_0shot")

# PixLens (arXiv 2410.05710), table 1: per edit type InstructPix2Pix, ControlNet, LCM, OpenEdit and VQGAN+CLIP; the
# number of edits of each type in EditVal; and the printed row AVG.
PIXLENS_TABLE_1 = {
    "alter_parts": (0.7143, 0.7619, 0.9286, 0.7143, 0.8571),
    "color": (0.6419, 0.2539, 0.1302, 0.2162, 0.6367),
    "object_addition": (0.9444, 0.6667, 0.9667, 0.3889, 0.9111),
    "object_removal": (0.5133, 0.0471, 0.0953, 0.1762, 0.0639),
    "object_replacement": (0.9615, 0.6154, 0.6923, 0.5769, 0.9614),
    "position_replacement": (0.0905, 0.0, 0.2969, 0.0372, 0.1463),
    "positional_addition": (0.2791, 0.2371, 0.3531, 0.0813, 0.3655),
    "size": (0.26, 0.14, 0.28, 0.15, 0.42),
}
PIXLENS_EDITS = {
    "alter_parts": 14,
    "color": 62,
    "object_addition": 90,
    "object_removal": 91,
    "object_replacement": 26,
    "position_replacement": 32,
    "positional_addition": 91,
    "size": 50,
}
PIXLENS_AVERAGES = (0.5432, 0.2969, 0.4175, 0.2315, 0.4895)

# PixLens, table 4: InstructPix2Pix at six edit types, by PixLens, by EditVal's own measure and by people.
PIXLENS_TABLE_4 = {
    "pixlens": [0.94, 0.96, 0.09, 0.28, 0.26, 0.71],
    "editval_auto": [0.38, 0.39, 0.07, 0.25, 0.51, 0.25],
    "editval_human": [0.80, 0.80, 0.06, 0.27, 0.06, 1.00],
}


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


@cache
def imagenhub_ratings() -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Method and edit to (semantic consistency, perceptual quality) by each of three raters."""
    table = list(_rows("imagenhub_ratings.tsv"))
    return {
        (method, row["edit"]): [(int(row[method][at]) / 2, int(row[method][at + 1]) / 2) for at in (0, 2, 4)]
        for method in list(table[0])[1:]
        for row in table
    }


@cache
def viescore_answers(judge: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Method and edit to a judge's (semantic consistency, perceptual quality), of 10."""
    table = list(_rows("viescore_answers.tsv"))
    first = 2 * JUDGES.index(judge)
    answers = {}
    for method in list(table[0])[1:]:
        for row in table:
            consistency, quality = map(float, row[method].split()[first : first + 2])
            answers[method, row["edit"]] = (consistency, quality)
    return answers


@cache
def viescore_correlations() -> dict[str, dict[str, Any]]:
    """Judge to Spearman's rho per method and their averages, computed once from the two tables above with scipy."""
    table: dict[str, dict[str, Any]] = json.loads((TABLES / "viescore_correlations.json").read_text("utf-8"))
    return table


@cache
def editval_leaderboard(name: str) -> dict[str, Numbers]:
    """Method to six edit types, then their mean; `automatic` or `people`."""
    with (TABLES / f"editval_{name}.csv").open(encoding="utf-8", newline="") as file:
        return {row[0]: np.array(row[1:], dtype=np.float64) for row in csv.reader(file)}


@cache
def unibench_table_1() -> dict[str, Any]:
    """UniBench, table 1: the columns, and per model the rows of its four tasks and both totals."""
    table: dict[str, Any] = json.loads((TABLES / "unibench_table_1.json").read_text("utf-8"))
    return table
