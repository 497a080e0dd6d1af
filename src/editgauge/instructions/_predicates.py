"""What is said of an object, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from editgauge.instructions._lexicon import (
    action_base,
    in_list,
    is_activity,
    kind_of,
    known_kind,
    lists_in,
    match,
    match_any,
    singular,
    words,
)
from editgauge.instructions._parser import parse_clause
from editgauge.instructions._phrases import (
    POSSESSIVE,
    SIDES,
    Phrase,
    Words,
    find_placement,
    modifiers_end,
    read_number,
    read_objects,
    read_phrase,
    read_phrases,
    read_placement,
)
from editgauge.instructions._steps import (
    ARTICLES,
    NOT_UNDERSTOOD,
    Discourse,
    Value,
    add,
    add_all,
    add_placed,
    build_step,
    describe,
    give,
    is_mood,
    is_style,
    read_value,
    redescribe,
    remove,
    replace_by,
    set_background,
    swap,
    to_activity,
)
from editgauge.instructions._words import Word, skip, text_of, token_at
from editgauge.types import ParsedStep, Position, Relation

Steps = list[ParsedStep]
Rule = Callable[[str, Phrase, Words, Discourse], Steps]
"""What a verb does with an object and the words after it."""
PASSIVES: dict[str, Rule] = {}
"""The rules of commands, for participles: "be painted green" is "paint green"; filled by `_commands`."""
_BEFORE_STYLES = ARTICLES | {
    "look",
    "like",
    "be",
    "style",
    "of",
    "in",
    "as",
    "if",
    "made",
    "by",
    "was",
    "is",
    "it",
    "were",
    "painted",
    "drawn",
    "to",
    "though",
    "'s",
}
_SKIPPED = frozenset({"now", "also", "all", "both", "just", "then", "only", "completely", "fully", "being"})
_DIRECTIONS = frozenset(
    {"up", "down", "away", "back", "to", "over", "straight", "directly", "backwards", "left", "right"}
)
"""After "look": "look up" is an action, "look old" is not."""
_VIEWED = frozenset({"camera", "left", "right", "viewer", "front", "away", "us", "forward"})
AS_IF = (["as", "if"], ["as", "though"], ["like", "it"], ["like", "they"])
PROPERTIES = {
    **{name: words(f"properties.{name}") for name in ("color", "style", "size", "surface", "pose")},
    "background": words("backgrounds"),
    "view": words("view_words"),
    "mood": words("mood_subjects") - {"sky", "light"},
}
"""Nouns that name a property instead of an object."""


def split_instead(tokens: Words) -> tuple[Words, Words]:
    """Split at "instead of": what comes, and what it takes the place of."""
    at = next((at for at in range(len(tokens)) if match("instead", tokens, at)), len(tokens))
    return tokens[:at], tokens[at + match("instead", tokens, at) :] if at < len(tokens) else []


def replacing(steps: Steps, old: Words, context: Discourse) -> Steps:
    """Turn steps into replacements of what follows "instead of"."""
    step = steps[0] if len(steps) == 1 else None
    if step is None or not step.to or not old or is_activity(old[0]):
        return steps
    if step.type in {"color", "texture", "shape", "style", "text", "background"}:
        return [replace(step, from_=written_text(old) if step.type == "text" else read_value(old).text)]
    if step.type in {"action", "position_replacement"}:
        return steps
    if len(old) == 1 and known_kind(old[0]) in {"color", "size", "shape"} and step.attributes:
        return [replace(step, from_=str(old[0]))]
    new = Phrase(words=tuple(map(Word, step.to.split())), determiner="a", count=step.count)
    if new.head in words("moods"):
        return [build_step("style", from_=read_value(old).text, to=step.to, sure=True)]
    olds = [phrase for phrase in read_phrases(old)[0] if phrase.name != step.to]
    return [swap(phrase, new, context) for phrase in olds] or steps


def relocate(phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read where an object of the image goes: to a background, to a side, or next to something new."""
    subject, placement = context.resolve(phrase), find_placement(tail)
    if tail and (is_activity(tail[0]) or (tail[0] == "in" and read_value(tail[1:]).kind == "color")):
        return [becomes(phrase, tail[skip(tail, {"in"}) :], context)]  # "put the man sitting", "put the sky in blue"
    if list(tail) == ["on", "fire"]:
        return [build_step("action", subject, "on fire", sure=True)]
    if token_at(tail, 0) == "in" and (clothes := read_phrase(tail, 1)[0]).is_worn:
        return [give(phrase, clothes, context, "wear")]
    if placement is None:
        return [build_step("position_replacement", subject, text_of(tail) or None)]
    anchor, relation = placement.anchor, placement.relation
    if (
        anchor and anchor.head in words("moods") and (phrase.is_image or not anchor.is_scene)
    ):  # "set the scene at night"
        return [build_step("style", to=anchor.name, sure=phrase.is_image)]
    if anchor is None:
        return [build_step("position_replacement", subject, relation, position=placement.position, sure=True)]
    is_attached = phrase.is_worn or phrase.is_part
    if anchor.is_scene and relation in {"in", "on", "next to", "in front of", "center"} and not is_attached:
        return [set_background(anchor, subject)]
    if is_attached and (anchor.is_scene or relation == "on"):
        return [add_placed(phrase, tail, context, sure=False)]
    if anchor.is_definite or relation in SIDES:
        to = text_of(tail[placement.start : placement.end])
        return [build_step("position_replacement", subject, to, position=placement.position)]
    if relation == "in" and anchor.head not in words("containers"):
        return [set_background(anchor, subject, sure=False)]
    return [add(anchor, subject, sure=False)]


