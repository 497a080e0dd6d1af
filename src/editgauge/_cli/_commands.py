"""Commands generated from the Python functions of the verbs, which are imported on first use."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from editgauge._cli._signature import flag_of, has_fields, parse_docstring, resolved_signature, typer_parameter
from editgauge._public import FORMER_NAMES
from editgauge._util.progress import logger, print_log
from editgauge.errors import EditGaugeError, with_flags

_PARSE_FLAGS = {
    "file": "Read every line of this file: JSON with text, source_caption, target_caption.",
    "explain": "Also print the dependency parse of each request.",
}
FLAGS: Mapping[str, Mapping[str, str]] = {
    "parse": _PARSE_FLAGS,
    "understand": _PARSE_FLAGS,
    "agree": {"verbose": "Print every table, not one page."},
    "gate": {"markdown": "Print Markdown instead of a table."},
    "score": {"explain": "Also print all scores and what they are based on."},
    "run": {"dry_run": "Print the resolved plan and do nothing.", "verbose": "Print every score and reason."},
}
"""Options that only the command line has."""
PATH_FLAGS = {"file"}
"""Those of them that take a path."""
ALIASES = {("agree", "score"): ("--metrics",)}
"""Second spellings of options, by verb and parameter."""
EXTRAS = {"study": "study"}
"""The extra that the verbs of a group need."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A Python function that is a command."""

    name: str
    target: str
    """`package.module:function`."""
    summary: str
    panel: str | None = None
    group: str = ""

    @property
    def key(self) -> str:
        """The name with its group, as an identifier."""
        return (f"{self.group}_{self.name}" if self.group else self.name).replace("-", "_")

    def load(self) -> Callable[..., Any]:
        """Import the function.

        Raises:
            EditGaugeError: if the extra that the verb's group needs is not installed.

        """
        module, _, name = self.target.partition(":")
        try:
            function: Callable[..., Any] = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("editgauge") or self.group not in EXTRAS:
                raise
            extra = EXTRAS[self.group]
            raise EditGaugeError(f"This needs {error.name}: run `pip install 'editgauge[{extra}]'`.") from error
        return function


