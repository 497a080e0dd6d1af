"""Options that several verbs share: NAME=VALUE pairs, protocols and their models."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.errors import BadInputError
from editgauge.judges.prompts import prompt_names
from editgauge.models.profiles import ModelChoice, choose_for_protocols, models_for, models_of, plain_role
from editgauge.options import ModelOptions, ScorerOptions
from editgauge.protocols import Protocol, open_protocol

if TYPE_CHECKING:
    from editgauge.engine._judges import JudgeConfig

DEFAULT_PROFILE = "lite"
"""Profile of the models that protocols need, if the user names none."""

_PAIR = re.compile(r"((?:[^=\[]|\[[^]]*\])+)=(.+)", re.DOTALL)
"""NAME=VALUE; a method's variant may hold an equals sign: `imagic[eta=0.8]=folder`."""


def pairs(values: Mapping[str, str | Path] | Sequence[str], option: str, form: str) -> dict[str, str]:
    """Parse `NAME=VALUE` options; a name given twice is an error.

    >>> pairs(["imagic[eta=0.8]=a=b"], "outcomes", "NAME=FOLDER")
    {'imagic[eta=0.8]': 'a=b'}
    """
    if isinstance(values, Mapping):
        return {name: str(value) for name, value in values.items()}
    parsed: dict[str, str] = {}
    for text in [values] if isinstance(values, str) else values:
        match = _PAIR.fullmatch(text)
        if not match:
            raise BadInputError(f"`{option}` takes {form}, got '{text}'.")
        name, value = match.groups()
        if name in parsed:
            raise BadInputError(f"`{option}` names '{name}' twice: '{parsed[name]}' and '{value}'.")
        parsed[name] = value
    return parsed


DEFAULT_PROTOCOLS = ("editval", "pixlens", "editgauge", "preservation")
"""Together they tell whether the edit was done, the rest kept, and the image free of artifacts."""


def default_protocols(options: ModelOptions) -> tuple[tuple[str, ...], str]:
    """Return the default protocols whose models are available, and a remark on the others."""
    opened = [open_protocol(name) for name in DEFAULT_PROTOCOLS]
    overrides = pairs(options.model, "model", "ROLE=NAME")
    choice = choose_for_protocols(
        options.models or DEFAULT_PROFILE, overrides, {protocol.name: list(protocol.needs) for protocol in opened}
    )
    ready = tuple(
        protocol.name for protocol in opened if set(protocol.needs) <= set(models_for(protocol.name, choice.models))
    )
    if len(ready) == len(opened):
        return ready, ""
    left_out = ", ".join(name for name in DEFAULT_PROTOCOLS if name not in ready)
    return ready, f"Not asked: {left_out}. {' '.join(choice.remarks)}"


JUDGE = "judge"
"""The role that judges play, not models."""


def open_protocols_with_models(
    names: Sequence[str], options: ModelOptions, judges: Collection[str] = (), prompts: Path | None = None
) -> tuple[list[Protocol], ModelChoice]:
    """Open protocols with the models that they need, and those they can use if a profile is named.

    A protocol that asks a judge is opened once per judge.

    Raises:
        BadInputError: a model or a judge is missing.
    """
    opened = open_protocols(names, {})
    profile, overrides = options.models or DEFAULT_PROFILE, pairs(options.model, "model", "ROLE=NAME")
    # Optional roles that a profile does not offer deserve no remark.
    offered = {*models_of(profile), *overrides}
    roles = {protocol.name: _roles(protocol, offered, with_optional=bool(options.models)) for protocol in opened}
    choice = _drop_unused(choose_for_protocols(profile, overrides, roles), opened)
    _check_roles(opened, choice, has_judges=bool(judges))
    protocols = [
        protocol.with_models({**models_for(protocol.name, choice.models), **judge})
        for protocol in opened
        for judge in _judge_roles(protocol, judges)
    ]
    if prompts is not None:
        protocols = [protocol.worded(prompts.stem, prompt_names(prompts)) for protocol in protocols]
    _check_judges(protocols, judges)
    if judges and not any(protocol.judge for protocol in protocols):
        choice = replace(choice, remarks=(*choice.remarks, "`judge` has no effect: no protocol uses one."))
    return list({protocol.name: protocol for protocol in protocols}.values()), choice


