"""The pictures of a study, copied under names made of their content: no method's name is in them.

They are copied, not linked: what raters saw must stay what it was when a method's folder is written anew.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from editgauge.core.errors import BadInput
from editgauge.core.files import write_bytes
from editgauge.core.images import read_image, write_png

SHOWN_BY_BROWSERS = (".png", ".jpg", ".jpeg", ".webp", ".gif")


class PictureShelf:
    """Takes pictures in; the same content gets the same name, and is kept once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[Path, str] = {}

    def take(self, path: Path) -> str:
        """Copies a picture, and gives its new name. A format that browsers do not show becomes PNG."""
        if path not in self.names:
            self.names[path] = self._copy(path)
        return self.names[path]

    def _copy(self, path: Path) -> str:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise BadInput(
                f"The picture '{path}' cannot be read: {error.strerror or error}. Was it moved since the run?"
            ) from error
        name = hashlib.sha256(content).hexdigest()[:40]
        suffix = path.suffix.lower()
        target = self.folder / (name + (suffix if suffix in SHOWN_BY_BROWSERS else ".png"))
        if not target.exists():
            if suffix in SHOWN_BY_BROWSERS:
                write_bytes(target, content)
            else:
                write_png(read_image(path), target)
        return target.name
