"""What something becomes: a color, a material, a size, a state, a style, or another thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from editgauge._util.text import to_gerund
from editgauge.instructions.lexicon import action_base, adjective_kinds, is_ing_verb, match, mentions, table, words
from editgauge.instructions.things import Thing, read_thing
from editgauge.instructions.tokens import Token

AFTER_COLORS = frozenset(
    {"color", "colored", "colour", "coloured", "in", "one", "ones", "instead", "and", "&", ",", "tone", "hue"}
)
BEFORE_MOODS = frozenset({"a", "an", "the", "like", "it's", "is", "at", "in", "look", "be", "more", "very"})
MADE_OF = ("made of", "made out of", "made from", "made by", "out of", "built of", "in")
LOOKS = frozenset({"look", "form", "design"})
SURFACES = frozenset({"texture", "pattern", "patterns", "print", "material", "surface", "finish", "shape"})
"""Nouns after adjectives: "a wooden look", "a striped pattern"."""


@dataclass(frozen=True, slots=True)
class Value:
    """What a thing becomes, and which kind of change that is."""

    kind: str
    """An edit type; `thing` for another thing, `other` for a description of no known kind."""
    text: str
    thing: Thing | None = None


def read_value(tokens: Sequence[Token]) -> Value:
    """What the words after "become" name.

    >>> from editgauge.instructions.tokens import tokenize
    >>> [read_value(tokenize(text)).kind for text in ("dark blue", "a red truck", "made of glass", "much bigger")]
    ['color', 'thing', 'texture', 'size']
    """
    words_left = _stripped(tokens)
    if not words_left:
        return Value("other", "")
    if words_left[0].quoted:
        return Value("text", words_left[0].raw)
    made = _made_of(words_left)
    if made:
        return made
    for read in (_color, _size, _listed, _doing, _manner):
        value = read(words_left)
        if value:
            return value
    thing, end = read_thing(words_left)
    if words_left[0].endswith("ed") and words_left[0] not in {"bed", "seed", "shed", "reed", "weed"} and end <= 1:
        return Value("other", " ".join(words_left))
    if thing.words or thing.pronoun:
        return Value("thing", thing.name, thing)
    return Value("other", " ".join(words_left))


def _stripped(tokens: Sequence[Token]) -> list[Token]:
    at = 0
    while at < len(tokens) and (
        tokens[at] in words("before_values") or (tokens[at] in {"a", "an"} and _skips(tokens, at + 1))
    ):
        at += 1
    end = len(tokens)
    while end > at and tokens[end - 1] in {".", ",", "instead", "now", "please", "again", "too"}:
        end -= 1
    return list(tokens[at:end])


def _skips(tokens: Sequence[Token], at: int) -> bool:
    return (
        at < len(tokens)
        and tokens[at] in {"bit", "little", "lot"}
        and (
            at + 1 >= len(tokens)
            or adjective_kinds().get(str(tokens[at + 1])) is not None
            or tokens[at + 1] in {"more", "less"}
        )
    )


def _made_of(tokens: Sequence[Token]) -> Value | None:
    for opening in map(str.split, MADE_OF):
        if list(tokens[: len(opening)]) == opening:
            rest = [token for token in tokens[len(opening) :] if token not in {"a", "an", "the", "pure", "solid"}]
            if not rest:
                return None
            if opening == ["in"] and not all(token in words("materials") for token in rest):
                return None
            return Value("texture", " ".join(rest))
    return None


def _color(tokens: Sequence[Token]) -> Value | None:
    """A color, or several: "light blue", "red and white", "a shade of green"."""
    rest = [token for token in tokens if token not in {"a", "an", "the", "shade", "of"}]
    if tokens[0] in {"a", "an"} and not set(tokens) & {"color", "colour", "shade", "tone", "hue"}:
        return None
    if not rest or match("compounds", tokens) == len(tokens):
        return None
    if rest in (["black", "and", "white"], ["darker"], ["brighter"], ["lighter"]):
        return Value("color", " ".join(rest))
    named = [token for token in rest if token in words("colors")]
    known = words("colors") | words("shades") | AFTER_COLORS | {"pattern"}
    if named and all(token in known or "-" in token for token in rest):
        shown = [token for token in rest if token in words("colors") | words("shades") | {"and"}]
        while shown and shown[-1] in {"and", ","}:
            shown.pop()
        return Value("color", " ".join(shown))
    return None


def _size(tokens: Sequence[Token]) -> Value | None:
    sizes = {table("sizes")[str(token)] for token in tokens if token in words("sizes")}
    known = words("sizes") | words("before_values") | words("around_sizes")
    if len(sizes) == 1 and all(token in known or token.isdigit() or not place for place, token in enumerate(tokens)):
        first_known = tokens[0] in known or tokens[0] in table("numbers")
        return Value("size", sizes.pop()) if first_known else None
    return None


def _listed(tokens: Sequence[Token]) -> Value | None:
    """Adjectives that one list has: materials, patterns, shapes, states, feelings."""
    rest = [token for token in tokens if token not in {"a", "an", "with"}]
    if len(rest) > 2 and rest[-2] == "in":  # "oval in shape"
        rest.pop(-2)
    core = [token for token in rest if token not in LOOKS | SURFACES]
    if not core:
        return None
    has_article = tokens[0] in {"a", "an"}
    named_kinds = [_kind_of(token) for token in core if token not in {"and", "or", ","}]
    kinds = [kind for kind in named_kinds if kind]
    said = " ".join(core)
    if said in words("states") | words("shapes") and not has_article:
        return Value("action" if said in words("states") else "shape", said)
    if kinds and len(kinds) == len(named_kinds) and (not has_article or len(core) < len(rest)):
        first = next((kind for kind in kinds if kind not in {"other", "age"}), "other")
        if "shape" in rest or "form" in rest:
            first = "shape"
        return Value(first, said)
    if len(core) < len(rest) and SURFACES & set(rest):
        return Value("shape" if "shape" in rest else "texture", said.removeprefix("of ").removesuffix(" of"))
    if core[0] in words("shapes") and not has_article and len(core) > 1 and core[1] in {"in", "up", "into"}:
        return Value("shape", said)
    if core[0] in words("states") and len(core) == 2 and core[1] in {"over", "down", "up", "wide"}:
        return Value("action", said)
    return None


def _kind_of(token: str) -> str | None:
    if token.endswith("-shaped"):
        return "shape"
    kinds = adjective_kinds()
    compared = (token[: -len(end)] for end in ("er", "r", "est", "st") if token.endswith(end))  # "nicer" is "nice"
    bases = (form for stem in compared for form in (stem, f"{stem.removesuffix('i')}y") if len(stem) > 2)
    return kinds.get(token) or next((kinds[base] for base in bases if base in kinds), None)


def _doing(tokens: Sequence[Token]) -> Value | None:
    """An activity: "sleeping", "jumping over a fence"."""
    if is_ing_verb(tokens[0]) and (
        len(tokens) == 1 or action_base(tokens[0]) or tokens[1] in {"the", "a", "at", "in", "on"}
    ):
        return Value("action", " ".join(tokens))
    return None


def _manner(tokens: Sequence[Token]) -> Value | None:
    """A style: "in the style of", "a pencil drawing"; a matter of the whole picture."""
    said = " ".join(token for token in tokens if token not in {"a", "an", "the"})
    if "style of" in said:
        return Value("style", said.split("style of ", 1)[1] if "style of " in said else said)
    if tokens[-1] == "style" or tokens[-1].endswith("-style"):
        return Value("style", said.removeprefix("in "))
    return None


def doing(tokens: Sequence[Token]) -> str:
    """What a verb phrase says, as -ing: "press the keyboard" is "pressing the keyboard"."""
    if not tokens:
        return ""
    base = action_base(tokens[0])
    first = tokens[0] if is_ing_verb(tokens[0]) else to_gerund(base or str(tokens[0]))
    return " ".join([first, *tokens[1:]])


def is_style(tokens: Sequence[Token]) -> bool:
    """Do the words name a manner of the whole picture?"""
    return mentions("styles", tokens)


def is_mood(tokens: Sequence[Token]) -> bool:
    """Do the words name a season, an hour, a weather or a light?"""
    content = [token for token in tokens if token not in BEFORE_MOODS]
    return bool(content) and (content[-1] in words("moods") or content[0] in words("moods")) and len(content) <= 3
