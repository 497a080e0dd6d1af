"""Difference captions: by the number of objects, by what was asked for, and by what people say of the edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from editgauge.analysis.caption_groups import COUNT, SHOWN, TOLD_NOTHING, caption_groups
from editgauge.analysis.caption_quality import OBJECTS, caption_quality
from editgauge.analysis.caption_quality_plot import caption_quality_svg
from editgauge.analysis.matching import scored_outcomes
from editgauge.reports.sections import TemplateSection

if TYPE_CHECKING:
    from editgauge.reports.context import Context

PROTOCOL = "difference-captions"


def _content(context: Context) -> dict[str, Any] | None:
    told = {
        spec.name
        for protocol, entry in context.run.manifest.protocols.items()
        if protocol.startswith(PROTOCOL)
        for spec in entry.scores
    }
    curves = caption_quality(context.run.folder) if OBJECTS in told else ()
    groups = caption_groups(context.run, scored_outcomes(context.run)) if COUNT in told else ()
    if not (curves or groups):
        return None
    return {
        "curves": [(each, Markup(caption_quality_svg(each))) for each in curves],  # noqa: S704
        "groups": groups,
        "columns": (*SHOWN, TOLD_NOTHING),
    }


section = TemplateSection("captions", "Difference captions", 53, _content)
