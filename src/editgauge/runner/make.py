"""The verb `edit`: the outcomes of a method for every edit of a benchmark."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from editgauge import __version__
from editgauge.benchmarks import open_benchmark
from editgauge.core.edits import to_lines
from editgauge.core.errors import BadImage, CannotEdit
from editgauge.core.files import write_text
from editgauge.core.images import read_image, write_png
from editgauge.core.progress import progress, say
from editgauge.methods import Method, methods
from editgauge.methods.outcomes import LIST
from editgauge.runner.claims import claim

if TYPE_CHECKING:
    from editgauge.core.types import Benchmark, Edit

SETTINGS = "method.json"


@dataclass(frozen=True, slots=True)
class Made:
    """What `edit` left in the folder."""

    folder: Path
    made: int
    kept: int
    absences: dict[str, str]
    """Edit id to why there is no outcome."""


def edit(
    benchmark: str | Path,
    method: str,
    out: str | Path,
    data: str | Path | None = None,
    images: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> Made:
    """Makes the outcomes of a method for a benchmark, as `<out>/<edit id>.png` and a list of them.

    Given again it continues: outcomes that are there stay. An edit the method cannot do is recorded with the reason.

    Args:
        benchmark: a name (`editgauge list benchmarks`) or a folder of your own.
        method: one of `editgauge list methods`.
        out: the folder for the outcomes.
        data: where the benchmark's public files lie, for those that are not shipped.
        images: where its source images lie, when they come from elsewhere (such as a COCO folder).
        limit: only the first so many edits.
        seed: the same seed gives the same pixels.
        quiet: no progress, no remarks.
    """
    editor = methods.get(method)
    opened = open_benchmark(benchmark, data, images)
    edits = opened.edits[:limit]
    folder = Path(out)
    claim(folder, SETTINGS, _settings(opened, method, seed), "outcomes", "editgauge edit")
    kept = [each for each in edits if _file(folder, each).is_file()]
    left = [each for each in edits if not _file(folder, each).is_file()]
    absences: dict[str, str] = {}
    with (
        _one_thread_each(),
        ThreadPoolExecutor(os.cpu_count()) as pool,
        progress(f"{method}: editing", len(left), quiet=quiet) as advance,
    ):
        for turn in _turns(left):
            for each, absence in zip(turn, pool.map(lambda one: _make(editor, one, folder, seed), turn), strict=True):
                if absence is not None:
                    absences[each.id] = absence
                advance()
    write_text(folder / LIST, "".join(_line(each, absences, seed) for each in edits))
    made = len(left) - len(absences)
    say(f"{method}: {made} outcomes made, {len(kept)} kept, {len(absences)} absent, in {folder}", quiet=quiet)
    for edit_id, absence in list(absences.items())[:1]:
        say(f"  absent, for example: {edit_id}: {absence}", quiet=quiet)
    return Made(folder, made, len(kept), absences)


def _turns(edits: Iterable[Edit]) -> list[list[Edit]]:
    """The edits by turn: from the second on, the source is what the method itself made of the turn before."""
    by_turn: dict[int, list[Edit]] = {}
    for edit in edits:
        by_turn.setdefault(edit.turn if edit.follows else 1, []).append(edit)
    return [by_turn[turn] for turn in sorted(by_turn)]


def _make(editor: Method, edit: Edit, folder: Path, seed: int) -> str | None:
    """Writes the outcome; gives the reason when there is none. One edit that fails must not cost the others."""
    source = edit.source.path if edit.follows is None else folder / f"{edit.follows}.png"
    try:
        pixels = editor.edit(edit, read_image(source), seed)
    except (CannotEdit, BadImage) as reason:
        return str(reason)
    except Exception as error:
        return f"crashed: {type(error).__name__}: {error}"
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        what = f"{pixels.dtype} {pixels.shape}" if isinstance(pixels, np.ndarray) else type(pixels).__name__
        return f"crashed: the method gave {what} instead of uint8 (height, width, 3)"
    write_png(pixels, _file(folder, edit))
    return None


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """The edits themselves run side by side; afterwards the caller finds OpenCV as it was."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def _file(folder: Path, edit: Edit) -> Path:
    return folder / f"{edit.id}.png"


def _line(edit: Edit, absences: dict[str, str], seed: int) -> str:
    told: dict[str, Any] = {"id": edit.id, "seed": seed, "prompt": edit.instruction}
    if edit.id in absences:
        told["absence"] = absences[edit.id]
    else:
        told["image_path"] = f"{edit.id}.png"
    return json.dumps(told, ensure_ascii=False) + "\n"


def _settings(opened: Benchmark, method: str, seed: int) -> dict[str, Any]:
    recipes = repr([edit.recipe for edit in opened.edits]).encode()
    edits = hashlib.sha256(to_lines(opened.edits) + recipes).hexdigest()
    return {"method": method, "benchmark": opened.name, "edits_sha256": edits, "seed": seed, "editgauge": __version__}
