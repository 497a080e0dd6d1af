"""Options that several verbs share, as given on the command line or in Python."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from editgauge.errors import BadInputError
from editgauge.judges.prompts import prompt_names
from editgauge.models._factory import plain_role
from editgauge.models.profiles import ModelChoice, choose_for_protocols, models_for, models_of
from editgauge.options import ModelOptions
from editgauge.protocols import Protocol, open_protocol

DEFAULT_PROFILE = "lite"
"""The profile for what a protocol cannot do without, when none is named."""

_PAIR = re.compile(r"((?:[^=\[]|\[[^]]*\])+)=(.+)", re.DOTALL)
"""NAME=VALUE; a method's variant may hold an equals sign: `imagic[eta=0.8]=folder`."""


def pairs(values: Mapping[str, str | Path] | Sequence[str], option: str, form: str) -> dict[str, str]:
    """`NAME=VALUE` options as a dictionary; a name given twice is an error.

    >>> pairs(["imagic[eta=0.8]=a=b"], "outcomes", "NAME=FOLDER")
    {'imagic[eta=0.8]': 'a=b'}
    """
    if isinstance(values, Mapping):
        return {name: str(value) for name, value in values.items()}
    read: dict[str, str] = {}
    for text in [values] if isinstance(values, str) else values:
        match = _PAIR.fullmatch(text)
        if not match:
            raise BadInputError(f"--{option} takes {form}, got '{text}'.")
        name, value = match.groups()
        if name in read:
            raise BadInputError(f"--{option} names '{name}' twice: '{read[name]}' and '{value}'.")
        read[name] = value
    return read


DEFAULT_PROTOCOLS = ("editval", "pixlens", "editgauge", "preservation")
"""Together they tell whether the edit was done, the rest kept and the picture clean."""


def default_protocols(options: ModelOptions) -> tuple[tuple[str, ...], str]:
    """The protocols of a command that names none, and a remark on those left out because their models are not here."""
    opened = [open_protocol(name) for name in DEFAULT_PROTOCOLS]
    named = pairs(options.model, "model", "ROLE=NAME")
    choice = choose_for_protocols(
        options.models or DEFAULT_PROFILE, named, {each.name: list(each.needs) for each in opened}
    )
    ready = tuple(each.name for each in opened if set(each.needs) <= set(models_for(each.name, choice.models)))
    if len(ready) == len(opened):
        return ready, ""
    left_out = ", ".join(name for name in DEFAULT_PROTOCOLS if name not in ready)
    return ready, f"Not asked: {left_out}. {' '.join(choice.remarks)}"


JUDGE = "judge"
"""The role that no model of perception plays."""


def open_protocols_with_models(
    names: Sequence[str], options: ModelOptions, judges: Collection[str] = (), prompts: Path | None = None
) -> tuple[list[Protocol], ModelChoice]:
    """The protocols of these names with the models that they need, and those they can use if a profile is named.

    A protocol that asks a judge comes once for each of the judges.
    """
    opened = open_protocols(names, {})
    profile, named = options.models or DEFAULT_PROFILE, pairs(options.model, "model", "ROLE=NAME")
    # What a protocol can do without is no matter of a profile that has no such model: no remark about it.
    offered = {*models_of(profile), *named}
    optional = {each.name: (*each.prefers, *(each.uses if options.models else ())) for each in opened}
    roles = {
        each.name: [
            *(role for role in each.needs if role != JUDGE),
            *(role for role in optional[each.name] if role in offered),
        ]
        for each in opened
    }
    choice = _without_idle(choose_for_protocols(profile, named, roles), opened)
    judging = {JUDGE} if judges else set()
    lacking = {
        role: each.name
        for each in opened
        for role in each.needs
        if role not in {*models_for(each.name, choice.models), *judging}
    }
    if lacking:
        needs = (f"{name} needs a {role.replace('_', ' ')}" for role, name in lacking.items())
        how = ("name one with --judge, such as openai:MODEL@URL or transformers:FOLDER",) if JUDGE in lacking else ()
        raise BadInputError(f"{'; '.join(needs)}.", (*choice.remarks, *choice.sources, *how))
    protocols = [
        each.with_models({**models_for(each.name, choice.models), **judge})
        for each in opened
        for judge in ([{JUDGE: name} for name in judges] if judges and JUDGE in (*each.needs, *each.uses) else [{}])
    ]
    if prompts is not None:
        protocols = [each.worded(prompts.stem, prompt_names(prompts)) for each in protocols]
    strangers = [f"'{each.name}' asks '{each.judge}'" for each in protocols if each.judge and each.judge not in judges]
    strangers += [
        f"'{each.name}' is graded by '{each.grader}'" for each in protocols if each.grader not in (None, *judges)
    ]
    if strangers:
        raise BadInputError(f"--judge names {', '.join(judges)}; was an option mistyped?", strangers)
    if judges and not any(each.judge for each in protocols):
        choice = replace(choice, remarks=(*choice.remarks, "--judge has no effect: no protocol asks one."))
    return list({each.name: each for each in protocols}.values()), choice


def _without_idle(choice: ModelChoice, protocols: Sequence[Protocol]) -> ModelChoice:
    """Only the models that a protocol may ask, one that declares no role any: another would pass for one that was."""
    declared = [{*each.needs, *each.prefers, *each.uses} for each in protocols]
    if not all(declared):
        return choice
    roles = set().union(*declared)
    remarks = (
        f"{role}: {name} has no effect: no protocol asks a {role.replace('_', ' ')}."
        for role, name in choice.models.items()
        if plain_role(role) not in roles
    )
    kept = {role: name for role, name in choice.models.items() if plain_role(role) in roles}
    return replace(choice, models=kept, remarks=(*choice.remarks, *remarks))


def open_protocols(names: Sequence[str], models: Mapping[str, str]) -> list[Protocol]:
    """The protocols of these names, each once, as they are with these models by role."""
    if not names:
        raise BadInputError("--protocol is needed at least once; `editgauge list protocols` shows what there is.")
    wanted = [names] if isinstance(names, str) else names
    opened = [open_protocol(name) for name in dict.fromkeys(wanted)]
    return [each.with_models(models_for(each.name, models)) for each in opened]
