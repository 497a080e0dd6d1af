"""What changes about a thing, by what it becomes: its color, its text, the background, the style, or all of it."""

from __future__ import annotations

from dataclasses import replace

from editgauge.instructions.lexicon import words
from editgauge.instructions.places import find_place
from editgauge.instructions.steps import (
    UNREAD,
    EarlierThings,
    Tokens,
    adding,
    becoming,
    becoming_place,
    kind_of,
    placed,
    replacing,
    same_thing,
    swap,
)
from editgauge.instructions.things import POSSESSIVE, Thing, read_thing
from editgauge.instructions.tokens import Token, skip
from editgauge.instructions.values import is_mood, is_style, read_value
from editgauge.types import Step

ARTICLES = frozenset({"a", "an", "the"})
IT = frozenset({"it", "this", "that"})
BEFORE_STYLES = frozenset(
    {"a", "an", "the", "look", "like", "be", "style", "of", "in", "as", "if", "made", "by", "was", "is", "it", "were"}
    | {"painted", "drawn", "to"}
)


def becomes(thing: Thing, new: Tokens, context: EarlierThings) -> Step:
    """The step by which a thing becomes what the words `new` say."""
    changed = _property(thing)
    if changed:
        return _property_becomes(changed, thing, new, context)
    subject = context.resolve(thing)
    whole = thing.head in words("whole") and not thing.which
    if new and (whole or thing.pronoun in IT or (thing.pronoun and subject is None)):
        shown = context.shown(read_thing(new)[0].head) is not None
        if (is_style(new) or is_mood(new)) and not shown:
            return Step(type="style", to=style_text(new), sure=whole or subject is None)
        if whole and thing.head not in {"painting", "drawing"}:
            return Step(type="style", to=style_text(new), sure=False)
    if not new:
        return Step(type=UNREAD, subject=subject, sure=False)
    if thing.head in words("text_words") and not thing.pronoun:
        return Step(type="text", subject=_owner(thing, context) if len(thing.words) > 1 else None, to=written(new))
    if list(new[:2]) in (["that", "of"], ["those", "of"], ["one", "of"]) and thing.words:
        new = [Token(thing.head), *new[1:]]
    value = read_value(new)
    if value.thing is None:
        return becoming(thing, value, subject)
    place = find_place(new)
    if thing.pronoun and place and place.relation != "on":
        return placed(value.thing, new[place.start :], context, sure=False)
    if thing.pronoun in {"it", "this", "that", "they", "them"}:
        return _it_becomes(value.thing, subject, context)
    return swap(thing, value.thing, context)


def _property(thing: Thing) -> str:
    """The property that a phrase names instead of a thing: "the color of the car"."""
    for name in ("color", "style", "background", "size", "surface", "view", "mood", "pose"):
        if thing.head in _PROPERTY_WORDS[name]:
            owned = bool(thing.owner) or "of" in thing.words
            return name if owned or name != "surface" else ""
    return ""


_PROPERTY_WORDS = {
    "color": frozenset({"color", "colour", "colors", "colours"}),
    "style": frozenset({"style"}),
    "background": words("backgrounds"),
    "size": frozenset({"size"}),
    "surface": frozenset({"material", "texture", "pattern", "surface", "shape"}),
    "view": words("view_words"),
    "mood": words("mood_subjects") - {"sky", "light"},
    "pose": frozenset({"pose", "posture", "expression", "gesture", "stance"}),
}


