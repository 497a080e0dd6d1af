"""The verbs of groups, as GROUP_VERB."""

from __future__ import annotations

from shlex import quote
from typing import Any

import typer

from editgauge._cli.show.common import Options, as_json, next_step, nothing
from editgauge._util.text import format_count

build_attributes = build_editval = build_training = build_tune = build_unibench = study_serve = nothing


# --- build ------------------------------------------------------------------------------------------------------------


def build_calibration_json(built: Any, options: Options) -> str:
    return as_json({"file": str(built.file), "plot": str(built.plot), "scores": built.scores})


def build_sheets(made: Any, options: Options) -> None:
    for each in made:
        missing = f", {each.missing} missing" if each.missing else ""
        where = f" in {each.file}" if each.pictures else ""
        typer.echo(f"{each.group}: {format_count(each.pictures, 'picture')}{missing}{where}")


def build_review(agreement: Any, options: Options) -> None:
    from editgauge._cli.tables.common import show

    if agreement:
        show(agreement_table(agreement))


def agreement_table(agreement: Any) -> Any:
    """Rows of types, columns of reviewers: the share accepted as proposed, and of how many."""
    from editgauge._cli.tables.common import new_table

    reviewers = sorted({name for row in agreement.values() for name in row})
    table = new_table("accepted as proposed", ["type"], reviewers)
    for kind, row in agreement.items():
        cells = [f"{row[name][0] / row[name][1]:.0%} of {row[name][1]}" if name in row else "-" for name in reviewers]
        table.add_row(kind, *cells)
    return table


def build_probes(made: Any, options: Options) -> None:
    if options["quiet"]:
        return
    held_back = sum(probe.split == "held_back" for probe in made)
    pairs = sum(len(probe.over) for probe in made)
    compared = f" People compared {pairs:,} pairs." if pairs else ""
    typer.echo(
        f"{len(made):,} probes in {options['out']}, {held_back:,} of them on held-out photographs.{compared}", err=True
    )


# --- manage -----------------------------------------------------------------------------------------------------------


def data_pairs(written: Any, options: Options) -> None:
    choices = sum(written.choices.values())
    bad = f", {written.both_bad} of them with both called bad" if written.both_bad else ""
    methods = format_count(len(written.methods), "method")
    typer.echo(
        f"{format_count(written.edits, 'edit')}, {methods}, {format_count(choices, 'choice')}{bad}, in {written.folder}"
    )
    folder = quote(str(written.folder))
    next_step(f"run {folder}/benchmark --outcomes '{written.folder}/outcomes/*' --out run")
    next_step(f"agree run --choices {folder}/{next(iter(written.choices), 'choices.jsonl')}")


def data_pull(result: Any, options: Options) -> None:
    typer.echo(f"{result.name}: {result.about}")
    typer.echo(f"  {result.present} of {result.files} files here, {result.bytes / 1e6:.0f} MB")
    typer.echo(f"  license: {result.license}")
    for folder in result.folders:
        typer.echo(f"  in {folder}")


data_verify = data_info = data_pull


def data_ratings(count: Any, options: Options) -> None:
    typer.echo(f"{options['out']}: {format_count(count, 'rating')}.")


def models_list(result: Any, options: Options) -> None:
    from editgauge._cli.tables.common import new_table, show
    from editgauge.models.weights.verbs import license_of

    table = new_table(text=["name", "role"], numbers=["size"])
    for column in ("license", "where"):
        table.add_column(column)
    for each in result:
        table.add_row(each.name, ", ".join(each.roles), _megabytes(each.bytes), license_of(each), each.where)
    show(table)
    typer.echo("* license of the project that trained the weights; a size shown as - is known after the first pull.")


def models_info(result: Any, options: Options) -> None:
    from editgauge.models.weights.verbs import license_of

    typer.echo(f"{result.name}: {result.about}")
    typer.echo(f"  role: {', '.join(result.roles)}")
    typer.echo(f"  license: {license_of(result)}")
    typer.echo(f"  from: {result.source}")
    if result.where == "hub" or result.revision:
        typer.echo(f"  revision: {result.revision or 'pinned by the first pull'}")
    typer.echo(f"  size: {_megabytes(result.bytes)}, to download {_megabytes(result.bytes_to_fetch)}")
    typer.echo(f"  in {result.folder}" if result.folder else f"  not here: `editgauge models pull {result.name}`")
    for name, sha256 in result.sha256.items():
        typer.echo(f"  {sha256}  {name}")


def models_pull(pulled: Any, options: Options) -> None:
    for each in pulled:
        typer.echo(f"{each.name}: verified, in {each.folder}")


def models_verify(verified: Any, options: Options) -> None:
    for each in verified:
        typer.echo(f"{each.name}: verified ({len(each.files)}), SHA-256 of the set {each.sha256}")


def models_path(folder: Any, options: Options) -> None:
    typer.echo(folder)


def cache_info(result: Any, options: Options) -> None:
    typer.echo(f"{format_count(result.entries, 'answer')}, {_size(result.bytes)} of at most {_size(result.most_bytes)}")
    _by_model(result)
    typer.echo(f"  in {result.folder}")


def cache_clear(gone: Any, options: Options) -> None:
    typer.echo(f"{format_count(gone.entries, 'answer')} deleted, {_size(gone.bytes)} freed")
    _by_model(gone)


def _by_model(result: Any) -> None:
    for each in result.models:
        typer.echo(f"  {each.model}: {format_count(each.entries, 'answer')}, {_size(each.bytes)}")


# --- people -----------------------------------------------------------------------------------------------------------


def study_create(study: Any, options: Options) -> None:
    with study:
        made = study.manifest
    typer.echo(
        f"{options['out']}: {format_count(made.items, 'item')} with {format_count(made.raters, 'rater')} each, "
        f"and {format_count(made.gold, 'gold item')}."
    )
    next_step(f"study invite {quote(str(options['out']))} --count {made.raters}")


def study_invite(invitations: Any, options: Options) -> None:
    from editgauge.studies.verbs import address_of

    url = options["url"] or address_of(options["study"])
    for invitation in invitations:
        typer.echo(f"{invitation.name}  {invitation.link(url)}")


def study_export(lines: Any, options: Options) -> None:
    typer.echo(f"{options['out']}: {format_count(lines, 'line')}.")


def study_import(result: Any, options: Options) -> None:
    typer.echo(
        f"{result.done} count, {result.surplus} are surplus, {result.void} void; "
        f"{result.changed} were known with other answers, {result.unchanged} were known."
    )


def study_analyze(result: Any, options: Options) -> None:
    from editgauge._cli.tables.agreement import show_agreement
    from editgauge._cli.tables.study import show_findings, show_status, show_weights

    show_status(result.status)
    if result.findings:
        show_findings(result.findings)
    if result.agreement:
        show_agreement(result.agreement)
    if result.weights:
        show_weights(result.weights)
    for page in (result.page, result.forms):
        if page:
            typer.echo(f"{page}")


def study_exclude(answers: Any, options: Options) -> None:
    typer.echo(f"{format_count(answers, 'answer')} of {options['rater']} are void; their items are open again.")


def study_include(counts: Any, options: Options) -> None:
    again, surplus = counts
    typer.echo(
        f"{format_count(again, 'answer')} of {options['rater']} count again; {surplus} are surplus, because others have "
        "replaced them."
    )


def study_forget(result: Any, options: Options) -> None:
    stay = ", with all answers." if options["answers"] else "; the answers stay, without a person."
    typer.echo(f"{options['rater']} is forgotten{stay}")


def _megabytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:.1f} MB"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
