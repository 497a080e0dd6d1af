"""SegFormer (Xie et al. 2021) and others of its kind: the class of every pixel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from editgauge.models.answers import ClassMap
from editgauge.models.hub._network import Network, resized

if TYPE_CHECKING:
    from editgauge._util.images import Pixels


class ClassMapper(Network):
    """Role `semantic_segmenter`: the class of every pixel."""

    role = "semantic_segmenter"
    kinds: ClassVar[Mapping[str, str]] = {"segformer": "SegformerForSemanticSegmentation"}

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        named: dict[str, str] = self.source.config["id2label"]
        return tuple(named[str(index)] for index in range(len(named)))

    def label(self, images: Sequence[Pixels]) -> list[ClassMap]:
        """Return one class map per image."""
        if not images:
            return []
        with self.thinking():
            logits = self.network(pixel_values=self.prepared(images)).logits.float()
        spread = (resized(logit, (image.shape[0], image.shape[1])) for logit, image in zip(logits, images, strict=True))
        return [ClassMap(item.argmax(dim=0).cpu().numpy().astype(np.uint8), self.classes) for item in spread]
