"""The summary of a run: one table of means, or with `--verbose` a table per protocol and every reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from rich.text import Text

from editgauge._cli.tables.common import named, new_table, number, short, show
from editgauge._render.text import meaning, spaced
from editgauge._util.text import format_count
from editgauge.analysis.aggregation import measured_figures
from editgauge.analysis.headline import make_headline
from editgauge.analysis.significance import RunTests
from editgauge.analysis.summary import ALL, FEW_SOURCES, Cell, answers, headlines, summarize
from editgauge.reports._outcomes import Tally
from editgauge.types import QUESTIONS

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

MENDABLE = frozenset({"unreadable_image", "no_model", "unreachable", "refused", "unparsable", "budget", "crashed"})
"""Reasons that do not come from the edit itself: what is known about such a case helps to fix it."""
MOST_ROWS = 16
"""Of more scores than this, the table shows the main ones."""
DETAIL = 300
"""Signs of a detail that are shown."""


def show_summary(run: Run, *, verbose: bool = False) -> None:
    """The answer in a sentence, and the means over all edits: a row per score and a column per method."""
    summary, verdicts = summarize(run), RunTests(run)
    cells = {(c.protocol, c.spec.name, c.method): c for c in summary if c.edit_type == ALL}
    show(Text(make_headline(summary, verdicts).sentence, style="bold"))
    notes: list[str] = []
    if verbose:
        _show_by_protocol(run, cells)
        _show_figures(run)
    else:
        notes += _show_together(run, cells)
    few = any(cell.mean and cell.mean.clusters < FEW_SOURCES for cell in cells.values())
    dagger = f" † fewer than {FEW_SOURCES} source images: the interval is unreliable." if few else ""
    notes.append(f"↑ higher is better, ↓ lower is better.{dagger}")
    if verdicts.untouched:
        notes.append(f"Baseline that returns the source unchanged: {', '.join(sorted(verdicts.untouched))}.")
    reasons = sum((Counter(cell.unscored) for cell in cells.values()), Counter[str]())
    if reasons and not verbose:
        notes.append(f"{_unscored_of(run, cells)} `run --verbose` prints the reasons.")
    show(Text(" ".join(notes), style="dim"))  # one paragraph: with the table it fits a screen
    _show_reasons(run, reasons if verbose else Counter({why: n for why, n in reasons.items() if why in MENDABLE}))


def _show_together(run: Run, cells: dict[tuple[str, str, str], Cell]) -> list[str]:
    """Every score that says whether the edit was done, the primary ones of other questions, and the rest if few.

    Returns what is to be said about scores that are not shown.
    """
    methods = list(run.manifest.methods)
    title = f"{run.manifest.benchmark}, {format_count(run.manifest.edits, 'edit')}: mean and 95% confidence interval"
    scored = {
        (protocol, spec.name): [cells.get((protocol, spec.name, method)) for method in methods]
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
        if any((cell := cells.get((protocol, spec.name, method))) and cell.mean for method in methods)
    }
    labels = {
        key: QUESTIONS[question]
        for question, keys in answers(cells.values()).items()
        for key in (keys if question == "done" else keys[:1])
    }
    shown = dict.fromkeys((*labels, *headlines(cells.values()), *(scored if len(scored) <= MOST_ROWS else ())))
    table = new_table(title, ["question", "score"] if labels else ["score"], methods)
    table.show_edge = False
    table.columns[0].no_wrap = bool(labels)
    last = ""
    for key in shown:
        spec = next(cell.spec for cell in scored[key] if cell)
        label, last = ("" if labels.get(key) == last else labels.get(key, "")), labels.get(key, "")
        means = (_mean(cell, tell_unscored=False, brief=True) for cell in scored[key])
        table.add_row(*([label] if labels else []), f"{key[0]}/{named(spec)}", *means)
    show(table)
    if len(shown) == len(scored):
        return []
    figures = " and the figures of the papers" if measured_figures(run) else ""
    return [f"The main scores; the report and `run --verbose` have all {len(scored)}{figures}."]


def _show_figures(run: Run) -> None:
    """The numbers that the papers of benchmark and protocol print, by name, and other averages of the same scores."""
    measured = measured_figures(run)
    if not measured:
        return
    title = "what the paper prints: mean and 95% confidence interval"
    table = new_table(title, ["figure"], list(run.manifest.methods))
    for each in measured:
        name = Text(each.title).append(f"\n{each.figure.averaging}", style="dim")
        table.add_row(name, *(_estimate(each.methods[method], each.spec) for method in run.manifest.methods))
        for average, of_methods in each.others.items():
            cells = (_estimate(of_methods[method], each.spec) for method in run.manifest.methods)
            table.add_row(Text(f"  instead {average}", style="dim"), *cells, style="dim")
    show(table)


def _estimate(estimate: Estimate, spec: ScoreSpec) -> Text:
    if estimate.value is None:
        return Text(f"none: {short(estimate.reason, DETAIL)}", style="dim")
    text = Text(number(estimate.value, spec) + ("†" if estimate.clusters < FEW_SOURCES else ""))
    if estimate.low is not None:
        text.append(f" {number(estimate.low, spec)}…{number(estimate.high, spec)}", style="dim")
    return text.append(f" n {estimate.n}", style="dim")


def _unscored_of(run: Run, cells: dict[tuple[str, str, str], Cell]) -> str:
    """How many outcomes have all scores that apply, some or none, as in the report; and scores without any value."""
    empty = [
        f"{protocol}/{spec.name}"
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
        if not any((c := cells.get((protocol, spec.name, m))) and c.mean for m in run.manifest.methods)
    ]
    without = f" Without any value: {', '.join(empty)}." if empty else ""
    tally = Tally.of(run)
    counts, judging = tally.counts(), answers(cells.values()).get("done")
    judged = f"{tally.with_any(judging)} judged (edit done or not), " if judging else ""
    outcomes = f"{counts.scored} fully scored, {counts.partly} partly scored, {counts.unscored} unscored"
    return f"{format_count(counts.outcomes, 'outcome')}: {judged}{outcomes}.{without}"


def _show_by_protocol(run: Run, cells: dict[tuple[str, str, str], Cell]) -> None:
    methods = list(run.manifest.methods)
    for protocol, entry in run.manifest.protocols.items():
        heading = f"{protocol} on {run.manifest.benchmark}, {run.manifest.edits} edits: mean and 95% interval"
        table = new_table(heading, ["score"], methods, wrap_text=False)
        for spec in entry.scores:
            row = [cells.get((protocol, spec.name, method)) for method in methods]
            everywhere = len(row) > 1 and len({_unscored(cell) for cell in row}) == 1
            title = Text(named(spec))
            if everywhere and _unscored(row[0]) and any(cell and cell.mean for cell in row):
                title.append(f"\n{_unscored(row[0])} unscored each", style="dim italic")
            table.add_row(title, *(_mean(cell, tell_unscored=not everywhere) for cell in row))
        show(table)


def _show_reasons(run: Run, counts: Counter[str]) -> None:
    """How many scores are missing for each reason, what it means, and what is most often said about it."""
    width = max((len(str(count)) for count in counts.values()), default=0)
    for reason, count in counts.most_common():
        show(Text(f"{count:>{width}} unscored, {spaced(reason)}: {meaning(reason)}".rstrip(": "), style="dim"))
        if reason in MENDABLE and (detail := _usual_detail(run, reason)):
            show(Text(f"{'':>{width}} {short(detail, DETAIL)}", style="dim"))


def _usual_detail(run: Run, reason: str) -> str:
    details = run.scores["detail"].filter(pc.equal(run.scores["reason"].cast(pa.string()), reason))
    [(detail, _)] = Counter(details.to_pylist()).most_common(1)
    return detail or ""


def _unscored(cell: Cell | None) -> int:
    return sum(cell.unscored.values()) if cell else 0


def _mean(cell: Cell | None, *, tell_unscored: bool, brief: bool = False) -> Text:
    if cell is None or cell.mean is None:
        return Text("-" if cell is None or brief else f"{_unscored(cell)} unscored", style="dim")
    text = Text(number(cell.mean.value, cell.spec) + ("†" if cell.mean.clusters < FEW_SOURCES else ""))
    if cell.mean.low is not None:
        dots = "…" if brief else " … "
        interval = f"{number(cell.mean.low, cell.spec)}{dots}{number(cell.mean.high, cell.spec)}"
        text.append(f" {interval}" if brief else f"\n{interval}", style="dim")
    if tell_unscored and _unscored(cell):
        text.append(f"\n{_unscored(cell)} unscored", style="dim italic")
    return text
