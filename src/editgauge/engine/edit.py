"""The verb `edit`: the outcomes of a method for every edit of a benchmark."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from editgauge import __version__
from editgauge._util.files import write_json
from editgauge._util.progress import log_info, progress
from editgauge.benchmarks import open_benchmark
from editgauge.engine._options import pairs
from editgauge.engine._outcomes import JobPrompts, OutcomeLine, OutcomeList, card_of, claim, jobs_of, make_all, split
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.methods.card import SETTINGS, MethodCard
from editgauge.methods.prompts import PromptOptions, read_wording
from editgauge.methods.resolve import open_method
from editgauge.options import Count, Natural, Pairs, document_options
from editgauge.results.edits import to_lines
from editgauge.results.manifest import environment
from editgauge.types import id_problem

if TYPE_CHECKING:
    from editgauge.methods import Method
    from editgauge.types import Benchmark

RECORDED_LIBRARIES = ("torch", "diffusers", "transformers")
Swept = Mapping[str, Sequence[object]] | Sequence[str]
MAX_SEED = 10**18
"""The finder of outcomes reads seeds of at most 18 digits from file names."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """What `edit` left in the folder."""

    name: str
    """The method, with its variant."""
    folder: Path
    made: int
    reused: int
    absences: dict[str, str]
    """Outcome (an edit's id, and the seed behind it unless it is 0) to why there is none."""
    card: MethodCard | None = None
    """Time, memory, failures and cost; of a sweep, each variant has its own."""
    variants: dict[str, EditResult] = field(default_factory=dict)
    """What a sweep left for each variant, by its name."""


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be made, whatever the method."""

    benchmark: Benchmark
    limit: int | None
    seeds: range
    wording: PromptOptions
    quiet: bool


@document_options
def edit(
    benchmark: str | Path,
    *,
    method: str,
    out: str | Path,
    option: Pairs = (),
    sweep: Mapping[str, Sequence[object]] | Sequence[str] = (),
    command: str | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    limit: Count | None = None,
    seeds: Count = 1,
    seed: Natural = 0,
    form: str | None = None,
    template: str | None = None,
    prompts: str | Path | None = None,
    quiet: bool = False,
) -> EditResult:
    """Create the outcomes of a method for a benchmark.

    Run the same command again to continue after a stop: existing outcomes are kept, further seeds and edits are added.
    An edit that the method cannot do is recorded with the reason and tried again the next time, unless it was refused.

    Example:
        $ editgauge edit sample --method classical --out outcomes/classical
        >>> editgauge.edit("sample", method="classical", out="outcomes/classical")

    Args:
        benchmark: a name from `editgauge list benchmarks`, or a folder of your own.
        method: one of `editgauge list methods`, `endpoint:MODEL@URL`, `python:MODULE:NAME`, or a name for `command`.
        out: folder for the outcomes: `<edit id>.png`, and `<edit id>__seed1.png` for other seeds than 0.
        option: option of the method, as `NAME=VALUE`.
        sweep: several values of an option, as `NAME=VALUE,VALUE,…`: one variant of the method for each.
        command: command that edits, such as `my_editor {source} {instruction} {output}`.
        seeds: number of outcomes per edit, with consecutive seeds.
        seed: first random seed; the same seed gives the same pixels.
        form: prompt the method with an `instruction`, a `caption`, `captions` or a `token`.
        template: set of templates for edits that have no text of their own.
        prompts: prompts in place of the benchmark's: a set of templates (`editval`, `pixlens`, `unibench`, `plain`),
            a folder with templates, or a CSV file of prompts as PixLens writes it.
        quiet: print no progress or remarks.

    """
    if seeds < 1 or seed < 0 or seed + seeds > MAX_SEED:
        raise BadInputError(f"There must be at least one seed, from 0 to {MAX_SEED:,}; got {seeds} from {seed}.")
    fixed = pairs(option, "option", "NAME=VALUE")
    combinations = _read_sweep(sweep, fixed)
    opened = open_method(method, command)
    configured = opened.variant(fixed) if fixed else opened
    if configured.warning:
        log_info(configured.warning, quiet=quiet)
    wording = read_wording(form, template, prompts)
    source = open_benchmark(benchmark, data, images)
    order = _Order(source, limit, range(seed, seed + seeds), wording, quiet)
    if combinations:
        return _sweep(configured.name, _variants_of(configured, combinations), Path(out), order)
    return _make(configured, configured.name, Path(out), order)


def _read_sweep(sweep: Swept, fixed: Mapping[str, str]) -> list[dict[str, str]]:
    """Every combination of the values, as options; nothing when nothing is swept.

    >>> _read_sweep(["eta=0.8,0.9"], {})
    [{'eta': '0.8'}, {'eta': '0.9'}]
    """
    if not sweep:
        return []
    values_of = _swept_values(sweep)
    problems = []
    for name, values in values_of.items():
        if name in fixed:
            problems.append(f"{name} is also set by `option`")
        if not all(values):
            problems.append(f"{name} has an empty value")
        if len(set(values)) < len(values):
            problems.append(f"{name} has the same value twice")
    if problems:
        raise BadInputError("`sweep` needs NAME=VALUE,VALUE,…", problems)
    return [dict(zip(values_of, values, strict=True)) for values in product(*values_of.values())]


def _variants_of(method: Method, combinations: Sequence[Mapping[str, str]]) -> dict[str, Method]:
    """Return the variants by name, such as `imagic[eta=0.8]`; report all problems at once."""
    made: dict[str, Method] = {}
    problems: list[str] = []
    for options in combinations:
        name = f"{method.name}[{','.join(f'{key}={value}' for key, value in options.items())}]"
        problem = id_problem(name) or (
            "a value holds a bracket" if set("[]") & set(name[len(method.name) + 1 : -1]) else None
        )
        if problem:
            problems.append(f"{problem}, and is to name a folder")
            continue
        try:
            made[name] = method.variant(options)
        except BadInputError as error:
            problems += [f"{name}: {fault}" for fault in (error.problems or (str(error),))]
    if problems:
        raise BadInputError(f"'{method.name}' cannot be swept with these values.", problems)
    return made


def _swept_values(sweep: Swept) -> dict[str, list[str]]:
    if isinstance(sweep, Mapping):
        return {name: [str(value) for value in values] for name, values in sweep.items()}
    read = pairs(sweep, "sweep", "NAME=VALUE,VALUE,…")
    return {name: [value.strip() for value in values.split(",")] for name, values in read.items()}


def _sweep(base: str, variants: dict[str, Method], folder: Path, order: _Order) -> EditResult:
    if (folder / SETTINGS).is_file():
        raise BadInputError(
            f"'{folder}' holds outcomes of one method; choose another folder for the variants of a sweep."
        )
    made: dict[str, EditResult] = {}
    while variants:  # a variant may hold a model: it is let go before the next one loads its own
        name = next(iter(variants))
        made[name] = _make(variants.pop(name), name, folder / name, order)
    absences = {f"{name}: {key}": why for name, outcomes in made.items() for key, why in outcomes.absences.items()}
    counts = sum(outcomes.made for outcomes in made.values()), sum(outcomes.reused for outcomes in made.values())
    return EditResult(base, folder, *counts, absences, None, made)


def _make(method: Method, name: str, folder: Path, order: _Order) -> EditResult:
    claimed = _settings(method, name, order)
    jobs = jobs_of(order.benchmark.edits[: order.limit], order.seeds)
    claim(folder, SETTINGS, claimed, "outcomes", "editgauge edit")
    with _lock_folder(folder):
        listed, words = OutcomeList(folder), JobPrompts(method, order.wording)
        listed.write()
        finished, left = split(jobs, folder, listed, words)
        made: list[OutcomeLine] = []
        with progress(f"{name}: editing", len(left), quiet=order.quiet) as advance:

            def done(line: OutcomeLine) -> None:
                listed.add(line)
                made.append(line)
                advance()

            make_all(method, left, folder, words, done)
        listed.write(edit.id for edit in order.benchmark.edits)
        card = _finish(folder, claimed, listed, words, method.price)
    keys = {job.key for job in jobs}
    absences = {line.key.name: line.absence for line in listed if line.absence is not None and line.key in keys}
    made_outcomes = EditResult(name, folder, sum(line.absence is None for line in made), len(finished), absences, card)
    _log_outcomes(made_outcomes, quiet=order.quiet)
    return made_outcomes


def _log_outcomes(outcomes: EditResult, *, quiet: bool) -> None:
    counts = f"{outcomes.made} outcomes made, {outcomes.reused} kept, {len(outcomes.absences)} absent"
    log_info(f"{outcomes.name}: {counts}, in {outcomes.folder}", quiet=quiet)
    for key, absence in list(outcomes.absences.items())[:1]:
        log_info(f"  absent, for example: {key}: {absence}", quiet=quiet)
    if outcomes.card is not None:
        log_info(f"  {outcomes.card.summary()}", quiet=quiet)


def _finish(
    folder: Path, claimed: dict[str, Any], listed: OutcomeList, words: JobPrompts, price: float | None
) -> MethodCard:
    """Write the method's manifest with its options, environment and card."""
    earlier = json.loads((folder / SETTINGS).read_text("utf-8"))
    card = card_of(listed, price, earlier.get("card", {}))
    more = {
        "seeds": sorted({line.seed for line in listed}),
        "templates": sorted({*earlier.get("templates", ()), *words.templates}),
        "environment": environment() | _libraries(),
        "card": card.as_json(),
    }
    write_json(folder / SETTINGS, {**claimed, **more})
    return card


def _libraries() -> dict[str, str]:
    """Return the versions of imported libraries that can affect a method's pixels."""
    return {name: str(sys.modules[name].__version__) for name in RECORDED_LIBRARIES if name in sys.modules}


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BadInputError(
            f"Another process is making outcomes in '{folder}'. Wait, or choose another folder."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _settings(method: Method, name: str, order: _Order) -> dict[str, Any]:
    """Return the settings that all outcomes of a folder share."""
    edits = order.benchmark.edits
    recipes = repr([edit.recipe for edit in edits]).encode()
    settings = {
        "method": name,
        "settings": method.settings(),
        "prompt": {"own_form": method.form, **order.wording.describe()},
        "benchmark": order.benchmark.name,
        "edits_sha256": hashlib.sha256(to_lines(edits) + recipes).hexdigest(),
        "editgauge": __version__,
    }
    try:
        read: dict[str, Any] = json.loads(json.dumps(settings))
    except (TypeError, ValueError) as error:
        raise EditGaugeError(f"The settings of the method '{name}' cannot be written down as JSON: {error}.") from error
    return read
