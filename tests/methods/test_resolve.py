"""A Python function, a class or an object as a method, by address or by entry point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import Pixels
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.methods import Method
from editgauge.methods.resolve import FunctionMethod, as_method, open_method
from editgauge.types import Edit

PLUGIN = "editgauge_plugin_for_tests.method"


def halved(edit: Edit, source: Pixels, seed: int, factor: float = 0.5, keep: bool = False) -> Pixels:
    """Darkens everything.

    By a factor.
    """
    return source if keep else np.asarray(source * factor, dtype=np.uint8)


def test_a_function_with_its_options_is_a_method(make_edit: Callable[..., Edit], photo: Pixels) -> None:
    method = as_method(halved, "halved")
    assert (method.name, method.about) == ("halved", "Darkens everything.")
    assert (method.edit(make_edit(), photo, 0) == (photo * 0.5).astype(np.uint8)).all()
    other = method.variant({"factor": "0.25"})
    assert (other.edit(make_edit(), photo, 0) == (photo * 0.25).astype(np.uint8)).all()
    assert other.settings()["options"] == {"factor": 0.25, "keep": False}
    assert other.settings()["function"].endswith(":halved")
    assert other.prompt(make_edit()).text == "make the cat black"


def test_options_of_a_function_are_read_by_their_usual_value() -> None:
    with pytest.raises(BadInputError) as caught:
        as_method(halved, "halved").variant({"factor": "nan", "keep": "perhaps", "fractor": "1"})
    assert caught.value.problems == (
        "factor is a number, got 'nan'",
        "keep is yes or no, got 'perhaps'",
        "no option 'fractor'; did you mean 'factor'?",
    )


@pytest.mark.parametrize("function", [lambda edit: edit, lambda edit, source, seed, model: source])
def test_a_function_must_take_what_it_is_given(function: Callable[..., Any]) -> None:
    with pytest.raises(BadInputError, match=r"must take \(edit, source, seed\)"):
        FunctionMethod("odd", function)


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("negative", "Turns every picture into its negative."),
        ("brighter", "Adds light everywhere."),
        ("mirrored", "Turns the picture around."),
    ],
)
def test_an_entry_point_may_be_an_object_a_function_or_a_class(plugged_in: Path, name: str, about: str) -> None:
    method = open_method(name)
    assert (method.name, method.about) == (name, about)
    assert Method in type(method).__mro__


@pytest.mark.parametrize("place", ["brighter", "Mirrored", "negative"])
def test_an_address_leads_to_any_of_them(
    plugged_in: Path, make_edit: Callable[..., Edit], photo: Pixels, place: str
) -> None:
    edited = open_method(f"python:{PLUGIN}:{place}").edit(make_edit(), photo, 0)
    assert edited.shape == photo.shape
    assert (edited != photo).any()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("python:", "python:MODULE:NAME"),
        ("python:math", "python:MODULE:NAME"),
        ("python:no_such_module:f", "could not be imported"),
        ("python:math:no_such_name", r"has no attribute 'no_such_name'\.$"),
        ("python:math:pi", "is no function and no method: it is a float"),
    ],
)
def test_an_address_that_leads_nowhere_says_so(address: str, told: str) -> None:
    with pytest.raises(BadInputError, match=told):
        open_method(address)


def test_a_class_that_cannot_be_made_and_a_thing_that_is_no_method_say_so() -> None:
    class Odd:
        def __init__(self) -> None:
            raise ValueError("no weights")

    with pytest.raises(EditGaugeError, match="could not be made: ValueError: no weights"):
        as_method(Odd, "odd")
    with pytest.raises(EditGaugeError, match="'odd' is no method: a int"):
        as_method(3, "odd")
