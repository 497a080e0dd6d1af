"""Segmenters: DeepLabV3, SAM 2 and U²-Net."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge.errors import UnscorableError
from editgauge.models.answers import ClassMap, Features, SegmentPrompt
from editgauge.models.lite._runtime import (
    FromCatalog,
    imagenet_scaled,
    library,
    litert,
    litert_outputs,
    onnx_session,
)

DEEPLAB_SIDE = 257
VOC_CLASSES = (
    *("background", "airplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("dining table", "dog", "horse", "motorcycle", "person", "potted plant", "sheep", "couch", "train", "tv"),
)
"""Those of PASCAL VOC in the order of the network's outputs, in the words of COCO where the two differ."""


class DeepLabV3(FromCatalog):
    """Role `semantic_segmenter`: coarse masks of 20 classes; 0.02 s per image.

    DeepLabV3 (Chen et al. 2017) on MobileNetV2, run by LiteRT.
    """

    role = "semantic_segmenter"
    side = DEEPLAB_SIDE
    batch = 8
    id = "DeepLabV3-MobileNetV2"
    weights = ("deeplab-v3",)

    def _settings(self) -> dict[str, str | int | float]:
        return {"resize": "bilinear, to the whole square"}

    def label(self, images: Sequence[Pixels]) -> list[ClassMap]:
        """Return the class of every pixel of each image."""
        return [ClassMap(self._labels(image), VOC_CLASSES) for image in images]

    def _labels(self, image: Pixels) -> Pixels:
        square = (
            cv2.resize(image, (DEEPLAB_SIDE, DEEPLAB_SIDE), interpolation=cv2.INTER_LINEAR).astype(np.float32) / 127.5
            - 1
        )
        scores, *_ = litert_outputs(self._network, square).values()
        return np.asarray(
            cv2.resize(scores, image.shape[1::-1], interpolation=cv2.INTER_LINEAR).argmax(axis=2), dtype=np.uint8
        )

    @cached_property
    def _network(self) -> Any:
        return litert(self._file("deeplabv3.tflite"), self.id, self._threads)


SAM_ENCODER = "sam2_hiera_tiny_encoder.with_runtime_opt.ort"
SAM_DECODER = "sam2_hiera_tiny_decoder_pr1.onnx"
SAM_SIDE = 1024
SAM_MASK_SIDE = 256
POINT, TOP_LEFT, BOTTOM_RIGHT = 1.0, 2.0, 3.0
"""How the decoder is told what a coordinate stands for."""


class Sam2Tiny(FromCatalog):
    """Role `segmenter`: accurate masks; several seconds per image.

    SAM 2 (Ravi et al. 2024). The encoder takes seconds per image, each box or point then a tenth of a second. Of the
    three masks that the decoder offers, the one with the highest predicted quality is taken.
    """

    role = "segmenter"
    side = SAM_SIDE
    batch = 1
    id = "SAM 2 hiera-tiny"
    weights = ("sam2-tiny",)

    def _settings(self) -> dict[str, str | int | float]:
        return {"resize": "bilinear, to the whole square"}

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Encode each image and record its height and width."""
        return [self._look(image) for image in images]

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        """Return one mask per box or point, in the size of the image."""
        return [self._cut(features, prompt) for features, prompt in questions]

    def _look(self, image: Pixels) -> Features:
        square = np.asarray(cv2.resize(image, (SAM_SIDE, SAM_SIDE), interpolation=cv2.INTER_LINEAR), np.uint8)
        names = [output.name for output in self._encoder.get_outputs()]
        features = self._encoder.run(names, {"image": imagenet_scaled(square)})
        return {"size": np.array(image.shape[:2]), **dict(zip(names, features, strict=True))}

    def _cut(self, features: Features, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        height, width = features["size"].tolist()
        scale = np.array([SAM_SIDE / width, SAM_SIDE / height], np.float32)
        kinds = (POINT,) if prompt.boxes is None else (TOP_LEFT, BOTTOM_RIGHT)
        prompts = np.asarray(prompt.points if prompt.boxes is None else prompt.boxes).reshape(-1, len(kinds), 2)
        masks = np.zeros((len(prompts), height, width), np.bool_)
        for index, corners in enumerate(prompts):
            masks[index] = self._mask(features, (corners * scale).astype(np.float32), kinds, width, height)
        return masks

    def _mask(
        self, features: Features, corners: NDArray[np.float32], kinds: tuple[float, ...], width: int, height: int
    ) -> BoolMask:
        """Segment one prompt; a batch would hold all masks in memory at once."""
        offered, quality = self._decoder.run(
            ["masks", "iou_predictions"],
            {
                **{name: feature for name, feature in features.items() if name != "size"},
                "point_coords": corners[np.newaxis],
                "point_labels": np.array([kinds], np.float32),
                "mask_input": np.zeros((1, 1, SAM_MASK_SIDE, SAM_MASK_SIDE), np.float32),
                "has_mask_input": np.zeros(1, np.float32),
            },
        )
        best = offered[0, int(quality[0].argmax())]
        return np.asarray(cv2.resize(best, (width, height), interpolation=cv2.INTER_LINEAR) > 0)

    @cached_property
    def _encoder(self) -> Any:
        return onnx_session(self._file(SAM_ENCODER), self.id, self._threads)

    @cached_property
    def _decoder(self) -> Any:
        return onnx_session(self._file(SAM_DECODER), self.id, self._threads)


U2NET_BOX_SIDE = 160
U2NET_IMAGE_SIDE = 320
U2NET_BOX_MARGIN = 0.25
"""Of the box's width and height, seen on each side of it: an object stands out from something."""
SALIENCY_THRESHOLD = 0.5


