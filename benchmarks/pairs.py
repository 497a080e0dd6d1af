"""Metrics of one pair of pictures against scikit-image and torchmetrics. Part of benchmarks/ratios.py."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
import torch
from metrics import REFERENCES, photograph_and_noise
from rows import Row, in_milliseconds
from skimage.color import rgb2gray
from skimage.filters import prewitt
from skimage.measure import centroid as center_of_moments
from skimage.measure import label, regionprops
from skimage.metrics import structural_similarity
from torchmetrics.functional.classification import binary_jaccard_index
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure

from editgauge._vision.geometry import aligned_overlap, centroid, overlap
from editgauge.metrics import metrics

SIDE = 512
OF_TORCHMETRICS: dict[str, Callable[..., Any]] = {
    "ssim": functools.partial(structural_similarity_index_measure, data_range=1.0, sigma=1.5, kernel_size=11),
    "psnr": functools.partial(peak_signal_noise_ratio, data_range=1.0),
}


def pixel_metrics() -> Iterator[Row]:
    """Measure pixel metrics on images and on regions, on one thread."""
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    pair = photograph_and_noise(SIDE)
    inside = np.zeros((SIDE, SIDE), np.bool_)
    inside[SIDE // 4 : -SIDE // 4, SIDE // 8 : -SIDE // 8] = True
    tensors = [torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)[np.newaxis])) for image in pair]
    for name, (called, theirs) in REFERENCES.items():
        ours, whole, part = metrics.get(name), f"{name}, {SIDE} x {SIDE}", f"{name}, a part of it"
        at_once = functools.partial(ours, *pair)
        yield in_milliseconds(whole, f"scikit-image {called}", functools.partial(theirs, *pair), at_once)
        if name in OF_TORCHMETRICS:
            yield in_milliseconds(whole, "torchmetrics", functools.partial(OF_TORCHMETRICS[name], *tensors), at_once)
        picked = within(name, theirs, pair, inside)
        yield in_milliseconds(part, f"scikit-image {called}", picked, functools.partial(ours, *pair, inside))
    edges = functools.partial(metrics.get("edge_distance"), *pair)
    yield in_milliseconds(
        f"edge_distance, {SIDE} x {SIDE}", "scikit-image prewitt", lambda: change_of_edges(*pair), edges
    )


def within(name: str, compare: Callable[..., Any], pair: tuple[Any, Any], inside: Any) -> Callable[[], object]:
    """Return the scikit-image way to score a region: select its pixels, or average the full map there."""
    if name == "ssim":
        return lambda: structural_similarity(
            *pair, gaussian_weights=True, use_sample_covariance=False, data_range=1.0, channel_axis=2, full=True
        )[1][inside].mean()
    return lambda: compare(*(image[inside] for image in pair))


def change_of_edges(before: Any, after: Any) -> float:
    """One minus the mean similarity of gradients, written down as the paper has it."""
    one, other = (prewitt(rgb2gray(image)) for image in (before, after))
    constant = 170 / 255**2
    return float(1 - ((2 * one * other + constant) / (one**2 + other**2 + constant)).mean())


def region_metrics() -> Iterator[Row]:
    """Two overlapping discs, as a segmenter gives them."""
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    one, other = (
        cv2.circle(np.zeros((SIDE, SIDE), np.uint8), (x, SIDE // 2), SIDE // 4, 1, cv2.FILLED) > 0 for x in (200, 280)
    )
    tensors = [torch.from_numpy(mask) for mask in (one, other)]
    size = f"{SIDE} x {SIDE}"
    yield in_milliseconds(
        f"overlap of masks, {size}",
        "torchmetrics binary_jaccard_index",
        lambda: binary_jaccard_index(tensors[0].int(), tensors[1].int()),
        lambda: overlap(one, other),
    )
    yield in_milliseconds(
        f"overlap once aligned, {size}",
        "scikit-image regionprops",
        lambda: overlap_of_crops(one, other),
        lambda: aligned_overlap(one, other),
    )
    yield in_milliseconds(
        f"center of a mask, {size}",
        "scikit-image centroid",
        lambda: center_of_moments(one),
        lambda: centroid(one),
    )


def overlap_of_crops(one: Any, other: Any) -> float:
    """Intersection over union of what regionprops cuts out, both in one corner."""
    crops = [regionprops(label(mask))[0].image for mask in (one, other)]
    corner = np.zeros((2, SIDE, SIDE), np.bool_)
    for place, crop in zip(corner, crops, strict=True):
        place[: crop.shape[0], : crop.shape[1]] = crop
    return float(np.logical_and(*corner).sum() / np.logical_or(*corner).sum())
