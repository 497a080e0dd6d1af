"""The verb `report`: a run as one folder of web pages that opens from disk."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from editgauge.analysis.intervals import LEVEL, RESAMPLES
from editgauge.analysis.summary import ALL, FEW_SOURCES, edit_types, summarise
from editgauge.core.errors import BadInput
from editgauge.core.files import write_bytes, write_json
from editgauge.core.run import Run
from editgauge.reports import words
from editgauge.reports.gallery import Gallery
from editgauge.reports.outcomes import ScoredOutcome, collect, missing_scores
from editgauge.reports.pictures import Album
from editgauge.reports.tables import SHADES, headlines, overview, score_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKER = "editgauge-report.json"
"""Tells a folder of ours, which may be refreshed, from anybody else's, which may not be touched."""
PAGE = "index.html"
PICTURES = "pictures"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many outcomes have all scores, some, or none, and how many records are still to come."""

    scored: int
    partly: int
    unscored: int
    records: int
    planned: int

    @property
    def outcomes(self) -> int:
        """All outcomes of the run so far."""
        return self.scored + self.partly + self.unscored

    @classmethod
    def of(cls, outcomes: Sequence[ScoredOutcome], planned: int) -> Counts:
        """Counts them."""
        found = [outcome.status for outcome in outcomes]
        each = (found.count("scored"), found.count("partly scored"), found.count("unscored"))
        return cls(*each, sum(len(outcome.protocols) for outcome in outcomes), planned)


def report(run: str | Path, out: str | Path, quiet: bool = False) -> Path:
    """Writes a run as a folder of web pages that opens from disk, and gives the path of its first page.

    Given again for the same folder it refreshes it. Nothing in the page asks anything of the network.

    Args:
        run: the run folder, finished or not.
        out: the folder to write; new, empty, or an earlier report.
        quiet: no progress.
    """
    opened, folder = Run.open(Path(run)), Path(out)
    _claim(folder)
    content = _content(opened, album := Album(folder / PICTURES), quiet)
    write_bytes(folder / PAGE, _render(content).encode("utf-8", "replace"))  # last: what it shows is there by now
    album.remove_unused()
    return folder / PAGE


def _claim(folder: Path) -> None:
    """Refuses a folder that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"'{folder}' is a file; give a folder for the report.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise BadInput(f"'{folder}' is not empty and not a report; choose a new folder, it would be overwritten.")
    write_json(folder / MARKER, {"made_by": "editgauge report", "schema": 1})


def _content(run: Run, album: Album, quiet: bool) -> dict[str, Any]:
    """Everything the template shows."""
    methods, types, cells = list(run.manifest.methods), edit_types(run), summarise(run)
    tables, by_edit = score_tables(cells, methods, types), collect(run)
    outcomes = [outcome for group in by_edit.values() for outcome in group]
    return {
        "manifest": run.manifest,
        "methods": methods,
        "edit_types": types,
        "counts": Counts.of(outcomes, run.planned),
        "overview": overview(cells, methods),
        "of_method": {
            method: Counts.of([outcome for outcome in outcomes if outcome.method == method], 0) for method in methods
        },
        "tables": tables,
        "missing": missing_scores(outcomes),
        "gallery": Gallery(run, by_edit, tables).data(album, headlines(cells), quiet),
    }


def _render(content: dict[str, Any]) -> str:
    """The page. Every text of the run is escaped by the template engine; style and script are ours, and pinned."""
    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"spaced": words.spaced, "plain": words.plain, "meaning": words.meaning}
    style, script = _asset("style.css"), _asset("page.js")
    constants = {"ALL": ALL, "FEW_SOURCES": FEW_SOURCES, "LEVEL": LEVEL, "RESAMPLES": RESAMPLES, "SHADES": SHADES}
    return environment.get_template("index.html.j2").render(
        **content, **constants, counted=words.counted, policy=_policy(style, script), style=style, script=script
    )


def _asset(name: str) -> Markup:
    text = (resources.files(__package__ or "") / "templates" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of this package


def _policy(style: str, script: str) -> str:
    """Only this very style and script, and pictures of this folder; no request can leave the page."""
    pinned = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; img-src 'self' file: data:; style-src 'sha256-{pinned[0]}'; "
        f"script-src 'sha256-{pinned[1]}'; base-uri 'none'; form-action 'none'"
    )
