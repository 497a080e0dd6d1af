"""Prompt language: articles, nouns, and the expansion of templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal, get_args

import yaml

from editgauge._util.text import article, to_gerund
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.types import Relation


@cache
def _lists() -> dict[str, list[str]]:
    text = (resources.files("editgauge.methods") / "data" / "english.yaml").read_text(encoding="utf-8")
    lists: dict[str, list[str]] = yaml.safe_load(text)
    return lists


def normalize_text(words: str) -> str:
    """Replace underscores by spaces and collapse whitespace; hyphens stay.

    >>> normalize_text("stop_sign"), normalize_text(" heart-shaped  ")
    ('stop sign', 'heart-shaped')
    """
    return " ".join(words.replace("_", " ").split())


def noun(phrase: str) -> str:
    """Remove the phrase's article.

    >>> noun("the cat"), noun("her jacket")
    ('cat', 'her jacket')
    """
    first, _, remainder = phrase.partition(" ")
    return remainder if remainder and first.lower() in _lists()["articles"] else phrase


def join_phrases(phrases: list[str]) -> str:
    """Several phrases as one, the last being its main word.

    >>> join_phrases(["brown", "the bench"]), join_phrases(["brown", "her jacket"])
    ('brown bench', 'her brown jacket')
    """
    *before, last = (noun(phrase) for phrase in phrases)
    first, _, remainder = last.partition(" ")
    return " ".join([first, *before, remainder] if remainder and has_determiner(last) else [*before, last])


def with_a(phrase: str) -> str:
    """Prefix "a" or "an", unless the phrase is plural, uncountable or has a determiner.

    >>> with_a("apple"), with_a("the unicorn"), with_a("shoes"), with_a("pair of shoes"), with_a("her jacket")
    ('an apple', 'a unicorn', 'shoes', 'a pair of shoes', 'her jacket')
    """
    bare = noun(phrase)
    return bare if has_determiner(bare) or not _countable(bare) else f"{article(bare)} {bare}"


def with_the(phrase: str) -> str:
    """Prefix "the", unless the phrase has a determiner.

    >>> with_the("a cat"), with_the("her jacket")
    ('the cat', 'her jacket')
    """
    bare = noun(phrase)
    return bare if has_determiner(bare) else f"the {bare}"


def has_determiner(phrase: str) -> bool:
    """Whether the phrase begins with a word that leaves no room for an article.

    >>> has_determiner("her jacket"), has_determiner("2 cats"), has_determiner("cat")
    (True, True, False)
    """
    first = phrase.partition(" ")[0]
    return first.lower() in _lists()["determiners"] or first.isdecimal()


def _countable(phrase: str) -> bool:
    lists, words = _lists(), phrase.lower().split()
    ends = [index for index, word in enumerate(words) if index and word in lists["prepositions"]]
    main = words[ends[0] - 1] if ends else words[-1]
    if main in lists["with_a"] or main in lists["without_a"]:
        return main in lists["with_a"]
    return not main.endswith("s") or main.endswith(("ss", "us", "is"))


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
    """Return all problems of a template."""
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
    names, mode = _names_in(slot), MODES.get(slot.split(maxsplit=1)[0])
    words = join_phrases([parts[name] for name in names]) if len(names) > 1 else parts[names[0]]
    return mode(words) if mode else words


def _agreeing(before: str | None, words: str) -> str:
    if before is None:
        return words
    phrase = f"{article(noun(words))} {noun(words)}"
    return phrase[0].upper() + phrase[1:] if before == "A" else phrase


def _tidy(text: str) -> str:
    return " ".join(text.split())


Form = Literal["instruction", "caption", "captions", "token"]
DEFAULT_TOKEN = "sks"  # noqa: S105  a word that a model has learned, not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The prompt form of a family of methods, and its source."""

    form: Form
    template: str
    after: str
    token: str | None = None
    also: tuple[str, ...] = ()


