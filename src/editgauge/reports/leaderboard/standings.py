"""Methods of several runs side by side, where their scores can be compared: the numbers of a leaderboard."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from editgauge.findings.summary import ALL, Cell
from editgauge.findings.verdicts import merged
from editgauge.reports.tables import ScoreTable, score_tables
from editgauge.stats.intervals import clustered_mean
from editgauge.stats.pairwise import Rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.core.run import Run
    from editgauge.core.run.manifest import ProtocolEntry
    from editgauge.core.types import ScoreSpec


class Kind(NamedTuple):
    """What scores must have in common to be compared."""

    benchmark: str
    edits_sha256: str
    protocol: str
    entry: ProtocolEntry
    models: str
    """As JSON: role to name, id and revision."""


class Player(NamedTuple):
    """A method of one run."""

    run: Run
    method: str
    label: str


@dataclass(frozen=True, slots=True)
class Standing:
    """All methods that can be compared by one protocol."""

    kind: Kind
    runs: list[Run]
    players: list[str]
    """The labels of the methods, the best by the first score first."""
    tables: list[ScoreTable]
    """One for every score, those that tell most first; a cell for every player over all edits."""
    ranks: dict[tuple[str, str], Rank]
    """Score and player to the place."""
    warnings: list[str]

    @property
    def models(self) -> dict[str, dict[str, str]]:
        """The models of these runs, by role."""
        read: dict[str, dict[str, str]] = json.loads(self.kind.models)
        return read


def standings(runs: Sequence[Run]) -> list[Standing]:
    """The runs in groups of what can be compared, in the order given."""
    groups: dict[Kind, list[Run]] = {}
    for run in runs:
        manifest = run.manifest
        for protocol, entry in manifest.protocols.items():
            models = json.dumps(manifest.models, sort_keys=True)
            groups.setdefault(Kind(manifest.benchmark, manifest.edits_sha256, protocol, entry, models), []).append(run)
    return [_standing(kind, members) for kind, members in groups.items()]


def why_apart(found: Sequence[Standing]) -> list[str]:
    """For every two tables of one protocol, what keeps them apart; a sentence each."""
    sentences: dict[str, None] = {}
    for place, one in enumerate(found):
        for other in found[:place]:
            if one.kind.protocol == other.kind.protocol:
                reasons = " and ".join(_differences(one.kind, other.kind))
                sentences[
                    f"{_named(one)} cannot be compared with {_named(other)} by {one.kind.protocol}: {reasons}."
                ] = None
    return list(sentences)


def _differences(one: Kind, other: Kind) -> list[str]:
    edits = one.benchmark == other.benchmark and one.edits_sha256 != other.edits_sha256
    versions = f" (version {one.entry.version} and {other.entry.version})"
    return [
        *(["another benchmark"] if one.benchmark != other.benchmark else []),
        *([f"other edits under the name {one.benchmark}"] if edits else []),
        *(
            [f"other rules{versions if one.entry.version != other.entry.version else ''}"]
            if one.entry != other.entry
            else []
        ),
        *(["other models"] if one.models != other.models else []),
    ]


def _named(standing: Standing) -> str:
    return ", ".join(run.folder.name for run in standing.runs)


def _standing(kind: Kind, runs: list[Run]) -> Standing:
    players = _players(kind.protocol, runs)
    cells, ranks = list[Cell](), dict[tuple[str, str], Rank]()
    for spec in kind.entry.scores:
        of_score, places = _score(kind.protocol, spec, players)
        cells += of_score
        ranks |= {(spec.name, label): place for label, place in places.items()}
    first = next(iter(score_tables(cells, [], [])), None)
    order = sorted(
        (player.label for player in players),
        key=lambda label: rank.value if first and (rank := ranks.get((first.spec.name, label))) else len(players) + 1,
    )
    return Standing(kind, runs, order, score_tables(cells, order, []), ranks, _warnings(runs))


def _players(protocol: str, runs: Sequence[Run]) -> list[Player]:
    """A method that several runs have is distinguished by its run's folder."""
    found = [(run, m) for run in runs for m in run.manifest.methods if protocol in run.manifest.planned.get(m, {})]
    often = Counter(method for _, method in found)
    labels = [method if often[method] == 1 else f"{method} ({run.folder.name})" for run, method in found]
    twice = Counter(labels)
    numbered = [label if twice[label] == 1 else f"{label} #{place}" for place, label in enumerate(labels, start=1)]
    return [Player(run, method, label) for (run, method), label in zip(found, numbered, strict=True)]


def _score(protocol: str, spec: ScoreSpec, players: Sequence[Player]) -> tuple[list[Cell], dict[str, Rank]]:
    cells: list[Cell] = []
    of_each: dict[str, dict[str, float]] = {}
    sources: dict[str, str] = {}
    for player in players:
        table = player.run.scores
        chosen = pc.and_(pc.equal(table["protocol"], protocol), pc.equal(table["name"], spec.name))
        rows = table.filter(pc.and_(chosen, pc.equal(table["method"], player.method)))
        there = rows.filter(pc.is_valid(rows["value"]))
        values, edits, its_sources = (there[name].to_pylist() for name in ("value", "edit", "source"))
        own = np.array(values, dtype=np.float64)
        mean = clustered_mean(own, np.array(its_sources), scale=spec.range) if own.size else None
        reasons = rows.filter(pc.is_null(rows["value"]))["reason"].to_pylist()
        cells.append(Cell(protocol, spec, player.label, ALL, mean, dict(Counter(reasons))))
        by_edit: dict[str, list[float]] = {}
        for edit, value in zip(edits, values, strict=True):
            by_edit.setdefault(edit, []).append(value)
        of_each[player.label] = {edit: float(np.mean(some)) for edit, some in by_edit.items()}
        sources |= dict(zip(edits, its_sources, strict=True))
    return cells, merged(spec, of_each, sources).ranks if sources else {}


def _warnings(runs: Sequence[Run]) -> list[str]:
    unfinished = [
        f"{run.folder.name} is not finished; its numbers may still move." for run in runs if not run.manifest.finished
    ]
    first, *rest = [(run, _sources(run)) for run in runs]
    moved = [
        f"{run.folder.name} has other source pixels than {first[0].folder.name} for {count} edits: compare with care."
        for run, sources in rest
        if (count := sum(pixels != first[1].get(edit, pixels) for edit, pixels in sources.items()))
    ]
    return unfinished + moved


def _sources(run: Run) -> dict[str, str]:
    """Edit to the pixels of its source; later turns start from the method's own picture and are left out."""
    pairs = zip(run.scores["edit"].to_pylist(), run.scores["source_pixels"].to_pylist(), strict=True)
    return {edit: pixels for edit, pixels in pairs if pixels and "follows" not in run.edits.get(edit, {})}
