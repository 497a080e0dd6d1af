"""Noun phrases: what is named, how many, which one, whose, and how it is described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from editgauge.instructions.lexicon import (
    action_base,
    adjective_kinds,
    is_ing_verb,
    is_plural,
    lists_in,
    match,
    match_any,
    mentions,
    singular,
    table,
    words,
)
from editgauge.instructions.tokens import MARKS, Token, skip, token_at

POSSESSIVE = frozenset({"his", "her", "its", "their", "my", "your", "our", "it's"})
NO_NAME = frozenset(word for word in words("other_prepositions") if " " not in word) | MARKS


@dataclass(frozen=True, slots=True)
class Thing:
    """One noun phrase."""

    words: tuple[Token, ...] = ()
    """What names it, with its descriptions, without articles and counts."""
    determiner: str = ""
    count: int | None = None
    owner: str = ""
    """Whose it is: a noun, or a possessive pronoun."""
    which: tuple[str, ...] = ()
    """What tells it from others of its kind: left, one of, other."""
    pronoun: str = ""

    @property
    def name(self) -> str:
        """The phrase without articles, with the owner where it is a noun: "hot air balloon", "man's hair"."""
        core = " ".join(_shown(word) for word in self.words)
        return f"{self.owner}'s {core}" if self.owner and self.owner not in POSSESSIVE else core

    @property
    def is_definite(self) -> bool:
        """Is it something that is in the picture already, by its article?"""
        return bool(self.owner or self.pronoun or self.which) or self.determiner in words("definite")

    @property
    def front(self) -> tuple[Token, ...]:
        """The words before "of": of "red cup of coffee" the red cup."""
        return self.words[: self.words.index("of")] if "of" in self.words else self.words

    @property
    def head(self) -> str:
        """The noun itself: of "cup of coffee" the cup."""
        return str(self.front[-1]) if self.front else ""

    @property
    def adjectives(self) -> tuple[str, ...]:
        """The descriptions before the noun, as far as the lists know them."""
        before = self.front
        if before and match("compounds", before[-2:]) == 2:
            before = before[:-1]
        known = adjective_kinds()
        return tuple(
            str(word) for word in before[:-1] if word in known or is_ing_verb(word) or word.endswith("-shaped")
        )

    @property
    def is_worn(self) -> bool:
        """Is it something to wear? Glasses of champagne are not."""
        named = self.head in words("worn") or singular(self.head) in words("worn")
        return named and not (singular(self.head) in words("measures") and "of" in self.words)

    @property
    def is_part(self) -> bool:
        """Is it something that belongs to another thing, such as a handle?"""
        own = not self.owner or self.owner in POSSESSIVE
        return own and (self.head in words("parts") or singular(self.head) in words("parts"))

    @property
    def is_alive(self) -> bool:
        """Is it a person or an animal?"""
        return singular(self.head) in words("people") | words("animals") or self.head in words("people")

    @property
    def is_scene(self) -> bool:
        """Is it a place that can be a background?"""
        return mentions("places", self.words)

    def without(self, described: Sequence[str]) -> Thing:
        """The thing without some of its descriptions."""
        return replace(self, words=tuple(w for w in self.words if w not in described) or self.words)

    def __bool__(self) -> bool:
        """Is anything named?"""
        return bool(self.words or self.pronoun)


def _shown(word: Token) -> str:
    """A word as names show it: in small letters, except for quotations."""
    return word.raw if word.quoted else str(word)


def read_thing(tokens: Sequence[Token], start: int = 0, predicate: bool = False) -> tuple[Thing, int]:
    """The noun phrase that begins at `start`, and where it ends.

    With `predicate`, what is said of the thing follows without a verb or with a bare one, as in "make the car red" and
    "let the dog sleep"; the phrase then ends before it.
    """
    thing, at = _opening(tokens, start)
    if thing.pronoun or thing.words:
        return thing, at
    named: list[Token] = []
    while at < len(tokens):
        token = tokens[at]
        compound = match("compounds", tokens, at)
        if compound > 1:
            named += tokens[at : at + compound]
            at += compound
            continue
        if token == "'s" and named:
            thing = replace(thing, owner=" ".join(str(word) for word in named))
            named = []
        elif token == "of" and named and at + 1 < len(tokens):
            named.append(token)
            at += 1
            while at < len(tokens) and tokens[at] in {"the", "a", "an", "some", "his", "her", "its", "their"}:
                if tokens[at] in {"a", "an"} and singular(str(named[0])) not in words("measures"):
                    named.append(tokens[at])
                at += 1
            continue
        elif token in {"down", "up", "over"} and named and _is_participle(named[-1]) and _names_follow(tokens, at):
            named.append(token)
        elif (named and named[-1] != "of" and _ends(tokens, at, named, predicate)) or (
            not named and (token in MARKS or token in NO_NAME or match_any(lists_in("relations"), tokens, at)[1])
        ):
            break
        elif token in words("which") and not thing.which and not named and _names_follow(tokens, at):
            thing = replace(thing, which=(*thing.which, str(token)))
        else:
            named.append(token)
        at += 1
    while len(named) > 1 and named[-1] == "of":
        named.pop()
    return replace(thing, words=tuple(named)), at


def _opening(tokens: Sequence[Token], start: int) -> tuple[Thing, int]:
    """Articles, counts, owners and pronouns at the beginning of a noun phrase."""
    at, determiner, owner, count = start, "", "", None
    which: tuple[str, ...] = ()
    numbers = table("numbers")
    while at < len(tokens):
        token = tokens[at]
        following = token_at(tokens, at + 1)
        if token in words("pronouns.anyone") and not determiner:
            every = "all" if token.startswith("every") else "a"
            return Thing(words=(Token("person", token.raw),), determiner=every), at + 1
        kind = _pronoun(tokens, at)
        if kind and not determiner and not owner:
            return Thing(determiner="the", pronoun=str(token), count=count, which=which), at + 1
        if token in {"only", "just"} and following:
            at += 1
            continue
        if token in words("quantities") and following == "of":
            count = {"couple": 2}.get(token, count)
            at += 2
            continue
        if token in {"all", "both", "each", "some", "any", "none", "most"} and following == "of":
            determiner, at = str(token), at + 2
            continue
        if (token in numbers or token.isdigit()) and following == "of" and token not in {"dozen", "pair"}:
            count, which, at = read_number(token), ("one of",), at + 2
            continue
        if token in POSSESSIVE and following and following not in MARKS:
            owner = str(token)
        elif (token in numbers or token.isdigit()) and _is_count(tokens, at):
            count = read_number(token)
        elif token in words("definite") | words("indefinite") and not (token == "one" and not following):
            determiner = determiner or str(token)
            if token == "other" and determiner in words("definite"):
                which = (*which, "other")
        else:
            break
        at += 1
    return Thing(determiner=determiner, owner=owner, count=count, which=which), at


def read_amount(tokens: Sequence[Token]) -> tuple[Thing, int] | None:
    """The things that "the number of apples" is about, and where they end; None for other words."""
    if list(tokens[:3]) not in (["the", "number", "of"], ["the", "amount", "of"]):
        return None
    return read_thing(tokens, 3)


def read_number(token: str) -> int | None:
    """A whole number in words or digits."""
    number = table("numbers").get(token, token)
    return int(number) if number.isdigit() and len(number) < 5 else None


def _is_count(tokens: Sequence[Token], at: int) -> bool:
    """A number before a noun; "one" alone stands for a thing."""
    following = token_at(tokens, at + 1)
    return bool(following) and following not in MARKS and following not in NO_NAME and not following.startswith("'")


def _pronoun(tokens: Sequence[Token], at: int) -> str:
    token = tokens[at]
    kind = table("pronouns").get(str(token), "")
    if not kind:
        return ""
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if token in {"her", "this", "that", "these", "those", "both", "one"}:
        ends = following is None or following in MARKS or following in words("definite") | words("indefinite")
        ends = ends or bool(match_any((*lists_in("relations"), "be", "modals", "wear", "have"), tokens, at + 1)[1])
        ends = ends or following in {"into", "to", "look", "with", "from"}
        ends = ends and not (token == "both" and following == "the")
        if (
            token == "her"
            and (following in adjective_kinds() or following in words("materials"))
            and at + 2 == len(tokens)
        ):
            ends = True
        elif token == "her" and following is not None and not ends:
            ends = action_base(following) == following and at + 2 <= len(tokens) and following not in words("worn")
            ends = ends and following not in {"dress", "watch", "ring", "face", "hand", "bow", "comb", "brush", "text"}
        return kind if ends and token != "one" else ""
    return kind


def _names_follow(tokens: Sequence[Token], at: int) -> bool:
    """Is there a noun after this word?"""
    return at + 1 < len(tokens) and not _is_boundary(tokens, at + 1)


def _is_participle(word: str) -> bool:
    return word.endswith(("ed", "en")) or word in {"torn", "cut", "shut", "split", "blown", "burnt"}


def _is_boundary(tokens: Sequence[Token], at: int) -> bool:
    token = tokens[at]
    if token in MARKS or token in NO_NAME or token in {"and", "or", "but", "&"} or token in words("relatives"):
        return True
    if token.quoted or (table("pronouns").get(str(token)) and not (token == "one" and at == len(tokens) - 1)):
        return True
    return bool(match_any((*lists_in("relations"), "instead"), tokens, at)[1])


def _ends(tokens: Sequence[Token], at: int, named: Sequence[Token], predicate: bool) -> bool:
    """Does the noun phrase end before this token?"""
    token = tokens[at]
    if _is_boundary(tokens, at):
        return True
    if token in words("definite") | words("indefinite") - {"one", "new", "different", "extra", "other", "additional"}:
        return True
    if token in table("numbers") and token not in {"single", "double", "pair", "triple"}:
        return not (token == "one" and at == len(tokens) - 1)
    described = adjective_kinds()
    has_noun = named[-1] not in described or len(named) > 1 or named[-1] in words("measures") or predicate
    if not has_noun:
        return False
    if match_any(("be", "modals", "wear", "contain"), tokens, at)[1]:
        return True
    if is_ing_verb(token) and named[-1] not in described:
        return True
    if token in {"have", "has", "had", "now"}:
        return True
    if token.endswith("ed") and at + 1 < len(tokens) and _is_boundary(tokens, at + 1) and token not in {"bed", "seed"}:
        return True
    if token.endswith("ed") and at + 1 == len(tokens) and token in words("states"):
        return True
    return predicate and _begins_predicate(tokens, at, named)


def _begins_predicate(tokens: Sequence[Token], at: int, named: Sequence[Token]) -> bool:
    token = tokens[at]
    is_last = at == len(tokens) - 1
    if token in words("adverbs") - {"little", "a"}:
        return True
    if match_any(("become", "look", "have", "hold", "show", "say", "not", "states"), tokens, at)[1]:
        return not (is_last and token in {"show", "play", "display", "look", "on", "off", "hold"}) or token in words(
            "states"
        )
    kind = adjective_kinds().get(str(token))
    if (
        kind
        and (is_last or _only_describes(tokens[at:]))
        and not (len(named) == 1 and named[0] in adjective_kinds() and named[0] not in words("materials") and is_last)
    ):
        return True
    base = action_base(token)
    alive = Thing(words=tuple(named)).is_alive
    if base is None or (token in words("ing_nouns") and token != base) or (token in words("worn") and not alive):
        return False
    if token not in words("noun_verbs"):
        return True
    if named[-1] in adjective_kinds() and named[-1] not in words("materials") and not alive:
        return False  # "the clear bowl": a noun has to follow
    if len(named) == 1 and named[0] in words("materials") and is_last:
        return False
    acts = alive or is_plural(str(named[-1]))
    if is_last:
        return acts or len(named) == 1
    return (
        acts
        or (base == token and _is_boundary(tokens, at + 1))
        or tokens[at + 1] in words("definite") | words("indefinite")
    )


def _only_describes(tokens: Sequence[Token]) -> bool:
    """Are these words descriptions up to the end of the clause or a preposition?"""
    known = adjective_kinds()
    for place, token in enumerate(tokens):
        if place and _is_boundary(tokens, place):
            return True
        if token not in known and token not in words("adverbs") and token not in {"and", "color", "colored", "colour"}:
            return False
    return True


def read_things(tokens: Sequence[Token], start: int = 0, predicate: bool = False) -> tuple[list[Thing], int]:
    """The noun phrases joined by "and" or commas from `start` on, each with what is said of it, and where they end."""
    things: list[Thing] = []
    at = start
    while at < len(tokens):
        thing, end = read_thing(tokens, at, predicate)
        if not thing:
            break
        things.append(thing)
        at = end
        joint = skip(tokens, {"and", ",", "&", "or", "as", "well"}, at)
        if joint == at or joint >= len(tokens) or not _joins(tokens, joint, thing):
            break
        at = joint
    return _compound(things), at


def _joins(tokens: Sequence[Token], at: int, before: Thing) -> bool:
    """Is what follows "and" another thing, not another clause?"""
    following, end = read_thing(tokens, at)
    if not following or following.pronoun:
        return False
    return not any(match(name, tokens, end) for name in ("be", "modals")) or bool(before)


def _compound(things: list[Thing]) -> list[Thing]:
    """`Bride and groom toppers` is one kind of thing: a bare singular, joined to a longer bare name."""
    if len(things) == 2:
        first, second = things
        bare = not first.determiner and not second.determiner and first.count is None and not first.owner
        if (
            bare
            and len(first.words) == 1
            and len(second.words) == 2
            and not is_plural(first.head)
            and is_plural(second.head)
        ):
            return [replace(second, words=(*first.words, Token("and"), *second.words))]
    return things
