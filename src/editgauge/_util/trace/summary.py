"""The profile of a run: a timeline that Perfetto and chrome://tracing open, and its sums, in a folder of the run.

Every process that scores leaves a part when it ends; `gather` makes one profile of the parts.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editgauge._util.files import read_text, write_json, write_parts, write_text

FOLDER = "profile"
TIMELINE = "timeline.json"
SUMS = "sums.json"
PART = "part-"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a stage of the work on something took, over all processes."""

    of: str
    """A model, a protocol, `pictures`, a function."""
    stage: str
    seconds: float
    times: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a run went."""

    processes: int
    seconds: float
    """How long the processes were there, together."""
    spent: tuple[Spent, ...]
    left_out: int = 0
    """Spans that are in the sums but not in the timeline, because there were too many."""


def begin(run: Path) -> Path:
    """The folder of a new profile; what an earlier one left is gone."""
    folder = run / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write_part(folder: Path, part: Mapping[str, Any]) -> None:
    """What one process has to tell, as `Timeline.snapshot` says it."""
    write_text(folder / f"{PART}{secrets.token_hex(8)}.json", json.dumps(part))


def gather(folder: Path) -> Profile:
    """Makes one profile of the parts of all processes."""
    parts = sorted(folder.glob(f"{PART}*.json"))
    sums: dict[tuple[str, str], list[float]] = {}
    seconds, left_out = 0.0, 0
    for part in parts:
        trace = _read(part)
        seconds, left_out = seconds + trace["seconds"], left_out + trace["left_out"]
        for row in trace["sums"]:
            sum_ = sums.setdefault((row["of"], row["stage"]), [0.0, 0])
            sum_[0] += row["seconds"]
            sum_[1] += row["times"]
    spent = tuple(Spent(of, stage, took, int(times)) for (of, stage), (took, times) in sorted(sums.items()))
    profile = Profile(len(parts), seconds, spent, left_out)
    write_parts(folder / TIMELINE, _trace(parts))
    write_json(folder / SUMS, _as_json(profile))
    for part in parts:
        part.unlink()
    return profile


def read_profile(run: Path) -> Profile | None:
    """The profile of a run; None when it was not asked for."""
    path = run / FOLDER / SUMS
    if not path.is_file():
        return None
    trace = _read(path)
    spent = tuple(Spent(**row) for row in trace["spent"])
    return Profile(trace["processes"], trace["seconds"], spent, trace["left_out"])


def _as_json(profile: Profile) -> dict[str, Any]:
    rows = [{"of": s.of, "stage": s.stage, "seconds": round(s.seconds, 6), "times": s.times} for s in profile.spent]
    seconds = round(profile.seconds, 6)
    return {"processes": profile.processes, "seconds": seconds, "left_out": profile.left_out, "spent": rows}


def _trace(parts: list[Path]) -> Iterator[bytes]:
    """One part after the other, so that never more than one is in memory."""
    yield b'{"displayTimeUnit":"ms","traceEvents":['
    comma = b"\n"
    for number, part in enumerate(parts, 1):
        for event in _numbered(_read(part), number):
            yield comma + json.dumps(event).encode()
            comma = b",\n"
    yield b"\n]}\n"


def _numbered(part: Mapping[str, Any], process: int) -> Iterator[dict[str, Any]]:
    """The events of a process: viewers want numbers for processes and threads, and their names apart."""
    name = f"process {part['process']} on {part['host']}"
    yield {"name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": {"name": name}}
    tracks: dict[str, int] = {}
    for event in part["traceEvents"]:
        track = event["tid"]
        if track not in tracks:
            tracks[track] = len(tracks) + 1
            yield {"name": "thread_name", "ph": "M", "pid": process, "tid": tracks[track], "args": {"name": track}}
        yield event | {"pid": process, "tid": tracks[track]}


def _read(path: Path) -> Any:
    return json.loads(read_text(path))
