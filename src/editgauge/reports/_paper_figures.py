"""Every plot of a report as a standalone file: SVG without a style sheet, and PDF if the extra is installed."""

from __future__ import annotations

import re
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from editgauge._util.progress import log_info
from editgauge.analysis.summary import ALL
from editgauge.reports._figures import plot_method_profile, plot_type_profile
from editgauge.reports.context import Context
from editgauge.reports.sections import edit_types
from editgauge.reports.sections.methods import plot_swept, swept

if TYPE_CHECKING:
    from collections.abc import Iterator

    from editgauge.reports._score_tables import ScoreTable
    from editgauge.results import Run

NAMESPACE = "http://www.w3.org/2000/svg"
FONTS = "'Bitstream Vera Sans', 'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif"
PDF_FONT = "Vera"
"""Part of reportlab; the standard fonts of PDF lack the minus sign."""
INK, SOFT, LINE, QUIET, ACCENT = "#1c2127", "#59636e", "#e2e6ea", "#aeb7c0", "#0b5a9c"
STYLES: dict[str, dict[str, str]] = {
    "label": {"text-anchor": "end", "fill": SOFT},
    "number": {"text-anchor": "end"},
    "absent": {"fill": SOFT, "font-style": "italic"},
    "track": {"stroke": LINE, "fill": "none"},
    "others": {"stroke": QUIET, "stroke-width": "5", "stroke-linecap": "round", "fill": "none"},
    "span": {"stroke": ACCENT, "stroke-width": "2", "fill": "none"},
    "dot": {"fill": ACCENT, "stroke": ACCENT, "stroke-width": "1.5"},
    "frame": {"stroke": QUIET, "fill": "none"},
    "end-label": {"fill": SOFT, "font-size": "10.5"},
    "last": {"text-anchor": "end"},
    "span unsure": {"stroke-dasharray": "2.5 2"},
    "dot unsure": {"fill": "#ffffff"},
}
"""The styles of plots on the page, in light colors; later ones take precedence."""


def write_figures(run: Run) -> dict[str, bytes]:
    """Return the figures of a paper, path to content; log which have no PDF."""
    context = Context(run)
    drawn = {f"figures/{name}": svg for table in context.tables for name, svg in _of_score(context, table)}
    files = {f"{name}.svg": standalone(svg) for name, svg in drawn.items()}
    convert = _converter()
    if convert is None:
        log_info("No PDF is made, only SVG: PDF needs svglib and reportlab, pip install 'editgauge[figures]'.")
        return files
    without = 0
    for name, svg in drawn.items():
        if pdf := convert(svg):
            files[f"{name}.pdf"] = pdf
        else:
            without += 1
    if without:
        log_info(f"{without} figures have no PDF, only SVG: the PDF font {PDF_FONT} lacks signs of a name in them.")
    return files


def _of_score(context: Context, table: ScoreTable) -> Iterator[tuple[str, str]]:
    folder = f"{_file_name(table.protocol)}-{_file_name(table.spec.name)}"
    yield f"{folder}/all-edits", plot_type_profile(table, context.methods, ALL)
    yield f"{folder}/heat-map", edit_types.draw(edit_types.heat_map(table, context.methods))
    for number, method in enumerate(context.methods, start=1):
        yield f"{folder}/method-{number}-{_file_name(method)}", plot_method_profile(table, context.methods, method)
    for kind in context.edit_types:
        if kind not in table.folded:
            yield f"{folder}/type-{_file_name(kind)}", plot_type_profile(table, context.methods, kind)
    for number, sweep in enumerate(swept(context.methods), start=1):
        name = f"sweep-{number}-{_file_name(sweep.method)}-{_file_name(sweep.option)}"
        yield f"{folder}/{name}", plot_swept(sweep, table, context.methods)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.=+-]+", "-", name).strip("-.")[:60] or "unnamed"


def standalone(svg: str, family: str = FONTS) -> bytes:
    """Return a plot of the page with its styles written into it, so that any program draws it the same."""
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(f'<svg xmlns="{NAMESPACE}"{svg.removeprefix("<svg")}')  # noqa: S314 - drawn by ourselves
    title = ElementTree.Element(f"{{{NAMESPACE}}}title")
    title.text = root.attrib.pop("aria-label")
    root.insert(0, title)
    root.attrib.pop("role")
    root.set("font-family", family)
    for element in root.iter():
        classes = element.attrib.pop("class", "").split()
        if element.tag.endswith("text"):
            element.attrib.setdefault("font-size", "11")
            element.attrib.setdefault("fill", INK)
        for names, style in STYLES.items():
            if set(names.split()) <= set(classes):
                element.attrib.update(style)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _converter() -> Any:
    """Return a function from a plot to a PDF (None if the font lacks a character); None without the extra."""
    try:
        read, draw = import_module("svglib.svglib").svg2rlg, import_module("reportlab.graphics.renderPDF").drawToString
        metrics, fonts = import_module("reportlab.pdfbase.pdfmetrics"), import_module("reportlab.pdfbase.ttfonts")
    except ImportError:
        return None
    setattr(import_module("reportlab.rl_config"), "invariant", 1)  # noqa: B010 - no time of day: a run gives the same bytes
    font = fonts.TTFont(PDF_FONT, f"{PDF_FONT}.ttf")
    metrics.registerFont(font)
    import_module("svglib.fonts").register_font(PDF_FONT)

    def convert(svg: str) -> bytes | None:
        content = standalone(svg, PDF_FONT)
        texts = (element.text or "" for element in ElementTree.fromstring(content).iter(f"{{{NAMESPACE}}}text"))  # noqa: S314
        if any(ord(sign) not in font.face.charToGlyph for text in texts for sign in text):
            return None
        made: bytes = draw(read(BytesIO(content)))
        return made

    return convert
