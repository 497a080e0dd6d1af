"""BLIP (Li et al. 2022) and Florence-2 (Xiao et al. 2023): a sentence that says what is in an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from editgauge.models.hub import _network
from editgauge.models.hub._network import Network

if TYPE_CHECKING:
    from editgauge._util.images import Pixels

BEAMS = 3
MAX_TOKENS = 50
TASK = "<CAPTION>"
"""Florence-2's own word for what it is to do."""


class HubCaptioner(Network):
    """Role `captioner`: deterministic captions by beam search."""

    role = "captioner"
    kinds: ClassVar[Mapping[str, str]] = {
        "blip": "BlipForConditionalGeneration",
        "florence2": "Florence2ForConditionalGeneration",
    }
    batch = 4

    def caption(self, images: Sequence[Pixels]) -> list[str]:
        """Write one sentence per image."""
        if not images:
            return []
        with self.inference():
            written = self.network.generate(
                **self._inputs(images), num_beams=BEAMS, max_new_tokens=MAX_TOKENS, do_sample=False
            )
        return [text.strip() for text in self.tokenizer.batch_decode(written, skip_special_tokens=True)]

    def _inputs(self, images: Sequence[Pixels]) -> dict[str, Any]:
        if self.source.config["model_type"] == "blip":
            return {"pixel_values": self.prepared(images)}
        return dict(self._florence(text=[TASK] * len(images), images=list(images), return_tensors="pt").to(self.device))

    @cached_property
    def _florence(self) -> Any:
        library = _network.transformers("Florence-2")
        with _network.clear_errors(self.source, "processor"):
            return library.Florence2Processor(self.image_processor, self.tokenizer)

    def _settings(self) -> dict[str, str | int | float]:
        return {"beams": BEAMS, "most_tokens": MAX_TOKENS}
