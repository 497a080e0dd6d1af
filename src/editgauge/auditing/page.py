"""The card as a web page: a table over all protocols, each score in full, and the worst failures with pictures."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from editgauge import __version__
from editgauge.auditing.probes import EDITS, OUTCOMES
from editgauge.core.files import write_bytes
from editgauge.core.images import read_image
from editgauge.reports.assets import GENERATOR, asset, joined, policy, refuse_a_page_of_others
from editgauge.reports.pictures import fitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge.analysis.resampling import Estimate
    from editgauge.auditing.failures import Failure
    from editgauge.auditing.result import Card

PAGE = "index.html"
STYLES = ("base", "tables", "media")
SMALL = 220
"""Pixels of the longer side of a picture in the page."""
KINDS = {
    "nothing": "nothing done",
    "wrong_value": "another value or side",
    "wrong_object": "another object",
    "another_photograph": "another photograph",
    "black": "a black picture",
    "swapped": "pictures swapped",
    "another_instruction": "another instruction",
}
GROUPS = {"rest": "rest disturbed", "artifact": "artifacts", "sent": "JPEG, shift"}
"""What the groups of graded families are called on the page; others keep their names."""


def write_page(card: Card, probes: Path, folder: Path) -> Path:
    """Writes the page of a card, pictures inside, and gives its path."""
    page = folder / PAGE
    refuse_a_page_of_others(page)
    style, early = joined("style", STYLES, "css") + Markup("\n") + _own("card.css"), asset("script/early.js")
    theme = asset("script/theme.js")
    content = (
        _templates()
        .get_template("card.html.j2")
        .render(
            card=card,
            heads=[each for each in card.scores if (each.protocol, each.name) in card.headlines],
            kinds=KINDS,
            groups=GROUPS,
            failures={name: [_shown(each, probes) for each in these] for name, these in card.failures.items() if these},
            version=__version__,
            policy=policy("img-src data:", style, early, theme),
            generator=GENERATOR,
            style=style,
            early=early,
            theme=theme,
        )
    )
    write_bytes(page, content.encode("utf-8", "replace"))
    return page


def _templates() -> Environment:
    loader = PackageLoader("editgauge.auditing", "templates")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.filters |= {"share": share, "spaced": lambda word: str(word).replace("_", " ")}
    found.globals |= {"place": place}
    return found


def share(value: float | None, digits: int = 2) -> str:
    """A number of the card, short."""
    return "–" if value is None else f"{value:.{digits}f}"


def place(estimate: Estimate) -> Mapping[str, float] | None:
    """Where a share and its interval lie on a line of a hundred units; None without a number."""
    if estimate.value is None:
        return None
    low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
    return {"at": 100 * estimate.value, "low": 100 * low, "high": 100 * high}


def _own(name: str) -> Markup:
    source = Path(__file__).parent / "templates" / name
    return Markup(source.read_text("utf-8"))  # noqa: S704 - a file of this package


def _shown(failure: Failure, probes: Path) -> dict[str, Any]:
    edit = _edits(probes)[failure.probe]
    return {
        "failure": failure,
        "instruction": edit["instruction"],
        "kind": KINDS.get(failure.kind, failure.kind.replace("_", " ")),
        "source": _data(probes / edit["source"]),
        "edited": _data(probes / OUTCOMES / f"{failure.probe}.png"),
    }


def _edits(probes: Path) -> dict[str, dict[str, Any]]:
    lines = (probes / EDITS).read_text("utf-8").split("\n")
    return {edit["id"]: edit for edit in map(json.loads, filter(None, lines))}


def _data(path: Path) -> str:
    small = fitted(read_image(path), SMALL)
    _, file = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 82])
    return "data:image/jpeg;base64," + base64.b64encode(file.tobytes()).decode()
