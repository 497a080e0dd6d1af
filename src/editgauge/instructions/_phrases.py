"""Noun phrases and placements: what is named, how many, which, whose, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from editgauge.instructions._lexicon import (
    action_base,
    adjective_kinds,
    in_list,
    is_activity,
    is_plural,
    known_kind,
    lists_in,
    match,
    match_any,
    mentions,
    table,
    words,
)
from editgauge.instructions._parser import MODIFIERS, head_position, subtree_end
from editgauge.instructions._words import MARKS, Word, skip, text_of, token_at
from editgauge.types import Position, Relation

Words = Sequence[Word]
POSSESSIVE = frozenset({"his", "her", "its", "their", "my", "your", "our"})
SIDES: frozenset[Relation] = frozenset({"left", "right", "above", "below"})
"""Relations that name a side of the anchor."""
_PREPOSITIONS = frozenset(word for word in words("other_prepositions") if " " not in word)
_COORDINATORS = frozenset({"and", "or", "but"})
_PARTITIVES = frozenset({"all", "both", "each", "some", "any", "none", "most", "half", "every"})
_SIDE_WORDS = frozenset({"side", "hand", "hand-side", "corner", "part", "edge", "left", "right", "half"})
_AFTER_SIDES = frozenset({"and", "instead", "please", "next", "that", "which", "who", "with", "from"})
_FINITE = frozenset({"MD", "VBZ", "VBP", "VBD"})
_NOUNS = ("NN", "NNS", "NNP", "NNPS", "CD", "PRP", "FW")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase."""

    words: tuple[Word, ...] = ()
    """The noun with its descriptions, without articles and counts."""
    determiner: str = ""
    count: int | None = None
    owner: str = ""
    """The possessor: a noun phrase or a possessive pronoun."""
    which: tuple[str, ...] = ()
    """Words that select among several: left, one of, other."""
    pronoun: str = ""

    @property
    def name(self) -> str:
        """The phrase without articles, with a possessor that is a noun: "hot air balloon", "man's hair"."""
        core = text_of(self.words)
        if not self.owner or self.owner in POSSESSIVE:
            return core
        return f"{self.owner}{'' if self.owner.endswith('s') else 's'} {core}".replace(self.owner, f"{self.owner}'", 1)

    @property
    def is_definite(self) -> bool:
        """Whether the phrase refers to something that is in the image already."""
        return bool(self.owner or self.pronoun or self.which) or self.determiner in words("definite")

    @property
    def front(self) -> tuple[Word, ...]:
        """The words before "of": "red cup" of "red cup of coffee"."""
        return self.words[: self.words.index("of")] if "of" in self.words[1:] else self.words

    @property
    def head(self) -> str:
        """The noun: "cup" of "cup of coffee"."""
        return str(self.front[-1]) if self.front else ""

    @property
    def adjectives(self) -> tuple[str, ...]:
        """The descriptions before the noun that the word lists contain."""
        front = self.front[:-1] if match("compounds", self.front[-2:]) == 2 else self.front
        listed = adjective_kinds()
        return tuple(
            str(word) for word in front[:-1] if word in listed or is_activity(word) or word.endswith("-shaped")
        )

    @property
    def is_worn(self) -> bool:
        """Whether it is clothing or an accessory; glasses of champagne are not."""
        return in_list("worn", self.head) and not (in_list("measures", self.head) and "of" in self.words)

    @property
    def is_part(self) -> bool:
        """Whether it is a part of something, such as a handle."""
        return (not self.owner or self.owner in POSSESSIVE) and in_list("parts", self.head)

    @property
    def is_alive(self) -> bool:
        """Whether it is a person or an animal."""
        return in_list("people", self.head) or in_list("animals", self.head)

    @property
    def is_scene(self) -> bool:
        """Whether it is a place that can be a background."""
        return mentions("places", self.words) or any(
            word.tag == "NNP" and word.raw[:1].isupper() for word in self.words
        )

    @property
    def is_image(self) -> bool:
        """Whether it is the whole image: "the photo", "the whole thing"."""
        return (self.head in words("whole") and not self.which) or self.words == ("whole", "thing")

    def without(self, described: Sequence[str]) -> Phrase:
        """Return the phrase without some of its descriptions."""
        return replace(self, words=tuple(word for word in self.words if word not in described) or self.words)

    def __bool__(self) -> bool:
        return bool(self.words or self.pronoun)


