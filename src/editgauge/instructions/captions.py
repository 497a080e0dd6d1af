"""What a target caption alone asks for: "a photo of a sitting dog"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from editgauge.instructions.lexicon import (
    action_base,
    adjective_kinds,
    is_ing_verb,
    lists_in,
    match,
    match_any,
    words,
)
from editgauge.instructions.places import SIDED, read_place
from editgauge.instructions.steps import adding, altering, becoming_place, size_or_words
from editgauge.instructions.things import Thing, read_thing
from editgauge.instructions.tokens import MARKS, Token, skip, tokenize
from editgauge.instructions.values import doing, is_mood, is_style
from editgauge.types import Position, Step

ARTICLES = frozenset({"a", "an", "the", "some"})
FRAMES = (
    ("photo", "of"), ("image", "of"), ("picture", "of"), ("photograph", "of"), ("close-up", "of"), ("shot", "of"),
    ("view", "of"), ("closeup", "of"), ("pic", "of"),
)  # fmt: skip
NO_CAPTION = frozenset({"there", "what", "no", "less", "fewer"})
"""No caption begins with one of these."""
PARTICLES = frozenset({"down", "up", "over", "half", "in", "out", "off"})


def is_caption(clause: Sequence[Token]) -> bool:
    """Does the text describe a picture instead of asking for something?"""
    body = without_frame(clause)
    if len(body) < len(clause):
        return True
    if match_any((*lists_in("verbs"), "wishes", "modals"), clause)[1] and clause[0] not in ARTICLES:
        _, length = match_any(lists_in("verbs"), clause)
        is_name = clause[0] in {"park", "plant", "line", "color", "letter", "box", "mirror"} and length == 1
        return is_name and len(clause) > 1 and clause[1] in {"with", "in", "on", "at"}
    if clause[0] in words("definite") or clause[0] in words("pronouns") or clause[0] in NO_CAPTION:
        return False
    if any(token in {"should", "could", "must", "would", "can", "need", "needs", "now"} for token in clause):
        return False
    thing, end = read_thing(list(clause))
    if end < len(clause) and clause[end] in words("be") and match_any(lists_in("participles"), clause, end + 1)[1]:
        return False  # "a kite is added"
    if not thing.words or (end < len(clause) and clause[end] in words("definite") | words("indefinite")):
        return False
    place = read_place(clause, end)
    return not (place and place.anchor and place.anchor.is_definite and place.end >= len(clause))


def without_frame(tokens: Sequence[Token]) -> list[Token]:
    """Without "a photo of"."""
    at = 1 if tokens and tokens[0] in ARTICLES else 0
    for frame in FRAMES:
        if tuple(tokens[at : at + 2]) == frame:
            return list(tokens[at + 2 :])
    return list(tokens)


def caption_things(caption: str | None) -> list[Thing]:
    """The things that a caption names, the main one first."""
    if not caption or not caption.strip():
        return []
    tokens = without_frame(tokenize(caption))
    things, at = [], 0
    while at < len(tokens):
        if tokens[at] in {"and", "or", "&", "with"}:
            at += 1
            continue
        thing, end = read_thing(tokens, at, predicate=True)
        if (
            thing.words
            and not thing.pronoun
            and thing.head
            and not is_ing_verb(thing.head)
            and action_base(thing.words[0]) is None
        ):
            things.append(replace(thing, owner=""))
        at = max(end, at + 1)
    return things


def read_caption(tokens: Sequence[Token]) -> list[Step]:
    """The edit that a target caption most likely stands for, when nothing tells what the source shows."""
    first = next((at for at, token in enumerate(tokens) if token in {".", "!", "?"}), len(tokens))
    body, more = without_frame(tokens[:first]), [token for token in tokens[first:] if token not in MARKS]
    thing, end = read_thing(body, predicate=True)
    if not thing.words:
        return [Step(type="unspecified")]
    if more and is_mood(more[-1:]):
        return [Step(type="style", subject=thing.name, to=str(more[-1]))]
    rest = body[end:]
    rest = rest[skip(rest, words("be") | {",", "that", "which", "who"}) :]
    description = _described(thing)
    after = said(description[1] if description else thing, rest) if rest else None
    if after and (after.sure or description is None):
        return [after]
    if description:
        return [description[0]]
    if is_style(body) and not rest:
        return [Step(type="style", to=thing.name)]
    odd = [str(word) for word in thing.front[:-1] if _is_odd(str(word))]
    if odd:
        return [Step(type="unspecified", subject=thing.without(odd).name, to=" ".join(odd))]
    if thing.count and thing.count > 1:
        return [Step(type="object_addition", subject=thing.name, to=thing.name, count=thing.count, sure=True)]
    return [Step(type="object_replacement", to=thing.name, attributes=thing.adjectives)]


def _is_odd(word: str) -> bool:
    """An adjective that says nothing the edit types know."""
    if adjective_kinds().get(word) == "other" or word in words("moods"):
        return True
    return word.endswith(("ful", "ous", "less", "ish"))


def _described(thing: Thing) -> tuple[Step, Thing] | None:
    """What the words before the noun ask for: "a sitting dog", "a torn up teddy bear"; and the thing without them."""
    for cut in range(1, len(thing.words)):
        front, rest = thing.words[:cut], thing.words[cut:]
        if rest[0] in PARTICLES or match("compounds", thing.words[cut - 1 :]) == 2 or rest[0] in adjective_kinds():
            continue
        if is_ing_verb(rest[0]):
            continue
        kind = kind_of_words(front)
        plain = replace(thing, words=rest)
        if kind in {"color", "texture", "shape", "size", "action", "alter_parts"}:
            text = size_or_words(front) if kind == "size" else " ".join(front)
            sure = kind == "action" and is_ing_verb(front[-1])
            return Step(type=kind, subject=plain.name, to=text, count=thing.count, sure=sure), plain
    return None


def kind_of_words(front: Sequence[Token]) -> str | None:
    """The edit type that a description of several words belongs to, or None."""
    said = " ".join(front)
    if said in words("states"):
        return "action"
    if said in words("shapes"):
        return "shape"
    kinds = [
        "action"
        if is_ing_verb(word)
        else adjective_kinds().get(str(word), "shape" if word.endswith("-shaped") else None)
        for word in front
        if word not in PARTICLES
    ]
    if not kinds or None in kinds:
        return None
    return next((kind for kind in kinds if kind not in {"other", "age"}), None)


def said(thing: Thing, rest: Sequence[Token]) -> Step | None:
    """What is said of the thing after the noun."""
    name, length = match_any(("wear", "hold"), rest)
    if length and len(rest) > length:
        item, _ = read_thing(rest, length)
        if item.words and not (name == "hold" and item.owner):
            return adding(item, thing.name, Position("on", thing.name) if name == "wear" else None)
    if action_base(rest[0]) == "face":
        return Step(type="viewpoint", subject=thing.name, to=" ".join(t for t in rest if t not in ARTICLES), sure=True)
    if rest[0] == "from" and len(rest) > 1:
        return Step(
            type="viewpoint", subject=thing.name, to=" ".join(t for t in rest[1:] if t not in ARTICLES), sure=True
        )
    if rest[0] == "and" and any(is_ing_verb(token) for token in rest):
        at = next(place for place, token in enumerate(rest) if is_ing_verb(token))
        other = [token for token in rest[1:at] if token not in ARTICLES]
        return Step(
            type="action", subject=" ".join([*map(str, thing.words), "and", *other]), to=" ".join(rest[at:]), sure=True
        )
    if rest[0] in words("shapes") or (len(rest) > 1 and rest[1:3] in (["in", "half"], ["in", "pieces"])):
        return Step(type="shape", subject=thing.name, to=" ".join(rest), sure=True)
    if is_ing_verb(rest[0]) or action_base(rest[0]):
        rides = action_base(rest[0]) == "ride"  # who rides may be what comes
        return Step(type="action", subject=thing.name, to=doing(rest), sure=not rides)
    if rest[0] == "with":
        item, _ = read_thing(rest, 1)
        if {"crossed", "closed", "open", "raised"} & set(item.words[:-1]):
            return Step(type="action", subject=thing.name, to=" ".join(["with", *item.words]), sure=True)
        if item.words:
            is_part = item.head in words("parts")
            return altering(thing.name, item) if is_part else adding(item, thing.name, sure=False)
    return _located(thing, rest)


def _located(thing: Thing, rest: Sequence[Token]) -> Step | None:
    place = read_place(rest, 0)
    if not place or not place.anchor:
        return None
    anchor = place.anchor
    if "pose" in rest:
        return Step(type="action", subject=thing.name, to=" ".join(rest))
    if place.preposition == "in" and rest[-1] in words("worn"):  # "in a show jumping attire"
        anchor = Thing(words=tuple(word for word in rest[1:] if word not in ARTICLES))
    if place.preposition == "in" and anchor.head in words("worn"):
        return adding(anchor, thing.name, Position("on", thing.name))
    if place.relation in SIDED and place.preposition not in {"over"}:
        return Step(
            type="position_replacement",
            subject=thing.name,
            to=place.relation,
            position=place.position,
            sure=place.relation in {"left", "right"},
        )
    if place.preposition in {"in", "on", "at", "inside"} and {"year", "style"}.isdisjoint(anchor.words):
        if anchor.is_scene or not anchor.determiner:
            return becoming_place(anchor, thing.name, sure=False)
        return Step(type="background", subject=thing.name, to=anchor.name) if place.preposition == "in" else None
    if place.relation == "next to":
        return Step(type="object_addition", subject=thing.name, to=anchor.name, attributes=anchor.adjectives)
    return None
