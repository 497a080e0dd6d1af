"""What each verb of a command asks for, by its group in `words.yaml`."""

from __future__ import annotations

from dataclasses import replace

from editgauge.instructions._lexicon import (
    in_list,
    match,
    match_any,
    singular,
    table,
    words,
)
from editgauge.instructions._parser import parse_clause
from editgauge.instructions._phrases import (
    Phrase,
    Words,
    find_placement,
    modifiers_end,
    read_number,
    read_phrase,
    read_phrases,
    read_placement,
)
from editgauge.instructions._predicates import (
    PASSIVES,
    PROPERTIES,
    Rule,
    Steps,
    becomes,
    change_text,
    fill,
    owner_of,
    property_of,
    relocate,
    say_of,
    statement,
    style_text,
    unsure,
    written_text,
)
from editgauge.instructions._steps import (
    NOT_UNDERSTOOD,
    Discourse,
    Value,
    add,
    add_all,
    add_placed,
    add_to,
    build_step,
    describe,
    give,
    is_style,
    read_value,
    remove,
    replace_by,
    set_background,
    swap,
    to_activity,
)
from editgauge.instructions._words import Word, skip, text_of, token_at
from editgauge.types import Position

CAUSATIVES = frozenset({"let", "have", "make", "get", "allow", "cause", "show", "force", "keep", "depict"})
LINKERS = frozenset({"with", "by", "for", "to", "into"})
_STATE_TYPES = {"state": "action", "shape": "shape", "surface": "texture", "parts": "alter_parts"}
_STYLE_NOUNS = frozenset(
    {"effect", "filter", "style", "look", "feel", "vibe", "aesthetic", "mood", "atmosphere", "tone", "tones"}
)
"""Words for the manner of an image: "give it a vintage look"."""
_STYLE_VERBS = {
    "cartoonize": "cartoon",
    "brighten": "brighter",
    "darken": "darker",
    "blur": "blurred",
    "lighten": "lighter",
}


