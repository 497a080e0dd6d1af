"""What models answer: small bundles of arrays, in the pixels of the image that was asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import BoolMask
from editgauge.evidence import Arrow, Box, Evidence, Region, Side
from editgauge.models.vocabulary.imagenet import class_names, classes_of
from editgauge.models.vocabulary.places import attributes_of, indoor_scenes, scene_names, scenes_of, unknown_scene

Vector = NDArray[np.float32]
Features = Mapping[str, NDArray[Any]]
"""What a model keeps of an image between looking at it once and answering many questions about it."""


def _labeled_boxes(
    on: Side, boxes: NDArray[np.float32], labels: Sequence[str], confidences: NDArray[np.float32]
) -> tuple[Box, ...]:
    rows = zip(boxes.tolist(), labels, confidences.tolist(), strict=True)
    return tuple(
        Box(on, left, top, right, bottom, label, confidence) for (left, top, right, bottom), label, confidence in rows
    )


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """Objects that a detector found for some phrases, most confident first."""

    boxes: NDArray[np.float32]
    """One row per object: left, top, right, bottom."""
    confidences: NDArray[np.float32]
    phrases: tuple[str, ...]
    """The phrase each object answers, as it was asked."""
    words: tuple[str, ...]
    """The model's own word for it, which differs from the phrase where a synonym was used."""
    output_indices: NDArray[np.int32] | None = None
    """Index of each box in the network's output, for detectors that report it."""

    def __post_init__(self) -> None:
        counts = {len(self.boxes), len(self.confidences), len(self.phrases), len(self.words)}
        if len(counts) != 1 or self.boxes.shape[1:] != (4,):
            raise ValueError(
                f"every object needs a box, a confidence, a phrase and a word; got {sorted(counts)} of them"
            )

    def __len__(self) -> int:
        return len(self.phrases)

    @property
    def found(self) -> bool:
        """Whether there is at least one detection."""
        return len(self) > 0

    def of(self, phrase: str) -> Detections:
        """Select the detections of one phrase."""
        return self.only([index for index, answered in enumerate(self.phrases) if answered == phrase])

    def over(self, confidence: float) -> Detections:
        """Select the detections with at least this confidence."""
        return self.only(np.flatnonzero(self.confidences >= confidence).tolist())

    @property
    def best(self) -> Detections:
        """The most confident detection only, or none."""
        return self.only([0] if self.found else [])

    def evidence(self, on: Side) -> tuple[Evidence, ...]:
        """Return the boxes, labeled by the phrase and, where a synonym was used, by the model's word."""
        labels = [
            phrase if phrase == word else f"{phrase} (seen as {word})"
            for phrase, word in zip(self.phrases, self.words, strict=True)
        ]
        return _labeled_boxes(on, self.boxes, labels, self.confidences)

    def only(self, indices: list[int]) -> Detections:
        """Select by index, in this order."""
        return Detections(
            self.boxes[indices],
            self.confidences[indices],
            tuple(self.phrases[index] for index in indices),
            tuple(self.words[index] for index in indices),
            None if self.output_indices is None else self.output_indices[indices],
        )

    def best_phrase_of_each_box(self) -> Detections:
        """Keep each box once, with its most confident phrase."""
        surest: dict[tuple[float, ...], int] = {}
        for index, box in enumerate(map(tuple, self.boxes.tolist())):
            surest.setdefault(box, index)  # rows come most confident first
        return self.only(list(surest.values()))

    @classmethod
    def none(cls) -> Detections:
        """Return an empty result."""
        return cls(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), (), ())


