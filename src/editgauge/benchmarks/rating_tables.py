"""Published ratings of ImagenHub and MagicBrush edits, and VIEScore's answers, read from their own files.

Every reader yields one mapping per answer: edit, method, rater, question, value. A method of "" means that the file
does not name it, because it holds the outcomes of a single editor. An empty cell is no answer.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from editgauge._util.datasets import Ids, read_text
from editgauge._util.fields import format_value
from editgauge.errors import BadInputError

ASPECTS = ("SC", "PQ")
"""Semantic consistency and perceptual quality, in the order in which ImagenHub writes them (arXiv 2310.01596)."""
OVERALL = "overall"
"""The geometric mean of SC and PQ of one rater, as ImagenHub and VIEScore combine them."""
LOWER_IS_BETTER = frozenset({"LPIPS"})
VIESCORE_TOP = 10
"""VIEScore's answers go from 0 to 10; its SC and PQ are the lowest of their sub-scores (arXiv 2312.14867)."""
NOT_SCALES = ("id", "turn", "rater")

Answer = dict[str, object]


def imagenhub_ratings(data: Path, _method: str = "") -> Iterator[Answer]:
    """ImagenHub's tables: one TSV per rater, a row per edit (uid), a column per method, cells such as "[0.5, 1]".

    Args:
        data: a folder of TSV files, one such file, or several with commas between them.

    """
    for file in _files(data, ".tsv", "ImagenHub's ratings, one TSV file per rater"):
        rows = _rows(file, "\t", ("uid",))
        problems: list[str] = []
        answers: list[Answer] = []
        for line, row in rows:
            edit = edit_of(row.pop("uid") or "")
            for name, cell in row.items():
                if not (cell or "").strip():
                    continue
                values = _numbers(cell or "", ASPECTS)
                if isinstance(values, str):
                    problems.append(f"{file.name}:{line}: column '{name}': {values}")
                else:
                    answers += _aspects(edit, name, file.stem, *values)
        _raise_all(file, problems)
        yield from answers


def magicbrush_ratings(data: Path, method: str = "") -> Iterator[Answer]:
    """Ratings of MagicBrush edits: a CSV with id, turn, rater and a column per scale, all of one editor.

    Args:
        data: the CSV file, or the folder with `ratings.csv`.
        method: what the editor is called in your run; without it, the only method of the run.

    """
    file = data / "ratings.csv" if data.is_dir() else data
    problems: list[str] = []
    answers: list[Answer] = []
    for line, row in _rows(file, ",", NOT_SCALES):
        edit = Ids().give(row["id"], row["turn"])
        for scale in (name for name in row if name not in NOT_SCALES):
            cell = (row[scale] or "").strip()
            value = _number(cell)
            if value is None and cell:
                problems.append(f"{file.name}:{line}: '{scale}' must be a number, got {format_value(cell)}")
            elif value is not None:
                answers.append(_answer(edit, method, row["rater"] or "", scale, value))
    _raise_all(file, problems)
    yield from answers


def viescore_answers(data: Path, _method: str = "") -> Iterator[Answer]:
    """Yield VIEScore's answers from a TSV with method, uid, SC_scores and PQ_scores (lists from 0 to 10).

    A folder of JSON files, one per method, each {uid: {metric: value}}, is read as automatic metrics.

    Args:
        data: the TSV file, or the folder of JSON files.

    """
    if data.is_dir():
        yield from _automatic(data)
        return
    problems: list[str] = []
    answers: list[Answer] = []
    for line, row in _rows(data, "\t", ("method", "uid", "SC_scores", "PQ_scores")):
        lists = [_list(row[f"{aspect}_scores"] or "") for aspect in ASPECTS]
        if any(not values for values in lists):
            continue  # the judge gave no answer that could be read
        worst = [min(values) / VIESCORE_TOP for values in lists]
        if not all(0 <= value <= 1 for value in worst):
            problems.append(f"{data.name}:{line}: answers go from 0 to {VIESCORE_TOP}, got {lists}")
            continue
        answers += _aspects(edit_of(row["uid"] or ""), row["method"] or "", data.stem, worst[0], worst[1])
    _raise_all(data, problems)
    yield from answers


def edit_of(uid: str) -> str:
    """ImagenHub names an edit by the file of its source image, our benchmark by that name without its ending."""
    return Ids().give(PurePosixPath(uid).stem)


def _automatic(folder: Path) -> Iterator[Answer]:
    for file in _files(folder, ".json", "VIEScore's automatic metrics, one JSON file per method"):
        try:
            table = json.loads(read_text(file))
            rows = [(uid, name, float(value)) for uid, metrics in table.items() for name, value in metrics.items()]
        except (ValueError, TypeError, AttributeError) as error:
            raise BadInputError(f"'{file}' must hold JSON such as {{uid: {{metric: number}}}}: {error}.") from error
        for uid, name, value in rows:
            answer = _answer(edit_of(uid), file.stem, folder.name, name, value)
            yield {**answer, "higher_is_better": name.upper() not in LOWER_IS_BETTER}


def _aspects(edit: str, method: str, rater: str, consistency: float, quality: float) -> list[Answer]:
    values = {"SC": consistency, "PQ": quality, OVERALL: math.sqrt(consistency * quality)}
    return [_answer(edit, method, rater, question, value) for question, value in values.items()]


def _answer(edit: str, method: str, rater: str, question: str, value: float) -> Answer:
    return {"edit": edit, "method": method, "rater": rater, "question": question, "value": value}


def _files(data: Path, suffix: str, what: str) -> list[Path]:
    if data.is_dir():
        files = sorted(data.rglob(f"*{suffix}"))
        if not files:
            raise BadInputError(f"'{data}' has no {suffix} files. Expected: {what}.")
        return files
    parts = [Path(part) for part in str(data).split(",")]
    missing = [str(part) for part in parts if not part.is_file()]
    if missing:
        raise BadInputError(f"There is no such file. Expected: {what}.", missing)
    return parts


def _rows(file: Path, separator: str, needed: Sequence[str]) -> list[tuple[int, dict[str, str | None]]]:
    reader = csv.DictReader(io.StringIO(read_text(file), newline=""), delimiter=separator, restkey="")
    missing = [name for name in needed if name not in (reader.fieldnames or ())]
    if missing:
        raise BadInputError(f"The header of '{file}' must name {', '.join(needed)}; {', '.join(missing)} is missing.")
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise BadInputError(f"'{file}' is not a valid table: {error} (line {reader.line_num}).") from error
    too_long = [f"{file.name}:{line}: more values than the header has names" for line, row in rows if "" in row]
    _raise_all(file, too_long)
    return rows


def _numbers(cell: str, names: Sequence[str]) -> tuple[float, float] | str:
    values = _list(cell)
    if len(values) != len(names) or any(value < 0 for value in values):
        return f"expected [{', '.join(names)}] such as [0.5, 1], got {format_value(cell)}"
    return values[0], values[1]


def _list(cell: str) -> list[float]:
    """Return the finite numbers of a JSON list; empty for other cells."""
    try:
        values = json.loads(cell)
    except json.JSONDecodeError:
        return []
    numbers = [float(value) for value in values if isinstance(value, int | float)] if isinstance(values, list) else []
    return numbers if numbers and len(numbers) == len(values) and all(map(math.isfinite, numbers)) else []


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _raise_all(file: Path, problems: Sequence[str]) -> None:
    if problems:
        raise BadInputError(f"'{file}' has problems.", problems)
