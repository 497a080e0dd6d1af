"""Draws the figures of the docs that hold only numbers of our own.

    EDITGAUGE_SHARED_DATA=folder python docs/figures.py

The folder holds `imagenhub_viescore`: the public ratings of ImagenHub and the scores of VIEScore's judges.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from editgauge._stats.intervals import Labels, Numbers
from editgauge._stats.prediction_powered import PoweredMean, in_units_of, prediction_powered_mean

OUT = Path(__file__).parent / "pictures"
RATED, DRAWS, SHOWN = 60, 200, 24
WIDTH, TOP, ROW, LEFT, RIGHT = 640, 58, 13, 20, 20
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.alone{stroke:#b9b9b9;stroke-width:3}"
    ".helped{stroke:#2a6fb0;stroke-width:3}.misses{stroke-dasharray:3 3}.truth{stroke:#b3541e;stroke-width:1.5}"
    ".of-truth{fill:#b3541e}.axis{stroke:#999}"
)


def rows(file: Path) -> Iterator[dict[str, str]]:
    """Return the rows of a table by column."""
    with file.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t")


def judged(folder: Path) -> tuple[Numbers, Numbers, Labels]:
    """Mean rating, GPT-4o's score and source image of 1,432 outcomes: sqrt(SC x PQ), as in VIEScore."""
    ratings: dict[tuple[str, str], list[float]] = {}
    for file in sorted((folder / "human_ratings" / "Text-Guided_IE").glob("*.tsv")):
        for row in rows(file):
            edit = row.pop("uid")
            for method, cell in row.items():
                ratings.setdefault((method, edit), []).append(float(np.sqrt(np.prod(json.loads(cell)))))
    told = [
        (
            np.mean(ratings[row["method"], row["uid"]]),
            np.sqrt(min(json.loads(row["SC_scores"])) * min(json.loads(row["PQ_scores"]))) / 10,
            row["uid"].split("_")[1],
        )
        for row in rows(folder / "vie_scores" / "text_guided_ie_gpt4o_0shot.tsv")
    ]
    human, judge, source = zip(*told, strict=True)
    return np.array(human), np.array(judge), np.array(source)


def draws(human: Numbers, judge: Numbers, source: Labels) -> Iterator[PoweredMean]:
    """Estimate the mean repeatedly from 60 ratings drawn at random."""
    random = np.random.default_rng(0)
    for _ in range(DRAWS):
        rated = np.zeros(human.size, dtype=np.bool_)
        rated[random.choice(human.size, RATED, replace=False)] = True
        here, there = in_units_of(human[rated], judge[rated], judge[~rated])
        yield prediction_powered_mean(human[rated], here, source[rated], there, source[~rated])


def ppi(found: Sequence[PoweredMean], truth: float) -> str:
    """Draw the intervals of some draws below each other: ratings alone in gray, with the judge's scores in blue."""
    pairs = [((one.labels_alone.low or 0, one.labels_alone.high or 0), (one.low or 0, one.high or 0)) for one in found]
    low, high = min(min(a[0], b[0]) for a, b in pairs[:SHOWN]), max(max(a[1], b[1]) for a, b in pairs[:SHOWN])

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    bottom = TOP + SHOWN * ROW
    lines = [
        f'<path class="{name}{"" if a <= truth <= b else " misses"}" d="M{x(a):.1f} {y:g}H{x(b):.1f}"/>'
        for place, both in enumerate(pairs[:SHOWN])
        for name, (a, b), y in zip(("alone", "helped"), both, (TOP + place * ROW, TOP + place * ROW + 5), strict=True)
    ]
    shares = [np.mean([a <= truth <= b for a, b in side]) for side in zip(*pairs, strict=True)]
    ratio = np.mean([one.width_ratio for one in found if one.width_ratio is not None])
    title = f"{RATED} ratings alone (gray), and with a judge's {1432 - RATED:,} further scores (blue)"
    result = (
        f"{DRAWS} draws: the mean of all ratings is held by {shares[0]:.1%} and {shares[1]:.1%}; {ratio:.0%} as wide"
    )
    below = bottom + 22
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}" role="img" '
        f'aria-label="{title}. {result}."><style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{LEFT}" y="20">{title}</text><text x="{LEFT}" y="38">{result}</text>'
        f"{''.join(lines)}"
        f'<path class="truth" d="M{x(truth):.1f} {TOP - 8}V{bottom}"/>'
        f'<path class="axis" d="M{LEFT} {bottom + 4}H{WIDTH - RIGHT}"/>'
        f'<text x="{LEFT}" y="{below}">{low:.2f}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{below}" text-anchor="end">{high:.2f}</text>'
        f'<text class="of-truth" x="{x(truth):.1f}" y="{below}" text-anchor="middle">all ratings: {truth:.3f}</text>'
        f'<text x="{LEFT}" y="{below + 16}">mean rating, 95% intervals; dashed: misses</text>'
        "</svg>\n"
    )


if __name__ == "__main__":
    shared = os.environ.get("EDITGAUGE_SHARED_DATA")
    if not shared:
        sys.exit("EDITGAUGE_SHARED_DATA does not name the folder with imagenhub_viescore")
    people, scores, sources = judged(Path(shared) / "imagenhub_viescore")
    OUT.mkdir(exist_ok=True)
    (OUT / "ppi.svg").write_text(ppi(list(draws(people, scores, sources)), float(people.mean())), "utf-8")
