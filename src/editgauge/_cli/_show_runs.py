"""Print what runs hold: summaries, comparisons, differences, plans and checks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import typer

from editgauge._cli._output import Options, as_json, format_of, suggest, suggest_report
from editgauge._render.tables import Column, EmptyCell, Label, ResultTable, TableCell, ValueCell, directed, value_cell
from editgauge._render.terminal import make_columns, print_table, print_text
from editgauge._render.text import meaning, shortened, spaced
from editgauge._stats.pairwise import ALPHA
from editgauge._util.text import format_count
from editgauge.analysis.aggregation import METHOD_AGGREGATIONS, aggregations_differ, measured_figures, paper_aggregation
from editgauge.analysis.diff import CAUSE_MEANINGS, CAUSES, SignatureDifference
from editgauge.analysis.headline import make_headline
from editgauge.analysis.significance import RunTests
from editgauge.analysis.summary import ALL, FEW_SOURCES, answers, headlines, summarize
from editgauge.reports._outcomes import Tally
from editgauge.types import QUESTIONS

if TYPE_CHECKING:
    from editgauge._stats.intervals import Bounds
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.compare import Comparison, Standing
    from editgauge.analysis.diff import Attribution, Cause, RunDifference, Shift
    from editgauge.analysis.gate import GateCheck, GateResult
    from editgauge.analysis.summary import Cell
    from editgauge.engine.edit import EditResult
    from editgauge.engine.plan import Forecast
    from editgauge.engine.prefer import PreferenceResult
    from editgauge.engine.verify import Verification
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

Cells = Mapping[tuple[str, str, str], "Cell"]
"""Means over all edits, by protocol, score and method."""
FIXABLE_REASONS = frozenset(
    {"unreadable_image", "no_model", "unreachable", "refused", "unparsable", "budget", "crashed"}
)
"""Reasons that do not come from the edit itself; their details help to fix them."""
MAX_ROWS = 16
"""With more scores than this, the summary shows only the main ones."""
MAX_DETAIL_CHARACTERS = 300
SIGNIFICANCE_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
IDLE_SHARE = 0.9
"""A machine with at least this share of its cores free counts as idle."""
MINUTE, HOUR, DAY = 60, 3600, 86_400  # seconds


def show_demo(page: Path, options: Options) -> None:
    """Print the summary of the demo and where its report is."""
    from editgauge.results import Run

    show_summary(Run.open(Path(options["out"]) / "run"))
    typer.echo(f"Report, to be opened in a browser: {page.absolute().as_uri()}")


def show_run(run: Run, options: Options) -> None:
    """Print the summary of a run."""
    if not options["quiet"]:
        show_summary(run, verbose=options["verbose"])
        suggest_report(options["out"])


def run_json(run: Run, options: Options) -> str:
    """Serialize the means of a run and the usage of its judges."""
    from editgauge.engine._judges import read_judge_usage
    from editgauge.reports.export import means_of

    return as_json(
        {"run": str(options["out"]), "judges": read_judge_usage(Path(options["out"])), "means": means_of(run)}
    )


def preview_run(options: Options, flags: Options) -> bool:
    """Print the resolved plan as YAML if `--dry-run` was passed."""
    if not flags["dry_run"]:
        return False
    import yaml

    from editgauge.engine.run import preview

    sys.stdout.write(yaml.safe_dump(preview(**options), sort_keys=False, allow_unicode=True, width=1000))
    return True


def show_edit(made: EditResult, options: Options) -> int | None:
    """Suggest the run that scores the outcomes; exit with 1 if there are none."""
    if not any(part.made or part.reused for part in (made, *made.variants.values())):
        return 1
    if not options["quiet"]:
        outcomes = f"{options['out']}/*" if made.variants else f"{made.name}={options['out']}"
        data = [(f"--{name}", str(options[name])) for name in ("data", "images", "limit") if options[name]]
        command = [options["benchmark"], "--outcomes", outcomes, *(word for pair in data for word in pair)]
        suggest(f"run {' '.join(map(quote, command))}")
    return None


def show_merge(options: Options) -> None:
    """Suggest a report of the merged run."""
    if not options["quiet"]:
        suggest_report(options["out"])


def show_report(page: Path) -> None:
    """Print where the report is."""
    typer.echo(f"Report: {page}")


def show_leaderboard(page: Path) -> None:
    """Print where the leaderboard is."""
    typer.echo(f"Leaderboard: {page}")


def stream_export(options: Options) -> bool:
    """Write an export to standard output part by part, so that a million scores are never in memory at once."""
    from editgauge.reports.export import PAPER, export_parts

    if options["out"] is not None or options["format"] == PAPER:
        return False
    with open(sys.stdout.fileno(), "wb", closefd=False) as stdout:  # `sys.stdout` may write a part only
        stdout.writelines(export_parts(options["run"], options["format"], summary=options["summary"]))
    return True


def show_export(names: bytes, options: Options) -> None:
    """Print how many files were written for a paper."""
    from editgauge.reports.export import PAPER

    if options["format"] == PAPER:
        typer.echo(f"{len(names.splitlines())} files in {options['out']}: methods, tables and figures.")


def show_gate(gate: GateResult, options: Options) -> int | None:
    """Print the result of the gate, as Markdown with `--markdown`; return its exit code."""
    if options["markdown"]:
        typer.echo(gate.markdown)
    else:
        _show_gate_table(gate)
    return gate.exit_code or None


def _show_gate_table(gate: GateResult) -> None:
    from editgauge.analysis.gate import RESULT_MEANINGS

    results = Counter(check.judged for check in gate.checks)
    present = [result for result in RESULT_MEANINGS if results[result]]
    counts = ", ".join(f"{results[result]} {result}" for result in present)
    print_text(f"Gate {'passed' if gate.passed else 'failed'}: {counts}.", "bold")
    is_missing = any(check.missing_share for check in gate.checks)
    columns = [
        *make_columns(["score", "method"], ["baseline", "new", "change"], wrap=False),
        *make_columns(["result", *(["no longer scored"] if is_missing else [])], wrap=False),
    ]
    rows = [[*_gate_cells(check), *([_gate_missing(check)] if is_missing else [])] for check in gate.checks]
    print_table(ResultTable(columns, rows, f"{gate.run} against {gate.against}, margin {gate.max_drop:g}"))
    print_text("; ".join(f"{result}: {RESULT_MEANINGS[result]}" for result in present) + ".", "dim")
    print_text("Paired by edit; 95% intervals clustered by source image.", "dim")


def _gate_cells(check: GateCheck) -> list[TableCell]:
    pair = check.difference
    means = (None, None) if pair is None else (pair.second_mean, pair.first_mean)
    change: TableCell = EmptyCell(text="no common edit")
    if pair is not None and pair.value is not None:
        change = ValueCell(pair.value, pair.low, pair.high, format="+.3f")
    name = f"{check.protocol}/{directed(check.spec.name, higher_is_better=check.spec.higher_is_better)}"
    result = Label(check.judged, style="strong" if check.judged in {"worse", "incomplete"} else "plain")
    return [name, check.method, *(EmptyCell() if mean is None else mean for mean in means), change, result]


def _gate_missing(check: GateCheck) -> str:
    return f"{check.lost} ({check.missing_share:.0%} missing)" if check.missing_share else ""


def show_verify(result: Verification, options: Options) -> None:
    """Print every problem, what was scored again, and whether the run is sound."""
    from editgauge.engine.verify import RELATIVE_TOLERANCE

    for problem in result.problems:
        typer.echo(problem)
    recomputed = result.recomputed
    checked = recomputed.scores + len(recomputed.problems)
    if checked:
        typer.echo(
            f"Scored again: {recomputed.scores} of {checked} scores of {recomputed.outcomes} outcomes agree to "
            f"{RELATIVE_TOLERANCE:.2%}."
        )
    for reason, count in recomputed.unchecked.items():
        typer.echo(f"Not scored again, so not verified: {count} scores: {reason}")
    if checked or recomputed.unchecked:
        typer.echo(result.sentence)
    if not result.sound:
        typer.echo(f"{format_count(len(result.problems), 'problem')} in {options['run']}")
        return
    nothing = " No score was computed again." if options["recompute"] and not recomputed.outcomes else ""
    typer.echo(
        f"{options['run']} is sound: {result.files} files, {result.scores} scores, {result.unscored} unscored and "
        f"{result.images} images as recorded.{nothing}"
    )


# --- the summary of a run ---------------------------------------------------------------------------------------------


def show_summary(run: Run, *, verbose: bool = False) -> None:
    """Print the answer in a sentence and the means over all edits, one row per score and one column per method."""
    summary, verdicts = summarize(run), RunTests(run)
    cells = {(c.protocol, c.spec.name, c.method): c for c in summary if c.edit_type == ALL}
    print_text(make_headline(summary, verdicts).sentence, "bold")
    notes: list[str] = []
    if verbose:
        _show_by_protocol(run, cells)
        _show_figures(run)
    else:
        notes += _show_main_scores(run, cells)
    few = any(cell.mean and cell.mean.clusters < FEW_SOURCES for cell in cells.values())
    dagger = f" † fewer than {FEW_SOURCES} source images: the interval is unreliable." if few else ""
    notes.append(f"↑ higher is better, ↓ lower is better.{dagger}")
    if verdicts.untouched:
        notes.append(f"Baseline that returns the source unchanged: {', '.join(sorted(verdicts.untouched))}.")
    reasons = sum((Counter(cell.unscored) for cell in cells.values()), Counter[str]())
    if reasons and not verbose:
        notes.append(f"{_count_unscored(run, cells)} `run --verbose` prints the reasons.")
    print_text(" ".join(notes), "dim")  # one paragraph: with the table it fits a screen
    _show_reasons(run, Counter({why: n for why, n in reasons.items() if verbose or why in FIXABLE_REASONS}))


def _show_main_scores(run: Run, cells: Cells) -> list[str]:
    """Print every score on whether the edit was done, and the primary ones of other questions; return notes."""
    methods = list(run.manifest.methods)
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
    main = dict.fromkeys((*labels, *headlines(cells.values()), *(scored if len(scored) <= MAX_ROWS else ())))
    rows: list[list[TableCell]] = []
    previous = ""
    for key in main:
        spec = next(cell.spec for cell in scored[key] if cell)
        label = labels.get(key, "")
        name = f"{key[0]}/{directed(spec.name, higher_is_better=spec.higher_is_better)}"
        question = ["" if label == previous else label] if labels else []
        rows.append([*question, name, *(_mean_cell(cell) for cell in scored[key])])
        previous = label
    columns = [*([Column("question", "left", wrap=False)] if labels else []), *make_columns(["score"], methods)]
    title = f"{run.manifest.benchmark}, {format_count(run.manifest.edits, 'edit')}: mean and 95% confidence interval"
    print_table(ResultTable(columns, rows, title))
    if len(main) == len(scored):
        return []
    figures = " and the figures of the papers" if measured_figures(run) else ""
    return [f"The main scores; the report and `run --verbose` have all {len(scored)}{figures}."]


def _mean_cell(cell: Cell | None, *, count_unscored: bool = False) -> ValueCell | EmptyCell:
    if cell is None or cell.mean is None:
        return EmptyCell(_unscored(cell) if count_unscored else 0)
    mean = cell.mean
    return ValueCell(
        mean.value,
        mean.low,
        mean.high,
        unscored=_unscored(cell) if count_unscored else 0,
        few=mean.clusters < FEW_SOURCES,
        format=format_of(cell.spec),
    )


def _show_figures(run: Run) -> None:
    """Print the numbers that the papers of benchmark and protocol report, and other averages of the same scores."""
    measured = measured_figures(run)
    if not measured:
        return
    methods = list(run.manifest.methods)
    rows: list[list[TableCell]] = []
    for figure in measured:
        label = Label(figure.title, figure.figure.averaging)
        rows.append([label, *(_estimate_cell(figure.methods[method], figure.spec) for method in methods)])
        for average, of_methods in figure.alternatives.items():
            values = (_estimate_cell(of_methods[method], figure.spec) for method in methods)
            rows.append([Label(f"  instead {average}", style="weak"), *values])
    title = "figures of the papers: mean and 95% confidence interval"
    print_table(ResultTable(make_columns(["figure"], methods), rows, title))


def _estimate_cell(estimate: Estimate, spec: ScoreSpec) -> ValueCell | EmptyCell:
    if estimate.value is None:
        return EmptyCell(text=f"none: {shortened(estimate.reason, MAX_DETAIL_CHARACTERS)}")
    few = estimate.clusters < FEW_SOURCES
    return ValueCell(estimate.value, estimate.low, estimate.high, estimate.n, few=few, format=format_of(spec))


def _count_unscored(run: Run, cells: Cells) -> str:
    """Say how many outcomes have all, some or none of their scores, and which scores have no value at all."""
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


def _show_by_protocol(run: Run, cells: Cells) -> None:
    methods = list(run.manifest.methods)
    for protocol, entry in run.manifest.protocols.items():
        rows: list[list[TableCell]] = []
        for spec in entry.scores:
            row = [cells.get((protocol, spec.name, method)) for method in methods]
            same = len(row) > 1 and len({_unscored(cell) for cell in row}) == 1
            missing = _unscored(row[0]) if same and any(cell and cell.mean for cell in row) else 0
            label = Label(
                directed(spec.name, higher_is_better=spec.higher_is_better),
                f"{missing} unscored each" if missing else "",
            )
            rows.append([label, *(_mean_cell(cell, count_unscored=not missing) for cell in row)])
        title = f"{protocol} on {run.manifest.benchmark}, {run.manifest.edits} edits: mean and 95% interval"
        columns = [Column("score", "left", wrap=False), *map(Column, methods)]
        print_table(ResultTable(columns, rows, title), stacked=True)


def _show_reasons(run: Run, counts: Counter[str]) -> None:
    """Print how many scores are missing for each reason, what it means, and its most frequent detail."""
    width = max((len(str(count)) for count in counts.values()), default=0)
    for reason, count in counts.most_common():
        print_text(f"{count:>{width}} unscored, {spaced(reason)}: {meaning(reason)}".rstrip(": "), "dim")
        if reason in FIXABLE_REASONS and (detail := _most_frequent_detail(run, reason)):
            print_text(f"{'':>{width}} {shortened(detail, MAX_DETAIL_CHARACTERS)}", "dim")


def _most_frequent_detail(run: Run, reason: str) -> str:
    details = run.scores["detail"].filter(pc.equal(run.scores["reason"].cast(pa.string()), reason))
    [(detail, _)] = Counter(details.to_pylist()).most_common(1)
    return detail or ""


def _unscored(cell: Cell | None) -> int:
    return sum(cell.unscored.values()) if cell else 0


# --- two methods ------------------------------------------------------------------------------------------------------


def show_comparison(comparisons: Sequence[Comparison]) -> None:
    """Print every pair of methods side by side, which one is better, and the rank of each among all methods."""
    if not comparisons:
        print_text("The run has no score to compare.")
        return
    pairs = dict.fromkeys((comparison.first, comparison.second) for comparison in comparisons)
    for first, second in pairs:
        of_pair = [comparison for comparison in comparisons if (comparison.first, comparison.second) == (first, second)]
        several = len({comparison.protocol for comparison in of_pair}) > 1
        columns = [
            Column("score", "left"),
            *make_columns(numbers=[first, second, "difference", "p"], wrap=False),
            Column("better", "left"),
        ]
        rows = [_comparison_row(comparison, several=several) for comparison in of_pair]
        print_table(ResultTable(columns, rows), stacked=True)
    for note in _comparison_notes(comparisons):
        print_text(note)
    _show_aggregations(comparisons)


def _comparison_row(comparison: Comparison, *, several: bool) -> list[TableCell]:
    spec = comparison.spec
    of_first, of_second = comparison.standings or (None, None)
    return [
        Label(directed(spec.name, higher_is_better=spec.higher_is_better), comparison.protocol if several else ""),
        _method_cell(comparison.first_mean, of_first, spec),
        _method_cell(comparison.second_mean, of_second, spec),
        _difference_cell(comparison),
        _p_cell(comparison),
        _better_cell(comparison),
    ]


def show_elo(preferred: PreferenceResult) -> None:
    """Print the Elo rating of every method by a judge's choices."""
    if not preferred.elo:
        print_text("No pair has an answer, so there is no Elo.")
        return
    rows: list[list[TableCell]] = [[method, value_cell(elo), elo.n] for method, elo in preferred.elo.items()]
    title = f"{preferred.figure} by {preferred.judge}, {format_count(preferred.pairs, 'pair')}: 95% interval"
    columns = make_columns(["method"], [preferred.figure, "answers"], number_format=".0f")
    print_table(ResultTable(columns, rows, title))
    print_text("Higher is better; Elo averages 1000. Ties by Davidson, each order of a pair is an answer.")


