"""What people said about the differences of an edit, where the benchmark has it."""

from __future__ import annotations

from editgauge.core.errors import CannotTell
from editgauge.core.types import Edit


def people_of(edit: Edit) -> tuple[str, ...]:
    """The difference captions that people wrote, one for each; nothing where nobody did."""
    listed = edit.extras.get("differences", ())
    return tuple(each.strip() for each in listed if isinstance(each, str) and each.strip())


def human_captions(edit: Edit) -> tuple[str, ...]:
    """The difference captions that people wrote, one for each; raises `CannotTell` where there is none.

    They stand in `extras["differences"]`; `extras["difference_caption"]` may be a machine's and is not taken for one.
    """
    captions = people_of(edit)
    if not captions:
        raise CannotTell("not_applicable", "no person wrote a difference caption for this edit")
    return captions