def read_number(token: str) -> int | None:
    """Return a whole number written in words or digits.

    >>> read_number("three"), read_number("12"), read_number("cat")
    (3, 12, None)
    """
    number = table("numbers").get(token, token)
    return int(number) if number.isdigit() and len(number) < 5 else None


def read_phrase(tokens: Words, start: int = 0, *, predicate: bool = False) -> tuple[Phrase, int]:
    """Return the noun phrase that begins at `start` and the position after it.

    Args:
        tokens: words of a clause, with dependencies.
        start: where the phrase begins.
        predicate: whether something is said of the phrase without a copula, as in "make the car red" and "let the dog
            sleep"; the phrase then ends before it.

    """
    phrase, at = _opening(tokens, start)
    if phrase:
        return phrase, at
    if at >= len(tokens) or not _can_begin(tokens, at):
        return Phrase(), at
    end = _core_end(tokens, at, predicate=predicate)
    core = list(tokens[at:end])
    if "'s" in core[1:-1]:
        cut = len(core) - 1 - core[::-1].index(Word("'s"))
        phrase = replace(phrase, owner=" ".join(core[:cut]).replace(" 's", "'s"))
        core = core[cut + 1 :]
    while len(core) > 1 and core[0] in words("which") and not match("compounds", core):
        phrase = replace(phrase, which=(*phrase.which, str(core[0])))
        core = core[1:]
    if token_at(tokens, end) == "of" and end + 1 < len(tokens):
        inner, end = _of_phrase(tokens, end, core, predicate=predicate)
        core += inner
    return replace(phrase, words=tuple(core)), end


def _opening(tokens: Words, start: int) -> tuple[Phrase, int]:
    """Read articles, counts, possessors and pronouns at the beginning of a noun phrase."""
    phrase, at = Phrase(), start
    while at < len(tokens):
        token, following = tokens[at], token_at(tokens, at + 1)
        if token in words("pronouns.anyone") and not phrase.determiner:
            person = Word("person", token.raw)
            return Phrase(words=(person,), determiner="all" if token.startswith("every") else "a"), at + 1
        if (phrase.which or not phrase.determiner) and not phrase.owner and _is_pronoun(tokens, at):
            return replace(phrase, determiner="the", pronoun=str(token)), at + 1
        if following == "of" and (partitive := _partitive(phrase, token)) is not None:
            phrase, at = partitive, at + 2
            continue
        if token in POSSESSIVE and following and following not in MARKS:
            phrase = replace(phrase, owner=str(token))
        elif read_number(token) is not None and _counts(tokens, at):
            phrase = replace(phrase, count=read_number(token))
        elif token in words("definite") | words("indefinite") and following and token != "one":
            which = (
                (*phrase.which, "other")
                if token == "other" and phrase.determiner in words("definite")
                else phrase.which
            )
            phrase = replace(phrase, determiner=phrase.determiner or str(token), which=which)
        elif not (token in {"only", "just", "exactly"} and following):
            break
        at += 1
    return replace(phrase, words=()), at


def _partitive(phrase: Phrase, token: Word) -> Phrase | None:
    """Read "a couple of", "all of" and "two of" before what they count."""
    if token in words("quantities") and not (token == "number" and phrase.determiner == "the"):
        return replace(phrase, count={"couple": 2}.get(token, phrase.count))
    if token in _PARTITIVES:
        return replace(phrase, determiner=str(token), which=("some of",) if token == "some" else ())
    number = read_number(token)
    if number is not None and token not in {"dozen", "pair"}:
        return replace(phrase, count=number, which=("one of",))
    return None


