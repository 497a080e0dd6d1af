"""Print the results of verbs that manage files: models, data, caches and builders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from editgauge._cli._output import Options, suggest
from editgauge._render.tables import ResultTable, TableCell
from editgauge._render.terminal import make_columns, print_table
from editgauge._util.text import format_count

if TYPE_CHECKING:
    from editgauge.audits._probe_set import Probe
    from editgauge.benchmarks.datasets import DatasetInfo
    from editgauge.benchmarks.pairs import PairFiles
    from editgauge.builders.sheets import ContactSheet
    from editgauge.models._cache import CacheInfo
    from editgauge.models._selftest import SelfTest
    from editgauge.models.weights._store import WeightFiles, WeightInfo


def show_nothing(result: object) -> None:
    """Print nothing: the verb reports its own progress."""


# --- build ------------------------------------------------------------------------------------------------------------


def show_sheets(sheets: Sequence[ContactSheet]) -> None:
    """Print one line per contact sheet."""
    for sheet in sheets:
        missing = f", {sheet.missing} missing" if sheet.missing else ""
        file = f" in {sheet.file}" if sheet.pictures else ""
        typer.echo(f"{sheet.group}: {format_count(sheet.pictures, 'image')}{missing}{file}")


def show_review(agreement: Mapping[str, Mapping[str, tuple[int, int]]]) -> None:
    """Print the share of proposals that each reviewer accepted, by type."""
    if not agreement:
        return
    reviewers = sorted({name for row in agreement.values() for name in row})
    rows: list[list[TableCell]] = []
    for edit_type, counts in agreement.items():
        shares = (
            f"{counts[name][0] / counts[name][1]:.0%} of {counts[name][1]}" if name in counts else "-"
            for name in reviewers
        )
        rows.append([edit_type, *shares])
    print_table(ResultTable(make_columns(["type"], reviewers), rows, "accepted as proposed"))


def show_probes(probes: Sequence[Probe], options: Options) -> None:
    """Print how many probes were built."""
    if options["quiet"]:
        return
    held_out_count = sum(probe.split == "held_back" for probe in probes)
    pair_count = sum(len(probe.over) for probe in probes)
    comparison = f" People compared {pair_count:,} pairs." if pair_count else ""
    summary = f"{len(probes):,} probes in {options['out']}, {held_out_count:,} of them on held-out photographs."
    typer.echo(summary + comparison, err=True)


# --- data, models and caches ------------------------------------------------------------------------------------------


def show_pairs(pair_files: PairFiles) -> None:
    """Print the size of a benchmark of compared outcomes, and how to score and compare it."""
    edits = format_count(pair_files.edits, "edit")
    both_bad = f", {pair_files.both_bad} of them with both called bad" if pair_files.both_bad else ""
    methods = format_count(len(pair_files.methods), "method")
    choices = format_count(sum(pair_files.choices.values()), "choice")
    typer.echo(f"{edits}, {methods}, {choices}{both_bad}, in {pair_files.folder}")
    folder, outcomes = quote(str(pair_files.folder)), quote(f"{pair_files.folder}/outcomes/*")
    suggest(f"run {folder}/benchmark --outcomes {outcomes} --out run")
    suggest(f"agree run --choices {folder}/{next(iter(pair_files.choices), 'choices.jsonl')}")


def show_dataset(dataset: DatasetInfo) -> None:
    """Print the folders of a data set, how many of its files are present, and its license."""
    typer.echo(f"{dataset.name}: {dataset.about}")
    typer.echo(f"  {dataset.present} of {dataset.files} files here, {dataset.bytes / 1e6:.0f} MB")
    typer.echo(f"  license: {dataset.license}")
    for folder in dataset.folders:
        typer.echo(f"  in {folder}")


def show_rating_count(count: int, options: Options) -> None:
    """Print how many ratings were written."""
    typer.echo(f"{options['out']}: {format_count(count, 'rating')}.")


def show_weights_list(weights: Sequence[WeightInfo]) -> None:
    """Print every set of weights."""
    from editgauge.models.weights._verbs import license_of

    rows = [
        [info.name, ", ".join(info.roles), _format_megabytes(info.bytes), license_of(info), info.where]
        for info in weights
    ]
    columns = make_columns(["name", "role", "size", "license", "where"])
    print_table(ResultTable(columns, rows))
    typer.echo("* license of the project that trained the weights; a size shown as - is known after the first pull.")


def show_weights_info(info: WeightInfo) -> None:
    """Print what a set of weights is and where it comes from."""
    from editgauge.models.weights._verbs import license_of

    typer.echo(f"{info.name}: {info.about}")
    typer.echo(f"  role: {', '.join(info.roles)}")
    typer.echo(f"  license: {license_of(info)}")
    typer.echo(f"  from: {info.source}")
    if info.where == "hub" or info.revision:
        typer.echo(f"  revision: {info.revision or 'pinned by the first pull'}")
    typer.echo(f"  size: {_format_megabytes(info.bytes)}, to download {_format_megabytes(info.bytes_to_fetch)}")
    typer.echo(f"  in {info.folder}" if info.folder else f"  not here: `editgauge models pull {info.name}`")
    for name, sha256 in info.sha256.items():
        typer.echo(f"  {sha256}  {name}")


def show_pulled(weight_sets: Sequence[WeightFiles]) -> None:
    """Print where the downloaded weights are."""
    for weights in weight_sets:
        typer.echo(f"{weights.name}: verified, in {weights.folder}")


def show_verified(weight_sets: Sequence[WeightFiles]) -> None:
    """Print the hash of each verified set of weights."""
    for weights in weight_sets:
        typer.echo(f"{weights.name}: verified ({len(weights.files)}), SHA-256 of the set {weights.sha256}")


def show_selftest(result: SelfTest) -> int:
    """Print what each model measured, and return 1 unless all checks passed."""
    rows = [[check.status, check.role, check.model, check.check, check.figures] for check in result.checks]
    print_table(ResultTable(make_columns(["status", "role", "model", "check", "measured"]), rows))
    passed = sum(check.status == "passed" for check in result.checks)
    typer.echo(f"{result.name}: {passed} of {format_count(len(rows), 'check')} passed.")
    return 0 if result.sound else 1


def show_path(folder: Path) -> None:
    """Print the path of a folder."""
    typer.echo(folder)


def show_cache(cache: CacheInfo) -> None:
    """Print the size of the cache, by model."""
    answers = format_count(cache.entries, "answer")
    typer.echo(f"{answers}, {_format_size(cache.bytes)} of at most {_format_size(cache.most_bytes)}")
    _show_models(cache)
    typer.echo(f"  in {cache.folder}")


def show_cleared(deleted: CacheInfo) -> None:
    """Print how much of the cache was deleted, by model."""
    typer.echo(f"{format_count(deleted.entries, 'answer')} deleted, {_format_size(deleted.bytes)} freed")
    _show_models(deleted)


def _show_models(cache: CacheInfo) -> None:
    for model in cache.models:
        typer.echo(f"  {model.model}: {format_count(model.entries, 'answer')}, {_format_size(model.bytes)}")


def _format_megabytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:.1f} MB"


def _format_size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
