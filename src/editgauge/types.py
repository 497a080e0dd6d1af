"""Types of the data flow: edits, outcomes, items, scores."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from editgauge._util.text import printable
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, UnknownNameError

if TYPE_CHECKING:
    from editgauge._util.images import ImageFile, Pixels
    from editgauge._util.masks import BoolMask, Mask
    from editgauge.evidence import Evidence
    from editgauge.recipes import Recipe

Reason = Literal[
    "missing_outcome",  # the method gave no image for this edit
    "unreadable_image",  # the source or the edited image cannot be decoded
    "not_applicable",  # the score needs a part this edit does not have, such as a mask
    "no_rule",  # the protocol has no automatic rule for this edit type
    "not_understood",  # the instruction could not be read, so it is unknown what to look for
    "unknown_word",  # a closed-vocabulary model does not know the word
    "not_detected",  # an object the rule starts from was not seen
    "no_model",  # no model plays a role the protocol needs
    "unreachable",  # a judge gave no answer this time: no connection, a wrong key, nothing recorded
    "refused",  # a judge or a filter refused
    "unparsable",  # an answer that is not of the asked form
    "budget",  # the budget was used up
    "crashed",  # the protocol failed on this item; the detail says how
]
REASONS: tuple[Reason, ...] = get_args(Reason)

PlaneRelation = Literal["left", "right", "above", "below", "on", "center"]
"""Relations that can be determined in the plane of the picture."""
Relation = Literal["left", "right", "above", "below", "on", "center", "next to", "in", "behind", "in front of"]

UNPAIRED_SURROGATE = re.compile("[\ud800-\udfff]")
"""What a shell passes on for bytes that are not UTF-8; no file, hash or model accepts them."""
GROUP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
MAX_ID_BYTES = 200  # with a suffix it still fits every common file system


def id_problem(name: str) -> str | None:
    """Return why a name cannot be an id and a file name, or None if it can.

    >>> id_problem("猫-black") is None
    True
    >>> id_problem("../x")
    "id '../x' holds a path separator"
    """
    excerpt = repr(name if len(name) <= 60 else name[:57] + "...")
    if not name.strip():
        return "id is empty"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_ID_BYTES:
        return f"id {excerpt} is longer than {MAX_ID_BYTES} bytes"
    if any(sign in name for sign in "/\\:"):
        return f"id {excerpt} holds a path separator"
    if name.startswith(".") or name != name.strip():
        return f"id {excerpt} begins with a dot, or begins or ends with a blank"
    if any(unicodedata.category(sign) in {"Cc", "Cs", "Cf", "Zl", "Zp"} for sign in name):
        return f"id {excerpt} holds a control character"
    return None


@dataclass(frozen=True, slots=True)
class Position:
    """Where something should be: a relation, and the object it is relative to."""

    relation: Relation
    anchor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedStep:
    """One change that an instruction asks for; its fields are those of an edit."""

    type: str
    subject: str | None = None
    from_: str | None = None
    to: str | None = None
    position: Position | None = None
    count: int | None = None
    """How many of `to`, or of `subject` where nothing comes, are asked for; None when the text gives no number."""
    attributes: tuple[str, ...] = ()
    """What else the text says about the thing that comes or changes: `("red", "wooden")`."""
    sure: bool = False
    """True when the words leave no doubt about the type."""
    also: tuple[ParsedStep, ...] = ()
    """Neighboring readings of the same words, such as a hat as an addition or as an altered part."""


@dataclass(frozen=True, slots=True)
class ParsedInstruction:
    """What an instruction asks for, step by step."""

    steps: tuple[ParsedStep, ...]
    how: Literal["rules", "captions", "judge", "given"]
    left: str = ""
    """The part of the text that was not understood."""


InputRole = Literal["image", "subject", "identity", "style", "background"]
"""What a further picture of an edit is for: `image` where the benchmark does not say."""


@dataclass(frozen=True, slots=True)
class InputImage:
    """A further picture that an edit starts from, in addition to its source."""

    picture: ImageFile
    role: InputRole = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A request to change a source image, with what the benchmark states about it."""

    id: str
    source: ImageFile
    type: str
    """The name of an edit type; `editgauge list edit-types` shows all."""
    instruction: str
    subject: str | None = None
    from_: str | None = None
    to: str | None = None
    position: Position | None = None
    count: int | None = None
    attributes: tuple[str, ...] = ()
    reading: ParsedInstruction | None = None
    """How the instruction was read; the fields above are those of its first step. None when it was not read."""
    source_caption: str | None = None
    target_caption: str | None = None
    mask: Mask | None = None
    """The region the edit may change; everything outside should stay."""
    objects: Mapping[str, Mask] = field(default_factory=dict)
    """Objects of the source image whose outlines are known."""
    reference: ImageFile | None = None
    inputs: tuple[InputImage, ...] = ()
    """Further pictures that the instruction speaks of, in its order: whom to show, whose style to take."""
    recipe: Recipe | None = None
    """How a reference editor makes the right outcome."""
    turn: int = 1
    follows: str | None = None
    """The edit whose outcome is this one's source: in a multi-turn benchmark, the method's own last picture."""
    first_source: ImageFile | None = None
    """From the second turn on, the picture that the first turn starts from; `open_benchmark` fills it in."""
    masks_before: tuple[Mask | None, ...] = ()
    """The masks of the turns before, filled in the same way."""
    photograph: str | None = None
    """The photograph that the source was made from, where that is another picture: turns of one session share it."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The benchmark's own divisions: `{"task": "text_change", "language": "en"}`; tables and filters go by them."""
    extras: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = id_problem(self.id)
        if problem:
            raise BadInputError(problem)
        for name, value in self.groups.items():
            if not GROUP_NAME.fullmatch(name) or not (isinstance(value, str) and value.strip()):
                raise BadInputError(
                    f"The edit '{self.id}' has the group {name!a}: {value!a}; a group's name is letters, digits and _, "
                    "and its value a text that is not empty."
                )
        if self.type not in EDIT_TYPES:
            raise UnknownNameError("edit type", self.type, EDIT_TYPES, "editgauge list edit-types")
        anchor = self.position.anchor if self.position else None
        texts = (self.instruction, self.subject, self.from_, self.to, anchor, self.source_caption, self.target_caption)
        for text in texts:
            if text and not text.isascii() and UNPAIRED_SURROGATE.search(text):
                raise BadInputError(
                    f"The text {text[:60]!a} of the edit '{self.id}' holds half a character; is it in another "
                    "encoding than UTF-8?"
                )
        self._remove_control_characters()

    def _remove_control_characters(self) -> None:
        """Clean every text the same way, wherever the edit comes from: parsers, judges and terminals act on them."""
        for name in ("instruction", "subject", "from_", "to", "source_caption", "target_caption"):
            text = getattr(self, name)
            if text:
                object.__setattr__(self, name, printable(text))
        if self.position and self.position.anchor:
            object.__setattr__(self, "position", replace(self.position, anchor=printable(self.position.anchor)))

    @property
    def origin(self) -> str:
        """Name of the photograph; outcomes of edits that share it are not independent."""
        return self.photograph or self.source.name


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named set of edits with their source images."""

    name: str
    edits: Sequence[Edit]
    about: str = ""
    license: str = ""
    broken: tuple[str, ...] = ()
    """Problems of the data that were skipped."""

    def __post_init__(self) -> None:
        # Some file systems store 'é' as two characters; both spellings name the same file.
        counts = Counter(unicodedata.normalize("NFC", edit.id) for edit in self.edits)
        twice = [name for name, count in counts.items() if count > 1]
        if twice:
            raise BadInputError(f"Benchmark '{self.name}' has the same id more than once.", twice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a method for an edit: an image, or the reason why there is none."""

    edit_id: str
    method: str
    seed: int = 0
    image: Path | None = None
    absence: str | None = None
    prompt: str | None = None
    """What the method was asked, where that is known."""
    instruction: str | None = None
    """The original instruction, where the prompt is a rewritten one; scores are by the original."""
    rewriter: str | None = None
    """Who rewrote the instruction."""

    def __post_init__(self) -> None:
        if (self.image is None) == (self.absence is None):
            raise BadInputError(
                f"The outcome of '{self.method}' for '{self.edit_id}' needs an image or an absence, not both."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An edit with the decoded pictures of one outcome; what a protocol scores.

    `edited` has the size of `source`: the runner resized it, and says so in `resized_from`.
    """

    edit: Edit
    outcome: Outcome
    source: Pixels
    edited: Pixels
    mask: BoolMask | None = None
    reference: Pixels | None = None
    """The benchmark's own edited image in the size of `source`, where it has one."""
    inputs: tuple[Pixels, ...] = ()
    """The further pictures of the edit, each in its own size."""
    first: Pixels | None = None
    """From the second turn on, the picture before the first turn, in the size of `source`."""
    unchanged: BoolMask | None = None
    """What no turn so far may change; None where a turn has no mask."""
    resized_from: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    """What was done to the pictures when they were read; stands in the evidence of every score."""

    @property
    def original(self) -> Pixels | None:
        """The edited image in its native size, if that differs; models look at this one."""
        from editgauge._util.images import native_pixels

        return native_pixels(self.edited)

    @property
    def as_made(self) -> Pixels:
        """The edited image in its native size, as the method made it."""
        return self.edited if self.original is None else self.original

    @property
    def pixel_bytes(self) -> int:
        """Memory of both images, and of the edited one in its native size."""
        return self.source.nbytes + self.edited.nbytes + (0 if self.original is None else self.original.nbytes)


Question = Literal["done", "kept", "artifacts", "quality"]
QUESTIONS: Mapping[Question, str] = {
    "done": "edit done",
    "kept": "rest kept",
    "artifacts": "artifacts",
    "quality": "quality",
}
"""What people ask about an edit, in the order in which every view answers it, and how tables call it."""


@dataclass(frozen=True, slots=True)
class ScoreSpec:
    """Name, direction, range and meaning of a score."""

    name: str
    higher_is_better: bool
    range: tuple[float, float]
    about: str = field(default="", compare=False)
    question: Question | None = field(default=None, compare=False)
    """The question to which this score is the protocol's main answer; it says what to show, and changes no number."""


@dataclass(frozen=True, slots=True)
class Score:
    """A measured value with its evidence."""

    value: float
    evidence: tuple[Evidence, ...] = ()
    interval: tuple[float, float] | None = None
    """The 95% interval of a score of a whole set of outcomes; None for a single outcome, which has none."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(
                f"a score must be a finite number, got {self.value}; return Unscored(reason, detail) instead"
            )


@dataclass(frozen=True, slots=True)
class Unscored:
    """A missing value, with the reason."""

    reason: Reason
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()
    advice: str = ""
    """What would help to get a value."""

    def __post_init__(self) -> None:
        if self.reason not in REASONS:
            raise ValueError(f"unknown reason '{self.reason}'; the closed list is {', '.join(REASONS)}")


Scores = Mapping[str, Score | Unscored]
