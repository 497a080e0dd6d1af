"""COCO images as a review shows them, in their own size."""

from __future__ import annotations

from collections import Counter

from editgauge.benchmarks.unibench.annotations import Instance
from editgauge.benchmarks.unibench.masks import run_lengths
from editgauge.building.coco.annotations import CocoImage
from editgauge.building.review.file import ReviewPicture
from editgauge.core.masks import box_of
from editgauge.core.reading.sources import slug


def picture_of(image: CocoImage) -> ReviewPicture:
    """The picture with all objects that have an outline."""
    counts: Counter[str] = Counter()
    instances = []
    for each in image.objects:
        counts[each.class_] += 1
        mask = each.render(image.width, image.height)
        if mask.any():
            name = f"{slug(each.class_)}-{counts[each.class_]}"
            box = [float(side) for side in box_of(mask)]
            instances.append(Instance(id=name, class_=each.class_, box=box, mask=run_lengths(mask)))
    return ReviewPicture(
        file=image.file,
        width=image.width,
        height=image.height,
        number=image.number,
        captions=list(image.captions),
        licence=image.licence,
        instances=instances,
    )
