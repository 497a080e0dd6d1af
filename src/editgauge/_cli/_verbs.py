"""Commands made from the verbs' Python functions: an option's words, type and default stand once, in the function.

What is positional in Python is an argument of the command; a keyword is an option. What a verb returns is printed by
the function of the same name in `editgauge._cli.show`, or as it is when there is none.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated, Any, get_origin

import typer
from typer.core import TyperCommand

from editgauge._cli._signature import REQUIRED, Parameter, Signature, read_signature
from editgauge.errors import EditGaugeError
from editgauge.models.catalog import ROLE_NAMES

FLAGS: Mapping[str, Mapping[str, str]] = {
    "understand": {"file": "Read every line of this file: JSON with text, source_caption, target_caption."},
    "agree": {"verbose": "Print every table, not one page."},
    "score": {"explain": "Also print all scores and what they are based on."},
    "run": {"dry_run": "Print the resolved plan and do nothing.", "verbose": "Print every score and reason."},
}
"""Options that only the command line has: they choose what is printed, or that something else is done."""
WITH_A_PATH = {"file"}
"""Those of them that take a path."""
ALIASES = {("agree", "score"): "--metrics"}
"""Second spellings of options."""
WITHOUT_JSON = {"None", "Path", "ReportPage", "bytes"}
"""Results that have no fields to print."""
EXTRAS = {"study": "study"}
"""The extra that the verbs of a group need."""
INTERRUPTED = 130


def add_verb(app: typer.Typer, name: str, place: str, panel: str | None = None, group: str = "") -> None:
    """Adds the command of a verb whose function is at `place`, as `package.module:name`."""
    signature = read_signature(place)
    key = (f"{group}_{name}" if group else name).replace("-", "_")
    command = _command(key, place, signature, group)
    takes_models = any(each.name == "model" and each.panel for each in signature.parameters)
    app.command(
        name,
        help=help_text(signature),
        short_help=signature.summary,
        rich_help_panel=panel,
        cls=WithRoles if takes_models else None,
    )(command)


def help_text(signature: Signature) -> str:
    """The examples first, then what the verb does."""
    examples = "\n\n".join(f"`{each}`" for each in signature.examples)
    heading = "Examples:" if len(signature.examples) > 1 else "Example:"
    about = [f"{heading}\n\n{examples}"] if examples else []
    return "\n\n".join([*about, signature.summary, *([signature.about] if signature.about else [])])


def _command(key: str, place: str, signature: Signature, group: str) -> Callable[..., None]:
    flags = dict(FLAGS.get(key, {}))
    if signature.returns not in WITHOUT_JSON:
        flags["json"] = "Print JSON."

    def command(**options: Any) -> None:
        chosen = {name: options.pop(name) for name in flags}
        try:
            code = _run(key, place, options, chosen, group)
        except KeyboardInterrupt:
            kept = f" What is done is in {options['out']}." if options.get("out") else ""
            sys.stderr.write(f"\nStopped.{kept} Run the same command again to continue.\n")
            code = INTERRUPTED
        if code:
            raise typer.Exit(code)

    parameters = [_typer_parameter(key, each) for each in signature.parameters]
    parameters += [_flag(name, words) for name, words in flags.items()]
    command.__name__ = key
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _run(key: str, place: str, options: dict[str, Any], flags: dict[str, Any], group: str) -> int | None:
    """Calls the function and prints what it gives; the exit code."""
    from editgauge._cli.show import common

    shows = import_module(f"editgauge._cli.show.{'groups' if group else 'verbs'}")
    before = getattr(shows, f"{key}_before", None)
    if before is not None and before(options, flags):
        return None
    result = _function(place, group)(**options)
    if flags.get("json"):
        to_json = getattr(shows, f"{key}_json", None)
        typer.echo(to_json(result, options) if to_json else common.as_json(result))
        return common.exit_code(result)
    code = common.show_function(shows, key)(result, options | flags)
    return code or common.exit_code(result)


def _function(place: str, group: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    try:
        function: Callable[..., Any] = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("editgauge") or group not in EXTRAS:
            raise
        extra = EXTRAS[group]
        raise EditGaugeError(f"This needs {error.name}: install it with `pip install 'editgauge[{extra}]'`.") from error
    return function


def _typer_parameter(key: str, each: Parameter) -> inspect.Parameter:
    numbers = {"min": each.limits.low, "max": each.limits.high} if each.limits else {}
    if each.type is int or each.type == list[int]:
        numbers = {name: int(value) for name, value in numbers.items() if value is not None}
    settings: dict[str, Any] = {"help": each.help, **numbers}
    optional = each.default is None
    kind = each.type | None if optional else each.type
    if each.positional:
        info: Any = typer.Argument(**settings)
    else:
        names = _spellings(key, each)
        if each.type is not bool:
            settings["metavar"] = _metavar(each)
        info = typer.Option(*names, rich_help_panel=each.panel, **settings)
    default = each.default
    if default is REQUIRED:
        default = inspect.Parameter.empty
    elif isinstance(default, tuple):
        if get_origin(each.type) is not list:
            raise TypeError(f"{key}: the type of '{each.name}' must say that it takes several values")
        default = list(default)
    return inspect.Parameter(
        each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _metavar(each: Parameter) -> str:
    if each.is_path and each.type is str:
        return "PATH"
    return {str: "TEXT", int: "N", float: "NUMBER", tuple[str, str]: "A B", list[int]: "N"}.get(each.type, "TEXT")


def _spellings(key: str, each: Parameter) -> list[str]:
    flag = "--" + each.name.strip("_").replace("_", "-")
    if each.type is bool:
        return [f"{flag}/--no-{flag[2:]}"] if each.default else [flag, *(["-q"] if each.name == "quiet" else [])]
    alias = ALIASES.get((key, each.name))
    return [flag, *([alias] if alias else [])]


def _flag(name: str, words: str) -> inspect.Parameter:
    if name in WITH_A_PATH:
        path = Annotated[str | None, typer.Option(f"--{name}", help=words, metavar="PATH")]
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=path)
    option = typer.Option(f"--{name.replace('_', '-')}", help=words)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])


class WithRoles(TyperCommand):
    """A command with an option per role; each is one more `--model ROLE=NAME`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrites the short form, then parses as before."""
        return super().parse_args(ctx, _spelled_out(args))


def _spelled_out(words: list[str]) -> list[str]:
    """The same words with every role option written as `--model`.

    >>> _spelled_out(["cat.png", "--detector", "owlv2-base", "--image-embedder=augnet"])
    ['cat.png', '--model', 'detector=owlv2-base', '--model', 'image_embedder=augnet']
    """
    flags = {f"--{role.replace('_', '-')}": role for role in ROLE_NAMES}
    said: list[str] = []
    following: Any = iter(words)
    for word in following:
        flag, equals, value = word.partition("=")
        if word == "--":
            return [*said, word, *following]
        if flag in flags:
            said += ["--model", f"{flags[flag]}={value if equals else next(following, '')}"]
        else:
            said.append(word)
    return said
