"""Weights that were saved as pickles, read without letting them run anything, and without torch.

A pickle is a program that may call whatever it can import. The readers here hand it a short list of names instead: what
builds arrays and plain containers. Any other name ends the reading with an error that says which one was asked for.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.files import write_bytes
from editgauge._util.packages import cache_root
from editgauge.errors import EditGaugeError
from editgauge.models.weights._catalog import entry_of
from editgauge.models.weights._store import DamagedWeightsError, measured_sha256, weights_of

Array = NDArray[Any]
Sides = tuple[int, ...]


OLDER_START = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")
"""What torch checkpoints began with before 1.6: a number, pickled."""


class UnsafePickleError(EditGaugeError):
    """A weight file that holds more than arrays, or is no pickle."""


STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
"""How the numbers in a block of bytes are to be read, by torch's name for it."""
PLAIN_NUMBERS = re.compile(r"[<>|=]?(?:[biu][1248]|f[248]|b1|\?)")
PLAIN_ARRAY = "numpy.ndarray"
"""A word in place of the class, which a pickle could call."""
LARGEST_GROWTH = 20
"""How many times its size a checkpoint may unpack to; torch packs nothing, and zeros pack well."""


def read_torch_checkpoint(path: Path | str) -> dict[str, Array]:
    """Read the tensors of a torch checkpoint by name, as read-only arrays.

    Nested containers are joined with dots, as in a state dict; notes next to the tensors (words, numbers) are left out.
    Takes the zip form that torch writes since 1.6 and the older one of pickles in a row; raises `UnsafePickleError` for
    anything that would need code to run.
    """
    path = Path(path)
    if not zipfile.is_zipfile(path):
        return _read_older_form(path)
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > LARGEST_GROWTH * path.stat().st_size:
                raise UnsafePickleError(f"'{path}' would unpack to {unpacked:,} bytes, which no checkpoint does.")
            root = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
            if root is None:
                raise UnsafePickleError(f"'{path}' is no torch checkpoint: it holds no 'data.pkl'.")
            folder = root.removesuffix("data.pkl")
            if f"{folder}byteorder" in archive.namelist() and archive.read(f"{folder}byteorder") != b"little":
                raise UnsafePickleError(f"'{path}' was saved on a big-endian machine; save it again on a usual one.")
            reader = _TorchReader(archive, folder, path)
            return _flat(_load(reader, path), path)
    except (zipfile.BadZipFile, KeyError) as error:
        raise UnsafePickleError(f"'{path}' is no torch checkpoint in zip form, or is damaged: {error}.") from error


def _read_older_form(path: Path) -> dict[str, Array]:
    """Read the legacy format: pickles (magic number, version, info, tensors, storage keys), then storages.

    A tensor is a view of its block, so the blocks are made when the tensors are read, and filled afterwards.
    """
    with path.open("rb") as file:
        if file.read(len(OLDER_START)) != OLDER_START:
            raise UnsafePickleError(f"'{path}' is no torch checkpoint, or is damaged.")
        for _ in ("version", "notes"):
            _load(_Reader(file, {}, path), path)
        reader = _OlderReader(file, path)
        tensors = _flat(_load(reader, path), path)
        keys = _load(_Reader(file, {}, path), path)
        if not isinstance(keys, list) or {str(key) for key in keys} != set(reader.blocks):
            raise UnsafePickleError(f"'{path}' does not hold the blocks of numbers that its tensors need.")
        for key in keys:
            block = reader.blocks[str(key)]
            if int.from_bytes(file.read(8), "little") != block.size or file.readinto(block.data) != block.nbytes:
                raise UnsafePickleError(f"'{path}' ends in the middle of a block of numbers.")
    return tensors


def read_numpy_pickle(path: Path | str) -> dict[str, Array]:
    """Read the NumPy arrays of a pickle by name, with the same restrictions."""
    path = Path(path)
    with path.open("rb") as file:
        return _flat(_load(_NumpyReader(file, path), path), path)