class _U2Net(FromCatalog):
    """U²-Net, small (Qin et al. 2020): the salient object of an image.

    The network was made for squares of 320 pixels. Around one object it does as well with 160, in a quarter of the
    time: `docs/decisions/0011-lite-segmenter.md` has the figures.
    """

    side: int
    batch = 8
    id = "U2-Net-p"
    weights = ("u2netp",)

    def saliency(self, image: Pixels) -> NDArray[np.float32]:
        """Return the saliency of every pixel, scaled to 0 to 1 per image."""
        shrinks = min(image.shape[:2]) > self.side
        way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        square = np.asarray(cv2.resize(image, (self.side, self.side), interpolation=way), np.uint8)
        output = self._session.run(None, {self._session.get_inputs()[0].name: imagenet_scaled(square)})[0][0, 0]
        lowest, highest = output.min(), output.max()
        spread = (output - lowest) / max(highest - lowest, 1e-6)
        return np.asarray(cv2.resize(spread, image.shape[1::-1], interpolation=cv2.INTER_LINEAR), np.float32)

    @cached_property
    def _session(self) -> Any:
        path = self._file("u2netp.onnx")
        return onnx_session(_with_input_side(self.side, path), self.id, self._threads, one_size=True)


class U2NetBoxes(_U2Net):
    """Role `segmenter`: the salient object in a box. Points are not supported."""

    role = "segmenter"
    side = U2NET_BOX_SIDE

    def _settings(self) -> dict[str, str | int | float]:
        return {"margin": U2NET_BOX_MARGIN, "threshold": SALIENCY_THRESHOLD}

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Return the images unchanged: the network only sees crops around boxes."""
        return [{"pixels": image} for image in images]

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        """Return one mask per box, in the size of the image and empty outside the box."""
        return [self._cut(features["pixels"], prompt) for features, prompt in questions]

    def _cut(self, image: Pixels, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        if prompt.boxes is None:
            raise UnscorableError(
                "no_model", f"{self.id} outlines what is in a box; for a point take the segmenter 'sam2-tiny'"
            )
        masks = np.zeros((len(prompt.boxes), *image.shape[:2]), np.bool_)
        for mask, box in zip(masks, prompt.boxes.tolist(), strict=True):
            self._fill(mask, image, box)
        return masks

    def _fill(self, mask: BoolMask, image: Pixels, box: list[float]) -> None:
        left, top, right, bottom = box
        across, down = U2NET_BOX_MARGIN * (right - left), U2NET_BOX_MARGIN * (bottom - top)
        rows, columns = _box_slices([left, top, right, bottom], image)
        seen_rows, seen_columns = _box_slices([left - across, top - down, right + across, bottom + down], image)
        if mask[rows, columns].size == 0:
            return
        everywhere = np.zeros(mask.shape, np.float32)
        everywhere[seen_rows, seen_columns] = self.saliency(image[seen_rows, seen_columns])
        mask[rows, columns] = everywhere[rows, columns] > SALIENCY_THRESHOLD


class U2NetForeground(_U2Net):
    """Role `semantic_segmenter`: salient foreground and background."""

    role = "semantic_segmenter"
    side = U2NET_IMAGE_SIDE

    def _settings(self) -> dict[str, str | int | float]:
        return {"threshold": SALIENCY_THRESHOLD}

    def label(self, images: Sequence[Pixels]) -> list[ClassMap]:
        """Segment foreground and background of each image."""
        maps = [(self.saliency(image) > SALIENCY_THRESHOLD).astype(np.uint8) for image in images]
        return [ClassMap(labels, ("background", "foreground")) for labels in maps]


def _box_slices(box: list[float], image: Pixels) -> tuple[slice, slice]:
    """Return the rows and columns of a box, clipped to the image."""
    left, top, right, bottom = (round(item) for item in box)
    height, width = image.shape[:2]
    return slice(max(top, 0), max(min(bottom, height), 0)), slice(max(left, 0), max(min(right, width), 0))


def _with_input_side(side: int, path: Path) -> bytes:
    """Change the input size: every layer is a convolution, only the file fixes 320 pixels.

    Of its seven outputs the first is kept, which joins the others.
    """
    network = library("onnx", "U2-Net-p").load(str(path))
    del network.graph.output[1:]
    for end in (network.graph.input[0], network.graph.output[0]):
        for axis in (2, 3):
            end.type.tensor_type.shape.dim[axis].dim_value = side
    content: bytes = network.SerializeToString()
    return content