def _counts(tokens: Words, at: int) -> bool:
    """Tell whether a number stands before a noun; "one" alone stands for a noun."""
    following = token_at(tokens, at + 1)
    return (
        bool(following)
        and following not in MARKS | _PREPOSITIONS
        and not following.startswith("'")
        and not is_boundary(tokens, at + 1)
    )


def _is_pronoun(tokens: Words, at: int) -> bool:
    token, following = tokens[at], token_at(tokens, at + 1)
    if token not in table("pronouns") or token == "one":
        return False
    if token not in {"her", "this", "that", "these", "those", "both"}:
        return True
    if not following or following in MARKS or is_boundary(tokens, at + 1):
        return not (token == "both" and following == "the")
    if token == "her":
        acts = (
            action_base(following) == following and not in_list("worn", following) and not in_list("parts", following)
        )
        ends = at + 2 >= len(tokens) or is_boundary(tokens, at + 2)
        is_noun = following in words("noun_verbs") and following not in words("plain_verbs")
        if match_any(("wear", "hold", "have", "look"), tokens, at + 1)[1]:
            return True
        if in_list("worn", following) or in_list("parts", following):
            return False
        describes = all(known_kind(word) or word.tag in {"JJ", "JJR", "RB", "RBR", "VBG"} for word in tokens[at + 1 :])
        return (acts and (ends or not is_noun)) or describes
    return token.dep not in {"det", "nmod", "amod", "mark"} and following.tag[:2] not in {"NN", "JJ"}


def is_boundary(tokens: Words, at: int) -> bool:
    """Tell whether no noun phrase goes on across this word."""
    token = tokens[at]
    if (
        token in MARKS
        or token in _COORDINATORS
        or token.quoted
        or token in words("relatives")
        or token in {"there", "so"}
    ):
        return True
    _, length = match_any((*lists_in("relations"), "instead"), tokens, at)
    if token in _PREPOSITIONS or length:
        return token.tag not in {"NN", "NNS", "NNP", "JJ"} or token in _PREPOSITIONS or length > 1
    if token in table("pronouns") and token != "one":
        return True
    articles = words("definite") | words("indefinite") - {
        "one",
        "new",
        "different",
        "extra",
        "other",
        "additional",
        "more",
        "few",
    }
    return token in articles or bool(match_any(("be", "modals"), tokens, at)[1]) or token == "not"


def _can_begin(tokens: Words, at: int) -> bool:
    token = tokens[at]
    return token.quoted or not is_boundary(tokens, at) or token.tag in {"NN", "NNS", "JJ"}


def _core_end(tokens: Words, start: int, *, predicate: bool) -> int:
    """Return the position after the noun."""
    inside = {at + 1 for at in range(start, len(tokens)) if match("compounds", tokens, at) > 1}
    inside |= {at for at in range(start + 1, len(tokens) - 1) if _is_particle(tokens, at)}
    stops = (at for at in range(start + 1, len(tokens)) if is_boundary(tokens, at) and at not in inside)
    stop = next((at for at in stops if not _is_possessive(tokens, at)), len(tokens))
    if tokens[start].quoted:
        return start + 1
    for at in range(start + 1, stop):
        if at in inside or at + 1 in inside or "'s" in (tokens[at], tokens[at - 1]):
            continue
        if _begins_verb(tokens, start, at) or (predicate and _begins_predicate(tokens, start, at, stop)):
            return at
    return stop


def _is_particle(tokens: Words, at: int) -> bool:
    """Tell whether a particle belongs to a participle before a noun: "a torn up bear"."""
    before, after = tokens[at - 1], tokens[at + 1]
    is_participle = before.tag == "VBN" or before.endswith(("ed", "en", "torn", "cut"))
    return tokens[at] in {"down", "up", "over", "out"} and is_participle and after.tag[:2] == "NN"


