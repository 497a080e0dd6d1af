from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from editgauge import CannotEditError, Edit, Method, Pixels, RefusedError, read_options


class Negative:
    name = "negative"
    about = "Turns every picture into its negative."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        return np.asarray(255 - source, dtype=np.uint8)


class Clumsy:
    """Does what the edit's `subject` says."""

    name = "clumsy"
    about = "Fails in every way a method can."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        given: Any = source
        match edit.subject:
            case "raises":
                raise RuntimeError("no such luck")
            case "raises-surrogates":
                raise RuntimeError("a name that is not text: \udce9")
            case "empty":
                given = source[:0]
            case "refuses":
                raise RefusedError("the filter says no")
            case "cannot":
                raise CannotEditError("there is no cat")
            case "floats":
                given = source / 255.0
            case "gray":
                given = source[..., 0]
            case "none":
                given = None
        pixels: Pixels = given
        return pixels


def brighter(edit: Edit, source: Pixels, seed: int, light: int = 40) -> Pixels:
    """Adds light everywhere.

    The seed adds a little more.
    """
    return np.asarray(np.clip(source.astype(int) + light + seed, 0, 255), dtype=np.uint8)


class Mirrored(Method):
    """Told by a caption, one edit at a time, and slow if asked to be."""

    name = "mirrored"
    about = "Turns the picture around."
    at_once = 1
    form = "caption"

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self.options: dict[str, Any] = {"shift": 0, "wait": 0.0, **(options or {})}

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        time.sleep(self.options["wait"])
        return np.asarray(np.roll(source[:, ::-1], self.options["shift"] + seed, axis=1), dtype=np.uint8)

    def settings(self) -> dict[str, Any]:
        return {"model": "mirror", "revision": "1", "shift": self.options["shift"]}

    def variant(self, options: Mapping[str, str]) -> Mirrored:
        return Mirrored(read_options(self.name, self.options, options))


negative = Negative()
clumsy = Clumsy()
