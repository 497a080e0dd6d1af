"""The verb `verify`: is a run folder still what was measured?"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from editgauge._util.files import read_bytes
from editgauge._util.images import pixel_hash, read_image
from editgauge._util.progress import progress
from editgauge.engine.verify.recompute import BenchmarkPlace, Recomputed
from editgauge.engine.verify.recompute import recompute as score_again
from editgauge.errors import BadImageError, BadRunError
from editgauge.options import Natural
from editgauge.results import Key, Run, tables
from editgauge.results._journal import SIDES, journals, read_journal
from editgauge.results.sets import FILE as SETS

SAMPLE = 20
"""Outcomes that are scored again unless another number is asked for: seconds without a model, minutes with one."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and every problem found."""

    files: int
    images: int
    scores: int
    """Those with a value, as `diff` counts them."""
    problems: tuple[str, ...]
    recomputed: Recomputed = field(default_factory=Recomputed)
    """The sample that was scored again; its problems are among ours."""
    unscored: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify(
    run: str | Path,
    *,
    recompute: Natural = SAMPLE,
    benchmark: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> Verification:
    """Check that a run folder is unchanged: its files, its images, and a sample of recomputed scores.

    What is not available, such as a model in the same revision, is reported and not counted as verified. The exit code
    is 1 if there is a problem.

    Example:
        $ editgauge verify run
        $ editgauge verify run --recompute 200 --benchmark my-benchmark
        >>> editgauge.verify("run", recompute=200)

    Args:
        run: run folder.
        recompute: number of outcomes to score again, drawn at random; 0 for none.
        benchmark: the benchmark's folder, if it is no longer where the run found it.
        seed: random seed that draws the outcomes.
        quiet: print no progress.
    """
    opened = Run.open(Path(run))
    damage = list(_damaged_files(opened))
    if damage:
        return Verification(_count_files(opened), 0, 0, tuple(damage))
    stamps = _recorded_images(opened)
    problems: list[str] = []
    with progress("verifying images", len(stamps), quiet=quiet) as advance:
        for path, recorded in stamps.items():
            problems += _image_problems(Path(path), recorded)
            advance()
    problems += _missing_records(opened)
    problems += _repeated_records(opened)
    again = score_again(opened, recompute, BenchmarkPlace(benchmark, data, images), seed, quiet)
    unscored = opened.scores["value"].null_count
    return Verification(
        files=_count_files(opened),
        images=len(stamps),
        scores=opened.scores.num_rows - unscored,
        problems=(*problems, *again.problems),
        recomputed=again,
        unscored=unscored,
    )


def _damaged_files(run: Run) -> Iterator[str]:
    manifest, folder = run.manifest, run.folder
    yield from _changed(folder / "edits.jsonl", manifest.edits_sha256)
    if manifest.sets_sha256:
        yield from _changed(folder / SETS, manifest.sets_sha256)
    for number, hashes in manifest.segments.items():
        for kind in tables.SCHEMAS:
            yield from _changed(folder / kind / f"{number}.parquet", hashes[f"{kind}_sha256"])
    for journal in journals(folder / "scores"):
        try:
            for _ in read_journal(journal):
                pass
        except BadRunError as error:
            yield f"changed score: {error}"


def _changed(path: Path, expected: str) -> Iterator[str]:
    try:
        digest = hashlib.sha256(read_bytes(path)).hexdigest()
    except FileNotFoundError:
        yield f"missing file: {path}"
        return
    except OSError as error:
        yield f"unreadable file: {path}: {error.strerror or error}"
        return
    if digest != expected:
        what = "changed score" if path.parent.name == "scores" or path.name == SETS else "changed file"
        yield f"{what}: {path} has SHA-256 {digest[:12]}…, the manifest says {expected[:12]}…"


def _recorded_images(run: Run) -> dict[str, set[str | None]]:
    """Path to the pixel hash it had, None for an image that was unreadable; several if it changed during the run."""
    hashes: dict[str, set[str | None]] = {}
    for side in SIDES:
        columns = (f"{side}_path", f"{side}_size", f"{side}_pixels", "reason")
        for path, size, pixels, reason in tables.iter_rows(run.scores, columns):
            there = path is not None and size >= 0
            if there and (pixels or reason != "crashed"):  # a process that died had no time to say what it saw
                hashes.setdefault(path, set()).add(pixels)
    return hashes


def _image_problems(path: Path, recorded: set[str | None]) -> Iterator[str]:
    if not path.exists():
        yield f"missing image: {path}"
        return
    try:
        now = pixel_hash(read_image(path))
    except BadImageError:
        now = None
    if recorded != {now}:
        yield f"changed image: {path} {'can no longer be read' if now is None else 'has other pixels than were scored'}"


def _missing_records(run: Run) -> Iterator[str]:
    keys = set(tables.iter_keys(run.scores))
    if len(keys) < run.planned:
        yield f"not finished: {len(keys)} of {run.planned} records; give the same `editgauge run` command to continue"


def _repeated_records(run: Run) -> Iterator[str]:
    """Scores that stand in the run more than once, as after joining journals by hand; means would count both."""
    counts = Counter(tables.iter_rows(run.scores, (*Key._fields, "name")))
    repeated = [key for key, count in counts.items() if count > 1]
    if repeated:
        edit, method, seed, protocol, name = repeated[0]
        yield (
            f"repeated score: {len(repeated)} scores are in the run more than once, such as {protocol}/{name} of "
            f"'{edit}' by '{method}', seed {seed}; run again into another folder"
        )


def _count_files(run: Run) -> int:
    sets = bool(run.manifest.sets_sha256)
    return 2 + sets + 2 * len(run.manifest.segments) + len(journals(run.folder / "scores"))