def _is_possessive(tokens: Words, at: int) -> bool:
    """Tell "the dog's collar" from "the dog's sleeping"."""
    return tokens[at] == "'s" and at + 1 < len(tokens) and tokens[at].tag != "VBZ"


def _begins_verb(tokens: Words, start: int, at: int) -> bool:
    """Tell whether a verb or an adverb follows the noun: "a dog | barking", "the cup | away"."""
    token, before = tokens[at], tokens[at - 1]
    if known_kind(before) and before.tag not in _NOUNS and at - 1 == start:
        return False
    if match_any(("wear", "contain"), tokens, at)[1] or token in {"have", "has", "had", "now"}:
        return True
    if token.tag in {"RB", "RP", "RBR"} and token in words("adverbs") | {
        "away",
        "off",
        "out",
        "up",
        "down",
        "instead",
        "together",
        "back",
        "closer",
        "further",
        "forward",
    }:
        return True
    if (
        token.tag in _FINITE
        and token.dep not in MODIFIERS
        and action_base(token) is not None
        and token not in words("noun_verbs")
    ):
        return True
    if is_activity(token):
        ends = at + 1 == len(tokens) or is_boundary(tokens, at + 1)
        return before not in adjective_kinds() and (
            ends or not (token.dep in MODIFIERS and head_position(tokens, at) > at)
        )
    is_participle = token.tag in {"VBN", "VBD"} or token.endswith("ed")
    ends = at + 1 == len(tokens) or is_boundary(tokens, at + 1)
    return is_participle and ends and token.dep not in MODIFIERS and token not in {"bed", "seed", "shed"}


def _begins_predicate(tokens: Words, start: int, at: int, stop: int) -> bool:
    """Tell whether a word is said of the noun before it: "the car | red", "the dog | sleep"."""
    token, before = tokens[at], tokens[at - 1]
    is_last = at + 1 == len(tokens)
    phrase = Phrase(words=tuple(tokens[start:at]))
    if match_any(("become", "look", "have", "hold", "show", "say", "not", "states"), tokens, at)[1]:
        return not (
            is_last and token in {"show", "play", "display", "look", "on", "off", "hold"} and not phrase.is_alive
        ) or token in words("states")
    if token in words("adverbs") - {"little", "a"} or (read_number(token) is not None and not is_last):
        return True
    only_describes = all(
        known_kind(word) or word in words("adverbs") | words("shades") | {"color", "colored", "colour"}
        for word in tokens[at:stop]
    )
    if known_kind(token) and only_describes and not (token.tag == "NN" and at - 1 == start and is_activity(before)):
        is_noun_missing = (
            at - 1 == start and before in adjective_kinds() and before not in words("materials") and is_last
        )
        return not is_noun_missing
    base = action_base(token)
    if (
        base is None
        or (token in words("ing_nouns") and token != base)
        or (token in words("worn") and not phrase.is_alive)
    ):
        is_noun = any(
            in_list(name, str(token)) for name in ("text_holders", "containers", "parts", "worn", "people", "animals")
        )
        return (
            token.tag == "VB"
            and not is_noun
            and token.dep in {"ccomp", "xcomp", "ROOT"}
            and head_position(tokens, at) < at
        )
    if token not in words("noun_verbs"):
        return True
    if before in adjective_kinds() and before not in words("materials") and not phrase.is_alive:
        return False
    acts = phrase.is_alive or is_plural(str(before)) or token.tag == "VB"
    if is_last:
        return acts or at - 1 == start
    return acts or (base == token and at + 1 == stop)


def _of_phrase(tokens: Words, at: int, core: Words, *, predicate: bool) -> tuple[list[Word], int]:
    """Read "of coffee" after "cup"; articles stay only before what a picture or part is of."""
    inner, end = read_phrase(tokens, at + 1, predicate=predicate)
    if not inner.words:
        return [], at
    article = []
    if inner.determiner in {"a", "an"} and not in_list("measures", core[0]):
        article = [Word(inner.determiner)]
    if inner.owner and inner.owner not in POSSESSIVE:
        inner = replace(inner, words=(*map(Word, inner.owner.split()), Word("'s"), *inner.words))
    return [tokens[at], *article, *inner.words], end


