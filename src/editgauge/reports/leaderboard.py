"""The verb `leaderboard`: the methods of several runs on one page, ranked where they can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from editgauge._render.text import estimate_text
from editgauge._stats.intervals import INAPPLICABLE_REASONS, clustered_mean
from editgauge._stats.pairwise import Rank
from editgauge.analysis._groups import edits_in, read_selection
from editgauge.analysis.aggregation import measured_figures
from editgauge.analysis.outcomes import mean_by_edit
from editgauge.analysis.significance import ScoreTests, merge_tests
from editgauge.analysis.summary import ALL, Cell, answers, headlines, untouched_methods
from editgauge.errors import BadInputError
from editgauge.reports._figures import trade_off
from editgauge.reports._score_tables import ScoreTable, score_tables
from editgauge.reports.context import write_page
from editgauge.reports.pages import page_in
from editgauge.results import Run

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from markupsafe import Markup

    from editgauge.results.manifest import ProtocolEntry
    from editgauge.types import ScoreSpec


PAGE = "leaderboard.html"
STYLES = ("base", "first", "tables", "leaderboard", "media")
SCRIPTS = ("theme", "leaderboard")


def leaderboard(runs: Sequence[str | Path], *, out: str | Path, group: Sequence[str] = ()) -> Path:
    """Rank the methods of several runs on one page; runs that are not comparable get separate tables.

    Runs share a table only if their edits, the protocol's rules and the models are the same.

    Example:
        $ editgauge leaderboard run-of-ada run-of-grace --out board
        $ editgauge leaderboard run-of-ada run-of-grace --out board --group language=en
        >>> editgauge.leaderboard(["run-of-ada", "run-of-grace"], out="board")

    Args:
        runs: run folders.
        out: folder to write `leaderboard.html` into.
        group: limit to the edits of one of the benchmark's own groups, as NAME=VALUE; repeat for edits in all of them.

    """
    folders = [Path(run) for run in ([runs] if isinstance(runs, str | Path) else runs)]
    resolved = [folder.resolve() for folder in folders]
    twice = [folder for index, folder in enumerate(folders) if resolved[index] in resolved[:index]]
    if twice or not folders:
        raise BadInputError(f"The run '{twice[0]}' is given twice." if twice else "Give at least one run folder.")
    page = page_in(out, PAGE)
    boards = standings([Run.open(folder) for folder in folders], group)
    return write_page(
        page,
        "leaderboard.html.j2",
        STYLES,
        SCRIPTS,
        standings=boards,
        incomparable=explain_incomparable(boards),
        runs=len(folders),
        group=list(group),
    )


class ComparisonKind(NamedTuple):
    """What scores must have in common to be compared."""

    benchmark: str
    edits_sha256: str
    models: str
    """As JSON: role to name, id and revision."""


class Player(NamedTuple):
    """A method of one run."""

    run: Run
    method: str
    label: str
    untouched: bool
    """Whether it returns every source unchanged."""


@dataclass(frozen=True, slots=True)
class StandingsTable:
    """All methods that can be compared, by the protocols that all their runs have in common."""

    kind: ComparisonKind
    protocols: dict[str, ProtocolEntry]
    runs: list[Run]
    edits: int
    """Edits that are ranked on: all of the benchmark, or those of the chosen groups."""
    players: list[str]
    """The labels of the methods, the best by the first score first."""
    tables: list[ScoreTable]
    """One for every score, the primary ones first; a cell for every player over all edits."""
    heads: int
    """How many of the tables are of primary scores."""
    trade_off: Markup | None
    """Edit done against rest kept; None when nothing answers both."""
    ranks: dict[tuple[str, str, str], Rank]
    """Rank by protocol, score and player; methods that return the source unchanged have none."""
    fragile: frozenset[tuple[str, str, str]]
    """Protocol, score and player whose rank missing scores could change."""
    warnings: list[str]
    figures: dict[str, dict[str, str]]
    """What the papers print: figure to player to its number with interval."""

    @property
    def models(self) -> dict[str, dict[str, str]]:
        """The models of these runs, by role."""
        read: dict[str, dict[str, str]] = json.loads(self.kind.models)
        return read


def standings(runs: Sequence[Run], group: Sequence[str] = ()) -> list[StandingsTable]:
    """Group the runs by what can be compared, in their order.

    Args:
        runs: the runs.
        group: limits them to the edits of one of the benchmark's own groups, as NAME=VALUE.

    """
    selections = {run.folder: read_selection(group, run) for run in runs}
    by_protocol: dict[tuple[ComparisonKind, str, ProtocolEntry], list[Run]] = {}
    for run in runs:
        manifest = run.manifest
        kind = ComparisonKind(manifest.benchmark, manifest.edits_sha256, json.dumps(manifest.models, sort_keys=True))
        for protocol, entry in manifest.protocols.items():
            by_protocol.setdefault((kind, protocol, entry), []).append(run)
    groups: dict[tuple[ComparisonKind, tuple[Path, ...]], tuple[dict[str, ProtocolEntry], list[Run]]] = {}
    for (kind, protocol, entry), members in by_protocol.items():
        protocols, _ = groups.setdefault((kind, tuple(run.folder for run in members)), ({}, members))
        protocols[protocol] = entry
    return [
        _standings_table(kind, protocols, members, selections) for (kind, _), (protocols, members) in groups.items()
    ]


def explain_incomparable(boards: Sequence[StandingsTable]) -> list[str]:
    """Say for every two tables that share a protocol why they are separate."""
    sentences: dict[str, None] = {}
    for index, one in enumerate(boards):
        for other in boards[:index]:
            for protocol in one.protocols.keys() & other.protocols.keys():
                reasons = ", ".join(_differences(one, other, protocol))
                sentences[f"{_named(one)} cannot be compared with {_named(other)} by {protocol}: {reasons}."] = None
    return sorted(sentences)


def _differences(one: StandingsTable, other: StandingsTable, protocol: str) -> list[str]:
    kind, other_kind = one.kind, other.kind
    rules = one.protocols[protocol], other.protocols[protocol]
    edits = kind.benchmark == other_kind.benchmark and kind.edits_sha256 != other_kind.edits_sha256
    versions = f" (version {rules[0].version} and {rules[1].version})" if rules[0].version != rules[1].version else ""
    return [
        *(["different benchmarks"] if kind.benchmark != other_kind.benchmark else []),
        *([f"different edits under the name {kind.benchmark}"] if edits else []),
        *([f"different rules{versions}"] if rules[0] != rules[1] else []),
        *(["different models"] if kind.models != other_kind.models else []),
    ]


def _named(standing: StandingsTable) -> str:
    return ", ".join(run.folder.name for run in standing.runs)


def _standings_table(
    kind: ComparisonKind,
    protocols: dict[str, ProtocolEntry],
    runs: list[Run],
    selections: Mapping[Path, Mapping[str, str]],
) -> StandingsTable:
    players = _players(protocols, runs)
    cells, ranks = list[Cell](), dict[tuple[str, str, str], Rank]()
    fragile: set[tuple[str, str, str]] = set()
    inside = {run.folder: edits_in(run, selections[run.folder]) for run in runs}
    for protocol, entry in protocols.items():
        for spec in entry.scores:
            of_score, verdicts = _score(protocol, spec, players, inside)
            cells += of_score
            if verdicts:
                ranks |= {(protocol, spec.name, label): rank for label, rank in verdicts.ranks.items()}
                fragile |= {(protocol, spec.name, label) for label in verdicts.fragile}
    primary = headlines(cells)
    first = primary[0] if primary else ("", "")
    order = sorted(
        (player.label for player in players),
        key=lambda label: rank.value if (rank := ranks.get((*first, label))) else len(players) + 1,
    )
    tables = score_tables(cells, order, [])
    idle = {player.label for player in players if player.untouched}
    done, preserved = (answers(cells).get(question, [None])[0] for question in ("done", "kept"))
    return StandingsTable(
        kind,
        protocols,
        runs,
        edits=runs[0].manifest.edits if (chosen_edits := inside[runs[0].folder]) is None else len(chosen_edits),
        players=order,
        tables=tables,
        heads=len(primary),
        trade_off=trade_off(cells, done, preserved, order, idle) if done and preserved else None,
        ranks=ranks,
        fragile=frozenset(fragile),
        warnings=_warnings(runs),
        figures={} if any(selections.values()) else _figures(protocols, players),
    )


def _figures(protocols: Collection[str], players: Sequence[Player]) -> dict[str, dict[str, str]]:
    """Return the figures of papers: figure to player to text."""
    runs = {player.run.folder: player.run for player in players}
    of_runs = {folder: measured_figures(run) for folder, run in runs.items()}
    texts: dict[str, dict[str, str]] = {}
    for player in players:
        for measured in of_runs[player.run.folder]:
            if measured.protocol in protocols:
                estimate = measured.methods[player.method]
                texts.setdefault(measured.title, {})[player.label] = estimate_text(estimate, measured.spec.range)
    return texts


def _players(protocols: Collection[str], runs: Sequence[Run]) -> list[Player]:
    """Return the methods of all runs; one that several runs have is distinguished by the run's folder."""
    entries = [
        (run, method)
        for run in runs
        for method in run.manifest.methods
        if any(protocol in run.manifest.planned.get(method, {}) for protocol in protocols)
    ]
    occurrences = Counter(method for _, method in entries)
    labels = [method if occurrences[method] == 1 else f"{method} ({run.folder.name})" for run, method in entries]
    twice = Counter(labels)
    numbered = [label if twice[label] == 1 else f"{label} #{index}" for index, label in enumerate(labels, start=1)]
    idle = {run.folder: untouched_methods(run) for run in runs}
    return [Player(run, m, label, m in idle[run.folder]) for (run, m), label in zip(entries, numbered, strict=True)]


