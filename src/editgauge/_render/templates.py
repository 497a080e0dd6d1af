"""The one set-up of the template engine for all pages: escaped, and strict about names that a page does not know."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from editgauge._render.text import percent


def open_templates(package: str) -> Environment:
    """The templates in the folder `templates` of a package. Callers add their own filters and values."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    return environment
