"""The score record, and what identifies a score and the image files behind it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from editgauge._util.files import write_json
from editgauge.errors import BadRunError
from editgauge.evidence import Note, to_json

if TYPE_CHECKING:
    from editgauge.evidence import Evidence
    from editgauge.types import Reason, ScoreSpec


class OutcomeKey(NamedTuple):
    """Identity of an outcome: edit, method and seed."""

    edit: str
    method: str
    seed: int


class ScoreKey(NamedTuple):
    """Identity of the scores of one protocol for one outcome; unique in a run."""

    edit: str
    method: str
    seed: int
    protocol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRecord:
    """One score of one outcome: a value, or the reason why there is none."""

    edit: str
    method: str
    seed: int
    protocol: str
    spec: ScoreSpec
    value: float | None = None
    """None when it is unscored."""
    reason: Reason | None = None
    """Why it is unscored, from a closed list."""
    detail: str = ""
    """What exactly is missing, in words; empty for a value."""
    advice: str = ""
    """What would help to get a value."""
    evidence: tuple[Evidence, ...] = ()
    signature: str = ""
    """Everything that shaped the value, in one line."""

    @property
    def key(self) -> ScoreKey:
        """Outcome and protocol."""
        return ScoreKey(self.edit, self.method, self.seed, self.protocol)

    @property
    def name(self) -> str:
        """Name of the score within its protocol."""
        return self.spec.name

    @property
    def full_name(self) -> str:
        """`PROTOCOL/NAME`."""
        return f"{self.protocol}/{self.spec.name}"

    @property
    def higher_is_better(self) -> bool:
        """Direction of the score."""
        return self.spec.higher_is_better

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest possible value."""
        return self.spec.range

    @property
    def status(self) -> Literal["scored", "unscored"]:
        """Whether there is a value."""
        return "unscored" if self.value is None else "scored"

    @property
    def explanation(self) -> str:
        """Why there is no value, and what would help."""
        return "; ".join(filter(None, (self.detail, self.advice)))

    @property
    def note(self) -> str:
        """The explanation of a missing value and the notes of the evidence, as one text."""
        notes = (piece.text for piece in self.evidence if isinstance(piece, Note))
        return " ".join(filter(None, (self.explanation, *notes)))

    def __float__(self) -> float:
        if self.value is None:
            raise TypeError(f"{self.full_name} is unscored ({self.reason}): {self.note}".rstrip(": "))
        return self.value

    def __str__(self) -> str:
        """Value with an arrow for its direction, or why there is none."""
        if self.value is None:
            return f"unscored ({self.reason})"
        return f"{self.value:.3f} {'↑' if self.spec.higher_is_better else '↓'}"

    def __repr__(self) -> str:
        return f"<{self.full_name}: {self}>"

    def to_dict(self, *, with_evidence: bool = True) -> dict[str, Any]:
        """Return plain values for JSON; the explanation of a missing value is its first note."""
        explanation = (Note(self.explanation),) if self.explanation else ()
        return {
            "protocol": self.protocol,
            "name": self.name,
            "value": self.value,
            "status": self.status,
            "reason": self.reason,
            "higher_is_better": self.higher_is_better,
            "range": self.range,
            "signature": self.signature,
            "evidence": [to_json(piece) for piece in (*explanation, *self.evidence)] if with_evidence else [],
        }


@dataclass(frozen=True, slots=True)
class ImageStamp:
    """State of an image file when it was scored.

    Attributes:
        path: absolute path.
        size: bytes; -1 for a missing file.
        changed_ns: modification time in nanoseconds.
        pixels: hash of the decoded image, None if it cannot be decoded or was not.

    """

    path: str
    size: int = -1
    changed_ns: int = -1
    pixels: str | None = None

    @classmethod
    def of(cls, path: Path, pixels: str | None = None) -> ImageStamp:
        """Stamp a file as it is now."""
        try:
            stat = path.stat()
        except OSError:
            return cls(str(path))
        return cls(str(path), stat.st_size, stat.st_mtime_ns, pixels)


Stamps = tuple[ImageStamp | None, ...]
"""The files behind the scores of an outcome: source, outcome, reference."""


def short_hash(text: str) -> int:
    """Return 8 bytes of a hash of the text, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def fingerprint(key: ScoreKey, *images: ImageStamp | None) -> int:
    """Hash a key and the state of its images to 8 bytes, so that a million fit into ten megabytes."""
    text = "\0".join((*map(str, key), *(f"{i.path}\0{i.size}\0{i.changed_ns}" if i else "-" for i in images)))
    return short_hash(text)


FILE = "sets.json"
ALL = "all"


@dataclass(frozen=True, slots=True)
class SetScore:
    """What a protocol says about all outcomes of a method, or of those of one edit type."""

    protocol: str
    name: str
    method: str
    edit_type: str
    """`all` for the whole method."""
    value: float | None
    n: int
    """How many outcomes it is made of."""
    higher_is_better: bool
    about: str
    reason: str = ""
    detail: str = ""
    """A warning that belongs to the value, or why there is none."""
    missing: int = 0
    """Outcomes of the cell that could not be taken in."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Why they could not, in the words of `Unscored`, to how many."""
    low: float | None = None
    high: float | None = None
    """The 95% interval, where the protocol has one."""
    interval_method: str = ""


def write_sets(folder: Path, scores: Sequence[SetScore]) -> None:
    """Write the set scores into the run folder, atomically."""
    write_json(folder / FILE, [asdict(score) for score in scores])


def read_sets(folder: Path) -> tuple[SetScore, ...]:
    """Those of a run; none when its protocols have none."""
    path = folder / FILE
    if not path.is_file():
        return ()
    try:
        return tuple(SetScore(**stored) for stored in json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}.") from error
