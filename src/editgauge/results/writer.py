"""Write a run folder: resume a stopped run, start over when options changed, never lose or mix scores."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Literal, Self

import pyarrow as pa
from filelock import FileLock, Timeout

from editgauge._util.files import DRAFT_PREFIX, write_bytes, write_parts
from editgauge.errors import BadRunError
from editgauge.results import tables
from editgauge.results._journal import (
    EncodedEntry,
    Journal,
    JournalEntry,
    encode_line,
    images_of,
    journals,
    key_of,
    read_journal,
)
from editgauge.results._records import FILE as SETS
from editgauge.results._records import ScoreKey, Stamps, fingerprint
from editgauge.results.manifest import FILE, Manifest, now

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

ENTRIES_PER_JOURNAL = 20_000
SUPERSEDED = "superseded"
"""Subfolder of a run with earlier scores that were made with other options."""
State = Literal["new", "stale", "done"]
"""Not scored yet; scored from files that have changed since; scored from the files as they are."""
RUN_FILES = {"scores", "evidence", SUPERSEDED, ".lock", "edits.jsonl", SETS, "transcripts", "asked.json"}


class RunWriter:
    """The only writer of a run folder, used as a context manager; leaving it early keeps the run resumable.

    Args:
        folder: created if it does not exist.
        manifest: what is about to be run.
        edits: lines of `edits.jsonl`.

    Attributes:
        notes: what happened to an earlier run in this folder, for the user.

    """

    def __init__(self, folder: Path, manifest: Manifest, edits: bytes | Iterable[bytes]) -> None:
        self.folder = folder
        self.notes: list[str] = []
        try:
            _check_output_dir(folder)
            self._create_folders()
            self._lock = _acquire_lock(folder)
            try:
                lines = (edits,) if isinstance(edits, bytes) else edits
                self.manifest = self._resume_or_start(manifest, lines)
                self._journal = Journal(self._recover())
                self._build_index()
            except BaseException:
                self._lock.release()
                raise
        except OSError as error:
            raise BadRunError(f"'{folder}' cannot be written: {error.strerror}. Choose another folder.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._journal.close()
        finally:
            self._lock.release()

    def state(self, key: ScoreKey, images: Stamps) -> State:
        """Return whether an outcome was scored, and from image files in this state."""
        if fingerprint(key) not in self._keys:
            return "new"
        return "done" if fingerprint(key, *images) in self._stamped_keys else "stale"

    def count(self, method: str, protocol: str) -> int:
        """Return how many outcomes of a method a protocol has scored."""
        return self._counts[method, protocol]

    def iter_keys(self, reasons: Collection[str] | None = None) -> Iterator[ScoreKey]:
        """Yield the keys of all entries, or of those with a score missing for one of these reasons."""
        for number in self.manifest.segments:
            yield from tables.iter_keys(tables.filter_reasons(self._read_segment("scores", number), reasons))
        for entry in read_journal(self._journal.path) if self._journal.entries else ():
            if reasons is None or any(score["reason"] in reasons for score in entry["rows"]):
                yield key_of(entry)

    def append(self, entry: JournalEntry | EncodedEntry) -> None:
        """Append an entry; it survives a kill as soon as this returns."""
        encoded = entry.encode() if isinstance(entry, JournalEntry) else entry
        self._journal.append(encoded.line)
        self._add_to_index(encoded.key, encoded.images)
        if self._journal.entries >= ENTRIES_PER_JOURNAL:
            self._seal()

    def adopt(self, scores: pa.Table, evidence: pa.Table) -> None:
        """Append rows that are tables already, such as those of another run."""
        if self._journal.entries:
            self._seal()
        if scores.num_rows:
            self._write_segment(self._journal.path.stem, scores, evidence)
            self._journal = Journal(self._next_journal())
            for key, images in tables.iter_stamps(scores):
                self._add_to_index(key, images)

    def retire(self, stale: set[ScoreKey]) -> None:
        """Remove entries whose images have changed, so that they are scored again."""
        if not stale:
            return
        self._journal.close()
        for number in list(self.manifest.segments):
            self._rewrite_segment(number, stale)
        if self._journal.entries:
            lines = [encode_line(entry) for entry in read_journal(self._journal.path) if key_of(entry) not in stale]
            if lines:
                write_bytes(self._journal.path, b"".join(lines))
            else:
                self._journal.path.unlink()
        self._journal = Journal(self._journal.path)
        self._build_index()

    def finish(self) -> None:
        """Seal the last journal, record the hash of the set scores, and mark the run as finished."""
        if self._journal.entries:
            self._seal()
        sets = self.folder / SETS
        self.manifest.sets_sha256 = hashlib.sha256(sets.read_bytes()).hexdigest() if sets.exists() else ""
        self.manifest.finished = now()
        self.manifest.save(self.folder)

    def _resume_or_start(self, manifest: Manifest, edits: Iterable[bytes]) -> Manifest:
        changes: list[str] = []
        if self._moving.exists():
            changes.append("the last command was interrupted while it started over")
        elif (self.folder / FILE).exists():
            earlier = Manifest.load(self.folder)
            changes += earlier.differences(manifest)
            if not changes:
                return self._extend(earlier, manifest)
        elif any((self.folder / "scores").glob("[0-9]*")):
            changes.append(f"the earlier scores have no {FILE}")
        if changes:
            self.notes += [f"Starting over, because {change}." for change in changes]
            self.notes.append(f"The earlier scores are kept in {self._supersede()}.")
        write_parts(self.folder / "edits.jsonl", edits)
        manifest.started = now()
        manifest.save(self.folder)
        return manifest

    def _extend(self, earlier: Manifest, manifest: Manifest) -> Manifest:
        earlier.methods |= manifest.methods
        earlier.protocols |= manifest.protocols
        earlier.judges |= manifest.judges
        earlier.models |= manifest.models
        earlier.roles |= manifest.roles
        earlier.locations |= manifest.locations
        for method, counts in manifest.planned.items():
            earlier.planned[method] = {**earlier.planned.get(method, {}), **counts}
        earlier.environment, earlier.finished, earlier.shard = manifest.environment, None, manifest.shard
        earlier.sets_sha256 = ""
        earlier.save(self.folder)
        return earlier

    @property
    def _moving(self) -> Path:
        return self.folder / SUPERSEDED / ".moving"

    def _supersede(self) -> Path:
        """Move the earlier run to a numbered subfolder; after a kill the next command resumes from `.moving`."""
        self._moving.mkdir(parents=True, exist_ok=True)
        for name in ("scores", "evidence", "edits.jsonl", SETS, FILE):
            if (self.folder / name).exists() and not (self._moving / name).exists():
                (self.folder / name).rename(self._moving / name)
        self._create_folders()
        numbers = [int(path.name) for path in self._moving.parent.glob("[0-9]*") if path.name.isdigit()]
        return self._moving.rename(self._moving.with_name(f"{max(numbers, default=0) + 1:04d}"))

    def _create_folders(self) -> None:
        for kind in tables.SCHEMAS:
            (self.folder / kind).mkdir(parents=True, exist_ok=True)

    def _recover(self) -> Path:
        """Remove what a kill left between two steps of sealing, and return the journal to append to."""
        for folder in (self.folder, self.folder / "scores", self.folder / "evidence"):
            for draft in folder.glob(f"{DRAFT_PREFIX}*"):
                draft.unlink()
        for kind in tables.SCHEMAS:
            for sealed in (self.folder / kind).glob("*.parquet"):
                if sealed.stem not in self.manifest.segments:
                    sealed.unlink()
        for journal in journals(self.folder / "scores"):
            if journal.stem not in self.manifest.segments:
                return journal  # there is never more than one
            journal.unlink()
        return self._next_journal()

    def _next_journal(self) -> Path:
        last = max((int(number) for number in self.manifest.segments), default=0)
        return self.folder / "scores" / f"{last + 1:06d}.jsonl"

    def _seal(self) -> None:
        """Convert the journal to Parquet. Every step can be repeated after a kill; the manifest decides what counts."""
        self._journal.close()
        entries = list(read_journal(self._journal.path))
        self._write_segment(self._journal.path.stem, tables.scores_table(entries), tables.evidence_table(entries))
        self._journal.path.unlink()
        self._journal = Journal(self._next_journal())

    def _write_segment(self, number: str, scores: pa.Table, evidence: pa.Table) -> None:
        self.manifest.segments[number] = {
            "scores_sha256": tables.write_table(scores, self.folder / "scores" / f"{number}.parquet"),
            "evidence_sha256": tables.write_table(evidence, self.folder / "evidence" / f"{number}.parquet"),
        }
        self.manifest.save(self.folder)

    def _read_segment(self, kind: str, number: str) -> pa.Table:
        return tables.read_segment(self.folder, kind, number, self.manifest.segments)

    def _rewrite_segment(self, number: str, stale: set[ScoreKey]) -> None:
        """Write the remaining rows under a new number; saving the manifest is when it takes effect."""
        before = [self._read_segment(kind, number) for kind in tables.SCHEMAS]
        scores, evidence = (
            table.filter(pa.array([key not in stale for key in tables.iter_keys(table)], pa.bool_()))
            for table in before
        )
        if scores.num_rows == before[0].num_rows:
            return
        numbers = {int(self._journal.path.stem), *map(int, self.manifest.segments)}
        del self.manifest.segments[number]
        self._write_segment(f"{max(numbers) + 1:06d}", scores, evidence)
        for kind in tables.SCHEMAS:
            (self.folder / kind / f"{number}.parquet").unlink()

    def _build_index(self) -> None:
        self._keys: set[int] = set()
        self._stamped_keys: set[int] = set()
        self._counts: Counter[tuple[str, str]] = Counter()
        for key, images in self._iter_stamps():
            self._add_to_index(key, images)

    def _add_to_index(self, key: ScoreKey, images: Stamps) -> None:
        hashed = fingerprint(key)
        if hashed not in self._keys:
            self._keys.add(hashed)
            self._counts[key.method, key.protocol] += 1
        self._stamped_keys.add(fingerprint(key, *images))

    def _iter_stamps(self) -> Iterator[tuple[ScoreKey, Stamps]]:
        for number in self.manifest.segments:
            yield from tables.iter_stamps(self._read_segment("scores", number))
        for entry in read_journal(self._journal.path) if self._journal.entries else ():
            yield key_of(entry), images_of(entry)


def _check_output_dir(folder: Path) -> None:
    """Refuse a folder with files of others: a run writes an `edits.jsonl`, which must not replace a benchmark's."""
    if not folder.is_dir() or (folder / FILE).exists():
        return
    names = sorted(path.name for path in folder.iterdir())
    foreign = [name for name in names if name not in RUN_FILES and not name.startswith(DRAFT_PREFIX)]
    if foreign:
        raise BadRunError(f"'{folder}' is not empty and is no run: it holds '{foreign[0]}'. Choose another folder.")


def _acquire_lock(folder: Path) -> FileLock:
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BadRunError(
            f"Another process is writing to '{folder}'. Wait for it, or choose another folder."
        ) from error
    return lock
