"""Two captions, aligned word by word: what comes, what goes and what stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from editgauge.core.types import Step
from editgauge.instructions.captions import (
    ARTICLES,
    PARTICLES,
    caption_things,
    kind_of_words,
    read_caption,
    said,
    without_frame,
)
from editgauge.instructions.lexicon import action_base, is_ing_verb, match, match_any, singular, table, words
from editgauge.instructions.places import find_place
from editgauge.instructions.steps import replacing
from editgauge.instructions.things import Thing, read_thing
from editgauge.instructions.tokens import MARKS, Token, tokenize

ALIKE = 0.34
"""Captions that share less than this are two descriptions, not one with a few words changed."""
FEW = 3
"""Words. A caption of so few names the thing only, and is compared thing by thing."""


def compare_captions(source: str, target: str) -> list[Step]:
    """The steps from one caption to the other; empty when they do not tell.

    >>> compare_captions("a cat sitting on a chair", "a dog sitting on a chair")[0].to
    'dog'
    """
    before, after = _content(source), _content(target)
    if not before or not after or before == after:
        return []
    if len(before) <= FEW:
        return _by_things(source, target)
    matcher = SequenceMatcher(
        None, [singular(str(w)) for w in before], [singular(str(w)) for w in after], autojunk=False
    )
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    if not changes:
        return _counts(before, after)
    if matcher.ratio() >= ALIKE and len(changes) <= 3:
        steps = [step for change in changes for step in _change(before, after, change)]
        steps = [step for place, step in enumerate(steps) if step not in steps[:place]]
        if steps:
            return _paired(steps)
    return _by_things(source, target)


def _content(caption: str) -> list[Token]:
    return [token for token in without_frame(tokenize(caption)) if token not in ARTICLES and token not in MARKS]


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
    following = after[m] if m < len(after) else None
    previous = after[k - 1] if k else None
    owner = _noun_near(after, k, m)
    if come and all(kind_of_words([word]) for word in come if word not in PARTICLES | {"and"}) and kind_of_words(come):
        kind = kind_of_words(come)
        describes = following is not None or is_ing_verb(come[0]) or kind == "action"
        if kind in {"color", "texture", "shape", "size", "action"} and describes:
            was = " ".join(gone) if gone and kind_of_words(gone) == kind else None
            return [Step(type=kind, subject=owner, from_=was, to=_sized(kind, " ".join(come)), sure=True)]
    if come and come[0] in words("numbers") and following is not None:
        return [Step(type="object_addition", subject=str(following), to=str(following), count=_number(come[0]))]
    if come and (is_ing_verb(come[0]) or come[0] in words("wear") | words("hold")):
        step = said(Thing(words=(Token(owner or ""),)) if owner else Thing(), [*come])
        if step:
            was = " ".join(gone) if step.type == "action" and gone and is_ing_verb(gone[0]) else None
            return [replace(step, subject=owner, from_=was)]
    if not gone:
        return _comes(come, previous, owner)
    if not come:
        name = _name(gone)
        return [Step(type="object_removal", subject=name, sure=True)] if name else []
    return _exchanged(before, after, change)


def _number(token: str) -> int | None:
    number = table("numbers").get(token, token)
    return int(number) if number.isdigit() else None


def _sized(kind: str, text: str) -> str:
    if kind != "size":
        return text
    return next((table("sizes")[word] for word in text.split() if word in words("sizes")), text)


def _comes(come: list[Token], previous: Token | None, owner: str | None) -> list[Step]:
    body = [token for token in come if token not in {"and", "including", "featuring", ","}]
    if not body:
        return []
    if body[0] in {"with", "in", "on", "next", "near", "under", "at", "behind", "beside", "from"}:
        step = said(Thing(words=(Token(owner),)) if owner else Thing(words=(Token("it"),)), body)
        if step:
            return [replace(step, subject=owner)]
    thing, _ = read_thing(body)
    if not thing.words:
        return []
    return [Step(type="object_addition", to=thing.name, attributes=thing.adjectives, count=thing.count, sure=True)]


def _exchanged(before: list[Token], after: list[Token], change: tuple[str, int, int, int, int]) -> list[Step]:
    _, i, j, k, m = change
    old, _ = read_thing(before[i:])
    new, _ = read_thing(after[k:])
    if not old.words or not new.words:
        return []
    placed = k > 0 and after[k - 1] in {"in", "on", "at", "through", "near"}
    if placed and any(match("places", new.words, at) for at in range(len(new.words))):
        subject = caption_subject(after[:k])
        return [
            Step(type="background", subject=subject, from_=old.name, to=new.name, attributes=new.adjectives, sure=True)
        ]
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
    body = [token for token in tokens if token not in {"and", "with", "on", "in", ","}]
    thing, _ = read_thing(body)
    return thing.name or None


def _paired(steps: list[Step]) -> list[Step]:
    """Something goes here and something comes there: one took the place of the other."""
    if len(steps) == 2 and {steps[0].type, steps[1].type} == {"object_removal", "object_addition"}:
        gone, come = sorted(steps, key=lambda step: step.type != "object_removal")
        return [
            Step(
                type="object_replacement",
                subject=gone.subject,
                from_=gone.subject,
                to=come.to,
                attributes=come.attributes,
            )
        ]
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
    steps = read_caption(tokenize(target))
    step = steps[0]
    if step.type == "background":
        return [replace(step, from_=_place_before(source), sure=True)]
    if step.type == "object_replacement" and len(main.words) > 1 and main.words != old.words:
        return [replace(step, subject=old.name, from_=old.name)]
    if step.type == "object_replacement":
        gone = [thing for thing in before if singular(thing.head) not in kept]
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
