"""The verb `build attributes`: what the source image shows and what its edit should show, in phrases, for every edit.

One file for each seed: `attributes.jsonl`, `attributes.seed1.jsonl` … Every one of them is what `run --attributes`
takes, so that a score per seed is a run per file. A judge's calls are kept next to the first.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from editgauge.benchmarks import open_benchmark
from editgauge.building.attributes.files import AttributeFiles, Written
from editgauge.building.judge_calls import edit_bytes, most_calls
from editgauge.core.concurrency import run_async
from editgauge.core.errors import BadImage, BadInput, CannotTell
from editgauge.core.images import read_image
from editgauge.core.options import Amount, Count, JudgeOptions
from editgauge.core.types import Edit
from editgauge.engine.judges import Jury, read_jury
from editgauge.judges import Parameters, open_judge, open_prompt
from editgauge.judges.prompts import Prompt
from editgauge.protocols.augclip import rule_attributes as by_rules
from editgauge.protocols.augclip.judge_attributes import LENGTHS, PROMPTS, Wanted, ask_attributes, written_by

MOST_TOKENS = 1024
"""Thirty long attributes need more than the usual 512."""
VARIED = 1.0
"""The temperature of several seeds: at 0 they would all be the same."""
WAITING = 4
"""This many edits per place at the endpoint are under way: their pictures are in memory."""


def attributes(
    benchmark: str | Path,
    *,
    out: str | Path,
    judge: str | None = None,
    rules: bool = False,
    data: str | Path | None = None,
    images: str | Path | None = None,
    limit: Count | None = None,
    seeds: Count = 1,
    length: str | None = None,
    number: Count | None = None,
    temperature: float | None = None,
    price: str | None = None,
    budget: Amount | None = None,
    max_tokens: Count | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
) -> Written:
    """Write the attributes of a benchmark's edits, for the protocol augclip.

    Run the same command again to continue after a stop: what the file holds is kept.

    Example:
        $ editgauge build attributes sample --rules --out attributes.jsonl
        >>> editgauge.build.attributes("sample", rules=True, out="attributes.jsonl")

    Args:
        benchmark: a name from `editgauge list benchmarks`, or a folder of your own.
        out: JSONL file to write; further seeds get files next to it (`NAME.seed1.jsonl`).
        rules: take the attributes from the text of the edit, without a judge.
        seeds: number of times a judge is asked about each edit.
        length: `short` (under five words) or `long` (over five); default: the judge decides.
        number: number of attributes for source and target; default: the judge decides.
        temperature: sampling temperature of the judge; default 0, and 1 with several seeds.
        max_tokens: maximum length of an answer in tokens; default 1024.
        dry_run: ask and write nothing; say what a judge can be asked at most.
        quiet: print no progress or remarks.
    """
    wanted = _wanted(length, number)
    _check(judge, rules, seeds, wanted)
    edits = open_benchmark(benchmark, data, images).edits[:limit]
    file = Path(out)
    if judge is None and not dry_run:
        work = AttributeFiles(file, edits, 1, by_rules.BY, quiet)
        with work.saved():
            for edit, seed in work.left():
                work.take(edit, seed, partial(by_rules.extract, edit))
        return work.written()
    judges = JudgeOptions(
        judge=judge, price=price, budget=budget, max_tokens=max_tokens, prompts=prompts, replay=replay
    )
    jury = read_jury(judges, max_tokens=MOST_TOKENS)
    warmth = temperature if temperature is not None else VARIED if seeds > 1 else 0.0
    name = next(iter(jury.addresses), by_rules.BY)
    by = written_by(name, partial(open_prompt, folder=jury.prompts), wanted) + (f" at {warmth:g}" if warmth else "")
    work = AttributeFiles(file, edits, seeds, by, quiet)
    if dry_run:
        questions = len(PROMPTS) * len(list(work.left()))
        texts = edit_bytes(edits)
        asking = most_calls(jury, questions, prompts=PROMPTS, text_bytes=texts, images=1, quiet=quiet)
        return Written((), 0, 0, (), asking)
    with work.saved():
        run_async(_asked(work, jury, warmth, wanted))
    return work.written()


def transcripts_beside(out: Path) -> Path:
    """Where the calls of a judge are kept."""
    return out.with_name(f"{out.stem}.transcripts")


def _wanted(length: str | None, number: int | None) -> Wanted:
    known = [each for each in LENGTHS if each]
    for each in known:
        if length in (None, each):
            return Wanted(each if length else None, number)
    raise BadInput(f"--length is one of {', '.join(known)}; got '{length}'.")


def _check(judge: str | None, rules: bool, seeds: int, wanted: Wanted) -> None:
    if rules == (judge is not None):
        raise BadInput(
            "Attributes come from rules or from a judge: give --rules, or --judge with an address such as "
            "openai:MODEL@URL or transformers:FOLDER."
        )
    if seeds < 1 or (wanted.number is not None and wanted.number < 1):
        raise BadInput("--seeds and --number are at least 1.")
    if rules and (seeds > 1 or wanted != Wanted()):
        raise BadInput("Rules always give the same attributes: --seeds, --length and --number are for a judge.")


async def _asked(work: AttributeFiles, jury: Jury, warmth: float, wanted: Wanted) -> None:
    """Asks for everything that is left, as many edits at once as the judge answers."""
    (address,) = jury.addresses.values()
    judge = open_judge(
        address,
        transcripts=transcripts_beside(work.out),
        parameters=Parameters(temperature=warmth, max_tokens=jury.max_tokens),
        price=jury.price,
        budget=jury.budget,
        replay=jury.replay,
    )
    prompt: partial[Prompt] = partial(open_prompt, folder=jury.prompts)
    async with judge:
        places = asyncio.Semaphore(WAITING * judge.at_once)

        async def one(edit: Edit, seed: int) -> None:
            async with places:
                try:
                    source = await asyncio.to_thread(read_image, edit.source.path)
                    attributes = await ask_attributes(edit, source, judge.ask, prompt, work.by, wanted, seed)
                    work.add(edit, seed, attributes)
                except CannotTell as unable:
                    work.lack(edit, seed, unable)
                except BadImage as unreadable:
                    work.lack(edit, seed, CannotTell("unreadable_image", str(unreadable)))

        await asyncio.gather(*(one(edit, seed) for edit, seed in work.left()))
