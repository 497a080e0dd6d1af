"""UniBench against section 3.3 of its paper, written down again: 200 random scenes with boxes, outlines and colors.

There is no public code. What the paper leaves open is read in the plainest way: the most confident object of a class is
meant, an object's outline cuts it out, and each picture's background is what its own objects leave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import Rectangle, bounding_box
from editgauge.models.answers import Detections, Instances
from editgauge.protocols.unibench._rules import Task, locate_anchor, locate_target
from editgauge.types import Item
from tests.parity.scenes import SCENES, item_of, table_on_page, values

SIDE = 64
NEAR = 0.02
Box = tuple[int, int, int, int]
Mask = NDArray[np.bool_]
TASKS = {
    "change_class": "object_replacement",
    "change_color": "color",
    "move": "position_replacement",
    "generate": "positional_addition",
}
SCORES = ("target_fidelity", "position_fidelity", "target_consistency", "background_consistency")
HAS_POSITION = ("move", "generate")


class Sees:
    """Objects of the edited image with their confidences; pictures are embedded by their colors: for tests only."""

    def __init__(self, boxes: Mapping[str, list[tuple[float, Box]]]) -> None:
        self.boxes = boxes

    def card(self, role: str) -> None:
        return None

    async def instances(self, image: Pixels, *phrases: str, least: float | None = None) -> Instances:
        rows = sorted((row for phrase in phrases for row in self.boxes.get(phrase, ())), reverse=True)
        boxes = np.array([box for _, box in rows], np.float32).reshape(-1, 4)
        sure, words = np.array([entry for entry, _ in rows], np.float32), phrases[:1] * len(rows)
        masks = np.array([outline(box) for _, box in rows], np.bool_).reshape(-1, SIDE, SIDE)
        return Instances(Detections(boxes, sure, words, words), masks)

    async def joint_image(self, image: Pixels) -> NDArray[np.float32]:
        return embedded_picture(image)

    async def joint_text(self, text: str) -> NDArray[np.float32]:
        return embedded_text(text)

    async def distance(self, before: Pixels, after: Pixels) -> float:
        return apart(before, after)


def unit(vector: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def embedded_picture(image: Pixels) -> NDArray[np.float32]:
    return unit(np.histogramdd(image.reshape(-1, 3), (4, 4, 4), [(0, 256)] * 3)[0].ravel() + 1)


def embedded_text(text: str) -> NDArray[np.float32]:
    return unit(np.random.default_rng(sum(text.encode())).random(64) + 0.1)


def apart(before: Pixels, after: Pixels) -> float:
    """In the place of LPIPS: it may exceed 1 as well."""
    return float(np.abs(before.astype(float) - after).mean() / 128)


def outline(box: Box) -> Mask:
    left, top, right, bottom = box
    mask = np.zeros((SIDE, SIDE), np.bool_)
    mask[top:bottom, left:right] = True
    return mask


def random_box(draw: np.random.Generator) -> Box:
    width, height = draw.integers(10, 26, 2)
    left, top = draw.integers(0, SIDE - width), draw.integers(0, SIDE - height)
    return int(left), int(top), int(left + width), int(top + height)


def near_to(draw: np.random.Generator, box: Box) -> Box:
    left, top, right, bottom = box
    x, y = (
        draw.integers(-min(left, 4), min(SIDE - right, 4) + 1),
        draw.integers(-min(top, 4), min(SIDE - bottom, 4) + 1),
    )
    return int(left + x), int(top + y), int(right + x), int(bottom + y)


def random_scene(number: int) -> tuple[str, Item, Sees, dict[str, Box]]:
    """A cat, sometimes a second one, and one or two suitcases; after the edit any of them may be seen, or a dog."""
    draw = np.random.default_rng(number)
    kind = list(TASKS)[number % 4]
    boxes = {name: random_box(draw) for name in ("cat-1", "cat-2", "suitcase-1", "suitcase-2")}
    name = "dog" if kind in ("change_class", "generate") else "cat"
    asked: dict[str, Any] = {"task": kind, "name": name, "class": "cat", "classes": ["cat", "suitcase"]}
    asked |= {"others": ["cat-2"] if name == "cat" else [], "candidates": ["bird", "dog"], "target": name}
    if kind != "generate":
        asked["object"] = "cat-1"
    if kind == "change_color":
        asked |= {"target": "red", "candidates": ["blue", "red"], "color": "gray"}
    if kind in HAS_POSITION:
        places = [["suitcase", "to the left of"], ["suitcase", "above"]]
        asked |= {"anchor": "suitcase-1", "anchor_class": "suitcase", "anchor_others": ["suitcase-2"]}
        asked |= {"words": "to the left of", "relation": "left", "places": places}
    coarse = draw.integers(0, 256, (2, 8, 8, 3), dtype=np.uint8)
    source, other = (cv2.resize(entry, (SIDE, SIDE), interpolation=cv2.INTER_NEAREST) for entry in coarse)
    edited = source.copy()
    for box in (boxes["cat-1"], random_box(draw)):
        edited = np.where(outline(box)[..., None], other, edited)
    if draw.random() < 0.3:  # the method changed everything
        edited = other
    seen: dict[str, list[tuple[float, Box]]] = {name: [], "suitcase": []}
    for phrase, own, second in ((name, "cat-1", "cat-2"), ("suitcase", "suitcase-1", "suitcase-2")):
        for box in (near_to(draw, boxes[own]), near_to(draw, boxes[second]), random_box(draw)):
            if draw.random() < 0.5:
                seen[phrase].append((float(draw.uniform(0.2, 1)), box))
    objects = {entry: Rectangle(*box) for entry, box in boxes.items()}
    fields = {"type": TASKS[kind], "objects": objects, "extras": {"unibench": asked}}
    return kind, item_of(fields, source, edited), Sees(seen), boxes


class Chosen(NamedTuple):
    """Where target and anchor are in the edited image; None where the place of the target cannot be inferred."""

    target: Box | None
    anchor: Box | None


def chosen_as_printed(kind: str, name: str, sees: Sees, boxes: dict[str, Box]) -> Chosen:
    """The most confident of each class; where none is seen, the original place, unless the object moves or is new."""
    seen = {phrase: max(rows)[1] if rows else None for phrase, rows in sees.boxes.items()}
    if kind in HAS_POSITION:
        return Chosen(seen[name], seen["suitcase"] or boxes["suitcase-1"])
    return Chosen(seen[name] or boxes["cat-1"], None)


def chosen_by_us(kind: str, item: Item, sees: Any) -> Chosen:
    task = Task(item)
    target = asyncio.run(locate_target(item, task, sees)).mask
    anchor = asyncio.run(locate_anchor(item, task, sees)).mask if kind in HAS_POSITION else None
    return Chosen(*(None if mask is None else bounding_box(mask) for mask in (target, anchor)))


def cut_out(picture: Pixels, box: Box) -> Pixels:
    """An object by its outline; outlines are rectangles here, so nothing is to be filled around them."""
    left, top, right, bottom = box
    return picture[top:bottom, left:right]


def gray(picture: Pixels, size: tuple[int, int]) -> Pixels:
    """Without colors, in one size, so that two of them can be compared."""
    shrinks = picture.shape[0] > size[1]
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), size, interpolation=method))


def background(picture: Pixels, objects: list[Box]) -> Pixels:
    """A picture without its own objects."""
    holes = np.logical_or.reduce([outline(box) for box in objects])
    color = np.rint(picture[~holes].mean(axis=0)).astype(np.uint8)
    return np.where(holes[..., None], color, picture)


def as_printed(kind: str, item: Item, chosen: Chosen, boxes: dict[str, Box]) -> dict[str, float | None]:
    """Section 3.3, sentence by sentence."""
    name = item.edit.extras["unibench"]["name"]
    printed: dict[str, float | None] = dict.fromkeys(SCORES)
    target, anchor = chosen
    if target is None:
        printed |= {"target_fidelity": 0.0, "position_fidelity": 0.0}
    else:
        text = f"red {name}" if kind == "change_color" else name
        printed["target_fidelity"] = float(embedded_picture(cut_out(item.edited, target)) @ embedded_text(text))
        before, after = cut_out(item.source, boxes["cat-1"]), cut_out(item.edited, target)
        if kind == "move":
            printed["target_consistency"] = float(embedded_picture(before) @ embedded_picture(after))
        elif kind == "change_color":
            scale = 64 / min(before.shape[:2])
            size = round(before.shape[1] * scale), round(before.shape[0] * scale)
            printed["target_consistency"] = 1 - apart(gray(before, size), gray(after, size))
    if target is not None and anchor is not None:
        (left, top, right, bottom), (other_left, other_top, other_right, other_bottom) = target, anchor
        both = min(left, other_left), min(top, other_top), max(right, other_right), max(bottom, other_bottom)
        phrase = embedded_text(f"{name} to the left of suitcase")
        printed["position_fidelity"] = float(embedded_picture(cut_out(item.edited, both)) @ phrase)
    originals = [boxes["suitcase-1"]] * (anchor is not None) + [boxes["cat-1"]] * (kind != "generate")
    objects = [box for box in chosen if box is not None]
    printed["background_consistency"] = 1 - apart(background(item.source, originals), background(item.edited, objects))
    return printed


def differ(one: float | None, other: float | None) -> bool:
    return (one is None) != (other is None) or (one is not None and other is not None and abs(one - other) > NEAR)


@cache
def counts() -> dict[str, tuple[int, ...]]:
    """By task and score: scenes scored as printed; how many differ, and why."""
    table: dict[str, list[int]] = {}
    for number in range(SCENES):
        kind, item, sees, boxes = random_scene(number)
        name = item.edit.extras["unibench"]["name"]
        printed = as_printed(kind, item, chosen_as_printed(kind, name, sees, boxes), boxes)
        same_objects = as_printed(kind, item, chosen_by_us(kind, item, sees), boxes)
        ours = values("unibench[cosine]", item, sees)
        for score in SCORES:
            if printed[score] is None and ours[score] is None:
                continue
            row = table.setdefault(f"{kind}, {score}".replace("_", " "), [0] * 5)
            row[0] += 1
            if not differ(printed[score], ours[score]):
                continue
            causes = (
                not differ(same_objects[score], ours[score]),
                ours[score] == 0.0 and (same_objects[score] or 0.0) < 0.0,
                score == "background_consistency",
            )
            assert any(causes), (number, kind, score)
            row[1] += 1
            row[2 + causes.index(True)] += 1
    return {name: tuple(row) for name, row in table.items()}


def test_the_page_states_what_random_scenes_give() -> None:
    assert counts() == table_on_page("unibench.md", 2)


def test_scores_differ_only_by_the_object_that_is_meant_the_cut_at_zero_and_the_background() -> None:
    """Given the same objects, fidelity and consistency of the target are those of the paper in all scenes."""
    assert all(row[1] == sum(row[2:]) for row in counts().values())
    assert not any(row[4] for name, row in counts().items() if "background" not in name)
