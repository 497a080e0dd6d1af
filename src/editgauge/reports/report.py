"""The verb `report`: a run as one folder of web pages that opens from disk, or as a single file."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path, PosixPath, WindowsPath
from typing import Any, NamedTuple

from markupsafe import Markup

from editgauge._render import text
from editgauge._util.files import write_bytes, write_json
from editgauge._util.progress import log_info
from editgauge.analysis.agree import agree
from editgauge.analysis.summary import ALL, MEAN_COLUMNS, mean_row
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.reports import report_sections
from editgauge.reports._gallery import MAX_EMBEDDED_OUTCOMES, Gallery, worst_edits
from editgauge.reports.context import Context
from editgauge.reports.images import Album, EmbeddedAlbum
from editgauge.reports.pages import claim_html_file, frame
from editgauge.results import Run, RunSource

MARKER = "editgauge-report.json"
"""Marks folders that EditGauge wrote and may overwrite."""
OURS = "editgauge"
PAGE = "index.html"
IMAGE_FOLDER = "pictures"
STYLES = ("base", "first", "tables", "plots", "failures", "people", "gallery", "scatter", "maps", "dialog", "media")
SCRIPTS = (
    *("elements", "tabs", "address", "theme", "scores", "pictures", "maps", "cards", "filters", "virtual", "dialog"),
    *("keys", "extras", "start"),
)


if sys.platform == "win32":
    _PathOfThisSystem = WindowsPath
else:
    _PathOfThisSystem = PosixPath


class ReportPage(_PathOfThisSystem):
    """The path of a report's page; in a notebook, a link and the page itself."""

    def _repr_html_(self) -> str:
        link = Markup('<p>Report: <a href="{}">{}</a></p>').format(self.absolute().as_uri(), self)
        if not self.absolute().is_relative_to(Path.cwd()):
            return link  # a notebook server shows nothing from outside its folder
        inside = self.absolute().relative_to(Path.cwd()).as_posix()
        return link + Markup('<iframe src="{}" width="100%" height="600"></iframe>').format(inside)


class PageSection(NamedTuple):
    """A section that has something to show."""

    order: float
    name: str
    title: str
    content: Markup
    tab: str
    """The tab that holds the section."""


class Tab(NamedTuple):
    """A tab of the report with its sections."""

    title: str
    parts: list[PageSection]

    @property
    def name(self) -> str:
        """The anchor by which the address knows it: that of its first section."""
        return self.parts[0].name


def report(
    run: RunSource,
    *,
    out: str | Path,
    quiet: bool = False,
    single_file: bool = False,
    ratings: str | Path | None = None,
    choices: str | Path | None = None,
    triplets: str | None = None,
    judge_choices: Sequence[str | Path] = (),
    wandb: str | None = None,
) -> ReportPage:
    """Write a report of a run that opens in any browser, straight from disk.

    Run again for the same folder, it updates the report; unchanged images are not written again. The pages load
    nothing from the network.

    Example:
        $ editgauge report run --out report
        $ editgauge report run --out report --ratings ratings.csv
        >>> editgauge.report("run", out="report")

    Args:
        run: run folder, finished or not, or an open run.
        out: folder for the report: new, empty, or an earlier report. With `single_file` the .html file.
        quiet: print no progress or remarks.
        single_file: one .html file with small images inside, to send around; images of at most 1,500 outcomes, those
            of the worst edits.
        ratings: people's ratings, in the format that `editgauge agree` reads.
        choices: people's choices between two outcomes, in the format that `editgauge agree` reads.
        triplets: `good=METHOD,preserved=METHOD,modified=METHOD`, as in `editgauge agree`.
        judge_choices: file that `editgauge prefer` wrote; repeat for several judges.
        wandb: also log the means to this Weights & Biases project; needs `pip install 'editgauge[wandb]'`.

    """
    opened = Run.open(run)
    has_answers = ratings is not None or choices is not None or triplets is not None
    agreement = (
        agree(opened, ratings=ratings, choices=choices, score=(), triplets=triplets, judge_choices=judge_choices)
        if has_answers
        else None
    )
    context = Context(opened, agreement=agreement)
    page = _single_file(context, Path(out), quiet=quiet) if single_file else _folder(context, Path(out), quiet=quiet)
    if wandb is not None:
        log_means(context, wandb)
    return ReportPage(page)