class VerbCommand(TyperCommand):
    """A command that imports its function when its options are first needed; listing commands imports nothing."""

    def __init__(self, verb: Verb) -> None:
        settings: dict[str, Any] = {"rich_help_panel": verb.panel, "rich_markup_mode": "markdown"}
        super().__init__(verb.name, short_help=verb.summary, hidden=verb.name in FORMER_NAMES, **settings)
        self.verb = verb
        for name in ("params", "callback", "help"):
            delattr(self, name)  # `__getattr__` sets them

    def __getattr__(self, name: str) -> Any:
        """Import the function when its parameters, callback or help are first needed."""
        if name not in {"params", "callback", "help"}:
            raise AttributeError(name)
        app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        function = self.verb.load()
        docs = parse_docstring(inspect.getdoc(function) or "")
        app.command(self.verb.name, help=docs.help_text)(_make_callback(self.verb, function, docs.entries))
        command: Any = typer.main.get_command(app)
        self.params, self.callback, self.help = command.params, command.callback, command.help
        return getattr(self, name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; `--ROLE NAME` stands for `--model ROLE=NAME`, `--methods A B` for a repeated option."""
        takes_models = any(parameter.name == "model" and parameter.multiple for parameter in self.params)
        if any(parameter.name == "methods" and parameter.multiple for parameter in self.params):
            args = repeat_option(args, "--methods")
        return super().parse_args(ctx, expand_roles(args) if takes_models else args)


def repeat_option(words: list[str], option: str) -> list[str]:
    """Repeat an option before each of its values.

    >>> repeat_option(["run", "--methods", "mine", "theirs", "--margin", "0.1"], "--methods")
    ['run', '--methods', 'mine', '--methods', 'theirs', '--margin', '0.1']
    """
    repeated: list[str] = []
    is_value = False
    for word in words:
        if word.startswith("-"):
            is_value = word == option
            repeated += [] if is_value else [word]
        else:
            repeated += [option, word] if is_value else [word]
    return repeated


def make_group(verbs: list[Verb]) -> type[TyperGroup]:
    """Return the class of a group with these verbs."""

    class VerbGroup(TyperGroup):
        """A group of verbs, in addition to what Typer knows of."""

        def __init__(self, *args: Any, **settings: Any) -> None:
            super().__init__(*args, **settings)
            groups = self.commands
            self.commands = {verb.name: VerbCommand(verb) for verb in verbs}
            self.commands.update(groups)

    return VerbGroup


def _make_callback(verb: Verb, function: Callable[..., Any], docs: Mapping[str, str]) -> Callable[..., None]:
    signature = resolved_signature(function)
    flags = dict(FLAGS.get(verb.key, {}))
    if has_fields(signature.return_annotation):
        flags["json"] = "Print JSON."
    spellings = {
        name: flag_of(name) if parameter.kind is parameter.KEYWORD_ONLY else name.upper()
        for name, parameter in signature.parameters.items()
    }

    def callback(**options: Any) -> None:
        switches = {name: options.pop(name) for name in flags}
        try:
            with _printed_log(spellings):
                code = _run(verb.key, function, options, switches)
        except KeyboardInterrupt:
            done = f" What is done is in {options['out']}." if options.get("out") else ""
            sys.stderr.write(f"\nStopped.{done} Run the same command again to continue.\n")
            code = INTERRUPTED
        except EditGaugeError as error:
            error.args = (with_flags(str(error), spellings),)
            raise
        if code:
            raise typer.Exit(code)

    parameters = [
        *(
            typer_parameter(parameter, docs, ALIASES.get((verb.key, name), ()))
            for name, parameter in signature.parameters.items()
        ),
        *(_flag(name, text) for name, text in flags.items()),
    ]
    callback.__name__ = verb.key
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return callback


@contextmanager
def _printed_log(spellings: Mapping[str, str]) -> Iterator[None]:
    """Print log messages to standard error, with flags instead of Python parameters."""

    def translate(record: logging.LogRecord) -> bool:
        record.msg, record.args = with_flags(record.getMessage(), spellings), ()
        return True

    print_log()
    logger.addFilter(translate)
    try:
        yield
    finally:
        logger.removeFilter(translate)


def _run(key: str, function: Callable[..., Any], options: dict[str, Any], switches: dict[str, Any]) -> int | None:
    """Call the function, print its result, and return the exit code."""
    from editgauge._cli import _output

    if (replacement := _output.find("REPLACED", key)) and _call(replacement, switches, options):
        return None
    result = function(**options)
    if switches.get("json"):
        to_json = _output.find("JSON", key)
        typer.echo(_call(to_json, result, options) if to_json else _output.as_json(result))
        return _output.exit_code(result)
    show = _output.find("SHOWN", key) or _output.show_anything
    code: int | None = _call(show, result, options | switches)
    return code or _output.exit_code(result)


def _call(function: Callable[..., Any], result: object, options: dict[str, Any]) -> Any:
    """Call a function with what its parameters name: `options`, any other name for the result."""
    return function(*(options if name == "options" else result for name in inspect.signature(function).parameters))


def _flag(name: str, text: str) -> inspect.Parameter:
    kind, default, settings = (str | None, None, {"metavar": "PATH"}) if name in PATH_FLAGS else (bool, False, {})
    option = Annotated[kind, typer.Option(flag_of(name), help=text, **settings)]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)


def expand_roles(arguments: list[str]) -> list[str]:
    """Rewrite role options as `--model`.

    >>> expand_roles(["cat.png", "--detector", "owlv2-base", "--image-embedder=augnet"])
    ['cat.png', '--model', 'detector=owlv2-base', '--model', 'image_embedder=augnet']
    """
    from editgauge.models.catalog import ROLE_NAMES

    roles = {flag_of(role): role for role in ROLE_NAMES}
    expanded: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        flag, equals, value = argument.partition("=")
        if argument == "--":
            return [*expanded, argument, *remaining]
        if flag in roles:
            expanded += ["--model", f"{roles[flag]}={value if equals else next(remaining, '')}"]
        else:
            expanded.append(argument)
    return expanded
