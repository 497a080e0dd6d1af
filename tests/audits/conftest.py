"""Probes without photographs of others: drawn pictures with recipes of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from editgauge._util.images import ImageFile, Pixels, write_png
from editgauge._util.masks import Polygons
from editgauge.audits._probe_set import Gathered, Probe, split_of, write_probes
from editgauge.methods.reference.operations import apply_recipe
from editgauge.recipes import Move, Recolor, Remove, Resize, Restyle
from editgauge.types import Edit, Position

LEFT = Polygons(((20.0, 40.0, 60.0, 40.0, 60.0, 90.0, 20.0, 90.0),))
RIGHT_THING = Polygons(((100.0, 50.0, 130.0, 50.0, 130.0, 88.0, 100.0, 88.0),))


Edits = Callable[[Path, int], list[Gathered]]
RedBoxes = Callable[[Path, int], Path]


def drawn(seed: int) -> Pixels:
    """A ground with texture, a gray box on its left and a yellow one on its right."""
    chance = np.random.default_rng(seed)
    ground = cv2.GaussianBlur(chance.integers(60, 200, (120, 160, 3)).astype(np.float32), (0, 0), 3)
    picture: Pixels = np.clip(ground + chance.integers(-10, 10, 3), 0, 255).astype(np.uint8)
    for outline, color in ((LEFT, (120, 120, 125)), (RIGHT_THING, (240, 210, 40))):
        inside = outline.render(160, 120)
        picture[inside] = np.clip(np.array(color) + chance.normal(0, 8, (int(inside.sum()), 3)), 0, 255)
    return picture


@pytest.fixture(scope="session")
def edits_of() -> Edits:
    """Writes that many drawn pictures into a folder and gives three edits of each."""

    def make(folder: Path, pictures: int) -> list[Gathered]:
        result = []
        for number in range(pictures):
            picture = ImageFile(f"pictures/p{number}.png", folder / "pictures" / f"p{number}.png")
            write_png(drawn(number), picture.path)
            plain = Edit(
                id=f"p{number}",
                source=picture,
                type="color",
                instruction="Make the box red.",
                subject="box",
                to="red",
                objects={"box": LEFT, "crate": RIGHT_THING},
            )
            result += [
                Gathered(_with(plain, "color", Recolor(LEFT, "red")), f"photo {number}"),
                Gathered(_with(plain, "object_removal", Remove(LEFT)), f"photo {number}"),
                Gathered(_with(plain, "style", Restyle("sepia")), f"photo {number}"),
            ]
        return result

    return make


@pytest.fixture(scope="session")
def red_boxes() -> RedBoxes:
    """Writes two probes of each of that many pictures: the box painted red, and nothing done."""

    def make(place: Path, photos: int) -> Path:
        edits, probes = [], []
        for number in range(photos):
            source, name = drawn(number), f"photo {number}"
            write_png(source, place / "pictures" / f"{number}.png")
            for kind, edited in (("right", apply_recipe(Recolor(LEFT, "red"), source)), ("nothing", source)):
                write_png(edited, place / "edited" / f"{number}--{kind}.png")
                words = {"type": "color", "instruction": "Make the box red.", "subject": "box", "to": "red"}
                edits.append({"id": f"{number}--{kind}", "source": f"pictures/{number}.png", **words})
                done = kind == "right"
                probes.append(Probe(f"{number}--{kind}", f"{number}", name, "color", kind, done, split=split_of(name)))
        (place / "edits.jsonl").write_text("".join(json.dumps(item) + "\n" for item in edits))
        write_probes(place, probes)
        return place

    return make


@pytest.fixture
def moving(tmp_path: Path) -> Edit:
    """An edit in which left and right matter."""
    picture = ImageFile("pictures/m.png", tmp_path / "pictures" / "m.png")
    write_png(drawn(5), picture.path)
    edit = Edit(
        id="moved",
        source=picture,
        type="position_replacement",
        instruction="Move the box from the left to the Right of the image.",
        subject="box",
        from_="left",
        to="right",
        position=Position("right"),
        objects={"box": LEFT},
    )
    return _with(edit, "position_replacement", Move(LEFT, (120.0, 65.0)))


@pytest.fixture
def growing(moving: Edit) -> Edit:
    """An edit of an object's size."""
    return _with(moving, "size", Resize(LEFT, 0.6))


def _with(edit: Edit, kind: str, recipe: Recolor | Remove | Restyle | Move | Resize) -> Edit:
    words = {"color": "Make the box red.", "object_removal": "Remove the box.", "style": "Make it a sepia photo."}
    return replace(
        edit,
        id=f"{edit.id}-{kind}",
        type=kind,
        instruction=words.get(kind, edit.instruction),
        to={"object_removal": None, "style": "a sepia photo"}.get(kind, edit.to),
        recipe=recipe,
        mask=recipe.footprint(),
    )
