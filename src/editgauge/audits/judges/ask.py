"""Judges are shown pairs of probes: each pair in both orders, and once more in the first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.audits.cards.result import Cost
from editgauge.audits.cards.sheet import Sheet
from editgauge.audits.judges.pairs import PairFindings, ProbePair, Said, draw_pairs, findings
from editgauge.audits.probes.probes import OUTCOMES, Probe
from editgauge.benchmarks import open_benchmark
from editgauge.core.ask import Ask
from editgauge.core.concurrency import run_async
from editgauge.core.errors import BadInput
from editgauge.core.images import read_image
from editgauge.core.progress import progress
from editgauge.engine.prefer.comparison import ComparisonWording, choice_of, tell_each
from editgauge.judges import Choice, ModelJudge, NoAnswer, Question

if TYPE_CHECKING:
    from editgauge.core.types import Edit
    from editgauge.engine.judges import Jury


def ask_about_pairs(
    jury: Jury, folder: Path, probes: Sequence[Probe], count: int, transcripts: Path, seed: int, quiet: bool
) -> dict[str, PairFindings]:
    """What each judge of a jury is like when it is shown two outcomes, by its name.

    Args:
        jury: who is asked
        folder: where the probes lie
        probes: all of them; pairs are drawn from the held-out ones, and from those that people compared
        count: how many pairs
        transcripts: where calls are recorded; what was asked before is not asked again
        seed: of the draw
        quiet: no progress
    """
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    pairs = draw_pairs(Sheet.of(probes), edits, count, seed)
    if not pairs:
        raise BadInput(f"The probes in '{folder}' hold no pair with a known better one to show to a judge.")
    words = ComparisonWording.of(jury.prompts)
    by_judge = {}
    for name, address in jury.addresses.items():
        alone = replace(jury, addresses={name: address})
        with progress(f"{name}: comparing", len(pairs), quiet=quiet) as advance:
            asking = _ask(alone, transcripts, pairs, lambda pair: _question(pair, folder, edits, words), advance)
            by_judge[name] = run_async(asking)
    return by_judge


def _question(pair: ProbePair, folder: Path, edits: Mapping[str, Edit], words: ComparisonWording) -> Question[Choice]:
    edit = edits[pair.first]
    first, second = (read_image(folder / OUTCOMES / f"{name}.png") for name in (pair.first, pair.second))
    return words.ask(edit.instruction, read_image(edit.source.path), first, second)


async def _ask(
    jury: Jury,
    transcripts: Path,
    pairs: Sequence[ProbePair],
    question: Callable[[ProbePair], Question[Choice]],
    advance: Callable[[], None],
) -> PairFindings:
    ask = Ask()
    (judge,) = jury.opened(transcripts, ask).values()

    async def tell(pair: ProbePair) -> Said:
        return await _said(judge, await asyncio.to_thread(question, pair))

    try:
        async with judge:
            said = await tell_each(judge, pairs, tell, advance)
            mine = [call for call in judge.transcripts if call.asked["model"] == judge.name]
            return findings(pairs, said, Cost.of(mine, sum(call.cost for call in mine)))
    finally:
        ask.close()


async def _said(judge: ModelJudge, question: Question[Choice]) -> Said:
    answers = [await choice_of(judge, each) for each in (question, question.swapped(), question.again(1))]
    first_order, swapped, again = (None if isinstance(each, NoAnswer) else each for each in answers)
    return Said(first_order, swapped, again, tuple(each.fault for each in answers if isinstance(each, NoAnswer)))
