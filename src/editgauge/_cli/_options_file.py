"""`--options FILE.yaml`: a file may hold any verb's options; what the command line gives overrides it.

run:
  benchmark: sample
  outcomes: {mine: outcomes/mine, theirs: outcomes/theirs}
  protocol: [preservation]
study:
  create: {design: editval, out: people}
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import typer

from editgauge._util.files import read_text
from editgauge.errors import BadInputError

FLAG = "--options"


def take_file(words: list[str]) -> tuple[list[str], Path | None]:
    """The command line without `--options FILE`, wherever it stood, and the file.

    >>> take_file(["run", "--options=a.yaml", "sample"])
    (['run', 'sample'], PosixPath('a.yaml'))
    """
    left: list[str] = []
    file: Path | None = None
    following = iter(words)
    for word in following:
        name, equals, value = word.partition("=")
        if word == "--":
            return [*left, word, *following], file
        if name == FLAG:
            path = value if equals else next(following, "")
            if not path or file:
                raise BadInputError(f"{FLAG} takes one YAML file, once.")
            file = Path(path)
        else:
            left.append(word)
    return left, file


def defaults(file: Path, app: typer.Typer) -> dict[str, Any]:
    """The file's options by verb, in the form that the command line takes as defaults."""
    problems: list[str] = []
    read = _of_group(_read(file), typer.main.get_command(app), problems)
    if problems:
        raise BadInputError(f"The options file '{file}' has problems.", problems)
    return read


def _of_group(content: dict[str, Any], group: Any, problems: list[str], name: str = "") -> dict[str, Any]:
    """What the file says about the verbs of a group; those of a group within it are nested below its name."""
    read: dict[str, Any] = {}
    for verb, options in content.items():
        called, command = f"{name}{verb}", group.commands.get(verb)
        if command is None:
            problems.append(f"'{called}' is no verb")
        elif not isinstance(options, dict):
            problems.append(f"'{called}' must hold {'verbs' if hasattr(command, 'commands') else 'options'} by name")
        elif hasattr(command, "commands"):
            read[verb] = _of_group(options, command, problems, f"{called} ")
        else:
            read[verb] = _of_verb(options, command, problems, called)
    return read


def _of_verb(options: dict[str, Any], command: Any, problems: list[str], called: str) -> dict[str, Any]:
    known = {one.name: one for one in command.params}
    spelled = {_spelled(str(name)): value for name, value in options.items()}
    problems += [f"{called}: {_unknown(name, list(known))}" for name in spelled if name not in known]
    return {name: _as_given(value, known[name]) for name, value in spelled.items() if name in known}


def _read(file: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(read_text(file))
    except OSError as error:
        raise BadInputError(f"The options file '{file}' cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInputError(f"The options file '{file}' is not valid YAML: {error}.") from error
    if not isinstance(content, dict):
        raise BadInputError(
            f"The options file '{file}' must hold options by verb, such as `run: {{benchmark: sample}}`."
        )
    return {str(verb): options for verb, options in content.items()}


def _spelled(name: str) -> str:
    return "from_" if name == "from" else name.replace("-", "_")


def _unknown(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"no option '{name}'" + (f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(known)}")


def _as_given(value: Any, parameter: Any) -> Any:
    """A mapping stands for NAME=VALUE pairs, a single value for a list of one."""
    if isinstance(value, dict):
        return [f"{name}={each}" for name, each in value.items()]
    return [value] if getattr(parameter, "multiple", False) and not isinstance(value, list) else value
