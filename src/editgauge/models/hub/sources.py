"""Where a model's files are: a folder of the user's, or what `editgauge models pull` brought. Nothing is fetched."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from editgauge._util.files import write_bytes
from editgauge._util.packages import cache_root, sha256_of
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.models.weights import WeightFiles, entry_of, weights_of

CONFIG = "config.json"
UNLISTED_LICENSE = "see its card"
"""What the catalog says about a repository it does not list."""
NEVER_RUN = "not pulled"
"""What stands for a hash while the weights are not on this machine; no answer is ever remembered under it."""


@dataclass(frozen=True)
class Source:
    """A model by the name it was asked for: an id of the model hub, a name of the catalog, or a folder."""

    name: str
    revision: str | None = None

    @cached_property
    def folder(self) -> Path:
        """The folder with its files; raises when they are not on this machine."""
        if not self.is_folder:
            return self._pulled.folder
        local = Path(self.name).expanduser()
        if not local.is_dir():
            raise BadInputError(f"There is no folder '{self.name}'. Give a folder, or an id of the model hub.")
        if not (local / CONFIG).is_file():
            raise BadInputError(
                f"The folder '{self.name}' holds no {CONFIG}, so it is no model of the transformers library. "
                "Give the folder that `save_pretrained` wrote, or a snapshot of the model hub."
            )
        return local

    @property
    def is_folder(self) -> bool:
        """Is it a folder of the user's? One that is there, or a name that can be nothing else."""
        path = Path(self.name).expanduser()
        return path.is_dir() or path.is_absolute() or self.name.startswith((".", "~")) or self.name.count("/") > 1

    @property
    def is_here(self) -> bool:
        """Are its files on this machine?"""
        with suppress(EditGaugeError):
            return self.folder.is_dir()
        return False

    @property
    def id(self) -> str:
        """The name under which the world knows it; of a folder its last part, since a manifest names no machine."""
        return Path(self.name).expanduser().resolve().name if self.is_folder else entry_of(self.name).hub or self.name

    @property
    def commit(self) -> str:
        """The revision that answers, or would if it were here."""
        if self.is_folder:
            return self.revision or "local"
        if self.is_here:
            pinned = re.search(r"[0-9a-f]{40}$", self._pulled.revision)
            return pinned[0] if pinned else "local"
        return self.revision or entry_of(self.name).revision or "main"

    @property
    def license(self) -> str:
        """What the catalog says, else what the model's own card says."""
        if not self.is_folder and (license_name := entry_of(self.name).license) != UNLISTED_LICENSE:
            return license_name
        return (self.is_here and _license_in(self.folder)) or "unknown"

    @property
    def config(self) -> dict[str, Any]:
        """What config.json says."""
        return _json(self.folder / CONFIG)

    @property
    def preprocessing(self) -> dict[str, Any]:
        """How pictures are made ready; newer folders nest it in the processor's own file."""
        for name in ("processor_config.json", "preprocessor_config.json"):
            if (self.folder / name).is_file():
                settings = _json(self.folder / name)
                settings = settings.get("image_processor", settings)
                if {"size", "image_mean"} & settings.keys():
                    return dict(settings)
        raise BadInputError(
            f"'{self.name}' lacks preprocessor_config.json, which says how pictures are made ready for the network. "
            "Save the image processor into the folder as well."
        )

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The files with the numbers: safetensors where there are some, or else the older pickles."""
        for pattern in ("*.safetensors", "pytorch_model*.bin"):
            if files := sorted(self.folder.glob(pattern)):
                return tuple(files)
        raise BadInputError(
            f"'{self.name}' holds no weights: neither *.safetensors nor pytorch_model*.bin is in its folder."
        )

    @cached_property
    def sha256(self) -> str:
        """Of the weights: the file's own, or one over the list of all when there are several."""
        recorded = {} if self.is_folder else self._pulled.hashes or {}
        hashes = [recorded.get(path.name) or _remembered_hash(path) for path in self.weight_files]
        if len(hashes) == 1:
            return hashes[0]
        listed = "\n".join(f"{value}  {path.name}" for value, path in zip(hashes, self.weight_files, strict=True))
        return hashlib.sha256(listed.encode()).hexdigest()

    @cached_property
    def _pulled(self) -> WeightFiles:
        return weights_of(self.name, self.revision)


def _license_in(folder: Path) -> str | None:
    """What the head of the model card names."""
    readme = folder / "README.md"
    if not readme.is_file():
        return None
    head = re.match(r"---\n(.*?)\n---", readme.read_text("utf-8", errors="replace"), re.DOTALL)
    match = re.search(r"^license:\s*(\S+)", head[1], re.MULTILINE) if head else None
    return match[1] if match else None


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"'{path.name}' of the model in '{path.parent}' cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise BadInputError(f"'{path.name}' of the model in '{path.parent}' is not a table of names and values.")
    return content


def _remembered_hash(path: Path) -> str:
    """SHA-256 of a file, computed once for as long as the file stays as it is: weights are gigabytes."""
    real = path.resolve()
    state = real.stat()
    key = hashlib.sha256(f"{real}\0{state.st_size}\0{state.st_mtime_ns}".encode()).hexdigest()
    note = cache_root() / "hashes" / key
    with suppress(OSError):
        return note.read_text("ascii")
    computed = sha256_of(path)
    with suppress(BadInputError):  # a cache that cannot be written costs time, not answers
        write_bytes(note, computed.encode("ascii"))
    return computed
