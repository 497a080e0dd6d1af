"""Prompts of methods: an edit as an instruction, a caption, two captions, or a caption with a learned token.

An edit's own words are used as they are; where it has none, they are made from its parts by text templates, one per
edit type (EditVal, table 3 and appendix I: one operation, worded for each family of methods). A set of templates chosen
by name, and a custom folder, take precedence over an edit's own words where `overrides` says so.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from editgauge._util.text import article
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.methods._prompt_templates import (
    DEFAULT_SET,
    DEFAULT_TOKEN,
    Family,
    Form,
    check_choice,
    expand_template,
    families,
    family,
    find_template,
    has_determiner,
    has_template,
    missing_parts,
    normalize_text,
    noun,
    set_names,
)
from editgauge.types import Edit, Position, Relation

if TYPE_CHECKING:
    from editgauge.methods import Method

__all__ = [
    "FORMS",
    "Family",
    "Form",
    "MethodPrompt",
    "PromptOptions",
    "families",
    "family",
    "read_wording",
    "render",
    "render_for",
]

FORMS: tuple[Form, ...] = get_args(Form)
TEXT_FIELDS = {"instruction": "instruction", "caption": "target_caption", "source": "source_caption"}
"""What an edit may bring itself in place of each kind of template."""


ANNOTATED_SETS = frozenset({"unibench"})
"""Template sets of benchmarks whose captions are annotated: their captions serve edits that have none."""


@dataclass(frozen=True, slots=True)
class MethodPrompt:
    """The prompt of a method for an edit."""

    text: str
    source: str | None = None
    """The caption of the source image, for methods that want both."""
    templates: tuple[str, ...] = ()
    """The template files that made it; none when the edit's own words are used."""
    rewriter: str | None = None
    """Who rewrote the edit's instruction, where a prompt file says so."""


def render(
    edit: Edit,
    form: str,
    template: str = DEFAULT_SET,
    *,
    token: str = DEFAULT_TOKEN,
    folder: Path | str | None = None,
    overrides: bool = False,
) -> MethodPrompt:
    """Render the prompt for an edit.

    Args:
        edit: What is asked for.
        form: `instruction`, `caption`, `captions` (of source and target) or `token` (a caption with a learned token).
        template: The built-in set of templates.
        token: The learned token, for the form `token`.
        folder: Templates of your own; those it lacks come from the built-in set.
        overrides: Whether the templates of the folder, or without one of the set, come before the edit's own words.

    """
    if form not in FORMS:
        raise UnknownNameError("form of prompt", form, FORMS)
    folder = Path(folder) if folder else None
    check_choice(template, folder)
    writer = _Writer(edit, template, folder, overrides)
    if form == "instruction":
        return _prompt(writer.words("instruction", edit.instruction))
    if form == "token":
        if not token.strip():
            raise BadInputError("The learned token is empty; give one, such as 'sks'.")
        return _prompt(writer.words("caption", caption_with_token(token.strip(), edit), token.strip()))
    target = writer.words("caption", edit.target_caption)
    if form == "caption":
        return _prompt(target)
    return _prompt(target, writer.words("source", edit.source_caption))


def render_for(
    edit: Edit,
    method: str,
    *,
    form: str | None = None,
    template: str | None = None,
    token: str | None = None,
    folder: Path | str | None = None,
) -> MethodPrompt:
    """Render the prompt for a known family of methods; arguments override the family's defaults."""
    row = family(method)
    token = token if token is not None else row.token or DEFAULT_TOKEN
    return render(edit, form or row.form, template or row.template, token=token, folder=folder)


Phrase = Callable[[Relation, str], str]
"""A relation and its anchor, which may be empty, as words; empty when the relation cannot do without an anchor."""
Made = tuple[str, str | None]
"""A text, and the template that made it, if one did."""


@dataclass(frozen=True, slots=True)
class _Writer:
    edit: Edit
    template: str
    folder: Path | None
    overrides: bool

    def words(self, kind: str, edit_text: str | None, token: str | None = None) -> Made:
        """Return the edit's text, or render a template if it has none or templates take precedence."""
        annotated = kind != "instruction" and not self.folder and self.template in ANNOTATED_SETS
        use_template = (
            self.overrides and not annotated and has_template(self.template, kind, self.edit.type, self.folder)
        )
        return (_given(edit_text) if not use_template else None) or self.write(kind, token)

    def write(self, kind: str, token: str | None = None) -> Made:
        edit, field = self.edit, TEXT_FIELDS[kind] + (" that names its class" if token else "")
        template = find_template(self.template, kind, edit.type, self.folder)
        if template is None:
            raise BadInputError(
                f"Edit '{edit.id}' is '{edit.type}', for which there is no template. It lacks:", [field]
            )
        parts = parts_of(edit, self._phrase, token)
        missing = missing_parts(template.text, parts)
        if missing:
            named = ["position.anchor" if part == "position" and edit.position else part for part in missing]
            raise BadInputError(
                f"Edit '{edit.id}' lacks parts for '{template.name}'. Add them, or its own {field}.", named
            )
        return expand_template(template.text, parts), template.name

    def _phrase(self, relation: Relation, anchor: str) -> str:
        template = find_template(self.template, "position", relation.replace(" ", "_"), self.folder)
        parts = {"anchor": anchor} if anchor else {}
        return expand_template(template.text, parts) if template and not missing_parts(template.text, parts) else ""


