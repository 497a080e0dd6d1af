"""KID: the kernel distance of two sets of images, unbiased for small sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from editgauge.metrics._inputs import Images
from editgauge.metrics.fid import Features, check_features, embed_set


def kid(sources: Images, outcomes: Images, *, model: str = "inception-fid") -> float:
    """Return the kernel Inception distance of two sets of images.

    The squared maximum mean discrepancy of the features under the kernel (x.y / d + 1)^3, unbiased, so that it may be
    below 0. Lower is better. Its expectation does not depend on the number of images. Needs torch.
    Bińkowski, Sutherland, Arbel and Gretton, Demystifying MMD GANs, ICLR 2018. All images are used at once, where
    torchmetrics averages over random subsets.

    Args:
        sources: two or more images: a folder, a list, or an array or tensor of four dimensions.
        outcomes: the other set; sizes and counts may differ.
        model: `inception-fid`, or a shallower layer, as in `fid`.

    Example:
        >>> from editgauge import metrics
        >>> metrics.kid("sources/", "outcomes/")  # doctest: +SKIP
        0.0031

    """
    return kernel_distance(embed_set(sources, "sources", model), embed_set(outcomes, "outcomes", model))


def kernel_distance(first: Features, second: Features) -> float:
    """Return the unbiased squared maximum mean discrepancy of two sets of features under (x.y / d + 1)^3."""
    one, other = check_features(first), check_features(second)
    dimensions = one.shape[1]
    within = (_off_diagonal_mean((features @ features.T / dimensions + 1) ** 3) for features in (one, other))
    return float(sum(within) - 2 * np.mean((one @ other.T / dimensions + 1) ** 3))


def _off_diagonal_mean(kernel: NDArray[np.float64]) -> float:
    count = len(kernel)
    return float((kernel.sum() - np.trace(kernel)) / (count * (count - 1)))
