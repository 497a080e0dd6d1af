"""How often instructions are parsed as their labels say, by form: `python -m tests.instructions.accuracy [TEDBENCH]`.

Prints the tables of docs/explanation/instructions.md. With TEdBench's folder, its 100 captions are parsed, too.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editgauge.instructions import parse_instruction
from editgauge.types import ParsedStep

LABELED = Path(__file__).parent / "labeled"
SETS = {
    "forms.jsonl": "twelve styles",
    "editinspector.tsv": "EditInspector",
    "styles.tsv": "other styles",
    "blind.tsv": "first blind set",
    "magicbrush.tsv": "MagicBrush",
    "own.tsv": "own",
    "mixed.tsv": "second EditInspector part, and many forms",
    "pairs.tsv": "pairs of captions",
    "chinese.jsonl": "Chinese",
}
Fields = tuple[str, ...]
Steps = tuple[Fields, ...]


@dataclass(frozen=True)
class Labeled:
    """An instruction with the readings that people accept; the first is the preferred one."""

    form: str
    text: str
    accepted: tuple[Steps, ...]
    source_caption: str | None
    is_caption: bool

    def parse(self) -> tuple[Steps, bool]:
        """Return the parsed fields, and whether the parser is sure."""
        form = "caption" if self.is_caption else None
        parsed = parse_instruction(self.text, source_caption=self.source_caption, form=form)
        return tuple(map(fields, parsed.steps)), all(step.sure for step in parsed.steps)


def fields(step: ParsedStep) -> Fields:
    """Return the fields that are compared, as the labels write them."""
    position = f"{step.position.relation}: {step.position.anchor or ''}".strip() if step.position else ""
    texts = ((value or "").casefold() for value in (step.subject, step.from_, step.to))
    return (step.type, *texts, position, str(step.count) if step.count else "")


def labeled(name: str) -> Iterator[Labeled]:
    """Yield the instructions of one file."""
    for line in (LABELED / name).read_text(encoding="utf-8").splitlines():
        if name.endswith(".jsonl"):
            entry = json.loads(line)
            accepted = tuple(tuple(map(_json_step, steps)) for steps in (entry["steps"], *entry.get("also", ())))
            is_caption = entry.get("caption", False)
            yield Labeled(entry["form"], entry["text"], accepted, entry.get("source_caption"), is_caption)
        elif line and not line.startswith("#"):
            form, text, steps, *caption = line.split("\t")
            accepted = (tuple(_step(step) for step in steps.split("&&")),)
            yield Labeled(form, text, accepted, caption[0] if caption else None, form == "caption")


def _step(text: str) -> Fields:
    values = [part.strip().casefold() for part in text.split("|")]
    return tuple([*values, *[""] * 6][:6])


def _json_step(step: Mapping[str, Any]) -> Fields:
    position = step.get("position")
    place = f"{position['relation']}: {position.get('anchor') or ''}".strip() if position else ""
    texts = (str(step.get(name) or "").casefold() for name in ("subject", "from", "to"))
    return (step["type"], *texts, place, str(step.get("count") or ""))


def counts(name: str) -> dict[str, Counter[str]]:
    """Count by form: all, types right, all fields right, sure, and sure with the right types."""
    table: dict[str, Counter[str]] = {}
    for example in labeled(name):
        steps, sure = example.parse()
        types = [step[0] for step in steps] in [[step[0] for step in accepted] for accepted in example.accepted]
        for form in (example.form, "all"):
            row = table.setdefault(form, Counter())
            is_right = steps in example.accepted
            row.update(all=1, types=types, fields=is_right, sure=sure, sure_types=sure and types)
    return table


def main() -> None:
    """Print the tables."""
    lines = [
        "| set | form | instructions | type | all fields | sure | type where sure |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, label in SETS.items():
        table = counts(name)
        for form in sorted(table, key=lambda form: (form != "all", form)):
            row = table[form]
            sure = f"{row['sure_types'] / row['sure']:.0%}" if row["sure"] else "-"
            shares = " | ".join(f"{row[key] / row['all']:.0%}" for key in ("types", "fields", "sure"))
            lines.append(f"| {label} | {form} | {row['all']} | {shares} | {sure} |")
    if len(sys.argv) > 1:
        from editgauge.benchmarks.tedbench import load

        edits = load(Path(sys.argv[1])).edits
        steps = [parse_instruction(edit.instruction, form="caption").steps[0] for edit in edits]
        right = [step.type == edit.type for step, edit in zip(steps, edits, strict=True)]
        sure_ones = [is_right for step, is_right in zip(steps, right, strict=True) if step.sure]
        lines.append(f"\nTEdBench: type {sum(right)} of {len(right)}; where sure {sum(sure_ones)} of {len(sure_ones)}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