def write(body: Words, context: Discourse) -> Steps:
    """Read "write HELLO on the wall", "add the word OPEN to the sign"."""
    placement = find_placement(body, 1)
    cut = placement.start if placement else len(body)
    anchor, relation = (placement.anchor, placement.relation) if placement else (None, None)
    to = next((at for at in range(1, len(body) - 1) if body[at] == "to" and body[at + 1] in words("definite")), None)
    if placement is None and to is not None:
        anchor, relation, cut = read_phrase(body, to + 1)[0], "on", to
    subject = context.resolve(anchor) if anchor else None
    position = Position(relation, subject) if relation else None
    return [build_step("text", subject, written_text(body[:cut]), position=position, sure=True)]


def written_text(tokens: Words) -> str:
    """Return the text itself: the quotation, or the words without what introduces them."""
    if quoted := [token.raw for token in tokens if token.quoted]:
        return " ".join(quoted)
    introduction = (
        words("text_words") | words("say") | ARTICLES | {"to", "of", "some", "that", "with", "be", "out", "it"}
    )
    return text_of(tokens[skip(tokens[:-1], introduction) :], raw=True)


def fill(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "fill the vase with roses", "cover the car in snow"."""
    at = next((at for at in range(len(tail) - 1) if tail[at] in {"with", "in", "by", "of"}), None)
    if at is None:
        return []
    holder = context.resolve(phrase)
    inside = (
        holder is not None and in_list("containers", holder.split()[-1]) and verb.startswith(("fill", "stuff", "load"))
    )
    relation: Relation = "next to" if verb.startswith("surround") else "in" if inside or holder == "sky" else "on"
    position = Position(relation, holder) if holder else None
    return [add(item, position=position) for item in read_phrases(tail, at + 1)[0]]


def becomes(phrase: Phrase, new: Words, context: Discourse) -> ParsedStep:
    """Build the step by which an object or a property becomes what the words `new` say."""
    if changed := property_of(phrase):
        return _change_property(changed, phrase, new, context)
    subject = context.resolve(phrase)
    if not new:
        return build_step(NOT_UNDERSTOOD, subject, sure=False)
    is_image = phrase.is_image or phrase.pronoun in {"it", "this", "that"} or (phrase.pronoun and subject is None)
    if is_image and (step := _image_becomes(phrase, new, subject, context)):
        return step
    if phrase.head in words("text_words") and not phrase.pronoun:
        return build_step("text", owner_of(phrase, context), written_text(new))
    if list(new[:2]) in (["that", "of"], ["those", "of"], ["one", "of"]) and phrase.words:
        inner, _ = read_phrase(new, 2)
        return swap(phrase, Phrase(words=(Word(phrase.head), Word("of"), *inner.words)), context)
    value = read_value(new)
    placement = find_placement(new)
    if value.kind == "other" and placement and placement.start:  # "red on the traffic light"
        value = read_value(new[: placement.start])
    has_mood = phrase.head in words("mood_subjects") | words("moods") or (phrase.is_scene and value.phrase is not None)
    if has_mood and is_mood(new):
        named = subject if phrase.head not in words("moods") else None
        return build_step("style", named, style_text(new), sure=True)
    if value.phrase is None:
        return describe(phrase, value, subject)
    if phrase.pronoun and placement and placement.relation != "on":
        return add_placed(value.phrase, new[placement.start :], context, sure=False)
    if phrase.pronoun in {"it", "this", "that", "they", "them"}:
        return _it_becomes(value.phrase, subject, context)
    return swap(phrase, value.phrase, context)


def _image_becomes(phrase: Phrase, new: Words, subject: str | None, context: Discourse) -> ParsedStep | None:
    """Read a new style, season, hour or weather of the whole image."""
    is_image = not phrase.pronoun
    is_shown = context.in_caption(read_phrase(new)[0].head) is not None
    cut = next((at for at, token in enumerate(new) if at and token in {",", "with"}), len(new))
    new = new[:cut] if is_mood(new[:cut]) else new
    if (is_style(new) or is_mood(new)) and not is_shown:
        return build_step("style", to=style_text(new), sure=is_image or subject is None)
    if is_image and phrase.head not in {"painting", "drawing"}:
        return build_step("style", to=style_text(new), sure=False)
    return None


def property_of(phrase: Phrase) -> str:
    """Return the property that a phrase names instead of an object: "the color of the car"."""
    for name, nouns in PROPERTIES.items():
        if phrase.head in nouns:
            return name if phrase.owner or len(phrase.words) > 1 or name != "surface" else ""
    return ""


def _change_property(name: str, phrase: Phrase, new: Words, context: Discourse) -> ParsedStep:
    scene, _ = read_phrase(new)
    text = text_of(token for token in new if token not in ARTICLES) or None
    match name:
        case "color" | "size":
            return build_step(name, owner_of(phrase, context), read_value(new).text or None, sure=True)
        case "surface":
            kind = "shape" if phrase.head == "shape" else "texture"
            return build_step(kind, owner_of(phrase, context), text, sure=True)
        case "pose":
            return build_step("action", owner_of(phrase, context), text, sure=bool(new))
        case "background":
            return set_background(scene) if scene.words else build_step(name, to=text_of(new) or None, sure=True)
        case "view":
            return set_background(scene, sure=False) if scene.is_scene else build_step("viewpoint", to=text, sure=True)
        case _:
            return build_step("style", to=style_text(new) or None, sure=True)


def owner_of(phrase: Phrase, context: Discourse) -> str | None:
    """Return whose color: "color of the car", "car's color", "hair color", "its color"."""
    if "of" in phrase.words:
        return text_of(word for word in phrase.words[phrase.words.index("of") + 1 :] if word not in words("definite"))
    if len(phrase.words) > 1:
        return Phrase(words=phrase.words[:-1], owner=phrase.owner).name
    if phrase.owner and phrase.owner not in POSSESSIVE:
        return phrase.owner
    pronoun = {"its": "it", "his": "he", "her": "she", "their": "they"}.get(phrase.owner, "it")
    return context.resolve(Phrase(pronoun=pronoun))


def _it_becomes(new: Phrase, subject: str | None, context: Discourse) -> ParsedStep:
    """Read "make it a black sheep": the color of a sheep in the caption, or else a replacement."""
    same = context.in_caption(new.head)
    is_several = new.count is not None and new.count > 1
    if same is not None and not (is_several and new.count != (same.count or 1)):
        return redescribe(same, new, same.name)
    colors = [word for word in new.adjectives if kind_of(word) == "color"]
    if subject is None and colors and len(colors) == len(new.adjectives) and not context.caption:
        return build_step("color", new.without(colors).name, " ".join(colors), sure=False)
    return add(new, sure=False) if is_several or new.determiner == "more" else replace_by(subject, new, sure=False)


def style_text(tokens: Words) -> str:
    """Return the style alone: "oil painting" of "look like an oil painting"."""
    return text_of(tokens[skip(tokens, _BEFORE_STYLES) :]).removesuffix(" style").removesuffix(" one")


def change_text(phrase: Phrase, about: Words, new: Words, context: Discourse, before: Words = ()) -> ParsedStep:
    """Build "change the text on the sign from A to B"."""
    named = [word for word in phrase.words if word not in words("text_words")]
    quoted = [
        token.raw for token in (*phrase.words, *about) if token.quoted or (token.raw.isupper() and len(token) > 1)
    ]
    old = quoted[0] if quoted else text_of(before, raw=True) or None
    anchors = [find_placement(about), find_placement(new, 1) if new[0].quoted else None]
    anchor = next((placement.anchor for placement in anchors if placement and placement.anchor), None)
    subject = context.resolve(anchor) if anchor else None
    if subject is None and not quoted and (named or phrase.owner):
        subject = phrase.owner or text_of(word for word in named if word not in {"of", *ARTICLES})
    if subject and not old and not anchor and about and not before:
        old = text_of(about, raw=True)
    return build_step("text", subject, written_text(new), from_=old, sure=True)


def unsure(step: ParsedStep) -> ParsedStep:
    return replace(step, sure=False)


def statement(clause: Words, context: Discourse, *, question: bool = False) -> Steps:
    """Read "the dog should be removed", "could the dog be black", "a lake next to the hut"."""
    phrases, end = read_phrases(clause, predicate=True)
    if not phrases or end >= len(clause):
        return []
    first = phrases[0]
    start = end + modifiers_end(clause[end:])
    start += clause[start] in {"he", "she", "it", "they"}  # "the boy he should laugh"
    verb = token_at(clause, start)
    has_verb = bool(
        match_any(
            ("be", "modals", "have", "wear", "hold", "become", "contain", "show", "look", "say", "not"), clause, start
        )[1]
    )
    acts = (
        action_base(verb) is not None
        or is_activity(verb)
        or verb in {"now", "disappear", "vanish"}
        or bool(match_any(lists_in("participles"), clause, start)[1])
    )
    describes = question and first.is_definite and read_value(clause[start:]).kind not in {"object", "other"}
    if not has_verb and not describes and not (acts and (question or first.is_definite)):
        placement = read_placement(clause, end)
        if placement and placement.anchor and placement.anchor.is_definite and not first.is_definite:
            return [add_placed(phrase, clause[end:], context, sure=False) for phrase in phrases]
        if not placement or not question:
            return []
        start = end
    if verb == "with" and not question:
        return []
    return [step for phrase in phrases for step in say_of(phrase, clause[start:], context)]


def say_of(phrase: Phrase, tail: Words, context: Discourse, *, may_be_new: bool = False) -> Steps:
    """Read what is said of an object.

    Args:
        phrase: the object.
        tail: what follows it.
        context: objects named earlier.
        may_be_new: whether naming an object without a definite article asks for it: "have a dog".

    """
    tail, old = split_instead(tail)
    if old:
        return replacing(say_of(phrase, tail, context, may_be_new=may_be_new), old, context)
    if list(tail[1:2]) == ["to"] and tail[0] in {"has", "have", "had"}:
        tail = tail[2:]
    if tail[:1] and tail[0] in {"need", "needs"} and (needed := read_phrases(tail, 1)[0]):
        return [give(phrase, item, context) for item in needed]
    tail = tail[skip(tail, words("modals") | _SKIPPED) :]
    if not tail:
        return [] if phrase.is_definite else [add_placed(phrase, [], context, sure=may_be_new)]
    if tail[0] in words("be") and match_any(("wear", "hold"), tail, 1)[1]:
        tail = tail[1:]
    applied = (rule(phrase, tail, context) for rule in _PREDICATES)
    return next((steps for steps in applied if steps is not None), [])


def _misspelled_wear(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "let the man were a hat"."""
    if tail[0] not in {"were", "where", "ware"} or not read_phrase(tail, 1)[0].is_worn:
        return None
    return [give(phrase, item, context, "wear") for item in read_phrases(tail, 1)[0]]


def _weather(phrase: Phrase, tail: Words, _: Discourse) -> Steps | None:
    """Read "make it rain", "it should be snowing"."""
    weather = _after_be(tail)[:1]
    if phrase.pronoun not in {"it", "this"} or not set(weather) & words("weather_verbs"):
        return None
    return [build_step("style", to=str(weather[0]), sure=True)]


def _several_values(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read two properties of one object: "longer and blonde"."""
    tail = _after_be(tail)
    if "and" not in tail[1:-1]:
        return None
    at = list(tail).index(Word("and"))
    values = [read_value(part) for part in (tail[:at], tail[at + 1 :])]
    kinds = {value.kind for value in values}
    if len(kinds) < 2 or not kinds <= {"color", "size", "shape", "texture", "action"}:
        return None
    return [describe(phrase, value, context.resolve(phrase)) for value in values]


def _is_bare_subject(phrase: Phrase, tail: Words) -> bool:
    """Tell whether an object without an article is in the image: "make daddy a superhero", "make photo brighter"."""
    if phrase.determiner or phrase.count is not None or is_activity(tail[0]) or action_base(tail[0]):
        return False
    return phrase.head in words("whole") or (singular(phrase.head) == phrase.head and not read_placement(tail, 0))


def _after_be(tail: Words) -> Words:
    return tail[skip(tail, words("be") | _SKIPPED) :]


def _negated(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "make the man not swing but hold the bat": what follows "but" is asked for."""
    if tail[0] not in {"not", "never", "without", "n't"} and list(tail[:2]) not in (["be", "not"], ["is", "not"]):
        return None
    subject = context.resolve(phrase)
    if "but" in tail[:-1]:
        at = list(tail).index(Word("but")) + 1
        if action_base(tail[at]) and action_base(tail[1]):
            return [build_step("action", subject, to_activity(tail[at:]), sure=True)]
        return say_of(phrase, tail[at:], context)
    remainder = [token for token in tail if token not in words("not") | words("be")]
    owns = bool(remainder) and remainder[0] in words("wear") | words("have") | words("hold")
    if tail[0] == "without" or owns:
        gone, _ = read_phrase(remainder, int(owns))
        return [build_step("object_removal", gone.name, sure=True)] if gone else []
    if remainder and remainder[0] in {"there", "visible", "present", "in"}:
        return [remove(phrase, [], context)]
    return [build_step("action", subject, f"not {to_activity(remainder)}".strip())]


def comes_to_exist(tail: Words, context: Discourse, *, sure: bool = True) -> Steps:
    """Read what follows "there should be": "a dog on the sofa", "no people"."""
    tail, old = split_instead(tail)
    if old:
        return replacing(comes_to_exist(tail, context, sure=sure), old, context)
    if not tail:
        return []
    if tail[0] in {"no", "not", "n't", "fewer", "less"}:
        start = skip(tail, {"not", "no", "n't", "fewer", "less", "be", "any", "more", "longer"})
        return [remove(phrase, [], context) for phrase in read_phrases(tail, start)[0]]
    pairs = read_objects(tail)
    if not pairs:
        return []
    first, after = pairs[0]
    if first.is_scene and words("backgrounds") & set(after):
        return [set_background(first, sure=False)]
    if first.is_definite and (view_steps := _is_seen_from(first, after, context)):
        return view_steps
    placement = find_placement(after)
    if first.is_definite and placement and placement.anchor and placement.anchor.head in words("moods"):
        return [build_step("style", to=placement.anchor.name, sure=True)]  # "can we see the bridge at night?"
    same = context.in_caption(first.head)
    colors = [word for word in first.adjectives if kind_of(word) == "color"]
    if not sure and len(pairs) == 1 and colors and (same or not context.caption) and not placement:
        return [replace(redescribe(same or first.without(colors), first, None), sure=same is not None)]
    return [
        step
        for phrase, remainder in pairs
        for step in (
            [remove(phrase, [], context)]
            if phrase.determiner == "no"
            else add_all(phrase, remainder, context, sure=sure or same is None)
        )
    ]


def _new_object(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "let a child play nearby", "a dog should be near the sheep"."""
    body = _after_be(tail)
    is_new = not phrase.is_definite and phrase.words and not _is_bare_subject(phrase, tail)
    if not is_new or match_any(lists_in("participles"), body)[1]:
        return None
    if list(body[:1]) == ["the"] and set(body[1:2]) & words("backgrounds"):
        return [set_background(phrase)]
    if body and (action_base(body[0]) or is_activity(body[0])):
        first = body[0]
        body = [Word(to_activity([first])).placed(first.order, first.tag, first.dep, first.head), *body[1:]]
    return add_all(phrase, body, context)


def _says(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "the sign says OPEN"."""
    if tail[0] not in words("say") or len(tail) < 2:
        return None
    is_text = tail[1].quoted or tail[0] in {"say", "says", "saying", "spell", "spells"}
    is_display = in_list("text_holders", phrase.head) or in_list("text_words", phrase.head)
    if not is_text and not (is_display and tail[0] in {"read", "reads", "reading"}):
        return None
    subject = phrase.owner if phrase.head in words("text_words") and phrase.owner else context.resolve(phrase)
    return [build_step("text", subject, written_text(tail[1:]), sure=True)]


def _shows(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "let the laptop show a cat", "let the window show a garden", "make the traffic light show red"."""
    tail = _after_be(tail)
    if not tail or tail[0] not in words("show") or len(tail) < 2 or phrase.is_alive:
        return None
    subject, value = context.resolve(phrase), read_value(tail[1:])
    if read_number(tail[1]) is not None and in_list("text_holders", phrase.head):
        value = Value("text", text_of(tail[1:], raw=True))
    if value.kind in {"color", "text"}:
        return [describe(phrase, value, subject)]
    content, _ = read_phrase(tail, 1)
    if not content or content.is_definite:
        return None
    if singular(phrase.head) == "window":
        return [set_background(content, subject, sure=False)]
    return [add(content, position=Position("on", subject), sure=False)]


def _owns(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "the man wears a hat", "the cat has its eyes closed", "the bowl contains soup"."""
    how, length = match_any(("wear", "hold", "have", "contain"), tail)
    if not length or len(tail) == length or (how == "have" and tail[length] in {"been", "to", "be"}):
        return None
    items, end = read_phrases(tail, length, predicate=True)
    if not items:
        return []
    first, after, subject = items[0], tail[end:], context.resolve(phrase)
    if first.head in words("text_words") and any(token.quoted for token in tail):
        return [build_step("text", subject, written_text(tail[length:]), sure=True)]
    is_plate = len(phrase.words) > 1 and phrase.name in words("text_holders")
    holds = phrase.head in words("containers") and not first.is_part and not is_plate
    if how == "contain" or (holds and how in {"have", "hold"}):
        return [add(item, position=Position("in", subject)) for item in items]
    if first.is_part and after and how != "wear" and (steps := _part_is(first, tail[length:], after, subject)):
        return steps
    steps = [give(phrase, item, context, how) for item in items]
    if list(after[:1]) == ["and"] and len(after) > 2:  # "wear a dress and hold a bouquet"
        return [*steps, *say_of(phrase, after[1:], context)]
    placement = find_placement(after)
    if (
        how == "have"
        and placement
        and placement.relation in SIDES
        and placement.anchor
        and not placement.anchor.pronoun
    ):
        return [replace(step, position=placement.position) for step in steps]
    return steps


def _part_is(part: Phrase, tail: Words, after: Words, subject: str | None) -> Steps:
    """Read "its eyes closed", "legs up in the air"."""
    if not part.is_definite:
        is_pose = after[0] in {"up", "down", "in", "open", "closed", "crossed", "raised"}
        return [build_step("action", subject, text_of(tail))] if is_pose else []
    value = read_value(after)
    named = replace(part, owner=subject or "") if part.owner in POSSESSIVE else part
    if value.kind in {"action", "color", "texture", "shape", "size"}:
        return [describe(named, value, named.name)]
    return [build_step("action", subject, f"with {text_of(tail)}")]


def _is_seen_from(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "show the car from behind"."""
    if token_at(tail, 0) != "from" or len(tail) < 2:
        return None
    to = text_of(token for token in tail[1:] if token != "the")
    return [build_step("viewpoint", context.resolve(phrase), to, sure=True)]


def _turns_into(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "let the chair turn into a stool", "let the van turn black"."""
    into = next((at for at, token in enumerate(tail) if token in {"to", "into"}), None)
    if tail[0] in {"change", "transform", "morph", "turn"} and into and into + 1 < len(tail):
        return [becomes(phrase, tail[into + 1 :], context)]
    is_change = (
        tail[0] in words("become") - {"go", "goes", "grow", "change", "transform", "get", "gets"} and len(tail) > 1
    )
    if not is_change or tail[1] in {"around", "away", "on", "off"}:
        return None
    return [becomes(phrase, tail[2:] if tail[1] in {"into", "to", "in"} else tail[1:], context)]


def _disappears(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "make the dog disappear"."""
    goes = tail[0] in {"disappear", "vanish", "go"} and (len(tail) == 1 or tail[1] == "away")
    return [remove(phrase, [], context)] if goes else None


def _looks(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "look like a painting", "look older", "look like it is made of glass"."""
    if tail[0] not in words("look") or len(tail) < 2 or read_placement(tail, 1) or tail[1] in _DIRECTIONS:
        return None
    is_image = bool(phrase.pronoun) or phrase.head in words("whole")
    it = next((at for at in range(1, len(tail) - 1) if tail[at] == "it" and tail[at + 1] in words("be")), 0)
    if it and is_image and tail[1] in {"like", "as"}:
        return [build_step("style", to=style_text(tail[1:]), sure=True)]
    of_image = list(tail[2:4]) in (["it", "was"], ["it", "were"], ["it", "is"], ["it", "'s"], ["if", "it"])
    if is_image and (of_image or ("like" in tail and is_style(tail))):
        return [build_step("style", to=style_text(tail[1:]), sure=True)]
    if tail[1] in {"better", "good", "nice", "great", "cool"} and list(tail[2:3]) == ["in"]:
        return [becomes(phrase, tail[3:], context)]
    start = skip(tail, {"like", "as", "if", "though"}, 1)
    if phrase.pronoun in {"it", "this"} and start > 1 and context.resolve(phrase) is None:
        return [build_step("style", to=style_text(tail[start:]))]  # "let it look like the 1980s"
    if token_at(tail, start) in words("pronouns.self"):  # "make it look like we are on the moon"
        return statement(parse_clause(tail[start:]), context)
    start = skip(tail, {"like", "as", "if", "though", "it", "they", "he", "she", "had", "been", *words("be")}, 1)
    return [unsure(step) for step in _is_what(phrase, tail[start:], context)]


def _seems(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "show the girl as if she were underwater", "make the wall like it is made of ice"."""
    if list(tail[:2]) not in AS_IF:
        return [becomes(phrase, tail[1:], context)] if tail[0] == "like" and len(tail) > 1 else None
    return _is_what(phrase, tail[skip(tail, {"it", "they", "he", "she", "had", "been", *words("be")}, 2) :], context)


def _is(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read what follows "is", "should be" or a participle without a verb: "everything made of candy"."""
    is_participle = tail[0].tag in {"VBN", "VBD"} and match_any(lists_in("participles"), tail)[1]
    if list(tail[:2]) == ["take", "place"]:
        return relocate(phrase, tail[2:], context)
    if tail[0] not in words("be") and list(tail[1:2]) != ["been"] and not is_participle:
        return None
    return _is_what(phrase, _after_be(tail), context)


def _is_what(phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read what an object is: changed by a participle, in a place, or another object."""
    if not tail:
        return []
    subject = context.resolve(phrase)
    name, length = match_any(lists_in("participles"), tail)
    if length and (steps := _passive(name.removeprefix("participles."), phrase, tail, length, context)):
        return steps
    if (owned := _owns(phrase, tail, context)) is not None and tail[0] not in words("have"):
        return owned
    if (
        tail[0] in {"better", "nicer", "cooler", "prettier", "perfect"}
        and tail[1:2]
        and tail[1] in {"with", "in", "without"}
    ):
        return say_of(phrase, tail[1:], context)
    if tail[0] in {"full", "filled"} and (steps := fill("fill", phrase, tail, context)):
        return steps
    if list(tail) in (["on"], ["off"], ["on", "fire"]):
        return [build_step("action", subject, text_of(tail), sure=True)]
    if steps := _is_placed(phrase, tail, context):
        return steps
    if tail[0] in {"from", "seen"}:
        return _is_seen_from(phrase, tail[skip(tail, {"seen"}) :], context) or []
    if (content := _shows(phrase, tail, context)) is not None:
        return content
    if is_activity(tail[0]) and (known_kind(tail[0]) or "action") == "action":
        return _acts(phrase, tail, context) or []
    return [becomes(phrase, tail, context)]


def _is_placed(phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    placement = read_placement(tail, 0)
    if tail[0] in {"outside", "outdoors", "indoors", "underwater"}:
        return [build_step("background", context.resolve(phrase), str(tail[0]), sure=True)]
    if not placement or read_value(tail).kind == "texture" or tail[0] in {"with", "out"}:
        return []
    anchor = placement.anchor or Phrase()
    if phrase.head in words("backgrounds"):
        return [set_background(anchor)]
    if anchor.head in words("moods") and not anchor.is_scene:  # "the bridge at night"
        return [build_step("style", to=anchor.name, sure=True)]
    if tail[0] == "in" and read_value(tail[1:]).kind in {"color", "texture"}:  # "this dress in blue"
        return [becomes(phrase, tail[1:], context)]
    if tail[0] == "in" and anchor.is_worn:
        return [give(phrase, anchor, context, "wear")]
    if tail[0] == "in" and is_style(tail):
        return [build_step("style", to=style_text(tail), sure=True)]
    return relocate(phrase, tail, context)


def _located(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "the man in a suit", "the bridge at night"."""
    return _is_placed(phrase, tail, context) or None if read_placement(tail, 0) else None


def _passive(group: str, phrase: Phrase, tail: Words, length: int, context: Discourse) -> Steps:
    """Read "be removed", "be replaced by a cat": the command with the phrase as its object."""
    after, subject = tail[length:], context.resolve(phrase)
    if group in {"paint", "change"} and after and after[0] in {"of", "from", "out", "by"}:
        return [describe(phrase, read_value(tail), subject)]
    if tail[0] in {"turned", "switched"} and after and after[0] in {"on", "off"}:
        return [build_step("action", subject, f"turned {after[0]}", sure=True)]
    if group == "change":
        return [becomes(phrase, after[skip(after[:1], {"to", "into", "for"}) :], context)]
    if group == "rotate":
        return [build_step("viewpoint", subject, text_of(tail))]
    if group == "write":
        return write([*phrase.words, *after], context)
    if group == "paint" and not after:
        return [build_step("color", subject, text_of(tail), sure=True)]
    return PASSIVES["put" if group == "add" else group](str(tail[0]), phrase, after, context)


def _acts(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "sleep", "jump over a ball", "face the camera"."""
    subject, base = context.resolve(phrase), action_base(tail[0])
    if (base == "face" and _VIEWED & set(tail)) or (base == "turn" and list(tail[1:2]) in (["around"], ["away"])):
        to = " ".join([to_activity(tail[:1]), *(token for token in tail[1:] if token != "the")])
        return [build_step("viewpoint", subject, to, sure=base == "face")]
    is_verb = (
        len(tail) > 1
        and tail[0].tag in {"VB", "VBP"}
        and tail[0].dep in {"ccomp", "xcomp", "ROOT"}
        and not known_kind(tail[0])
    )
    if base or is_activity(tail[0]) or is_verb:
        to = to_activity([token for token in tail if token not in {"now", "instead", "also"}])
        return [build_step("action", subject, to, sure=True)]
    step = becomes(phrase, tail, context)
    is_bare = read_value(tail).kind == "object" and not phrase.pronoun and tail[0] not in words("indefinite")
    return [unsure(step) if is_bare else step]


_PREDICATES: tuple[Callable[[Phrase, Words, Discourse], Steps | None], ...] = (
    _misspelled_wear,
    _several_values,
    _weather,
    _negated,
    _new_object,
    _says,
    _shows,
    _owns,
    _is_seen_from,
    _turns_into,
    _disappears,
    _is,
    _located,
    _looks,
    _seems,
    _acts,
)
"""Rules for what is said of an object, in order; None means that a rule does not apply."""
