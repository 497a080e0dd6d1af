"""The verb `merge`: several runs of one benchmark, such as shards, as one run."""

from __future__ import annotations

import hashlib
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from editgauge._util.files import open_regular, write_bytes
from editgauge._util.progress import log_info
from editgauge.engine._judges import FOLDER
from editgauge.engine._run_plan import read_shard
from editgauge.errors import BadInputError, BadRunError, EditGaugeError
from editgauge.protocols import open_protocol
from editgauge.results import Run, RunWriter, ScoreKey, tables
from editgauge.results._records import SetScore, write_sets
from editgauge.results.edits import INPUTS_FILE
from editgauge.results.manifest import Manifest

MAX_NAMED = 5
"""Differing scores that a message names at most."""


def merge(runs: Sequence[str | Path], *, out: str | Path, quiet: bool = False) -> Run:
    """Join several runs into one: shards of a run, or runs of different methods on one benchmark.

    Their manifests must agree, and what two of them hold must be the same in both. Run the same command again to
    continue after a stop.

    Example:
        $ editgauge merge shards/1 shards/2 --out run
        >>> editgauge.merge(["shards/1", "shards/2"], out="run")

    Args:
        runs: run folders: all shards of a run, or runs of different methods.
        out: run folder to write.
        quiet: print no remarks.

    """
    opened = [Run.open(Path(run)) for run in ([runs] if isinstance(runs, str | Path) else runs)]
    if not opened:
        raise BadInputError("Give the run folders that are to become one.")
    manifest = _united(opened)
    problems = [f"'{run.folder}' is not finished; give its `run` command again" for run in opened if not _is_done(run)]
    if problems:
        raise BadInputError("Only finished runs can be merged.", problems)
    with RunWriter(Path(out), manifest, _lines(opened[0].folder / "edits.jsonl")) as writer:
        for note in writer.notes:
            log_info(note, quiet=quiet)
        _unite(writer, opened)
        _copy_transcripts(opened, Path(out))
        sets, lacking = _sets(opened)
        if sets:
            write_sets(Path(out), sets)
        for run in opened:
            if (listed := run.folder / INPUTS_FILE).is_file():
                write_bytes(Path(out) / INPUTS_FILE, listed.read_bytes())
        writer.finish()
    merged = Run.open(Path(out))
    log_info(f"{merged.planned} records of {len(opened)} runs are in {out}.", quiet=quiet)
    if lacking:
        again = "run again with the same output folder and without a shard; nothing is scored twice"
        log_info(f"Scores of whole sets by {', '.join(lacking)} are not made yet: {again}.", quiet=quiet)
    return merged


def _is_done(run: Run) -> bool:
    return run.manifest.finished is not None


def _united(runs: Sequence[Run]) -> Manifest:
    """One manifest for all; raises `BadInputError` with everything in which they do not agree."""
    first = runs[0].manifest
    problems = [
        f"'{run.folder}': {difference}" for run in runs[1:] for difference in first.differences(run.manifest)
    ] + _missing_shards(runs)
    if problems:
        raise BadInputError(f"These runs cannot become one; compared with '{runs[0].folder}':", problems)
    united = replace(first, segments={}, shard="", finished=None, methods={}, protocols={}, judges={}, planned={})
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for run in runs:
        united.methods = {**run.manifest.methods, **united.methods}
        united.protocols = {**run.manifest.protocols, **united.protocols}
        united.judges = {**run.manifest.judges, **united.judges}
        united.models = {**run.manifest.models, **united.models}
        united.roles = {**run.manifest.roles, **united.roles}
        for method, planned in run.manifest.planned.items():
            for protocol, count in planned.items():
                counts[method, protocol][run.manifest.shard] = count
    united.methods = {name: united.methods[name] for run in runs for name in run.manifest.methods}
    united.protocols = {name: united.protocols[name] for run in runs for name in run.manifest.protocols}
    for (method, protocol), by_shard in counts.items():
        united.planned.setdefault(method, {})[protocol] = sum(by_shard.values())
    return united


