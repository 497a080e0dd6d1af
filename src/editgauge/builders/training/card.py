"""The card of a training set: what is in it, what was left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from editgauge._util.files import write_json, write_text
from editgauge.builders.training.export import LLAVA, MESSAGES, SHEET
from editgauge.builders.training.lessons import UNKNOWN_ANSWER, Lesson, OmittedLesson
from editgauge.judges._cost import CallBound

CARD = "card.json"
PAGE = "README.md"


@dataclass(frozen=True, slots=True)
class Training:
    """What `build training` left behind."""

    folder: Path
    benchmark: str
    license: str
    author: str
    """Rules, or the judge with its prompts."""
    seed: int
    lessons: tuple[Lesson, ...] = ()
    dropped: tuple[Lesson, ...] = ()
    """For the balance of yes and no."""
    left_out: tuple[OmittedLesson, ...] = ()
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    asking: CallBound | None = None
    """Of a dry run: what the judge can be asked at most."""

    def counts(self) -> dict[str, dict[str, int]]:
        """How many lessons there are, counted in several ways."""
        return {
            "by action": _count(item.action for item in self.lessons),
            "by question": _count(element.question for element in self.lessons),
            "by instance": _count(lesson.kind for lesson in self.lessons),
            "by answer": _count(f"{entry.question}: {_word(entry)}" for entry in self.lessons),
            "labeled by a machine": _count(
                f"{each.question}: {_word(each)}, by {each.labeled_by}" for each in self.lessons if each.labeled_by
            ),
            "dropped for balance": _count(f"{value.question}: {_word(value)}" for value in self.dropped),
        }

    def faults(self) -> dict[str, int]:
        """How many instances and questions were left out, by what they are and why."""
        return _count(f"{item.what}: {item.reason}" for item in self.left_out)


def write_card(done: Training) -> None:
    """Write the card as JSON and as a page."""
    fields = {
        "benchmark": done.benchmark,
        "license": done.license,
        "author": done.author,
        "seed": done.seed,
        "models": done.models,
        "lessons": len(done.lessons),
        **done.counts(),
        "left out": done.faults(),
        "each left out": [asdict(item) for item in done.left_out],
    }
    write_json(done.folder / CARD, fields)
    write_text(done.folder / PAGE, _page(done))


def _page(done: Training) -> str:
    tables = [_table(title, counts) for title, counts in done.counts().items()]
    examples = {f"{item.what}: {item.reason}": f"{item.edit}: {item.detail}" for item in reversed(done.left_out)}
    rows = [f"| {name} | {count} | {_cell(examples[name])} |" for name, count in done.faults().items()]
    left = "\n".join(["| left out | number | such as |", "|---|---|---|", *rows]) if rows else "Nothing was left out."
    return f"""# Training data for judges of edits

{len(done.lessons)} questions with answers about edits of `{done.benchmark}`, made by {done.author}, seed {done.seed}.
{_origin(done)}
Of each question and action there are as many yes as no.

License of the pictures and labels: {done.license or "not stated by the benchmark"}.

- `{LLAVA}`: conversations, both pictures side by side in one
- `{MESSAGES}`: chat messages, two pictures each, as judges are asked

![a few instances]({SHEET})

{chr(10).join(tables)}
## Left out, and why

{left}
"""


def _origin(done: Training) -> str:
    if any(lesson.labeled_by for lesson in done.lessons):
        return (
            "Answers follow from how the instance was made, were given by people, or, where `labeled_by` says so, by a "
            "machine, which errs: such labels are weak."
        )
    return "Every answer follows from how the instance was made or was given by people; else there is no lesson."


def _table(title: str, counts: dict[str, int]) -> str:
    rows = "\n".join(f"| {name} | {count} |" for name, count in counts.items())
    return f"## {title.capitalize()}\n\n| | lessons |\n|---|---|\n{rows}\n" if rows else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _word(lesson: Lesson) -> str:
    return "text" if isinstance(lesson.answer, str) else "yes" if lesson.answer else "no"


def summary_lines(done: Training) -> Sequence[str]:
    """Summarize the result in a few lines."""
    answers = ", ".join(f"{name} {count}" for name, count in done.counts()["by question"].items())
    lines = [
        f"{done.folder}: {len(done.lessons)} lessons ({answers or 'none'}), {len(done.dropped)} dropped for balance."
    ]
    lines += [f"  left out, {name}: {count}" for name, count in done.faults().items()]
    unjudged = sum(item.detail == UNKNOWN_ANSWER for item in done.left_out)
    if unjudged:
        lines.append(f"  {unjudged} answers only people know: --ratings FILE brings what they said.")
    return lines