def add_object(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "add a cat on the sofa", "add a hat to the dog", "add a car instead of the bike"."""
    if phrase.words == ("one",) and context.mentioned:
        phrase = replace(context.mentioned[-1], determiner="a", count=None)
    if token_at(tail, 0) == "where" and (old := read_phrase(tail, 1)[0]).words:  # "put a bench where the bin is"
        return [swap(old, phrase, context)]
    if match("in_its_place", tail) and context.mentioned:
        return [swap(context.mentioned[-1], phrase, context)]
    if "style" in phrase.words:
        return [build_step("style", to=phrase.name.removesuffix(" style"), sure=True)]
    recipient = _recipient(tail)
    return [add_to(phrase, recipient, context)] if recipient else add_all(phrase, tail, context)


def _recipient(tail: Words) -> Phrase | None:
    """Return what something is added to: "add a hat to the dog"; None for "to the left of the dog"."""
    for at, token in enumerate(tail):
        if read_placement(tail, at):
            return None
        if token in {"to", "onto"} and (at == 0 or tail[at - 1] not in words("look")):
            phrase, _ = read_phrase(tail, at + 1)
            return phrase if phrase and phrase.head not in words("whole") | words("backgrounds") else None
    return None


def put(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read an addition or, with a definite article, a move: "put a cat on the mat", "put the cat on the mat"."""
    is_relative = not phrase.determiner and len(phrase.words) == 1 and phrase.head in words("relatives_of")
    is_move = (phrase.is_definite and phrase.determiner != "all") or is_relative
    if not is_move or match("in_its_place", tail):
        return add_object(verb, phrase, tail, context)
    return relocate(phrase, tail, context)


def give_object(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "give the man a hat", "give a hat to the man", "give her jean pants"."""
    if not tail and phrase.owner == "her":
        return [give(Phrase(pronoun="her"), replace(phrase, owner=""), context)]
    if not tail or tail[0].tag == "VBN":
        return give_bare(phrase, context)
    if tail[0] == "to":
        return [give(read_phrase(tail, 1)[0], phrase, context)]
    gifts, _end = read_phrases(tail)
    if not gifts:
        return say_of(phrase, tail, context)
    if gifts[0].head in PROPERTIES["color"]:  # "give the door a different color"
        colors = [word for word in gifts[0].words[:-1] if word not in {"different", "new", "other"}]
        return [build_step("color", context.resolve(phrase), text_of(colors) or None, sure=True)]
    style = [word for word in gifts[0].words if word not in _STYLE_NOUNS]
    has_style = phrase.pronoun in {"it", "this"} or phrase.is_image or phrase.is_scene or phrase.head == "sky"
    if has_style and 0 < len(style) < len(gifts[0].words):
        subject = phrase.name if phrase.head == "sky" else None
        return [build_step("style", subject, text_of(style), sure=True)]
    value = read_value([token for token in tail if token != "the"])
    if value.kind in {"texture", "color", "shape"}:
        return [describe(phrase, value, context.resolve(phrase))]
    return [give(phrase, gift, context) for gift in gifts]


def give_bare(both: Phrase, context: Discourse) -> Steps:
    """Split "the man glasses": no article separates the two objects."""
    if len(both.words) < 2:
        return []
    cut = 1 + next((at for at, word in enumerate(both.words[:-1]) if Phrase(words=(word,)).is_alive), 0)
    return [give(replace(both, words=both.words[:cut]), Phrase(words=both.words[cut:]), context)]


def remove_object(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "remove the dog", "take the bowl off the table", "there are three cups, take one"."""
    if verb.startswith("clear") and phrase.head in words("containers") | words("grounds") | words("surfaces"):
        return empty(verb, phrase, tail, context)
    is_amount = len(phrase.words) == 1 and (phrase.head in {"few", "some", "couple"} or read_number(phrase.head))
    if is_amount and context.mentioned:
        count = read_number(phrase.head)
        return [build_step("single_instance_removal", context.mentioned[-1].name, count=count, sure=True)]
    step = remove(phrase, tail, context)
    return [unsure(step) if verb.startswith("shave") and phrase.head not in words("hair") else step]


def replace_object(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "replace X with Y", "swap X for Y"."""
    at = linker_at(tail, LINKERS)
    if at is None:
        return []
    new, after = tail[at + 1 :], read_phrase(tail, at + 1)[0]
    if (
        (phrase.words[:1] and phrase.words[0] in words("text_words"))
        or new[0].quoted
        or (phrase.words and phrase.words[-1].quoted)
    ):
        return [change_text(phrase, tail[:at], new, context)]
    if phrase.head in words("backgrounds") | words("properties.color"):
        return [becomes(phrase, new, context)]
    if verb.startswith("substitut") and tail[at] == "for" and after.is_definite and not phrase.is_definite:
        return [swap(after, phrase, context)]
    value = read_value(new)
    if value.kind == "color":
        return [describe(phrase, value, context.resolve(phrase))]
    _, end = read_phrase(new)
    if list(new[end : end + 1]) == ["with"] and singular(phrase.head) == singular(after.head):
        complete = replace(after, words=(*after.words, *(token for token in new[end:] if token != "the")))
        return [replace_by(context.resolve(phrase), complete, sure=True)]
    return [swap(phrase, after, context)] if after else []


def linker_at(tail: Words, linkers: frozenset[str]) -> int | None:
    """Return the position of "to" or "with" between what changes and what it becomes."""
    positions = [at for at in range(len(tail) - 1) if tail[at] in linkers]
    for at in positions:
        placement = read_placement(tail, at)
        is_side = tail[at] == "to" and placement is not None
        has_later = any(later > at + 1 for later in positions)
        in_noun = has_later and tail[at] not in {"to", "into"} and tail[at + 1] in words("definite")
        if not (is_side or in_noun):
            return at
    return None


def move(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "move the dog from the right to the left"."""
    before = None
    if token_at(tail, 0) == "from":
        start, at = read_phrase(tail, 1)
        before, tail = start.head or (start.which[0] if start.which else None), tail[at:]
    subject, placement = context.resolve(phrase), find_placement(tail)
    if placement and placement.anchor and placement.anchor.is_scene and placement.relation == "in":
        return [set_background(placement.anchor, subject, sure=False)]
    side = next((table("sides")[str(token)] for token in tail if token in words("sides")), None)
    to, position = side or text_of(tail) or None, None
    if placement:
        position = placement.position
        to = placement.relation if position.anchor is None else text_of(tail[placement.start : placement.end])
    is_sure = placement is not None or side is not None
    return [build_step("position_replacement", subject, to, from_=before, position=position, sure=is_sure)]


def paint(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "paint the fence white", "paint a tree on the wall"."""
    value_words = [token for token in tail if token not in {"in", "with", "to", "into"}]
    if phrase.is_image:
        return [build_step("style", to=text_of(value_words) or "colorized")]
    value = read_value(value_words)
    if value.kind not in {"color", "texture"} and not phrase.is_definite:
        return [add_placed(phrase, tail, context, sure=False)]
    if value.kind not in {"color", "texture"}:
        value = Value("color", text_of(value_words))
    step = describe(phrase, value, context.resolve(phrase))
    return [replace(step, to=step.to or None)]


def _resize(to: str | None) -> Rule:
    """Return the rule for "enlarge the dog", "reduce the size of the cup", "increase the number of dogs to 3"."""

    def rule(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
        if counted := _counted(phrase):
            count = read_number(tail[1]) if list(tail[:1]) == ["to"] and len(tail) > 1 else None
            if count is not None or to == "large":
                return [replace(add(counted, sure=False), count=count or counted.count)]
            return [unsure(remove(counted, [], context))]
        if phrase.head in {"brightness", "contrast", "saturation", "exposure", "sharpness", "warmth"}:
            return [build_step("style", to=phrase.head)]
        value = read_value([token for token in tail if token != "to"])
        size = to or (value.text if value.kind == "size" else None)
        subject = owner_of(phrase, context) if phrase.head == "size" else context.resolve(phrase)
        return [build_step("size", subject, size, sure=True)]

    return rule


def _counted(phrase: Phrase) -> Phrase | None:
    """Return the apples of "the number of apples"; None for other phrases."""
    if phrase.head not in {"number", "amount"} or "of" not in phrase.words:
        return None
    return Phrase(words=phrase.words[phrase.words.index("of") + 1 :])


def is_writing(body: Words) -> bool:
    """Tell whether an addition is of text: a quotation, or "the word OPEN"."""
    for at, token in enumerate(body[:4]):
        following = token_at(body, at + 1)
        is_literal = following.quoted or following in words("say") or following.raw.isupper() or following[:1].isdigit()
        if token in words("text_words") and (is_literal or (following == "of" and token_at(body, at + 2).quoted)):
            return True
    return body[0].quoted


def restyle(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "render the image as a sketch", "blur the background", "apply a watercolor effect"."""
    if verb in {"apply", "use"}:
        style = [word for word in phrase.words if word not in _STYLE_NOUNS]
        return [build_step("style", to=text_of(style) or None, sure=True)] if style else []
    if verb == "draw" and not phrase.is_definite:
        return add_object(verb, phrase, tail, context)
    if verb == "blur" and phrase.head in words("backgrounds"):
        return [build_step("background", to="blurred")]
    subject = None if phrase.pronoun or phrase.head in words("whole") else context.resolve(phrase)
    to = style_text(tail[skip(tail, {"up", "out", "down"}) :]) or _STYLE_VERBS.get(verb.split(maxsplit=1)[0], verb)
    if subject and verb in {"darken", "brighten", "lighten", "colorize"}:
        return [build_step("color", subject, to)]
    return [build_step("style", subject, to, sure=subject is None)]


def empty(_: str, phrase: Phrase, _tail: Words, context: Discourse) -> Steps:
    """Read "empty the shelf"."""
    return [build_step("object_removal", position=Position("on", context.resolve(phrase)))]


def dress(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "dress the man in a kilt", "put on sunglasses"."""
    if phrase.is_worn:
        return [add(phrase)]
    clothes, _end = read_phrases(tail, skip(tail, {"up", "in", "with", "as"}))
    return [give(phrase, item, context, "wear") for item in clothes]


def rotate(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "rotate the car", "zoom in on the face"."""
    subject = None if phrase.head in words("whole") | {"camera", "view"} else context.resolve(phrase)
    return [build_step("viewpoint", subject, verb if list(tail) in ([], ["on"]) else text_of(tail))]


def _set_state(group: str) -> Rule:
    """Return the rule for "open the door", "slice the banana"."""

    def rule(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
        if group == "shape" and tail and tail[-1] in {"out", "off"}:
            return [remove(phrase, tail, context)]
        to = table(f"verbs.{group}")[verb]
        if group == "parts" and (phrase.is_image or phrase.head in words("mood_subjects")):  # "fix the lighting"
            return [build_step("style", to=to)]
        if tail and (list(tail[:2]) == ["in", "half"] or not find_placement(tail)):
            to = f"{to} {text_of(tail)}"
        return [build_step(_STATE_TYPES[group], context.resolve(phrase), to, sure=group != "parts")]

    return rule


def change(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "change X to Y", "make X Y", "let X do Y"."""
    if "so" in tail:
        clause = parse_clause(tail[skip(tail, {"so", "that"}, list(tail).index(Word("so"))) :])
        about, end = read_phrase(clause, predicate=True)
        return (
            say_of(phrase, clause[end:], context)
            if about.pronoun and not phrase.pronoun
            else statement(clause, context)
        )
    placement = find_placement(tail)
    if phrase.head in words("text_words") and placement and placement.anchor and not phrase.owner:
        phrase = replace(phrase, owner=placement.anchor.name)
    is_causative = verb in CAUSATIVES
    is_property = bool(property_of(phrase))
    linkers = frozenset(
        {"into", "to"}
        if verb == "make" and is_property
        else {"into"}
        if verb == "make"
        else ()
        if is_causative
        else {*LINKERS, "as"}
    )
    at = linker_at(tail, linkers | {"in"} if verb in {"turn", "transform"} else linkers)
    if at is not None:
        new = tail[at + 1 :]
        if tail[at] == "into" and all(word in words("materials") for word in new):
            return [describe(phrase, Value("texture", text_of(new)), context.resolve(phrase))]
        return _change_into(phrase, tail[:at], new, context)
    if verb == "turn" and placement and placement.anchor is None:  # "turn her head to the left"
        return [build_step("action", context.resolve(phrase), f"turned {text_of(tail)}")]
    if verb in {"turn", "switch"} and list(tail[:1]) in (["on"], ["off"]):
        return [build_step("action", context.resolve(phrase), f"turned {tail[0]}", sure=True)]
    if verb == "get" and list(tail[:1]) in (["out"], ["off"], ["away"]):  # "get the tourists out of the picture"
        return [remove(phrase, [], context)]
    predicate = tail[0 if is_style(tail) else modifiers_end(tail) :]
    if (is_causative or predicate) and (
        steps := say_of(phrase, predicate, context, may_be_new=verb in {"have", "make"})
    ):
        return steps
    return _incomplete(verb, phrase, context)


def _change_into(phrase: Phrase, about: Words, new: Words, context: Discourse) -> Steps:
    """Read "change X from A to B"."""
    before: Words = []
    if "from" in about:
        cut = list(about).index(Word("from"))
        about, before = about[:cut], about[cut + 1 :]
    if (counted := _counted(phrase)) and (count := read_number(new[0])):
        return [replace(add(counted, sure=False), count=count)]
    placement = find_placement(about)
    is_display = bool(placement and placement.anchor and in_list("text_holders", placement.anchor.head))
    names_text = bool(phrase.words) and phrase.words[0] in words("text_words") and not property_of(phrase)
    states_text = names_text or (is_display and new[0][:1].isdigit())
    if states_text or (phrase.words and phrase.words[-1].quoted):
        return [change_text(phrase, about, new, context, before)]
    if (new[0] in words("say") and len(new) > 1) or (new[0].quoted and in_list("text_holders", phrase.head)):
        return [build_step("text", context.resolve(phrase), written_text(new), sure=True)]
    new = new[1:] if new[0] == "be" and len(new) > 1 else new
    if match_any(("wear", "hold"), new)[1]:
        return say_of(phrase, new, context)
    step = becomes(phrase, new, context)
    if before and step.from_ in {None, step.subject}:
        return [replace(step, from_=read_value(before).text or None)]
    return [step]


def _incomplete(verb: str, phrase: Phrase, context: Discourse) -> Steps:
    """Read a change without a value: "change the shirt", "make a hill", "make both the pizzas pepperoni"."""
    if phrase.head in words("properties.color") | words("text_words") | words("backgrounds") | words("whole"):
        return [becomes(phrase, [], context)]
    if verb not in CAUSATIVES:
        return [build_step(NOT_UNDERSTOOD, context.resolve(phrase))]
    if not phrase.is_definite:
        return [add_placed(phrase, [], context, sure=verb in {"have", "make"})]
    if len(phrase.words) < 2:
        return []
    shorter, last = replace(phrase, words=phrase.words[:-1]), phrase.words[-1]
    if verb == "let":
        return [build_step("action", context.resolve(shorter), to_activity([last]))]
    return [unsure(becomes(shorter, [last], context))]


COMMANDS: dict[str, Rule] = {
    "add": add_object,
    "put": put,
    "give": give_object,
    "remove": remove_object,
    "replace": replace_object,
    "change": change,
    "cause": change,
    "move": move,
    "paint": paint,
    "enlarge": _resize("large"),
    "reduce": _resize("small"),
    "resize": _resize(None),
    "restyle": restyle,
    "retouch": restyle,
    "fill": fill,
    "empty": empty,
    "dress": dress,
    "rotate": rotate,
    **{group: _set_state(group) for group in _STATE_TYPES},
}
"""What a verb asks for, by its group in `words.yaml`; called for each object with the words after it."""
PASSIVES.update(COMMANDS)
