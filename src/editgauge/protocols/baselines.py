"""Baseline metrics of AugCLIP that ignore the text: how much of the source image is left?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import as_unit
from editgauge.evidence import Evidence, Note, Region
from editgauge.metrics import metrics
from editgauge.models.answers import ClassMap
from editgauge.protocols import Protocol, named_after
from editgauge.protocols._comparison import ModelComparison
from editgauge.protocols._rules import attempt_all
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.perception import Perception

DEFAULT_NAMES = MappingProxyType({"perceptual_distance": "lpips", "image_embedder": "dino"})
"""Names of the scores of these roles in the paper, used where no model made them."""
SEGMENTER = "semantic_segmenter"
AGREEMENT = "The share of pixels whose class stayed, by a semantic segmenter: our reading of segmentation consistency."
OVERLAP = "Overlap of each class before and after, mean over the classes: segmentation consistency in another reading."
MAX_CLASSES_IN_NOTE = 3


class Baselines(Protocol):
    """L2, LPIPS, DINO and segmentation consistency between source and edited image."""

    name = "baselines"
    about = "Preservation metrics that ignore the text: L2, perceptual distance, embeddings, segmentation."
    paper = "Kim et al. 2024, AugCLIP, section 5 (baseline metrics), arXiv 2410.11374"
    version = "2"
    deviations: tuple[str, ...] = (
        "An edited image of another size is resized to the source's size by Lanczos first.",
        "Segmentation consistency is not defined in the paper: it is the share of pixels that keep their class (`sc`) "
        "and the mean overlap of the classes that either picture has (`sc_miou`).",
        "The paper does not name its networks: a score is named after its model.",
    )
    uses = (*DEFAULT_NAMES, SEGMENTER)

    def __init__(self, models: Mapping[str, str] = MappingProxyType({})) -> None:
        self._l2 = metrics.get("l2")
        self._models = ModelComparison(
            {role: models.get(role, default_name) for role, default_name in DEFAULT_NAMES.items()}
        )
        self._agreement, self._overlap = (named_after(name, models.get(SEGMENTER)) for name in ("sc", "sc_miou"))
        info = self._l2.info
        self.scores: tuple[ScoreSpec, ...] = (
            ScoreSpec(info.name, info.higher_is_better, info.range, info.about),
            *self._models.specs,
            ScoreSpec(self._agreement, True, (0.0, 1.0), AGREEMENT),
            ScoreSpec(self._overlap, True, (0.0, 1.0), OVERLAP),
        )

    def with_models(self, models: Mapping[str, str]) -> Baselines:
        """Return the protocol with each score named after its model."""
        return Baselines(models)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Return every distance and similarity of the two images."""
        l2 = self._l2(as_unit(item.source), as_unit(item.edited))
        similarities, consistency = await gather(
            self._models.compare(item.source, item.edited, perception),
            attempt_all(self._consistency(item, perception), (self._agreement, self._overlap)),
        )
        return {"l2": Score(l2)} | similarities | consistency

    async def _consistency(self, item: Item, perception: Perception) -> dict[str, Score | Unscored]:
        before, after = await gather(perception.classes(item.source), perception.classes(item.edited))
        return {
            self._agreement: Score(label_agreement(before.labels, after.labels), _class_changes(before, after)),
            self._overlap: Score(mean_class_overlap(before.labels, after.labels)),
        }


def _class_changes(before: ClassMap, after: ClassMap) -> tuple[Evidence, ...]:
    """Return where classes of pixels changed, and the most frequent changes."""
    turned = np.asarray(before.labels != after.labels)
    if not turned.any():
        return (Note("Every pixel kept its class."),)
    pairs = np.stack([before.labels[turned], after.labels[turned]])
    kinds, counts = np.unique(pairs, axis=1, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:MAX_CLASSES_IN_NOTE]
    changes = [
        f"{before.classes[kinds[0, kind]]} became {after.classes[kinds[1, kind]]} ({counts[kind] / turned.size:.1%})"
        for kind in most
    ]
    return Region("edited", turned, "another class than before"), Note(f"{'; '.join(changes)} of the picture.")


Labels = NDArray[np.integer]
"""Class index of every pixel, height x width."""


def label_agreement(before: Labels, after: Labels) -> float:
    """Return the fraction of pixels whose class stayed.

    >>> label_agreement(np.array([[0, 0, 1, 1]]), np.array([[0, 0, 0, 1]]))
    0.75
    """
    _check(before, after)
    return float((before == after).mean())


def mean_class_overlap(before: Labels, after: Labels) -> float:
    """Return the mean intersection over union of all classes in either map.

    >>> mean_class_overlap(np.array([[0, 0, 0, 1]]), np.array([[0, 0, 0, 0]]))
    0.375
    """
    _check(before, after)
    classes, both = np.unique(np.stack([before, after]), return_inverse=True)
    first, second = both.reshape(2, -1)
    counts = np.bincount(first * len(classes) + second, minlength=len(classes) ** 2).reshape(len(classes), -1)
    shared = counts.diagonal()
    return float((shared / (counts.sum(axis=0) + counts.sum(axis=1) - shared)).mean())


def _check(before: Labels, after: Labels) -> None:
    if before.shape != after.shape or not before.size:
        raise ValueError(f"two maps of one size are compared, got {before.shape} and {after.shape}")


baselines = Baselines()