def stars(p: float) -> str:
    """Return one star for p < 0.05, two for p < 0.01, three for p < 0.001.

    >>> stars(0.02), stars(0.0001), stars(0.3)
    ('*', '***', '')
    """
    return next((marks for limit, marks in SIGNIFICANCE_STARS if p < limit), "")


def _method_cell(mean: float | None, standing: Standing | None, spec: ScoreSpec) -> TableCell:
    """Return the mean of the compared edits, the rank among all methods, and the bounds of missing scores."""
    number = format_of(spec)
    notes = []
    if standing and (rank := standing.ranks.get(ALL)):
        notes.append(f"rank {rank}")
    if standing and standing.bounds and standing.bounds.missing:
        low, high = sorted((standing.bounds.worst, standing.bounds.best))
        notes.append(f"{low:{number}}…{high:{number}}")
    if mean is None:
        return Label("-", "\n".join(notes), "weak")
    return ValueCell(mean, format=number, note="\n".join(notes))


def _difference_cell(comparison: Comparison) -> TableCell:
    difference = comparison.difference
    if difference is None:
        return EmptyCell(text="no edit has both")
    if difference.value is None:
        return EmptyCell()
    few = difference.clusters < FEW_SOURCES
    return ValueCell(difference.value, difference.low, difference.high, few=few, format=format_of(comparison.spec, "+"))


