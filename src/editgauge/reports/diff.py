"""The verb `diff`: differences between two runs, as tables and as a page of improved and worsened outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from editgauge._render import text as words
from editgauge._render.tables import Column, EmptyCell, Label, ResultTable, TableCell, ValueCell, as_html, directed
from editgauge.analysis.diff import RunDifference, SignatureDifference, compare_signatures, difference
from editgauge.analysis.outcomes import scored_outcomes, values_by_edit
from editgauge.analysis.significance import merge_tests
from editgauge.analysis.summary import ALL, FEW_SOURCES, headlines, summarize
from editgauge.errors import BadInputError
from editgauge.reports._outcomes import read_outcomes
from editgauge.reports.context import write_page
from editgauge.reports.images import EmbeddedAlbum
from editgauge.reports.pages import claim_html_file
from editgauge.results import OutcomeKey, Run
from editgauge.types import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from editgauge.analysis.summary import ScoreKey
    from editgauge.reports._outcomes import ScoredImage, ScoredOutcome
    from editgauge.types import ScoreSpec

STYLES = ("base", "first", "tables", "changes", "media")
SCRIPTS = ("theme", "leaderboard")
MAX_EXAMPLES = 12
"""Number of improved and of worsened outcomes with images."""
MIN_CHANGE = 0.01
"""Smallest change worth listing, as a share of the scale."""
OLD, NEW = "first", "second"


def diff(
    first: str | Path, second: str | Path, *, report: str | Path | None = None, signature: bool = False
) -> RunDifference | SignatureDifference:
    """Show what differs between two runs, and what caused the change of each mean.

    The causes (edits, missing items, images, models, rules, software) add up to the change. The exit code is 1 if
    scores differ.

    Example:
        $ editgauge diff run-of-yesterday run
        $ editgauge diff run-of-yesterday run --report changes.html
        $ editgauge diff run-of-yesterday run --signature
        >>> editgauge.diff("run-of-yesterday", "run")

    Args:
        first: run folder.
        second: another run folder.
        report: .html file to write: what got better and what got worse from the first run to the second, as pictures.
        signature: only compare what shaped the numbers; instead of a run folder, the line of a signature may be given.

    """
    if signature:
        if report is not None:
            raise BadInputError("`report` compares scores; leave out `signature`.")
        return compare_signatures(str(first), str(second))
    changes = difference(first, second)
    if report is not None:
        write_changes(Run.open(Path(first)), Run.open(Path(second)), changes, Path(report))
    return changes


class MovedScore(NamedTuple):
    """One score of one outcome in two runs."""

    key: ScoreKey
    before: float
    after: float
    gain: float
    """Improvement as a share of the scale; negative if it became worse."""


@dataclass(frozen=True, slots=True)
class ChangedOutcome:
    """An outcome whose scores moved, ready to show."""

    title: str
    edit: str
    method: str
    pictures: list[tuple[str, str]]
    """Caption and URL; the URL is empty if there is no image."""
    lines: list[str]
    """What moved, the largest change first."""
    same_pixels: bool


def write_changes(first: Run, second: Run, changes: RunDifference, file: Path) -> Path:
    """Write the page.

    Raises:
        BadInputError: if it cannot be written or nothing can be compared.
    """
    claim_html_file(file, "`report`", "changes.html")
    keys = _common_scores(first, second)
    if not keys:
        raise BadInputError("The two runs have no primary score in common: score both with the same `protocol`.")
    specs = {key: second.spec(*key) for key in keys}
    pairs = _pairs(first, second)
    moves = {key: _moves(*pair, specs) for key, pair in pairs.items()}
    album = EmbeddedAlbum()
    examples = {
        better: [_changed(*pairs[key], moves[key], second, album) for key in _most(moves, better=better)]
        for better in (True, False)
    }
    table, verdicts = _table(first, second, specs)
    return write_page(
        file,
        "changes.html.j2",
        STYLES,
        SCRIPTS,
        names=_names(first, second),
        sentence=_sentence(verdicts),
        table=as_html(table),
        better=examples[True],
        worse=examples[False],
        unlike=_unlike(first, second, keys, changes.settings),
        settings={
            name: [words.without_folders(str(value)) for value in pair] for name, pair in changes.settings.items()
        },
        counts=(len(pairs), sum(a.edited != b.edited and _pixels(a) != _pixels(b) for a, b in pairs.values())),
    )


def _names(first: Run, second: Run) -> tuple[str, str]:
    """Return the names of the folders, with their parents if they are equal."""
    old, new = first.folder.resolve(), second.folder.resolve()
    if old.name != new.name:
        return old.name, new.name
    return f"{old.parent.name}/{old.name}", f"{new.parent.name}/{new.name}"


def _unlike(first: Run, second: Run, keys: Iterable[ScoreKey], settings: Iterable[str]) -> list[str]:
    """Return the protocols and models that differ and are used by a common score."""
    protocols = {protocol for protocol, _ in keys}
    roles = {
        role
        for manifest in (first.manifest, second.manifest)
        for protocol in protocols
        for role in manifest.roles.get(protocol, manifest.models)
    }
    taking_part = {*(f"protocol {name}" for name in protocols), *(f"model {role}" for role in roles)}
    return [name for name in settings if name in taking_part]


def _common_scores(first: Run, second: Run) -> list[ScoreKey]:
    in_first = {(name, spec.name) for name, entry in first.manifest.protocols.items() for spec in entry.scores}
    return [key for key in headlines(cell for cell in summarize(second) if cell.edit_type == ALL) if key in in_first]


def _pairs(first: Run, second: Run) -> dict[OutcomeKey, tuple[ScoredOutcome, ScoredOutcome]]:
    before, after = (
        {outcome.key: outcome for group in read_outcomes(run, with_notes=False).values() for outcome in group}
        for run in (first, second)
    )
    return {key: (before[key], after[key]) for key in after if key in before}


def _moves(before: ScoredOutcome, after: ScoredOutcome, specs: dict[ScoreKey, ScoreSpec]) -> list[MovedScore]:
    """Return the scores that moved enough, the largest change first."""
    moves = []
    for key, spec in specs.items():
        old, new = before.value(key), after.value(key)
        if old is not None and new is not None:
            low, high = spec.range
            span = high - low if math.isfinite(high - low) else max(abs(old), abs(new)) or 1.0
            gain = (new - old if spec.higher_is_better else old - new) / span
            if abs(gain) >= MIN_CHANGE:
                moves.append(MovedScore(key, old, new, gain))
    return sorted(moves, key=lambda moved: -abs(moved.gain))


def _most(moves: dict[OutcomeKey, list[MovedScore]], *, better: bool) -> list[OutcomeKey]:
    """Return the outcomes with the largest sum over the primary scores."""
    sign = 1 if better else -1
    gains = {key: sign * sum(moved.gain for moved in some) for key, some in moves.items()}
    ranked = sorted((key for key in gains if gains[key] > 0), key=lambda key: (-gains[key], key))
    return ranked[:MAX_EXAMPLES]


def _changed(
    before: ScoredOutcome, after: ScoredOutcome, moves: Sequence[MovedScore], run: Run, album: EmbeddedAlbum
) -> ChangedOutcome:
    edit, method, seed = after.key
    files = (("source", after.source), (OLD, before.edited), (NEW, after.edited))
    return ChangedOutcome(
        title=run.edits.get(edit, {}).get("instruction", "") or edit,
        edit=edit,
        method=f"{method}, seed {seed}" if seed else method,
        pictures=[(name, _address(file, album)) for name, file in files],
        lines=[f"{_named(moved.key, run)} {moved.before:.2f} → {moved.after:.2f}".replace("-", "−") for moved in moves],
        same_pixels=_pixels(before) is not None and _pixels(before) == _pixels(after),
    )


def _address(file: ScoredImage | None, album: EmbeddedAlbum) -> str:
    copies = album.source(file) if file else {}
    return album.embedded.get(copies.get("small", ""), "")


def _pixels(outcome: ScoredOutcome) -> str | None:
    return outcome.edited.pixels if outcome.edited else None


def _named(key: ScoreKey, run: Run) -> str:
    question = run.spec(*key).question
    return QUESTIONS[question] if question else key[1]


def _table(first: Run, second: Run, specs: dict[ScoreKey, ScoreSpec]) -> tuple[ResultTable, list[tuple[str, str, str]]]:
    """Return the means on common edits, and every significant change: method, score, better or worse."""
    outcomes = scored_outcomes(first), scored_outcomes(second)
    sources = {**outcomes[0].sources, **outcomes[1].sources}
    rows: list[list[TableCell]] = []
    verdicts: list[tuple[str, str, str]] = []
    for key, spec in specs.items():
        for method in [name for name in second.manifest.methods if name in first.manifest.methods]:
            before, after = (values_by_edit(of_run, *key, method) for of_run in outcomes)
            pair = merge_tests(spec, {OLD: before, NEW: after}, sources).between(NEW, OLD) if before and after else None
            name = Label(directed(_named(key, second), higher_is_better=spec.higher_is_better), "/".join(key))
            if pair is None or pair.value is None:
                rows.append([method, name, *[EmptyCell(text="no edit in both")] * 3, ""])
                continue
            verdict = {"first": "better", "second": "worse", "neither": "not significant"}[
                pair.better(higher_is_better=spec.higher_is_better)
            ]
            if verdict != "not significant":
                verdicts.append((method, _named(key, second), verdict))
            few = pair.clusters < FEW_SOURCES
            change = ValueCell(pair.value, pair.low, pair.high, n=pair.n, format="+.3f", few=few)
            both = pair.second_mean, pair.first_mean
            means = [EmptyCell() if mean is None else ValueCell(mean) for mean in both]
            style: Literal["strong", "weak"] = "weak" if verdict == "not significant" else "strong"
            rows.append([method, name, *means, change, Label(verdict, style=style)])
    columns = [Column("method", align="left"), Column("score", align="left"), Column("first"), Column("second")]
    return ResultTable([*columns, Column("change"), Column("verdict", align="left")], rows, "Primary scores"), verdicts


def _sentence(verdicts: Sequence[tuple[str, str, str]]) -> str:
    if not verdicts:
        return "No primary score of any method differs significantly between the two runs."
    parts = []
    for word in ("better", "worse"):
        scores: dict[str, list[str]] = {}
        for method, name, verdict in verdicts:
            if verdict == word:
                scores.setdefault(method, []).append(name)
        if scores:
            listed = ", ".join(f"{method} ({', '.join(names)})" for method, names in scores.items())
            parts.append(f"significantly {word}: {listed}")
    text = "; ".join(parts)
    return f"In the second run, {text}."
