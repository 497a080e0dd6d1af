"""Options that several verbs share, as given on the command line or in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from editgauge.core.errors import BadInput
from editgauge.protocols import Protocol, protocols

_PAIR = re.compile(r"((?:[^=\[]|\[[^]]*\])+)=(.+)", re.DOTALL)
"""NAME=VALUE; a method's variant may hold an equals sign: `imagic[eta=0.8]=folder`."""


def pairs(given: Mapping[str, str | Path] | Sequence[str], option: str, form: str) -> dict[str, str]:
    """`NAME=VALUE` options as a dictionary; a name given twice is an error.

    >>> pairs(["imagic[eta=0.8]=a=b"], "outcomes", "NAME=FOLDER")
    {'imagic[eta=0.8]': 'a=b'}
    """
    if isinstance(given, Mapping):
        return {name: str(value) for name, value in given.items()}
    read: dict[str, str] = {}
    for text in [given] if isinstance(given, str) else given:
        found = _PAIR.fullmatch(text)
        if not found:
            raise BadInput(f"--{option} takes {form}, got '{text}'.")
        name, value = found.groups()
        if name in read:
            raise BadInput(f"--{option} names '{name}' twice: '{read[name]}' and '{value}'.")
        read[name] = value
    return read


def choose(names: Sequence[str]) -> list[Protocol]:
    """The protocols of these names, each once."""
    if not names:
        raise BadInput("--protocol is needed at least once; `editgauge list protocols` shows what there is.")
    chosen = {name: protocols.get(name) for name in ([names] if isinstance(names, str) else names)}
    for name, protocol in chosen.items():
        if protocol.name != name:
            raise BadInput(
                f"The protocol '{name}' from {protocols.origin(name)} calls itself '{protocol.name}'. "
                "Its `name` and its entry point must be the same."
            )
    return list(chosen.values())
