"""Reports: tables and images of a run. A report consists of sections, and plug-ins can add some."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING

from editgauge._util.registry import Registry

if TYPE_CHECKING:
    from markupsafe import Markup

    from editgauge.reports.context import Context


class Section(typing.Protocol):
    """A part of the report with a heading and an entry in the navigation."""

    @property
    def name(self) -> str:
        """The anchor in the page: `#name`."""
        ...

    @property
    def title(self) -> str:
        """The heading."""
        ...

    @property
    def order(self) -> float:
        """Position among all sections; the built-in ones have 10, 20, 30 and so on."""
        ...

    # An attribute `tab: str` names a tab that it shares with other sections; without it, it gets one by itself.

    def render(self, context: Context) -> Markup | None:
        """Render the content below the heading; None leaves the section out."""
        ...


BUILT_IN = {
    "overview": "editgauge.reports.sections.standard:overview",
    "gallery": "editgauge.reports.sections.standard:gallery",
    "verdicts": "editgauge.reports.sections.verdicts:section",
    "heat_map": "editgauge.reports.sections.edit_types:section",
    "edit_types": "editgauge.reports.sections.standard:edit_types",
    "groups": "editgauge.reports.sections.standard:groups",
    "methods": "editgauge.reports.sections.standard:methods",
    "sweep": "editgauge.reports.sections.methods:sweep_section",
    "side_by_side": "editgauge.reports.sections.numbers:side_by_side",
    "variants": "editgauge.reports.sections.methods:variants_section",
    "summary": "editgauge.reports.sections.standard:summary",
    "aggregations": "editgauge.reports.sections.numbers:aggregations_section",
    "trials": "editgauge.reports.sections.numbers:trials",
    "turns": "editgauge.reports.sections.numbers:turns_section",
    "captions": "editgauge.reports.sections.numbers:captions_section",
    "sets": "editgauge.reports.sections.standard:sets",
    "agreement": "editgauge.reports.sections.standard:agreement",
    "checklist": "editgauge.reports.sections.checklist:checklist",
    "judges": "editgauge.reports.sections.judges:section",
    "unscored": "editgauge.reports.sections.standard:unscored",
    "measured": "editgauge.reports.sections.standard:measured",
    "profile": "editgauge.reports.sections.time:time_section",
}

report_sections: Registry[Section] = Registry("report_section", BUILT_IN)
