"""Pages out: templates, filled."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse

from editgauge import __version__
from editgauge._render.templates import open_templates
from editgauge._util.images import image_size
from editgauge._util.text import format_count


class Renderer:
    """Fills templates with what is the same on every page, and what a page adds."""

    def __init__(self, title: str) -> None:
        self._environment = open_templates("editgauge.studies.web")
        self._environment.filters.update(paragraphs=paragraphs, moment=moment, duration=duration)
        self._environment.globals.update(study_title=title, version=__version__, size_of=size_of)

    def page(self, template: str, code: int = 200, **words: Any) -> HTMLResponse:
        """Render a template as a response."""
        return HTMLResponse(self._environment.get_template(f"{template}.html.j2").render(words), code)


def paragraphs(text: str) -> list[str]:
    r"""Split a text at blank lines.

    >>> paragraphs("One\nand the same.\n\nTwo.")
    ['One and the same.', 'Two.']
    """
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def moment(seconds: float) -> str:
    """Format a timestamp in UTC.

    >>> moment(0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def duration(seconds: float) -> str:
    """Format a duration.

    >>> duration(90), duration(7300), duration(200_000)
    ('2 minutes', '2 hours', '2 days')
    """
    for unit, size in (("day", 86_400), ("hour", 3_600)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return format_count(max(1, round(seconds / 60)), "minute")


@lru_cache(maxsize=4096)
def size_of(path: Path) -> tuple[int, int]:
    """Width and height of a picture as browsers show it, so that a page does not jump while it loads."""
    return image_size(path)