def read_phrases(tokens: Words, start: int = 0, *, predicate: bool = False) -> tuple[list[Phrase], int]:
    """Return the coordinated noun phrases that begin at `start` and the position after them."""
    phrases: list[Phrase] = []
    at = start
    while at < len(tokens):
        phrase, end = read_phrase(tokens, at, predicate=predicate)
        if not phrase:
            break
        phrases.append(phrase)
        at = end
        following = (
            at + 3 if list(tokens[at : at + 3]) == ["as", "well", "as"] else skip(tokens, {"and", ",", "or"}, at)
        )
        if following == at or following >= len(tokens):
            break
        coordinated, _ = read_phrase(tokens, following)
        is_verb = bool(match_any(("wear", "hold"), tokens, following)[1]) and tokens[following].tag[:2] == "VB"
        if not coordinated or coordinated.pronoun or is_verb:
            break
        at = following
    return _joined(phrases), at


def _joined(phrases: list[Phrase]) -> list[Phrase]:
    """Share the article of "the cars and trucks", and join "bride and groom toppers", which is one kind of object."""
    if phrases and phrases[0].determiner in {"the", "all", "both"}:
        return [
            phrase if phrase.determiner or phrase.owner else replace(phrase, determiner="the") for phrase in phrases
        ]
    if len(phrases) != 2:
        return phrases
    first, second = phrases
    is_bare = not (first.determiner or second.determiner or first.owner or first.count is not None)
    if (
        is_bare
        and len(first.words) == 1
        and len(second.words) == 2
        and not is_plural(first.head)
        and is_plural(second.head)
    ):
        return [replace(second, words=(*first.words, Word("and"), *second.words))]
    return phrases


def read_objects(tokens: Words, *, predicate: bool = False) -> list[tuple[Phrase, Words]]:
    """Return the objects of a verb, each with the words that follow it.

    "a cat on the sofa and a dog on the rug" gives each its own words; "a cat and a dog on the rug" gives both the same.
    """
    phrases, end = read_phrases(tokens, predicate=predicate)
    tail = tokens[end:]
    determiners = words("definite") | words("indefinite")
    for at in range(1, len(tail) - 1):
        length = 3 if list(tail[at : at + 3]) == ["as", "well", "as"] else int(tail[at] in {"and", ","})
        following = token_at(tail, at + length)
        if not length or not (following in determiners | {"and"} or following.tag == "NNS"):
            continue
        placement = read_placement(tail, 0)
        end = placement.end if placement else read_phrase(tail, 1)[1] if tail[0] in {"to", "onto"} else -1
        remainder = tail[skip(tail, {"and"}, at + length) :]
        next_pairs = read_objects(remainder, predicate=predicate)
        if next_pairs and (end == at or (predicate and all(after for _, after in next_pairs))):
            return [*((phrase, tail[:at]) for phrase in phrases), *next_pairs]
    return [(phrase, tail) for phrase in phrases]


def modifiers_end(tail: Words) -> int:
    """Return the position after the clauses and prepositional phrases that modify the noun before `tail`.

    Of "that sits on the couch sleep", "sleep" is left: it is said of the noun.
    """
    at = 0
    while at < len(tail):
        token = tail[at]
        is_relative = token in words("relatives")
        opens = is_relative or is_activity(token) or token.tag in {"VBN", "IN"}
        if not opens or token in {"to", "into", "with", "from", "for", "as", "like"} or match("instead", tail, at):
            break
        stop = _modifier_end(tail, at, max(head_position(tail, at), at) if is_relative else at)
        if stop >= len(tail):
            break
        at = skip(tail, {","}, stop)
    return at


