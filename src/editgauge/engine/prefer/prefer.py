"""The verb `prefer`: a judge says which of two methods' outcomes is the better one, edit by edit, in both orders."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from editgauge.core.ask import Ask
from editgauge.core.concurrency import run_async
from editgauge.core.errors import BadImage, BadInput, CannotTell
from editgauge.core.files import write_text
from editgauge.core.options import Amount, Count, JudgeOptions
from editgauge.core.progress import progress, say
from editgauge.core.run import Run
from editgauge.engine.judges import FOLDER, Jury, read_jury
from editgauge.engine.prefer.comparison import ComparisonWording, choice_of, tell_each
from editgauge.engine.prefer.pairs import OutcomePair, Pictures, pairs_of, read_scored
from editgauge.judges import Choice, ModelJudge, NoAnswer, Question

SIDES: Mapping[Choice, str] = {"one": "first", "two": "second", "tie": "tie"}


@dataclass(frozen=True, slots=True)
class Preferred:
    """What `prefer` wrote."""

    file: Path
    judge: str
    pairs: int
    unanswered: Mapping[str, int]
    """Reason to how many pairs lack an answer in at least one order."""


def prefer(
    run: str | Path,
    *,
    judge: str,
    out: str | Path,
    method: Sequence[str] = (),
    choices: str | Path | None = None,
    limit: Count | None = None,
    price: str | None = None,
    budget: Amount | None = None,
    replay: bool = False,
    prompts: str | Path | None = None,
    quiet: bool = False,
) -> Preferred:
    """Ask a judge which of two outcomes is better, in both orders.

    `editgauge agree --judge-choices` reads the result. Calls are recorded in the run folder: run again, only new pairs
    are asked.

    Example:
        $ editgauge prefer run --judge openai:gpt-4o --choices people.jsonl --out judge.jsonl
        >>> editgauge.prefer("run", judge="openai:gpt-4o", choices="people.jsonl", out="judge.jsonl")

    Args:
        run: run folder; its images must still exist.
        out: file for the judge's choices, `.jsonl`.
        method: compare this method with the others given; repeat for several. Default: all.
        choices: file with people's choices: ask only about the same pairs.
        limit: limit to the first N pairs.
        quiet: print no progress or remarks.
    """
    if Path(out).suffix != ".jsonl":
        raise BadInput(f"'{out}' must end with .jsonl: a line for every pair.")
    opened = Run.open(Path(run))
    pictures = Pictures.of(opened)
    pairs = list(pairs_of(opened, pictures, method, choices))[:limit]
    if not pairs:
        raise BadInput("There is no pair to ask about: no edit of the run has outcomes of two of these methods.")
    jury = read_jury(JudgeOptions(judge=judge, price=price, budget=budget, prompts=prompts, replay=replay))
    (name,) = jury.addresses
    words = ComparisonWording.of(jury.prompts)
    with progress(f"{name}: comparing", len(pairs), quiet=quiet) as advance:
        asking = _ask_all(jury, opened, pairs, lambda pair: _question(pair, opened, pictures, words), advance)
        lines = run_async(asking)
    write_text(Path(out), "".join(json.dumps({**line, "rater": name}, ensure_ascii=False) + "\n" for line in lines))
    unanswered = Counter(str(line["unanswered"]).partition(":")[0] for line in lines if line["unanswered"])
    reasons = "".join(f", {count} without an answer ({reason})" for reason, count in unanswered.items())
    say(f"{name}: {len(pairs)} pairs in both orders{reasons}, in {out}", quiet=quiet)
    return Preferred(Path(out), name, len(pairs), dict(unanswered))


def _question(pair: OutcomePair, run: Run, pictures: Pictures, words: ComparisonWording) -> Question[Choice]:
    first, second = ((pair.edit, method, pair.seed) for method in (pair.first, pair.second))
    if pictures.sources[first].pixels != pictures.sources[second].pixels:  # a later turn: each has its own source
        raise CannotTell("not_applicable", "the two were made from different pictures")
    source = read_scored(pictures.sources[first])
    one, two = read_scored(pictures.outcomes[first]), read_scored(pictures.outcomes[second])
    request = str(run.edits[pair.edit].get("instruction", ""))
    return words.ask(request, source, one, two)


async def _ask_all(
    jury: Jury,
    run: Run,
    pairs: Sequence[OutcomePair],
    question: Callable[[OutcomePair], Question[Choice]],
    advance: Callable[[], None],
) -> list[dict[str, object]]:
    ask = Ask()
    (judge,) = jury.opened(run.folder / FOLDER, ask).values()
    try:
        async with judge:
            return await tell_each(judge, pairs, lambda pair: _line(judge, pair, question), advance)
    finally:
        ask.close()


async def _line(
    judge: ModelJudge, pair: OutcomePair, question: Callable[[OutcomePair], Question[Choice]]
) -> dict[str, object]:
    """The result of one pair: two choices, each null with the reason where there is no answer."""
    fields: dict[str, object] = {"edit": pair.edit, "first": pair.first, "second": pair.second, "seed": pair.seed}
    try:
        pairwise = await asyncio.to_thread(question, pair)
    except (BadImage, CannotTell) as error:
        reason = f"unreadable_image: {error}" if isinstance(error, BadImage) else str(error)
        return fields | {"chosen": None, "swapped": None, "unanswered": reason}
    answers = [await choice_of(judge, each) for each in (pairwise, pairwise.swapped())]
    reasons = [str(each) for each in answers if isinstance(each, NoAnswer)]
    chosen, swapped = (None if isinstance(each, NoAnswer) else SIDES[each] for each in answers)
    return fields | {"chosen": chosen, "swapped": swapped, "unanswered": reasons[0] if reasons else None}
