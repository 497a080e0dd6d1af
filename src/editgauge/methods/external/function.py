"""A Python function as a method: `(edit, source, seed) -> pixels`, with further arguments as its options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from editgauge.errors import BadInputError
from editgauge.methods import Method
from editgauge.methods.options import MethodOption, read_options

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.types import Edit

Function = Callable[..., Any]
PASSED_ARGUMENTS = 3
"""The edit, the source and the seed."""


class FunctionMethod(Method):
    """A function that edits; its first line of documentation says what it does.

    Which words of an edit it reads is its own affair: unless a form is asked for, the instruction is on record.

    Args:
        name: what the method is called
        function: takes the edit, the source's pixels and the seed; what it takes besides must have a usual value
        about: what it does, if its documentation does not say so
        options: values for what it takes besides

    """

    takes_inputs = True

    def __init__(
        self, name: str, function: Function, about: str | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        self.name = name
        self.about = about or (inspect.getdoc(function) or f"The function {_place(function)}.").partition("\n")[0]
        self.at_once = getattr(function, "at_once", 0)
        self._function = function
        self._defaults = _options_of(name, function)
        self._options = {**self._defaults, **(options or {})}
        self.option_specs = {key: MethodOption(default, "") for key, default in self._defaults.items()}

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Call the function; the runner checks that it returns an image."""
        pixels: Pixels = self._function(edit, source, seed, **self._options)
        return pixels

    def settings(self) -> dict[str, Any]:
        """Which function it is, and with what options."""
        return {"function": _place(self._function), "options": self._options}

    def variant(self, options: Mapping[str, str]) -> FunctionMethod:
        """Return the function with other values for its options."""
        read = read_options(self.name, self._defaults, options)
        return FunctionMethod(self.name, self._function, self.about, read)


def import_function(address: str) -> Function:
    """Import the function, class or object `module:name`."""
    module, colon, name = address.partition(":")
    if not (module and colon and name):
        raise BadInputError(f"A Python method is written python:MODULE:NAME, got 'python:{address}'.")
    try:
        target: Any = import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except Exception as error:  # importing runs a stranger's code, and that can fail in any way
        advice = " Is its folder on PYTHONPATH?" if isinstance(error, ModuleNotFoundError) else ""
        raise BadInputError(f"'{address}' could not be imported: {error}.{advice}") from error
    if not callable(target) and not hasattr(target, "edit"):
        raise BadInputError(f"'{address}' is no function and no method: it is a {type(target).__name__}.")
    return target  # type: ignore[no-any-return]


def _options_of(name: str, function: Function) -> dict[str, Any]:
    """Return the function's parameters after edit, source and seed, with their defaults."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return {}
    several = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    taken = [element for element in parameters if element.kind not in several]
    positional = [parameter for parameter in taken if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    is_open = any(entry.kind is inspect.Parameter.VAR_POSITIONAL for entry in parameters)
    extra = [item for item in taken if item not in positional[:PASSED_ARGUMENTS]]
    without = [value.name for value in extra if value.default is inspect.Parameter.empty]
    if without or (len(positional) < PASSED_ARGUMENTS and not is_open):
        raise BadInputError(
            f"The function of the method '{name}' must take (edit, source, seed), and anything besides only with a "
            f"usual value; it takes ({', '.join(parameter.name for parameter in parameters)})."
        )
    return {beside.name: beside.default for beside in extra}


def _place(function: Function) -> str:
    named = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '?')}:{named}"
