"""Styles, scripts and security policy of every page, and the marker that identifies a report."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from editgauge import __version__
from editgauge._util.files import open_regular
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

GENERATOR = Markup('<meta name="generator" content="EditGauge report">')
"""Marks pages that EditGauge wrote and may overwrite."""


def page_in(folder: str | Path, name: str) -> Path:
    """Return the path of a page in a folder.

    Raises:
        BadInputError: if it cannot be written there.
    """
    if Path(folder).is_file():
        raise BadInputError(f"'{folder}' is a file; give a folder for {name}.")
    page = Path(folder) / name
    check_page_file(page)
    return page


def claim_html_file(file: Path, option: str, example: str) -> None:
    """Raise `BadInputError` if the file is no .html file, or exists and is not a report."""
    if file.suffix.lower() not in {".html", ".htm"} or file.is_dir():
        raise BadInputError(f"{option} writes one .html file, and '{file}' is not one; try '{file / example}'.")
    check_page_file(file)


def check_page_file(file: Path) -> None:
    """Raise `BadInputError` if the file exists and is not a report."""
    if not file.exists():
        return
    with open_regular(file) as opened:
        ours = GENERATOR.encode() in opened.read(2_000)
    if not ours:
        raise BadInputError(f"'{file}' is not a report; choose a new file, it would be overwritten.")


def frame(images: str, styles: Sequence[str], scripts: Sequence[str]) -> dict[str, str]:
    """Return the variables of every page template."""
    style, early, script = joined("style", styles, "css"), asset("script/early.js"), joined("script", scripts, "js")
    return {
        "policy": policy(images, style, early, script),
        "generator": GENERATOR,
        "style": style,
        "early": early,
        "script": script,
        "version": __version__,
    }


def policy(images: str, style: str, *scripts: str) -> str:
    """Return the content security policy: only these scripts may run, and no request can leave the page."""
    allowed = " ".join(map(_pinned, scripts))
    return (
        f"default-src 'none'; {images}; style-src {_pinned(style)}; "
        f"script-src {allowed}; base-uri 'none'; form-action 'none'"
    )


def joined(folder: str, names: Sequence[str], ending: str) -> Markup:
    """Join files of this package."""
    return Markup("\n").join(asset(f"{folder}/{name}.{ending}") for name in names)


def asset(name: str) -> Markup:
    """Read a file of this package."""
    text = (resources.files(__package__ or "") / "templates" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of this package


def _pinned(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
