"""Print what single images, instructions, judges and audits show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from editgauge._cli._output import Options, as_json
from editgauge._cli._signature import flag_of
from editgauge._render.tables import Column, EmptyCell, Label, ResultTable, TableCell, ValueCell, directed
from editgauge._render.terminal import make_columns, print_table, print_text
from editgauge._render.text import percent, spaced
from editgauge.errors import BadInputError, with_flags

if TYPE_CHECKING:
    from editgauge._stats.intervals import Mean
    from editgauge._stats.resampling import Estimate
    from editgauge.audits.audit_card import AuditCard, Cost, PeopleAgreement
    from editgauge.audits.card import ScoreCard
    from editgauge.audits.check import Drift, JudgeCheck
    from editgauge.audits.guess_cost import FailureRuleComparison
    from editgauge.audits.side_by_side import JudgeComparison
    from editgauge.audits.tables import InspectorTables
    from editgauge.disentanglement.disentangle import DisentanglementResult
    from editgauge.engine.changes import ImageChanges
    from editgauge.engine.result import ScoreResult
    from editgauge.engine.see import Area, ImageDetections, SeenFace
    from editgauge.types import ParsedInstruction, ParsedStep

MAX_CARD_SCORES = 24
"""Scores of an audit that are printed; the page has all."""
HIDDEN_FIELDS = frozenset({"scores", "formula", "released"})
"""Fields of listed names that only JSON has."""


# --- one image --------------------------------------------------------------------------------------------------------


def show_score(result: ScoreResult, options: Options) -> None:
    """Print the verdict, how the instruction was parsed, and the main scores or all of them."""
    flags = {name: flag_of(name) for name in options}
    print_text(with_flags(result.verdict.sentence, flags), "bold")
    if result.edit.reading:
        print_text(f"Parsed as: {format_steps(result.edit.reading)}", "dim")
    if options["protocol"] or options["explain"]:
        _show_all_scores(result, flags)
    elif result.headlines:
        rows: list[list[TableCell]] = [
            [
                score.protocol,
                score.name,
                EmptyCell() if score.value is None else ValueCell(score.value, format=".2f"),
                score.reason or "",
            ]
            for score in result.headlines
        ]
        columns = [*make_columns(["protocol", "score"], ["value"]), Column("why not", "left")]
        print_table(ResultTable(columns, rows, legend="--explain shows all scores and what they are based on."))
    if result.remark:
        typer.echo(result.remark, err=True)


def _show_all_scores(result: ScoreResult, flags: Mapping[str, str]) -> None:
    rows: list[list[TableCell]] = []
    for score in result:
        low, high = score.range
        value = EmptyCell(text="unscored") if score.value is None else score.value
        better = "higher" if score.higher_is_better else "lower"
        rows.append([score.protocol, score.name, value, f"{low:g} to {high:g}", better])
    columns = [
        *make_columns(["protocol", "score"], ["value"], number_format=".4f", wrap=False),
        *make_columns(["range", "better"], wrap=False),
    ]
    print_table(ResultTable(columns, rows))
    notes = (f"unscored ({score.reason}): {score.note}" if score.reason else score.note for score in result)
    for note in dict.fromkeys(notes):
        if note:
            print_text(with_flags(note, flags))


def score_json(result: ScoreResult) -> str:
    """Serialize the scores of one edited image."""
    return as_json(result.to_dict())


def show_list(names: Sequence[Mapping[str, Any]], options: Options) -> None:
    """Print the names of one kind, or the options of a method."""
    if options["name"] and not names:
        typer.echo(f"The method '{options['name']}' has no options.")
        return
    show_names(options["kind"] or "kinds", names)
    if not options["kind"]:
        typer.echo("`editgauge list KIND` lists them.")


def show_names(kind: str, names: Sequence[Mapping[str, Any]]) -> None:
    """Print one row per name; the origin only if some are from plug-ins."""
    if not names:
        print_text(f"There are no {kind} yet; plug-ins can add some.")
        return
    keys = dict.fromkeys(key for row in names for key in row)  # a broken plug-in has fewer fields
    from_plugins = any(row.get("from", "editgauge") != "editgauge" for row in names)
    fields = [key for key in keys if key not in HIDDEN_FIELDS and (key != "from" or from_plugins)]
    rows = [[_field_text(field, row.get(field, "")) for field in fields] for row in names]
    print_table(ResultTable(make_columns(list(map(spaced, fields))), rows))


def _field_text(field: str, value: Any) -> str:
    if field == "paper":  # authors and year; JSON has the title
        return str(value).partition(",")[0]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        numbers = all(isinstance(item, float | int) for item in value)
        return " to ".join(f"{item:g}" for item in value) if numbers else ", ".join(map(str, value))
    return str(value)


def show_see(sight: ImageDetections, options: Options) -> None:
    """Print detections, most confident first; then what was not detected, what is unknown, and the models."""
    if sight.detected:
        rows: list[list[TableCell]] = []
        for detection in sight.detected:
            covers = "" if detection.share is None else f"{detection.share:.1%}"
            box, classes = _format_box(detection.box), _format_classes(detection.classes, 1)
            confidence = ValueCell(detection.confidence, format=".2f")
            rows.append([detection.phrase, detection.word, confidence, box, covers, classes])
        columns = [
            *make_columns(["phrase", "seen as"], ["confidence"], wrap=False),
            *make_columns(["box (left top right bottom)"], ["covers"], wrap=False),
            Column("class", "left", wrap=False),
        ]
        print_table(ResultTable(columns, rows))
    for line in _describe_seen(sight):
        print_text(line)
    for role, card in sight.models.items():
        print_text(f"{role}: {card['name']} ({card['license']})", "dim")
    for remark in sight.remarks:
        print_text(remark, "dim")
    _show_drawn(options)


def _describe_seen(sight: ImageDetections) -> list[str]:
    lines = [f"image: {_format_classes(sight.classes, 3)}"] if sight.classes else []
    lines += [f"by the classifier: {phrase} {probability:.2f}" for phrase, probability in sight.named.items()]
    lines += [f"text: “{text.text}” {text.confidence:.2f} at {_format_box(text.box)}" for text in sight.text or ()]
    lines += [
        f"face: {face.confidence:.2f} at {_format_box(face.box)}{_format_expression(face)}"
        for face in sight.faces or ()
    ]
    lines += [
        f"person: {pose.confidence:.2f} at {_format_box(pose.box)}, {len(pose.joints)} joints"
        for pose in sight.poses or ()
    ]
    lines += [
        f"no {name}"
        for name, answers in (("text", sight.text), ("faces", sight.faces), ("people", sight.poses))
        if answers == ()
    ]
    lines += [f"not detected: {phrase}" for phrase in sight.not_detected]
    return lines + [f"cannot tell: {phrase}: {why}" for phrase, why in sight.cannot_tell.items()]


def _format_classes(classes: Mapping[str, float], count: int) -> str:
    return ", ".join(f"{name} {share:.2f}" for name, share in list(classes.items())[:count])


def _format_box(box: Area) -> str:
    return " ".join(f"{side:.0f}" for side in box)


def _format_expression(face: SeenFace) -> str:
    shares = {"smile": face.smile, "open mouth": face.open_mouth, "closed eyes": face.closed_eyes}
    parts = [f"{name} {share:.2f}" for name, share in shares.items() if share is not None]
    if face.turned is not None:
        parts.append(f"turned {face.turned:.0f}°")
    return "".join(f", {part}" for part in parts)


def show_changes(result: ImageChanges, options: Options) -> None:
    """Print one sentence per change."""
    for sentence in result.sentences:
        typer.echo(sentence)
    for remark in result.remarks:
        typer.echo(remark, err=True)
    _show_drawn(options)


def _show_drawn(options: Options) -> None:
    if options["out"] is not None:
        typer.echo(f"Drawn into {options['out']}", err=True)


# --- instructions -----------------------------------------------------------------------------------------------------


def parse_file(options: Options, flags: Options) -> bool:
    """Print a JSON line for every line of the file if `--file` was passed."""
    from editgauge.engine.parse import parse_lines

    if bool(options["text"].strip()) == (flags["file"] is not None):
        raise BadInputError(
            "Pass an instruction that is not empty, or --file with one JSON object per line, but not both."
        )
    if flags["file"] is None:
        return False
    for line in parse_lines(flags["file"], options["judge"], options["prompts"]):
        typer.echo(json.dumps(line, ensure_ascii=False))
    return True


def show_parsed(parsed: ParsedInstruction, options: Options) -> None:
    """Print the steps, one per line, and what could not be parsed."""
    for number, step in enumerate(parsed.steps, start=1):
        typer.echo(f"{number}. {_format_step(step)}")
    if parsed.left:
        typer.echo(f"Not understood: {parsed.left}")
    typer.echo(f"Parsed by: {parsed.how}")
    if options.get("explain"):
        from editgauge.instructions import explain_dependencies

        typer.echo(explain_dependencies(options["text"]))


def parsed_json(parsed: ParsedInstruction) -> str:
    """Serialize a parsed instruction."""
    from editgauge.results.edits import parsed_to_json

    return as_json(parsed_to_json(parsed))


def format_steps(parsed: ParsedInstruction) -> str:
    """Format the steps of a parsed instruction on one line."""
    left = f"; not understood: {parsed.left}" if parsed.left else ""
    return "; then ".join(map(_format_step, parsed.steps)) + left


def _format_step(step: ParsedStep) -> str:
    position = step.position
    where = f"{position.relation} {position.anchor or 'side of the image'}" if position else None
    parts = {
        "subject": step.subject,
        "from": step.from_,
        "to": step.to,
        "position": where,
        "count": step.count,
        "attributes": ", ".join(step.attributes) or None,
    }
    fields = "; ".join(f"{name}: {value}" for name, value in parts.items() if value is not None)
    return f"{step.type}{f' ({fields})' if fields else ''}{'' if step.sure else ', not sure'}"


# --- disentanglement --------------------------------------------------------------------------------------------------


def show_disentanglement(result: DisentanglementResult, options: Options) -> None:
    """Print a row per score and a column per model; rows in gray are computed as released."""
    from editgauge.disentanglement._page import table_rows

    if options["quiet"]:
        return
    models = result.models
    rows: list[list[TableCell]] = []
    for group in table_rows(models):
        heading = Label(directed(group.title, higher_is_better=group.higher_is_better), style="strong")
        rows.append([heading, *[""] * len(models)])
        for row in group.rows:
            label = Label(f"  {row.name}", style="weak" if row.is_released else "plain")
            rows.append([label, *(_estimate_cell(estimate, "cannot tell") for estimate in row.estimates)])
    columns = make_columns(["score"], [model.model for model in models], wrap=False)
    chance = 1 / len(models[0].classified[0].kinds)
    legend = f"Unrelated latents: error 2, agreement 0, balanced accuracy {chance:.2f}."
    print_table(ResultTable(columns, rows, "disentanglement: value and 95% interval, resampled by attribute", legend))
    for comparison in result.beside:
        r = comparison.pearson
        correlation = "too few to correlate" if r is None else f"Pearson's r {r:+.3f}"
        pair = f"{comparison.score} and {comparison.protocol} on {comparison.benchmark}"
        print_text(f"{pair}: {correlation}, n {len(comparison.models)}")
    typer.echo(f"Page: {result.page}")


def disentanglement_json(options: Options) -> str:
    """Return the JSON file that the verb wrote."""
    from editgauge.disentanglement.disentangle import RESULT

    return (Path(options["out"]) / RESULT).read_text("utf-8")


# --- judges -----------------------------------------------------------------------------------------------------------


def show_guess_cost(costs: Sequence[FailureRuleComparison]) -> None:
    """Print how much was parsed per dimension, its mean, and the mean under the failure rule of each other tool."""
    for model in dict.fromkeys(cost.model for cost in costs):
        of_model = [cost for cost in costs if cost.model == model]
        tools = list(of_model[0].means)
        rows: list[list[TableCell]] = []
        for cost in of_model:
            counts = cost.questions, cost.read, cost.repaired, cost.unreadable, cost.failed
            means = (_spread_text(cost.means[tool], cost.spread.get(tool)) for tool in tools)
            rows.append([cost.question, cost.dimension, *counts, _spread_text(cost.mean), *means])
        headers = ["questions", "parsed", "repaired", "unparsable", "failed", "editgauge", *tools]
        title = f"{model}: means of the same answers, by how unparsable ones are treated"
        print_table(ResultTable(make_columns(["question", "dimension"], headers), rows, title))
    print_text("±: how far random guesses move a mean from run to run (two standard deviations).", "dim")


def _spread_text(value: float | None, spread: float | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f} ± {spread:.3f}" if spread else f"{value:.3f}"


def show_check(result: JudgeCheck) -> None:
    """Print which judge was checked, and how far its answers are from earlier ones."""
    check = result.check
    answers = [value for values in check.answers.values() for value in values]
    answered = sum(value is not None for value in answers)
    print_text(f"{check.judge} ({check.model or 'unnamed'} at {check.endpoint}), {check.at}", "bold")
    print_text(f"{answered} of {len(answers)} answers to {len(check.answers)} anchors; recorded in {result.folder}")
    for fault, count in check.faults.items():
        print_text(f"without an answer: {count} {fault}")
    if result.since_first is None:
        print_text("This is the first check; later checks are compared with it.")
        return
    print_text(_describe_drift("the first check", result.since_first))
    if result.since_last and result.since_last.since != result.since_first.since:
        print_text(_describe_drift("the last check", result.since_last))


def _describe_drift(reference: str, drift: Drift) -> str:
    moved = "MOVED" if drift.moved else "no significant change"
    name = "; the endpoint reports another model name" if drift.other_model else ""
    excess = f"{drift.excess:+.3f} ({_signed(drift.low)} … {_signed(drift.high)}) more than between repeated questions"
    shift = f"{drift.shift:+.3f} ({_signed(drift.shift_low)} … {_signed(drift.shift_high)}) of the scale"
    return (
        f"since {reference} ({drift.since}): {moved}{name}. {drift.changed:.0%} of {drift.anchors} anchors have other "
        f"answers, {excess}; answers shifted by {shift}; 95% intervals"
    )


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def show_inspector_tables(result: InspectorTables) -> None:
    """Print tables 3 and 4 of EditInspector, a column per judge."""
    columns = [Column("", "left", wrap=False), *map(Column, result.judges)]
    for title, table in (
        ("EditInspector, table 3: questions (balanced accuracy) and difference captions", result.table_3),
        ("EditInspector, table 4: difference captions by their words", result.table_4),
    ):
        rows = [
            [name, *(_estimate_cell(values[judge], n=values[judge].n) for judge in result.judges)]
            for name, values in table.items()
        ]
        print_table(ResultTable(columns, rows, f"{title}, 95% intervals"))
    missing: dict[str, list[str]] = {}
    for name, values in {**result.table_3, **result.table_4}.items():
        for reason in dict.fromkeys(estimate.reason for estimate in values.values() if estimate.value is None):
            missing.setdefault(reason, []).append(name)
    for reason, names in missing.items():
        print_text(f"-: {', '.join(names)}: {reason or 'no value'}.", "dim")


def show_judges(result: JudgeComparison) -> None:
    """Print a row per score and judge, then how consistent each judge is, then where they differ most."""
    if result.scores:
        rows: list[list[TableCell]] = []
        for score in result.scores:
            for index, row in enumerate(score.rows):
                first = (score.protocol, score.score) if index == 0 else ("", "")
                alpha = _estimate_cell(score.agreement) if index == 0 else ""
                rows.append([*first, row.judge, _estimate_cell(row.mean), _estimate_cell(row.coverage), alpha])
        columns = make_columns(["protocol", "score", "judge"], ["mean", "coverage", "agreement"])
        legend = "agreement: Krippendorff's alpha among the judges, without panels."
        print_table(ResultTable(columns, rows, "Judges side by side, 95% intervals", legend))
        for score in result.scores:
            for example in score.most_apart[:2]:
                print_text(f"{score.protocol}/{score.score}: {example}")
    for retest in result.retests:
        same, variance = _format_mean(retest.same), _format_mean(retest.variance)
        print_text(f"{retest.judge}: {retest.questions} questions repeated, {same} same answer, variance {variance}")
    if not result.scores and not result.retests:
        print_text("Nothing to compare: one judge, asked once.")


def _estimate_cell(estimate: Estimate | Mean | None, missing: str = "", n: int | None = None) -> TableCell:
    if estimate is None or estimate.value is None:
        return EmptyCell(text=missing)
    return ValueCell(estimate.value, estimate.low, estimate.high, n)


def _format_mean(mean: Mean | None) -> str:
    if mean is None:
        return "-"
    if mean.low is None or mean.high is None:
        return f"{mean.value:.3f}"
    return f"{mean.value:.3f} ({mean.low:.3f} … {mean.high:.3f})"


# --- audits -----------------------------------------------------------------------------------------------------------


def show_audit(card: AuditCard, options: Options) -> None:
    """Print the audit card and where its page is."""
    if not options["quiet"]:
        show_card(card)
        typer.echo(f"Card: {quote(str(Path(options['out']) / 'index.html'))}", err=True)


def show_card(card: AuditCard) -> None:
    """Print the scores by how well they tell whether the edit was done, then the findings on judges."""
    from editgauge.audits.human_reference import reference_summary

    heads = card.heads
    if heads and card.held_back:
        minor = [score for score in card.scores if score not in heads]
        _show_card_scores(card, [*_by_auroc(heads), *_by_auroc(minor)][:MAX_CARD_SCORES])
        _show_against(heads)
    for sentence in reference_summary(card):
        print_text(sentence)
    if card.people:
        _show_card_people(card, card.people)
    if card.pairs:
        _show_card_pairs(card)
    if card.ahead and card.held_back:
        _show_ahead(card)
    for line in _card_lines(card):
        print_text(line)
    below = "AUROC below 0.5 prefers what was not done. " if card.held_back and heads else ""
    print_text(f"{below}95% intervals, clustered by photograph.")
    if len(card.scores) > MAX_CARD_SCORES:
        print_text(f"{len(card.scores) - MAX_CARD_SCORES} more scores are on the page.")


def _card_lines(card: AuditCard) -> list[str]:
    lines = [f"{name}: {_card_text(estimate)}" for name, estimate in card.steadiness.items()]
    for name, side in card.sides.items():
        sides = f"left {_card_text(side.left)}, right {_card_text(side.right)}"
        lines.append(f"{name} left from right: {sides}; {side.answered} of {side.pictures} images answered.")
    if card.blend:
        lines.append(_describe_blend(card))
    if card.costs:
        lines.append(_describe_cost("Judges", card.costs))
    return lines + [_describe_cost(f"{name}, pairs", findings.cost) for name, findings in card.pairs.items()]


def _show_card_scores(card: AuditCard, scores: Sequence[ScoreCard]) -> None:
    headers = ["AUROC", "accuracy", "better one chosen", "sensitivity to JPEG 90", "ignores text", "unscored"]
    rows: list[list[TableCell]] = [
        [
            _card_name(score),
            *map(_card_cell, (score.auroc, score.accuracy, score.pair_accuracy)),
            *(_value_only(estimate) for estimate in (score.moves.get("jpeg-90"), score.unchanged_rate)),
            percent((score.probes - score.scored) / score.probes) if score.probes else "-",
        ]
        for score in scores
    ]
    title = f"'Edit done' on {card.held_back:,} held-out probes of {card.photos} photographs"
    print_table(ResultTable(make_columns(["score"], headers), rows, title))


def _show_against(heads: Sequence[ScoreCard]) -> None:
    kinds = list(dict.fromkeys(kind for score in heads for kind in score.against))
    rows = [[f"{score.protocol}/{score.name}", *(_value_only(score.against.get(k)) for k in kinds)] for score in heads]
    title = "How often the right outcome scores better than …"
    print_table(ResultTable(make_columns(["score"], list(map(spaced, kinds))), rows, title))


def _show_ahead(card: AuditCard) -> None:
    rows: list[list[TableCell]] = []
    for pair in card.ahead:
        values = (_value_only(pair.first_auroc), _value_only(pair.second_auroc))
        rows.append([pair.first, pair.second, f"{pair.difference.n:,}", *values, _card_cell(pair.difference, "+.2f")])
    columns = make_columns(["first", "second"], ["probes", "first", "second", "difference"])
    print_table(ResultTable(columns, rows, "AUROC where both have a score"))


def _show_card_people(card: AuditCard, people: PeopleAgreement) -> None:
    scores = sorted(card.scores, key=lambda score: -_value(score.people))[:MAX_CARD_SCORES]
    rows: list[list[TableCell]] = [
        [_card_name(score), _card_cell(score.people), f"{people.pairs - score.people.n:,}"] for score in scores
    ]
    rows.append(["people themselves", _card_cell(people.agree), ""])
    columns = make_columns(["score"], ["their choice scores better", "pairs without"])
    title = f"{people.pairs:,} pairs that people compared, on {people.photos} photographs"
    print_table(ResultTable(columns, rows, title))


def _show_card_pairs(card: AuditCard) -> None:
    rows: list[list[TableCell]] = []
    for name, pairs in card.pairs.items():
        shares = (pairs.right, pairs.first_shown, pairs.order_changes, pairs.same_again)
        counts = f"{pairs.ties} of {pairs.answers}", sum(pairs.unanswered.values())
        rows.append([f"{name}, {pairs.pairs:,} pairs", *map(_card_cell, shares), *counts])
    headers = ["better one chosen", "first one chosen", "order changes it", "same again", "ties", "no answer"]
    title = "Judges on two outcomes of which the better one is known"
    print_table(ResultTable(make_columns(["judge"], headers), rows, title))


def _describe_blend(card: AuditCard) -> str:
    blend = card.blend
    if blend is None or blend.ahead is None:
        return "The mix has no pair that both scores can answer."
    ahead = blend.ahead.difference
    ends = "" if ahead.low is None or ahead.high is None else f" [{ahead.low:+.3f}, {ahead.high:+.3f}]"
    return (
        f"{blend.preservation} mixed with {blend.modification} (weight {blend.gamma:g}): better one chosen "
        f"{_card_text(blend.pair_accuracy)}; {ahead.value:+.3f}{ends} against {blend.ahead.second} alone."
    )


def _describe_cost(name: str, cost: Cost) -> str:
    tokens = cost.prompt_tokens + cost.completion_tokens
    money = f", cost {cost.cost:.4f}" if cost.cost else ""
    return f"{name}: {cost.calls:,} calls, {tokens:,} tokens{money}."


def _by_auroc(scores: Sequence[ScoreCard]) -> list[ScoreCard]:
    return sorted(scores, key=lambda score: -_value(score.auroc))


def _value(estimate: Estimate) -> float:
    return -1.0 if estimate.value is None else estimate.value


def _card_name(score: ScoreCard) -> str:
    return f"{score.protocol}/{directed(score.name, higher_is_better=score.higher_is_better)}"


def _card_cell(estimate: Estimate, number: str = ".2f") -> TableCell:
    if estimate.value is None:
        return EmptyCell()
    return ValueCell(estimate.value, estimate.low, estimate.high, format=number)


def _card_text(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    ends = "" if estimate.low is None or estimate.high is None else f" [{estimate.low:.2f}, {estimate.high:.2f}]"
    return f"{estimate.value:.2f}{ends}"


def _value_only(estimate: Estimate | None) -> str:
    return "-" if estimate is None or estimate.value is None else f"{estimate.value:.2f}"
