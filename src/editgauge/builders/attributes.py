"""The verb `build attributes`: what the source image shows and what its edit should show, in phrases, for every edit.

One file for each seed: `attributes.jsonl`, `attributes.seed1.jsonl` … Every one of them is what `run --attributes`
takes, so that a score per seed is a run per file. A judge's calls are kept next to the first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from editgauge._util.batching import run_async
from editgauge._util.images import read_image
from editgauge._util.progress import log_info, progress
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.attributes import Attributes, read_attributes, write_attributes
from editgauge.builders._common import (
    bound_calls,
    edit_bytes,
    open_single_judge,
    run_concurrently,
    transcripts_path,
)
from editgauge.engine._judges import JudgeConfig, read_judge_config
from editgauge.errors import BadImageError, BadInputError, UnscorableError
from editgauge.judges import NoAnswerError, open_prompt
from editgauge.judges._cost import CallBound
from editgauge.options import Amount, Count, JudgeOptions, document_options
from editgauge.protocols.augclip import _attributes as by_rules
from editgauge.protocols.augclip._attributes import LENGTHS, PROMPTS, AttributeRequest, ask_attributes, written_by
from editgauge.types import Edit

DEFAULT_MAX_TOKENS = 1024
"""Thirty long attributes need more than the usual 512."""
SEED_TEMPERATURE = 1.0
"""The temperature of several seeds: at 0 they would all be the same."""


@dataclass(frozen=True, slots=True)
class MissingAttributes:
    """An edit without attributes, and why."""

    edit: str
    seed: int
    fault: str
    """A word of a closed list: a judge's fault, or a reason for having no score."""
    detail: str


@dataclass(frozen=True, slots=True)
class AttributesResult:
    """Result of `attributes`."""

    files: tuple[Path, ...]
    """One per seed."""
    made: int
    reused: int
    lacking: tuple[MissingAttributes, ...]
    asking: CallBound | None = None
    """Of a dry run: what the judge can be asked at most."""

    @property
    def faults(self) -> Counter[str]:
        """How many edits lack attributes for each fault."""
        return Counter(item.fault for item in self.lacking)


@document_options
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
) -> AttributesResult:
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
    request = _wanted(length, number)
    _check(judge, seeds, request, rules=rules)
    edits = open_benchmark(benchmark, data, images).edits[:limit]
    file = Path(out)
    if judge is None and not dry_run:
        work = AttributeFiles(file, edits, 1, by_rules.RULES_VERSION, quiet=quiet)
        with work.saved():
            for edit, seed in work.left():
                try:
                    work.add(edit, seed, by_rules.extract(edit))
                except UnscorableError as unable:
                    work.lack(edit, seed, unable)
        return work.written()
    warmth = temperature if temperature is not None else SEED_TEMPERATURE if seeds > 1 else 0.0
    judges = JudgeOptions(
        judge=judge,
        price=price,
        budget=budget,
        max_tokens=max_tokens,
        temperature=warmth,
        prompts=prompts,
        replay=replay,
    )
    judge_config = read_judge_config(judges, max_tokens=DEFAULT_MAX_TOKENS)
    name = next(iter(judge_config.addresses), by_rules.RULES_VERSION)
    by = written_by(name, partial(open_prompt, folder=judge_config.prompts), request) + (
        f" at {warmth:g}" if warmth else ""
    )
    work = AttributeFiles(file, edits, seeds, by, quiet=quiet)
    if dry_run:
        questions = len(PROMPTS) * len(list(work.left()))
        texts = edit_bytes(edits)
        asking = bound_calls(judge_config, questions, prompts=PROMPTS, text_bytes=texts, images=1, quiet=quiet)
        return AttributesResult((), 0, 0, (), asking)
    with work.saved():
        run_async(_ask(work, judge_config, request))
    return work.written()


def _wanted(length: str | None, number: int | None) -> AttributeRequest:
    lengths = [item for item in LENGTHS if item]
    for element in lengths:
        if length in (None, element):
            return AttributeRequest(element if length else None, number)
    raise BadInputError(f"`length` is one of {', '.join(lengths)}; got '{length}'.")


