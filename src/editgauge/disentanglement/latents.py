"""Latents from a folder: one `.npy` per prompt, of any shape, all of one size."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.files import read_text
from editgauge.disentanglement.words import Vocabulary
from editgauge.errors import BadInputError

Vector = NDArray[np.float32]
SETTINGS = "latents.json"
"""Beside latents that were made here: how."""
MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Latents:
    """What a model makes of a white image under every prompt."""

    model: str
    vectors: Mapping[str, Vector]
    sha256: str
    """Of all prompts and numbers, so that a table can be traced to what it was computed from."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """Pipeline, steps, size and seed, where the latents were made here."""

    @property
    def size(self) -> int:
        """How many numbers one latent has."""
        return next(iter(self.vectors.values())).size


def latent_file(folder: Path, prompt: str) -> Path:
    """Where the latent of a prompt lies.

    >>> latent_file(Path("latents"), "red chair").as_posix()
    'latents/red chair.npy'
    """
    return folder / f"{prompt}.npy"


def model_names(folders: Sequence[Path], *, needs_one: bool = False) -> list[str]:
    """The models' names, which are those of their folders; raises `BadInputError` for none, or for one name twice.

    >>> model_names([Path("latents/mine"), Path("latents/theirs")])
    ['mine', 'theirs']
    """
    names = [folder.resolve().name for folder in folders]
    if not names or (needs_one and len(names) > 1):
        raise BadInputError(
            f"Give {'one folder' if needs_one else 'at least one folder'} of latents; got {len(names)}."
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadInputError(f"Two folders are called '{twice[0]}'; a folder's name is its model's, so rename one.")
    return names


def read_latents(folder: str | Path, vocabulary: Vocabulary, model: str | None = None) -> Latents:
    """The latents of every prompt; one `BadInputError` lists all that are missing, damaged or of another size."""
    place = Path(folder)
    if not place.is_dir():
        raise BadInputError(
            f"There is no folder '{folder}'. It should hold one .npy per prompt, such as 'red chair.npy'."
        )
    vectors: dict[str, Vector] = {}
    missing: list[str] = []
    problems: list[str] = []
    for prompt in vocabulary.prompts:
        file = latent_file(place, prompt)
        if not file.is_file():
            missing.append(prompt)
            continue
        vector = _vector(file)
        if isinstance(vector, str):
            problems.append(f"'{file.name}' {vector}")
        else:
            vectors[prompt] = vector
    if missing:
        problems.insert(0, f"{len(missing)} of {len(vocabulary.prompts)} prompts have no .npy: {_few(missing)}")
    sizes = {vector.size for vector in vectors.values()}
    if len(sizes) > 1:
        problems += _odd_sizes(vectors)
    if problems:
        raise BadInputError(f"The latents in '{folder}' cannot be used:", problems)
    return Latents(model or place.resolve().name, vectors, _hash(vectors), _made(place / SETTINGS))


def _made(file: Path) -> dict[str, Any]:
    """How the latents were made; nothing for latents from elsewhere."""
    try:
        settings = json.loads(read_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadInputError(f"'{file}' says how the latents were made, and cannot be read: {error}") from error
    return dict(settings)


def _vector(file: Path) -> Vector | str:
    """The numbers in a row, or what is wrong with them."""
    try:
        loaded = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        return f"is no .npy file that can be read: {error}"
    if not isinstance(loaded, np.ndarray) or loaded.dtype.kind not in "fiu":
        return f"must hold real numbers, got {getattr(loaded, 'dtype', type(loaded).__name__)}"
    if not loaded.size:
        return "is empty"
    vector = loaded.astype(np.float32).ravel()
    if not np.isfinite(vector).all():
        return "holds NaN or infinity"
    return vector if vector.any() else "holds nothing but zeros"


def _odd_sizes(vectors: Mapping[str, Vector]) -> list[str]:
    counts: dict[int, list[str]] = {}
    for prompt, vector in vectors.items():
        counts.setdefault(vector.size, []).append(prompt)
    usual, *others = sorted(counts, key=lambda size: -len(counts[size]))
    return [f"{_few(counts[size])}: {size} numbers, where {len(counts[usual])} have {usual}" for size in others]


def _few(prompts: list[str]) -> str:
    shown = ", ".join(f"'{prompt}'" for prompt in prompts[:MOST_SHOWN])
    return shown if len(prompts) <= MOST_SHOWN else f"{shown} and {len(prompts) - MOST_SHOWN} more"


def _hash(vectors: Mapping[str, Vector]) -> str:
    digest = hashlib.sha256()
    for prompt in sorted(vectors):
        digest.update(prompt.encode() + b"\0")
        digest.update(np.ascontiguousarray(vectors[prompt]).data)
    return digest.hexdigest()
