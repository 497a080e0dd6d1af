"""The features of the protocol `editgauge`, measured on every probe of a folder and kept in a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge._util.concurrency import run_async
from editgauge._util.images import read_image
from editgauge._util.progress import progress
from editgauge.audits.probes.probes import OUTCOMES, Probe, read_probes
from editgauge.benchmarks import open_benchmark
from editgauge.engine._scoring import build_item
from editgauge.models.cache import cache_dir
from editgauge.models.profiles import choose_models
from editgauge.models.service import ModelService
from editgauge.protocols.editgauge.features import features
from editgauge.protocols.editgauge.view import look
from editgauge.types import Outcome

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.asked import Values
    from editgauge.protocols.editgauge.features import Question

ROLES = ("detector", "segmenter", "image_embedder", "classifier", "text_reader")


@dataclass(frozen=True, slots=True)
class ProbeFeatures:
    """A probe with the values of its features."""

    probe: Probe
    masked: bool
    """Was the edit's mask known? Every probe that has one is measured without it as well."""
    values: dict[Question, Values]


def measure(folder: str | Path, out: str | Path, probes: Sequence[Probe], quiet: bool = False) -> None:
    """Appends what is not yet in the file, so that a second call goes on where the first stopped."""
    known = {measured.probe.id for measured in read_measured(folder, out)} if Path(out).is_file() else set()
    run_async(_measure(Path(folder), Path(out), [probe for probe in probes if probe.id not in known], quiet))


async def _measure(folder: Path, out: Path, probes: Sequence[Probe], quiet: bool) -> None:
    edits = {edit.id: edit for edit in open_benchmark(str(folder)).edits}
    chosen = choose_models("lite", {}, ROLES)
    with (
        ModelService(chosen.models, cache_dir()) as see,
        progress("measuring", len(probes), quiet=quiet) as advance,
        out.open("a", encoding="utf-8") as lines,
    ):
        for probe in probes:
            edit = edits[probe.id]
            image = folder / OUTCOMES / f"{probe.id}.png"
            outcome = Outcome(edit_id=probe.id, method="probes", image=image)
            view = await look(build_item(edit, outcome, read_image(edit.source.path), read_image(image)), see)
            for item in [view] if view.mask is None else [view, replace(view, mask=None)]:
                line = {"id": probe.id, "masked": item.mask is not None, "values": features(item)}
                lines.write(f"{json.dumps(line)}\n")
            lines.flush()
            advance()


def read_measured(folder: str | Path, out: str | Path) -> Iterator[ProbeFeatures]:
    """What was measured, with the truth of the folder."""
    truths = {probe.id: probe for probe in read_probes(folder)}
    for line in Path(out).read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["id"] in truths:
            yield ProbeFeatures(truths[row["id"]], row["masked"], row["values"])
