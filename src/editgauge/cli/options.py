"""`--options FILE.yaml`: a file may hold any verb's options; what the command line gives overrides it.

run:
  benchmark: sample
  outcomes: {mine: outcomes/mine, theirs: outcomes/theirs}
  protocol: [preservation]
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import typer

from editgauge.core.errors import BadInput

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
            found = value if equals else next(following, "")
            if not found or file:
                raise BadInput(f"{FLAG} takes one YAML file, once.")
            file = Path(found)
        else:
            left.append(word)
    return left, file


def defaults(file: Path, app: typer.Typer) -> dict[str, dict[str, Any]]:
    """The file's options by verb, in the form that the command line takes as defaults."""
    verbs: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    told = _read(file)
    problems = [f"'{verb}' is no verb" for verb in told if verb not in verbs]
    read: dict[str, dict[str, Any]] = {}
    for verb, options in told.items():
        known = {one.name: one for one in verbs[verb].params} if verb in verbs else {}
        if not isinstance(options, dict):
            problems.append(f"'{verb}' must hold options by name")
        elif known:
            spelled = {_spelled(str(name)): value for name, value in options.items()}
            problems += [f"{verb}: {_unknown(name, list(known))}" for name in spelled if name not in known]
            read[verb] = {n: _as_given(v, known[n]) for n, v in spelled.items() if n in known}
    if problems:
        raise BadInput(f"The options file '{file}' has problems.", problems)
    return read


def _read(file: Path) -> dict[str, Any]:
    import yaml

    try:
        told = yaml.safe_load(file.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"The options file '{file}' cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInput(f"The options file '{file}' is not valid YAML: {error}.") from error
    if not isinstance(told, dict):
        raise BadInput(f"The options file '{file}' must hold options by verb, such as `run: {{benchmark: sample}}`.")
    return {str(verb): options for verb, options in told.items()}


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
