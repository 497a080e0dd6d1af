"""Difference captions in pictures with few objects and with many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from editgauge.analysis.caption_quality import OBJECTS, caption_quality
from editgauge.analysis.caption_quality_plot import caption_quality_svg
from editgauge.reports.sections import TemplateSection

if TYPE_CHECKING:
    from editgauge.reports.context import Context

PROTOCOL = "difference-captions"


def _content(context: Context) -> dict[str, Any] | None:
    counts = any(
        protocol.startswith(PROTOCOL) and any(spec.name == OBJECTS for spec in entry.scores)
        for protocol, entry in context.run.manifest.protocols.items()
    )
    curves = caption_quality(context.run.folder) if counts else ()
    return {"curves": [(each, Markup(caption_quality_svg(each))) for each in curves]} if curves else None  # noqa: S704


section = TemplateSection("captions", "Difference captions", 53, _content)