def _load(reader: pickle.Unpickler, path: Path) -> object:
    try:
        return reader.load()
    except UnsafePickleError:
        raise
    except Exception as error:  # a damaged pickle can fail in any way
        raise UnsafePickleError(f"'{path}' cannot be read as weights: {type(error).__name__}: {error}.") from error


class _Reader(pickle.Unpickler):
    """Unpickler that resolves only listed names.

    What the names stand for must not be changeable, because a pickle may set attributes: builtin types, bound methods
    and words are safe, functions and objects of ours are not.
    """

    def __init__(self, file: IO[bytes], allowed: Mapping[str, object], path: Path) -> None:
        super().__init__(file)
        self._allowed = {"collections.OrderedDict": OrderedDict, **allowed}
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        """Return the allowed object of that name; never import anything."""
        global_name = f"{module}.{name}"
        if global_name not in self._allowed:
            raise UnsafePickleError(
                f"'{self._path}' asks for '{global_name}', which weights have no need of. It was not run. Do not use "
                "this file unless you know where it comes from."
            )
        return self._allowed[global_name]


class _TensorReader(_Reader):
    """Unpickler of torch tensors; subclasses provide the storages."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        allowed = {f"torch.{name}": name for name in STORAGES}
        rebuild = {
            "torch._utils._rebuild_tensor": self._tensor,  # before torch 0.4
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_parameter": self._parameter,
        }
        super().__init__(file, {**allowed, **rebuild}, path)
        self.blocks: dict[str, Array] = {}

    def persistent_load(self, pid: Any) -> Array:
        """Load a storage next to the pickle: ("storage", type, key, device, count, …)."""
        kind, storage, key, _, count = pid[:5]
        if kind != "storage" or storage not in STORAGES or not str(key).isalnum():
            raise UnsafePickleError(f"'{self._path}' names a block of numbers in an unknown way: {pid!r}.")
        if key not in self.blocks:
            self.blocks[key] = self._block(str(key), np.dtype(STORAGES[storage]), int(count))
        return self.blocks[key]

    def _block(self, key: str, dtype: np.dtype[Any], count: int) -> Array:
        raise NotImplementedError

    def _tensor(self, block: Array, offset: int, shape: Sides, stride: Sides, *_: object) -> Array:
        """Build a tensor view of a storage; reject one that exceeds its bounds."""
        last = offset + sum((side - 1) * step for side, step in zip(shape, stride, strict=True))
        is_beyond = 0 not in shape and last >= block.size
        if min((offset, *shape, *stride)) < 0 or is_beyond or math.prod(shape) > max(block.size, 1):
            raise ValueError(f"a tensor of shape {shape} reaches beyond its block of {block.size} numbers")
        steps = tuple(step * block.itemsize for step in stride)
        return np.lib.stride_tricks.as_strided(block[offset:], shape, steps, writeable=False)

    def _parameter(self, tensor: Array, *_: object) -> Array:
        return tensor


class _TorchReader(_TensorReader):
    def __init__(self, archive: zipfile.ZipFile, folder: str, path: Path) -> None:
        super().__init__(io.BytesIO(archive.read(f"{folder}data.pkl")), path)
        self._archive = archive
        self._folder = folder

    def _block(self, key: str, dtype: np.dtype[Any], count: int) -> Array:
        return np.frombuffer(self._archive.read(f"{self._folder}data/{key}"), dtype=dtype, count=count)


class _OlderReader(_TensorReader):
    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file, path)
        self._bytes_left = path.stat().st_size

    def _block(self, key: str, dtype: np.dtype[Any], count: int) -> Array:
        """Allocate a storage to be filled later, bounded by the file size."""
        self._bytes_left -= count * dtype.itemsize
        if count < 0 or self._bytes_left < 0:
            raise ValueError(f"the block '{key}' of {count} numbers is larger than the file")
        return np.empty(count, dtype)


class _NumberKind:
    """Substitute for `numpy.dtype`, whose state a crafted pickle could set to crash the process."""

    __slots__ = ("dtype",)

    def __init__(self, code: object) -> None:
        if not isinstance(code, str) or not PLAIN_NUMBERS.fullmatch(code):
            raise ValueError(f"numbers of the kind {code!r:.60}")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple[object, ...]) -> None:
        """Accept the byte order only; reject structured and object types."""
        _, order, *remaining = state
        if order not in {"<", ">", "|", "="} or any(part is not None for part in remaining[:3]):
            raise ValueError(f"numbers of the kind {state!r:.60}")
        self.dtype = self.dtype.newbyteorder(order)


class _StoredArray:
    """Substitute for an array until it is complete and checked."""

    __slots__ = ("array",)

    def __setstate__(self, state: tuple[object, ...]) -> None:
        """Read (version, shape, dtype, is_fortran_order, bytes)."""
        _, shape, kind, by_columns, content = state
        self.array = _array(content, kind, shape, "F" if by_columns else "C")


def _array(content: object, kind: object, shape: object, order: object) -> Array:
    """Build a numeric array; reject data whose size does not match the shape."""
    if not isinstance(kind, _NumberKind) or not isinstance(content, bytes | bytearray | memoryview):
        raise ValueError("an array that is not made of plain numbers")
    if not isinstance(shape, tuple) or not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(f"an array of the shape {shape!r:.60}")
    array = np.frombuffer(bytes(content), dtype=kind.dtype)
    return array.reshape(shape, order="F" if order == "F" else "C")


class _NumpyReader(_Reader):
    def __init__(self, file: IO[bytes], path: Path) -> None:
        allowed: dict[str, object] = {"numpy.ndarray": PLAIN_ARRAY, "numpy.dtype": self._kind}
        for core in ("numpy.core", "numpy._core"):  # renamed by numpy 2
            allowed[f"{core}.multiarray._reconstruct"] = self._empty
            allowed[f"{core}.multiarray.scalar"] = self._scalar
            allowed[f"{core}.numeric._frombuffer"] = self._from_buffer
        super().__init__(file, allowed, path)

    def _kind(self, code: object, *_: object) -> _NumberKind:
        return _NumberKind(code)

    def _empty(self, kind: object, *_: object) -> _StoredArray:
        """Create an array to be filled by its state; reject subclasses."""
        if kind != PLAIN_ARRAY:
            raise ValueError(f"an array of class {kind!r:.60}")
        return _StoredArray()

    def _scalar(self, kind: object, content: object) -> Array:
        return _array(content, kind, (1,), "C")[0]  # type: ignore[no-any-return]

    def _from_buffer(self, content: object, kind: object, shape: object, order: object) -> Array:
        return _array(content, kind, shape, order)


def _flat(content: object, path: Path, prefix: str = "") -> dict[str, Array]:
    """Flatten nested containers to arrays by dotted name."""
    if isinstance(content, _StoredArray):
        if not hasattr(content, "array"):
            raise UnsafePickleError(f"'{path}' names an array under '{prefix}' and holds no numbers for it.")
        content = content.array
    if isinstance(content, np.ndarray | np.generic):
        return {prefix: np.asarray(content)}
    if isinstance(content, list | tuple):
        content = dict(enumerate(content))
    if isinstance(content, str | bytes | int | float | NoneType):
        return {}
    if not isinstance(content, dict):
        raise UnsafePickleError(
            f"'{path}' holds a {type(content).__name__} under '{prefix}' where an array was expected."
        )
    parts = (_flat(value, path, f"{prefix}.{name}" if prefix else str(name)) for name, value in content.items())
    return {name: array for part in parts for name, array in part.items()}


TORCH_SUFFIXES = {".pt", ".pth", ".tar"}


def arrays_of(name: str, path_override: Path | None = None) -> dict[str, Array]:
    """Read the arrays of a set of weights whose first file is a pickle.

    Args:
        name: the set of weights in the catalog
        path_override: another file to read: an `.npz` file, or the catalog's own pickle at another place

    """
    file, *_ = entry_of(name).files
    path = path_override or weights_of(name).path(file.name)
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
    """Read the arrays of an `.npz` file; pickled objects are rejected."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedWeightsError(f"'{path}' cannot be read as arrays (.npz): {error}.") from error
