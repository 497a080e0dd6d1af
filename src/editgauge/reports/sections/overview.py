"""The overview: sentences on the methods and on failures, and three outcomes to look at first.

Significance comes from `analysis.significance`, as in `editgauge compare`, ranks and the leaderboard: on the edits that
both methods have, over all pairs of methods.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from editgauge._render import text
from editgauge._util.text import format_count
from editgauge.analysis.headline import MethodName, ScoreStandings
from editgauge.analysis.summary import ALL, FEW_SOURCES, Cell
from editgauge.reports._outcomes import NOT_APPLICABLE
from editgauge.types import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from editgauge.analysis.headline import Part
    from editgauge.analysis.summary import ScoreKey
    from editgauge.reports._outcomes import ScoredOutcome
    from editgauge.reports.context import Context
    from editgauge.types import ScoreSpec

SMALL_SAMPLE = 50
"""Number of source images below which the overview warns of a small sample."""
FAILURES = frozenset({"crashed", "unreadable_image"})
"""Reasons that are failures; for others there is no score, and nothing went wrong."""
_INTERVAL = re.compile(r" \[([^],]+), ")
MAX_NAMES = 4
"""This many methods or edit types are named in one sentence; more are counted."""


def sentences(context: Context) -> list[Markup]:
    """Return the sentences of the overview, in reading order."""
    sources = _source_counts(context)
    few = {key: min(counts) for key, counts in sources.items() if min(counts) < FEW_SOURCES}
    return [
        *(_on_score(context, key) for key in context.headlines if key not in few),
        *_nothing_claimed(context, few),
        *_sample({count for key, counts in sources.items() if key not in few for count in counts}),
        *_uneven(context),
        *_by_edit_type(context, few),
        *_failures(context),
    ]


def in_bold(parts: Iterable[Part]) -> Markup:
    """Render a sentence with its methods in bold and no line break inside an interval."""
    return Markup().join(
        _bold(part) if isinstance(part, MethodName) else Markup.escape(_INTERVAL.sub("\u00a0[\\1,\u00a0", part))
        for part in parts
    )


def _source_counts(context: Context) -> dict[ScoreKey, set[int]]:
    """Return the numbers of source images of each headline score, over methods."""
    counts: dict[ScoreKey, set[int]] = {key: set() for key in context.headlines}
    for cell in context.cells:
        key = (cell.protocol, cell.spec.name)
        if cell.mean and cell.edit_type == ALL and key in counts:
            counts[key].add(cell.mean.clusters)
    return counts


def _source_images(counts: Collection[int]) -> str:
    least, most = min(counts), max(counts)
    return format_count(most, "source image") if least == most else f"{least:,} to {most:,} source images"


def _nothing_claimed(context: Context, few: Mapping[ScoreKey, int]) -> Iterable[Markup]:
    """Name all scores on which some method has too few source images."""
    if few:
        titles = [context.titles[key] for key in few]
        names = [_score_name(titles[0], context.run.spec(*next(iter(few))))] if len(few) == 1 else [*map(_code, titles)]
        yield Markup("On {} nothing is claimed: there {} only {}, and intervals need {} to be relied on.").format(
            _listed(names), "is" if max(few.values()) == 1 else "are", _source_images(few.values()), FEW_SOURCES
        )


def _on_score(context: Context, key: ScoreKey) -> Markup:
    table = context.table(key)
    cells = [cell.cell for cell in table.rows[ALL] if cell and cell.cell.mean]
    standings = ScoreStandings.of(cells, context.verdicts.of(*key))
    name = _score_name(table.title, table.spec)
    by_method = {cell.method: _method(cell, table.decimals) for cell in standings.cells}
    if len(standings.cells) == 1:
        return Markup("{} has {}.").format(name, next(iter(by_method.values())))
    if standings.level:
        return Markup("On {} no two methods differ significantly: {}.").format(name, _listed(list(by_method.values())))
    leaders = _listed([by_method[cell.method] for cell in standings.top])
    if not standings.top or (standings.best is None and len(standings.top) == 1):
        return Markup("On {} some methods differ significantly, but none from all others.").format(name)
    best = "does best" if standings.best else "are best, without a significant difference between them,"
    first, last = Markup("{} {} on {}").format(leaders, best, name), standings.cells[-1]
    if len(standings.cells) == 2:
        sentence = Markup("{} does better than {} on {}").format(leaders, by_method[last.method], name)
        return sentence + _if_missing(standings) + "."
    if all(standings.beats(other, last) for other in standings.cells[:-1]):
        return Markup("{}; {} does worst.").format(first, by_method[last.method])
    return first + "."


def _if_missing(standings: ScoreStandings) -> str:
    """Say whether the result on two methods depends on missing scores."""
    one, two = standings.cells
    difference = standings.verdicts.between(one.method, two.method) if standings.verdicts else None
    if standings.verdicts is None or difference is None or standings.verdicts.survives_missing(difference) is not False:
        return ""
    return ", but not if all missing scores were the worst possible for it"


def _sample(counts: Collection[int]) -> Iterable[Markup]:
    """Say how many source images the means are of."""
    if counts:
        small = ", a small sample: expect them to move with other images" if min(counts) < SMALL_SAMPLE else ""
        yield Markup("These means are over {}{}.").format(_source_images(counts), small)


def _uneven(context: Context) -> Iterable[Markup]:
    """Warn if methods were scored on different numbers of edits."""
    for protocol, name in context.headlines:
        scored = {
            cell.method: cell.scored
            for cell in context.cells
            if cell.edit_type == ALL and (cell.protocol, cell.spec.name) == (protocol, name)
        }
        if len(set(scored.values())) > 1:
            counts = _listed([Markup("{} {:,}").format(_bold(method), count) for method, count in scored.items()])
            form = Markup("The methods were not scored on the same number of edits on {} ({}): compare with care.")
            yield form.format(_code(context.titles[protocol, name]), counts)
            return


def _by_edit_type(context: Context, few: Container[ScoreKey]) -> Iterable[Markup]:
    """Say which edit types have a significantly best method on the first headline score."""
    if not context.headlines or len(context.methods) < 2 or len(context.edit_types) < 2:
        return
    table = context.table(context.headlines[0])
    won: dict[str, list[str]] = {}
    level = too_few = 0
    for edit_type in context.edit_types:
        cells = [cell.cell for cell in table.rows[edit_type] if cell and cell.cell.mean]
        standings = ScoreStandings.of(cells, context.verdicts.of(*context.headlines[0], edit_type))
        if len(standings.cells) < max(len(cells), 2):
            too_few += 1
        elif standings.best:
            won.setdefault(standings.best.method, []).append(edit_type)
        else:
            level += 1
    parts = [
        Markup("{} is significantly better than all others at {}").format(
            _bold(method), _listed([text.spaced(kind) for kind in kinds])
        )
        for method, kinds in won.items()
    ]
    if level:
        parts.append(Markup("{} without a significantly best method").format(format_count(level, "edit type")))
    if too_few == len(context.edit_types) and context.headlines[0] in few:
        return  # stated by another sentence
    if too_few:
        have = "has" if too_few == 1 else "have"
        some = "no edit type has" if too_few == len(context.edit_types) else f"{too_few} of them {have} fewer than"
        few_sources = (
            f"{some} {FEW_SOURCES} source images" if parts else f"{some} {FEW_SOURCES} source images to judge by"
        )
        parts.append(Markup("{}").format(few_sources))
    yield Markup("By edit type, on {}: {}.").format(_code(table.title), Markup("; ").join(parts))


def _failures(context: Context) -> Iterable[Markup]:
    groups: dict[str, list[ScoredOutcome]] = {"missing": [], "failed": [], "without": []}
    for outcome in context.incomplete:
        if outcome.status == "unscored":
            reason = _first_reason(outcome)
            group = "failed" if reason in FAILURES else "without"
            groups["missing" if reason == "missing_outcome" else group].append(outcome)
    missing, failed, without = groups.values()
    if missing:
        yield _missing(context, missing)
    if failed:
        yield _unscored(context, failed, "failed altogether")
    if without:
        yield _unscored(context, without, f"{'has' if len(without) == 1 else 'have'} no score at all")
    if context.counts.outcomes and not context.counts.unscored:
        yield Markup("No outcome failed altogether.")
    partly = [outcome for outcome in context.incomplete if outcome.status == "partly scored"]
    if partly:
        yield _partly(partly)


def _missing(context: Context, missing: Sequence[ScoredOutcome]) -> Markup:
    """Count missing outcomes, which are not failures."""
    by_method: dict[str, set[str]] = {}
    for outcome in missing:
        by_method.setdefault(outcome.method, set()).add(outcome.edit)
    edits = {method: context.tally.edits(method) for method in by_method}
    why = text.spaced("missing_outcome")
    if len(by_method) == 1:
        ((method, lacking),) = by_method.items()
        verb = "lacks" if len(lacking) == 1 else "lack"
        return Markup("{:,} of {} {} an outcome by {} ({}).").format(
            len(lacking), format_count(edits[method], "edit"), verb, _bold(method), why
        )
    most_first = sorted(by_method.items(), key=lambda pair: -len(pair[1]))
    shares = [Markup("{:,} of {:,} by {}").format(len(n), edits[method], _bold(method)) for method, n in most_first]
    return Markup("Some edits lack an outcome ({}): {}.").format(why, _listed(shares))


def _unscored(context: Context, outcomes: Sequence[ScoredOutcome], what: str) -> Markup:
    reasons = Counter(text.spaced(_first_reason(outcome)) for outcome in outcomes)
    of_methods = Counter(outcome.method for outcome in outcomes)
    return Markup("{:,} of {} {} ({}): {}.").format(
        len(outcomes),
        format_count(context.counts.outcomes, "outcome"),
        what,
        _shares([(Markup.escape(why), count) for why, count in reasons.most_common()], "{0}", "{1:,} {0}"),
        _shares(
            [(_bold(name), count) for name, count in of_methods.most_common()],
            "by {0}" if len(outcomes) == 1 else "all by {0}",
            "{1:,} by {0}",
        ),
    )


def _partly(outcomes: Sequence[ScoredOutcome]) -> Markup:
    reasons = Counter(reason for outcome in outcomes for reason in dict.fromkeys(outcome.missing)).most_common()
    one = len(outcomes) == 1
    who = f"{format_count(len(outcomes), 'outcome')} {'lacks some of its' if one else 'lack some of their'} scores"
    if one and len(reasons) > 1:
        return Markup("{}: {}.").format(who, _listed([text.spaced(reason) for reason, _ in reasons]))
    usual = reasons[0][0]
    how = "as" if len(reasons) == 1 else "mostly as"
    meaning = text.meaning(usual)
    return Markup("{}, {} {}: {}").format(
        who, how, text.spaced(usual), meaning[:1].lower() + meaning[1:] or "see below."
    )


def _shares(parts: Sequence[tuple[Markup, int]], of_one: str, of_many: str) -> Markup:
    """List the only part, or all parts with their counts."""
    form = Markup(of_one if len(parts) == 1 else of_many)  # noqa: S704 - a phrase of this file
    return _listed([form.format(*part) for part in parts])


def _first_reason(outcome: ScoredOutcome) -> str:
    return next(iter(outcome.missing), NOT_APPLICABLE)


def _method(cell: Cell, decimals: int) -> Markup:
    mean = cell.mean
    values = (mean.value, mean.low, mean.high) if mean else ()
    numbers = [text.number(value, decimals) for value in values if value is not None]
    form = '{} <span class="numbers">{} [{}, {}]</span>' if len(numbers) > 1 else '{} <span class="numbers">{}</span>'
    return Markup(form).format(_bold(cell.method), *numbers)  # noqa: S704 - a phrase of this file


def _score_name(title: str, spec: ScoreSpec) -> Markup:
    return Markup("{} ({} is better)").format(_code(title), "higher" if spec.higher_is_better else "lower")


def _bold(name: str) -> Markup:
    return Markup("<b><bdi>{}</bdi></b>").format(text.breakable(name))


def _code(name: str) -> Markup:
    return Markup("<code>{}</code>").format(name)


def _listed(parts: Sequence[str]) -> Markup:
    """Join parts as in "a, b and c"; many are cut short and counted."""
    names = list(parts) if len(parts) <= MAX_NAMES else [*parts[: MAX_NAMES - 1], f"{len(parts) - MAX_NAMES + 1} more"]
    if len(names) < 2:
        return Markup("").join(names)
    return Markup("{} and {}").format(Markup(", ").join(names[:-1]), names[-1])


if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from editgauge.analysis.summary import ScoreKey
    from editgauge.reports._outcomes import ScoredOutcome
    from editgauge.reports.context import Context

    Scales = Mapping[ScoreKey, Callable[[float], float]]

MIN_DISPUTE = 0.3
"""Smallest difference that is a dispute, as a share of the scale."""
Values = list[tuple[str, str]]
"""A question or a protocol, and the value."""


class Highlight(NamedTuple):
    """One outcome and why it is highlighted."""

    label: str
    outcome: ScoredOutcome
    instruction: str
    values: Values
    """Its scores."""


def highlights(context: Context) -> list[Highlight]:
    """Return the highlights, each of another edit; outcomes that leave the source unchanged are left out."""
    edited = [
        outcome for outcome in context.outcomes if outcome.edited and outcome.edited.pixels != outcome.source.pixels
    ]
    keys = [context.answers[question][0] for question in ("done", "kept") if question in context.answers]
    keys = keys or context.headlines[:1]
    scales = {key: _goodness(key, edited, context) for key in {*keys, *context.answers.get("done", ())}}
    ratings = {id(outcome): rating for outcome in edited if (rating := _rating(outcome, keys, scales)) is not None}
    rated = [outcome for outcome in edited if id(outcome) in ratings]
    selected: list[Highlight] = []

    def select(label: str, ranked: Sequence[ScoredOutcome], values_of: Callable[[ScoredOutcome], Values]) -> None:
        edits = {highlight.outcome.edit for highlight in selected}
        outcome = next((candidate for candidate in ranked if candidate.edit not in edits), None)
        if outcome:
            instruction = context.run.edits.get(outcome.edit, {}).get("instruction", "") or outcome.edit
            selected.append(Highlight(label, outcome, instruction, values_of(outcome)))

    select(
        "Best",
        sorted(rated, key=lambda outcome: ratings[id(outcome)], reverse=True),
        lambda o: _score_values(o, keys, context),
    )
    select("Worst", sorted(rated, key=lambda outcome: ratings[id(outcome)]), lambda o: _score_values(o, keys, context))
    disputes = {id(outcome): _dispute(outcome, context.answers.get("done", ()), scales) for outcome in edited}
    disputed = sorted(
        (outcome for outcome in edited if disputes[id(outcome)] >= MIN_DISPUTE), key=lambda e: -disputes[id(e)]
    )
    select("Most disputed", disputed, lambda outcome: _votes(outcome, context))
    return selected


def _goodness(key: ScoreKey, outcomes: Sequence[ScoredOutcome], context: Context) -> Callable[[float], float]:
    """Return a function that maps a value to a share of the score's scale, 1 for the best."""
    spec = context.run.spec(*key)
    low, high = spec.range
    if not (math.isfinite(low) and math.isfinite(high)):
        values = [value for outcome in outcomes if (value := outcome.value(key)) is not None]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
    span = high - low or 1.0
    return lambda value: (value - low if spec.higher_is_better else high - value) / span


