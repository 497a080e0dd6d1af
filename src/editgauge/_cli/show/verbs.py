"""The verbs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from editgauge._cli.show.common import Options, as_json, next_report, next_step
from editgauge._util.text import counted
from editgauge.errors import BadInputError

# --- evaluate ---------------------------------------------------------------------------------------------------------


def demo(page: Any, options: Options) -> None:
    from editgauge._cli.tables.summary import show_summary
    from editgauge.results import Run

    show_summary(Run.open(Path(options["out"]) / "run"))
    typer.echo(f"Report, to be opened in a browser: {page.absolute().as_uri()}")


def score(verdicts: Any, options: Options) -> None:
    from editgauge._cli.tables.common import show_verdict, show_verdicts

    in_full = bool(options["protocol"] or options["explain"])
    show_verdict(verdicts, short=not in_full)
    if in_full:
        show_verdicts(verdicts)
    if verdicts.remark:
        typer.echo(verdicts.remark, err=True)


def score_json(verdicts: Any, options: Options) -> str:
    return as_json(verdicts.to_dict())


def edit(made: Any, options: Options) -> int | None:
    if not any(each.made or each.kept for each in (made, *made.variants.values())):
        return 1
    if not options["quiet"]:
        outcomes = f"{options['out']}/*" if made.variants else f"{made.name}={options['out']}"
        where = [(f"--{name}", options[name]) for name in ("data", "images", "limit")]
        words = [options["benchmark"], "--outcomes", outcomes, *(str(w) for pair in where if pair[1] for w in pair)]
        next_step(f"run {' '.join(map(quote, words))}")
    return None


def run_before(options: Options, flags: Options) -> bool:
    """With `--dry-run`, the resolved plan as YAML."""
    if not flags["dry_run"]:
        return False
    import yaml

    from editgauge.engine.run import preview

    sys.stdout.write(yaml.safe_dump(preview(**options), sort_keys=False, allow_unicode=True, width=1000))
    return True


def run(finished: Any, options: Options) -> None:
    from editgauge._cli.tables.summary import show_summary

    if not options["quiet"]:
        show_summary(finished, verbose=options["verbose"])
        next_report(options["out"])


def run_json(finished: Any, options: Options) -> str:
    from editgauge.engine.record.judge_usage import read_asked
    from editgauge.reports.export import means_of

    return as_json(
        {"run": str(options["out"]), "judges": read_asked(Path(options["out"])), "means": means_of(finished)}
    )


def merge(merged: Any, options: Options) -> None:
    if not options["quiet"]:
        next_report(options["out"])


def verify(result: Any, options: Options) -> None:
    from editgauge.engine.verify.recompute import RELATIVE

    for problem in result.problems:
        typer.echo(problem)
    again = result.recomputed
    checked = again.scores + len(again.problems)
    if checked:
        typer.echo(
            f"Scored again: {again.scores} of {checked} scores of {again.outcomes} outcomes agree to {RELATIVE:.2%}."
        )
    for reason, count in again.unchecked.items():
        typer.echo(f"Not scored again, so not verified: {count} scores: {reason}")
    if not result.sound:
        typer.echo(f"{counted(len(result.problems), 'problem')} in {options['run']}")
        return
    typer.echo(
        f"{options['run']} is sound: {result.files} files, {result.scores} scores, {result.unscored} unscored and "
        f"{result.images} images as recorded."
        f"{' No score was computed again.' if options['recompute'] and not again.outcomes else ''}"
    )


def report(page: Any, options: Options) -> None:
    typer.echo(f"Report: {page}")


def leaderboard(page: Any, options: Options) -> None:
    typer.echo(f"Leaderboard: {page}")


def export_before(options: Options, flags: Options) -> bool:
    """To standard output part by part: a million scores are never held at once."""
    from editgauge.reports.export import PAPER, export_parts

    if options["out"] is not None or options["format"] == PAPER:
        return False
    with open(sys.stdout.fileno(), "wb", closefd=False) as whole:  # unbuffered, `sys.stdout` may write a part only
        whole.writelines(export_parts(options["run"], options["format"], options["summary"]))
    return True


def export(names: Any, options: Options) -> None:
    from editgauge.reports.export import PAPER

    if options["format"] == PAPER:
        typer.echo(f"{len(names.splitlines())} files in {options['out']}: methods, tables and figures.")


def audit(card: Any, options: Options) -> None:
    from editgauge._cli.tables.audit import show_card

    if not options["quiet"]:
        show_card(card)
        typer.echo(f"Card: {quote(str(Path(options['out']) / 'index.html'))}", err=True)


# --- look -------------------------------------------------------------------------------------------------------------


def list(names: Any, options: Options) -> None:  # noqa: A001
    from editgauge._cli.tables.common import show_names

    if options["name"] and not names:
        typer.echo(f"The method '{options['name']}' has no options.")
    else:
        show_names(options["kind"] or "kinds", names)
        if not options["kind"]:
            typer.echo("`editgauge list KIND` lists them.")


def see(sight: Any, options: Options) -> None:
    from editgauge._cli.tables.look import show_sight

    show_sight(sight)
    _drawn(options)


def changes(result: Any, options: Options) -> None:
    for sentence in result.sentences:
        typer.echo(sentence)
    for remark in result.remarks:
        typer.echo(remark, err=True)
    _drawn(options)


def understand_before(options: Options, flags: Options) -> bool:
    """With `--file`, a JSON line for every line of the file."""
    from editgauge.engine.parse import understand_lines

    if bool(options["text"].strip()) == (flags["file"] is not None):
        raise BadInputError(
            "Give an instruction that is not empty, or --file with one JSON object a line, and not both."
        )
    if flags["file"] is None:
        return False
    for line in understand_lines(flags["file"], options["judge"], options["prompts"]):
        typer.echo(json.dumps(line, ensure_ascii=False))
    return True


def understand(reading: Any, options: Options) -> None:
    from editgauge._cli.tables.look import reading_text

    typer.echo(reading_text(reading))


def understand_json(reading: Any, options: Options) -> str:
    from editgauge.results.edits import reading_to_json

    return as_json(reading_to_json(reading))


def _drawn(options: Options) -> None:
    if options["out"] is not None:
        typer.echo(f"Drawn into {options['out']}", err=True)


def disentangle(result: Any, options: Options) -> None:
    from editgauge._cli.tables.look import show_disentanglement

    if not options["quiet"]:
        show_disentanglement(result.models, result.beside)
        typer.echo(f"Page: {result.page}")


def disentangle_json(result: Any, options: Options) -> str:
    from editgauge.disentanglement.disentangle import RESULT

    return (Path(options["out"]) / RESULT).read_text("utf-8")


# --- findings ---------------------------------------------------------------------------------------------------------


def gate(gated: Any, options: Options) -> int | None:
    typer.echo(gated.markdown)
    return gated.exit_code or None


def diff(result: Any, options: Options) -> None:
    from editgauge._cli.tables.difference import show_causes, show_difference

    show_difference(result)
    show_causes(result)
    if options["report"] is not None:
        typer.echo(f"Report: {options['report']}")


def diff_json(result: Any, options: Options) -> str:
    from editgauge._cli.tables import difference

    return as_json(difference.as_json(result))


def agree(result: Any, options: Options) -> None:
    from editgauge._cli.tables.agreement import show_agreement, show_agreement_page

    show_agreement(result) if options.get("verbose") else show_agreement_page(result)


def power(plans: Any, options: Options) -> int | None:
    from editgauge._cli.tables.estimate import show_plans

    show_plans(plans)
    return None if any(each.needs for each in plans) else 1
