"""Is a new run worse than a baseline? A gate for continuous integration, by the same test as every comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from editgauge._stats.pairwise import PairDifference
from editgauge._util.files import write_text
from editgauge._util.text import counted
from editgauge.analysis.outcomes import ScoredOutcomes, mean_by_edit, scored_outcomes, select_scores
from editgauge.analysis.significance import merge_tests
from editgauge.analysis.summary import ALL, headlines, summarize
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run
from editgauge.types import ScoreSpec

Judged = Literal["worse", "not worse", "undecided"]
NEW, OLD = "a new run", "the baseline"
MEANINGS: Mapping[Judged, str] = {
    "worse": "the whole interval is beyond the margin",
    "not worse": "the whole interval is within the margin or above, or all scores are identical",
    "undecided": "the interval reaches beyond the margin, or there are too few source images for a test",
}


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One score of one method: the new run minus the baseline, on the edits that both have."""

    protocol: str
    spec: ScoreSpec
    method: str
    difference: PairDifference | None
    """None when no edit has both scores."""
    judged: Judged
    lost: int
    """Edits that the baseline has a score of, and the new run has none."""

    @property
    def change(self) -> str:
        """The difference with its 95% interval, as printed."""
        pair = self.difference
        if pair is None or pair.value is None:
            return "no edit has both scores"
        if pair.low is None or pair.high is None:
            return f"{pair.value:+.3f} ({pair.method})"
        return f"{pair.value:+.3f} [{pair.low:+.3f}, {pair.high:+.3f}]"