def _goodness_values(outcome: ScoredOutcome, keys: Sequence[ScoreKey], scales: Scales) -> list[float]:
    """Return the scores of the outcome as shares of their scales."""
    return [scales[key](value) for key in keys if (value := outcome.value(key)) is not None]


def _rating(outcome: ScoredOutcome, keys: Sequence[ScoreKey], scales: Scales) -> tuple[float, float] | None:
    """Rate an outcome by its weakest score, then by their sum; None if one is missing."""
    values = _goodness_values(outcome, keys, scales)
    return (min(values), sum(values)) if values and len(values) == len(keys) else None


def _dispute(outcome: ScoredOutcome, keys: Sequence[ScoreKey], scales: Scales) -> float:
    values = _goodness_values(outcome, keys, scales)
    return max(values) - min(values) if len(values) > 1 else 0.0


def _score_values(outcome: ScoredOutcome, keys: Sequence[ScoreKey], context: Context) -> Values:
    return [
        (
            QUESTIONS[question] if (question := context.run.spec(*key).question) else key[1],
            _highlight_value(outcome, key, context),
        )
        for key in keys
    ]


def _votes(outcome: ScoredOutcome, context: Context) -> Values:
    """Return each protocol's score on whether the edit was done."""
    keys = [key for key in context.answers["done"] if outcome.value(key) is not None]
    return [(key[0], _highlight_value(outcome, key, context)) for key in keys]


def _highlight_value(outcome: ScoredOutcome, key: ScoreKey, context: Context) -> str:
    value = outcome.value(key)
    low, high = context.run.spec(*key).range
    return text.number(value, 2 if high - low <= 1 else 1) if value is not None else "no score"