@dataclass(frozen=True, slots=True, eq=False)
class SegmentPrompt:
    """Boxes or points to segment, one mask each."""

    boxes: NDArray[np.float32] | None = None
    """n x 4: left, top, right, bottom."""
    points: NDArray[np.float32] | None = None
    """n x 2: x, y."""

    def __post_init__(self) -> None:
        if (self.boxes is None) == (self.points is None):
            raise ValueError("a prompt has boxes or points, and not both")

    @property
    def coordinates(self) -> NDArray[np.float32]:
        """The boxes or points as one array."""
        return np.asarray(self.points if self.boxes is None else self.boxes, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Instances:
    """Detections with one mask each."""

    detections: Detections
    masks: NDArray[np.bool_]
    """n x height x width."""

    def __len__(self) -> int:
        return len(self.detections)

    def only(self, indices: list[int]) -> Instances:
        """Select by index, in this order."""
        return Instances(self.detections.only(indices), self.masks[indices])

    @property
    def together(self) -> BoolMask:
        """Union of all masks."""
        return np.asarray(self.masks.any(axis=0))

    def evidence(self, on: Side) -> tuple[Evidence, ...]:
        """Return boxes and masks."""
        boxes = self.detections.evidence(on)
        return (
            *boxes,
            *(Region(on, mask, name) for mask, name in zip(self.masks, self.detections.phrases, strict=True)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ClassMap:
    """The class of every pixel of an image."""

    labels: NDArray[np.uint8]
    """height x width: index of the class in `classes`."""
    classes: tuple[str, ...]

    def mask(self, name: str) -> BoolMask:
        """Return the mask of one class."""
        return np.asarray(self.labels == self.classes.index(name))


Keys = NDArray[np.float16]
"""tokens x length: what each token of a vision transformer offers to the attention of a layer."""


@dataclass(frozen=True, slots=True, eq=False)
class Patches:
    """Tokens of a vision transformer: one per patch, and the class token."""

    tokens: NDArray[np.float16]
    """rows x columns x length; the grid covers the whole image, whatever its shape."""
    class_token: NDArray[np.float16]


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Probabilities of the classes of a closed list."""

    probabilities: NDArray[np.float32]
    """One per class, in the order of the list; they add up to 1."""
    vocabulary: str
    """Which list; today `imagenet`, the 1,000 classes of ImageNet-1k."""

    def share(self, phrase: str) -> float:
        """Sum the probabilities of all classes of a phrase; raise `UnscorableError("unknown_word", …)` if none."""
        return float(self.probabilities[sorted(classes_of(phrase))].sum())

    def top(self, count: int = 5) -> list[tuple[str, float]]:
        """Return the most likely classes with their probabilities."""
        order = np.argsort(-self.probabilities, kind="stable")[:count].tolist()
        return [(class_names()[index], float(self.probabilities[index])) for index in order]


MIN_SCENE_SHARE = 0.25
MIN_ATTRIBUTE_MARGIN = -0.5
"""Operating points of Places365 on 128 photographs labeled by us: 17 scene words reach theirs in 73% of the images that
show them and 0.6% of the others, 7 words for grass, trees, water … in 75% and 1.1%."""


@dataclass(frozen=True, slots=True, eq=False)
class SceneScores:
    """The surroundings in an image: probabilities of scenes and margins of attributes.

    Phrases are resolved by `vocabulary/places.yaml`; methods that take one raise `UnscorableError("unknown_word", …)`
    if it covers nothing.
    """

    probabilities: NDArray[np.float32]
    """One per scene of Places365; they add up to 1."""
    margins: NDArray[np.float32]
    """One per attribute: positive where it is clearly present. Margins of different attributes cannot be compared."""

    def share(self, phrase: str) -> float:
        """Sum the probabilities of all scenes of a phrase, such as `forest` or `city street`."""
        scenes = scenes_of(phrase)
        if not scenes:
            raise unknown_scene(phrase)
        return float(self.probabilities[sorted(scenes)].sum())

    def margin(self, phrase: str) -> float:
        """Return the largest margin of the attributes of a phrase, such as `grass` or `snow`."""
        attributes = attributes_of(phrase)
        if not attributes:
            raise unknown_scene(phrase)
        return float(self.margins[sorted(attributes)].max())

    def shows(self, phrase: str) -> bool:
        """Tell whether a scene or an attribute of the phrase reaches its operating point."""
        scenes, attributes = scenes_of(phrase), attributes_of(phrase)
        if not scenes and not attributes:
            raise unknown_scene(phrase)
        return bool(
            (scenes and self.share(phrase) >= MIN_SCENE_SHARE)
            or (attributes and self.margin(phrase) >= MIN_ATTRIBUTE_MARGIN)
        )

    @property
    def outdoor(self) -> float:
        """Probability that the scene is outdoors."""
        return float(1 - self.probabilities[sorted(indoor_scenes())].sum())

    def top(self, count: int = 5) -> list[tuple[str, float]]:
        """Return the most likely scenes with their probabilities."""
        order = np.argsort(-self.probabilities, kind="stable")[:count].tolist()
        return [(scene_names()[index], float(self.probabilities[index])) for index in order]


@dataclass(frozen=True, slots=True, eq=False)
class TextLines:
    """Lines of text in an image, from top to bottom."""

    texts: tuple[str, ...]
    polygons: NDArray[np.float32]
    """n x 4 x 2: x and y of the corners of each line, from its top left one in the direction of a clock."""
    confidences: NDArray[np.float32]

    def __post_init__(self) -> None:
        if not len(self.texts) == len(self.polygons) == len(self.confidences):
            raise ValueError("every line needs a text, four corners and a confidence")

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def text(self) -> str:
        """All lines, joined by newlines."""
        return "\n".join(self.texts)

    @property
    def boxes(self) -> NDArray[np.float32]:
        """Axis-aligned box around each line: left, top, right, bottom."""
        return np.concatenate([self.polygons.min(axis=1), self.polygons.max(axis=1)], axis=1).reshape(-1, 4)

    def evidence(self, on: Side) -> tuple[Evidence, ...]:
        """Return the boxes, labeled by the text."""
        return _labeled_boxes(on, self.boxes, [f"“{text}”" for text in self.texts], self.confidences)


EXPRESSIONS = (
    *("neutral", "browDownLeft", "browDownRight", "browInnerUp", "browOuterUpLeft", "browOuterUpRight", "cheekPuff"),
    *("cheekSquintLeft", "cheekSquintRight", "eyeBlinkLeft", "eyeBlinkRight", "eyeLookDownLeft", "eyeLookDownRight"),
    *("eyeLookInLeft", "eyeLookInRight", "eyeLookOutLeft", "eyeLookOutRight", "eyeLookUpLeft", "eyeLookUpRight"),
    *("eyeSquintLeft", "eyeSquintRight", "eyeWideLeft", "eyeWideRight", "jawForward", "jawLeft", "jawOpen", "jawRight"),
    *("mouthClose", "mouthDimpleLeft", "mouthDimpleRight", "mouthFrownLeft", "mouthFrownRight", "mouthFunnel"),
    *("mouthLeft", "mouthLowerDownLeft", "mouthLowerDownRight", "mouthPressLeft", "mouthPressRight", "mouthPucker"),
    *("mouthRight", "mouthRollLower", "mouthRollUpper", "mouthShrugLower", "mouthShrugUpper", "mouthSmileLeft"),
    *("mouthSmileRight", "mouthStretchLeft", "mouthStretchRight", "mouthUpperUpLeft", "mouthUpperUpRight"),
    *("noseSneerLeft", "noseSneerRight"),
)
"""The movements of a face that are measured, each from 0 to 1, by the names that ARKit and MediaPipe give them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Faces:
    """Faces in an image, most confident first.

    Embeddings serve to compare the faces of two images, not to identify people.
    """

    boxes: NDArray[np.float32]
    """n x 4: left, top, right, bottom."""
    confidences: NDArray[np.float32]
    points: NDArray[np.float32]
    """n x 5 x 2: right eye, left eye, tip of the nose, right and left corner of the mouth; right is the person's."""
    vectors: NDArray[np.float32]
    """n x 128, of length 1: the cosine of two is high for the same person."""
    expressions: NDArray[np.float32]
    """n x 52, in the order of `EXPRESSIONS`; NaN where a face is too small or hidden."""
    angles: NDArray[np.float32]
    """n x 3, in degrees: turned to the person's left, raised, tilted to the person's left; NaN as above."""

    def __len__(self) -> int:
        return len(self.boxes)

    def similarity(self, other: Faces) -> NDArray[np.float32]:
        """Return the cosine similarity with every face of another image, n x m."""
        return np.asarray(self.vectors @ other.vectors.T, np.float32)

    def expression(self, *names: str) -> NDArray[np.float32]:
        """Average some expressions per face: `expression("mouthSmileLeft", "mouthSmileRight")`."""
        return np.asarray(self.expressions[:, [EXPRESSIONS.index(name) for name in names]].mean(axis=1), np.float32)

    @property
    def smile(self) -> NDArray[np.float32]:
        """How much each face smiles, from 0 to 1."""
        return self.expression("mouthSmileLeft", "mouthSmileRight")

    @property
    def open_mouth(self) -> NDArray[np.float32]:
        """How far each mouth is open, from 0 to 1."""
        return self.expression("jawOpen")

    @property
    def closed_eyes(self) -> NDArray[np.float32]:
        """How far the eyes of each face are closed, from 0 to 1."""
        return self.expression("eyeBlinkLeft", "eyeBlinkRight")

    def evidence(self, on: Side) -> tuple[Evidence, ...]:
        """Return the boxes."""
        return _labeled_boxes(on, self.boxes, ["face"] * len(self), self.confidences)


JOINTS = (
    *("nose", "left eye", "right eye", "left ear", "right ear", "left shoulder", "right shoulder", "left elbow"),
    *("right elbow", "left wrist", "right wrist", "left hip", "right hip", "left knee", "right knee", "left ankle"),
    *("right ankle", "head", "neck", "hip", "left big toe", "right big toe", "left small toe", "right small toe"),
    *("left heel", "right heel"),
)
"""The joints of a body in the order of Halpe-26, whose first 17 are COCO's; left is the person's."""
MIN_JOINT_CONFIDENCE = 0.3
"""The confidence with which a joint counts as seen."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Poses:
    """People in an image with their body joints, most confident first."""

    boxes: NDArray[np.float32]
    """n x 4: left, top, right, bottom."""
    confidences: NDArray[np.float32]
    joints: NDArray[np.float32]
    """n x 26 x 2: x and y, in the order of `JOINTS`; a hidden joint has a guessed place and a low confidence."""
    joint_confidences: NDArray[np.float32]
    """n x 26, from 0 to 1."""

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def visible(self) -> NDArray[np.bool_]:
        """Visible joints, n x 26."""
        return np.asarray(self.joint_confidences >= MIN_JOINT_CONFIDENCE)

    def evidence(self, on: Side) -> tuple[Evidence, ...]:
        """Return the boxes, and an arrow along every visible limb."""
        boxes = _labeled_boxes(on, self.boxes, ["person"] * len(self), self.confidences)
        limbs = [
            Arrow(on, *joints[start].tolist(), *joints[end].tolist())
            for joints, visible in zip(self.joints, self.visible, strict=True)
            for start, end in LIMBS
            if visible[start] and visible[end]
        ]
        return (*boxes, *limbs)


Bundle = Patches | ClassScores | SceneScores | TextLines | Faces | Poses
"""Answers whose fields are arrays, strings and tuples of strings."""
BUNDLES: dict[str, type[Bundle]] = {
    "patches": Patches,
    "class scores": ClassScores,
    "scene scores": SceneScores,
    "text lines": TextLines,
    "faces": Faces,
    "poses": Poses,
}
"""Bundles by their names in the cache on disk."""

LIMBS = tuple(
    (JOINTS.index(start), JOINTS.index(end))
    for start, end in (
        *(("head", "neck"), ("neck", "hip")),
        *((f"{side} {start}", f"{side} {end}") for side in ("left", "right") for start, end in (
            ("shoulder", "elbow"), ("elbow", "wrist"), ("hip", "knee"), ("knee", "ankle"),
        )),
        *(("left shoulder", "right shoulder"), ("left hip", "right hip")),
    )
)  # fmt: skip
"""Joints that a bone connects, by their places in `JOINTS`."""