def _better_cell(comparison: Comparison) -> Label:
    """Return which method is significantly better, and what missing scores and the margin say about it."""
    names = {"first": comparison.first, "second": comparison.second, "neither": "not significant"}
    notes = ["not in the worst case"] if comparison.survives_missing is False else []
    if comparison.within_margin:
        margin = comparison.within_margin.replace("first", comparison.first).replace("second", comparison.second)
        notes.append(margin)
    style: Literal["weak", "strong"] = "weak" if comparison.verdict == "neither" else "strong"
    return Label(names[comparison.verdict], "\n".join(notes), style)


def _p_cell(comparison: Comparison) -> Label:
    n = comparison.difference.n if comparison.difference else 0
    return Label("-" if comparison.p is None else f"{comparison.p:.4f}{stars(comparison.p)}", f"n {n}")


def _comparison_notes(comparisons: Sequence[Comparison]) -> list[str]:
    notes = [
        "Paired on the same edits, clustered by source image; 95% confidence intervals and p, both adjusted for all "
        "pairs of methods of the run: * below 0.05, ** 0.01, *** 0.001. Each score is tested on its own."
    ]
    several = len({comparison.protocol for comparison in comparisons}) > 1
    lost = [
        f"{comparison.protocol}/{comparison.spec.name}" if several else comparison.spec.name
        for comparison in comparisons
        if comparison.verdict != "neither"
        and comparison.p_over_scores is not None
        and comparison.p_over_scores >= ALPHA
    ]
    if lost:
        scores = len({(comparison.protocol, comparison.spec.name) for comparison in comparisons})
        notes.append(
            f"Corrected for all {scores} scores shown (Holm), not significant: {', '.join(dict.fromkeys(lost))}."
        )
    if any(comparison.survives_missing is False for comparison in comparisons):
        notes.append("Not in the worst case: not significant if all missing scores were the worst possible for it.")
    margins = {comparison.margin for comparison in comparisons if comparison.within_margin}
    if margins:
        notes.append(f"Margin {margins.pop():g}: by the same interval of the difference.")
    return notes + _standing_notes(comparisons)


