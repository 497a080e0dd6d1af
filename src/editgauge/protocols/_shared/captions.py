"""The two texts of an edit: what its source image shows, and what the edited one should show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from editgauge.core.errors import BadInput, CannotTell
from editgauge.core.types import Edit
from editgauge.methods.prompts import MethodPrompt, render

Side = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class EditText:
    """A text about one of the two pictures, and where it comes from."""

    side: Side
    words: str
    origin: str

    @property
    def source_note(self) -> str:
        """What the evidence says about it.

        >>> EditText("target", "a black cat", "the edit's own caption").source_note
        'Target text: "a black cat" (the edit\\'s own caption).'
        """
        return f'{self.side.capitalize()} text: "{self.words}" ({self.origin}).'


def source_text(edit: Edit) -> EditText:
    """What the source image shows; raises `CannotTell` when neither a caption nor the edit's parts tell."""
    if edit.source_caption and edit.source_caption.strip():
        return _own("source", edit.source_caption)
    made = _rendered("source", lambda: render(edit, "captions"))
    return _from_parts("source", made.source or "", made.templates[-1])


def target_text(edit: Edit) -> EditText:
    """What the edited image should show; raises `CannotTell` when neither a caption nor the edit's parts tell."""
    if edit.target_caption and edit.target_caption.strip():
        return _own("target", edit.target_caption)
    made = _rendered("target", lambda: render(edit, "caption"))
    return _from_parts("target", made.text, made.templates[-1])


def _own(side: Side, words: str) -> EditText:
    return EditText(side, words.strip(), "the edit's own caption")


def _from_parts(side: Side, words: str, template: str) -> EditText:
    return EditText(side, words, f"from the edit's parts, by the template {template}")


def _rendered(side: Side, write: Callable[[], MethodPrompt]) -> MethodPrompt:
    try:
        return write()
    except BadInput as error:
        why = " ".join(str(error).split())
        raise CannotTell("not_applicable", f"the edit has no {side}_caption, and none can be made: {why}") from error
