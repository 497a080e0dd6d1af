"""Telling a method in other words than its own: another form, another set of templates, templates of one's own."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge.errors import BadInputError, UnknownNameError
from editgauge.methods.prompts import FORMS, MethodPrompt, render
from editgauge.methods.prompts._templates import DEFAULT_SET, DEFAULT_TOKEN, check_choice, set_names

if TYPE_CHECKING:
    from editgauge.methods import Method
    from editgauge.types import Edit

DEFAULT_FORM = "instruction"


@dataclass(frozen=True, slots=True)
class PromptedEdit:
    """An edit as a method is handed it, and what is to be remembered of its words."""

    edit: Edit
    prompt: MethodPrompt
    templates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """The prompt form that replaces the method's own; none by default."""

    form: str | None = None
    template: str | None = None
    folder: Path | None = None
    overrides: bool = False
    """Whether the templates come before the words that a benchmark has for an edit."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Prompts written out, by the key of `edit_key`; they come before all templates."""
    file: Path | None = None
    """Where they were read."""

    def __post_init__(self) -> None:
        if self.form is not None and self.form not in FORMS:
            raise UnknownNameError("form of prompt", self.form, FORMS)
        check_choice(self.template or DEFAULT_SET, self.folder)

    def tell(self, method: Method, edit: Edit) -> PromptedEdit:
        """Return the edit with the rendered prompt as its instruction and captions."""
        if not (self.form or self.template or self.folder or self.file):
            prompt = method.prompt(edit)
            return PromptedEdit(edit, prompt, prompt.templates)
        prompt = self._written_out(edit) or render(
            edit,
            self.form or method.form or DEFAULT_FORM,
            self.template or DEFAULT_SET,
            token=method.token or DEFAULT_TOKEN,
            folder=self.folder,
            overrides=self.overrides,
        )
        source = prompt.source or edit.source_caption
        reworded = replace(edit, instruction=prompt.text, target_caption=prompt.text, source_caption=source)
        return PromptedEdit(reworded, method.prompt(reworded), prompt.templates)

    def _written_out(self, edit: Edit) -> MethodPrompt | None:
        if self.file is None:
            return None
        text = self.written.get(edit_key(edit))
        if text is None:
            raise BadInputError(f"'{self.file}' has no prompt for the edit '{edit.id}'.")
        return MethodPrompt(text, templates=(self.file.name,))

    def describe(self) -> dict[str, Any]:
        """Describe what the prompts were made with; custom templates by their content hash."""
        return {
            "form": self.form,
            "template": self.template,
            "prompts_sha256": _digest(self.folder) if self.folder else _digest_of(self.file),
        }


def read_wording(form: str | None, template: str | None, prompts: str | Path | None) -> PromptOptions:
    """How a method is prompted: `prompts` is a set of templates by name, a folder of templates, or a CSV of prompts.

    What is chosen by `prompts` comes before a benchmark's own words.
    """
    if prompts is None:
        return PromptOptions(form, template)
    path = Path(prompts)
    if str(prompts) in set_names() and not path.is_dir():
        if template is not None:
            raise BadInputError(
                f"`prompts` ({prompts}) and `template` ({template}) both choose a set of templates; pass one."
            )
        return PromptOptions(form, str(prompts), overrides=True)
    if path.suffix.lower() == ".csv":
        return PromptOptions(form, template, written=read_prompt_file(path), file=path)
    if not path.is_dir():
        raise BadInputError(
            f"`prompts` takes {', '.join(sorted(set_names()))}, a folder of templates or a CSV of prompts; "
            f"there is nothing at '{prompts}'."
        )
    return PromptOptions(form, template, path, overrides=True)


WRITTEN_COLUMNS = ("edit_type", "category", "image_id", "to_attribute", "instruction_prompt")
"""As PixLens writes its edits."""


def read_prompt_file(file: Path) -> dict[str, str]:
    """Read prompts from a CSV as PixLens writes it, one row per edit, by type, class, image and target."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.DictReader(opened)
            missing = [column for column in WRITTEN_COLUMNS if column not in (rows.fieldnames or ())]
            if missing:
                raise BadInputError(f"'{file}' lacks the columns {', '.join(missing)} of a CSV of prompts.")
            return {
                _key(*(row[column] or "" for column in WRITTEN_COLUMNS[:4])): row["instruction_prompt"] for row in rows
            }
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInputError(f"'{file}' cannot be read as a CSV of prompts: {error}.") from error


def edit_key(edit: Edit) -> str:
    """By what an edit is known in a CSV of prompts."""
    extras = edit.extras
    subject = str(extras.get("class") or edit.subject or "")
    return _key(edit.type, subject, str(extras.get("image_id", edit.source.name)), str(extras.get("to", edit.to or "")))


def _key(kind: str, subject: str, image: str, to: str) -> str:
    return "/".join((kind.replace("-", "_"), subject.replace("_", " "), image.lstrip("0"), to))


def _digest_of(file: Path | None) -> str | None:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file else None


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*/*.txt")):
        digest.update(f"{file.relative_to(folder).as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()