def _standing_notes(comparisons: Sequence[Comparison]) -> list[str]:
    notes = []
    standings = [standing for comparison in comparisons for standing in comparison.standings or ()]
    if any(ALL in standing.ranks for standing in standings):
        notes.append("rank 2 [1-3]: second of all methods on common edits; first to third at 95% confidence.")
    bounds = [standing.bounds for standing in standings if standing.bounds and standing.bounds.missing]
    if bounds:
        notes.append(_explain_bounds(bounds))
    if any(comparison.difference and comparison.difference.clusters < FEW_SOURCES for comparison in comparisons):
        notes.append(f"† fewer than {FEW_SOURCES} source images: too few for a test.")
    unpaired = max((comparison.only_first + comparison.only_second for comparison in comparisons), default=0)
    if unpaired == 1:
        notes.append("1 edit has a score for one method only and is excluded.")
    elif unpaired:
        notes.append(f"Up to {unpaired} edits have a score for one method only and are excluded.")
    return notes


def _explain_bounds(bounds: Sequence[Bounds]) -> str:
    most = max(bound.missing for bound in bounds)
    observed = "" if all(bound.limits.declared for bound in bounds) else " (observed, where the range is unlimited)"
    return f"0.2…0.9: the mean if all unscored outcomes, up to {most}, had the worst or the best value{observed}."


