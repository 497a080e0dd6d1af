"""Telling a method in other words than its own: another form, another set of templates, templates of one's own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge.core.errors import UnknownName
from editgauge.methods.prompts import FORMS, Prompt, render
from editgauge.methods.prompts.families import USUAL_TOKEN
from editgauge.methods.prompts.files import check_choice

if TYPE_CHECKING:
    from editgauge.core.types import Edit
    from editgauge.methods import Method

USUAL_FORM = "instruction"
USUAL_TEMPLATE = "plain"


@dataclass(frozen=True, slots=True)
class Told:
    """An edit as a method is handed it, and what is to be remembered of its words."""

    edit: Edit
    prompt: Prompt
    templates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wording:
    """What was asked for in place of a method's own way to be told; nothing by default."""

    form: str | None = None
    template: str | None = None
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.form is not None and self.form not in FORMS:
            raise UnknownName("form of prompt", self.form, FORMS)
        check_choice(self.template or USUAL_TEMPLATE, self.folder)

    def tell(self, method: Method, edit: Edit) -> Told:
        """The edit in these words: whatever form the method reads it in, they are its own words from now on."""
        if not (self.form or self.template or self.folder):
            prompt = method.prompt(edit)
            return Told(edit, prompt, prompt.templates)
        wanted = render(
            edit,
            self.form or method.form or USUAL_FORM,
            self.template or USUAL_TEMPLATE,
            token=method.token or USUAL_TOKEN,
            folder=self.folder,
        )
        source = wanted.source or edit.source_caption
        reworded = replace(edit, instruction=wanted.text, target_caption=wanted.text, source_caption=source)
        return Told(reworded, method.prompt(reworded), wanted.templates)

    def describe(self) -> dict[str, Any]:
        """What the words were made with; templates of one's own by their content."""
        return {
            "form": self.form,
            "template": self.template,
            "prompts_sha256": _digest(self.folder) if self.folder else None,
        }


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*/*.txt")):
        digest.update(f"{file.relative_to(folder).as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()
