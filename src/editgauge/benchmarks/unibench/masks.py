"""The masks of annotations as the project's own masks, and back."""

from __future__ import annotations

import numpy as np

from editgauge._util.coco import render_run_lengths
from editgauge._util.masks import BoolMask, Mask, Polygons
from editgauge.benchmarks.format.encoded_masks import RunLengths as RowRuns
from editgauge.benchmarks.unibench import annotations as format_


def mask_of(mask: format_.Polygons | format_.MaskRunLengths) -> Mask:
    """The mask as protocols and editors use it."""
    if isinstance(mask, format_.MaskRunLengths):
        height, width = mask.size
        return RowRuns(_row_runs(render_run_lengths(mask.counts, width, height)), width, height)
    return Polygons(tuple(tuple(ring) for ring in mask))


def run_lengths(mask: BoolMask) -> format_.MaskRunLengths:
    """A rendered mask as COCO writes it: runs down the columns, the first of them outside.

    >>> run_lengths(np.array([[False, True], [True, True]])).counts
    [1, 3]
    """
    flat = np.concatenate([[False], mask.ravel(order="F")])
    starts = np.flatnonzero(flat[1:] != flat[:-1])
    edges = np.concatenate([[0], starts, [mask.size]])
    return format_.MaskRunLengths(size=list(mask.shape), counts=np.diff(edges).tolist())


def _row_runs(mask: BoolMask) -> tuple[tuple[int, int], ...]:
    flat = np.concatenate([[False], mask.ravel(), [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1]).tolist()
    return tuple((start, end - start) for start, end in zip(edges[0::2], edges[1::2], strict=True))
