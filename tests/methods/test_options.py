"""The options that methods say they have are those that they take."""

from __future__ import annotations

import pytest

from editgauge.errors import BadInputError
from editgauge.methods import BUILT_IN, methods
from editgauge.methods.resolve import as_method


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_method_takes_what_it_offers_and_nothing_else(name: str) -> None:
    method = methods.get(name)
    for option, its in method.option_specs.items():
        assert its.about
        assert its.kind
        assert method.variant({option: str(its.default)}).option_specs == method.option_specs
    with pytest.raises(BadInputError):
        method.variant({"no_such_option": "1"})


def test_the_arguments_of_a_function_are_its_options() -> None:
    def mine(edit: object, source: object, seed: int, strength: float = 0.5, fast: bool = False) -> None:
        """Edits."""

    offered = as_method(mine, "mine").option_specs
    assert {name: (its.default, its.kind) for name, its in offered.items()} == {
        "strength": (0.5, "a number"),
        "fast": (False, "yes or no"),
    }
