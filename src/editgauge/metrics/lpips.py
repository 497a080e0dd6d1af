"""LPIPS: learned perceptual distance of two images."""

from __future__ import annotations

from editgauge.metrics._inputs import Images, Masks, Values
from editgauge.metrics._networks import compare_pairs, load_model


def lpips(source: Images, edited: Images, mask: Masks | None = None, *, model: str = "lpips-alex") -> Values:
    """Return the learned perceptual distance (LPIPS 0.1) of two images.

    sum over layers l of mean over positions of |w_l (x_l - y_l)|^2, with x_l, y_l the unit-length features of the two
    images and w_l weights learned from human judgments. Lower is better: 0 means identical images.
    Zhang, Isola, Efros, Shechtman and Wang, The Unreasonable Effectiveness of Deep Features as a Perceptual Metric,
    CVPR 2018.

    Args:
        source: image of height x width x 3, or a batch.
        edited: image or images of the same size.
        mask: pixels that count; the others are taken from the source before comparing.
        model: `lpips-alex` (the authors' advice for comparing images) or `lpips-vgg`.

    Returns:
        One number, or an array with one number per pair of a batch.

    Example:
        >>> from editgauge import metrics
        >>> metrics.lpips("source.png", "edited.png")  # doctest: +SKIP
        0.1834
        >>> metrics.lpips(["a.png", "b.png"], ["a2.png", "b2.png"], model="lpips-vgg")  # doctest: +SKIP
        array([0.1834, 0.0412])

    """
    network = load_model("perceptual_distance", model)
    return compare_pairs(lambda first, second: float(network.compare([(first, second)])[0]), source, edited, mask)
