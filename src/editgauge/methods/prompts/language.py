"""The language of templates: slots, choices, and an article that agrees with what follows it.

{to}                     the part as it is                {noun subject}   without its article
{a to} {the subject}     with an article                  {ing to}         a verb ending in -ing
{a to subject}           several parts as one phrase      a {to} texture   "an", where the part begins so
[ with {a from}]         left out when a part is absent
[{the from}|{the subject}]   the first choice whose parts are there; the last one must have them

A template is data: it can name parts and nothing else. What stands inside a part is never read as a template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from editgauge._util.text import article, to_gerund
from editgauge.methods.prompts.english import join_phrases, noun, with_a, with_the

PARTS = ("subject", "from", "to", "position", "anchor")
MODES: Mapping[str, Callable[[str], str]] = {"a": with_a, "the": with_the, "noun": noun, "ing": to_gerund}

SLOT = re.compile(r"(?:\b([Aa])n?\s+)?\{([^{}]*)\}")
GROUP = re.compile(r"\[([^\[\]]*)\]")


def expand_template(template: str, parts: Mapping[str, str]) -> str:
    """Expand the template with these parts; check with `missing_parts` first whether they suffice.

    >>> expand_template("make {the subject} {to}[ instead of {from}]", {"subject": "cat", "to": "black"})
    'make the cat black'
    """
    resolved = GROUP.sub(lambda group: _choose(_choices(group[1]), parts), template)
    return _tidy(SLOT.sub(lambda slot: _agreeing(slot[1], _say(slot[2], parts)), resolved))


def missing_parts(template: str, parts: Mapping[str, str]) -> list[str]:
    """Return the required parts of the template that are missing.

    >>> missing_parts("make {the subject} {to}[ instead of {from}]", {"subject": "cat"})
    ['to']
    """
    resolved = GROUP.sub(lambda group: _choose(_choices(group[1]), parts), template)
    return [name for name in dict.fromkeys(_names(resolved)) if name not in parts]


@lru_cache(maxsize=1000)
def find_problems(template: str) -> tuple[str, ...]:
    """Everything that is wrong with a template of ours or of a user's folder."""
    least = GROUP.sub(lambda group: _choices(group[1])[-1], template)
    problems = [] if least.strip() else ["it says nothing, or may say nothing when parts are absent"]
    for inside in (slot[2] for slot in SLOT.finditer(template)):
        names = _names_in(inside)
        problems += [f"there is no part '{name}'; there are {', '.join(PARTS)}" for name in names if name not in PARTS]
        problems += [] if names else [f"'{{{inside}}}' names no part"]
    for group in GROUP.finditer(template):
        if not all(SLOT.search(choice) for choice in _choices(group[1])[:-1]):
            problems.append(f"'{group[0]}' has a choice without a slot, so it leaves nothing to choose")
    if set("{}[]") & set(SLOT.sub("", GROUP.sub(r"\1", template))):
        problems.append("a brace or bracket has no partner, or is inside another one")
    return tuple(problems)


def _choices(group: str) -> list[str]:
    choices = group.split("|")
    return choices if len(choices) > 1 else [*choices, ""]


def _choose(choices: list[str], parts: Mapping[str, str]) -> str:
    return next((choice for choice in choices if all(name in parts for name in _names(choice))), choices[-1])


def _names(template: str) -> list[str]:
    return [name for slot in SLOT.finditer(template) for name in _names_in(slot[2])]


def _names_in(slot: str) -> list[str]:
    words = slot.split()
    return words[1:] if words and words[0] in MODES else words


def _say(slot: str, parts: Mapping[str, str]) -> str:
    names, mode = _names_in(slot), MODES.get(slot.split()[0])
    words = join_phrases([parts[name] for name in names]) if len(names) > 1 else parts[names[0]]
    return mode(words) if mode else words


def _agreeing(before: str | None, words: str) -> str:
    if before is None:
        return words
    phrase = f"{article(noun(words))} {noun(words)}"
    return phrase[0].upper() + phrase[1:] if before == "A" else phrase


def _tidy(text: str) -> str:
    return " ".join(text.split())
