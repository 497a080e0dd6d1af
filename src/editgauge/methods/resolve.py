"""A method by what a user calls it: a name, an address, or a name for a command."""

from __future__ import annotations

import inspect
from typing import Any, cast

from editgauge.errors import BadInputError, EditGaugeError
from editgauge.methods import Method, methods
from editgauge.types import id_problem

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
        from editgauge.methods.external.endpoint import open_image_endpoint

        return open_image_endpoint(argument)
    if colon and kind == "python":
        from editgauge.methods.external.function import import_function

        return as_method(import_function(argument), argument.rpartition(":")[2])
    return as_method(methods.get(method), method)


def as_method(plugin: Any, name: str) -> Method:
    """Turn a plug-in's method, method class or editing function into a `Method`."""
    from editgauge.methods.external.function import FunctionMethod

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
    from editgauge.methods.external.command import Command

    problem = id_problem(name)
    if problem:
        raise BadInputError(f"The method's name cannot be used: {problem}.")
    if name in methods:
        raise BadInputError(f"'{name}' is the name of a method there is already; call the command something else.")
    return Command(name, command)
