"""The built-in sections of a report, one module per tab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

    from editgauge.reports.context import Context

Content = dict[str, Any]
"""Variables of a template."""
EDIT_TYPES, METHODS, NUMBERS, SETUP = "Edit types", "Methods", "Numbers", "Setup"
"""Tabs that hold several sections."""


@dataclass(frozen=True, slots=True)
class TemplateSection:
    """A section that renders its template with the result of `content`; left out if that is None."""

    name: str
    title: str
    order: float
    content: Callable[[Context], Content | None]
    tab: str = ""
    """A tab shared with other sections; if empty, the section gets its own."""

    def render(self, context: Context) -> Markup | None:
        """Render the content below the heading."""
        content = self.content(context)
        return None if content is None else context.render(f"{self.name}.html.j2", **content)