def _show_aggregations(comparisons: Sequence[Comparison]) -> None:
    """Print the ways of averaging, if they disagree."""
    rows: list[list[TableCell]] = []
    by_paper = False
    listed: set[tuple[str, str, str]] = set()
    for comparison in comparisons:
        spec, paper = comparison.spec, paper_aggregation(comparison.protocol)
        for method, standing in zip((comparison.first, comparison.second), comparison.standings or (), strict=False):
            key = comparison.protocol, spec.name, method
            if key not in listed and aggregations_differ(standing.aggregated):
                listed.add(key)
                averages = (
                    _average_cell(standing.aggregated[way], spec, marked=way == paper) for way in METHOD_AGGREGATIONS
                )
                rows.append([directed(spec.name, higher_is_better=spec.higher_is_better), method, *averages])
                by_paper = by_paper or paper is not None
    if not rows:
        return
    columns = make_columns(["score", "method"], [spaced(way) for way in METHOD_AGGREGATIONS])
    title = "scores that depend on the way of averaging, and 95% interval"
    print_table(ResultTable(columns, rows, title), stacked=True)
    print_text("; ".join(f"{spaced(way)}: {text}" for way, text in METHOD_AGGREGATIONS.items()) + ".")
    if by_paper:
        print_text("◂ what the protocol's paper reports.")


