"""Detectors of the model hub: OWL-ViT, GroundingDINO, and closed-vocabulary instance segmentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from editgauge.errors import BadInputError, UnscorableError
from editgauge.models.answers import Detections, Features, SegmentPrompt, Vector
from editgauge.models.hub import _network
from editgauge.models.hub._network import Boxes, Network, around, corners, numbers, overlap, resized, row_of
from editgauge.models.vocabulary import resolve

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels


MIN_CONFIDENCE = 0.01
"""Open-vocabulary detectors answer every phrase in every box, nearly always with a confidence below this."""
NO_DIVISION_BY_ZERO = 1e-6
"""Added to lengths by the network itself, so that it is added here."""


class OwlDetector(Network):
    """Role `detector`: open-vocabulary detection of phrases.

    OWL-ViT and OWLv2 (Minderer et al. 2022, 2023). An image becomes one embedding and one box per patch, a phrase one
    embedding; how well they fit depends on those two alone. So `look` keeps embeddings and boxes of the patches, and
    `find` compares: the network's class head, in two halves.
    """

    role = "detector"
    kinds: ClassVar[Mapping[str, str]] = {"owlvit": "OwlViTForObjectDetection", "owlv2": "Owlv2ForObjectDetection"}
    words_are_independent = True
    """What it answers to a phrase does not depend on the other phrases of the question."""
    vocabulary = None
    operating_point = 0.1
    """As in the EditVal and PixLens papers."""

    def word_for(self, phrase: str) -> str:
        """Return the phrase: the vocabulary is open."""
        return phrase

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Encode each image: per patch an embedding, a logit scale and a box."""
        with self.inference():
            from torch.nn.functional import elu

            maps = self.network.image_embedder(pixel_values=self.prepared(images))[0]
            patches = maps.flatten(1, 2)
            head = self.network.class_head
            image_classes = head.dense0(patches).float()
            features = {
                "shown": numbers(image_classes / (image_classes.norm(dim=-1, keepdim=True) + NO_DIVISION_BY_ZERO)),
                "shift": numbers(head.logit_shift(patches)),
                "scale": numbers(elu(head.logit_scale(patches)) + 1),
            }
            boxes = numbers(self.network.box_predictor(patches, maps))
        return [
            {"boxes": corners(boxes[index], self._frame(image)), **row_of(features, index)}
            for index, image in enumerate(images)
        ]

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """Score every patch for every word; return detections, most confident first."""
        self._remember({word for _, words in questions for word in words})
        return [self._compare(features, words) for features, words in questions]

    def _compare(self, features: Features, words: tuple[str, ...]) -> Detections:
        if not words:
            return Detections.none()
        likeness = features["shown"] @ np.stack([self._embeddings[word] for word in words]).T
        sure = np.asarray(expit((likeness + features["shift"]) * features["scale"]), np.float32)
        indices, which = np.nonzero(sure >= MIN_CONFIDENCE)
        order = np.argsort(-sure[indices, which], kind="stable")
        indices, which = indices[order], which[order]
        answered = tuple(words[item] for item in which.tolist())
        return Detections(
            features["boxes"][indices], sure[indices, which], answered, answered, indices.astype(np.int32)
        )

    def _remember(self, words: set[str]) -> None:
        """Embed new words and remember them; each costs a pass of the text tower."""
        if new := sorted(words - self._embeddings.keys()):
            with self.inference():
                longest = self.network.config.text_config.max_position_embeddings
                tokens = self.tokenizer(
                    new, padding="max_length", truncation=True, max_length=longest, return_tensors="pt"
                ).to(self.device)
                towers = self.network.owlvit if self.network.config.model_type == "owlvit" else self.network.owlv2
                embedded = towers.get_text_features(**tokens).pooler_output.float()
                unit = embedded / embedded.norm(dim=-1, keepdim=True)
            self._embeddings.update(zip(new, numbers(unit / (1 + NO_DIVISION_BY_ZERO)), strict=True))

    @cached_property
    def _embeddings(self) -> dict[str, Vector]:
        return {}

    def _frame(self, image: Pixels) -> tuple[int, int]:
        """Return width and height of the frame of the boxes: OWLv2 pads the image to a square."""
        height, width = image.shape[:2]
        if self.network.config.model_type == "owlv2":
            return max(height, width), max(height, width)
        return width, height

    def _settings(self) -> dict[str, str | int | float]:
        return {"operating_point": self.operating_point, "faintest": MIN_CONFIDENCE, "places": "patches"}