def _modifier_end(tokens: Words, at: int, anchor: int) -> int:
    placement = read_placement(tokens, at)
    if placement and placement.anchor is not None:
        return placement.end
    stop = subtree_end(tokens, anchor)
    if stop < len(tokens):
        return stop
    inner = find_placement(tokens, at + 1)
    if inner and inner.end < len(tokens) and tokens[inner.end] in {"a", "an"}:
        return inner.end  # "the paper hanging on the wall | a mirror"
    for end in range(at + 2, len(tokens)):
        token = tokens[end]
        is_noun = (
            tokens[end - 1] in words("definite") | words("indefinite") | words("modals")
            or match("compounds", tokens, end - 1) > 1
        )
        describes = token.tag not in {"VBN", "VBG"} and all(known_kind(word) for word in tokens[end:])
        if not is_noun and (action_base(token) == token or describes):
            return end  # the parser took "sleep" of "the dog that sits on the couch sleep" for a noun
    return stop


@dataclass(frozen=True, slots=True)
class Placement:
    """A relation with its anchor, and the span of words that state it."""

    relation: Relation
    anchor: Phrase | None
    start: int
    end: int
    preposition: str = ""

    @property
    def position(self) -> Position:
        """The placement as a field of an edit; the whole image is no anchor."""
        names_object = self.anchor is not None and not self.anchor.pronoun and self.anchor.head not in words("whole")
        return Position(self.relation, self.anchor.name if self.anchor and names_object else None)


def find_placement(tokens: Words, start: int = 0) -> Placement | None:
    """Return the first placement from `start` on."""
    for at in range(start, len(tokens)):
        placement = read_placement(tokens, at)
        anchor = placement.anchor if placement else None
        if placement is None or (placement.relation == "in" and anchor and anchor.is_worn and not anchor.is_definite):
            continue
        is_agent = placement.preposition == "by" and at > 0 and tokens[at - 1].tag in {"VBN", "VBD"}
        if not is_agent:
            return placement
    return None


def read_placement(tokens: Words, at: int) -> Placement | None:
    """Return the placement that begins at `at`, or None."""
    if side := _read_side(tokens, at):
        return side
    name, length = match_any(lists_in("relations"), tokens, at)
    if not length or match("nearby", tokens, at) > length:
        return None
    anchor, end = read_phrase(tokens, at + length, predicate=True)
    is_compound = end == len(tokens) - 1 and tokens[end] in words("noun_verbs") | words("materials")
    if is_compound and anchor.head not in words("whole"):
        anchor, end = read_phrase(tokens, at + length)  # "next to the wine glass"
    if not anchor:
        return None
    relation = cast("Relation", name.removeprefix("relations."))
    return Placement(relation, anchor, at, end, " ".join(tokens[at : at + length]))


def _read_side(tokens: Words, at: int) -> Placement | None:
    """Read a side of the image or of an object: "on the left", "to the right side of the image"."""
    has_preposition = token_at(tokens, at) in {"to", "on", "at", "in", "towards", "toward", "into"}
    is_side = token_at(tokens, at) in {"left", "right"} and not (at and tokens[at - 1] in words("definite"))
    if not has_preposition and not is_side:
        return None
    word = skip(tokens, {"the", "far", "very", "lower", "upper", "its", "his", "her"}, at + has_preposition)
    side = table("sides").get(str(token_at(tokens, word)))
    if side is None:
        return None
    after = skip(tokens, _SIDE_WORDS, word + 1)
    relation = cast("Relation", side)
    if list(tokens[at:after]) == ["on", "top"] and token_at(tokens, after) != "of":
        return None
    if token_at(tokens, after) == "of":
        anchor, end = read_phrase(tokens, after + 1)
        return Placement("on" if side == "above" else relation, anchor or None, at, end)
    if after < len(tokens) and tokens[after] not in MARKS | _AFTER_SIDES:
        return None
    return Placement(relation, None, at, after)
