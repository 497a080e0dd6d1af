"""Difference captions: by the number of objects, by what was asked for, and by what people say of the edit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from editgauge.analysis.captions import (
    COUNT,
    NONE_NAMED,
    OBJECTS,
    SHOWN,
    CaptionCurve,
    CaptionGroup,
    caption_groups,
    caption_quality,
)
from editgauge.analysis.outcomes import scored_outcomes
from editgauge.reports._figures import CAPTION_STYLE, caption_quality_svg
from editgauge.reports.sections.standard import NUMBERS, TemplateSection

if TYPE_CHECKING:
    from editgauge.reports.context import Context

PROTOCOL = "difference-captions"


def _content(context: Context) -> dict[str, Any] | None:
    content = {
        spec.name
        for protocol, entry in context.run.manifest.protocols.items()
        if protocol.startswith(PROTOCOL)
        for spec in entry.scores
    }
    curves = caption_quality(context.run.folder) if OBJECTS in content else ()
    groups = caption_groups(context.run, scored_outcomes(context.run)) if COUNT in content else ()
    if not (curves or groups):
        return None
    return {
        "curves": [(each, _drawn(each)) for each in curves],
        "grouped": _tables(groups),
        "columns": (*SHOWN, NONE_NAMED),
    }


def _drawn(curve: CaptionCurve) -> Markup:
    """The plot without a style of its own: the page's policy refuses it, and the page's style knows both themes."""
    return Markup(caption_quality_svg(curve).replace(f"<style>{CAPTION_STYLE}</style>", ""))  # noqa: S704


def _tables(groups: Sequence[CaptionGroup]) -> dict[tuple[str, str], list[CaptionGroup]]:
    """The groups of every judge and method: first those by action, then those by what people say."""
    together = groupby(groups, key=lambda group: (group.protocol, group.method))
    return {key: sorted(rows, key=lambda group: group.name.startswith("people: ")) for key, rows in together}


section = TemplateSection("captions", "Difference captions", 53, _content, NUMBERS)
