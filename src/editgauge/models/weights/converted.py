"""Weights that were published as pickles, converted once to plain arrays.

A pickle is read only when its SHA-256 is one of the catalog's; from then on an `.npz` file in the cache is, which can
hold numbers and nothing else. A pickle that the catalog does not know is refused: own weights come as `.npz`.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from editgauge._util.files import write_bytes
from editgauge._util.packages import cache_root
from editgauge.models.weights.catalog import entry_of
from editgauge.models.weights.files import DamagedWeightsError, measured_sha256
from editgauge.models.weights.pickles import Array, UnsafePickleError, read_numpy_pickle, read_torch_checkpoint
from editgauge.models.weights.store import weights_of

TORCH_SUFFIXES = {".pt", ".pth"}


def arrays_of(name: str, own: Path | None = None) -> dict[str, Array]:
    """The arrays of a set of weights that is one pickle, by their names in it.

    Args:
        name: the set of weights in the catalog
        own: another file to read: an `.npz` file, or the catalog's own pickle at another place

    """
    (file,) = entry_of(name).files
    path = own or weights_of(name).path(file.name)
    if path.suffix == ".npz":
        return _read(path)
    sha256 = measured_sha256(path)
    if sha256 != file.sha256:
        raise UnsafePickleError(
            f"'{path}' has the SHA-256 {sha256}, and the only pickle that is read as weights of '{name}' has "
            f"{file.sha256}. A pickle can run programs: save weights of your own as .npz with numpy.savez."
        )
    converted = cache_root() / "converted" / f"{sha256}.npz"
    if converted.is_file():
        try:
            return _read(converted)
        except DamagedWeightsError:
            converted.unlink(missing_ok=True)  # it is made again from the pickle, which is whole
    arrays = (read_torch_checkpoint if path.suffix in TORCH_SUFFIXES else read_numpy_pickle)(path)
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    write_bytes(converted, content.getvalue())
    return arrays


def _read(path: Path) -> dict[str, Array]:
    """The arrays of an `.npz` file, which may hold numbers only."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedWeightsError(f"'{path}' cannot be read as arrays (.npz): {error}.") from error