def _given(words: str | None) -> Made | None:
    return (words, None) if words and words.strip() else None


def _prompt(target: Made, source: Made | None = None) -> MethodPrompt:
    made = (target, source) if source else (target,)
    return MethodPrompt(target[0], source[0] if source else None, tuple(template for _, template in made if template))


def parts_of(edit: Edit, phrase: Phrase, token: str | None = None) -> dict[str, str]:
    """Return the parts of the edit by name; a token is placed before the learned word."""
    subject, to, before = (normalize_text(words or "") for words in (edit.subject, edit.to, edit.from_))
    position = edit.position
    if edit.type == "position_replacement":
        position = position or _relation_position(to)
        was = _relation_position(before)
        before = phrase(was.relation, "") if was else ""
    anchor = normalize_text(
        (position and position.anchor) or (subject if EDIT_TYPES[edit.type].effect == "adds" else "")
    )
    if token:
        anchor = _tokened(token, anchor) if noun(anchor).lower() == noun(subject).lower() else anchor
        if _lives_on(edit):
            to = _tokened(token, to)
        else:
            subject = _tokened(token, subject)
    position_phrase = phrase(position.relation, anchor) if position else ""
    parts = {"subject": subject, "from": before, "to": to, "anchor": anchor, "position": position_phrase}
    return {name: words for name, words in parts.items() if words}


def caption_with_token(token: str, edit: Edit) -> str | None:
    """Insert the token before the class word of the target caption; None when the caption does not name the class."""
    caption, word = (
        edit.target_caption or "",
        noun(normalize_text((edit.to if _lives_on(edit) else edit.subject) or "")),
    )
    if re.search(rf"(?<!\S){re.escape(token)}(?!\S)", caption):
        return caption
    mention = re.search(rf"(?:\b(an?)\s+)?(?<!\w)({re.escape(word)}(?:e?s)?)(?!\w)", caption, re.IGNORECASE)
    if not word or not mention:
        return None
    before = f"{article(token)} " if mention[1] else ""
    before = before.capitalize() if mention[0].startswith("A") else before
    return f"{caption[: mention.start()]}{before}{token} {mention[2]}{caption[mention.end() :]}"


def _lives_on(edit: Edit) -> bool:
    """Whether the new object takes over what was learned from the old one."""
    return EDIT_TYPES[edit.type].effect == "replaces"


def _tokened(token: str, phrase: str) -> str:
    bare = noun(phrase)
    first, _, remainder = bare.partition(" ")
    if not bare:
        return ""
    return f"{first} {token} {remainder}" if remainder and has_determiner(bare) else f"{token} {bare}"


def _relation_position(word: str) -> Position | None:
    return next((Position(relation) for relation in get_args(Relation) if word.lower() == relation), None)


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
    written: Mapping[str, MethodPrompt] = field(default_factory=dict)
    """Prompts written out, by edit id or by the key of `edit_key`; they come before all templates."""
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
        words = replace(method.prompt(reworded), rewriter=prompt.rewriter)
        return PromptedEdit(reworded, words, prompt.templates)

    def _written_out(self, edit: Edit) -> MethodPrompt | None:
        if self.file is None:
            return None
        prompt = self.written.get(edit.id) or self.written.get(edit_key(edit))
        if prompt is None:
            raise BadInputError(f"'{self.file}' has no prompt for the edit '{edit.id}'.")
        return prompt

    def describe(self) -> dict[str, Any]:
        """Describe what the prompts were made with; custom templates by their content hash."""
        return {
            "form": self.form,
            "template": self.template,
            "prompts_sha256": _digest(self.folder) if self.folder else _digest_of(self.file),
        }


def read_wording(form: str | None, template: str | None, prompts: str | Path | None) -> PromptOptions:
    """Return the prompt options; `prompts` names a template set, a folder of templates, or a CSV file of prompts.

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
REWRITTEN_COLUMNS = ("edit_id", "prompt")
"""Prompts by edit id; a further column `rewriter` names who rewrote the instruction."""


def read_prompt_file(file: Path) -> dict[str, MethodPrompt]:
    """Read prompts from a CSV: by edit id, or as PixLens writes them, by type, class, image and target."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.DictReader(opened)
            if set(REWRITTEN_COLUMNS) <= set(rows.fieldnames or ()):
                return {row["edit_id"]: _written_prompt(file, row["prompt"], row.get("rewriter")) for row in rows}
            missing = [column for column in WRITTEN_COLUMNS if column not in (rows.fieldnames or ())]
            if missing:
                raise BadInputError(f"'{file}' lacks the columns {', '.join(missing)} of a CSV of prompts.")
            return {
                _key(*(row[column] or "" for column in WRITTEN_COLUMNS[:4])): _written_prompt(
                    file, row["instruction_prompt"]
                )
                for row in rows
            }
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInputError(f"'{file}' cannot be read as a CSV of prompts: {error}.") from error


def _written_prompt(file: Path, text: str, rewriter: str | None = None) -> MethodPrompt:
    return MethodPrompt(text, templates=(file.name,), rewriter=rewriter or None)


def edit_key(edit: Edit) -> str:
    """Return the key of an edit in a CSV file of prompts."""
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
