"""Fail continuous integration when a run is worse than a baseline, or lacks scores that the baseline has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from editgauge._stats.intervals import INAPPLICABLE_REASONS
from editgauge._stats.pairwise import PairDifference
from editgauge._util.files import write_text
from editgauge._util.text import format_count
from editgauge.analysis.outcomes import select_scores, values_by_edit
from editgauge.analysis.significance import merge_tests
from editgauge.analysis.summary import ALL, headlines, summarize
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run, RunSource, ScoreColumns
from editgauge.types import ScoreSpec

GateStatus = Literal["worse", "incomplete", "not worse", "undecided"]
NEW_RUN, BASELINE = "a new run", "the baseline"
MAX_MISSING_SHARE = 0.05
MISSING_OUTCOME = "missing_outcome"
EXIT_WORSE, EXIT_INCOMPLETE = 1, 3
RESULT_MEANINGS: Mapping[GateStatus, str] = {
    "worse": "the whole interval is below the margin",
    "incomplete": "too many edits have no score in the new run",
    "not worse": "the whole interval is within the margin or above, or all scores are identical",
    "undecided": "the interval crosses the margin, or there are too few source images for a test",
}


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One score of one method: the new run minus the baseline, on the edits that both have."""

    protocol: str
    spec: ScoreSpec
    method: str
    difference: PairDifference | None
    """None when no edit has both scores."""
    judged: GateStatus
    lost: int
    """Edits with a score in the baseline and none in the new run."""
    missing_share: float = 0.0
    """Share of the edits that should have a score and have none in the new run."""

    @property
    def change(self) -> str:
        """Format the difference with its 95% interval."""
        pair = self.difference
        if pair is None or pair.value is None:
            return "no edit has both scores"
        if pair.low is None or pair.high is None:
            return f"{pair.value:+.3f} ({pair.method})"
        return f"{pair.value:+.3f} [{pair.low:+.3f}, {pair.high:+.3f}]"


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of a gate."""

    run: Path
    against: Path
    max_drop: float
    checks: tuple[GateCheck, ...]

    @property
    def passed(self) -> bool:
        """Tell whether no score is significantly worse by more than the margin, and enough are there."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """Return 0 for a pass, 1 when a score is worse, 3 when too many scores are missing."""
        results = {check.judged for check in self.checks}
        if "worse" in results:
            return EXIT_WORSE
        return EXIT_INCOMPLETE if "incomplete" in results else 0

    @property
    def markdown(self) -> str:
        """Format the summary for a pull request."""
        rows = [
            f"| {check.protocol}/{check.spec.name} | {check.method} | {_mean(check, 'second')} "
            f"| {_mean(check, 'first')} | {check.change} | {check.judged} | {_missing(check)} |"
            for check in self.checks
        ]
        meanings = [f"- **{result}**: {meaning}" for result, meaning in RESULT_MEANINGS.items()]
        return "\n".join(
            [
                f"### Edit quality gate {self._outcome}",
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

    @property
    def _outcome(self) -> str:
        if self.exit_code == EXIT_WORSE:
            return "failed: a score is worse by more than the margin"
        if self.exit_code == EXIT_INCOMPLETE:
            return "failed: incomplete, scores are missing"
        undecided = sum(check.judged == "undecided" for check in self.checks)
        return "passed" + (
            f", but {undecided} of {format_count(len(self.checks), 'check')} undecided" if undecided else ""
        )


def gate(
    run: RunSource,
    *,
    against: RunSource,
    max_drop: float,
    score: Sequence[str] = (),
    method: str | None = None,
    summary: str | Path | None = None,
    allow_missing: float = MAX_MISSING_SHARE,
) -> GateResult:
    """Check that a run is not worse than a baseline by more than a margin, for use in continuous integration.

    The exit code is 1 if the paired test says that a score is worse by more than the margin, and 3 if too many edits
    that the baseline scored have no score. Runs of another version, other weights, rules or edits are refused.

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
        allow_missing: largest share of edits scored in the baseline but not in the run; 1 allows any.

    """
    if not (max_drop >= 0 and np.isfinite(max_drop)):
        raise BadInputError(f"`max_drop` must be at least 0, in the unit of the score; got {max_drop}.")
    if not 0 <= allow_missing <= 1:
        raise BadInputError(f"`allow_missing` must be between 0 and 1; got {allow_missing}.")
    new, old = Run.open(run), Run.open(against)
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
    requested = select_scores(new, score) if score else [(key[0], new.spec(*key)) for key in primary]
    scores = [(protocol, spec) for protocol, spec in requested if protocol in old.manifest.protocols]
    if not scores:
        raise BadInputError("The baseline has none of these scores: score it with the same `protocol`.")
    values = new.score_columns, old.score_columns
    checks = [
        _check(protocol, spec, name, values, max_drop=max_drop, allow_missing=allow_missing)
        for protocol, spec in scores
        for name in ([method] if method else methods)
    ]
    gated = GateResult(new.folder, old.folder, max_drop, tuple(checks))
    if summary is not None:
        write_text(Path(summary), gated.markdown)
    return gated


def assert_edit_not_worse(
    run: RunSource,
    against: RunSource,
    *,
    max_drop: float,
    score: Sequence[str] = (),
    method: str | None = None,
    allow_missing: float = MAX_MISSING_SHARE,
) -> GateResult:
    """Raise `AssertionError` with the summary when the gate fails; for tests."""
    __tracebackhide__ = True
    gated = gate(run, against=against, max_drop=max_drop, score=score, method=method, allow_missing=allow_missing)
    if not gated.passed:
        raise AssertionError(gated.markdown)
    return gated


def _comparable(new: Run, old: Run) -> None:
    """Raise `BadInputError` with every difference between the runs apart from the outcomes."""
    unlike = old.manifest.differences(new.manifest)
    unlike += [f"'{run.folder}' is not finished" for run in (new, old) if run.manifest.finished is None]
    if unlike:
        raise BadInputError(
            f"'{new.folder}' cannot be compared with '{old.folder}': a difference might not come from the outcomes. "
            "Score both with the same version, weights and rules.",
            unlike,
        )


def _check(
    protocol: str,
    spec: ScoreSpec,
    method: str,
    outcomes: tuple[ScoreColumns, ScoreColumns],
    *,
    max_drop: float,
    allow_missing: float,
) -> GateCheck:
    new, old = (values_by_edit(run, protocol, spec.name, method) for run in outcomes)
    lost, common = old.keys() - new.keys(), new.keys() & old.keys()
    missing = lost | _missing_outcomes(outcomes, protocol, spec.name, method) - new.keys()
    share = len(missing) / len(missing | new.keys()) if missing or new else 1.0
    incomplete = share > allow_missing or (not common and allow_missing < 1)
    if not common:
        return GateCheck(protocol, spec, method, None, "incomplete" if incomplete else "undecided", len(lost), share)
    sources = {**outcomes[1].sources, **outcomes[0].sources}
    pair = merge_tests(spec, {NEW_RUN: new, BASELINE: old}, sources).between(NEW_RUN, BASELINE)
    is_unchanged = all(new[edit] == old[edit] for edit in common)
    result = "not worse" if is_unchanged else _compare_with_margin(pair, max_drop, spec)
    if incomplete and result != "worse":
        result = "incomplete"
    return GateCheck(protocol, spec, method, pair, result, len(lost), share)


def _missing_outcomes(outcomes: tuple[ScoreColumns, ScoreColumns], protocol: str, name: str, method: str) -> set[str]:
    """Return edits without an outcome in the new run, or with one that only the new run leaves unscored.

    Edits that neither run can score, such as those whose object is not detected, are not missing.
    """
    new, old = (
        {key.edit: reason for key, reason in run.reasons(protocol, name).items() if key.method == method}
        for run in outcomes
    )
    return {
        edit
        for edit, reason in new.items()
        if reason not in INAPPLICABLE_REASONS and (reason == MISSING_OUTCOME or edit not in old)
    }


def _compare_with_margin(pair: PairDifference | None, max_drop: float, spec: ScoreSpec) -> GateStatus:
    if pair is None or pair.low is None or pair.high is None:
        return "undecided"
    low, high = (pair.low, pair.high) if spec.higher_is_better else (-pair.high, -pair.low)
    if high < -max_drop:
        return "worse"
    return "not worse" if low >= -max_drop else "undecided"


def _mean(check: GateCheck, which: Literal["first", "second"]) -> str:
    if check.difference is None:
        return "–"
    mean = check.difference.first_mean if which == "first" else check.difference.second_mean
    return "–" if mean is None else f"{mean:.3f}"


def _missing(check: GateCheck) -> str:
    return f"{check.lost} ({check.missing_share:.0%} missing)" if check.missing_share else ""
