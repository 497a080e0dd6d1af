"""`editgauge study create|invite|serve|status|export|import|analyse|exclude|include|forget`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from editgauge.core.errors import EditGaugeError

app = typer.Typer(no_args_is_help=True)
Folder = Annotated[Path, typer.Argument(help="The study folder.")]
LIBRARIES = ("sqlalchemy", "psycopg", "choix")
RaterName = Annotated[str, typer.Argument(help="A rater, by name (r0001) or by the label you gave.")]


@app.callback()
def _libraries() -> None:
    """Ask people about outcomes: make a study from a run, serve it to raters, export what they said."""
    lacking = [name for name in LIBRARIES if find_spec(name) is None]
    if lacking and not {"--help", "-h"} & set(sys.argv):
        raise EditGaugeError(f"Studies need {', '.join(lacking)}: install them with `pip install 'editgauge[study]'`.")


@app.command()
def create(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    design: Annotated[
        str, typer.Option(help="editval, editinspector, 2afc, attribute-importance, or a design file (.yaml).")
    ] = "editval",
    raters: Annotated[int, typer.Option(help="How many people rate each item.", min=1)] = 3,
    items: Annotated[int | None, typer.Option(help="How many items; without it, all.", min=1)] = None,
    sample: Annotated[
        str, typer.Option(help="all, stratified (by method and edit type), or disagreement (of automatic scores).")
    ] = "all",
    gold: Annotated[Path | None, typer.Option(help="JSONL: items with right answers, which are mixed in.")] = None,
    out: Annotated[Path, typer.Option(help="The study folder.")] = Path("study"),
    database: Annotated[str | None, typer.Option(help="A PostgreSQL URL; without it, SQLite in the folder.")] = None,
    attributes: Annotated[
        Path | None, typer.Option(help="JSONL: edit_id, source, target; for designs that compare attributes.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For everything drawn at random.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing about progress.")] = False,
) -> None:
    """Make a study of the outcomes of a run.

    `editgauge study create run --design editval --raters 3 --items 200 --sample stratified --out study`
    """
    from editgauge import studies

    with studies.create(
        run, design, raters, items, sample, gold, out, database, attributes, seed, quiet
    ) as study:  # fmt: skip
        made = study.manifest
        typer.echo(f"{out}: {made.items} items for {made.raters} raters each, and {made.gold} gold items.")
    typer.echo(f"Next: editgauge study invite {out} --count {made.raters}")


@app.command()
def invite(
    study: Folder,
    count: Annotated[int, typer.Option(help="How many raters.", min=1)] = 1,
    url: Annotated[str, typer.Option(help="Where the study is served.")] = "http://127.0.0.1:8000",
    label: Annotated[str | None, typer.Option(help="What you call them; the only personal data kept.")] = None,
) -> None:
    """Make raters, and print their personal links. They are shown once: only their hashes are kept.

    `editgauge study invite study --count 5 --url https://lab.example`
    """
    from editgauge import studies

    for invitation in studies.invite(study, count, url, label):
        typer.echo(f"{invitation.name}  {invitation.link(url)}")


@app.command()
def serve(
    study: Folder,
    host: Annotated[str, typer.Option(help="The address to listen at; 127.0.0.1 is this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.", min=1, max=65535)] = 8000,
) -> None:
    """Serve a study to raters until you stop it.

    `editgauge study serve study --host 0.0.0.0 --port 8000`
    """
    from editgauge import studies

    studies.serve(study, host, port)


@app.command()
def status(study: Folder) -> None:
    """Show how far a study is: items, raters, exclusions, and when it will be done.

    `editgauge study status study`
    """
    from editgauge import studies
    from editgauge.cli.tables.study import show_status

    show_status(studies.status(study))


@app.command()
def export(
    study: Folder,
    out: Annotated[Path, typer.Option(help="The file, .jsonl or .csv; a folder for mturk, label-studio.")] = Path(
        "ratings.jsonl"
    ),
    form: Annotated[
        str | None,
        typer.Option(help="ratings or choices (for `agree`), answers (everything), or another tool's format."),
    ] = None,
    question: Annotated[str | None, typer.Option(help="Only this question.")] = None,
    rater: Annotated[str | None, typer.Option(help="Only this rater.")] = None,
    url: Annotated[str | None, typer.Option(help="For another tool: where its raters find the study's images.")] = None,
) -> None:
    """Write what people said, in the form that `editgauge agree` reads.

    `editgauge study export study --out ratings.jsonl`

    `editgauge study export study --form answers --out answers.csv`

    `editgauge study export study --form mturk --out batch --url https://lab.example/images`
    """
    from editgauge import studies

    lines = studies.export(study, out, form, question, rater, url)
    typer.echo(f"{out}: {lines} lines.")


@app.command("import")
def import_(
    study: Folder,
    file: Annotated[Path, typer.Argument(help="The file with the answers.")],
    form: Annotated[str, typer.Option(help="answers, as `export` writes them; or another tool's format.")] = "answers",
) -> None:
    """Take answers into a study: all of a file or none.

    `editgauge study import study answers.csv`
    """
    from editgauge import studies

    found = studies.import_(study, file, form)
    typer.echo(
        f"{found.done} count, {found.surplus} are surplus, {found.void} void; "
        f"{found.changed} were known with other answers, {found.unchanged} were known."
    )


@app.command()
def analyse(
    study: Folder,
    run: Annotated[Path | None, typer.Option(help="The run, if it is not where the study was made from.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for study.html: the same as a page with plots.")] = None,
) -> None:
    """Say what raters said, how far they agree, and how far the scores of the run agree with them.

    `editgauge study analyse study --out analysis`
    """
    from editgauge import studies
    from editgauge.cli.tables.agreement import show_agreement
    from editgauge.cli.tables.study import show_status
    from editgauge.cli.tables.study_findings import show_findings, show_weights

    found = studies.analyse(study, run, out)
    show_status(found.status)
    if found.findings:
        show_findings(found.findings)
    if found.agreement:
        show_agreement(found.agreement)
    if found.weights:
        show_weights(found.weights)
    if found.page:
        typer.echo(f"{found.page}")


@app.command()
def exclude(
    study: Folder, rater: RaterName, reason: Annotated[str, typer.Option(help="Why; it is logged.")]
) -> None:  # fmt: skip
    """Void all answers of a rater and open their items again; `include` takes it back.

    `editgauge study exclude study r0003 --reason "answered at random"`
    """
    from editgauge import studies

    typer.echo(f"{studies.exclude(study, rater, reason)} answers of {rater} are void; their items are open again.")


@app.command()
def include(
    study: Folder, rater: RaterName, reason: Annotated[str, typer.Option(help="Why; it is logged.")] = ""
) -> None:  # fmt: skip
    """Take an exclusion back: answers count again where nobody else has taken their place.

    `editgauge study include study r0003`
    """
    from editgauge import studies

    again, surplus = studies.include(study, rater, reason)
    typer.echo(f"{again} answers of {rater} count again; {surplus} are surplus, for others have taken their place.")


@app.command()
def forget(
    study: Folder,
    rater: RaterName,
    answers: Annotated[bool, typer.Option("--answers", help="Delete the answers too; their items open again.")] = False,
) -> None:
    """Delete what a study knows of a person: label, link, and what was said before the first page.

    `editgauge study forget study r0003`
    """
    from editgauge import studies

    studies.forget(study, rater, answers)
    typer.echo(
        f"{rater} is forgotten" + (", with all answers." if answers else "; the answers stay, without a person.")
    )
