"""Read the options file of `--options FILE.yaml`; options on the command line take precedence.

The file holds options by verb:

```yaml
run:
  benchmark: sample
  outcomes: {mine: outcomes/mine, theirs: outcomes/theirs}
  protocol: [preservation]
study:
  create: {design: editval, out: people}
```
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import typer

from editgauge._util.files import read_text
from editgauge.errors import BadInputError

FLAG = "--options"


def take_file(arguments: list[str]) -> tuple[list[str], Path | None]:
    """Return the arguments without `--options FILE`, and the file; None if it is not given.

    >>> take_file(["run", "--options=a.yaml", "sample"])
    (['run', 'sample'], PosixPath('a.yaml'))
    """
    other_arguments: list[str] = []
    file: Path | None = None
    iterator = iter(arguments)
    for argument in iterator:
        if argument == "--":  # everything after it is positional
            return [*other_arguments, argument, *iterator], file
        name, equals, value = argument.partition("=")
        if name == FLAG:
            path = value if equals else next(iterator, "")
            if not path or file:
                raise BadInputError(f"{FLAG} takes one YAML file, once.")
            file = Path(path)
        else:
            other_arguments.append(argument)
    return other_arguments, file


def defaults(file: Path, app: typer.Typer) -> dict[str, Any]:
    """Return the options of the file by verb, in the form of Click's `default_map`."""
    problems: list[str] = []
    by_verb = _read_group(_read_yaml(file), typer.main.get_command(app), problems)
    if problems:
        raise BadInputError(f"The options file '{file}' has problems.", problems)
    return by_verb


def _read_group(content: dict[str, Any], group: Any, problems: list[str], prefix: str = "") -> dict[str, Any]:
    """Return the options by verb of a command group, nested for subgroups; append errors to `problems`."""
    by_verb: dict[str, Any] = {}
    for verb, options in content.items():
        name, command = f"{prefix}{verb}", group.commands.get(verb)
        if command is None:
            problems.append(f"'{name}' is no verb")
        elif not isinstance(options, dict):
            problems.append(f"'{name}' must hold {'verbs' if hasattr(command, 'commands') else 'options'} by name")
        elif hasattr(command, "commands"):
            by_verb[verb] = _read_group(options, command, problems, f"{name} ")
        else:
            by_verb[verb] = _read_verb(options, command, problems, name)
    return by_verb


def _read_verb(options: dict[str, Any], command: Any, problems: list[str], verb: str) -> dict[str, Any]:
    """Return the options of one verb by parameter name; append unknown options to `problems`."""
    parameters = {parameter.name: parameter for parameter in command.params}
    values = {_parameter_name(str(name)): value for name, value in options.items()}
    problems += [f"{verb}: {_unknown_option(name, list(parameters))}" for name in values if name not in parameters]
    return {name: _as_default(value, parameters[name]) for name, value in values.items() if name in parameters}


def _read_yaml(file: Path) -> dict[str, Any]:
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


def _parameter_name(name: str) -> str:
    return "from_" if name == "from" else name.replace("-", "_")


def _unknown_option(name: str, valid_names: list[str]) -> str:
    """Describe an unknown option and suggest a valid one."""
    matches = difflib.get_close_matches(name, valid_names, n=1)
    hint = f"did you mean '{matches[0]}'?" if matches else f"there are {', '.join(valid_names)}"
    return f"no option '{name}'; {hint}"


def _as_default(value: Any, parameter: Any) -> Any:
    """Convert a mapping to NAME=VALUE pairs, and a single value of a list option to a list."""
    if isinstance(value, dict):
        return [f"{name}={item}" for name, item in value.items()]
    if getattr(parameter, "multiple", False) and not isinstance(value, list):
        return [value]
    return value
