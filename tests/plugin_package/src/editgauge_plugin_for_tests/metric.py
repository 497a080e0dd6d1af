from __future__ import annotations

from editgauge import BoolMask, Unit, check_pair, counted_pixels, metric


@metric(higher_is_better=False, range=(0.0, 1.0), formula="mean over channels of |mean(before) - mean(after)|")
def mean_color_distance(before: Unit, after: Unit, where: BoolMask | None = None) -> float:
    """How far apart the mean colors of the two images are."""
    check_pair(before, after, where)
    means = [counted_pixels(image, where).mean(axis=0, dtype="float64") for image in (before, after)]
    return float(abs(means[0] - means[1]).mean())
