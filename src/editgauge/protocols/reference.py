"""The protocol `reference`: how similar is the outcome to the benchmark's ground-truth image?"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from editgauge._util.images import as_unit
from editgauge.evidence import Note
from editgauge.metrics import metrics
from editgauge.protocols import Protocol
from editgauge.protocols._comparison import COMPARISON_ROLES, ModelComparison, metric_specs
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.perception import Perception

METRICS = ("l1", "l2")
COMPARISON_NOTE = "Compared with the benchmark's ground-truth image, not with the source."


class Reference(Protocol):
    """L1, L2 and model similarities against the ground-truth image."""

    name = "reference"
    about = "How similar is the outcome to the benchmark's ground-truth image? Needs a benchmark that has one."
    paper = "Zhang et al. 2023, MagicBrush, section 4.1; PixLens, section 5.2"
    takes_inputs = True
    version = "1"
    deviations: tuple[str, ...] = (
        "Outcome and ground truth are resized to the source's size by Lanczos first.",
        "An edit can be correct in more than one way: a low score does not prove a bad edit.",
    )
    uses = COMPARISON_ROLES

    def __init__(self, models: Mapping[str, str] = MappingProxyType({})) -> None:
        self._metrics = {name: metrics.get(name) for name in METRICS}
        self._models = ModelComparison(models)
        self.scores: tuple[ScoreSpec, ...] = (*metric_specs(METRICS), *self._models.specs)

    def with_models(self, models: Mapping[str, str]) -> Reference:
        """Return the protocol with a score per model that compares two images."""
        return Reference(models)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Return every distance between outcome and ground truth."""
        if item.reference is None:
            return {spec.name: _missing_reference(item) for spec in self.scores}
        reference, outcome = as_unit(item.reference), as_unit(item.edited)
        scores: dict[str, Score | Unscored] = {
            name: Score(metric(reference, outcome), (Note(COMPARISON_NOTE),) if name == "l1" else ())
            for name, metric in self._metrics.items()
        }
        return scores | await self._models.compare(item.reference, item.edited, perception)


def _missing_reference(item: Item) -> Unscored:
    if item.edit.reference is None:
        return Unscored("not_applicable", "the benchmark has no ground-truth image for this edit")
    return Unscored("unreadable_image", f"the ground-truth image '{item.edit.reference.name}' cannot be read")


reference = Reference()
