"""Networks behind metrics: loaded by name, once per process.

Models lie above metrics, so they are resolved by the name of their loader, as registries do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pkgutil import resolve_name
from typing import Any

import numpy as np

from editgauge._util.images import Pixels
from editgauge.metrics._inputs import Images, Masks, Values, broadcast, split_batch, split_masks, to_mask, to_pixels
from editgauge.metrics.base import check_mask

MODEL_LOADER = "editgauge.models.profiles:make_models"


@cache
def load_model(role: str, name: str) -> Any:
    """Return the model of that name; raise `MissingWeightsError` with the command to run if its weights are missing."""
    return resolve_name(MODEL_LOADER)({role: name})[role]


def compare_pairs(
    compare: Callable[[Pixels, Pixels], float], source: Images, edited: Images, mask: Masks | None = None
) -> Values:
    """Apply a comparison of two images of one size to a pair or a batch of pairs.

    Pixels outside the mask are taken from the source first: networks see whole images, and identical pixels add no
    difference of their own.
    """
    (sources, many_sources), (outcomes, many_outcomes) = split_batch(source), split_batch(edited)
    pairs = broadcast(sources, outcomes)
    masks = split_masks(mask, len(pairs))
    triples = broadcast(pairs, masks) if masks else []
    values = [_compare(compare, to_pixels(one), to_pixels(other), to_mask(area)) for (one, other), area in triples]
    return np.array(values) if many_sources or many_outcomes else values[0]


def _compare(compare: Callable[[Pixels, Pixels], float], source: Pixels, edited: Pixels, mask: Any) -> float:
    if source.shape != edited.shape:
        raise ValueError(f"the images differ in size: {source.shape} and {edited.shape}; resize one of them first")
    if mask is not None:
        check_mask(mask, source.shape[:2])
        edited = np.where(mask[..., np.newaxis], edited, source)
    return compare(source, edited)
