"""What do people complain about? Remarks sorted into ten kinds of issue by the words in them (EditInspector, A.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from editgauge._render.svg import document
from editgauge._stats.intervals import Mean, clustered_mean
from editgauge._util.files import write_text
from editgauge.benchmarks.datasets import Remark, remarks
from editgauge.benchmarks.editinspector.issue_kinds import kinds, kinds_of
from editgauge.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the remarks to one question are about."""

    question: str
    remarks: int
    kinds: Mapping[str, Mean]
    """By the label of the kind, the share of remarks that speak of it; the most frequent first."""
    unsorted: int
    """Remarks without any of the words."""


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
            raise BadInputError(f"The figure is an SVG file: --plot must end with .svg, got '{plot}'.")
        write_text(Path(plot), feedback_svg({each.question: each.kinds for each in counts}))
    return counts


def sort_remarks(remarks_given: Sequence[Remark]) -> tuple[Feedback, ...]:
    """One for each question, with intervals clustered by source image."""
    questions = dict.fromkeys(each.question for each in remarks_given)
    return tuple(
        _sorted(question, [each for each in remarks_given if each.question == question]) for question in questions
    )


def _sorted(question: str, remarks_given: Sequence[Remark]) -> Feedback:
    kinds_of_remarks = [kinds_of(each.text) for each in remarks_given]
    sources = np.array([each.source for each in remarks_given], dtype=np.str_)
    shares = {
        kind.label: clustered_mean(np.array([float(name in each) for each in kinds_of_remarks]), sources)
        for name, kind in kinds().items()
    }
    ordered = dict(sorted(shares.items(), key=lambda pair: -pair[1].value))
    return Feedback(question, len(remarks_given), ordered, sum(not each for each in kinds_of_remarks))


WIDTH, LEFT, RIGHT = 560, 176, 58
ROW, BAR, HEAD, FOOT = 22, 13, 34, 12
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.label{text-anchor:end}"
    ".track{stroke:#e4e4e4}.bar{fill:#8fb3d6}.whisker{stroke:#1c4a76;stroke-width:1.6}"
)


def feedback_svg(questions: Mapping[str, Mapping[str, Mean]]) -> str:
    """An SVG document with a panel per question, all on one scale; the shares are of remarks."""
    ends = [share.high or share.value for shares in questions.values() for share in shares.values()]
    most = max(ends, default=0.0) or 1.0
    parts, top = [], 0
    for question, shares in questions.items():
        n = next((share.n for share in shares.values()), 0)
        parts.append(f'<text class="title" x="14" y="{top + 22}">{escape(question)}: share of {n} remarks</text>')
        for place, (label, share) in enumerate(shares.items()):
            parts.append(_row(label, share, top + HEAD + place * ROW, most))
        top += HEAD + ROW * len(shares) + FOOT
    description = "; ".join(
        f"{question}: {', '.join(f'{label} {share.value:.0%}' for label, share in shares.items())}"
        for question, shares in questions.items()
    )
    return document(parts, WIDTH, top, f"What people complain about. {description}", STYLE)


def _row(label: str, share: Mean, top: int, most: float) -> str:
    middle, base = top + ROW / 2, top + (ROW - BAR) / 2

    def x(value: float) -> float:
        return LEFT + value / most * (WIDTH - LEFT - RIGHT)

    whisker = ""
    if share.low is not None and share.high is not None:
        whisker = f'<path class="whisker" d="M{x(share.low):.1f} {middle:g}H{x(share.high):.1f}"/>'
    return (
        f'<text class="label" x="{LEFT - 10}" y="{middle + 4:g}">{escape(label)}</text>'
        f'<path class="track" d="M{LEFT} {middle:g}H{WIDTH - RIGHT}"/>'
        f'<rect class="bar" x="{LEFT}" y="{base:g}" width="{x(share.value) - LEFT:.1f}" height="{BAR}"/>{whisker}'
        f'<text x="{WIDTH - RIGHT + 10}" y="{middle + 4:g}">{share.value:.1%}</text>'
    )
