"""The verbs."""

# ruff: noqa: D103 (each function is named after the verb whose result it shows)

from __future__ import annotations

import json
import sys
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from editgauge.cli.show.common import Options, as_json, next_report, next_step
from editgauge.core.errors import BadInput
from editgauge.core.text import counted

# --- evaluate ---------------------------------------------------------------------------------------------------------


def demo(page: Any, chosen: Options) -> None:
    from editgauge.cli.tables.summary import show_summary
    from editgauge.core.run import Run

    show_summary(Run.open(Path(chosen["out"]) / "run"))
    typer.echo(f"Report, to be opened in a browser: {page.absolute().as_uri()}")


def score(verdicts: Any, chosen: Options) -> None:
    from editgauge.cli.tables.common import show_verdict, show_verdicts

    in_full = bool(chosen["protocol"] or chosen["explain"])
    show_verdict(verdicts, short=not in_full)
    if in_full:
        show_verdicts(verdicts)
    if verdicts.remark:
        typer.echo(verdicts.remark, err=True)


def score_json(verdicts: Any, chosen: Options) -> str:
    return as_json(verdicts.to_dict())


def edit(made: Any, chosen: Options) -> int | None:
    if not any(each.made or each.kept for each in (made, *made.variants.values())):
        return 1
    if not chosen["quiet"]:
        outcomes = f"{chosen['out']}/*" if made.variants else f"{made.name}={chosen['out']}"
        where = [(f"--{name}", chosen[name]) for name in ("data", "images", "limit")]
        words = [chosen["benchmark"], "--outcomes", outcomes, *(str(w) for pair in where if pair[1] for w in pair)]
        next_step(f"run {' '.join(map(quote, words))}")
    return None


def run_before(chosen: Options, flags: Options) -> bool:
    """With `--dry-run`, the resolved plan as YAML."""
    if not flags["dry_run"]:
        return False
    import yaml

    from editgauge.engine.run import preview

    options = {
        name: value for name, value in chosen.items() if name not in {"processes", "engine", "address", "timings"}
    }
    sys.stdout.write(yaml.safe_dump(preview(**options), sort_keys=False, allow_unicode=True, width=1000))
    return True


def run(finished: Any, chosen: Options) -> None:
    from editgauge.cli.tables.summary import show_summary

    if not chosen["quiet"]:
        show_summary(finished, verbose=chosen["verbose"])
        next_report(chosen["out"])


def run_json(finished: Any, chosen: Options) -> str:
    from editgauge.engine.record.judge_usage import read_asked
    from editgauge.reports.export.export import means_of

    return as_json({"run": str(chosen["out"]), "judges": read_asked(Path(chosen["out"])), "means": means_of(finished)})


def merge(merged: Any, chosen: Options) -> None:
    if not chosen["quiet"]:
        next_report(chosen["out"])


def verify(result: Any, chosen: Options) -> None:
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
        typer.echo(f"{counted(len(result.problems), 'problem')} in {chosen['run']}")
        return
    typer.echo(
        f"{chosen['run']} is sound: {result.files} files, {result.scores} scores, {result.unscored} unscored and "
        f"{result.images} images as recorded."
        f"{' No score was computed again.' if chosen['recompute'] and not again.outcomes else ''}"
    )


def report(page: Any, chosen: Options) -> None:
    typer.echo(f"Report: {page}")


def leaderboard(page: Any, chosen: Options) -> None:
    typer.echo(f"Leaderboard: {page}")


def export_before(chosen: Options, flags: Options) -> bool:
    """To standard output part by part: a million scores are never held at once."""
    from editgauge.reports.export.export import PAPER, export_parts

    if chosen["out"] is not None or chosen["format"] == PAPER:
        return False
    with open(sys.stdout.fileno(), "wb", closefd=False) as whole:  # unbuffered, `sys.stdout` may write a part only
        whole.writelines(export_parts(chosen["run"], chosen["format"], chosen["summary"]))
    return True


def export(names: Any, chosen: Options) -> None:
    from editgauge.reports.export.export import PAPER

    if chosen["format"] == PAPER:
        typer.echo(f"{len(names.splitlines())} files in {chosen['out']}: methods, tables and figures.")


def audit(card: Any, chosen: Options) -> None:
    from editgauge.cli.tables.audit import show_card

    if not chosen["quiet"]:
        show_card(card)
        typer.echo(f"Card: {quote(str(Path(chosen['out']) / 'index.html'))}", err=True)


# --- look -------------------------------------------------------------------------------------------------------------


def list(names: Any, chosen: Options) -> None:  # noqa: A001
    from editgauge.cli.tables.common import show_names

    if chosen["name"] and not names:
        typer.echo(f"The method '{chosen['name']}' has no options.")
    else:
        show_names(chosen["kind"] or "kinds", names)
        if not chosen["kind"]:
            typer.echo("`editgauge list KIND` lists them.")


def see(sight: Any, chosen: Options) -> None:
    from editgauge.cli.tables.look import show_sight

    show_sight(sight)
    _drawn(chosen)


def changes(result: Any, chosen: Options) -> None:
    for sentence in result.sentences:
        typer.echo(sentence)
    for remark in result.remarks:
        typer.echo(remark, err=True)
    _drawn(chosen)


def understand_before(chosen: Options, flags: Options) -> bool:
    """With `--file`, a JSON line for every line of the file."""
    from editgauge.look.understand import understand_lines

    if bool(chosen["text"].strip()) == (flags["file"] is not None):
        raise BadInput("Give an instruction that is not empty, or --file with one JSON object a line, and not both.")
    if flags["file"] is None:
        return False
    for line in understand_lines(flags["file"], chosen["judge"], chosen["prompts"]):
        typer.echo(json.dumps(line, ensure_ascii=False))
    return True


def understand(reading: Any, chosen: Options) -> None:
    from editgauge.cli.tables.look import reading_text

    typer.echo(reading_text(reading))


def understand_json(reading: Any, chosen: Options) -> str:
    from editgauge.core.edits import reading_to_json

    return as_json(reading_to_json(reading))


def _drawn(chosen: Options) -> None:
    if chosen["out"] is not None:
        typer.echo(f"Drawn into {chosen['out']}", err=True)


def disentangle(result: Any, chosen: Options) -> None:
    from editgauge.cli.tables.look import show_disentanglement

    if not chosen["quiet"]:
        show_disentanglement(result.models, result.beside)
        typer.echo(f"Page: {result.page}")


def disentangle_json(result: Any, chosen: Options) -> str:
    from editgauge.disentanglement.verb import RESULT

    return (Path(chosen["out"]) / RESULT).read_text("utf-8")


# --- findings ---------------------------------------------------------------------------------------------------------


def gate(gated: Any, chosen: Options) -> int | None:
    typer.echo(gated.markdown)
    return None if gated.passed else 1


def diff(result: Any, chosen: Options) -> None:
    from editgauge.cli.tables.difference import show_causes, show_difference

    show_difference(result)
    show_causes(result)
    if chosen["report"] is not None:
        typer.echo(f"Report: {chosen['report']}")


def diff_json(result: Any, chosen: Options) -> str:
    from editgauge.cli.tables import difference

    return as_json(difference.as_json(result))


def agree(result: Any, chosen: Options) -> None:
    from editgauge.cli.tables.agreement import show_agreement, show_agreement_page

    show_agreement(result) if chosen.get("verbose") else show_agreement_page(result)


def power(plans: Any, chosen: Options) -> int | None:
    from editgauge.cli.tables.estimate import show_plans

    show_plans(plans)
    return None if any(each.needs for each in plans) else 1
