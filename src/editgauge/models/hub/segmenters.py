"""Segmenters of the model hub: SAM, SAM 2 and SegFormer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from editgauge.models.answers import ClassMap, Features, SegmentPrompt
from editgauge.models.hub._network import Network, numbers, resized, row_of, squeezed

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels


class SamSegmenter(Network):
    """Role `segmenter`: masks for boxes and points.

    SAM (Kirillov et al. 2023) and SAM 2 (Ravi et al. 2024). The encoder sees an image once; each prompt then costs a
    fiftieth of that. For a box the single mask is taken, as the authors advise; for a point, where a part and its owner
    are both right, the most confident of three.
    """

    role = "segmenter"
    kinds: ClassVar[Mapping[str, str]] = {"sam": "SamModel", "sam2": "Sam2Model", "sam2_video": "Sam2Model"}
    batch = 4

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Encode each image and record its size."""
        with self.inference():
            outputs = self.network.get_image_embeddings(self.prepared(images))
        levels = outputs if isinstance(outputs, list) else [outputs]
        features = {f"level{index}": numbers(level) for index, level in enumerate(levels)}
        return [{"size": np.array(image.shape[:2]), **row_of(features, index)} for index, image in enumerate(images)]

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        """Return one mask per box or point, in the size of the image."""
        return [self._cut(features, prompt) for features, prompt in questions]

    def prepared(self, images: Sequence[Pixels]) -> torch.Tensor:
        """Preprocess the images for the encoder."""
        if self._squeezes:
            return squeezed(images, self.source.preprocessing).to(self.device)
        return super().prepared(images)

    def _cut(self, features: Features, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        size: tuple[int, int] = tuple(features["size"].tolist())
        if len(prompt.coordinates) == 0:
            return np.zeros((0, *size), np.bool_)
        import torch

        levels = [features[f"level{index}"] for index in range(len(features) - 1)]
        embeddings = [torch.tensor(level, device=self.device)[None] for level in levels]
        with self.inference():
            outputs = self.network(
                image_embeddings=embeddings if self._squeezes else embeddings[0],
                multimask_output=prompt.boxes is None,
                **self._scale_prompt(prompt, size),
            )
            surest = outputs.iou_scores[0].argmax(dim=1)
            masks = outputs.pred_masks[0][torch.arange(len(surest)), surest]
            return numbers(self._resize_masks(masks.float(), size)) > 0

    def _scale_prompt(self, prompt: SegmentPrompt, size: tuple[int, int]) -> dict[str, torch.Tensor]:
        """Scale a prompt to the pixels of the encoder's input."""
        import torch

        input_size = self._content_size(size)
        scale = np.array([input_size[1] / size[1], input_size[0] / size[0]])
        points = (prompt.coordinates.reshape(-1, 2) * scale).astype(np.float32)
        if prompt.boxes is not None:
            return {"input_boxes": torch.tensor(points.reshape(1, -1, 4), device=self.device)}
        placed = torch.tensor(points.reshape(1, -1, 1, 2), device=self.device)
        return {
            "input_points": placed,
            "input_labels": torch.ones(placed.shape[:3], dtype=torch.int, device=self.device),
        }

    def _resize_masks(self, masks: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
        """Resize the decoder's masks to the image; SAM pads the image to a square."""
        if not self._squeezes:
            height, width = self._content_size(size)
            masks = resized(masks, (self._side, self._side))[:, :height, :width]
        return resized(masks, size)

    def _content_size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return height and width of the image inside the encoder's input."""
        if self._squeezes:
            return self._side, self._side
        scale = self._side / max(size)
        return int(size[0] * scale + 0.5), int(size[1] * scale + 0.5)

    @property
    def _squeezes(self) -> bool:
        """Whether the image is resized to a square (SAM 2) instead of padded (SAM)."""
        return bool(self.source.config["model_type"] != "sam")

    @property
    def _side(self) -> int:
        size: dict[str, Any] = self.source.preprocessing["size"]
        return int(size["height"] if self._squeezes else size["longest_edge"])

    def _input_size(self) -> tuple[int, int]:
        return self._side, self._side


class ClassMapper(Network):
    """Role `semantic_segmenter`: SegFormer (Xie et al. 2021) and networks of its kind."""

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
        with self.inference():
            logits = self.network(pixel_values=self.prepared(images)).logits.float()
        spread = (resized(logit, (image.shape[0], image.shape[1])) for logit, image in zip(logits, images, strict=True))
        return [ClassMap(item.argmax(dim=0).cpu().numpy().astype(np.uint8), self.classes) for item in spread]
