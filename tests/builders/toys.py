"""COCO files for the builders, small and known to the pixel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from editgauge._util.masks import BoolMask, Polygons, bounding_box

SUPER = {
    "person": ("person",),
    "vehicle": ("bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"),
    "outdoor": ("bench", "stop sign"),
    "animal": ("bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"),
    "accessory": ("backpack", "umbrella", "handbag", "tie", "suitcase"),
    "sports": ("frisbee", "skis", "snowboard", "sports ball", "kite", "skateboard", "surfboard", "tennis racket"),
    "kitchen": ("bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl"),
    "food": ("banana", "apple", "sandwich", "orange", "pizza", "cake", "hot dog"),
    "furniture": ("chair", "couch", "potted plant", "bed", "dining table"),
    "indoor": ("book", "clock", "vase", "teddy bear"),
    "electronic": ("tv", "laptop"),
}
NUMBER = {name: place for place, name in enumerate((name for names in SUPER.values() for name in names), start=1)}
CATEGORIES = [
    {"id": NUMBER[name], "name": name, "supercategory": kind} for kind, names in SUPER.items() for name in names
]
THINGS = {
    "cat": ((40, 60, 100, 150), (10, 10, 10)),
    "suitcase": ((160, 50, 240, 160), (180, 30, 30)),
    "bird": ((2, 2, 14, 14), (0, 0, 255)),
}
"""Boxes and colors in pictures of 300 x 200; the bird is lost when these are made square."""
CAPTION = "A black cat sitting on a suitcase."


@dataclass(frozen=True)
class CocoFiles:
    """Where the files lie."""

    instances: Path
    captions: Path
    images: Path


def annotated(number: int, image: int, name: str, mask: BoolMask, outline: Any) -> dict[str, Any]:
    left, top, right, bottom = bounding_box(mask)
    return {
        "id": number,
        "image_id": image,
        "category_id": NUMBER[name],
        "bbox": [left, top, right - left, bottom - top],
        "segmentation": outline,
        "area": int(mask.sum()),
        "iscrowd": 0,
    }


def write_coco(folder: Path, images: list[Any], objects: list[Any], captions: list[Any]) -> CocoFiles:
    licenses = [{"id": 4, "name": "Attribution License"}]
    told = {"licenses": licenses, "categories": CATEGORIES, "images": images, "annotations": objects}
    (folder / "instances.json").write_text(json.dumps(told))
    (folder / "captions.json").write_text(json.dumps({"images": images, "annotations": captions}))
    return CocoFiles(folder / "instances.json", folder / "captions.json", folder / "images")


def make_toys(folder: Path, count: int = 3) -> CocoFiles:
    """Pictures of a cat and a suitcase, each a little further to the right than the one before."""
    images: list[Any] = []
    objects: list[Any] = []
    captions: list[Any] = []
    for number in range(1, count + 1):
        pixels = np.full((200, 300, 3), 200 + number, np.uint8)
        for name, ((left, top, right, bottom), color) in THINGS.items():
            shift = 5 * number if name != "bird" else 0
            ring = [left + shift, top, right + shift, top, right + shift, bottom, left + shift, bottom]
            mask = Polygons((tuple(ring),)).render(300, 200)
            pixels[mask] = color
            objects.append(annotated(len(objects) + 1, number, name, mask, [ring]))
        file = folder / "images" / f"{number:012d}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(file, quality=95, subsampling=0)
        images.append({"id": number, "file_name": file.name, "width": 300, "height": 200, "license": 4})
        captions.append({"id": number, "image_id": number, "caption": CAPTION})
    return write_coco(folder, images, objects, captions)
