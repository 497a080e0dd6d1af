"""What the judges of a run were asked by one command: calls, answers that were known already, tokens, cost."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from editgauge._util.files import open_regular, write_json
from editgauge._util.progress import log_info
from editgauge.engine.judges import FOLDER
from editgauge.errors import BadRunError
from editgauge.judges._transcripts import Call

CALLS = "*.jsonl"
FILE = "asked.json"
"""In a run folder: what its last command asked."""


@dataclass(frozen=True, slots=True)
class JudgeUsage:
    """What one judge was asked."""

    model: str
    questions: int
    calls: int
    """Put to the model now; the other answers were in the transcripts, or came with a question that was the same."""
    failed: int
    """Calls of which no answer could be read."""
    held_back: int
    """Questions that were not put to it, because the budget was used up."""
    prompt_tokens: int
    completion_tokens: int
    not_counted: int
    """Calls whose tokens the endpoint did not tell."""
    cost: float | None
    """None where no price is known."""
    repairs: int = 0
    """Calls that asked to write an unreadable answer in the asked form; they are among the calls."""

    def sentence(self, name: str) -> str:
        """A sentence for the person who pays."""
        tokens = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        before = self.questions - (self.calls - self.repairs) - self.held_back
        parts = [
            f"{self.calls:,} calls" + (f" ({self.failed:,} without an answer)" if self.failed else ""),
            *([f"{self.repairs:,} of them to repair an unreadable answer"] if self.repairs else []),
            f"{before:,} of {self.questions:,} questions answered before",
            *([f"{self.held_back:,} not asked because of the budget"] if self.held_back else []),
            tokens + (f" (unknown for {self.not_counted:,} calls)" if self.not_counted else ""),
            *([f"cost {self.cost:.4g}"] if self.cost is not None else []),
        ]
        return f"judge {name}: {', '.join(parts)}"


def leave_tally(folder: Path | None, questions: Mapping[str, int]) -> None:
    """Report to the collector how many questions this process sent to each model."""
    if folder is not None:
        write_json(folder / f"{os.getpid()}.json", questions)


@contextmanager
def tallied(run: Path, judges: Mapping[str, Mapping[str, Any]], *, priced: bool, quiet: bool) -> Iterator[Path | None]:
    """Where processes are to leave their tallies. Afterwards what each judge was asked is reported, and kept with the
    run.

    Args:
        run: the run folder
        judges: what its manifest says about them
        priced: whether it is known what a token costs
        quiet: tell nobody
    """
    (run / FILE).unlink(missing_ok=True)
    if not judges:
        yield None
        return
    before = frozenset(file.name for file in (run / FOLDER).glob(CALLS))
    with TemporaryDirectory(prefix="editgauge-") as tallies:
        yield Path(tallies)
        questions: Counter[str] = Counter()
        for file in Path(tallies).glob("*.json"):
            questions.update(json.loads(file.read_text("utf-8")))
    calls = list(_calls(file for file in (run / FOLDER).glob(CALLS) if file.name not in before))
    names: dict[str, list[str]] = {}
    for name, judge in judges.items():
        names.setdefault(judge["model"], []).append(name)
    usage = {" and ".join(named): _asked(model, questions, calls, priced=priced) for model, named in names.items()}
    write_json(run / FILE, {name: asdict(each) for name, each in usage.items()})
    for name, each in usage.items():
        log_info(each.sentence(name), quiet=quiet)


def _calls(files: Iterable[Path]) -> Iterator[Call]:
    for file in files:
        with open_regular(file) as lines:
            whole = (line for line in lines if line.endswith(b"\n"))  # a process that was killed may have torn its last
            yield from map(Call.from_line, whole)


def _asked(model: str, questions: Mapping[str, int], calls: Sequence[Call], *, priced: bool) -> JudgeUsage:
    mine = [call for call in calls if call.asked["model"] == model]
    repairs = [call for call in mine if "repairs" in call.asked]
    sent = [call for call in mine if call.latency or call.fault != "budget"]
    return JudgeUsage(
        model=model,
        questions=max(
            questions.get(model, 0), len(mine) - len(repairs)
        ),  # a process that was killed left its calls, and no tally
        calls=len(sent),
        failed=sum(call.fault is not None for call in sent),
        repairs=len(repairs),
        held_back=len(mine) - len(sent),
        prompt_tokens=sum(call.prompt_tokens or 0 for call in mine),
        completion_tokens=sum(call.completion_tokens or 0 for call in mine),
        not_counted=sum(call.body is not None and call.prompt_tokens is None for call in mine),
        cost=sum(call.cost for call in mine) if priced else None,
    )


def read_asked(folder: Path) -> dict[str, JudgeUsage]:
    """What the last command asked; nothing where no judge was."""
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        return {name: JudgeUsage(**stored) for name, stored in json.loads(path.read_text("utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}.") from error
