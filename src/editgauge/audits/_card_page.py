"""The card as a web page: a table over all protocols, each score in full, and the worst failures with pictures."""

from __future__ import annotations

import base64
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
from jinja2 import Environment
from markupsafe import Markup

from editgauge import __version__
from editgauge._render.text import open_templates, percent
from editgauge._util.files import write_bytes
from editgauge._util.images import read_image
from editgauge.audits._probe_set import OUTCOMES, read_edits
from editgauge.audits.human_reference import reference_summary
from editgauge.reports.images import fitted
from editgauge.reports.pages import GENERATOR, asset, check_page_file, joined, policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from editgauge._stats.resampling import Estimate
    from editgauge._util.images import Pixels
    from editgauge.audits.audit_card import AuditCard, Cost
    from editgauge.audits.card import MisjudgedProbe, ScoreCard
    from editgauge.audits.human_reference import ReferenceScore

PAGE = "index.html"
STYLES = ("base", "tables", "media")
THUMBNAIL_SIDE = 220
"""Pixels of the longer side of a picture in the page."""
MAX_OPEN_PAIRS = 12
"""This many comparisons are shown; the others are folded."""
LINE_UNITS = 120
"""Units of the lines on which intervals are drawn."""


def write_page(card: AuditCard, probes: Path, folder: Path) -> Path:
    """Write the self-contained page of a card and return its path."""
    page = folder / PAGE
    check_page_file(page)
    style, early = joined("style", STYLES, "css") + Markup("\n") + _own("card.css"), asset("script/early.js")
    theme = asset("script/theme.js")
    content = (
        _templates(card)
        .get_template("card.html.j2")
        .render(
            failures={name: _all_shown(these, probes) for name, these in card.failures.items() if these},
            policy=policy("img-src data:", style, early, theme),
            generator=GENERATOR,
            version=__version__,
            style=style,
            early=early,
            theme=theme,
        )
    )
    write_bytes(page, content.encode("utf-8", "replace"))
    return page


def _templates(card: AuditCard) -> Environment:
    environment = open_templates(__package__ or "")
    environment.filters |= {
        "share": share,
        "spaced": lambda word: str(word).replace("_", " "),
        "in_words": in_words,
        "aurocs": lambda cells: {name: cell.auroc for name, cell in cells.items()},
    }
    environment.globals |= {
        "place": place,
        "at_line": at_line,
        "shade": shade,
        "unscored": unscored,
        "spending": spending,
    }
    environment.globals |= _shown_of(card)
    return environment


def _shown_of(card: AuditCard) -> dict[str, Any]:
    """Return the template values of a card."""
    heads = _best_first(card.heads)
    return {
        "card": card,
        "heads": heads,
        "scores": [*heads, *_best_first([score for score in card.scores if score not in heads])],
        "by_people": sorted(card.scores, key=lambda item: -(item.people.value or 0.0)),
        "against": list(dict.fromkeys(kind for head in heads for kind in head.against)),
        "facts": _facts(card),
        "summary": reference_summary(card),
        "reference_rows": _reference_rows(card),
        "seconds": {name: f"{took:,.0f} s" for name, took in card.seconds.items()},
        "groups": GROUPS,
        "most_moved": _most_moved,
        "most_pairs": MAX_OPEN_PAIRS,
        "reach": max((abs(end or 0.0) for element in card.ahead for end in _ends(element.difference)), default=1.0)
        or 1.0,
    }


def _best_first(scores: list[ScoreCard]) -> list[ScoreCard]:
    return sorted(scores, key=lambda item: -(item.auroc.value or 0.0))


def _reference_rows(card: AuditCard) -> list[tuple[ReferenceScore, Estimate | None]]:
    """Return the scores on human ratings, best first, with their AUROC on probes."""
    probes = {(score.protocol, score.name): score.auroc for score in card.scores}
    rows = sorted(card.human_reference.scores if card.human_reference else (), key=lambda row: -(row.done.value or 0.0))
    return [(row, probes.get((row.protocol, row.name))) for row in rows]


def _facts(card: AuditCard) -> dict[str, int]:
    compared = {"pairs that people compared": card.people.pairs} if card.people else {}
    made = {"held-out probes": card.held_back, "edits": card.edits, "photographs": card.photos}
    rated = {"rated outcomes of real edits": card.human_reference.outcomes} if card.human_reference else {}
    return (made if card.held_back else {}) | compared | rated | {"scores": len(card.scores)}


