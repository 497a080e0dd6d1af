"""Two captions, aligned word by word: what comes, what goes and what stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from editgauge.instructions.captions import (
    ARTICLES,
    PARTICLES,
    caption_things,
    kind_of_words,
    read_caption,
    said,
    without_frame,
)
from editgauge.instructions.lexicon import (
    action_base,
    is_ing_verb,
    lists_in,
    match_any,
    singular,
    words,
)
from editgauge.instructions.places import find_place
from editgauge.instructions.steps import adding, becoming_place, replacing, size_or_words
from editgauge.instructions.things import Thing, read_number, read_thing
from editgauge.instructions.tokens import MARKS, Token, skip, tokenize
from editgauge.instructions.values import is_mood
from editgauge.types import Position, Step

ALIKE = 0.34
"""Captions that share less than this are two descriptions, not one with a few words changed."""
CLOSE = 0.6
"""From this share on, a single stretch of other words leaves no doubt."""
MOST_STRETCHES = 3
"""Stretches of words that differ; beyond this, captions are compared thing by thing."""
LITTLE_WORDS = frozenset(
    {"and", "&", "that", "which", "who", "there", "this", "his", "her", "its", "their", "it"}
    | {"just", "now", "also", "very", "really"}
)
LEADS = frozenset({"as", "while", "including", "featuring", "accompanied", "surrounded", "adorned", "lined", "filled"})
"""Words that lead over to something further in a caption."""
LACKS = frozenset({"minus", "without", "no"})
BARE = frozenset({"empty", "deserted", "vacant"})
PLACED = frozenset({"in", "on", "at", "through", "near", "during"})
THING_STEPS = frozenset({"object_addition", "object_removal", "object_replacement", "alter_parts"})


def compare_captions(source: str, target: str) -> list[Step]:
    """The steps from one caption to the other; empty when they do not tell.

    >>> compare_captions("a cat sitting on a chair", "a dog sitting on a chair")[0].to
    'dog'
    """
    restyled = _restyled(source, target)
    if restyled:
        return [restyled]
    before, after = _content(source), _content(target)
    if not before or not after or before == after:
        return []
    matcher = SequenceMatcher(None, list(map(_lemma, before)), list(map(_lemma, after)), autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    if not changes:
        return _counts(before, after)
    if matcher.ratio() >= ALIKE and len(changes) <= MOST_STRETCHES:
        steps = _distinct([step for change in changes for step in _change(before, after, change)])
        if steps:
            clear = len(changes) == 1 and matcher.ratio() >= CLOSE
            return [replace(step, sure=step.sure and clear) for step in _paired(steps)]
    return _by_things(source, target)


def _content(caption: str) -> list[Token]:
    skipped = ARTICLES | MARKS | LITTLE_WORDS | words("be")
    return [token for token in without_frame(tokenize(caption)) if token not in skipped]


def _lemma(word: Token) -> str:
    return action_base(word) or singular(str(word))


def _restyled(source: str, target: str) -> Step | None:
    """ "a photo of a lion", "a drawing of a lion": the same thing in another manner."""
    (old, before), (new, after) = (_medium(tokenize(caption)) for caption in (source, target))
    if not new or old == new or before != after or not before:
        return None
    return Step(type="style", subject=" ".join(before), from_=old or None, to=new, sure=True)


def _medium(tokens: Sequence[Token]) -> tuple[str, list[Token]]:
    """ "drawing" and what it shows; no medium when the caption begins with the thing itself."""
    body = [token for token in tokens if token not in ARTICLES and token not in MARKS]
    known = words("styles") | words("whole")
    at = next((place for place, token in enumerate(body[:4]) if token == "of"), 0)
    if not at or not set(body[:at]) & known:
        return "", body
    return " ".join(body[:at]), body[at + 1 :]


def _distinct(steps: Sequence[Step]) -> list[Step]:
    """Each step once; other words for what a thing does are no news where a thing came, went or became another."""
    once = [step for place, step in enumerate(steps) if step not in steps[:place]]
    of_things = [step for step in once if step.type in THING_STEPS]
    return [step for step in once if step.type != "action"] if of_things else once


def _counts(before: Sequence[Token], after: Sequence[Token]) -> list[Step]:
    """The same words, but for the number of a noun: "a banana", "bananas"."""
    for old, new in zip(before, after, strict=False):
        if old != new and singular(str(new)) == str(old):
            return [Step(type="object_addition", subject=str(old), to=str(new))]
    return []


def _change(before: list[Token], after: list[Token], change: tuple[str, int, int, int, int]) -> list[Step]:
    """One stretch of words that differs."""
    _, i, j, k, m = change
    gone, come = before[i:j], after[k:m]
    led = skip(come, LEADS)
    come, k = come[led:], k + led
    if gone and come and gone[0] in PLACED and come[0] in PLACED:
        (gone, i), (come, k) = (gone[1:], i + 1), (come[1:], k + 1)
    previous = after[k - 1] if k else None
    owner = _noun_near(after, k, m)
    names_thing = _names_thing(before, i, j)
    lacking = next((at for at, word in enumerate(come[:-1]) if word in LACKS), None)
    if lacking is not None:
        return _leaves(come[lacking + 1 :])
    if come and all(word in BARE for word in come):
        return _leaves(gone) or [Step(type="object_removal", position=Position("on", owner), sure=True)]
    if come and is_mood(come) and (not gone or is_mood(gone)) and previous in PLACED:
        subject = caption_subject(after[:k])
        return [Step(type="style", subject=subject, to=" ".join(come), sure=True)]
    described = _described(gone, come, owner, follows=m < len(after))
    if described:
        return [described]
    if come and come[0] in words("numbers") and m < len(after) and j < len(before):
        return [Step(type="object_addition", subject=str(before[j]), to=str(after[m]), count=read_number(come[0]))]
    if come and (_is_verb(come[0]) or match_any(("wear", "hold"), come)[1]) and not names_thing:
        step = said(Thing(words=(Token(owner),)) if owner else Thing(), [*come])
        if step:
            was = " ".join(gone) if step.type == "action" and gone and _is_verb(gone[0]) else None
            return [replace(step, subject=owner, from_=was)]
    if not names_thing:
        return _comes(come, before, owner)
    return _exchanged(before, after, (i, j, k, m)) if come else _leaves(gone)


def _is_verb(word: Token) -> bool:
    return is_ing_verb(word) or (action_base(word) is not None and word not in words("noun_verbs"))


def _names_thing(tokens: list[Token], start: int, end: int) -> bool:
    """Is there a noun in a stretch of words, not only verbs, places and descriptions?"""
    body = _without_place(tokens[start:end])
    thing, _ = read_thing(body)
    if not thing.words or _is_verb(thing.words[0]):
        return False
    _, stop = read_thing(tokens, end - 1)
    return kind_of_words(thing.words) is None or stop <= end  # "chocolate" describes what follows, or is the thing


def _without_place(tokens: list[Token]) -> list[Token]:
    """Without the preposition at the beginning."""
    _, length = match_any(("other_prepositions", *lists_in("relations")), tokens)
    return tokens[length:] if length else tokens[1:] if tokens[:1] == ["with"] else tokens


def _described(gone: list[Token], come: list[Token], owner: str | None, follows: bool) -> Step | None:
    """A description that comes, or takes the place of another: "red" for "blue", "wooden", "sleeping"."""
    if not come or not all(kind_of_words([word]) for word in come if word not in PARTICLES):
        return None
    kind, old_kind = kind_of_words(come), kind_of_words(gone) if gone else None
    if kind == "color" and old_kind == "texture":  # "golden" for "stone"
        kind = "texture"
    if kind not in {"color", "texture", "shape", "size", "action"} or not (follows or kind == "action"):
        return None
    was = " ".join(gone) if gone and old_kind == kind else None
    to = size_or_words(come) if kind == "size" else " ".join(come)
    return Step(type=kind, subject=owner, from_=was, to=to, sure=True)


def _comes(come: list[Token], before: Sequence[Token], owner: str | None) -> list[Step]:
    if not come:
        return []
    if match_any(("other_prepositions", *lists_in("relations")), come)[1] or come[0] == "with":
        step = said(Thing(words=(Token(owner),)) if owner else Thing(words=(Token("it"),)), come)
        if step and step.type != "action":
            return [replace(step, subject=owner)]
        come = come[1:]
    thing, _ = read_thing(come)
    if not thing.words or _is_verb(thing.words[0]):
        return []
    shown = singular(thing.head) in {singular(str(word)) for word in before}
    kind = kind_of_words(thing.words[:-1]) if len(thing.words) > 1 else None
    if shown and kind in {"color", "texture", "shape"}:  # "with white hair" of hair that was there
        return [Step(type=kind, subject=str(thing.head), to=" ".join(thing.words[:-1]))]
    return [adding(thing)]


def _leaves(gone: Sequence[Token]) -> list[Step]:
    name = _name(gone)
    return [Step(type="object_removal", subject=name, sure=True)] if name else []


def _exchanged(before: list[Token], after: list[Token], places: tuple[int, int, int, int]) -> list[Step]:
    i, j, k, m = places
    old, _ = read_thing(before[i:])
    if after[k] == "with" and k + 1 < m:
        k += 1
    new, _ = read_thing(after[k:])
    if not old.words or not new.words:
        return []
    if k > 1 and i > 0 and _lemma(after[k - 1]) == _lemma(before[i - 1]) == "play":
        was, now = (f"playing {thing.name}" for thing in (old, new))
        return [Step(type="action", subject=caption_subject(after[: k - 1]), from_=was, to=now, sure=True)]
    placed = k > 0 and after[k - 1] in PLACED
    if placed and new.is_scene:
        return [replace(becoming_place(new, caption_subject(after[:k])), from_=old.name)]
    if singular(old.head) == singular(new.head) and len(new.words) > 1:
        to = " ".join(map(str, after[k:m]))
        kind = kind_of_words(after[k:m])
        if kind in {"color", "texture", "shape", "action"}:
            return [Step(type=kind, subject=new.head, from_=" ".join(before[i:j]) or None, to=to, sure=True)]
    return [replacing(old.name, replace(new, count=None), sure=True)]


def caption_subject(tokens: Sequence[Token]) -> str | None:
    """The main thing of a caption."""
    thing, _ = read_thing(list(tokens))
    return thing.name or None


def _noun_near(tokens: Sequence[Token], start: int, end: int) -> str | None:
    """The noun that a description at this place belongs to: the one after it, or else the one before it."""
    thing, stop = read_thing(list(tokens), start)
    if stop > end and thing.words:
        return str(thing.head)
    for at in range(start - 1, -1, -1):
        if kind_of_words([tokens[at]]) is None and not is_ing_verb(tokens[at]) and tokens[at] not in words("be"):
            begin = at
            while (
                begin > 0
                and tokens[begin - 1] not in words("be")
                and not match_any(("other_prepositions", "relations"), tokens, begin - 1)[1]
                and action_base(tokens[begin - 1]) is None
                and tokens[begin - 1] != "and"
                and at - begin < 1
                and kind_of_words([tokens[begin - 1]]) is None
            ):
                begin -= 1
            return " ".join(map(str, tokens[begin : at + 1]))
    return None


def _name(tokens: Sequence[Token]) -> str | None:
    thing, _ = read_thing(_without_place(list(tokens)))
    return thing.name or None


def _paired(steps: list[Step]) -> list[Step]:
    """Something goes here and something comes there: one took the place of the other."""
    if len(steps) == 2 and {steps[0].type, steps[1].type} == {"object_removal", "object_addition"}:
        gone, come = sorted(steps, key=lambda step: step.type != "object_removal")
        old = gone.subject
        return [Step(type="object_replacement", subject=old, from_=old, to=come.to, attributes=come.attributes)]
    return steps


def _by_things(source: str, target: str) -> list[Step]:
    """Two captions of different wording: by the things they name."""
    before, after = caption_things(source), caption_things(target)
    if not before or not after:
        return []
    known = {singular(thing.head) for thing in before}
    kept = {singular(thing.head) for thing in after}
    main = after[0]
    old = next((thing for thing in before if _is_same(thing, main)), None)
    if old is None:
        if singular(before[0].head) in kept:
            return [Step(type="object_addition", to=main.name, attributes=main.adjectives)]
        old = next((thing for thing in before if singular(thing.head) not in kept), before[0])
        old = old.without(old.adjectives)
        return [replacing(old.name, replace(main, count=None), sure=True)]
    gone = [thing for thing in before if singular(thing.head) not in kept]
    if main.words[0] in BARE and gone:
        return [Step(type="object_removal", subject=gone[0].name)]
    steps = read_caption(tokenize(target))
    step = steps[0]
    if step.type == "background":
        return [replace(step, from_=_place_before(source), sure=True)]
    if step.type == "object_replacement" and len(main.words) > 1 and main.words != old.words:
        return [replace(step, subject=old.name, from_=old.name)]
    if step.type == "object_replacement":
        return [Step(type="object_removal", subject=gone[0].name)] if gone else []
    said = {singular(word) for word in (step.to or "").split()}
    if said and said <= {singular(str(word)) for word in tokenize(source)}:
        fresh = [thing for thing in after if singular(thing.head) not in known]
        return [Step(type="object_addition", to=fresh[0].name, attributes=fresh[0].adjectives)] if fresh else []
    return steps


def _is_same(old: Thing, new: Thing) -> bool:
    """Is it the same thing by another description: "teddy" and "torn up teddy bear"?"""
    mine = {singular(str(word)) for word in new.words}
    return singular(old.head) in mine and (singular(old.head) == singular(new.head) or len(old.words) == 1)


def _place_before(source: str) -> str | None:
    """Where the thing was: "street" of "a dog in a street"."""
    place = find_place(_content(source))
    return place.anchor.name if place and place.anchor else None