def _check(judge: str | None, seeds: int, request: AttributeRequest, *, rules: bool) -> None:
    if rules == (judge is not None):
        raise BadInputError(
            "Attributes come from rules or from a judge: pass `rules=True`, or `judge` with an address such as "
            "openai:MODEL@URL or transformers:FOLDER."
        )
    if seeds < 1 or (request.number is not None and request.number < 1):
        raise BadInputError("`seeds` and `number` are at least 1.")
    if rules and (seeds > 1 or request != AttributeRequest()):
        raise BadInputError("Rules always give the same attributes: `seeds`, `length` and `number` are for a judge.")


async def _ask(work: AttributeFiles, judge_config: JudgeConfig, request: AttributeRequest) -> None:
    """Ask the judge for all missing attributes."""
    prompt = partial(open_prompt, folder=judge_config.prompts)
    async with open_single_judge(judge_config, transcripts_path(work.out)) as judge:

        async def one(task: tuple[Edit, int]) -> None:
            edit, seed = task
            try:
                source = await asyncio.to_thread(read_image, edit.source.path)
                work.add(edit, seed, await ask_attributes(edit, source, judge.ask, prompt, work.by, request, seed))
            except UnscorableError as unable:
                work.lack(edit, seed, unable)
            except BadImageError as unreadable:
                work.lack(edit, seed, UnscorableError("unreadable_image", str(unreadable)))

        await run_concurrently(judge, work.left(), one)


class AttributeFiles:
    """The files of a benchmark's attributes while they are filled."""

    def __init__(self, out: Path, edits: Sequence[Edit], seeds: int, by: str, *, quiet: bool) -> None:
        self._files = [seed_file(out, seed) for seed in range(seeds)]
        self._by_seed = [_earlier(file, by) for file in self._files]
        self._edits = edits
        self._quiet = quiet
        self._made = 0
        self._kept = sum(edit.id in attributes for edit in edits for attributes in self._by_seed)
        self._lacking: list[MissingAttributes] = []
        self.out = out
        self.by = by

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Show progress; on any exit, write what was made so far."""
        total = len(self._edits) * len(self._files)
        try:
            with progress("attributes", total, quiet=self._quiet, done=self._kept) as self._advance:
                yield
        finally:
            for file, attributes in zip(self._files, self._by_seed, strict=True):
                order = [edit.id for edit in self._edits if edit.id in attributes]
                further = [name for name in attributes if name not in set(order)]
                write_attributes(file, {name: attributes[name] for name in (*order, *further)})

    def left(self) -> list[tuple[Edit, int]]:
        """Return the edits and seeds without attributes."""
        return [
            (edit, seed)
            for seed, attributes in enumerate(self._by_seed)
            for edit in self._edits
            if edit.id not in attributes
        ]

    def add(self, edit: Edit, seed: int, attributes: Attributes) -> None:
        """Add the attributes of an edit."""
        self._by_seed[seed][edit.id] = attributes
        self._made += 1
        self._advance()

    def lack(self, edit: Edit, seed: int, unable: UnscorableError) -> None:
        """Count an edit without attributes."""
        fault = unable.fault if isinstance(unable, NoAnswerError) else unable.reason
        self._lacking.append(MissingAttributes(edit.id, seed, fault, unable.detail))
        self._advance()

    def written(self) -> AttributesResult:
        """Return what was written."""
        done = AttributesResult(tuple(self._files), self._made, self._kept, tuple(self._lacking))
        files = ", ".join(str(file) for file in self._files)
        summary = f"{done.made} written, {done.reused} kept, {len(done.lacking)} lacking"
        log_info(f"{self.by}: {summary}, in {files}", quiet=self._quiet)
        for fault, count in sorted(done.faults.items()):
            first = next(item for item in done.lacking if item.fault == fault)
            log_info(f"  {fault}: {count}, for example {first.edit}: {first.detail}", quiet=self._quiet)
        return done


def _earlier(file: Path, by: str) -> dict[str, Attributes]:
    """Read earlier attributes; those of another source are rejected."""
    if not file.exists():
        return {}
    attributes = read_attributes(file)
    sources = sorted({attribute.by or "an unnamed source" for attribute in attributes.values() if attribute.by != by})
    if sources:
        raise BadInputError(f"'{file}' holds attributes by others than '{by}'; choose another `out`.", sources)
    return attributes


def seed_file(out: Path, seed: int) -> Path:
    """Return the file of one seed.

    >>> seed_file(Path("attributes.jsonl"), 0).name, seed_file(Path("attributes.jsonl"), 2).name
    ('attributes.jsonl', 'attributes.seed2.jsonl')
    """
    return out.with_name(f"{out.stem}.seed{seed}{out.suffix}") if seed else out