def _most_moved(card: ScoreCard) -> float:
    """Return the end of an axis that contains all moves of a score."""
    return max([1.0, *(move.high or move.value or 0.0 for move in card.moves.values())])


def share(value: float | None, digits: int = 2) -> str:
    """Format a number of the card."""
    return "–" if value is None else f"{value:.{digits}f}"


def unscored(card: ScoreCard) -> str:
    """Format the share of unscored probes."""
    return percent((card.probes - card.scored) / card.probes) if card.probes else "–"


def spending(cost: Cost) -> str:
    """Describe the cost of calls in a sentence."""
    money = f", cost {cost.cost:.4f}" if cost.cost else ""
    tokens = f"{cost.prompt_tokens:,} prompt and {cost.completion_tokens:,} completion tokens"
    return f"{cost.calls:,} calls, {tokens}, {cost.seconds:,.1f} s of answers{money}."


def shade(estimate: Estimate) -> int:
    """Return a shade from 0, for guessing and worse, to 4, for always right."""
    return min(4, max(0, math.ceil(10 * ((estimate.value or 0.0) - 0.55))))


def place(estimate: Estimate, low: float = 0.0, high: float = 1.0) -> Mapping[str, float]:
    """Return the positions of a number and its interval on a line from low to high."""
    value = estimate.value or 0.0
    ends = (value if end is None else end for end in (estimate.low, estimate.high))
    return dict(zip(("at", "low", "high"), (at_line(item, low, high) for item in (value, *ends)), strict=True))


def _ends(estimate: Estimate) -> tuple[float | None, ...]:
    return estimate.value, estimate.low, estimate.high


def at_line(value: float, low: float, high: float) -> float:
    """Return the position of a number on a line, clipped to its ends."""
    return round(LINE_UNITS * min(1.0, max(0.0, (value - low) / (high - low))), 2)


def _own(name: str) -> Markup:
    source = Path(__file__).parent / "templates" / name
    return Markup(source.read_text("utf-8"))  # noqa: S704 - a file of this package


def _all_shown(failures: Sequence[MisjudgedProbe], probes: Path) -> list[dict[str, Any]]:
    edits = read_edits(probes)
    return [_shown(failure, edits[failure.probe], probes) for failure in failures]


def _shown(failure: MisjudgedProbe, edit: Mapping[str, Any], probes: Path) -> dict[str, Any]:
    source = fitted(read_image(probes / edit["source"]), THUMBNAIL_SIDE)
    edited = fitted(read_image(probes / OUTCOMES / f"{failure.probe}.png"), THUMBNAIL_SIDE)
    return {
        "failure": failure,
        "instruction": edit["instruction"],
        "kind": in_words(failure.kind),
        "source": _data(source),
        "edited": _data(edited),
        "width": source.shape[1],
        "height": source.shape[0],
    }


def _data(small: Pixels) -> str:
    _, file = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 82])
    return "data:image/jpeg;base64," + base64.b64encode(file.tobytes()).decode()


KINDS = {
    "right": "the right outcome",
    "nothing": "nothing done",
    "wrong_value": "another value or side",
    "wrong_object": "another object",
    "another_photograph": "another photograph",
    "black": "a black picture",
    "swapped": "pictures swapped",
    "another_instruction": "another instruction",
    "resized": "at three quarters of its size",
    "mirrored": "both pictures mirrored",
    "redrawn": "redrawn as a whole",
    "redrawn_nothing": "nothing done, redrawn as a whole",
}
GROUPS = {"rest": "rest disturbed", "artifact": "artifacts", "sent": "JPEG, shift"}
"""The groups of graded families; others keep their names."""
_MEASURED = {"jpeg": "JPEG quality {}", "shift": "shifted by {} px"}
_DEGREE = re.compile(r"(.+)-(\d+)")


def in_words(name: str) -> str:
    """Return the display name of a kind, group or family.

    >>> in_words("wrong_value"), in_words("jpeg-90"), in_words("color_cast-50"), in_words("artifact/halo")
    ('another value or side', 'JPEG quality 90', 'color cast, 50%', 'artifact: halo')
    """
    if name in KINDS or name in GROUPS:
        return KINDS.get(name) or GROUPS[name]
    graded = _DEGREE.fullmatch(name)
    if graded:
        return _MEASURED.get(graded[1], f"{graded[1].replace('_', ' ')}, {{}}%").format(graded[2])
    return name.replace("_", " ").replace("/", ": ")
