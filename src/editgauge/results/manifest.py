"""The manifest: what was run, with what, and what each score means."""

from __future__ import annotations

import json
import math
import platform
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from editgauge._util.files import read_text, write_json
from editgauge.errors import BadRunError
from editgauge.types import UNPAIRED_SURROGATE, ScoreSpec

SCHEMA = 1
"""Raised whenever a run folder of before could be misread; an older reader then refuses with a clear message."""
FILE = "manifest.json"
STORED_NAMES = {"locations": "places"}
"""Fields that have another name in the file, where it dates from the first edition."""
RECORDED_PACKAGES = ("editgauge", "numpy", "opencv-python-headless", "pillow", "pyarrow", "scipy", "scikit-image")


@dataclass(frozen=True, slots=True)
class ProtocolEntry:
    """What a protocol is and what its scores mean. Two are equal if their rules are: descriptions may be reworded."""

    about: str = field(compare=False)
    paper: str = field(compare=False)
    version: str
    deviations: tuple[str, ...] = field(compare=False)
    scores: tuple[ScoreSpec, ...]

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> ProtocolEntry:
        """Restore an entry from the JSON of `asdict`."""
        specs = (ScoreSpec(**{**spec, "range": tuple(spec["range"])}) for spec in stored["scores"])
        return cls(**{**stored, "deviations": tuple(stored["deviations"]), "scores": tuple(specs)})


