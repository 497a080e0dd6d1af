"""What people said about the differences of an edit, where the benchmark has it."""

from __future__ import annotations

from editgauge.benchmarks.editinspector.outcome_captions import EXTRA, caption_of
from editgauge.core.errors import CannotTell
from editgauge.core.types import Edit, Outcome


def people_of(edit: Edit, outcome: Outcome | None = None) -> tuple[str, ...]:
    """The difference captions that people wrote, one for each: of this outcome, or else of the edit."""
    own = caption_of(edit, outcome) if outcome is not None else None
    if own is not None and own.people:
        return own.people
    listed = edit.extras.get("differences", ())
    return tuple(each.strip() for each in listed if isinstance(each, str) and each.strip())


def most_people(edit: Edit) -> int:
    """How many captions of people one outcome of the edit has at most."""
    own = (len(each["people"]) for each in edit.extras.get(EXTRA, {}).values())
    return max([len(people_of(edit)), *own])


def human_captions(edit: Edit, outcome: Outcome | None = None) -> tuple[str, ...]:
    """The difference captions that people wrote, one for each; raises `CannotTell` where there is none.

    They come with the outcome (`run --captions`), or stand in `extras["differences"]`; `extras["difference_caption"]`
    may be a machine's and is not taken for one.
    """
    captions = people_of(edit, outcome)
    if not captions:
        raise CannotTell("not_applicable", "no person wrote a difference caption for this edit")
    return captions
