"""The verb `prefer`: a judge says which of two methods' outcomes is the better one, edit by edit, in both orders."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, get_args

from editgauge._stats.resampling import Estimate
from editgauge._util.batching import Ask
from editgauge._util.concurrency import run_async
from editgauge._util.files import write_jsonl
from editgauge._util.progress import log_info, progress
from editgauge.analysis.preferences import PairAnswer, elo
from editgauge.engine.judges import FOLDER, Jury, read_jury
from editgauge.engine.prefer.comparison import ComparisonWording, choice_of, compare_each
from editgauge.engine.prefer.pairs import OutcomePair, Pictures, pairs_of, read_scored
from editgauge.errors import BadImageError, BadInputError, UnknownNameError, UnscorableError
from editgauge.judges import Choice, ModelJudge, NoAnswerError, Question
from editgauge.options import Amount, Count, JudgeOptions
from editgauge.results import Run

Aspect = Literal["following", "quality", "consistency"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
"""What GEditBench v2 asks about, each by itself."""
ALL_ASPECTS = "GEditBench v2 Elo"
"""The figure that its paper prints; its set is called `gedit-v2` here."""
SIDES: Mapping[Choice, str] = {"one": "first", "two": "second", "tie": "tie"}

AspectPair = tuple[OutcomePair, str]
"""Two outcomes, and the aspect in which they are compared; nothing for all of it."""


@dataclass(frozen=True, slots=True)
class Preferred:
    """What `prefer` wrote."""

    file: Path
    judge: str
    pairs: int
    unanswered: Mapping[str, int]
    """Reason to how many comparisons lack an answer in at least one order."""
    figure: str
    """What the Elo is called: as in the paper of GEditBench v2 where the run is of it and all aspects were asked."""
    elo: Mapping[str, Estimate]
    """Method to its Elo by the answers, the best first; empty when there is none."""


def prefer(
    run: str | Path,
    *,
    judge: str,
    out: str | Path,
    method: Sequence[str] = (),
    aspect: Sequence[Aspect] = (),
    choices: str | Path | None = None,
    limit: Count | None = None,
    price: str | None = None,
    budget: Amount | None = None,
    replay: bool = False,
    prompts: str | Path | None = None,
    quiet: bool = False,
) -> Preferred:
    """Ask a judge which of two outcomes is better, in both orders.

    Prints the Elo of the methods. `editgauge agree --judge-choices` reads the result. Calls are recorded in the run
    folder: run again, only new pairs are asked.

    Example:
        $ editgauge prefer run --judge openai:gpt-4o --choices people.jsonl --out judge.jsonl
        $ editgauge prefer run --judge openai:gpt-4o --aspect following --aspect quality --out judge.jsonl
        >>> editgauge.prefer("run", judge="openai:gpt-4o", choices="people.jsonl", out="judge.jsonl")

    Args:
        run: run folder; its images must still exist.
        out: file for the judge's choices, `.jsonl`.
        method: compare this method with the others given; repeat for several. Default: all.
        aspect: ask about `following`, `quality` or `consistency` by itself, as GEditBench v2 does; repeat for several.
            Default: which is better overall.
        choices: file with people's choices: ask only about the same pairs.
        limit: limit to the first N pairs.
        quiet: print no progress or remarks.
    """
    if Path(out).suffix != ".jsonl":
        raise BadInputError(f"'{out}' must end with .jsonl: a line for every pair.")
    for each in aspect:
        if each not in ASPECTS:
            raise UnknownNameError("aspect", each, ASPECTS)
    opened = Run.open(Path(run))
    pictures = Pictures.of(opened)
    pairs = list(pairs_of(opened, pictures, method, choices))[:limit]
    if not pairs:
        raise BadInputError("There is no pair to ask about: no edit of the run has outcomes of two of these methods.")
    jury = read_jury(JudgeOptions(judge=judge, price=price, budget=budget, prompts=prompts, replay=replay))
    (name,) = jury.addresses
    asked_about = tuple(map(str, dict.fromkeys(aspect))) or ("",)
    wordings = {each: ComparisonWording.of(jury.prompts, each) for each in asked_about}
    comparisons = list(product(pairs, wordings))
    with progress(f"{name}: comparing", len(comparisons), quiet=quiet) as advance:
        asking = _ask_all(
            jury,
            opened,
            comparisons,
            lambda each: _question(each[0], opened, pictures, wordings[each[1]]),
            advance,
        )
        lines = [
            {**line, "rater": _rater(name, each)}
            for line, (_, each) in zip(run_async(asking), comparisons, strict=True)
        ]
    write_jsonl(Path(out), lines)
    unanswered = Counter(str(line["unanswered"]).partition(":")[0] for line in lines if line["unanswered"])
    reasons = "".join(f", {count} without an answer ({reason})" for reason, count in unanswered.items())
    about = f" about {', '.join(aspect)}" if aspect else ""
    log_info(f"{name}: {len(pairs)} pairs in both orders{about}{reasons}, in {out}", quiet=quiet)
    is_published = opened.manifest.benchmark.partition("[")[0] == "gedit-v2" and set(aspect) == set(ASPECTS)
    answers = _answers(lines, opened)
    return Preferred(
        file=Path(out),
        judge=name,
        pairs=len(pairs),
        unanswered=dict(unanswered),
        figure=ALL_ASPECTS if is_published else "Elo",
        elo=elo(answers) if answers else {},
    )


def _rater(judge: str, aspect: str) -> str:
    """Whom a file of choices names: answers about different aspects are not comparable."""
    return f"{judge}:{aspect}" if aspect else judge


def _answers(lines: Sequence[Mapping[str, object]], run: Run) -> list[PairAnswer]:
    """The answers in both orders, each counted once."""
    sources = dict(zip(run.scores["edit"].to_pylist(), run.scores["source"].to_pylist(), strict=True))
    return [
        PairAnswer(str(line["rater"]), sources[line["edit"]], str(line["first"]), str(line["second"]), str(chosen))
        for line in lines
        for chosen in (line["chosen"], line["swapped"])
        if chosen is not None
    ]


def _question(pair: OutcomePair, run: Run, pictures: Pictures, words: ComparisonWording) -> Question[Choice]:
    first, second = ((pair.edit, method, pair.seed) for method in (pair.first, pair.second))
    if pictures.sources[first].pixels != pictures.sources[second].pixels:  # a later turn: each has its own source
        raise UnscorableError("not_applicable", "the two were made from different pictures")
    source = read_scored(pictures.sources[first])
    one, two = read_scored(pictures.outcomes[first]), read_scored(pictures.outcomes[second])
    request = str(run.edits[pair.edit].get("instruction", ""))
    return words.ask(request, source, one, two)


async def _ask_all(
    jury: Jury,
    run: Run,
    comparisons: Sequence[AspectPair],
    question: Callable[[AspectPair], Question[Choice]],
    advance: Callable[[], None],
) -> list[dict[str, object]]:
    ask = Ask()
    (judge,) = jury.opened(run.folder / FOLDER, ask).values()
    try:
        async with judge:
            return await compare_each(judge, comparisons, lambda each: _line(judge, each, question), advance)
    finally:
        ask.close()


async def _line(
    judge: ModelJudge, comparison: AspectPair, question: Callable[[AspectPair], Question[Choice]]
) -> dict[str, object]:
    """The result of one pair: two choices, each null with the reason where there is no answer."""
    pair = comparison[0]
    fields: dict[str, object] = {"edit": pair.edit, "first": pair.first, "second": pair.second, "seed": pair.seed}
    try:
        pairwise = await asyncio.to_thread(question, comparison)
    except (BadImageError, UnscorableError) as error:
        reason = f"unreadable_image: {error}" if isinstance(error, BadImageError) else str(error)
        return fields | {"chosen": None, "swapped": None, "unanswered": reason}
    answers = [await choice_of(judge, each) for each in (pairwise, pairwise.swapped())]
    reasons = [str(each) for each in answers if isinstance(each, NoAnswerError)]
    chosen, swapped = (None if isinstance(each, NoAnswerError) else SIDES[each] for each in answers)
    return fields | {"chosen": chosen, "swapped": swapped, "unanswered": reasons[0] if reasons else None}
