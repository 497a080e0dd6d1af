"""Weights that the user has: the folder that `EDITGAUGE_WEIGHTS` names, and what an operating system installed."""

from __future__ import annotations

import os
import re
from pathlib import Path

from editgauge.models.weights.catalog import File, WeightsEntry
from editgauge.models.weights.files import WeightFiles, measured_sha256

VARIABLE = "EDITGAUGE_WEIGHTS"


def folder_given() -> Path | None:
    """The user's own folder of weights, if one was named."""
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named).expanduser().absolute() if named else None


def given_files(entry: WeightsEntry) -> WeightFiles | None:
    """The set from the user's folder, when every file is somewhere in it with the right hash."""
    folder = folder_given()
    if folder is None or entry.package is None:
        return None
    paths = {file.name: path for file in entry.files if (path := _find(file, folder))}
    if len(paths) < len(entry.files):
        return None
    return WeightFiles(entry.name, entry.license, str(entry.carrier), folder, paths, entry.hashes)


def other_files(entry: WeightsEntry) -> list[Path]:
    """Files of the user's folder that have the right name but another content."""
    folder = folder_given()
    names = [file.name for file in entry.files if folder and not _find(file, folder)]
    return [path for name in names if folder for path in _named(name, folder)]


def given_folder(entry: WeightsEntry) -> WeightFiles | None:
    """A model of the hub that is in the user's folder, under its name here or on the hub."""
    root = folder_given()
    if root is None or entry.hub is None:
        return None
    places = [root / entry.name, root / entry.hub]
    folder = next((place for place in places if (place / "config.json").is_file()), None)
    if folder is None:
        return None
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return WeightFiles(entry.name, entry.license, f"{entry.hub} of the folder given", folder, files)


def installed_files(entry: WeightsEntry) -> WeightFiles | None:
    """The set as an operating system installed it; the revision says which release that is."""
    if entry.system is None or not (folder := Path(entry.system)).is_dir():
        return None
    files = {file.name: folder / file.name for file in entry.files}
    if not all(path.is_file() for path in files.values()):
        return None
    return WeightFiles(entry.name, entry.license, f"{_release(files)} of this system", folder, files)


def _release(files: dict[str, Path]) -> str:
    """WordNet tells its release in the license at the head of its files."""
    with files["data.noun"].open(encoding="latin-1") as file:
        match = re.search(r"WordNet (\d+\.\d+) Copyright", file.read(4096))
    return f"WordNet {match[1]}" if match else "WordNet of unknown release"


def _find(file: File, folder: Path) -> Path | None:
    fitting = (path for path in _named(file.name, folder) if path.stat().st_size == file.bytes)
    return next((path for path in fitting if measured_sha256(path) == file.sha256), None)


def _named(name: str, folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob(name) if path.is_file())