def _average_cell(estimate: Estimate, spec: ScoreSpec, *, marked: bool) -> TableCell:
    if estimate.value is None:
        return EmptyCell()
    mark = " ◂" if marked else ""
    return ValueCell(estimate.value, estimate.low, estimate.high, format=format_of(spec), mark=mark)


# --- two runs ---------------------------------------------------------------------------------------------------------


def show_diff(result: RunDifference | SignatureDifference, options: Options) -> None:
    """Print settings, images and scores that differ between two runs, and what caused each change."""
    if isinstance(result, SignatureDifference):
        _show_signatures(result)
        return
    if result.settings:
        rows = [row for setting, pair in result.settings.items() for row in _setting_rows(setting, *pair)]
        print_table(ResultTable(make_columns(["setting", "first", "second"]), rows, "settings that differ"))
    if result.images_changed:
        print_text(f"{result.images_changed} outcomes have other pixels (source or edited) in the two runs.")
    moved = [shift for shift in result.shifts if not shift.same]
    if moved:
        _show_shifts(moved)
        _show_causes(moved)
    else:
        print_text(f"All {sum(shift.common for shift in result.shifts)} scores are the same.")
    if options["report"] is not None:
        typer.echo(f"Report: {options['report']}")


def _show_signatures(result: SignatureDifference) -> None:
    for protocol, differences in result.protocols.items():
        print_text(f"{protocol}: {'differs in' if differences else 'the same signature'}")
        for difference in differences:
            print_text(f"  {difference}")
    for which, protocols in (("first", result.only_first), ("second", result.only_second)):
        if protocols:
            print_text(f"Only the {which} has {', '.join(protocols)}.")