@cache
def families() -> dict[str, Family]:
    """All families by name."""
    text = (resources.files("editgauge.methods") / "data" / "families.yaml").read_text(encoding="utf-8")
    rows = yaml.safe_load(text)
    return {name: Family(**{**row, "also": tuple(row.get("also", ()))}) for name, row in rows.items()}


def family(name: str) -> Family:
    """Return the family of that name.

    >>> family("Instruct-Pix2Pix").form, family("SDE-Edit").form, family("Textual Inversion").token
    ('instruction', 'instruction', '*')
    """
    for key, row in families().items():
        if _folded(name) in map(_folded, (key, *row.also)):
            return row
    raise UnknownNameError("method family", name, families())


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


VERSIONED = re.compile(r"(\w+)\.v([0-9]{1,6})\.txt", re.ASCII)
NAMES: Mapping[str, Collection[str]] = {
    "instruction": EDIT_TYPES,
    "caption": EDIT_TYPES,
    "source": EDIT_TYPES,
    "position": tuple(relation.replace(" ", "_") for relation in get_args(Relation)),
}
"""The folders of a set, and what the files in each are called after."""


@dataclass(frozen=True, slots=True)
class Template:
    """The text of a template file, and the name to remember it by."""

    name: str
    text: str


DEFAULT_SET = "plain"
"""What another set lacks comes from this one."""


def has_template(template: str, kind: str, name: str, folder: Path | None = None) -> bool:
    """Return whether the user's folder, or without one the set itself, has that template."""
    directory: Traversable = folder / kind if folder else _sets() / template / kind
    return _newest(directory, name) is not None


def find_template(template: str, kind: str, name: str, folder: Path | None = None) -> Template | None:
    """Find the template `<kind>/<name>.v<number>.txt` in the user's folder, the set, or the default set."""
    custom = _newest(folder / kind, name) if folder else None
    if folder and custom:
        return _read(custom, f"{folder.name}/{kind}/{custom.name}")
    return _built_in(template, kind, name) or _built_in(DEFAULT_SET, kind, name)


def check_choice(template: str, folder: Path | None) -> None:
    """Refuses a set that does not exist, and a folder with templates that would never be found."""
    names = set_names()
    if template not in names:
        raise UnknownNameError("set of prompt templates", template, names)
    if folder is None:
        return
    if not folder.is_dir():
        raise BadInputError(f"There is no folder of templates at '{folder}'.")
    astray = [file for file in sorted([*folder.glob("*.txt"), *folder.glob("*/*.txt")]) if not _fits(file, folder)]
    if astray:
        raise BadInputError(
            f"The folder of templates '{folder}' holds files that no edit would use. A template is called as in "
            f"'instruction/color.v1.txt'; the folders are {', '.join(NAMES)}.",
            [file.relative_to(folder).as_posix() for file in astray],
        )


def _fits(file: Path, folder: Path) -> bool:
    name = VERSIONED.fullmatch(file.name)
    return name is not None and file.parent.parent == folder and name[1] in NAMES.get(file.parent.name, ())


@cache
def set_names() -> frozenset[str]:
    """Return the names of the built-in template sets."""
    return frozenset(entry.name for entry in _sets().iterdir() if entry.is_dir())


def _sets() -> Traversable:
    return resources.files("editgauge.methods") / "data" / "templates"


@cache
def _built_in(template: str, kind: str, name: str) -> Template | None:
    file = _newest(_sets() / template / kind, name)
    return _read(file, f"{template}/{kind}/{file.name}") if file else None


def _newest(folder: Traversable, name: str) -> Traversable | None:
    if not folder.is_dir():
        return None
    files = ((VERSIONED.fullmatch(file.name), file) for file in folder.iterdir())
    versions = {int(match[2]): file for match, file in files if match and match[1] == name}
    return versions[max(versions)] if versions else None


def _read(file: Traversable, name: str) -> Template:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"The template '{name}' cannot be read: {error}.") from error
    problems = find_problems(text)
    if problems:
        raise BadInputError(f"The template '{name}' cannot be used.", problems)
    return Template(name, text)
