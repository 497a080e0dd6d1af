"""Reads the recipes of a benchmark file: how the right outcome of an edit is made from the photograph itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from editgauge._util.documents import Location
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.images import ImageFile
from editgauge._util.masks import Mask, Polygons
from editgauge.benchmarks._format import is_number
from editgauge.recipes import (
    COLORS,
    MATERIALS,
    SCENES,
    STYLES,
    Background,
    Cutout,
    Move,
    Paste,
    Recipe,
    Recolor,
    Remove,
    Replace,
    Resize,
    Restyle,
    Texture,
)


@dataclass(frozen=True, slots=True)
class RecipeSource:
    """A source image with the outlines that are known; a part is None when it was found faulty."""

    picture: ImageFile | None
    caption: str | None = None
    objects: Mapping[str, Mask | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecipeSources:
    """The images a recipe may take from: its own source, and all sources by name (None when found faulty)."""

    source: RecipeSource
    sources: Mapping[str, RecipeSource | None]


ReadPart = Callable[[Any, Location, RecipeSources], Any]
"""Reads one part of a recipe; gives None after reporting what is wrong with it."""


def _outline(name: Any, spot: Location, images: RecipeSources) -> Polygons | None:
    return _outline_of(images.source, name, spot)


def _outline_of(source: RecipeSource, name: Any, spot: Location) -> Polygons | None:
    if not isinstance(name, str) or name not in source.objects:
        spot.report(describe_unknown("object", str(name), source.objects))
        return None
    mask = source.objects[name]
    if mask is not None and not isinstance(mask, Polygons):
        spot.report(f"the object '{name}' is no list of polygons; a recipe needs an outline")
        return None
    return mask


def _outlines(names: Any, spot: Location, images: RecipeSources) -> tuple[Polygons, ...] | None:
    if not isinstance(names, list) or not names:
        spot.report(f"a background keeps a list of the source's objects, got {format_value(names)}")
        return None
    read = [_outline(name, spot.within(index), images) for index, name in enumerate(names)]
    kept = tuple(outline for outline in read if outline is not None)
    return kept if len(kept) == len(read) else None


def _cutout(word: Any, spot: Location, images: RecipeSources) -> Cutout | None:
    if not isinstance(word, str) or "/" not in word:
        spot.report(f"an object of another source is written SOURCE/OBJECT, got {format_value(word)}")
        return None
    name, _, thing = word.partition("/")
    if name not in images.sources:
        spot.report(describe_unknown("source", name, images.sources))
        return None
    source = images.sources[name]
    outline = _outline_of(source, thing, spot) if source else None
    return Cutout(source.picture, outline) if source and source.picture and outline else None


def _scene(word: Any, spot: Location, images: RecipeSources) -> str | ImageFile | None:
    if word in SCENES:
        return str(word)
    if not isinstance(word, str) or word not in images.sources:
        spot.report(describe_unknown("scene or source", str(word), (*SCENES, *images.sources)))
        return None
    source = images.sources[word]
    return source.picture if source else None


def _point(value: Any, spot: Location, images: RecipeSources) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2 or not all(is_number(part) for part in value):
        spot.report(f"'{spot.path[-1]}' is a pixel position [x, y], got {format_value(value)}")
        return None
    return float(value[0]), float(value[1])


def _amount(value: Any, spot: Location, images: RecipeSources) -> float | None:
    if not is_number(value) or value <= 0:
        spot.report(f"'{spot.path[-1]}' is a number over 0, got {format_value(value)}")
        return None
    return float(value)


def _one_of(kind: str, known: tuple[str, ...]) -> ReadPart:
    def read(value: Any, spot: Location, images: RecipeSources) -> str | None:
        if value in known:
            return str(value)
        spot.report(describe_unknown(kind, str(value), known))
        return None

    return read


RECIPES: dict[str, tuple[Callable[..., Recipe], dict[str, ReadPart]]] = {
    "recolor": (Recolor, {"recolor": _outline, "to": _one_of("color", COLORS)}),
    "move": (Move, {"move": _outline, "to": _point}),
    "resize": (Resize, {"resize": _outline, "by": _amount}),
    "remove": (Remove, {"remove": _outline}),
    "paste": (Paste, {"paste": _cutout, "at": _point, "height": _amount}),
    "replace": (Replace, {"replace": _outline, "with": _cutout}),
    "texture": (Texture, {"texture": _outline, "with": _one_of("material", MATERIALS)}),
    "style": (Restyle, {"style": _one_of("style", STYLES)}),
    "background": (Background, {"background": _outlines, "with": _scene}),
}
"""Each recipe with its keys, in the order of its fields."""


def read_recipe(value: Any, spot: Location, images: RecipeSources) -> Recipe | None:
    """The recipe a part of the file describes; None after reporting everything that is wrong with it."""
    if not isinstance(value, dict) or not value:
        spot.report(f"a recipe is a mapping with one of {', '.join(RECIPES)}, got {format_value(value)}")
        return None
    kind = next((key for key in value if key in RECIPES), None)
    if kind is None:
        spot.report(describe_unknown("recipe", next(iter(value)), RECIPES))
        return None
    recipe, keys = RECIPES[kind]
    if set(value) != set(keys):
        spot.report(f"a recipe '{kind}' has the keys {', '.join(keys)}, got {', '.join(map(format_value, value))}")
        return None
    parts = [read(value[key], spot.within(key), images) for key, read in keys.items()]
    return None if any(part is None for part in parts) else recipe(*parts)