def _show_shifts(moved: Sequence[Shift]) -> None:
    headers = ["in both", "changed", "only first", "only second", "other reason", "mean first", "mean second"]
    rows: list[list[TableCell]] = []
    for shift in moved:
        counts = (shift.common, shift.changed, shift.only_first, shift.only_second, shift.other_reason)
        means = (EmptyCell() if mean is None else mean for mean in (shift.mean_first, shift.mean_second))
        rows.append([f"{shift.protocol}: {shift.name}", shift.method, *counts, *means])
    columns = make_columns(["score", "method"], headers, number_format=".4f")
    print_table(ResultTable(columns, rows, "scores that differ"))


def _show_causes(moved: Sequence[Shift]) -> None:
    attributed = [(shift, shift.causes) for shift in moved if shift.causes and shift.causes.parts]
    if not attributed:
        return
    present = [cause for cause in CAUSES if any(cause in causes.parts for _, causes in attributed)]
    rows: list[list[TableCell]] = []
    for shift, causes in attributed:
        change = ValueCell(causes.change, format="+.4f")
        parts = (_cause_cell(causes, cause) for cause in present)
        rows.append([f"{shift.protocol}: {shift.name}", shift.method, causes.before, causes.after, change, *parts])
    columns = make_columns(["score", "method"], ["first", "second", "change", *present], number_format=".4f")
    print_table(ResultTable(columns, rows, "causes of the change of each mean"))
    print_text("; ".join(f"{cause}: {CAUSE_MEANINGS[cause]}" for cause in present) + ".")
    print_text("The causes add up to the change; below each, how many items it affects.", "dim")


def _cause_cell(causes: Attribution, cause: Cause) -> TableCell:
    part = causes.parts.get(cause)
    return EmptyCell() if part is None else ValueCell(part.change, format="+.4f", note=str(part.items))


