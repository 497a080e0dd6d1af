"""Finding, pulling and verifying weights by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from editgauge._util.files import write_json
from editgauge._util.packages import GrowthCallback, MessageCallback, fetch_package, find_fault
from editgauge.errors import BadInputError, EditGaugeError, FetchError, UnknownNameError
from editgauge.models.weights.catalog import SHOWN_BY, WeightsEntry, catalog_entries, entry_of
from editgauge.models.weights.files import MissingWeightsError, WeightFiles
from editgauge.models.weights.hub import pull_from_hub, pulled_files, recorded
from editgauge.models.weights.local import VARIABLE, given_files, given_folder, installed_files, other_files

ACCEPTED = "accepted-license.json"
Where = Literal["here", "can be pulled", "hub"]


class LicenseNotAcceptedError(EditGaugeError):
    """Weights whose license must be accepted by name before they are fetched."""


@dataclass(frozen=True, slots=True)
class WeightInfo:
    """What there is to know about a set of weights, whether it is on this machine or not."""

    name: str
    about: str
    roles: tuple[str, ...]
    license: str
    license_from: str
    """`package`, or `upstream` when it is the license of the project that trained the weights."""
    source: str
    revision: str | None
    """The commit of a model of the hub; None until the first pull where none is pinned."""
    bytes: int | None
    """Of its files; None when only a pull will tell."""
    bytes_to_fetch: int | None
    where: Where
    folder: Path | None
    files: dict[str, Path]
    sha256: dict[str, str]
    """Of every file, by its name, as recorded."""


def weights_of(name: str, revision: str | None = None) -> WeightFiles:
    """The set of that name on this machine; never downloads.

    Args:
        name: A name of the catalog, or a repository of the model hub (`owner/name`).
        revision: A commit, tag or branch of the hub, where it is to be another than the pinned one.

    Raises `MissingWeightsError` when it is not here, or not whole.
    """
    entry = entry_of(name)
    if files := _find(entry, revision):
        return files
    seen = other_files(entry)
    hint = f" In {VARIABLE}, '{seen[0]}' has the name but not the content (SHA-256) of a file of it." if seen else ""
    raise MissingWeightsError(f"The weights '{name}' are not on this machine: run `{_command(entry, revision)}`.{hint}")


def available(name: str) -> bool:
    """Are the weights on this machine? Looks at names and sizes; `verify` looks at the content."""
    return _find(entry_of(name)) is not None


def pull(
    name: str,
    say: MessageCallback = lambda words: None,
    *,
    grown: GrowthCallback | None = None,
    accept: str | None = None,
    revision: str | None = None,
) -> WeightFiles:
    """Brings a set of weights onto this machine and verifies it; what is there already is only verified.

    Args:
        name: As of `weights_of`.
        say: Told in a few words what is asked of the model hub.
        grown: Told now and then how many bytes of the download have come.
        accept: The license by name, where it must be accepted before anything is fetched.
        revision: As of `weights_of`.
    """
    entry = entry_of(name)
    if accepted := given_files(entry) or given_folder(entry):
        say(f"{name} is in {VARIABLE}")
        return accepted
    _accept(entry, accept)
    if entry.hub:
        return pull_from_hub(entry, say, grown, revision)
    try:
        fetch_package(entry.carrier, grown=grown)
    except FetchError as error:
        raise FetchError(f"{error}\n{_ways_out(entry)}") from error
    return weights_of(name)


def verify(name: str) -> WeightFiles:
    """Hashes every file of a set again; raises `BadInputError` with all that are missing or damaged."""
    weights = weights_of(name)
    faults = [find_fault(weights.files[key], key, sha256) for key, sha256 in (weights.hashes or {}).items()]
    if problems := [fault for fault in faults if fault]:
        raise BadInputError(f"The weights '{name}' are not whole. Run `{_command(entry_of(name))}`.", problems)
    return weights


def info(name: str) -> WeightInfo:
    """What there is to know about a set of weights."""
    entry = entry_of(name)
    here = _find(entry)
    record = recorded(entry) if entry.hub else None
    return WeightInfo(
        name=entry.name,
        about=entry.about,
        roles=tuple(entry.roles) or _roles_of_models().get(entry.name, ("any",)),
        license=entry.license,
        license_from=entry.license_from,
        source=entry.source,
        revision=entry.revision or (record.commit if record else None),
        bytes=sum(record.bytes.values()) if record else sum(file.bytes for file in entry.files) or None,
        bytes_to_fetch=entry.package.bytes if entry.package else None,
        where="here" if here else "hub" if entry.hub else "can be pulled",
        folder=here.folder if here else None,
        files=dict(here.files) if here else {},
        sha256=dict(record.hashes) if record else entry.hashes,
    )


def wanted(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The sets of weights that names ask for, each with those that serve in its place; each one once.

    Args:
        names: Sets of weights, models, repositories of the model hub, or profiles such as `lite`.
    """
    return list(dict.fromkeys(item for name in names for item in _wanted(name)))