def _score(
    protocol: str, spec: ScoreSpec, players: Sequence[Player], inside: Mapping[Path, list[str] | None]
) -> tuple[list[Cell], ScoreTests | None]:
    cells: list[Cell] = []
    of_each: dict[str, dict[str, float]] = {}
    unscored: dict[str, set[str]] = {}
    sources: dict[str, str] = {}
    for player in players:
        table = player.run.scores
        is_score = pc.and_(pc.equal(table["protocol"], protocol), pc.equal(table["name"], spec.name))
        rows = table.filter(pc.and_(is_score, pc.equal(table["method"], player.method)))
        if (edits_inside := inside[player.run.folder]) is not None:
            rows = rows.filter(pc.is_in(rows["edit"].cast(pa.string()), pa.array(edits_inside, pa.string())))
        scored, without = rows.filter(pc.is_valid(rows["value"])), rows.filter(pc.is_null(rows["value"]))
        values, edits, its_sources = (scored[name].to_pylist() for name in ("value", "edit", "source"))
        numbers = np.array(values, dtype=np.float64)
        mean = clustered_mean(numbers, np.array(its_sources), scale=spec.range) if numbers.size else None
        reasons = without["reason"].to_pylist()
        cells.append(Cell(protocol, spec, player.label, ALL, mean, dict(Counter(reasons))))
        by_edit = of_each[player.label] = mean_by_edit(zip(edits, values, strict=True))
        pairs = zip(without["edit"].to_pylist(), reasons, strict=True)
        unscored[player.label] = {
            edit for edit, reason in pairs if reason not in INAPPLICABLE_REASONS and edit not in by_edit
        }
        sources |= dict(zip(rows["edit"].to_pylist(), rows["source"].to_pylist(), strict=True))
    if not any(of_each.values()):
        return cells, None
    untouched = frozenset(player.label for player in players if player.untouched)
    return cells, merge_tests(spec, of_each, sources, unscored=unscored, untouched=untouched)


def _warnings(runs: Sequence[Run]) -> list[str]:
    unfinished = [
        f"{run.folder.name} is not finished; its numbers may still change." for run in runs if not run.manifest.finished
    ]
    first, *further = [(run, _sources(run)) for run in runs]
    moved = [
        f"{run.folder.name} has other source pixels than {first[0].folder.name} for {count} edits: compare with care."
        for run, sources in further
        if (count := sum(pixels != first[1].get(edit, pixels) for edit, pixels in sources.items()))
    ]
    return unfinished + moved


def _sources(run: Run) -> dict[str, str]:
    """Return the pixel hash of each edit's source, except for later turns, which start from the method's own image."""
    pairs = zip(run.scores["edit"].to_pylist(), run.scores["source_pixels"].to_pylist(), strict=True)
    return {edit: pixels for edit, pixels in pairs if pixels and "follows" not in run.edits.get(edit, {})}
