"""How often instructions are read as their labels say, by form: `python -m tests.instructions.accuracy [TEDBENCH]`.

Prints the tables of docs/explanation/instructions.md. With TEdBench's folder, its 100 captions are read too.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from editgauge.instructions import parse_instruction as understand
from editgauge.types import ParsedStep

LABELED = Path(__file__).parent / "labeled"
SETS = {
    "editinspector.tsv": "EditInspector",
    "styles.tsv": "other styles",
    "blind.tsv": "first blind set",
    "magicbrush.tsv": "MagicBrush",
    "own.tsv": "own",
    "mixed.tsv": "second EditInspector part, and many forms",
    "pairs.tsv": "pairs of captions",
}
Fields = tuple[str, ...]


@dataclass(frozen=True)
class Labeled:
    """An instruction with what a person says it asks for."""

    form: str
    text: str
    steps: tuple[Fields, ...]
    source_caption: str | None

    def read(self) -> tuple[tuple[Fields, ...], bool]:
        """What the rules say, and whether they are sure."""
        form = "caption" if self.form == "caption" else None
        reading = understand(self.text, source_caption=self.source_caption, form=form)
        return tuple(map(fields, reading.steps)), all(step.sure for step in reading.steps)


def fields(step: ParsedStep) -> Fields:
    """The fields that are compared, as the labels write them."""
    place = f"{step.position.relation}: {step.position.anchor or ''}".strip() if step.position else ""
    count = str(step.count) if step.count else ""
    return (step.type, *((value or "").casefold() for value in (step.subject, step.from_, step.to)), place, count)


def labeled(name: str) -> Iterator[Labeled]:
    """The instructions of one file."""
    for line in (LABELED / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            form, text, steps, *caption = line.split("\t")
            yield Labeled(form, text, tuple(_step(step) for step in steps.split("&&")), caption[0] if caption else None)


def _step(text: str) -> Fields:
    values = [part.strip().casefold() for part in text.split("|")]
    return tuple([*values, *[""] * 6][:6])


def counts(name: str) -> dict[str, Counter[str]]:
    """By form: all, types right, all fields right, sure, and sure with the right types."""
    table: dict[str, Counter[str]] = {}
    for each in labeled(name):
        read, sure = each.read()
        types = [step[0] for step in read] == [step[0] for step in each.steps]
        for form in (each.form, "all"):
            row = table.setdefault(form, Counter())
            row.update(all=1, types=types, fields=read == each.steps, sure=sure, sure_types=sure and types)
    return table


def main() -> None:
    """Prints the tables."""
    lines = []
    lines.append(
        "| set | form | instructions | type | all fields | sure | type where sure |\n|---|---|---|---|---|---|---|"
    )
    for name, shown in SETS.items():
        table = counts(name)
        for form in sorted(table, key=lambda each: (each != "all", each)):
            row = table[form]
            sure = f"{row['sure_types'] / row['sure']:.0%}" if row["sure"] else "-"
            shares = " | ".join(f"{row[key] / row['all']:.0%}" for key in ("types", "fields", "sure"))
            lines.append(f"| {shown} | {form} | {row['all']} | {shares} | {sure} |")
    if len(sys.argv) > 1:
        from editgauge.benchmarks.tedbench import load

        edits = load(Path(sys.argv[1])).edits
        readings = [understand(edit.instruction, form="caption").steps[0] for edit in edits]
        right = [step.type == edit.type for step, edit in zip(readings, edits, strict=True)]
        sure_ones = [is_right for step, is_right in zip(readings, right, strict=True) if step.sure]
        lines.append(f"\nTEdBench: type {sum(right)} of {len(right)}; where sure {sum(sure_ones)} of {len(sure_ones)}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
