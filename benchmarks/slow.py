"""What was slow, and what is left of it: the plain way beside ours, in one run. Part of benchmarks/ratios.py."""

from __future__ import annotations

import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

import cv2
import numpy as np
import skimage.data
from metrics import photograph_and_noise
from rows import TURNS, Row, in_milliseconds
from scale import cpu_of_children

from editgauge._util.images import ImageFile, Pixels, Unit, read_image
from editgauge._vision import registration
from editgauge._vision.changed_regions import find_changes
from editgauge.engine import _scoring
from editgauge.metrics.ssim import ssim
from editgauge.models import models
from editgauge.types import Edit, Outcome

SIDE, EDITS_OF_A_SOURCE = 512, 5
WORDS = ("cat", "cup", "person", "chair", "dog")
EVERYTHING = """
import importlib, pkgutil, editgauge
for module in pkgutil.walk_packages(editgauge.__path__, "editgauge."):
    if "__main__" not in module.name:
        importlib.import_module(module.name)
"""


def slow_things(detector: str) -> Iterator[Row]:
    """One row for each thing that was removed, on one thread."""
    cv2.setNumThreads(1)
    source = np.asarray(skimage.data.astronaut(), np.uint8)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "source.png"
        cv2.imwrite(str(path), source[..., ::-1])
        yield decoded(path)
        yield sent(path)
    yield looked_at(models.get(detector)(), source)
    yield similar()
    yield from aligned(source)
    yield imported()


def decoded(path: Path) -> Row:
    """Decode a source again for each of its edits."""

    def once() -> None:
        _scoring._decoded_as_stamped.cache_clear()
        for _ in range(EDITS_OF_A_SOURCE):
            _scoring._decoded(path)

    what = f"the source of {EDITS_OF_A_SOURCE} edits, {SIDE} x {SIDE}"
    return in_milliseconds(what, "decoded for each edit", lambda: [read_image(path) for _ in WORDS], once)


def sent(path: Path) -> Row:
    """Measure what is sent to a worker process: pixels or their path."""
    edit = Edit(id="e0", source=ImageFile("source.png", path), type="color", instruction="make it blue")
    task = _scoring.ScoringTask(0, edit, Outcome(edit_id="e0", method="m", image=path), ("preservation",))
    arrays = [read_image(path), read_image(path)]
    return in_milliseconds(
        "an item on its way to a worker",
        f"both pictures, {len(pickle.dumps(arrays)):,} bytes",
        lambda: pickle.loads(pickle.dumps(arrays)),
        lambda: pickle.loads(pickle.dumps(task)),
    )._replace(ours=f"ours: a task, {len(pickle.dumps(task)):,} bytes")


def looked_at(detector: object, picture: Pixels) -> Row:
    """Questions about one picture: resized and looked at for each, or once."""
    look, find = detector.look, detector.find  # type: ignore[attr-defined]

    def each(words: Sequence[str]) -> None:
        for word in words:
            find([(look([picture])[0], (word,))])

    def once(words: Sequence[str]) -> None:
        seen = look([picture])[0]
        find([(seen, (word,)) for word in words])

    what = f"{len(WORDS)} questions about one picture"
    return in_milliseconds(what, "resized and looked at for each", partial(each, WORDS), partial(once, WORDS))


def similar() -> Row:
    """SSIM with five filters over whole pictures, and as it is."""
    pair = photograph_and_noise(SIDE)
    plain, ours = partial(five_filters, *pair), partial(ssim, *pair)
    return in_milliseconds(f"ssim, {SIDE} x {SIDE}", "five filters, whole pictures", plain, ours)


def five_filters(before: Unit, after: Unit) -> float:
    """Compute the formula of the paper step by step."""
    one, other = before.astype(np.float64), after.astype(np.float64)
    mean_one, mean_other, square_one, square_other, product = (
        cv2.GaussianBlur(each, (11, 11), 1.5) for each in (one, other, one**2, other**2, one * other)
    )
    means = (2 * mean_one * mean_other + 1e-4) / (mean_one**2 + mean_other**2 + 1e-4)
    varies_one, varies_other = square_one - mean_one**2, square_other - mean_other**2
    structure = (2 * (product - mean_one * mean_other) + 9e-4) / (varies_one + varies_other + 9e-4)
    return float((means * structure)[5:-5, 5:-5].mean())


def aligned(source: Pixels) -> Iterator[Row]:
    """Registration where the frame stayed, where it stayed and all was encoded anew, and where it moved."""
    edited = source.copy()
    edited[100:200, 100:200] = 255 - edited[100:200, 100:200]
    encoded = cv2.imdecode(cv2.imencode(".jpg", edited, [cv2.IMWRITE_JPEG_QUALITY, 75])[1], cv2.IMREAD_COLOR)
    cropped = cv2.resize(edited[8:-6, 10:-4], (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    cases = {"a small edit": edited, "the same, as JPEG 75": encoded, "a crop": cropped}
    for name, picture in cases.items():
        after = np.asarray(picture, np.uint8)
        plain = partial(with_key_points_always, source, after)
        yield in_milliseconds(f"align, {name}", "key points always", plain, partial(registration.align, source, after))
    yield in_milliseconds(
        "find_changes, a small edit",
        "key points always",
        partial(with_key_points_always, source, edited, find_changes),
        partial(find_changes, source, edited),
    )


def with_key_points_always(source: Pixels, edited: Pixels, what: object = registration.align) -> None:
    """Compute the full algorithm: no early exit, no tracked corners instead of key points."""
    with (
        patch.object(registration, "_may_be_beaten", lambda known: True),
        patch.object(registration, "MOST_AGREE", float("inf")),
    ):
        what(source, edited)  # type: ignore[operator]


def imported() -> Row:
    """Measure an import of the package with all of its dependencies, and a bare import."""
    plain, ours = (
        statistics.median(processor_time(script) for _ in range(TURNS // 2))
        for script in (EVERYTHING, "import editgauge")
    )
    return Row("import editgauge", "every module at once", 1e3 * plain, "ours: when asked for", 1e3 * ours, "ms")


def processor_time(script: str) -> float:
    """Seconds of a Python of its own."""
    before = cpu_of_children()
    subprocess.run([sys.executable, "-c", script], check=True)
    return cpu_of_children() - before