def _property_becomes(name: str, thing: Thing, new: Tokens, context: EarlierThings) -> Step:
    """The step by which a property of a thing, or of the picture, becomes what the words `new` say."""
    place, _ = read_thing(new)
    plain = " ".join(token for token in new if token not in ARTICLES) or None
    match name:
        case "color" | "size":
            return Step(type=name, subject=_owner(thing, context), to=read_value(new).text or None, sure=True)
        case "surface":
            kind = "shape" if thing.head == "shape" else "texture"
            return Step(type=kind, subject=_owner(thing, context), to=plain, sure=True)
        case "pose":
            return Step(type="action", subject=_owner(thing, context), to=plain, sure=bool(new))
        case "background":
            return becoming_place(place) if place.words else Step(type=name, to=" ".join(new) or None, sure=True)
        case "view":
            return becoming_place(place, sure=False) if place.is_scene else Step(type="viewpoint", to=plain, sure=True)
        case _:
            return Step(type="style", to=style_text(new) or None, sure=True)


def _owner(thing: Thing, context: EarlierThings) -> str | None:
    """Whose color: "color of the car", "car's color", "hair color", "its color"."""
    if "of" in thing.words:
        at = thing.words.index("of") + 1
        return " ".join(str(word) for word in thing.words[at:] if word not in words("definite"))
    if len(thing.words) > 1:
        return Thing(words=thing.words[:-1], owner=thing.owner).name
    if thing.owner and thing.owner not in POSSESSIVE:
        return thing.owner
    pronoun = {"its": "it", "his": "he", "her": "she", "their": "they"}.get(thing.owner, "it")
    return context.resolve(Thing(pronoun=pronoun))


def _it_becomes(new: Thing, subject: str | None, context: EarlierThings) -> Step:
    """ "make it a black sheep": where a sheep is in the caption, its color; else what is there becomes a sheep."""
    same = context.shown(new.head)
    more = new.count is not None and new.count > 1
    if same is not None and not (more and new.count != (same.count or 1)):
        return same_thing(same, new, same.name)
    colors = [word for word in new.adjectives if kind_of(word) == "color"]
    if subject is None and colors and len(colors) == len(new.adjectives) and not context.caption:
        return Step(type="color", subject=new.without(colors).name, to=" ".join(colors), sure=False)
    if more:
        return adding(new, sure=False)
    return replacing(subject, new, sure=False)


def style_text(new: Tokens) -> str:
    """The style alone: "oil painting" of "look like an oil painting"."""
    return " ".join(new[skip(new, BEFORE_STYLES) :]).removesuffix(" style")


def written(tokens: Tokens) -> str:
    """The text itself: the quotation, or the words without what introduces them."""
    quoted = [token.raw for token in tokens if token.quoted]
    if quoted:
        return " ".join(quoted)
    introducing = (
        words("text_words") | words("say") | ARTICLES | {"to", "of", "some", "that", "with", "be", "out", "it"}
    )
    at = skip(tokens[:-1], introducing)
    return " ".join(token.raw for token in tokens[at:])


def text_becomes(about: Tokens, new: Tokens, context: EarlierThings) -> Step:
    """The text on something changes: "change the text on the sign from A to B"."""
    place = find_place(about)
    quoted = [token.raw for token in about if token.quoted]
    subject = context.resolve(place.anchor) if place and place.anchor else None
    skipped = words("definite") | words("indefinite") | words("text_words") | {"from", "to", "on", "of"}
    before = quoted[0] if quoted else None
    if before is None and "from" in about:
        at = list(about).index(Token("from"))
        before = " ".join(token.raw for token in about[at + 1 :])
        about = about[:at]
    elif before is None and not place and len(about) > 2 and about[-2] in words("text_words"):
        before, about = about[-1].raw, ()
    if subject is None:
        beside = find_place(new, 1)  # "replace 'Monday' with 'Friday' on the calendar"
        subject = context.resolve(beside.anchor) if beside and beside.anchor and new[0].quoted else None
    named = [token for token in about if token not in skipped and not token.quoted]
    if subject is None and not quoted and named:
        subject = " ".join(named).removesuffix(" 's")
    return Step(type="text", subject=subject, from_=before, to=written(new), sure=True)


def unsure(step: Step) -> Step:
    """The same step, in doubt."""
    return replace(step, sure=False)
