"""Open a method by name, by address, or from a Python function `(edit, source, seed) -> pixels`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from editgauge.errors import BadInputError, EditGaugeError
from editgauge.methods import Method, methods
from editgauge.methods.options import MethodOption, read_options
from editgauge.types import id_problem

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
        function: takes the edit, the source's pixels and the seed; further parameters need defaults
        about: what it does, if its documentation does not say so
        options: values of further parameters

    """

    takes_inputs = True

    def __init__(
        self, name: str, function: Function, about: str | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        self.name = name
        self.about = about or (inspect.getdoc(function) or f"The function {_import_path(function)}.").partition("\n")[0]
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
        """Return the function's import path and its options."""
        return {"function": _import_path(self._function), "options": self._options}

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
    except Exception as error:  # importing runs arbitrary code, which can fail in any way
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


def _import_path(function: Function) -> str:
    named = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '?')}:{named}"


ADDRESSES = {
    "endpoint:MODEL@URL": "A model behind an OpenAI-compatible endpoint for image edits.",
    "python:MODULE:NAME": "A Python function (edit, source, seed) -> pixels, or a Method.",
}
"""How methods are written that have no name, and what they are."""


def open_method(method: str, command: str | None = None) -> Method:
    """Open the method of that name or address; with `command`, the command under that name."""
    kind, colon, argument = method.partition(":")
    if command is not None:
        return _command(method, command)
    if colon and kind == "endpoint":
        from editgauge.methods.endpoint import open_image_endpoint

        return open_image_endpoint(argument)
    if colon and kind == "python":
        return as_method(import_function(argument), argument.rpartition(":")[2])
    return as_method(methods.get(method), method)


def as_method(plugin: Any, name: str) -> Method:
    """Turn a plug-in's method, method class or editing function into a `Method`."""
    if inspect.isclass(plugin):
        try:
            plugin = plugin()
        except EditGaugeError:
            raise
        except Exception as error:
            raise EditGaugeError(f"The method '{name}' could not be made: {type(error).__name__}: {error}.") from error
    if Method in type(plugin).__mro__:
        return cast("Method", plugin)
    if callable(getattr(plugin, "edit", None)):
        method = FunctionMethod(getattr(plugin, "name", name), plugin.edit, getattr(plugin, "about", None))
        method.at_once = getattr(plugin, "at_once", 0)
        return method
    if callable(plugin):
        return FunctionMethod(name, plugin)
    raise EditGaugeError(f"'{name}' is no method: a {type(plugin).__name__}, which is no function and has no edit.")


def _command(name: str, command: str) -> Method:
    from editgauge.methods.command import Command

    problem = id_problem(name)
    if problem:
        raise BadInputError(f"The method's name cannot be used: {problem}.")
    if name in methods:
        raise BadInputError(f"'{name}' is the name of a method there is already; call the command something else.")
    return Command(name, command)
