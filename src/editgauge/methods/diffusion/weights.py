"""Where a pipeline's files are: a folder, or what the hub's own client has put into its cache. Nothing is fetched."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from editgauge._util.packages import sha256_of
from editgauge.errors import BadInputError, EditGaugeError, MissingExtraError, summarize_error

INDEX = "model_index.json"
TEXTS = "'*.json' '*.txt' '*.model' '*.jinja'"
"""Settings, vocabularies and tokenizers, as the hub's client takes patterns."""


def diffusers(feature: str) -> Any:
    """Import diffusers; raise `MissingExtraError` when it, torch or transformers is missing."""
    libraries = ("diffusers", "torch", "transformers")
    if any(importlib.util.find_spec(name) is None for name in libraries):
        raise MissingExtraError(feature, libraries, extra="diffusers")
    return importlib.import_module("diffusers")


@dataclass(frozen=True)
class PipelineWeights:
    """A pipeline, or a part of one, by hub id and revision, or by folder."""

    name: str
    revision: str = ""
    index: str = INDEX
    """The file without which the folder is not what it should be."""

    @cached_property
    def folder(self) -> Path:
        """The folder with its files; raises when they are not on this machine."""
        folder = Path(self.name).expanduser() if self.is_folder else self._in_the_cache
        if not (folder / self.index).is_file():
            raise BadInputError(
                f"'{self.name}' holds no {self.index}, so diffusers cannot read it. Give an id of the model hub, or "
                "the folder that `save_pretrained` wrote."
            )
        return folder

    @property
    def is_folder(self) -> bool:
        """Is it a folder of the user's? One that is there, or a name that can be nothing else."""
        path = Path(self.name).expanduser()
        return path.is_dir() or path.is_absolute() or self.name.startswith((".", "~")) or self.name.count("/") != 1

    @property
    def id(self) -> str:
        """The name for a manifest; of a folder its last part, since a manifest names no machine."""
        return Path(self.name).expanduser().resolve().name if self.is_folder else self.name

    @cached_property
    def commit(self) -> str:
        """Which files exactly: the commit of the hub, or one hash over all weights of a folder."""
        if not self.is_folder:
            return self.folder.name
        files = sorted(self.folder.rglob("*.safetensors"))
        listed = [f"{sha256_of(path)}  {path.relative_to(self.folder).as_posix()}" for path in files]
        return "sha256:" + hashlib.sha256("\n".join(listed).encode()).hexdigest()

    @property
    def parts(self) -> dict[str, Any]:
        """What the index says about each part: its library and class."""
        index: dict[str, Any] = json.loads((self.folder / self.index).read_text("utf-8"))
        return index

    @property
    def _in_the_cache(self) -> Path:
        client: Any = importlib.import_module("huggingface_hub")
        try:
            # The client's `main` is the commit that was fetched first, until someone fetches again.
            return Path(client.snapshot_download(self.name, revision=self.revision or None, local_files_only=True))
        except Exception as error:  # the client raises a different one for every way of not being there
            at = f" --revision {self.revision}" if self.revision else ""
            numbers = "*/*.safetensors" if self.index == INDEX else "*.safetensors"
            raise BadInputError(
                f"The model '{self.name}'{at.replace('--', 'at ')} is not on this machine. Fetch it once with: "
                f"hf download {self.name}{at} --include {TEXTS} '{numbers}' --exclude '*.fp16.*' '*.non_ema.*'; "
                "or give a folder in its place."
            ) from error


@contextmanager
def explain_load_errors(weights: PipelineWeights) -> Iterator[None]:
    """Turn any error that the library raises on a damaged folder into one message."""
    try:
        yield
    except EditGaugeError:
        raise
    except Exception as error:  # a damaged file meets a parser of some other library, which may raise anything
        raise BadInputError(
            f"The model '{weights.name}' cannot be loaded for this method: {summarize_error(error)} "
            "Is it complete, with safetensors weights, and of the right kind?"
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """No bars and no remarks of the libraries: ours tell what takes long, and theirs would cut through them."""
    tools = [importlib.import_module(f"{library}.utils.logging") for library in ("diffusers", "transformers")]
    before = [(tool, tool.get_verbosity(), tool.is_progress_bar_enabled()) for tool in tools]
    for tool in tools:
        tool.set_verbosity_error()
        tool.disable_progress_bar()
    try:
        yield
    finally:
        for tool, verbosity, showed in before:
            tool.set_verbosity(verbosity)
            if showed:
                tool.enable_progress_bar()
