"""Answers as bytes and back: a line of JSON, then plain arrays. No pickle: a file from a stranger can do no harm.

Masks and class maps are packed small, which shrinks them ten to sixty times; floating-point numbers stay as they are,
because packing them costs more time than it saves room.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge.models.answers import ClassMap, ClassScores, Detections, Faces, Patches, Poses, TextLines

Bundle = Patches | ClassScores | TextLines | Faces | Poses
"""Answers whose fields are arrays, words and tuples of words."""
BUNDLES: dict[str, type[Bundle]] = {
    "patches": Patches,
    "class scores": ClassScores,
    "text lines": TextLines,
    "faces": Faces,
    "poses": Poses,
}
Answer = NDArray[Any] | Mapping[str, NDArray[Any]] | Detections | ClassMap | Bundle | float | str
MAGIC = b"EditGauge answer 2\n"
CHECKSUM = 16
FASTEST = 1


class DamagedAnswerError(Exception):
    """Bytes that are not what was packed under this key."""


def pack(key: str, answer: Answer) -> bytes:
    """The answer with a checksum over it and its key."""
    kind, plain, arrays = _apart(answer)
    bodies = [_squeezed(array) for array in arrays.values()]
    layout = [
        [name, array.dtype.str, list(array.shape), len(body)]
        for (name, array), body in zip(arrays.items(), bodies, strict=True)
    ]
    header = json.dumps({"kind": kind, "plain": plain, "arrays": layout}).encode() + b"\n"
    return MAGIC + _checksum(key, header, *bodies) + b"".join([header, *bodies])


def unpack(key: str, packed: bytes) -> Answer:
    """What was packed; raises `DamagedAnswerError` when these are other bytes, or were packed under another key."""
    content = memoryview(packed)[len(MAGIC) + CHECKSUM :]
    if not packed.startswith(MAGIC) or packed[len(MAGIC) :][:CHECKSUM] != _checksum(key, content):
        raise DamagedAnswerError(key)
    end = packed.index(b"\n", len(MAGIC) + CHECKSUM) + 1
    header = json.loads(packed[len(MAGIC) + CHECKSUM : end])
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype, shape, size in header["arrays"]:
        arrays[name] = _spread(packed[end : end + size], np.dtype(dtype), tuple(shape))
        end += size
    return _together(header["kind"], header["plain"], arrays)


def size_of(answer: Answer) -> int:
    """How many bytes the answer takes in memory, about."""
    _, plain, arrays = _apart(answer)
    return sum(array.nbytes for array in arrays.values()) + len(str(plain)) + 200


def _checksum(key: str, *parts: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(key.encode(), digest_size=CHECKSUM)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _squeezed(array: NDArray[Any]) -> bytes:
    if array.dtype == np.bool_:
        return zlib.compress(np.packbits(array).tobytes(), FASTEST)
    if array.dtype == np.uint8:
        return zlib.compress(array.tobytes(), FASTEST)
    return array.tobytes()


def _spread(body: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if dtype == np.bool_:
        bits = np.frombuffer(zlib.decompress(body), np.uint8)
        return np.unpackbits(bits, count=math.prod(shape)).view(np.bool_).reshape(shape)
    content = zlib.decompress(body) if dtype == np.uint8 else body
    return np.frombuffer(content, dtype).reshape(shape).copy()  # libraries want arrays they may write to


def _apart(answer: Answer) -> tuple[str, Any, dict[str, NDArray[Any]]]:
    """What it is, its plain part and its arrays."""
    match answer:
        case np.ndarray():
            return "array", None, {"": answer}
        case Detections():
            names = list(dict.fromkeys((*answer.phrases, *answer.words)))
            place = {name: number for number, name in enumerate(names)}
            called = [[place[name] for name in side] for side in (answer.phrases, answer.words)]
            arrays = {"boxes": answer.boxes, "confidences": answer.confidences, "called": np.array(called, np.int32)}
            if answer.places is not None:
                arrays["places"] = answer.places
            return "detections", names, arrays
        case ClassMap():
            return "classes", list(answer.classes), {"places": answer.places}
        case Patches() | ClassScores() | TextLines() | Faces() | Poses():
            kind = next(kind for kind, bundle in BUNDLES.items() if isinstance(answer, bundle))
            values = {field.name: getattr(answer, field.name) for field in fields(answer)}
            arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
            return kind, {name: value for name, value in values.items() if name not in arrays}, arrays
        case float() | str():
            return "plain", answer, {}
        case Mapping():
            return "features", None, {name: np.asarray(array) for name, array in answer.items()}
    raise TypeError(f"a model answered with {type(answer).__name__}, which is no kind of answer")


def _together(kind: str, plain: Any, arrays: dict[str, NDArray[Any]]) -> Answer:
    match kind:
        case "array":
            return arrays[""]
        case "detections":
            phrases, words = (tuple(plain[place] for place in side) for side in arrays["called"].tolist())
            return Detections(arrays["boxes"], arrays["confidences"], phrases, words, arrays.get("places"))
        case "classes":
            return ClassMap(arrays["places"], tuple(plain))
        case _ if kind in BUNDLES:
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
            }
            return BUNDLES[kind](**{**values, **arrays})
        case "plain":
            return float(plain) if isinstance(plain, int | float) else str(plain)
        case _:
            return arrays
