"""Processor time of every default protocol on one outcome at 512 pixels, and the memory of a process with all models.

    python benchmarks/one_outcome.py --outcomes 12

Times are also given in passes of the image embedder, which do not change with the machine or its load. Nothing is
remembered from run to run; the answers about a source serve all its outcomes, as in a run.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from editgauge.benchmarks import open_benchmark
from editgauge.core.concurrency import run_async
from editgauge.core.errors import CannotTell
from editgauge.core.images import Pixels, read_image, resized
from editgauge.core.types import Edit, Item, Outcome
from editgauge.engine.options import USUAL_PROTOCOLS
from editgauge.methods.reference.apply import followed
from editgauge.methods.reference.editors import recipe_of
from editgauge.models.profiles import choose_models
from editgauge.models.service import ModelService
from editgauge.protocols import open_protocol

SIDE = 512
PROTOCOLS = ("artifacts", *USUAL_PROTOCOLS)
ROLES = (
    "detector", "segmenter", "image_embedder", "classifier", "text_reader", "perceptual_distance",
)  # fmt: skip
MOST_SECONDS, MOST_MEGABYTES = 0.5, 1200
"""What a pass of all protocols over one outcome, and a process with all models, may take on one quiet core."""


def items(count: int) -> list[Item]:
    """Right outcomes of the sample's edits, at the longer side of 512 pixels."""
    made = []
    for edit in open_benchmark("sample").edits[:count]:
        source = read_image(edit.source.path)
        edited = followed(recipe_of(edit, source), source)
        made.append(_item(edit, source, edited))
    return made


def _item(edit: Edit, source: Pixels, edited: Pixels) -> Item:
    scale = SIDE / max(source.shape[:2])
    width, height = round(scale * source.shape[1]), round(scale * source.shape[0])
    outcome = Outcome(edit_id=edit.id, method="right", image=edit.source.path)
    return Item(
        edit=edit,
        outcome=outcome,
        source=resized(source, width, height),
        edited=resized(edited, width, height),
    )


async def measure(pictures: Sequence[Item]) -> tuple[dict[str, float], float]:
    """Seconds by protocol, and of one pass of the image embedder."""
    seconds = dict.fromkeys(PROTOCOLS, 0.0)
    with ModelService(choose_models("lite", {}, ROLES).models, None) as see:
        for item in pictures[:1]:  # loads every model
            for name in PROTOCOLS:
                await _score(name, item, see)
            await see.read_text(item.edited)
        for item in pictures[1:]:
            for name in PROTOCOLS:
                begun = time.process_time()
                await _score(name, item, see)
                seconds[name] += (time.process_time() - begun) / (len(pictures) - 1)
        begun = time.process_time()
        for item in pictures[1:]:
            await see.patches(item.edited[::-1].copy())
        return seconds, (time.process_time() - begun) / (len(pictures) - 1)


async def _score(protocol: str, item: Item, see: ModelService) -> None:
    with suppress(CannotTell):  # no answer takes its time, too
        await open_protocol(protocol).score(item, see)  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--outcomes", type=int, default=12)
    seconds, one_pass = run_async(measure(items(parser.parse_args().outcomes + 1)))
    rows = {**seconds, "all": sum(seconds.values())}
    lines = [f"{name:13} {took:6.3f} s  {took / one_pass:5.1f} passes of the embedder" for name, took in rows.items()]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines.append(f"limit {MOST_SECONDS} s on a quiet core; peak memory {peak:.0f} MB, limit {MOST_MEGABYTES} MB")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
