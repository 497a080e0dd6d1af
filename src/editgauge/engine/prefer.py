"""The verb `prefer`: ask a judge which of two outcomes of one source image is better."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Literal, TypeVar, get_args

from editgauge._stats.resampling import Estimate
from editgauge._util.batching import Ask, run_async
from editgauge._util.files import write_jsonl
from editgauge._util.images import Pixels, pixel_hash, read_image
from editgauge._util.progress import log_info, progress
from editgauge._util.variants import base_name
from editgauge.analysis.outcomes import Seeds, match
from editgauge.analysis.preferences import PairAnswer, elo
from editgauge.analysis.ratings import read_choices
from editgauge.engine._judges import FOLDER, JudgeConfig, read_judge_config
from editgauge.errors import BadImageError, BadInputError, UnknownNameError, UnscorableError
from editgauge.judges import Choice, ModelJudge, NoAnswerError, Question, ask_pairwise, open_prompt
from editgauge.judges.prompts import Prompt
from editgauge.options import Amount, Count, JudgeOptions, document_options
from editgauge.results import ImageStamp, Run, tables

PAIRS_PER_SLOT = 4
"""Pairs in flight per concurrent call of the judge, so that it never waits and few images are in memory."""
Pair = TypeVar("Pair")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ComparisonWording:
    """Prompts of a comparison: the question and the text around it."""

    question: str
    frame: Prompt

    @classmethod
    def of(cls, prompts: Path | None, question: str = "") -> ComparisonWording:
        """Open the built-in prompts or those of a folder, for the overall question or one aspect."""
        name = f"prefer_{question}" if question else "prefer"
        return cls(open_prompt(name, folder=prompts).render().text, open_prompt("pairwise", folder=prompts))

    def ask(self, request: str, source: Pixels, one: Pixels, two: Pixels) -> Question[Choice]:
        """Ask which of the two fulfills the request better."""
        return ask_pairwise(self.question, request, source, one, two, prompt=self.frame)


async def compare_each(
    judge: ModelJudge, pairs: Sequence[Pair], compare: Callable[[Pair], Awaitable[Result]], advance: Callable[[], None]
) -> list[Result]:
    """Compare all pairs with bounded concurrency; results are in their order."""
    slots = asyncio.Semaphore(PAIRS_PER_SLOT * judge.at_once)

    async def one(pair: Pair) -> Result:
        async with slots:
            result = await compare(pair)
        advance()
        return result

    return list(await asyncio.gather(*map(one, pairs)))


async def choice_of(judge: ModelJudge, question: Question[Choice]) -> Choice | NoAnswerError:
    """Return the preferred outcome, or why there is no answer."""
    try:
        return (await judge.ask(question)).value
    except NoAnswerError as error:
        return error


@dataclass(frozen=True, slots=True)
class OutcomePair:
    """Two outcomes of an edit."""

    edit: str
    first: str
    second: str
    seed: int


@dataclass(frozen=True, slots=True)
class ScoredImages:
    """Image files of a run, by edit, method and seed."""

    sources: Mapping[tuple[str, str, int], ImageStamp]
    """In a multi-turn benchmark each method has its own source images."""
    outcomes: Mapping[tuple[str, str, int], ImageStamp]
    """Outcomes that could be decoded when they were scored."""

    @classmethod
    def of(cls, run: Run) -> ScoredImages:
        """Collect them in one pass."""
        names = ("edit", "method", "seed", "source_path", "source_pixels", "edited_path", "edited_pixels")
        sources, outcomes = {}, {}
        for edit, method, seed, source, source_pixels, edited, edited_pixels in tables.iter_rows(run.table, names):
            if edited_pixels is not None and source_pixels is not None:
                sources[edit, method, seed] = ImageStamp(source, pixels=source_pixels)
                outcomes[edit, method, seed] = ImageStamp(edited, pixels=edited_pixels)
        return cls(sources, outcomes)

    def seeds(self) -> Seeds:
        """Return the seeds by edit and method."""
        seeds_of: dict[tuple[str, str], list[int]] = {}
        for edit, method, seed in self.outcomes:
            seeds_of.setdefault((edit, method), []).append(seed)
        return seeds_of


def named_methods(run: Run, names: Sequence[str]) -> list[str]:
    """Check the names of methods of a run and remove duplicates; no names means all methods."""
    methods = list(run.manifest.methods)
    for name in names:
        if name not in methods:
            raise UnknownNameError("method in this run", name, methods, f"editgauge report {run.folder}")
    return list(dict.fromkeys(names)) or methods


def iter_pairs(
    run: Run, images: ScoredImages, methods: Sequence[str], choices: str | Path | None
) -> Iterator[OutcomePair]:
    """Yield pairs of outcomes of every edit and seed; with human choices, only the pairs that people judged."""
    names = named_methods(run, methods)
    if choices is not None:
        yield from _human_pairs(Path(choices), images, set(names))
        return
    seeds_of = images.seeds()
    for edit in run.edits:
        for first, second in combinations(names, 2):
            seeds = (seeds_of.get((edit, method), ()) for method in (first, second))
            yield from (OutcomePair(edit, first, second, seed) for seed in sorted(set.intersection(*map(set, seeds))))


def _human_pairs(choices: Path, images: ScoredImages, methods: set[str]) -> Iterator[OutcomePair]:
    """Yield each judged pair once, regardless of judge and order."""
    yielded: set[tuple[str, frozenset[str]]] = set()
    for (first, second), _ in match(read_choices(choices), images.seeds()).pairs:
        pair = (first.edit, frozenset((first.method, second.method)))
        if pair not in yielded and pair[1] <= methods and first.seed == second.seed:
            yielded.add(pair)
            yield OutcomePair(first.edit, first.method, second.method, first.seed)


def read_scored_image(stamp: ImageStamp) -> Pixels:
    """Read an image file that was scored.

    Raises:
        BadInputError: the file has changed since.
    """
    image = read_image(Path(stamp.path))
    if stamp.pixels is not None and pixel_hash(image) != stamp.pixels:
        raise BadInputError(
            f"'{stamp.path}' is another picture than the one that was scored; `editgauge verify` lists them. "
            "Run again, then ask."
        )
    return image


Aspect = Literal["following", "quality", "consistency"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
"""Aspects that GEditBench v2 asks about individually."""
ALL_ASPECTS = "GEditBench v2 Elo"
"""Name of the figure in its paper; the benchmark is called `gedit-v2` here."""
CHOICE_NAMES: Mapping[Choice, str] = {"one": "first", "two": "second", "tie": "tie"}

AspectPair = tuple[OutcomePair, str]
"""Two outcomes, and the aspect in which they are compared; empty for overall."""


@dataclass(frozen=True, slots=True)
class PreferenceResult:
    """Result of `prefer`."""

    file: Path
    judge: str
    pairs: int
    unanswered: Mapping[str, int]
    """Number of comparisons without an answer in at least one order, by reason."""
    figure: str
    """Name of the Elo: that of the paper if the run is of GEditBench v2 and all aspects were asked."""
    elo: Mapping[str, Estimate]
    """Elo by method, best first; empty without answers."""


@document_options
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
) -> PreferenceResult:
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
    for name in aspect:
        if name not in ASPECTS:
            raise UnknownNameError("aspect", name, ASPECTS)
    opened = Run.open(Path(run))
    images = ScoredImages.of(opened)
    pairs = list(iter_pairs(opened, images, method, choices))[:limit]
    if not pairs:
        raise BadInputError("There is no pair to ask about: no edit of the run has outcomes of two of these methods.")
    judge_config = read_judge_config(
        JudgeOptions(judge=judge, price=price, budget=budget, prompts=prompts, replay=replay)
    )
    (judge_name,) = judge_config.addresses
    aspects = tuple(map(str, dict.fromkeys(aspect))) or ("",)
    wordings = {name: ComparisonWording.of(judge_config.prompts, name) for name in aspects}
    comparisons = list(product(pairs, wordings))
    with progress(f"{judge_name}: comparing", len(comparisons), quiet=quiet) as advance:
        asking = _ask_all(
            judge_config,
            opened,
            comparisons,
            lambda comparison: _question(comparison[0], opened, images, wordings[comparison[1]]),
            advance,
        )
        lines = [
            {**line, "rater": _rater(judge_name, name)}
            for line, (_, name) in zip(run_async(asking), comparisons, strict=True)
        ]
    write_jsonl(Path(out), lines)
    unanswered = Counter(str(line["unanswered"]).partition(":")[0] for line in lines if line["unanswered"])
    reasons = "".join(f", {count} without an answer ({reason})" for reason, count in unanswered.items())
    about = f" about {', '.join(aspect)}" if aspect else ""
    log_info(f"{judge_name}: {len(pairs)} pairs in both orders{about}{reasons}, in {out}", quiet=quiet)
    is_published = base_name(opened.manifest.benchmark) == "gedit-v2" and set(aspect) == set(ASPECTS)
    answers = _answers(lines, opened)
    return PreferenceResult(
        file=Path(out),
        judge=judge_name,
        pairs=len(pairs),
        unanswered=dict(unanswered),
        figure=ALL_ASPECTS if is_published else "Elo",
        elo=elo(answers) if answers else {},
    )


def _rater(judge: str, aspect: str) -> str:
    """Name the rater by judge and aspect: answers about different aspects are not comparable."""
    return f"{judge}:{aspect}" if aspect else judge


def _answers(lines: Sequence[Mapping[str, object]], run: Run) -> list[PairAnswer]:
    """Return the answers in both orders, each counted once."""
    sources = dict(tables.iter_rows(run.table, ("edit", "source")))
    return [
        PairAnswer(str(line["rater"]), sources[line["edit"]], str(line["first"]), str(line["second"]), str(choice))
        for line in lines
        for choice in (line["chosen"], line["swapped"])
        if choice is not None
    ]


def _question(pair: OutcomePair, run: Run, images: ScoredImages, wording: ComparisonWording) -> Question[Choice]:
    first, second = ((pair.edit, method, pair.seed) for method in (pair.first, pair.second))
    if images.sources[first].pixels != images.sources[second].pixels:  # a later turn: each has its own source
        raise UnscorableError("not_applicable", "the two were made from different pictures")
    source = read_scored_image(images.sources[first])
    one, two = read_scored_image(images.outcomes[first]), read_scored_image(images.outcomes[second])
    request = str(run.edits[pair.edit].get("instruction", ""))
    return wording.ask(request, source, one, two)


async def _ask_all(
    judge_config: JudgeConfig,
    run: Run,
    comparisons: Sequence[AspectPair],
    question: Callable[[AspectPair], Question[Choice]],
    advance: Callable[[], None],
) -> list[dict[str, object]]:
    ask = Ask()
    (judge,) = judge_config.open(run.folder / FOLDER, ask).values()
    try:
        async with judge:
            return await compare_each(
                judge, comparisons, lambda comparison: _compare(judge, comparison, question), advance
            )
    finally:
        ask.close()


async def _compare(
    judge: ModelJudge, comparison: AspectPair, question: Callable[[AspectPair], Question[Choice]]
) -> dict[str, object]:
    """Compare one pair in both orders; a choice is None, with a reason, if there is no answer."""
    pair = comparison[0]
    fields: dict[str, object] = {"edit": pair.edit, "first": pair.first, "second": pair.second, "seed": pair.seed}
    try:
        pairwise = await asyncio.to_thread(question, comparison)
    except (BadImageError, UnscorableError) as error:
        reason = f"unreadable_image: {error}" if isinstance(error, BadImageError) else str(error)
        return fields | {"chosen": None, "swapped": None, "unanswered": reason}
    answers = [await choice_of(judge, order) for order in (pairwise, pairwise.swapped())]
    reasons = [str(answer) for answer in answers if isinstance(answer, NoAnswerError)]
    choice, swapped = (None if isinstance(answer, NoAnswerError) else CHOICE_NAMES[answer] for answer in answers)
    return fields | {"chosen": choice, "swapped": swapped, "unanswered": reasons[0] if reasons else None}