def _wanted(name: str) -> list[tuple[str, ...]]:
    from editgauge.models import models, profiles

    if name in catalog_entries() or "/" in name:
        return [(entry_of(name).name,)]
    if name in profiles.PROFILES:
        return profiles.weights_of_profile(name)
    if name in models:
        return profiles.weights_of_model(name)
    raise UnknownNameError(
        "set of weights, model or profile", name, {*catalog_entries(), *models, *profiles.PROFILES}, SHOWN_BY
    )


@cache
def _roles_of_models() -> dict[str, tuple[str, ...]]:
    """The roles of the models that use each set of weights."""
    from editgauge.models.catalog import MODELS
    from editgauge.models.choice import make_model

    roles: dict[str, dict[str, None]] = {}
    for name, row in MODELS.items():
        for weights in make_model(name).weights:
            roles.setdefault(entry_of(weights).name, {})[row.role] = None
    return {weights: tuple(names) for weights, names in roles.items()}


def _find(entry: WeightsEntry, revision: str | None = None) -> WeightFiles | None:
    """The set wherever it is on this machine, the user's own folder first."""
    return (
        given_files(entry)
        or given_folder(entry)
        or _cached_files(entry)
        or (pulled_files(entry, revision) if entry.hub else None)
        or installed_files(entry)
    )


def _cached_files(entry: WeightsEntry) -> WeightFiles | None:
    """The set as `pull` brought it; the hashes were checked then, now the sizes are."""
    if entry.package is None:
        return None
    carrier = entry.carrier
    paths = {file.name: carrier.folder / file.path for file in entry.files}
    if not all(paths[file.name].is_file() and paths[file.name].stat().st_size == file.bytes for file in entry.files):
        return None
    return WeightFiles(entry.name, entry.license, str(carrier), paths[entry.files[0].name].parent, paths, entry.hashes)


def _accept(entry: WeightsEntry, accept: str | None) -> None:
    """Refuses what was not accepted by name; an acceptance is remembered next to the files."""
    if not entry.accept:
        return
    note = entry.carrier.folder / ACCEPTED
    if accept == entry.license:
        write_json(note, {"weights": entry.name, "license": entry.license})
    elif not note.is_file():
        accepted = f" You gave '{accept}'." if accept else ""
        raise LicenseNotAcceptedError(
            f"The weights '{entry.name}' are under {entry.license}, which asks more of those who share or serve what "
            f"is made with them than the other models do.{accepted} If that is fine for you, run "
            f"`{_command(entry)} --accept {entry.license}`."
        )


def _ways_out(entry: WeightsEntry) -> str:
    names = ", ".join(file.name for file in entry.files)
    instead = f" '{entry.instead}' does the same work and needs pip only." if entry.instead else ""
    return f"Files got another way are taken, too: put {names} into a folder and name it in {VARIABLE}.{instead}"


def _command(entry: WeightsEntry, revision: str | None = None) -> str:
    return f"editgauge models pull {entry.name}" + (f" --revision {revision}" if revision else "")