def _folder(context: Context, folder: Path, *, quiet: bool) -> Path:
    _claim_folder(folder)
    album = Album(folder / IMAGE_FOLDER)
    page = _page(context, Gallery(context, album), "img-src 'self' file: data:", quiet=quiet)
    write_bytes(folder / PAGE, page)  # last: what it shows is there by now
    album.finish()
    return folder / PAGE


def _single_file(context: Context, file: Path, *, quiet: bool) -> Path:
    claim_html_file(file, "`single_file`", "report.html")
    note, selected = "This single file holds small images only.", None
    if context.counts.outcomes > MAX_EMBEDDED_OUTCOMES:
        selected = frozenset(worst_edits(context, MAX_EMBEDDED_OUTCOMES))
        by = f"the worst by {context.headlines[0][1]}" if context.headlines else "the first"
        note += (
            f" It has those of {len(selected):,} of {len(context.by_edit):,} edits, {by}; the others have numbers only."
        )
        log_info(f"{note} A report folder shows all: leave out `single_file`.", quiet=quiet)
    context = replace(context, gallery_note=note)
    gallery = Gallery(context, EmbeddedAlbum(), with_pictures=selected)
    write_bytes(file, _page(context, gallery, "img-src data:", quiet=quiet))
    return file


def _claim_folder(folder: Path) -> None:
    """Check that the folder is new, empty or a report."""
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"'{folder}' is a file; pass a folder for the report, or `single_file=True`.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise BadInputError(f"'{folder}' is not empty and not a report; choose a new folder, it would be overwritten.")
    write_json(folder / MARKER, {"made_by": "editgauge report", "schema": 1})


def _page(context: Context, gallery: Gallery, images: str, *, quiet: bool) -> bytes:
    page = context.render(
        "index.html.j2",
        tabs=_tabs(_parts(context)),
        damage=text.without_folders(gallery.marks.problem),
        data=gallery.data(quiet=quiet),
        **frame(images, STYLES, SCRIPTS),
    )
    return page.encode("utf-8", "replace")


def _tabs(parts: list[PageSection]) -> list[Tab]:
    """Return the tabs in the order of their first sections."""
    tabs: dict[str, Tab] = {}
    for part in parts:
        tabs.setdefault(part.tab, Tab(part.tab, [])).parts.append(part)
    return list(tabs.values())


def _parts(context: Context) -> list[PageSection]:
    """Return all sections with content; a plug-in section that fails is replaced by its error."""
    by_name: dict[str, PageSection] = {}
    for name in sorted(report_sections, key=lambda name: report_sections.origin(name) != OURS):
        try:
            part = _part(name, context)
            if part and part.name in by_name:
                raise ValueError(f"there is a section '{part.name}' already")
        except Exception as error:
            if report_sections.origin(name) == OURS:
                raise
            part = PageSection(math.inf, f"failed-{name}", text.spaced(name), _failure(name, error), text.spaced(name))
        if part:
            by_name[part.name] = part
    return sorted(by_name.values(), key=lambda part: part.order)


def _part(name: str, context: Context) -> PageSection | None:
    section = report_sections.get(name)
    content = section.render(context)
    if content is None:
        return None
    tab = getattr(section, "tab", "") or section.title
    return PageSection(section.order, section.name, section.title, Markup.escape(content), tab)


def _failure(name: str, error: Exception) -> Markup:
    message = error if isinstance(error, EditGaugeError) else f"{type(error).__name__}: {error}"
    form = Markup('<p class="warning">This section, from {}, could not be made. {}</p>')
    return form.format(report_sections.origin(name), text.without_folders(str(message)))


def log_means(context: Context, project: str) -> None:
    """Log every mean as a table, and those over all edits by name, in a new run."""
    try:
        wandb: Any = import_module("wandb")
    except ImportError as error:
        raise BadInputError(
            "Logging to Weights & Biases needs its library: pip install 'editgauge[wandb]'. "
            "The report itself is written; leave out `wandb` to do without."
        ) from error
    manifest = context.run.manifest
    settings = {"benchmark": manifest.benchmark, "edits_sha256": manifest.edits_sha256, "seed": manifest.seed}
    settings |= {"protocols": {name: entry.version for name, entry in manifest.protocols.items()}}
    with wandb.init(project=project, config={**settings, "models": manifest.models}, job_type="editgauge") as logged:
        logged.log({"means": wandb.Table(columns=list(MEAN_COLUMNS), data=[*map(mean_row, context.cells)])})
        for cell in context.cells:
            if cell.edit_type == ALL and cell.mean:
                logged.summary[f"{cell.protocol}/{cell.spec.name}/{cell.method}"] = cell.mean.value