@dataclass(frozen=True, slots=True)
class Gate:
    """What the gate says about a run."""

    run: Path
    against: Path
    max_drop: float
    checks: tuple[GateCheck, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is significantly worse by more than the margin."""
        return all(check.judged != "worse" for check in self.checks)

    @property
    def markdown(self) -> str:
        """The summary for a pull request."""
        undecided = sum(check.judged == "undecided" for check in self.checks)
        open_checks = f", but {undecided} of {counted(len(self.checks), 'check')} undecided" if undecided else ""
        verdict = f"passed{open_checks}" if self.passed else "failed: a score is worse by more than the margin"
        rows = [
            f"| {each.protocol}/{each.spec.name} | {each.method} | {_mean(each, 'second')} | {_mean(each, 'first')} "
            f"| {each.change} | {each.judged} | {each.lost or ''} |"
            for each in self.checks
        ]
        meanings = [f"- **{word}**: {meaning}" for word, meaning in MEANINGS.items()]
        return "\n".join(
            [
                f"### Edit quality gate {verdict}",
                "",
                f"Largest allowed drop: {self.max_drop:g}. Paired by edit, clustered by source image, 95% intervals.",
                "",
                "| score | method | baseline | new | change | verdict | no longer scored |",
                "|---|---|---|---|---|---|---|",
                *rows,
                "",
                *meanings,
                "",
            ]
        )


def gate(
    run: str | Path,
    *,
    against: str | Path,
    max_drop: float,
    score: Sequence[str] = (),
    method: str | None = None,
    summary: str | Path | None = None,
) -> Gate:
    """Check that a run is not worse than a baseline by more than a margin, for use in continuous integration.

    The exit code is 1 only if the paired test says that a score is worse by more than the margin. Runs of another
    version, other weights, rules or edits are refused.

    Example:
        $ editgauge gate run --against baseline --score edit --max-drop 0.05 --summary gate.md
        >>> editgauge.gate("run", against="baseline", score=["edit"], max_drop=0.05)

    Args:
        run: run folder.
        against: run folder of the baseline.
        max_drop: largest drop that is allowed, in the unit of the score; 0 allows none.
        score: score to check, such as `edit`, `pixlens/edit` or `*`; repeat for several. Default: the primary scores.
        method: one method; default: every method that both runs have.
        summary: Markdown file to write, for a pull request.
    """
    if not (max_drop >= 0 and np.isfinite(max_drop)):
        raise BadInputError(f"--max-drop is a number of at least 0, in the unit of the score; got {max_drop}.")
    new, old = Run.open(Path(run)), Run.open(Path(against))
    _comparable(new, old)
    methods = [name for name in new.manifest.methods if name in old.manifest.methods]
    if method is not None and method not in methods:
        raise UnknownNameError("method of both runs", method, methods)
    if not methods:
        raise BadInputError(
            "The two runs have no method in common, so nothing can be compared. Give the outcomes the same name with "
            "`editgauge run … --outcomes NAME=FOLDER`.",
            [f"the run has {', '.join(new.manifest.methods)}", f"the baseline has {', '.join(old.manifest.methods)}"],
        )
    primary = headlines(cell for cell in summarize(new) if cell.edit_type == ALL) if not score else []
    wanted = select_scores(new, score) if score else [(key[0], new.spec(*key)) for key in primary]
    chosen = [(protocol, spec) for protocol, spec in wanted if protocol in old.manifest.protocols]
    if not chosen:
        raise BadInputError("The baseline has none of these scores: score it with the same --protocol.")
    values = scored_outcomes(new), scored_outcomes(old)
    checks = [
        _check(protocol, spec, name, values, max_drop)
        for protocol, spec in chosen
        for name in ([method] if method else methods)
    ]
    gated = Gate(new.folder, old.folder, max_drop, tuple(checks))
    if summary is not None:
        write_text(Path(summary), gated.markdown)
    return gated


def assert_edit_not_worse(
    run: str | Path,
    against: str | Path,
    *,
    max_drop: float,
    score: Sequence[str] = (),
    method: str | None = None,
) -> Gate:
    """For tests: raises `AssertionError` with the summary when the gate fails."""
    __tracebackhide__ = True
    gated = gate(run, against=against, max_drop=max_drop, score=score, method=method)
    if not gated.passed:
        raise AssertionError(gated.markdown)
    return gated


def _comparable(new: Run, old: Run) -> None:
    """Raises `BadInputError` with every reason why the difference would not be that of the outcomes alone."""
    unlike = old.manifest.differences(new.manifest)
    unlike += [f"'{each.folder}' is not finished" for each in (new, old) if each.manifest.finished is None]
    if unlike:
        raise BadInputError(
            f"'{new.folder}' cannot be compared with '{old.folder}': a difference might not come from the outcomes. "
            "Score both with the same version, weights and rules.",
            unlike,
        )


def _check(
    protocol: str, spec: ScoreSpec, method: str, values: tuple[ScoredOutcomes, ScoredOutcomes], max_drop: float
) -> GateCheck:
    by_edit = [values_by_edit(each, protocol, spec.name, method) for each in values]
    lost = len(by_edit[1].keys() - by_edit[0].keys())
    both = by_edit[0].keys() & by_edit[1].keys()
    if not both:
        return GateCheck(protocol, spec, method, None, "undecided", lost)
    sources = {**values[1].sources, **values[0].sources}
    pair = merge_tests(spec, {NEW: by_edit[0], OLD: by_edit[1]}, sources).between(NEW, OLD)
    unchanged = all(by_edit[0][edit] == by_edit[1][edit] for edit in both)
    return GateCheck(protocol, spec, method, pair, "not worse" if unchanged else _judged(pair, max_drop, spec), lost)


def _judged(pair: PairDifference | None, max_drop: float, spec: ScoreSpec) -> Judged:
    if pair is None or pair.low is None or pair.high is None:
        return "undecided"
    low, high = (pair.low, pair.high) if spec.higher_is_better else (-pair.high, -pair.low)
    if high < -max_drop:
        return "worse"
    return "not worse" if low >= -max_drop else "undecided"


def values_by_edit(outcomes: ScoredOutcomes, protocol: str, name: str, method: str) -> dict[str, float]:
    """Edit to value, for one score of one method."""
    values = outcomes.values.get((protocol, name), {})
    return mean_by_edit((key.edit, value) for key, value in values.items() if key.method == method)


def _mean(check: GateCheck, which: Literal["first", "second"]) -> str:
    if check.difference is None:
        return "–"
    mean = check.difference.first_mean if which == "first" else check.difference.second_mean
    return "–" if mean is None else f"{mean:.3f}"
