"""Sort remarks of people into ten kinds of issue by keywords (EditInspector, A.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from editgauge._render.plots import feedback_svg
from editgauge._stats.intervals import Mean, clustered_mean
from editgauge._util.files import write_text
from editgauge.benchmarks.datasets import Remark, remarks
from editgauge.benchmarks.editinspector import kinds, kinds_of
from editgauge.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Feedback:
    """Kinds of issues in the remarks to one question."""

    question: str
    remarks: int
    kinds: Mapping[str, Mean]
    """Label of the kind to the share of remarks about it; most frequent first."""
    unsorted: int
    """Remarks without any keyword."""


def feedback(name: str, *, data: str | Path, plot: str | Path | None = None) -> tuple[Feedback, ...]:
    """Count what people complain about in the remarks of a benchmark, by ten kinds of issue.

    Example:
        $ editgauge data feedback editinspector --data editinspector_benchmark.csv --plot issues.svg
        >>> editgauge.data.feedback("editinspector", data="editinspector_benchmark.csv")

    Args:
        name: benchmark that comes with remarks by people, such as `editinspector`.
        data: its file, or the folder it is in.
        plot: SVG file for the figure.

    """
    counts = sort_remarks(list(remarks(name, data)))
    if plot is not None:
        if Path(plot).suffix != ".svg":
            raise BadInputError(f"`plot` must end with .svg; got '{plot}'.")
        write_text(Path(plot), feedback_svg({counted.question: counted.kinds for counted in counts}))
    return counts


def sort_remarks(remarks: Sequence[Remark]) -> tuple[Feedback, ...]:
    """Count kinds of issues per question, with intervals clustered by source image."""
    questions = dict.fromkeys(remark.question for remark in remarks)
    return tuple(
        _sorted(question, [remark for remark in remarks if remark.question == question]) for question in questions
    )


def _sorted(question: str, remarks: Sequence[Remark]) -> Feedback:
    issues = [kinds_of(remark.text) for remark in remarks]
    sources = np.array([remark.source for remark in remarks], dtype=np.str_)
    shares = {
        kind.label: clustered_mean(np.array([float(name in found_kinds) for found_kinds in issues]), sources)
        for name, kind in kinds().items()
    }
    ordered = dict(sorted(shares.items(), key=lambda pair: -pair[1].value))
    return Feedback(question, len(remarks), ordered, sum(not found_kinds for found_kinds in issues))
