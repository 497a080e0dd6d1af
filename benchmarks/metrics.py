"""How much faster the pixel metrics are than scikit-image's, on one thread: `python benchmarks/metrics.py`.

Processor time, both taking turns within one run: so other work on the machine matters little, and to both alike.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import skimage.data
from rich.console import Console
from rich.table import Table
from rows import TURNS, medians_in_turns
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity
from skimage.util import compare_images

from editgauge._util.images import as_unit, resize_image
from editgauge.metrics import metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from editgauge._util.images import Pixels, Unit

SIZES = (512, 1024)

REFERENCES: dict[str, tuple[str, Callable[..., Any]]] = {
    "ssim": (
        "structural_similarity",
        functools.partial(
            structural_similarity,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            data_range=1.0,
            channel_axis=2,
        ),
    ),
    "l1": ("compare_images, mean", lambda before, after: compare_images(before, after, method="diff").mean()),
    "l2": ("mean_squared_error", mean_squared_error),
    "psnr": ("peak_signal_noise_ratio", functools.partial(peak_signal_noise_ratio, data_range=1.0)),
}


def photograph_and_noise(size: int) -> tuple[Unit, Unit]:
    astronaut: Callable[[], Pixels] = skimage.data.astronaut
    before = as_unit(resize_image(astronaut(), size, size))
    noise = 0.1 * np.random.default_rng(0).standard_normal(before.shape)
    return before, np.clip(before + noise, 0, 1).astype(np.float32)


def main() -> None:
    cv2.setNumThreads(1)
    table = Table(title=f"One pair of RGB images, processor time on one thread, median of {TURNS} turns")
    for heading in ("metric", "pixels", "EditGauge ms", "scikit-image ms", "times faster", "values differ by"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    for size in SIZES:
        pair = photograph_and_noise(size)
        for name, (reference_name, reference) in REFERENCES.items():
            ours, theirs = functools.partial(metrics.get(name), *pair), functools.partial(reference, *pair)
            our_time, their_time = medians_in_turns(ours, theirs)
            table.add_row(
                f"{name} ({reference_name})",
                f"{size} x {size}",
                f"{our_time * 1000:.2f}",
                f"{their_time * 1000:.2f}",
                f"{their_time / our_time:.1f}",
                f"{abs(ours() - float(theirs())):.0e}",
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
