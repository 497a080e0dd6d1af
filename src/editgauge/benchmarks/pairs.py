"""Public sets of outcomes of which people said which is better: a benchmark, outcomes and choices are made of them.

GenAI-Bench, EditReward-Bench and EditScore's bench hold whole pictures of several editors side by side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from editgauge._util.datasets import Faults, Ids, read_rows, require_data, slug, table_files
from editgauge._util.fields import format_value
from editgauge._util.files import write_bytes, write_jsonl
from editgauge.benchmarks.image_store import image_suffix, image_value
from editgauge.errors import UnknownNameError

LETTERS = "ABCDEFGH"
RANKING = re.compile(r"[A-H](?:\s*[>=]\s*[A-H])+")
VOTES = {"leftvote": "first", "rightvote": "second", "tievote": "tie", "bothbad_vote": "tie"}
BOTH_BAD = "bothbad_vote"


class Candidate(NamedTuple):
    """One edited picture."""

    content: bytes
    method: str


@dataclass(frozen=True, slots=True)
class ComparedOutcomes:
    """One edit with the pictures that were compared, and what was said about two of them."""

    key: str
    instruction: str
    source: bytes
    candidates: tuple[Candidate, ...]
    choices: tuple[tuple[int, int, str], ...]
    """Places of two candidates, and which is better: first, second or tie."""
    dimension: str = ""
    """What was asked, where the set asks several things."""
    groups: Mapping[str, str] = field(default_factory=dict)
    both_bad: bool = False


@dataclass(frozen=True, slots=True)
class PairFiles:
    """Files written by `pairs`."""

    folder: Path
    edits: int
    methods: tuple[str, ...]
    choices: Mapping[str, int]
    """File to how many choices it holds."""
    both_bad: int
    """Choices that found both bad; they are among the ties."""


def pairs(name: str, *, data: str | Path, out: str | Path) -> PairFiles:
    """Write a public set of compared outcomes as a benchmark, outcomes of every method, and choices for `agree`.

    Then score `OUT/benchmark` with `--outcomes 'OUT/outcomes/*'`, and give `agree` the choices.

    Example:
        $ editgauge data pairs genai-bench --data image_edition --out genai
        >>> editgauge.data.pairs("genai-bench", data="image_edition", out="genai")

    Args:
        name: `editreward-bench`, `editscore-bench` or `genai-bench`.
        data: folder with its Parquet, Arrow or JSON lines files, or one such file.
        out: folder to write.

    """
    if name not in READERS:
        raise UnknownNameError("set of compared outcomes", name, READERS)
    path = require_data(name, Path(data), "its Parquet, Arrow or JSON lines files")
    files = table_files(path)
    faults = Faults(name, files[0])
    reader = _Pictures(files[0].parent, faults)
    compared = [pair for row in read_rows(files, COLUMNS, faults) if (pair := _read(name, row, reader))]
    if faults.problems or not compared:
        faults.done()
    return _write(compared, Path(out))


@dataclass(frozen=True, slots=True)
class _Pictures:
    """Whole pictures of records, and faults."""

    folder: Path
    faults: Faults

    def text(self, record: object, values: Mapping[str, Any], *names: str) -> str:
        """Return the first text among the fields, or an empty text after noting the fault."""
        for name in names:
            if isinstance(values.get(name), str) and values[name].strip():
                return " ".join(values[name].split())
        self.faults.add(record, f"'{names[0]}' is missing or no text")
        return ""

    def picture(self, record: object, value: Any, name: str) -> bytes:
        """Return encoded image data from bytes or a path; empty after noting the fault."""
        value = image_value(value)
        if isinstance(value, str):
            path = (self.folder / value).resolve()
            inside = path.is_relative_to(self.folder.resolve()) and path.is_file()
            value = path.read_bytes() if inside else None
        if isinstance(value, bytes) and value:
            return value
        self.faults.add(record, f"'{name}' is no picture: neither bytes nor a file next to the records")
        return b""


def _read(name: str, row: Any, reader: _Pictures) -> ComparedOutcomes | None:
    before = len(reader.faults.problems)
    compared = READERS[name](row.values, f"{row.file.name}, row {row.number}", row.number, reader)
    return compared if len(reader.faults.problems) == before else None


def _genai_bench(values: Mapping[str, Any], record: str, number: int, reader: _Pictures) -> ComparedOutcomes:
    """Votes between two anonymous editors of the arena (Jiang et al. 2024)."""
    vote = str(values.get("vote_type") or values.get("vote") or "")
    if vote not in VOTES:
        reader.faults.add(record, f"'vote_type' is one of {', '.join(VOTES)}, got {format_value(vote)}")
    sides = [
        Candidate(
            reader.picture(record, values.get(f"{side}_output_image"), f"{side}_output_image"),
            str(values.get(f"{side}_model") or ""),
        )
        for side in ("left", "right")
    ]
    return ComparedOutcomes(
        key=str(values.get("conv_id") or number),
        instruction=reader.text(record, values, "instruct_prompt", "instruction"),
        source=reader.picture(record, values.get("source_image"), "source_image"),
        candidates=tuple(sides),
        choices=((0, 1, VOTES.get(vote, "tie")),),
        both_bad=vote == BOTH_BAD,
    )


def _editreward_bench(values: Mapping[str, Any], record: str, number: int, reader: _Pictures) -> ComparedOutcomes:
    """Two to four candidates with a ranking such as `A>B=C` (Wu et al. 2025)."""
    indices = [index for index in range(1, len(LETTERS) + 1) if values.get(f"candidate_{index}") is not None]
    candidates = [
        Candidate(
            reader.picture(record, values[f"candidate_{index}"], f"candidate_{index}"),
            str(values.get(f"model_{index}") or ""),
        )
        for index in indices
    ]
    ranking = str(values.get("ranking") or "").strip()
    order = _order(ranking)
    if not order or max(order) >= len(candidates) or not RANKING.fullmatch(ranking):
        reader.faults.add(
            record, f"'ranking' is such as 'A>B' or 'A=B>C', of the candidates; got {format_value(ranking)}"
        )
        order = {}
    dataset = str(values.get("dataset") or "")
    return ComparedOutcomes(
        key=str(values.get("id") or number),
        instruction=reader.text(record, values, "instruction"),
        source=reader.picture(record, values.get("source_image"), "source_image"),
        candidates=tuple(candidates),
        choices=tuple((one, two, _better(order[one], order[two])) for one, two in combinations(sorted(order), 2)),
        groups={"candidates": dataset} if dataset else {},
    )


def _order(ranking: str) -> dict[int, int]:
    """Candidate to its rank, the best 0: `A>C=B` is {0: 0, 2: 1, 1: 1}."""
    ranks: dict[int, int] = {}
    rank = 0
    for sign, letter in re.findall(r"([>=]?)\s*([A-H])", ranking):
        rank += sign == ">"
        ranks[LETTERS.index(letter)] = rank
    return ranks


def _better(one: int, two: int) -> str:
    return "tie" if one == two else "first" if one < two else "second"


def _editscore_bench(values: Mapping[str, Any], record: str, number: int, reader: _Pictures) -> ComparedOutcomes:
    """Two outputs of which the first is better in one dimension (Luo et al. 2025)."""
    pictures, keys = values.get("output_images"), values.get("key")
    if not isinstance(pictures, list) or len(pictures) != 2:
        reader.faults.add(record, "'output_images' must be two pictures, the better one first")
        pictures = []
    names = (
        [str(item) for item in keys] if isinstance(keys, list) and len(keys) == 2 else [f"{number}-1", f"{number}-2"]
    )
    contents = [
        (key, reader.picture(record, image, "output_images")) for key, image in zip(names, pictures, strict=False)
    ]
    in_order = sorted(contents)  # by key, so that the place says nothing
    preferred = "first" if in_order == contents else "second"
    task = str(values.get("task_type") or "")
    return ComparedOutcomes(
        key="-".join(sorted(names)),
        instruction=reader.text(record, values, "instruction"),
        source=reader.picture(record, values.get("input_image"), "input_image"),
        candidates=tuple(Candidate(content, "") for _, content in in_order),
        choices=((0, 1, preferred),) if in_order else (),
        dimension=str(values.get("dimension") or ""),
        groups={"task": task} if task else {},
    )


READERS: dict[str, Callable[[Mapping[str, Any], str, int, _Pictures], ComparedOutcomes]] = {
    "editreward-bench": _editreward_bench,
    "editscore-bench": _editscore_bench,
    "genai-bench": _genai_bench,
}
COLUMNS = (
    *("key", "id", "conv_id", "instruction", "instruct_prompt", "source_image", "input_image", "output_images"),
    *("left_output_image", "right_output_image", "left_model", "right_model", "vote_type", "vote"),
    *(f"{part}_{index}" for part in ("candidate", "model") for index in range(1, 9)),
    *("ranking", "dataset", "task_type", "dimension"),
)


def _write(compared: Sequence[ComparedOutcomes], folder: Path) -> PairFiles:
    """Write the benchmark folder, an outcome folder per method, and a choice file per dimension."""
    ids, written = Ids(), dict[tuple[str, str], str]()
    edits: list[dict[str, Any]] = []
    lines: dict[str, list[dict[str, str]]] = {}
    methods: dict[str, None] = {}
    for element in compared:
        previous = written.get((element.key, element.instruction))
        name = previous or ids.give(element.key)
        labels = _labels(element.candidates)
        if previous is None:
            written[element.key, element.instruction] = name
            source = f"images/{name}{image_suffix(element.source, '.png')}"
            write_bytes(folder / "benchmark" / source, element.source)
            groups = {"groups": dict(element.groups)} if element.groups else {}
            edits.append({"id": name, "source": source, "instruction": element.instruction, **groups})
            for label, candidate in zip(labels, element.candidates, strict=True):
                methods[label] = None
                file = f"{name}{image_suffix(candidate.content, '.png')}"
                write_bytes(folder / "outcomes" / label / file, candidate.content)
        file = f"choices-{slug(element.dimension)}.jsonl" if element.dimension else "choices.jsonl"
        for one, two, choice in element.choices:
            line = {"edit": name, "first": labels[one], "second": labels[two], "chosen": choice}
            lines.setdefault(file, []).append(line)
    write_jsonl(folder / "benchmark" / "edits.jsonl", edits)
    for file, some in lines.items():
        write_jsonl(folder / file, some)
    counts = {file: len(some) for file, some in lines.items()}
    return PairFiles(folder, len(edits), tuple(methods), counts, sum(item.both_bad for item in compared))


def _labels(candidates: Sequence[Candidate]) -> list[str]:
    """Return folder names: the method, or a letter if methods are unknown or equal."""
    names = [slug(candidate.method) if candidate.method.strip() else "" for candidate in candidates]
    usable = all(names) and len(set(names)) == len(names)
    return names if usable else [f"output-{letter.lower()}" for letter in LETTERS[: len(candidates)]]
