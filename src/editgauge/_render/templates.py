"""The template engine of all pages: escaping, and strict about undefined names."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from editgauge._render.text import percent


def open_templates(package: str) -> Environment:
    """Open the templates in the folder `templates` of a package; callers add filters and globals."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    return environment
