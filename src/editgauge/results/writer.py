"""Writing a run: continue where it stopped, start over when options changed, never lose or mix what was written."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Literal, Self

import pyarrow as pa
from filelock import FileLock, Timeout

from editgauge._util.files import DRAFT, write_bytes, write_parts
from editgauge.errors import BadRunError
from editgauge.results import segments
from editgauge.results.journal import Journal, journals, read_journal
from editgauge.results.manifest import FILE, Manifest, now
from editgauge.results.records import Key, Record, Stamps, fingerprint
from editgauge.results.sets import FILE as SETS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

RECORDS_IN_A_JOURNAL = 20_000
SUPERSEDED = "superseded"
"""The folder of a run in which the scores of before it started over are kept."""
State = Literal["new", "stale", "done"]
"""Not scored yet; scored from files that have changed since; scored from these very files."""
OUR_NAMES = {"scores", "evidence", SUPERSEDED, ".lock", "edits.jsonl", SETS, "transcripts", "asked.json"}


class RunWriter:
    """The single writer of a run folder. Use it as a context manager; leaving it early keeps the run resumable."""

    def __init__(self, folder: Path, manifest: Manifest, edits: bytes | Iterable[bytes]) -> None:
        self.folder = folder
        self.notes: list[str] = []
        """What a user should be told about an earlier run into this folder."""
        try:
            _refuse_a_folder_of_others(folder)
            self._make_folders()
            self._lock = _locked(folder)
            try:
                lines = (edits,) if isinstance(edits, bytes) else edits
                self.manifest = self._continued_or_new(manifest, lines)
                self._journal = Journal(self._recover())
                self._index()
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

    def state(self, key: Key, images: Stamps) -> State:
        """Whether this was scored, and from these very files: source, outcome and ground truth."""
        if fingerprint(key) not in self._known:
            return "new"
        return "done" if fingerprint(key, *images) in self._fresh else "stale"

    def count(self, method: str, protocol: str) -> int:
        """How many records there are."""
        return self._counts[method, protocol]

    def recorded(self, reasons: Collection[str] | None = None) -> Iterator[Key]:
        """What there is a record of; only where a score is lacking for one of these reasons, if some are given."""
        for number in self.manifest.segments:
            yield from segments.keys(segments.of_reasons(self._read_segment("scores", number), reasons))
        for record in read_journal(self._journal.path) if self._journal.records else ():
            if reasons is None or any(row.reason in reasons for row in record.rows):
                yield record.key

    def append(self, record: Record) -> None:
        """Keeps a record; it survives a kill as soon as this returns."""
        self._journal.append(record)
        self._note(record.key, record.images)
        if self._journal.records >= RECORDS_IN_A_JOURNAL:
            self._seal()

    def adopt(self, scores: pa.Table, evidence: pa.Table) -> None:
        """Keeps records that are columns already, such as those of another run."""
        if self._journal.records:
            self._seal()
        if scores.num_rows:
            self._write_segment(self._journal.path.stem, scores, evidence)
            self._journal = Journal(self._next_journal())
            for key, images in segments.stamps(scores):
                self._note(key, images)

    def retire(self, stale: set[Key]) -> None:
        """Forgets records whose images have changed since, so that they are scored again."""
        if not stale:
            return
        self._journal.close()
        for number in list(self.manifest.segments):
            self._rewrite_segment(number, stale)
        if self._journal.records:
            kept = [record.to_line() for record in read_journal(self._journal.path) if record.key not in stale]
            if kept:
                write_bytes(self._journal.path, b"".join(kept))
            else:
                self._journal.path.unlink()
        self._journal = Journal(self._journal.path)
        self._index()

    def finish(self) -> None:
        """Seals the last journal, takes down what the sets are, and marks the run as finished."""
        if self._journal.records:
            self._seal()
        sets = self.folder / SETS
        self.manifest.sets_sha256 = hashlib.sha256(sets.read_bytes()).hexdigest() if sets.exists() else ""
        self.manifest.finished = now()
        self.manifest.save(self.folder)

    def _continued_or_new(self, wanted: Manifest, edits: Iterable[bytes]) -> Manifest:
        changes: list[str] = []
        if self._moving.exists():
            changes.append("the last command was interrupted while it started over")
        elif (self.folder / FILE).exists():
            earlier = Manifest.load(self.folder)
            changes += earlier.differences(wanted)
            if not changes:
                return self._extended(earlier, wanted)
        elif any((self.folder / "scores").glob("[0-9]*")):
            changes.append(f"the earlier scores have no {FILE}")
        if changes:
            self.notes += [f"Starting over, because {change}." for change in changes]
            self.notes.append(f"The earlier scores are kept in {self._set_aside()}.")
        write_parts(self.folder / "edits.jsonl", edits)
        wanted.started = now()
        wanted.save(self.folder)
        return wanted

    def _extended(self, earlier: Manifest, wanted: Manifest) -> Manifest:
        earlier.methods |= wanted.methods
        earlier.protocols |= wanted.protocols
        earlier.judges |= wanted.judges
        earlier.models |= wanted.models
        earlier.roles |= wanted.roles
        earlier.places |= wanted.places
        for method, counts in wanted.planned.items():
            earlier.planned[method] = {**earlier.planned.get(method, {}), **counts}
        earlier.environment, earlier.finished, earlier.shard = wanted.environment, None, wanted.shard
        earlier.sets_sha256 = ""
        earlier.save(self.folder)
        return earlier

    @property
    def _moving(self) -> Path:
        return self.folder / SUPERSEDED / ".moving"

    def _set_aside(self) -> Path:
        """Moves the earlier run away, part by part, then gives it its number. A kill leaves `.moving` to go on with."""
        self._moving.mkdir(parents=True, exist_ok=True)
        for name in ("scores", "evidence", "edits.jsonl", SETS, FILE):
            if (self.folder / name).exists() and not (self._moving / name).exists():
                (self.folder / name).rename(self._moving / name)
        self._make_folders()
        taken = [int(place.name) for place in self._moving.parent.glob("[0-9]*") if place.name.isdigit()]
        return self._moving.rename(self._moving.with_name(f"{max(taken, default=0) + 1:04d}"))

    def _make_folders(self) -> None:
        for kind in segments.SCHEMAS:
            (self.folder / kind).mkdir(parents=True, exist_ok=True)

    def _recover(self) -> Path:
        """Clears what a kill left between two steps of sealing, and gives the journal to write to."""
        for place in (self.folder, self.folder / "scores", self.folder / "evidence"):
            for draft in place.glob(f"{DRAFT}*"):
                draft.unlink()
        for kind in segments.SCHEMAS:
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
        """Turns the journal into columns. Every step can be repeated after a kill; the manifest decides what counts."""
        self._journal.close()
        records = list(read_journal(self._journal.path))
        self._write_segment(self._journal.path.stem, segments.scores_table(records), segments.evidence_table(records))
        self._journal.path.unlink()
        self._journal = Journal(self._next_journal())

    def _write_segment(self, number: str, scores: pa.Table, evidence: pa.Table) -> None:
        self.manifest.segments[number] = {
            "scores_sha256": segments.write_table(scores, self.folder / "scores" / f"{number}.parquet"),
            "evidence_sha256": segments.write_table(evidence, self.folder / "evidence" / f"{number}.parquet"),
        }
        self.manifest.save(self.folder)

    def _read_segment(self, kind: str, number: str) -> pa.Table:
        return segments.read_segment(self.folder, kind, number, self.manifest.segments)

    def _rewrite_segment(self, number: str, stale: set[Key]) -> None:
        """Writes the rest under a new number; saving the manifest is the instant at which it takes effect."""
        whole = [self._read_segment(kind, number) for kind in segments.SCHEMAS]
        scores, evidence = (
            table.filter(pa.array([key not in stale for key in segments.keys(table)], pa.bool_())) for table in whole
        )
        if scores.num_rows == whole[0].num_rows:
            return
        taken = {int(self._journal.path.stem), *map(int, self.manifest.segments)}
        del self.manifest.segments[number]
        self._write_segment(f"{max(taken) + 1:06d}", scores, evidence)
        for kind in segments.SCHEMAS:
            (self.folder / kind / f"{number}.parquet").unlink()

    def _index(self) -> None:
        self._known: set[int] = set()
        self._fresh: set[int] = set()
        self._counts: Counter[tuple[str, str]] = Counter()
        for key, images in self._stamps():
            self._note(key, images)

    def _note(self, key: Key, images: Stamps) -> None:
        known = fingerprint(key)
        if known not in self._known:
            self._known.add(known)
            self._counts[key.method, key.protocol] += 1
        self._fresh.add(fingerprint(key, *images))

    def _stamps(self) -> Iterator[tuple[Key, Stamps]]:
        for number in self.manifest.segments:
            yield from segments.stamps(self._read_segment("scores", number))
        for record in read_journal(self._journal.path) if self._journal.records else ():
            yield record.key, record.images


def _refuse_a_folder_of_others(folder: Path) -> None:
    """A run writes an `edits.jsonl`, which must not replace a benchmark's."""
    if not folder.is_dir() or (folder / FILE).exists():
        return
    names = sorted(path.name for path in folder.iterdir())
    others = [name for name in names if name not in OUR_NAMES and not name.startswith(DRAFT)]
    if others:
        raise BadRunError(f"'{folder}' is not empty and is no run: it holds '{others[0]}'. Choose another folder.")


def _locked(folder: Path) -> FileLock:
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BadRunError(
            f"Another process is writing to '{folder}'. Wait for it, or choose another folder."
        ) from error
    return lock
