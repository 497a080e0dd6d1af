"""Processor time of every default protocol on one outcome at 512 pixels, and the memory of a process with all models.

    python benchmarks/one_outcome.py --outcomes 12

One core does all: numerical libraries use one thread, as in the worker of a run. Times are also given in passes of the
image embedder, which do not change with the machine or its load. Nothing is remembered from run to run. Each photograph
has two outcomes: with the first one everything is asked about both pictures, as when one pair is scored; with the next
one, the same outcome at two thirds of its resolution, only what concerns the outcome, as in a run over several methods.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

import cv2

from editgauge._util.batching import run_async
from editgauge._util.images import Pixels, read_image, resize_image
from editgauge.benchmarks import open_benchmark
from editgauge.engine._options import DEFAULT_PROTOCOLS, open_protocols_with_models
from editgauge.engine._schedule import THREAD_VARIABLES
from editgauge.errors import UnscorableError
from editgauge.methods.reference.editors import recipe_of
from editgauge.methods.reference.operations import apply_recipe
from editgauge.models.perception import ModelService
from editgauge.options import ModelOptions
from editgauge.protocols import Protocol
from editgauge.types import Edit, Item, Outcome

SIDE = 512
PROTOCOLS = (*DEFAULT_PROTOCOLS, "artifacts")
"""The usual ones first: what several need is counted for the first that asks, and they are to stand alone."""
FIRST, FURTHER = "first outcome of a photograph", "further outcome"
WORD = "dog"
MOST_SECONDS, MOST_OF_A_PAIR, MOST_MEGABYTES = 0.5, 1.0, 1200
"""What a pass of all protocols over one outcome, `score` of a pair with warm models, and a process with all models may
take on one quiet core."""


def items(count: int) -> list[Item]:
    """Right outcomes of the sample's edits, at the longer side of 512 pixels."""
    made = []
    for edit in open_benchmark("sample").edits[:count]:
        source = read_image(edit.source.path)
        edited = apply_recipe(recipe_of(edit, source), source)
        scale = SIDE / max(source.shape[:2])
        width, height = round(scale * source.shape[1]), round(scale * source.shape[0])
        made.append(_item(edit, resize_image(source, width, height), resize_image(edited, width, height)))
    return made


def redrawn(item: Item) -> Item:
    """Another outcome of the same edit."""
    height, width = item.edited.shape[:2]
    smaller = resize_image(item.edited, 2 * width // 3, 2 * height // 3)
    return _item(item.edit, item.source, resize_image(smaller, width, height))


def _item(edit: Edit, source: Pixels, edited: Pixels) -> Item:
    for picture in (source, edited):
        picture.setflags(write=False)  # as in a run: the hash of a picture is computed once
    outcome = Outcome(edit_id=edit.id, method="right", image=edit.source.path)
    return Item(edit=edit, outcome=outcome, source=source, edited=edited)


async def measure(pictures: Sequence[Item]) -> tuple[dict[str, dict[str, float]], float]:
    """Seconds by protocol, for first and further outcomes, and of one pass of the image embedder."""
    protocols, choice = open_protocols_with_models(PROTOCOLS, ModelOptions(models="lite"))
    seconds = {kind: dict.fromkeys(PROTOCOLS, 0.0) for kind in (FIRST, FURTHER)}
    count = len(pictures) - 1
    with ModelService(choice.models, None) as see:
        see.knows(WORD)
        for protocol in protocols:  # loads every model
            await _score(protocol, pictures[0], see)
        await see.read_text(pictures[0].edited)
        for item in pictures[1:]:
            for kind, outcome in ((FIRST, item), (FURTHER, redrawn(item))):
                for protocol in protocols:
                    begun = time.process_time()
                    await _score(protocol, outcome, see)
                    seconds[kind][protocol.name] += (time.process_time() - begun) / count
        begun = time.process_time()
        for item in pictures[1:]:
            await see.patches(item.edited[::-1].copy())
        return seconds, (time.process_time() - begun) / count


async def _score(protocol: Protocol, item: Item, see: ModelService) -> None:
    with suppress(UnscorableError):  # no answer takes its time, too
        await protocol.score(item, see)  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--outcomes", type=int, default=12)
    outcomes = parser.parse_args().outcomes
    one_thread = dict.fromkeys(THREAD_VARIABLES, "1")
    if not one_thread.items() <= os.environ.items():  # the libraries read it when they are loaded
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=os.environ | one_thread, check=False).returncode)
    cv2.setNumThreads(1)
    seconds, one_pass = run_async(measure(items(outcomes + 1)))
    lines = []
    for kind, by_protocol in seconds.items():
        pair = sum(by_protocol[name] for name in DEFAULT_PROTOCOLS)
        rows = {**by_protocol, "all": sum(by_protocol.values()), "without artifacts": pair}
        lines += [f"{kind}:"]
        lines += [
            f"  {name:17} {took:6.3f} s  {took / one_pass:5.1f} passes of the embedder" for name, took in rows.items()
        ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines.append(
        f"limits on a quiet core: {MOST_SECONDS} s an outcome, {MOST_OF_A_PAIR} s to score a pair without artifacts; "
        f"peak memory {peak:.0f} MB, limit {MOST_MEGABYTES} MB"
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
