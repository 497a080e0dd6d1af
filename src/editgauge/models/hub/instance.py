"""DETR, Mask2Former and OneFormer: detectors of a closed vocabulary, the latter two with outlines.

They see everything they know at once, so `look` does all the work and questions only choose. As a segmenter, the same
network gives the outline of the instance that is in a box; it cuts out nothing it did not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from editgauge.errors import BadInputError, UnscorableError
from editgauge.models.answers import Detections, Features, SegmentPrompt
from editgauge.models.hub import _network
from editgauge.models.hub._network import Network, around, corners, numbers, overlap, resized
from editgauge.models.vocabulary import resolve

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels

MIN_CONFIDENCE = 0.05
SAME_OBJECT = 0.5
"""Intersection over union from which an instance counts as what a box was drawn around."""
ONEFORMER_TASK = "the task is instance"


class InstanceNetwork(Network):
    """Base class of both roles: all instances in an image."""

    kinds: ClassVar[Mapping[str, str]] = {
        "detr": "DetrForObjectDetection",
        "mask2former": "Mask2FormerForUniversalSegmentation",
        "oneformer": "OneFormerForUniversalSegmentation",
    }
    batch = 1
    """Images of different shape would have to be padded, and the padding changes what the backbone sees."""

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Return all instances of each image: class, confidence, box and, if available, mask."""
        return [self._see(image) for image in images]

    @cached_property
    def image_processor(self) -> Any:
        """The image processor. OneFormer's would download a class list, which is not needed."""
        options = {"class_info_file": None} if self.source.config["model_type"] == "oneformer" else {}
        return _network.load_image_processor(self.source, **options)

    @cached_property
    def _names(self) -> dict[int, str]:
        named: dict[str, str] = self.source.config["id2label"]
        return {int(index): name for index, name in named.items()}

    @property
    def _outlines(self) -> bool:
        return bool(self.source.config["model_type"] != "detr")

    def _see(self, image: Pixels) -> Features:
        processed = self.image_processor([image], return_tensors="pt")
        inputs = {name: processed[name].to(self.device) for name in ("pixel_values", "pixel_mask")}
        if self.source.config["model_type"] == "oneformer":
            inputs["task_inputs"] = self._task
        height, width = image.shape[:2]
        with self.thinking():
            outputs = self.network(**inputs)
            if not self._outlines:
                sure, classes = outputs.logits[0].float().softmax(dim=-1)[:, :-1].max(dim=-1)
                boxes = corners(numbers(outputs.pred_boxes[0]), (width, height))
                is_confident = numbers(sure) >= MIN_CONFIDENCE
                return _features(
                    boxes[is_confident],
                    numbers(sure)[is_confident],
                    classes.cpu().numpy()[is_confident],
                    (height, width),
                )
            rows, columns = (int(inputs["pixel_mask"][0].any(dim=axis).sum()) for axis in (1, 0))
            content_fraction = (rows / inputs["pixel_mask"].shape[1], columns / inputs["pixel_mask"].shape[2])
            sure, classes, masks = _instances(outputs.class_queries_logits[0], outputs.masks_queries_logits[0])
            large = resize_masks(masks, content_fraction, (height, width)) > 0
        is_visible = (sure >= MIN_CONFIDENCE) & large.flatten(1).any(dim=1)
        outlines = large[is_visible].cpu().numpy()
        return _features(
            around(outlines), numbers(sure[is_visible]), classes[is_visible].cpu().numpy(), (height, width), outlines
        )

    @cached_property
    def _task(self) -> torch.Tensor:
        tokens = self.tokenizer(
            [ONEFORMER_TASK],
            padding="max_length",
            truncation=True,
            max_length=self.network.config.task_seq_len,
            return_tensors="pt",
        )
        unmasked: torch.Tensor = tokens["input_ids"] * tokens["attention_mask"]
        return unmasked.to(self.device)

    def _settings(self) -> dict[str, str | int | float]:
        return {"faintest": MIN_CONFIDENCE}