PHRASE_ENDS = ".?"
"""These end a phrase for the network, wherever they stand."""


class GroundingDetector(Network):
    """Role `detector`: open-vocabulary detection of phrases.

    GroundingDINO (Liu et al. 2023) mixes image and text from the first layers on, so nothing can be computed ahead:
    `look` keeps the pixels. The phrases are joined to one text, `a cat. a cup.`; the network says for every box how
    well it fits each token, and the confidence of a phrase is that of its most confident token. Box threshold and text
    threshold of the original are then one number, unless a text threshold is set.
    """

    role = "detector"
    kinds: ClassVar[Mapping[str, str]] = {
        "grounding-dino": "GroundingDinoForObjectDetection",
        "mm-grounding-dino": "MMGroundingDinoForObjectDetection",
    }
    words_are_independent = False
    vocabulary = None
    operating_point = 0.1
    """As in the PixLens paper; its released code uses 0.3."""
    text_threshold: float = 0.0
    """How well every token of a phrase must fit a box; the original package names a box by the tokens over it."""

    def word_for(self, phrase: str) -> str:
        """Return the phrase, without the separator of the network."""
        if not phrase.strip(PHRASE_ENDS + " ") or set(phrase.strip(PHRASE_ENDS + " ")) & set(PHRASE_ENDS):
            raise UnscorableError(
                "unknown_word", f"GroundingDINO takes one phrase without full stops, and was given '{phrase}'"
            )
        return phrase

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Return the pixels unchanged; the network needs the phrases, too."""
        return [{"pixels": image} for image in images]

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """Return the matches of each word, most confident first.

        Each question takes one pass: images of different shape would have to be padded, which changes what the
        backbone sees.
        """
        return [self._answer(features["pixels"], words) for features, words in questions]

    def _answer(self, image: Pixels, words: tuple[str, ...]) -> Detections:
        parts = [self._forward(image, group) for group in self._groups(words)]
        if not parts:
            return Detections.none()
        sure = np.concatenate([sure.ravel() for sure, _ in parts])
        boxes = np.concatenate([np.repeat(boxes, sure.shape[1], axis=0) for sure, boxes in parts])
        answered = [
            word for (_, boxes), group in zip(parts, self._groups(words), strict=True) for word in group * len(boxes)
        ]
        order = [index for index in np.argsort(-sure, kind="stable").tolist() if sure[index] >= MIN_CONFIDENCE]
        labels = tuple(answered[index] for index in order)
        return Detections(boxes[order], sure[order], labels, labels)

    def _forward(self, image: Pixels, words: tuple[str, ...]) -> tuple[NDArray[np.float32], Boxes]:
        """Return the confidence of every box for every word, and the boxes."""
        text, spans = join_phrases(words)
        tokens = self.tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
        offsets = tokens.pop("offset_mapping")[0].tolist()
        inputs = self.image_processor([image], return_tensors="pt")
        with self.inference():
            outputs = self.network(**tokens.to(self.device), **inputs.to(self.device))
        fits = numbers(outputs.logits[0].float().sigmoid())
        sure = np.stack([self._sure(fits[:, tokens_within(offsets, span)]) for span in spans], axis=1)
        height, width = image.shape[:2]
        return sure, corners(numbers(outputs.pred_boxes[0]), (width, height))

    def _sure(self, fits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the confidence of a phrase in each box: its best token, or 0 if one is below the text threshold."""
        surest = fits.max(axis=1, initial=0)
        return np.where(fits.min(axis=1, initial=1) >= self.text_threshold, surest, np.float32(0))

    def _groups(self, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Group the words into as few prompts as fit the network."""
        longest = self.network.config.max_text_len
        group: tuple[str, ...] = ()
        for word in words:
            if group and len(self.tokenizer(join_phrases((*group, word))[0])["input_ids"]) > longest:
                yield group
                group = ()
            group = (*group, word)
        if group:
            yield group

    def _settings(self) -> dict[str, str | int | float]:
        settings: dict[str, str | int | float] = {"operating_point": self.operating_point, "faintest": MIN_CONFIDENCE}
        return settings | ({"text_threshold": self.text_threshold} if self.text_threshold else {})


def join_phrases(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Join the words to one prompt and return the span of each.

    >>> join_phrases(["A cat", "a cup."])
    ('a cat. a cup.', [(0, 5), (7, 12)])
    """
    text, spans = "", []
    for word in words:
        bare = word.strip(PHRASE_ENDS + " ").lower()
        spans.append((len(text), len(text) + len(bare)))
        text += f"{bare}. "
    return text.rstrip(), spans


def tokens_within(spans: Sequence[Sequence[int]], span: tuple[int, int]) -> list[int]:
    """Return the indices of the tokens inside a text span; start and end marks are empty and never match."""
    return [token for token, (start, stop) in enumerate(spans) if span[0] <= start < stop <= span[1]]


MIN_INSTANCE_CONFIDENCE = 0.05
MIN_SAME_OBJECT_IOU = 0.5
"""Intersection over union from which an instance counts as what a box was drawn around."""
ONEFORMER_TASK = "the task is instance"


class InstanceNetwork(Network):
    """Base class of both roles: all instances in an image.

    DETR, Mask2Former and OneFormer detect everything they know at once, so `look` does all the work and questions only
    select. As a segmenter the network returns the mask of the instance in a box, and nothing it did not detect.
    """

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
        with self.inference():
            outputs = self.network(**inputs)
            if not self._outlines:
                sure, classes = outputs.logits[0].float().softmax(dim=-1)[:, :-1].max(dim=-1)
                boxes = corners(numbers(outputs.pred_boxes[0]), (width, height))
                is_confident = numbers(sure) >= MIN_INSTANCE_CONFIDENCE
                return _instance_features(
                    boxes[is_confident],
                    numbers(sure)[is_confident],
                    classes.cpu().numpy()[is_confident],
                    (height, width),
                )
            rows, columns = (int(inputs["pixel_mask"][0].any(dim=axis).sum()) for axis in (1, 0))
            content_fraction = (rows / inputs["pixel_mask"].shape[1], columns / inputs["pixel_mask"].shape[2])
            sure, classes, masks = _confident_instances(
                outputs.class_queries_logits[0], outputs.masks_queries_logits[0]
            )
            large = resize_masks(masks, content_fraction, (height, width)) > 0
        is_visible = (sure >= MIN_INSTANCE_CONFIDENCE) & large.flatten(1).any(dim=1)
        outlines = large[is_visible].cpu().numpy()
        return _instance_features(
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
        return {"faintest": MIN_INSTANCE_CONFIDENCE}


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
            fits[fits < MIN_SAME_OBJECT_IOU] = 0
        else:
            x, y = np.clip(prompt.coordinates.astype(int).T, 0, [[width - 1], [height - 1]])
            fits = np.asarray(masks[:, y, x].T * features["confidences"], np.float32)
        lost = [index for index, row in enumerate(fits) if not row.any()]
        if lost:
            position = np.round(prompt.coordinates[lost[0]]).astype(int).tolist()
            raise UnscorableError("not_detected", f"{self.source.id} sees no instance at {position}")
        return masks[fits.argmax(axis=1)] if len(fits) else np.zeros((0, height, width), np.bool_)

    def _settings(self) -> dict[str, str | int | float]:
        return {**super()._settings(), "same_object": MIN_SAME_OBJECT_IOU}


def _confident_instances(classes: torch.Tensor, masks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
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


def _instance_features(
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
