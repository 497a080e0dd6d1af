"""EditInspector: edits of MagicBrush's test set with the labels of three people each (Yosef et al. 2025).

Answers are put into the words and numbers of the study design `editinspector`, where a higher number is better, so that
the authors' people and your own can be compared. Two columns are never read, `metadata_annotated_is_accurate` and
`metadata_annotated_is_artifacts`: in the files on Imagen 3 and UltraEdit they are left over from MagicBrush. The
columns of levels, from which they can be determined, are right everywhere.
"""

from __future__ import annotations

import csv
import io
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from editgauge._util.datasets import Faults, Ids, find_data_file, read_text
from editgauge._util.fields import format_value
from editgauge._util.text import format_count
from editgauge.benchmarks.datasets import Remark
from editgauge.benchmarks.magicbrush import NEEDED as MAGICBRUSH_FILES
from editgauge.benchmarks.magicbrush import read_sessions
from editgauge.edit_types import EDIT_TYPES, UNSPECIFIED, vocabulary
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import complete_edit
from editgauge.types import Benchmark, Edit

FILE = "editinspector_benchmark.csv"
NEEDED = f"EditInspector's `{FILE}`, or another of its CSV files"
RATERS = 3
ACTIONS = ("Add", "Remove", "Replace", "Change Attribute")
_COLUMNS: Mapping[str, tuple[str, Callable[[int], int], int]] = {
    "accuracy": ("is_accurate_level", int, 3),
    "consistent": ("is_visualy_consistence", int, 1),
    "precise": ("is_good_quality", int, 1),
    "artifacts": ("is_artifacts_level", lambda level: 2 - level, 2),
    "caption_right": ("is_extensive_difference_caption_accurate", int, 1),
}
"""A question to its column, to our number for an answer, and to the highest answer."""
QUESTIONS = tuple(_COLUMNS)
REASONS = {"consistent": "visualy_consistence_explanation", "precise": "good_quality_explanation"}
DIFFERENCES = "difference_caption_explanation"
OF_PEOPLE = "metadata_annotated_"
TEXTS = ("id", "instruction", "rich_instruction", "caption", "extensive_caption", "action", "artifacts_bboxes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One edit, and what three people said about its outcome."""

    id: str
    """As our MagicBrush has it."""
    original_id: str
    """`IMAGE_INSTRUCTION_TURN`, as the file has it."""
    image: str
    turn: int
    instruction: str
    rich_instruction: str | None
    action: str | None
    """Add, Remove, Replace or Change Attribute."""
    difference_caption: str | None
    """The machine's, that people were asked about."""
    short_caption: str | None
    raters: tuple[str, ...]
    answers: Mapping[str, tuple[int, ...]]
    """By question, in the order of the raters; higher is better."""
    feedback: Mapping[str, tuple[str, ...]]
    """What is not consistent and not precise; raters who found nothing said nothing."""
    differences: tuple[str, ...]
    """Everything that changed, as each rater wrote it."""
    released_artifacts: tuple[Mapping[str, Any], ...]
    """What the authors' own detection of artifacts found."""


def majority(answers: Sequence[int]) -> int | None:
    """Return the majority answer, or None, as in the paper.

    >>> majority([2, 2, 3]), majority([0, 1, 2])
    (2, None)
    """
    answer, count = Counter(answers).most_common(1)[0]
    return answer if count * 2 > len(answers) else None


def read_inspected(data: Path | None) -> tuple[Inspected, ...]:
    """All rows of a CSV file; raises one `BadInputError` with everything that is wrong with it."""
    file = find_data_file("editinspector", data, FILE, NEEDED)
    faults = Faults("editinspector", file)
    reader = csv.DictReader(io.StringIO(read_text(file), newline=""))
    columns = {
        *TEXTS,
        "annotators",
        *(OF_PEOPLE + name for name in (*(c for c, _, _ in _COLUMNS.values()), DIFFERENCES)),
    }
    lacking = sorted({*columns, *(OF_PEOPLE + name for name in REASONS.values())} - set(reader.fieldnames or ()))
    if lacking:
        raise BadInputError(f"'{file}' is not a CSV file of EditInspector: it lacks columns.", lacking)
    ids = Ids()
    rows = [_row(_Cells(row, reader.line_num, faults), ids) for row in reader]
    if faults.problems or not rows:
        faults.done()
    return tuple(row for row in rows if row)


def ratings_of(data: Path, method: str) -> Iterator[dict[str, object]]:
    """Every answer as a rating of the outcome of a method, in the form that `editgauge agree` reads.

    Args:
        data: one of EditInspector's CSV files.
        method: what the method whose outcomes people judged is called in the run.

    """
    for row in read_inspected(data):
        for question, answers in row.answers.items():
            for rater, value in zip(row.raters, answers, strict=True):
                yield {"edit": row.id, "method": method, "rater": rater, "question": question, "value": value}


def remarks_of(data: Path) -> Iterator[Remark]:
    """Yield the remarks on inconsistent and imprecise edits."""
    for row in read_inspected(data):
        for about, texts in row.feedback.items():
            yield from (Remark(about, text, row.image) for text in texts)


class _Cells:
    """The cells of one row; what is wrong with them is noted."""

    def __init__(self, row: Mapping[str, Any], line: int, faults: Faults) -> None:
        self._row = row
        self._line = line
        self._faults = faults
        self.fine = True

    def wrong(self, text: str) -> None:
        self.fine = False
        self._faults.add(self._line, text)

    def verbatim(self, column: str) -> str:
        return str(self._row[column] or "")

    def text(self, column: str) -> str | None:
        """Return the text of a cell with single blanks, or None."""
        return " ".join((self._row[column] or "").split()) or None

    def values(self, column: str, kind: type | tuple[type, ...]) -> list[Any]:
        """Return one value per rater."""
        values = self.literal(column)
        if isinstance(values, list) and len(values) == RATERS and all(isinstance(value, kind) for value in values):
            return values
        self.wrong(f"'{column}' must list the answers of {RATERS} raters, got {format_value(self._row[column])}")
        return []

    def literal(self, column: str) -> Any:
        try:
            return literal_eval(self._row[column] or "")
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None


def _row(cells: _Cells, ids: Ids) -> Inspected | None:
    image, turn = _image_and_turn(cells)
    instruction, action = cells.text("instruction"), cells.text("action")
    if instruction is None:
        cells.wrong("'instruction' is empty")
    if action is not None and action not in ACTIONS:
        cells.wrong(f"'action' is one of {', '.join(ACTIONS)} or empty, got {format_value(action)}")
    boxes = cells.literal("artifacts_bboxes")
    if not isinstance(boxes, list):
        cells.wrong("'artifacts_bboxes' must be a list")
    answers = {question: _answers(cells, question) for question in QUESTIONS}
    feedback = {about: cells.values(OF_PEOPLE + column, str) for about, column in REASONS.items()}
    raters, differences = cells.values("annotators", int), cells.values(OF_PEOPLE + DIFFERENCES, str)
    if not cells.fine or instruction is None:
        return None
    return Inspected(
        id=ids.give(image, turn),
        original_id=cells.verbatim("id"),
        image=image,
        turn=turn,
        instruction=instruction,
        rich_instruction=cells.text("rich_instruction"),
        action=action,
        difference_caption=cells.text("extensive_caption"),
        short_caption=cells.text("caption"),
        raters=tuple(map(str, raters)),
        answers=answers,
        feedback={about: _nonempty(texts) for about, texts in feedback.items()},
        differences=_nonempty(differences),
        released_artifacts=tuple(boxes),
    )


def _image_and_turn(cells: _Cells) -> tuple[str, int]:
    """Parse image id and turn from an id such as `380097_Let the counter turn white._1`."""
    name = cells.text("id") or ""
    image, turn = name.partition("_")[0], name.rpartition("_")[2]
    if image.isdigit() and turn.isdigit():
        return image, int(turn)
    cells.wrong(f"'id' must be IMAGE_INSTRUCTION_TURN, got {format_value(name)}")
    return "", 0


def _answers(cells: _Cells, question: str) -> tuple[int, ...]:
    column, number, highest = _COLUMNS[question]
    answers = cells.values(OF_PEOPLE + column, (bool, int))
    outside = [answer for answer in answers if not 0 <= answer <= highest]
    if outside:
        cells.wrong(f"'{OF_PEOPLE}{column}' goes from 0 to {highest}, got {outside[0]}")
    return tuple(number(answer) for answer in answers)


def _nonempty(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(remark for text in texts if (remark := " ".join(text.split())))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of issue, and the words that tell it."""

    label: str
    pattern: re.Pattern[str]


def kinds_of(text: str) -> tuple[str, ...]:
    """Return the issue kinds that a remark mentions.

    >>> kinds_of("The bird has an odd shape and its edges are blurry.")
    ('shape', 'blur', 'edges')
    """
    return tuple(name for name, kind in kinds().items() if kind.pattern.search(text))


@cache
def kinds() -> dict[str, Kind]:
    """Return the ten issue kinds by name."""
    text = (resources.files("editgauge.benchmarks") / "data" / "issue_kinds.yaml").read_text("utf-8")
    return {name: Kind(entry["label"], _pattern(entry["words"])) for name, entry in yaml.safe_load(text).items()}


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    patterns = (re.escape(word).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)


PUBLISHED = 783, 398
"""Edits and photographs of the whole set; a photograph is edited in up to three turns."""
LICENSE = "labels CC-BY-4.0, as the paper says; pictures as MagicBrush (CC-BY-4.0, not to be redistributed unpacked)"


def load(data: Path | None = None, images: Path | None = None) -> Benchmark:
    """EditInspector: 783 edits, each judged by three people; --data its CSV, --images MagicBrush's.

    Ids are those of `magicbrush`; the outcome that people judged is MagicBrush's own, the edit's `reference`. A change
    of attributes has the type that its instruction names unambiguously, or is `unspecified`; `extras` keep the action.
    """
    inspected = read_inspected(data)
    path = images or _beside(data)
    turns, _ = read_sessions("editinspector", path)
    by_turn = {(edit.extras["img_id"], edit.turn): edit for edit in turns}
    absent = [f"{row.image}, turn {row.turn}" for row in inspected if (row.image, row.turn) not in by_turn]
    if absent:
        raise BadInputError(
            f"MagicBrush in '{path}' lacks {len(absent)} of {len(inspected)} turns of EditInspector. Is it `test`?",
            absent[:5],
        )
    pairs = [(row, by_turn[row.image, row.turn]) for row in inspected]
    edits = tuple(_edit(row, turn) for row, turn in pairs)
    return Benchmark("editinspector", edits, _about(pairs), LICENSE)


def _beside(data: Path | None) -> Path:
    """MagicBrush in the folder of the CSV file; raises `BadInputError` that says what to give."""
    folder = (data if data is not None and data.is_dir() else (data or Path()).parent).absolute()
    if (folder / "edit_sessions.json").is_file():
        return folder
    raise BadInputError(f"EditInspector has no pictures of its own. Give --images: {MAGICBRUSH_FILES}.")


def _edit(row: Inspected, turn: Edit) -> Edit:
    extras: dict[str, Any] = {
        **turn.extras,
        "original_id": row.original_id,
        "action": row.action,
        "rich_instruction": row.rich_instruction,
        "difference_caption": row.difference_caption,
        "short_caption": row.short_caption,
        "differences": list(row.differences),
        "feedback": {about: list(texts) for about, texts in row.feedback.items() if texts},
        "people": {question: list(answers) for question, answers in row.answers.items()},
        "majority": {question: majority(row.answers[question]) for question in QUESTIONS},
        "released_artifacts": list(row.released_artifacts),
    }
    present = {key: value for key, value in extras.items() if value is not None}
    edit = replace(turn, id=row.id, instruction=row.instruction, extras=present)
    if row.instruction != turn.instruction:
        edit = complete_edit(replace(edit, **NOTHING))
    edit_type = vocabulary("editinspector").get(row.action or "")
    agrees = edit.type == edit_type or (edit_type is None and (row.action is None or _changes_an_attribute(edit.type)))
    if agrees or (edit_type == "object_addition" and EDIT_TYPES[edit.type].effect == "adds"):
        return edit
    return (
        complete_edit(replace(edit, **{**NOTHING, "type": edit_type or UNSPECIFIED}))
        if edit_type
        else replace(edit, **NOTHING)
    )


NOTHING: dict[str, Any] = {
    **dict.fromkeys(("subject", "from_", "to", "position", "count", "reading")),
    "attributes": (),
    "type": UNSPECIFIED,
}
"""The fields of an edit that was not read."""


def _changes_an_attribute(edit_type: str) -> bool:
    """Return whether the edit changes an attribute; the data set does not name which."""
    kind = EDIT_TYPES[edit_type]
    return kind.value == "attribute" or kind.region == "background"


def _about(pairs: Sequence[tuple[Inspected, Edit]]) -> str:
    """Describe the number of edits and whether instructions equal MagicBrush's."""
    images = {row.image for row, _ in pairs}
    size = len(pairs), len(images)
    text = f"{format_count(size[0], 'edit')} of {format_count(size[1], 'photograph')}, judged by three people each"
    if size != PUBLISHED:
        text += f" ({FILE} has {PUBLISHED[0]} of {PUBLISHED[1]})"
    other = [row.id for row, turn in pairs if row.instruction.casefold() != turn.instruction.casefold()]
    return f"{text}; MagicBrush words {len(other)} otherwise, such as {other[0]}" if other else text