def open_scoring(options: ScorerOptions, judge_config: JudgeConfig) -> tuple[list[Protocol], ModelChoice, str]:
    """Open the protocols of the options, or the default ones.

    Returns:
        The protocols, their models, and a remark on default protocols that were left out.

    """
    models = options.model_options
    names, remark = (options.protocol, "") if options.protocol else default_protocols(models)
    return *open_protocols_with_models(names, models, judge_config.names, judge_config.prompts), remark


def _roles(protocol: Protocol, offered: Collection[str], *, with_optional: bool) -> list[str]:
    optional = (*protocol.prefers, *(protocol.uses if with_optional else ()))
    return [*(role for role in protocol.needs if role != JUDGE), *(role for role in optional if role in offered)]


def _judge_roles(protocol: Protocol, judges: Collection[str]) -> list[dict[str, str]]:
    asks = bool(judges) and JUDGE in (*protocol.needs, *protocol.uses)
    return [{JUDGE: name} for name in judges] if asks else [{}]


def roles_of(protocol: Protocol, models: Collection[str]) -> list[str]:
    """Return the roles that a protocol may ask; any if it declares none."""
    declared = {*protocol.needs, *protocol.uses}
    keys = models_for(protocol.name, {role: role for role in models})
    return sorted(key for role, key in keys.items() if not declared or role in declared)


def _check_roles(protocols: Sequence[Protocol], choice: ModelChoice, *, has_judges: bool) -> None:
    judge_roles = {JUDGE} if has_judges else set()
    missing = {
        role: protocol.name
        for protocol in protocols
        for role in protocol.needs
        if role not in {*models_for(protocol.name, choice.models), *judge_roles}
    }
    if missing:
        needs = (f"{name} needs a {role.replace('_', ' ')}" for role, name in missing.items())
        advice = ("name one with `judge`, such as openai:MODEL@URL or transformers:FOLDER",) if JUDGE in missing else ()
        raise BadInputError(f"{'; '.join(needs)}.", (*choice.remarks, *choice.sources, *advice))


def _check_judges(protocols: Sequence[Protocol], judges: Collection[str]) -> None:
    problems = [
        *(
            f"'{protocol.name}' asks '{protocol.judge}'"
            for protocol in protocols
            if protocol.judge and protocol.judge not in judges
        ),
        *(
            f"'{protocol.name}' is graded by '{protocol.grader}'"
            for protocol in protocols
            if protocol.grader not in (None, *judges)
        ),
    ]
    if problems:
        raise BadInputError(f"`judge` names {', '.join(judges)}; was an option mistyped?", problems)


def _drop_unused(choice: ModelChoice, protocols: Sequence[Protocol]) -> ModelChoice:
    """Drop models that no protocol may ask; a protocol that declares no role may ask any."""
    declared = [{*protocol.needs, *protocol.prefers, *protocol.uses} for protocol in protocols]
    if not all(declared):
        return choice
    roles = set().union(*declared)
    remarks = (
        f"{role}: {name} has no effect: no protocol asks a {role.replace('_', ' ')}."
        for role, name in choice.models.items()
        if plain_role(role) not in roles
    )
    models = {role: name for role, name in choice.models.items() if plain_role(role) in roles}
    return replace(choice, models=models, remarks=(*choice.remarks, *remarks))


def open_protocols(names: Sequence[str], models: Mapping[str, str]) -> list[Protocol]:
    """Open protocols by name, each once, with these models by role."""
    if not names:
        raise BadInputError("`protocol` is needed at least once; `editgauge list protocols` shows all.")
    opened = [open_protocol(name) for name in dict.fromkeys([names] if isinstance(names, str) else names)]
    return [protocol.with_models(models_for(protocol.name, models)) for protocol in opened]
