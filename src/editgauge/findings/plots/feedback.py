"""What people complain about as a picture: a bar per kind of issue, with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from editgauge.stats.intervals import Mean

WIDTH, LEFT, RIGHT = 560, 176, 58
ROW, BAR, HEAD, FOOT = 22, 13, 34, 12
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.label{text-anchor:end}"
    ".track{stroke:#e4e4e4}.bar{fill:#8fb3d6}.whisker{stroke:#1c4a76;stroke-width:1.6}"
)


def feedback_svg(questions: Mapping[str, Mapping[str, Mean]]) -> str:
    """An SVG document with a panel per question, all on one scale; the shares are of remarks."""
    ends = [share.high or share.value for kinds in questions.values() for share in kinds.values()]
    most = max(ends, default=0.0) or 1.0
    parts, top = [], 0
    for question, kinds in questions.items():
        n = next((share.n for share in kinds.values()), 0)
        parts.append(f'<text class="title" x="14" y="{top + 22}">{escape(question)}: share of {n} remarks</text>')
        for place, (label, share) in enumerate(kinds.items()):
            parts.append(_row(label, share, top + HEAD + place * ROW, most))
        top += HEAD + ROW * len(kinds) + FOOT
    told = "; ".join(
        f"{question}: {', '.join(f'{label} {share.value:.0%}' for label, share in kinds.items())}"
        for question, kinds in questions.items()
    )
    size = f'viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
        f'aria-label="{escape(f"What people complain about. {told}")}"><style>{STYLE}</style>'
        f'<rect width="{WIDTH}" height="{top}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


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