@dataclass(slots=True)
class Manifest:
    """Everything needed to read, repeat and check a run."""

    benchmark: str
    edits_sha256: str
    edits: int
    seed: int
    models: dict[str, dict[str, str]]
    methods: dict[str, str]
    """Method to where its outcomes lie."""
    protocols: dict[str, ProtocolEntry]
    planned: dict[str, dict[str, int]]
    """Method and protocol to how many outcomes are to be scored; fewer in the tables means the run is not finished."""
    editgauge: str
    environment: dict[str, str] = field(default_factory=dict)
    started: str = ""
    finished: str | None = None
    segments: dict[str, dict[str, Any]] = field(default_factory=dict)
    judges: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Judge to what it is and how it is asked."""
    roles: dict[str, list[str]] = field(default_factory=dict)
    """Protocol to the roles of the models that it asks; one that is missing, as in older runs, may have asked all."""
    sets_sha256: str = ""
    """Of the scores of whole sets when the run was finished; nothing where there are none."""
    shard: str = ""
    """Which part of the outcomes this run holds, such as `2/8`; nothing for all of them."""
    fields_sha256: str = ""
    """Of the file with readings of the instructions; nothing where the run was given none."""
    locations: dict[str, str] = field(default_factory=dict)
    """Where the benchmark is (`benchmark`, for a folder of the user's own) and its files (`data`, `images`)."""
    broken: list[str] = field(default_factory=list)
    """Problems of the benchmark's data that were skipped."""
    schema: int = SCHEMA

    def save(self, folder: Path) -> None:
        """Write the manifest into the run folder atomically."""
        stored = asdict(self)
        write_json(folder / FILE, {STORED_NAMES.get(name, name): value for name, value in stored.items()})

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read the manifest of a run folder; raise `BadRunError` if it is not a run or has another schema."""
        path = folder / FILE
        if not path.is_file():
            raise BadRunError(f"'{folder}' is not a run folder: it has no {FILE}. `editgauge run` makes one.")
        try:
            stored = json.loads(read_text(path))
        except (ValueError, OSError, RecursionError) as error:
            raise BadRunError(f"'{path}' cannot be read: {error}.") from error
        if not isinstance(stored, dict) or stored.get("schema") != SCHEMA:
            schema = stored.get("schema") if isinstance(stored, dict) else None
            raise BadRunError(
                f"'{path}' has schema {schema}, this version of editgauge reads schema {SCHEMA}. Run it again."
            )
        problems = manifest_problems(stored)
        if problems:
            raise BadRunError("\n".join([f"'{path}' is damaged or was not written by editgauge:", *problems]))
        try:
            entries = {name: ProtocolEntry.from_json(entry) for name, entry in stored.pop("protocols").items()}
            for model in stored["models"].values():
                if "licence" in model:  # written so before version 0.2
                    model["license"] = model.pop("licence")
            for name, stored_name in STORED_NAMES.items():
                if stored_name in stored:
                    stored[name] = stored.pop(stored_name)
            return cls(**stored, protocols=entries)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise BadRunError(f"'{path}' is not complete: {error}.") from error

    def differences(self, other: Manifest) -> list[str]:
        """Describe what makes the scores of `other` incomparable with this run's, one sentence each.

        More methods or protocols are no difference: they extend a run. Nor are models of further roles, unless a
        protocol that was there before asks them now.
        """
        changed = [
            f"{what} changed from {before!r} to {after!r}"
            for what, before, after in (
                ("the benchmark", self.benchmark, other.benchmark),
                ("the seed", self.seed, other.seed),
                ("the version of editgauge", self.editgauge, other.editgauge),
            )
            if before != after
        ]
        moved = [role for role, model in self.models.items() if other.models.get(role, model) != model]
        if moved:
            before, after = (
                _in_words({role: models[role] for role in moved}) for models in (self.models, other.models)
            )
            same_names = f"the weights or settings of the models changed: {before}"
            changed.append(same_names if before == after else f"the models changed from {before} to {after}")
        before_roles = {name: self.roles.get(name, list(self.models)) for name in self.protocols}
        changed += [
            f"protocol {name!r} asks other models: {_listed(roles)} instead of {_listed(before_roles[name])}"
            for name, roles in other.roles.items()
            if name in before_roles and set(before_roles[name]) != set(roles)
        ]
        changed += [
            f"the judge {name!r} is asked in another way: other {', '.join(what)}"
            for name, judge in other.judges.items()
            if name in self.judges and (what := _unlike(self.judges[name], judge))
        ]
        if self.benchmark == other.benchmark and self.edits_sha256 != other.edits_sha256:
            changed.append(f"the edits of benchmark {self.benchmark!r} changed")
        changed += [
            f"the rules of protocol {name!r} changed"
            for name, entry in other.protocols.items()
            if name in self.protocols and self.protocols[name] != entry
        ]
        return changed


def is_run(folder: str | Path) -> bool:
    """Whether there is a run in a folder."""
    return (Path(folder) / FILE).is_file()


def manifest_problems(stored: dict[str, Any]) -> list[str]:
    """List the fields of an untrusted manifest that have the wrong form."""
    checks: dict[str, Callable[[Any], bool]] = {
        "benchmark": _is_text,
        "edits_sha256": _is_hash,
        "edits": _is_count,
        "seed": _is_integer,
        "models": lambda value: _is_mapping(value, dict),
        "methods": lambda value: _is_mapping(value, str),
        "planned": lambda value: _is_mapping(value, dict) and all(_are_counts(counts) for counts in value.values()),
        "editgauge": _is_text,
        "environment": lambda value: _is_mapping(value, str),
        "started": _is_text,
        "finished": lambda value: value is None or _is_text(value),
        "segments": lambda value: _is_mapping(value, dict) and all(map(_is_segment, value.items())),
        "judges": lambda value: _is_mapping(value, dict),
        "roles": lambda value: _is_mapping(value, list) and all(map(_are_texts, value.values())),
        "sets_sha256": lambda value: value == "" or _is_hash(value),
        "shard": _is_text,
        "places": lambda value: _is_mapping(value, str),
        "broken": lambda value: isinstance(value, list) and _are_texts(value),
        "protocols": lambda value: _is_mapping(value, dict) and all(map(_is_protocol, value.values())),
    }
    damaged = [name for name, fits in checks.items() if name in stored and not fits(stored[name])]
    return [f"  - '{name}' is not as it should be" for name in damaged]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and UNPAIRED_SURROGATE.search(value) is None


def _are_texts(values: list[object]) -> bool:
    return all(map(_is_text, values))


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _are_counts(value: dict[str, object]) -> bool:
    return all(map(_is_count, value.values()))


def _is_mapping(value: object, kind: type) -> bool:
    return isinstance(value, dict) and all(_is_text(name) and isinstance(entry, kind) for name, entry in value.items())


def _is_segment(entry: tuple[str, dict[str, object]]) -> bool:
    number, hashes = entry
    return number.isdecimal() and all(_is_hash(hashes.get(f"{kind}_sha256")) for kind in ("scores", "evidence"))


def _is_protocol(entry: dict[str, Any]) -> bool:
    has_texts = all(_is_text(entry.get(name)) for name in ("about", "paper", "version"))
    has_lists = all(isinstance(entry.get(name), list) for name in ("deviations", "scores"))
    return has_texts and has_lists and _are_texts(entry["deviations"]) and all(map(_is_spec, entry["scores"]))


def _is_spec(spec: object) -> bool:
    if not isinstance(spec, dict) or not isinstance(spec.get("higher_is_better"), bool):
        return False
    ends = spec.get("range")
    has_range = isinstance(ends, list) and len(ends) == 2 and all(map(_is_number, ends)) and ends[0] < ends[1]
    return has_range and _is_text(spec.get("name")) and _is_text(spec.get("about", ""))


def _is_number(value: object) -> bool:
    """Ranges may be open: JSON of Python writes their ends as Infinity."""
    return _is_integer(value) or (isinstance(value, float) and not math.isnan(value))


def _unlike(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Describe the differences between two judges; the endpoint of a model is ignored."""
    return [what for what in ("model", "parameters", "prompts") if one.get(what) != other.get(what)]


def _listed(roles: list[str]) -> str:
    return " and ".join(role.replace("_", " ") for role in roles) or "none"


def _in_words(models: dict[str, dict[str, str]]) -> str:
    """Join the models' roles, names and revisions into one line."""
    descriptions = (
        f"{role} {model.get('name', '')} {model.get('revision', '')}".strip() for role, model in models.items()
    )
    return ", ".join(descriptions)


def environment() -> dict[str, str]:
    """Return the versions of libraries that can affect a number."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in RECORDED_PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
