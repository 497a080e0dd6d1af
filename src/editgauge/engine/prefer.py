"""A judge is shown two outcomes of one source and says which is better; many pairs are under way at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Literal, TypeVar, get_args

from editgauge._stats.resampling import Estimate
from editgauge._util.batching import Ask
from editgauge._util.concurrency import run_async
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
from editgauge.options import Amount, Count, JudgeOptions
from editgauge.results import Run, tables

PAIRS_UNDER_WAY = 4
"""For each question that the judge takes at once, so that it never waits and few pictures are held."""
Pair = TypeVar("Pair")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ComparisonWording:
    """What is asked about two outcomes, and the words around it."""

    question: str
    frame: Prompt

    @classmethod
    def of(cls, prompts: Path | None, question: str = "") -> ComparisonWording:
        """The built-in words, or those of a folder of prompts: which is better, or better in one respect."""
        name = f"prefer_{question}" if question else "prefer"
        return cls(open_prompt(name, folder=prompts).render().text, open_prompt("pairwise", folder=prompts))

    def ask(self, request: str, source: Pixels, one: Pixels, two: Pixels) -> Question[Choice]:
        """Which of the two fulfills the request better?"""
        return ask_pairwise(self.question, request, source, one, two, self.frame)


async def compare_each(
    judge: ModelJudge, pairs: Sequence[Pair], compare: Callable[[Pair], Awaitable[Result]], advance: Callable[[], None]
) -> list[Result]:
    """The result of every pair, in their order; no more are begun than the judge can take."""
    turns = asyncio.Semaphore(PAIRS_UNDER_WAY * judge.at_once)

    async def one(pair: Pair) -> Result:
        async with turns:
            verdict = await compare(pair)
        advance()
        return verdict

    return list(await asyncio.gather(*map(one, pairs)))


async def choice_of(judge: ModelJudge, question: Question[Choice]) -> Choice | NoAnswerError:
    """The outcome that it prefers, or why it gave no answer."""
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
class PictureFile:
    """A picture of the run, and the hash of its pixels when it was scored."""

    path: str
    pixels: str | None


@dataclass(frozen=True, slots=True)
class Pictures:
    """Where the pictures of a run lie."""

    sources: Mapping[tuple[str, str, int], PictureFile]
    """By edit, method and seed: in a multi-turn benchmark each method has a source of its own."""
    outcomes: Mapping[tuple[str, str, int], PictureFile]
    """Only those that could be read when they were scored."""

    @classmethod
    def of(cls, run: Run) -> Pictures:
        """Reads them in one pass."""
        names = ("edit", "method", "seed", "source_path", "source_pixels", "edited_path", "edited_pixels")
        sources, outcomes = {}, {}
        for edit, method, seed, source, source_pixels, edited, edited_pixels in tables.iter_rows(run.scores, names):
            if edited_pixels is not None and source_pixels is not None:
                sources[edit, method, seed] = PictureFile(source, source_pixels)
                outcomes[edit, method, seed] = PictureFile(edited, edited_pixels)
        return cls(sources, outcomes)

    def seeds(self) -> Seeds:
        """Edit and method to the seeds of which there are pictures."""
        seeds_of: dict[tuple[str, str], list[int]] = {}
        for edit, method, seed in self.outcomes:
            seeds_of.setdefault((edit, method), []).append(seed)
        return seeds_of


def named_methods(run: Run, names: Sequence[str]) -> list[str]:
    """The methods of a run that a user names, each once; all of them when none is named."""
    known = list(run.manifest.methods)
    for name in names:
        if name not in known:
            raise UnknownNameError("method in this run", name, known, f"editgauge report {run.folder}")
    return list(dict.fromkeys(names)) or known


def pairs_of(run: Run, pictures: Pictures, methods: Sequence[str], choices: str | Path | None) -> Iterator[OutcomePair]:
    """Two outcomes of every edit and seed, of these methods or of all; with people's choices, only what they judged."""
    wanted = named_methods(run, methods)
    if choices is not None:
        yield from _judged_by_people(Path(choices), pictures, set(wanted))
        return
    there = pictures.seeds()
    for edit in run.edits:
        for first, second in combinations(wanted, 2):
            seeds = (there.get((edit, method), ()) for method in (first, second))
            yield from (OutcomePair(edit, first, second, seed) for seed in sorted(set.intersection(*map(set, seeds))))


def _judged_by_people(choices: Path, pictures: Pictures, wanted: set[str]) -> Iterator[OutcomePair]:
    """Each pair once, for any judge and in either order."""
    seen: set[tuple[str, frozenset[str]]] = set()
    for (first, second), _ in match(read_choices(choices), pictures.seeds()).pairs:
        pair = (first.edit, frozenset((first.method, second.method)))
        if pair not in seen and pair[1] <= wanted and first.seed == second.seed:
            seen.add(pair)
            yield OutcomePair(first.edit, first.method, second.method, first.seed)


def read_scored(place: PictureFile) -> Pixels:
    """The picture as it was scored; raises `BadInputError` when another one lies there now."""
    picture = read_image(Path(place.path))
    if place.pixels is not None and pixel_hash(picture) != place.pixels:
        raise BadInputError(
            f"'{place.path}' is another picture than the one that was scored; `editgauge verify` lists them. "
            "Run again, then ask."
        )
    return picture


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
    judge_config = read_judge_config(
        JudgeOptions(judge=judge, price=price, budget=budget, prompts=prompts, replay=replay)
    )
    (name,) = judge_config.addresses
    asked_about = tuple(map(str, dict.fromkeys(aspect))) or ("",)
    wordings = {each: ComparisonWording.of(judge_config.prompts, each) for each in asked_about}
    comparisons = list(product(pairs, wordings))
    with progress(f"{name}: comparing", len(comparisons), quiet=quiet) as advance:
        asking = _ask_all(
            judge_config,
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
    is_published = base_name(opened.manifest.benchmark) == "gedit-v2" and set(aspect) == set(ASPECTS)
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