def _missing_shards(runs: Sequence[Run]) -> list[str]:
    shards = [read_shard(run.manifest.shard) for run in runs if run.manifest.shard]
    if not shards:
        return []
    if len({shard.of for shard in shards}) > 1:
        return [f"they are parts of different divisions: {', '.join(sorted(set(map(str, shards))))}"]
    of = shards[0].of
    missing = sorted(set(range(1, of + 1)) - {shard.number for shard in shards})
    has_complete_run = any(not run.manifest.shard for run in runs)
    return [f"shard {number}/{of} is not among them" for number in missing] + (
        ["some are shards and some are whole runs"] if has_complete_run else []
    )


def _unite(writer: RunWriter, runs: Sequence[Run]) -> None:
    """Brings all records together, those of each part of a run at once."""
    digest_of: dict[bytes, bytes] = {}
    for scores, _ in Run.open(writer.folder).parts():  # what an earlier command brought before it was stopped
        digest_of |= dict(_digests(scores))
    for run in runs:
        for scores, evidence in run.parts():
            digests = dict(_digests(scores))
            twice = digests.keys() & digest_of.keys()
            if any(digests[key] != digest_of[key] for key in twice):
                raise BadRunError(_differing(scores, digests, digest_of, run.folder))
            digest_of |= digests
            writer.adopt(*(_without(table, twice) for table in (scores, evidence)))


def _digests(scores: pa.Table) -> Iterator[tuple[bytes, bytes]]:
    """For every record a mark of its key, and one of what it says."""
    columns = (*ScoreKey._fields, "name", "value", "reason")
    for key, these in groupby(tables.iter_rows(scores, columns), key=lambda row: row[:4]):
        yield _mark(key), _mark([row[4:] for row in these])


def _mark(content: object) -> bytes:
    return hashlib.blake2b(repr(content).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _without(table: pa.Table, twice: set[bytes]) -> pa.Table:
    if not twice:
        return table
    keys = tables.iter_rows(table, ScoreKey._fields)
    return table.filter(pa.array([_mark(key) not in twice for key in keys], pa.bool_()))


def _differing(scores: pa.Table, digests: dict[bytes, bytes], digest_of: dict[bytes, bytes], folder: Path) -> str:
    keys = dict.fromkeys(tables.iter_rows(scores, ScoreKey._fields))
    other = [key for key in keys if (mark := _mark(key)) in digest_of and digests[mark] != digest_of[mark]]
    named = ", ".join("'{}' by '{}', seed {}, {}".format(*key) for key in other[:MAX_NAMED])
    more = f" and {len(other) - MAX_NAMED} more" if len(other) > MAX_NAMED else ""
    return f"'{folder}' says something else than another of the runs about {named}{more}; leave one of the two away."


def _copy_transcripts(runs: Sequence[Run], out: Path) -> None:
    """Their files have names of their own, so that none takes another's place."""
    for run in runs:
        for file in sorted((run.folder / FOLDER).glob("*.jsonl")):
            (out / FOLDER).mkdir(exist_ok=True)
            shutil.copy2(file, out / FOLDER / file.name)


def _sets(runs: Sequence[Run]) -> tuple[list[SetScore], list[str]]:
    """Return the set scores of complete runs, and the protocols whose sets were split over shards."""
    scores = {(score.protocol, score.name, score.method, score.edit_type): score for run in runs for score in run.sets}
    if not any(run.manifest.shard for run in runs):
        return list(scores.values()), []
    return [], [name for name in runs[0].manifest.protocols if _has_sets(name)]


def _has_sets(protocol: str) -> bool:
    try:
        return bool(open_protocol(protocol).sets)
    except EditGaugeError:  # a plug-in that is not installed where runs are merged
        return False


def _lines(path: Path) -> Iterator[bytes]:
    with open_regular(path) as lines:
        yield from lines
