"""What a run into a folder would still score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from editgauge.core.run import Run, segments
from editgauge.core.run.manifest import Manifest
from editgauge.core.run.records import fingerprint
from editgauge.engine.forecast.request import is_run
from editgauge.engine.plan.run_plan import RunPlan
from editgauge.engine.plan.tasks import AGAIN, all_tasks, keys_of
from editgauge.engine.worker.scoring import ScoringTask, stamps_of


class Remaining:
    """The outcomes that a run into a folder would still score, each with the protocols that are left of it."""

    def __init__(self, wanted: RunPlan, out: Path) -> None:
        self._wanted = wanted
        self._held = _held(wanted, out)

    def __iter__(self) -> Iterator[ScoringTask]:
        for task in all_tasks(self._wanted):
            stamps = stamps_of(task)
            left = tuple(key.protocol for key in keys_of(task) if fingerprint(key, *stamps) not in self._held)
            if left:
                yield replace(task, protocols=left)


def _held(wanted: RunPlan, out: Path) -> set[int]:
    """What the run holds and would keep; nothing when it would start over."""
    if not is_run(out) or Manifest.load(out).differences(wanted.manifest):
        return set()
    scores = Run.open(out).scores
    again = set(segments.keys(segments.of_reasons(scores, AGAIN)))
    return {fingerprint(key, *images) for key, images in segments.stamps(scores) if key not in again}
