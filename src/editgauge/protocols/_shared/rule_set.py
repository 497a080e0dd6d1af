"""Rules by edit type. A rule registers itself where it is defined, with `@rule("object_addition")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from editgauge.edit_types import UNSPECIFIED, read_edit_type
from editgauge.types import Edit, Unscored

AnyRule = TypeVar("AnyRule", bound=Callable[..., object])
NO_RULE = Unscored("no_rule", "this protocol has no rule for this edit type; a --judge or a study can answer")


def no_rule(edit: Edit) -> Unscored:
    """Why an edit has no verdict: its type has no rule, or it is unknown what it asks for."""
    if edit.type != UNSPECIFIED or edit.reading is None:
        return NO_RULE
    left = f": '{edit.reading.left}'" if edit.reading.left else ""
    return Unscored(
        "not_understood",
        f"the instruction was not understood{left}; give --edit-type and its fields, --fields or --judge",
    )


class RuleSet(dict[str, AnyRule]):
    """The rules of a protocol by edit type; a type without a rule is unscored."""

    def rule(self, edit_type: str) -> Callable[[AnyRule], AnyRule]:
        """Decorator that makes a function the rule of an edit type."""
        name = read_edit_type(edit_type)

        def register(function: AnyRule) -> AnyRule:
            self[name] = function
            return function

        return register
