"""What `editgauge.Monitor` costs a training loop: seconds of an evaluation by part, and of a step without one.

    python benchmarks/monitor.py [--edits 8] [--evaluations 3]

The editor takes no time: its outcomes are made before, each evaluation with noise of its own, so that no model has seen
them. What remains is the cost of the monitor: scoring with the default protocols, writing outcomes, sheet and history.
The first evaluation also loads the models and looks at the source images.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from PIL import Image

import editgauge
from editgauge._util.images import Pixels, read_image
from editgauge.benchmarks import open_benchmark
from editgauge.methods.reference.editors import recipe_of
from editgauge.methods.reference.operations import apply_recipe

STEPS = 100_000


def outcomes(edits: int) -> dict[str, Pixels]:
    """Return the right outcome for each instruction of the sample."""
    made = {}
    for edit in open_benchmark("sample").edits[:edits]:
        source = read_image(edit.source.path)
        made[edit.instruction] = apply_recipe(recipe_of(edit, source), source)
    return made


def editor(right: dict[str, Pixels], seed: int) -> Callable[[Image.Image, str], Pixels]:
    """Return an editor that answers with the right outcomes plus a little noise."""
    noise = np.random.default_rng((time.time_ns(), seed))
    new: dict[str, Pixels] = {
        instruction: np.clip(pixels + noise.integers(-2, 3, pixels.shape, np.int16), 0, 255).astype(np.uint8)
        for instruction, pixels in right.items()
    }
    return lambda _, instruction: new[instruction]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--edits", type=int, default=8)
    parser.add_argument("--evaluations", type=int, default=3)
    options = parser.parse_args()
    right = outcomes(options.edits)
    with (
        tempfile.TemporaryDirectory() as folder,
        editgauge.Monitor("sample", out=folder, limit=options.edits, every=STEPS + 1, log_to=[]) as monitor,
    ):
        for number in range(options.evaluations):
            edit = editor(right, number)
            began, processor = time.perf_counter(), time.process_time()
            result = monitor.evaluate(number, edit)
            took, processor = time.perf_counter() - began, time.process_time() - processor
            print(
                f"evaluation {number + 1} of {options.edits} edits: {took:5.2f} s, of it "
                f"{result.seconds_scoring:5.2f} s scoring; {processor / options.edits:.2f} CPU seconds an edit"
            )
        pipeline = SimpleNamespace(components={})
        began = time.perf_counter()
        for step in range(1, STEPS):
            monitor.on_step_end(step, pipeline)
        print(f"a step without an evaluation: {(time.perf_counter() - began) / STEPS * 1e6:.2f} microseconds")


if __name__ == "__main__":
    main()