class InstanceDetector(InstanceNetwork):
    """Role `detector`: detection of the classes of an instance segmentation network."""

    role = "detector"
    words_are_independent = True
    operating_point = 0.5

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """All classes; empty while the files are not on this machine."""
        return self._words if self.available else ()

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return tuple(sorted({name for name in self._names.values() if not _placeholder(name)}))

    def word_for(self, phrase: str) -> str:
        """Map a phrase to a class; raise `UnscorableError` when there is none."""
        return resolve(phrase, self._words).word

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """Select the instances of the words, most confident first."""
        return [self._choose(features, set(words)) for features, words in questions]

    def _choose(self, features: Features, words: set[str]) -> Detections:
        names = [self._names[index] for index in features["classes"].tolist()]
        order = np.argsort(-features["confidences"], kind="stable").tolist()
        selected = [index for index in order if names[index] in words]
        answered = tuple(names[index] for index in selected)
        return Detections(features["boxes"][selected], features["confidences"][selected], answered, answered)

    def _settings(self) -> dict[str, str | int | float]:
        return {**super()._settings(), "operating_point": self.operating_point}


class InstanceSegmenter(InstanceNetwork):
    """Role `segmenter`: the mask of the instance in a box or under a point."""

    role = "segmenter"

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        """Return one mask per box or point; raise `UnscorableError` where there is no instance."""
        if not self._outlines:
            raise BadInputError(
                f"'{self.source.name}' gives boxes without outlines; Mask2Former and OneFormer give both."
            )
        return [self._cut(features, prompt) for features, prompt in questions]

    def _cut(self, features: Features, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        height, width = features["size"].tolist()
        masks = np.unpackbits(features["masks"], axis=2, count=width).astype(np.bool_)
        if prompt.boxes is not None:
            fits = overlap(prompt.boxes, features["boxes"])
            fits[fits < SAME_OBJECT] = 0
        else:
            x, y = np.clip(prompt.coordinates.astype(int).T, 0, [[width - 1], [height - 1]])
            fits = np.asarray(masks[:, y, x].T * features["confidences"], np.float32)
        lost = [index for index, row in enumerate(fits) if not row.any()]
        if lost:
            position = np.round(prompt.coordinates[lost[0]]).astype(int).tolist()
            raise UnscorableError("not_detected", f"{self.source.id} sees no instance at {position}")
        return masks[fits.argmax(axis=1)] if len(fits) else np.zeros((0, height, width), np.bool_)

    def _settings(self) -> dict[str, str | int | float]:
        return {**super()._settings(), "same_object": SAME_OBJECT}


def _instances(classes: torch.Tensor, masks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return confidence, class and mask of the most confident pairs of query and class.

    As in Mask2Former, the confidence is the class probability times the mean probability inside the mask.
    """
    fits = classes.float().softmax(dim=-1)[:, :-1]
    sure, indices = fits.flatten().topk(len(fits))
    query_masks = masks.float()[indices // fits.shape[1]]
    inside = (query_masks > 0).float()
    certain = (query_masks.sigmoid() * inside).sum(dim=(1, 2)) / (inside.sum(dim=(1, 2)) + 1e-6)
    return sure * certain, indices % fits.shape[1], query_masks


def resize_masks(masks: torch.Tensor, content_fraction: tuple[float, float], size: tuple[int, int]) -> torch.Tensor:
    """Resize masks to the image, without the padding around `content_fraction` of the input."""
    rows, columns = (max(1, round(share * side)) for share, side in zip(content_fraction, masks.shape[1:], strict=True))
    return resized(masks[:, :rows, :columns], size)


def _features(
    boxes: NDArray[np.float32],
    confidences: NDArray[np.float32],
    classes: NDArray[np.int64],
    size: tuple[int, int],
    masks: NDArray[np.bool_] | None = None,
) -> Features:
    features: dict[str, NDArray[Any]] = {
        "boxes": boxes,
        "confidences": confidences,
        "classes": classes,
        "size": np.array(size),
    }
    return features if masks is None else {**features, "masks": np.packbits(masks, axis=2)}


def _placeholder(name: str) -> bool:
    """Tell whether a class name is a gap: COCO numbers its 80 classes up to 90."""
    return name == "N/A" or name.startswith("LABEL_")