def _setting_rows(setting: str, first: Any, second: Any) -> Iterator[tuple[str, str, str]]:
    """Yield one row; of two rules or models, a row for each field that differs."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        yield setting, _setting_text(first), _setting_text(second)
        return
    for key in dict.fromkeys([*first, *second]):
        if first.get(key) != second.get(key):
            old, new = (shortened(str(fields.get(key, "-")), 100) for fields in (first, second))
            yield f"{setting}, {spaced(key)}", old, new


def _setting_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {value[key]}" for key in ("id", "revision", "version") if value.get(key)) or "yes"
    return "-" if value is None else shortened(str(value), 100)


def diff_json(result: RunDifference | SignatureDifference) -> str:
    """Serialize everything that differs."""
    if isinstance(result, SignatureDifference):
        return as_json(result)
    shifts = []
    for shift in result.shifts:
        if shift.same:
            continue
        row = asdict(shift)
        if causes := shift.causes:
            parts = {cause: part._asdict() for cause, part in causes.parts.items()}
            row["causes"] = {"before": causes.before, "after": causes.after, "change": causes.change, "parts": parts}
        shifts.append(row)
    return as_json(
        {
            "settings": {name: {"first": one, "second": two} for name, (one, two) in result.settings.items()},
            "images_changed": result.images_changed,
            "same_scores": result.same_scores,
            "shifts": shifts,
        }
    )


# --- plans ------------------------------------------------------------------------------------------------------------


def show_plan(forecast: Forecast) -> None:
    """Print the work of each model, then the totals."""
    if not forecast.outcomes:
        print_text(f"Nothing is left to do: all {forecast.done:,} outcomes on {forecast.benchmark} are scored.")
        return
    if forecast.models:
        rows = [
            [
                work.model,
                work.question,
                f"{work.forwards:,}",
                f"{1000 * work.seconds_each:,.1f}",
                duration(work.seconds),
            ]
            for work in forecast.models
        ]
        columns = make_columns(["model", "question"], ["forwards", "ms each at best", "time at best"], wrap=False)
        title = f"model calls for {forecast.outcomes:,} outcomes on {forecast.benchmark}"
        print_table(ResultTable(columns, rows, title))
    done = f", {forecast.done:,} are scored already" if forecast.done else ""
    totals = {
        "outcomes": f"{forecast.outcomes:,} of {forecast.source_images:,} source images{done}",
        "cached answers": f"{forecast.recalled:,}",
        "decoding and metrics": f"{duration(forecast.own_seconds)} of one core",
        "all work": f"{duration(forecast.cpu_seconds)} of one core",
        "time": _forecast_time(forecast),
        "memory": file_size(forecast.memory),
        "disk": f"{file_size(forecast.run_bytes)} run, {file_size(forecast.cache_bytes)} cached answers",
    }
    for name, usage in forecast.judges.items():
        totals[f"judge {name}"] = ", ".join(_judge_usage(field, value) for field, value in usage.items())
    columns = [Column("resource", "left", wrap=False), Column("amount", "left")]
    print_table(ResultTable(columns, [list(row) for row in totals.items()]))
    unknown = [name for name, usage in forecast.judges.items() if "seconds" not in usage]
    judges = f"; the time of {', '.join(unknown)} is not included: pass --call-seconds" if unknown else ""
    sample = format_count(forecast.sampled, "outcome")
    print_text(f"Estimated from {sample} scored now{judges}. A larger sample is more precise: --sources N.", "dim")


def _forecast_time(forecast: Forecast) -> str:
    """Say how long the run takes as busy as the machine is now, and on an idle machine if that differs."""
    processes = format_count(forecast.processes, "process")
    parts = [f"{duration(forecast.seconds)} with {processes}, {duration(forecast.start_seconds)} of it to start"]
    if forecast.free_cores < IDLE_SHARE * forecast.cores:
        parts.append(f"as busy as the machine is now ({forecast.free_cores:.1f} of {forecast.cores} cores are free)")
        parts.append(f"{duration(forecast.seconds_alone)} on an idle machine")
    return "; ".join(parts)


def _judge_usage(field: str, value: object) -> str:
    return f"time {duration(value)}" if field == "seconds" and isinstance(value, float) else f"{field} {value}"


def duration(seconds: float) -> str:
    """Format a duration with one decimal of its largest unit.

    >>> duration(5), duration(200), duration(10_000), duration(500_000)
    ('5.0 s', '3.3 min', '2.8 h', '5.8 days')
    """
    for unit, name in ((DAY, "days"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.1f} s"


def file_size(count: int) -> str:
    """Format a number of bytes.

    >>> file_size(900), file_size(2_500_000), file_size(3_200_000_000)
    ('900 bytes', '2.5 MB', '3.2 GB')
    """
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count} bytes"
