"""Rules from requests to steps: commands by their verb, statements by what they say of their subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from editgauge._util.text import to_gerund
from editgauge.instructions._english import is_english
from editgauge.instructions._lexicon import (
    action_base,
    adjective_kinds,
    in_list,
    is_activity,
    kind_of,
    known_kind,
    lists_in,
    match,
    match_any,
    singular,
    table,
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
from editgauge.instructions._requests import ClauseRequest, classify
from editgauge.instructions._steps import (
    ARTICLES,
    NOT_UNDERSTOOD,
    Discourse,
    Value,
    add,
    add_all,
    add_placed,
    add_to,
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
_CAUSATIVES = frozenset({"let", "have", "make", "get", "allow", "cause", "show", "force", "keep", "depict"})
_PREDICATIVE = frozenset({"cause", "change", "paint", "enlarge", "reduce", "resize", "give"})
"""Groups of verbs after which something can be said of the object: "paint the door green"."""
_LINKERS = frozenset({"with", "by", "for", "to", "into"})
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
_BEFORE_STYLES = ARTICLES | {
    "look", "like", "be", "style", "of", "in", "as", "if", "made", "by", "was", "is", "it", "were", "painted", "drawn",
    "to", "though", "'s",
}  # fmt: skip
_SKIPPED = frozenset({"now", "also", "all", "both", "just", "then", "only", "completely", "fully", "being"})
_DIRECTIONS = frozenset(
    {"up", "down", "away", "back", "to", "over", "straight", "directly", "backwards", "left", "right"}
)
"""After "look": "look up" is an action, "look old" is not."""
_VIEWED = frozenset({"camera", "left", "right", "viewer", "front", "away", "us", "forward"})
_AS_IF = (["as", "if"], ["as", "though"], ["like", "it"], ["like", "they"])
_PROPERTIES = {
    "color": frozenset({"color", "colour", "colors", "colours"}),
    "style": frozenset({"style"}),
    "background": words("backgrounds"),
    "size": frozenset({"size"}),
    "surface": frozenset({"material", "texture", "pattern", "surface", "shape"}),
    "view": words("view_words"),
    "mood": words("mood_subjects") - {"sky", "light"},
    "pose": frozenset({"pose", "posture", "expression", "gesture", "stance", "action", "activity"}),
}
"""Nouns that name a property instead of an object."""


def read_request(request: ClauseRequest, context: Discourse) -> Steps:
    """Return the steps that a request asks for; empty if no rule applies."""
    steps = _read(request.kind, request.words, context) if request.words else []
    for step in steps:
        comes = step.type in {"object_addition", "positional_addition", "object_replacement"}
        if name := step.to if comes else step.subject:
            context.mentioned.append(Phrase(words=tuple(map(Word, name.split()))))
    return steps


def mention(request: ClauseRequest, context: Discourse) -> None:
    """Remember the object of a description, which asks for nothing itself."""
    tokens, phrases, at = parse_clause(request.words), list[Phrase](), 0
    while at < len(tokens):
        phrase, end = read_phrase(tokens, at, predicate=True)
        is_noun = tokens[at].tag[:2] != "VB" and bool(phrase.words) and phrase.words[-1].tag in {"NN", "NNS"}
        if is_noun and not phrase.is_image and phrase.head not in {"nothing", "something", "anything"}:
            phrases.append(phrase)
        at = max(end, at + 1)
    context.mentioned += reversed(phrases)


def _read(kind: str, clause: list[Word], context: Discourse) -> Steps:
    if clause[0] == "do" and token_at(clause, 1) in words("definite"):  # "do the hair blue"
        return command([Word("make"), *clause[1:]], context)
    if (existing := _existential(clause)) is not None:
        return comes_to_exist(parse_clause(existing), context)
    if kind == "wish":
        return _read_wish(clause, context)
    if kind == "command" and (steps := command(clause, context)):
        return steps
    if list(clause[:2]) in _AS_IF[:2] and len(clause) > 2:
        return _as_if(clause, context)
    asks_amount = clause[0] in {"no", "less", "fewer"} or (
        clause[0] == "more" and clause[1:2] and clause[1] not in adjective_kinds()
    )
    if asks_amount and len(clause) > 1:
        return comes_to_exist(parse_clause(clause), context)
    if instead := match("instead", clause):
        return _instead_first(clause[instead:], context)
    parsed = parse_clause(clause)
    if kind == "question" and len(clause) > 2:
        return _question(parsed[1:], context)
    if "look" in clause and clause[0] in {"what", "how"}:
        return _how_it_looks(parsed, context)
    new, old = split_instead(parsed)
    steps = statement(parsed, context) or (_replacing(comes_to_exist(new, context), old, context) if old else [])
    return steps or ([] if kind == "command" else _unlisted_verb(clause, context))


def _question(parsed: Words, context: Discourse) -> Steps:
    """Read what follows the modal of a question: "the dog be black", "it be a pond next to the road"."""
    if list(parsed[:2]) == ["it", "be"] and find_placement(parsed):
        return comes_to_exist(parsed[2:], context, sure=False)
    return statement(parsed, context, question=True)


def _as_if(clause: list[Word], context: Discourse) -> Steps:
    """Read "as if it were a Pixar movie", "as if the statue were made of chocolate"."""
    parsed = parse_clause(clause[2:])
    phrase, _ = read_phrase(parsed, predicate=True)
    steps = [] if phrase.pronoun or phrase.head in words("whole") else statement(parsed, context)
    return steps or [ParsedStep(type="style", to=style_text(clause), sure=True)]


def _how_it_looks(parsed: Words, context: Discourse) -> Steps:
    """Read "what would my car look like in matte black", "what I would look like with a beard"."""
    start = skip(parsed, {"what", "how", "would", "does", "do", "'d", "see"})
    look = list(parsed).index(Word("look"))
    phrase, _ = read_phrase(parsed[start:look])
    tail = parsed[skip(parsed, {"like", "if", "he", "she", "it", "they"}, look + 1) :]
    if not phrase or not tail:
        return []
    if tail[0] in {"in", "as"}:
        item, _ = read_phrase(tail, 1)
        return [give(phrase, item, context, "wear") if item.is_worn else becomes(phrase, tail[1:], context)]
    return say_of(phrase, tail, context)


def _instead_first(tail: list[Word], context: Discourse) -> Steps:
    """Read "instead of the clock, a bell should be there"."""
    if is_activity(tail[0]) and "," in tail:
        return read_request(classify(tail[tail.index(Word(",")) + 1 :]), context)
    old, end = read_phrase(parse_clause(tail))
    rest = [token for token in tail[end:] if token != ","]
    steps = read_request(classify(rest), context) if old and rest else []
    steps = steps or (comes_to_exist(parse_clause(rest), context) if rest else [])
    if len(steps) != 1 or not steps[0].to or steps[0].type not in {"object_addition", "positional_addition"}:
        return steps
    before = context.resolve(old)
    return [
        replace(steps[0], type="object_replacement", subject=before, from_=before, position=None, sure=bool(before))
    ]


def _read_wish(tail: list[Word], context: Discourse) -> Steps:
    """Read what follows "what if", "I want", "can we have": a statement, or an object."""
    tail = tail[skip(tail, {"that", "to", "if", "have", "see"}) :]
    if not tail:
        return []
    group, length = match_any(lists_in("participles"), tail, 1)
    if tail[0] in words("pronouns.self") and length:  # "what if we swapped the sofa for a bed"
        verb = next(iter(table(group.replace("participles", "verbs"))))
        return command([Word(verb), *tail[1 + length :]], context)
    if (existing := _existential(tail)) is not None:
        return comes_to_exist(parse_clause(existing), context)
    parsed = parse_clause(tail)
    if "look" in tail and tail[0] in {"what", "how"}:
        return _how_it_looks(parsed, context)
    if steps := statement(parsed, context, question=True):
        return steps
    first, _ = read_phrase(parsed)
    return [] if first.pronoun else comes_to_exist(parsed, context, sure=False)


def _existential(clause: list[Word]) -> list[Word] | None:
    """Return what follows "let there be" or "there should be"; None for other clauses."""
    at = skip(clause, {"let", "have", "make", "what", "if", "could", "can", "should"})
    if token_at(clause, at) != "there":
        return None
    return clause[skip(clause, words("modals") | words("be") | {"now", "only", "just", "also"}, at + 1) :]


def command(clause: list[Word], context: Discourse) -> Steps:
    """Read a clause that begins with the verb of a command; empty if no rule applies."""
    name, length = match_any(lists_in("verbs"), clause)
    group = name.removeprefix("verbs.")
    if group == "remove" and list(clause[length:]) in ([], ["any"]) and context.mentioned:
        return [remove(context.mentioned[-1], [], context)]
    if group == "rotate" and length == len(clause):
        return [ParsedStep(type="viewpoint", to=text_of(clause), sure=True)]
    if not length or length == len(clause) or clause[length] in words("be") | {"should", "must", "could"}:
        return []
    verb = {"making": "make", "letting": "let", "having": "have"}.get(
        text_of(clause[:length]), text_of(clause[:length])
    )
    body = _unfronted(parse_clause(clause, command=True)[length:])
    if group == "rotate" and body[0] == "on" and len(body) > 1:  # "zoom in on the baby"
        body = body[1:]
    if verb in {"turn", "switch"} and len(body) > 1 and body[-1] in {"on", "off"}:
        group, verb, body = "state", f"{verb} {body[-1]}", body[:-1]
    if group == "take" and ({"off", "out", "away", "from"} & set(body) or body[0] == "one"):
        group = "remove"
    if group == "write" or (group in {"add", "put"} and _is_writing(body)):
        return write(body, context)
    if (
        body[0] == "that"
        and group in {"change", "cause"}
        and len(body) > 3
        and body[1] in words("definite") | words("indefinite")
    ):
        return statement(parse_clause(body[1:]), context)  # "make that the woman smiles"
    if "by" in body and group in {"change", "cause"} and (steps := _change_by(body, context)):
        return steps
    rule = COMMANDS.get(group)
    if rule is None:
        return []
    body, old = split_instead(body)
    if not body:
        return []
    is_linked = group == "change" and verb not in _CAUSATIVES and _linker_at(body, _LINKERS) is not None
    predicate = group in _PREDICATIVE and not is_linked and not (group == "paint" and body[0] in {"a", "an"})
    pairs = read_objects(body, predicate=predicate)
    if group == "give" and len(pairs) > 1 and not any(tail for _, tail in pairs):
        owner = _give_bare(pairs[0][0], context)
        others = (
            [give(Phrase(words=(Word(owner[0].subject or ""),)), phrase, context) for phrase, _ in pairs[1:]]
            if owner
            else []
        )
        return [*owner, *others]  # "give the lion glasses and a mustache"
    return _replacing([step for phrase, tail in pairs for step in rule(verb, phrase, tail, context)], old, context)


def _unfronted(body: Words) -> Words:
    """Move a prepositional phrase behind the object: "put in the sky some birds", "take off the hat"."""
    if (length := match("instead", body)) and (end := read_phrase(body, length)[1]) < len(body):
        return [*body[end:], *body[:end]]
    if body[0] in {"of", "away", "off", "out"} and len(body) > 1:
        return [*body[1:], body[0]]
    placement = read_placement(body, 0)
    end = placement.end if placement else read_phrase(body, 1)[1] if body[0] in {"to", "from", "for"} else 0
    return [*body[end:], *body[:end]] if end < len(body) else body


def _unlisted_verb(clause: list[Word], context: Discourse) -> Steps:
    """Read a command with an unlisted verb by its form: "scoot the plant to the left", "ruffle the hair"."""
    if len(clause) < 3 or clause[1] not in words("definite"):
        return []
    body = parse_clause(clause, command=True)
    if body[0].tag not in {"VB", "VBP"} or not is_english(str(body[0])):
        return []
    phrase, end = read_phrase(body, 1)
    tail = body[end:]
    if not phrase or phrase.pronoun or clause[0] in words("unsupported"):
        context.mentioned.append(phrase)
        return []
    if {"off", "out", "away"} & set(tail):
        return [_unsure(remove(phrase, tail, context))]
    if find_placement(tail) and "to" in tail:
        return [_unsure(step) for step in move(str(clause[0]), phrase, tail, context)]
    verb = str(clause[0])
    participle = f"{verb}d" if verb.endswith("e") else f"{to_gerund(verb)[:-3]}ed"
    return [ParsedStep(type="action", subject=context.resolve(phrase), to=participle)]


def add_object(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "add a cat on the sofa", "add a hat to the dog", "add a car instead of the bike"."""
    if phrase.words == ("one",) and context.mentioned:
        phrase = replace(context.mentioned[-1], determiner="a", count=None)
    if token_at(tail, 0) == "where" and (old := read_phrase(tail, 1)[0]).words:  # "put a bench where the bin is"
        return [swap(old, phrase, context)]
    if match("in_its_place", tail) and context.mentioned:
        return [swap(context.mentioned[-1], phrase, context)]
    if "style" in phrase.words:
        return [ParsedStep(type="style", to=phrase.name.removesuffix(" style"), sure=True)]
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


def split_instead(tokens: Words) -> tuple[Words, Words]:
    """Split at "instead of": what comes, and what it takes the place of."""
    at = next((at for at in range(len(tokens)) if match("instead", tokens, at)), len(tokens))
    return tokens[:at], tokens[at + match("instead", tokens, at) :] if at < len(tokens) else []


def _replacing(steps: Steps, old: Words, context: Discourse) -> Steps:
    """Turn steps into replacements of what follows "instead of"."""
    if not old or is_activity(old[0]) or len(steps) != 1 or not steps[0].to:
        return steps
    step = steps[0]
    if step.type in {"color", "texture", "shape", "style", "text", "background"}:
        return [replace(step, from_=written_text(old) if step.type == "text" else read_value(old).text)]
    if step.type in {"action", "position_replacement"}:
        return steps
    if len(old) == 1 and known_kind(old[0]) in {"color", "size", "shape"} and step.attributes:
        return [replace(step, from_=str(old[0]))]
    new = Phrase(words=tuple(map(Word, step.to.split())), count=step.count)
    if new.head in words("moods"):
        return [ParsedStep(type="style", from_=read_value(old).text, to=step.to, sure=True)]
    olds = [phrase for phrase in read_phrases(old)[0] if phrase.name != step.to]
    return [swap(phrase, new, context) for phrase in olds] or steps


def put(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read an addition or, with a definite article, a move: "put a cat on the mat", "put the cat on the mat"."""
    is_relative = not phrase.determiner and len(phrase.words) == 1 and phrase.head in words("relatives_of")
    is_move = (phrase.is_definite and phrase.determiner != "all") or is_relative
    if not is_move or match("in_its_place", tail):
        return add_object(verb, phrase, tail, context)
    return relocate(phrase, tail, context)


def relocate(phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read where an object of the image goes: to a background, to a side, or next to something new."""
    subject, placement = context.resolve(phrase), find_placement(tail)
    if list(tail) == ["on", "fire"]:
        return [ParsedStep(type="action", subject=subject, to="on fire", sure=True)]
    if token_at(tail, 0) == "in" and (clothes := read_phrase(tail, 1)[0]).is_worn:
        return [give(phrase, clothes, context, "wear")]
    if placement is None:
        return [ParsedStep(type="position_replacement", subject=subject, to=text_of(tail) or None)]
    anchor, relation = placement.anchor, placement.relation
    if (
        anchor and anchor.head in words("moods") and (phrase.is_image or not anchor.is_scene)
    ):  # "set the scene at night"
        return [ParsedStep(type="style", to=anchor.name, sure=phrase.is_image)]
    if anchor is None:
        return [
            ParsedStep(
                type="position_replacement", subject=subject, to=relation, position=placement.position, sure=True
            )
        ]
    is_attached = phrase.is_worn or phrase.is_part
    if anchor.is_scene and relation in {"in", "on", "next to", "in front of", "center"} and not is_attached:
        return [set_background(anchor, subject)]
    if is_attached and (anchor.is_scene or relation == "on"):
        return [add_placed(phrase, tail, context, sure=False)]
    if anchor.is_definite or relation in SIDES:
        to = text_of(tail[placement.start : placement.end])
        return [ParsedStep(type="position_replacement", subject=subject, to=to, position=placement.position)]
    if relation == "in" and anchor.head not in words("containers"):
        return [set_background(anchor, subject, sure=False)]
    return [add(anchor, subject, sure=False)]


def give_object(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "give the man a hat", "give a hat to the man", "give her jean pants"."""
    if not tail and phrase.owner == "her":
        return [give(Phrase(pronoun="her"), replace(phrase, owner=""), context)]
    if not tail or tail[0].tag == "VBN":
        return _give_bare(phrase, context)
    if tail[0] == "to":
        return [give(read_phrase(tail, 1)[0], phrase, context)]
    gifts, _end = read_phrases(tail)
    if not gifts:
        return say_of(phrase, tail, context)
    if gifts[0].head in _PROPERTIES["color"]:  # "give the door a different color"
        colors = [word for word in gifts[0].words[:-1] if word not in {"different", "new", "other"}]
        return [ParsedStep(type="color", subject=context.resolve(phrase), to=text_of(colors) or None, sure=True)]
    style = [word for word in gifts[0].words if word not in _STYLE_NOUNS]
    has_style = phrase.pronoun in {"it", "this"} or phrase.is_image or phrase.is_scene or phrase.head == "sky"
    if has_style and 0 < len(style) < len(gifts[0].words):
        subject = phrase.name if phrase.head == "sky" else None
        return [ParsedStep(type="style", subject=subject, to=text_of(style), sure=True)]
    value = read_value([token for token in tail if token != "the"])
    if value.kind in {"texture", "color", "shape"}:
        return [describe(phrase, value, context.resolve(phrase))]
    return [give(phrase, gift, context) for gift in gifts]


def _give_bare(both: Phrase, context: Discourse) -> Steps:
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
        return [ParsedStep(type="single_instance_removal", subject=context.mentioned[-1].name, count=count, sure=True)]
    step = remove(phrase, tail, context)
    return [_unsure(step) if verb.startswith("shave") and phrase.head not in words("hair") else step]


def replace_object(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "replace X with Y", "swap X for Y"."""
    at = _linker_at(tail, _LINKERS)
    if at is None:
        return []
    new, after = tail[at + 1 :], read_phrase(tail, at + 1)[0]
    if (
        phrase.words[:1]
        and phrase.words[0] in words("text_words")
        or new[0].quoted
        or (phrase.words and phrase.words[-1].quoted)
    ):
        return [change_text(phrase, tail[:at], new, context)]
    if phrase.head in words("backgrounds") | {"color", "colour"}:
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


def _linker_at(tail: Words, linkers: frozenset[str]) -> int | None:
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
    return [
        ParsedStep(type="position_replacement", subject=subject, from_=before, to=to, position=position, sure=is_sure)
    ]


def paint(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "paint the fence white", "paint a tree on the wall"."""
    value_words = [token for token in tail if token not in {"in", "with", "to", "into"}]
    if phrase.is_image:
        return [ParsedStep(type="style", to=text_of(value_words) or "colorized")]
    value = read_value(value_words)
    if value.kind not in {"color", "texture"} and not phrase.is_definite:
        return [add_placed(phrase, tail, context, sure=False)]
    if value.kind not in {"color", "texture"}:
        value = Value("color", text_of(value_words))
    step = describe(phrase, value, context.resolve(phrase))
    return [replace(step, to=step.to or None)]


def _resize(to: str | None) -> Callable[[str, Phrase, Words, Discourse], Steps]:
    """Return the rule for "enlarge the dog", "reduce the size of the cup", "increase the number of dogs to 3"."""

    def rule(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
        if counted := _counted(phrase):
            count = read_number(tail[1]) if list(tail[:1]) == ["to"] and len(tail) > 1 else None
            if count is not None or to == "large":
                return [replace(add(counted, sure=False), count=count or counted.count)]
            return [_unsure(remove(counted, [], context))]
        if phrase.head in {"brightness", "contrast", "saturation", "exposure", "sharpness", "warmth"}:
            return [ParsedStep(type="style", to=phrase.head)]
        value = read_value([token for token in tail if token != "to"])
        size = to or (value.text if value.kind == "size" else None)
        subject = _owner(phrase, context) if phrase.head == "size" else context.resolve(phrase)
        return [ParsedStep(type="size", subject=subject, to=size, sure=True)]

    return rule


def _counted(phrase: Phrase) -> Phrase | None:
    """Return the apples of "the number of apples"; None for other phrases."""
    if phrase.head not in {"number", "amount"} or "of" not in phrase.words:
        return None
    return Phrase(words=phrase.words[phrase.words.index("of") + 1 :])


def _is_writing(body: Words) -> bool:
    """Tell whether an addition is of text: a quotation, or "the word OPEN"."""
    for at, token in enumerate(body[:4]):
        following = token_at(body, at + 1)
        is_literal = following.quoted or following in words("say") or following.raw.isupper() or following[:1].isdigit()
        if token in words("text_words") and (is_literal or (following == "of" and token_at(body, at + 2).quoted)):
            return True
    return body[0].quoted


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
    return [ParsedStep(type="text", subject=subject, to=written_text(body[:cut]), position=position, sure=True)]


def written_text(tokens: Words) -> str:
    """Return the text itself: the quotation, or the words without what introduces them."""
    if quoted := [token.raw for token in tokens if token.quoted]:
        return " ".join(quoted)
    introduction = (
        words("text_words") | words("say") | ARTICLES | {"to", "of", "some", "that", "with", "be", "out", "it"}
    )
    return text_of(tokens[skip(tokens[:-1], introduction) :], raw=True)


def restyle(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "render the image as a sketch", "blur the background", "apply a watercolor effect"."""
    if verb in {"apply", "use"}:
        style = [word for word in phrase.words if word not in _STYLE_NOUNS]
        return [ParsedStep(type="style", to=text_of(style) or None, sure=True)] if style else []
    if verb == "draw" and not phrase.is_definite:
        return add_object(verb, phrase, tail, context)
    if verb == "blur" and phrase.head in words("backgrounds"):
        return [ParsedStep(type="background", to="blurred")]
    subject = None if phrase.pronoun or phrase.head in words("whole") else context.resolve(phrase)
    to = style_text(tail[skip(tail, {"up", "out", "down"}) :]) or _STYLE_VERBS.get(verb.split()[0], verb)
    if subject and verb in {"darken", "brighten", "lighten", "colorize"}:
        return [ParsedStep(type="color", subject=subject, to=to)]
    return [ParsedStep(type="style", subject=subject, to=to, sure=subject is None)]


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


def empty(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "empty the shelf"."""
    return [ParsedStep(type="object_removal", position=Position("on", context.resolve(phrase)))]


def dress(_: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "dress the man in a kilt", "put on sunglasses"."""
    if phrase.is_worn:
        return [add(phrase)]
    clothes, _end = read_phrases(tail, skip(tail, {"up", "in", "with", "as"}))
    return [give(phrase, item, context, "wear") for item in clothes]


def rotate(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "rotate the car", "zoom in on the face"."""
    subject = None if phrase.head in words("whole") | {"camera", "view"} else context.resolve(phrase)
    return [ParsedStep(type="viewpoint", subject=subject, to=verb if list(tail) in ([], ["on"]) else text_of(tail))]


def _set_state(group: str) -> Callable[[str, Phrase, Words, Discourse], Steps]:
    """Return the rule for "open the door", "slice the banana"."""

    def rule(verb: str, phrase: Phrase, tail: Words, context: Discourse) -> Steps:
        if group == "shape" and tail and tail[-1] in {"out", "off"}:
            return [remove(phrase, tail, context)]
        to = table(f"verbs.{group}")[verb]
        if tail and (list(tail[:2]) == ["in", "half"] or not find_placement(tail)):
            to = f"{to} {text_of(tail)}"
        return [ParsedStep(type=_STATE_TYPES[group], subject=context.resolve(phrase), to=to, sure=group != "parts")]

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
    is_causative = verb in _CAUSATIVES
    is_property = bool(_property_of(phrase))
    linkers = frozenset(
        {"into", "to"}
        if verb == "make" and is_property
        else {"into"}
        if verb == "make"
        else ()
        if is_causative
        else {*_LINKERS, "as"}
    )
    at = _linker_at(tail, linkers | {"in"} if verb in {"turn", "transform"} else linkers)
    if at is not None:
        new = tail[at + 1 :]
        if tail[at] == "into" and all(word in words("materials") for word in new):
            return [describe(phrase, Value("texture", text_of(new)), context.resolve(phrase))]
        return _change_into(phrase, tail[:at], new, context)
    if verb == "turn" and placement and placement.anchor is None:  # "turn her head to the left"
        return [ParsedStep(type="action", subject=context.resolve(phrase), to=f"turned {text_of(tail)}")]
    if verb in {"turn", "switch"} and list(tail[:1]) in (["on"], ["off"]):
        return [ParsedStep(type="action", subject=context.resolve(phrase), to=f"turned {tail[0]}", sure=True)]
    if verb == "get" and list(tail[:1]) in (["out"], ["off"], ["away"]):  # "get the tourists out of the picture"
        return [remove(phrase, [], context)]
    predicate = tail[0 if is_style(tail) else modifiers_end(tail) :]
    if (is_causative or predicate) and (
        steps := say_of(phrase, predicate, context, may_be_new=verb in {"have", "make"})
    ):
        return steps
    return _incomplete(verb, phrase, context)


def _change_by(body: Words, context: Discourse) -> Steps:
    """Read "edit the background by removing the museum and placing a castle"."""
    at = list(body).index(Word("by"))
    if not is_activity(token_at(body, at + 1)):
        return []
    about, _ = read_phrase(body[:at])
    clauses: list[list[Word]] = [[]]
    for token in body[at + 1 :]:
        if token == "and":
            clauses.append([])
        else:
            clauses[-1].append(token)
    steps = [step for clause in clauses if clause for step in read_request(classify(clause), context)]
    if about.head in words("backgrounds") and [step.type for step in steps] == ["object_removal", "object_addition"]:
        return [ParsedStep(type="background", from_=steps[0].subject, to=steps[1].to, sure=True)]
    return steps


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
    names_text = bool(phrase.words) and phrase.words[0] in words("text_words") and not _property_of(phrase)
    states_text = names_text or (is_display and new[0][:1].isdigit())
    if states_text or (phrase.words and phrase.words[-1].quoted):
        return [change_text(phrase, about, new, context, before)]
    if (new[0] in words("say") and len(new) > 1) or (new[0].quoted and in_list("text_holders", phrase.head)):
        return [ParsedStep(type="text", subject=context.resolve(phrase), to=written_text(new), sure=True)]
    new = new[1:] if new[0] == "be" and len(new) > 1 else new
    if match_any(("wear", "hold"), new)[1]:
        return say_of(phrase, new, context)
    step = becomes(phrase, new, context)
    if before and step.from_ in {None, step.subject}:
        return [replace(step, from_=read_value(before).text or None)]
    return [step]


def _incomplete(verb: str, phrase: Phrase, context: Discourse) -> Steps:
    """Read a change without a value: "change the shirt", "make a hill", "make both the pizzas pepperoni"."""
    if phrase.head in {"color", "colour"} | words("text_words") | words("backgrounds") | words("whole"):
        return [becomes(phrase, [], context)]
    if verb not in _CAUSATIVES:
        return [ParsedStep(type=NOT_UNDERSTOOD, subject=context.resolve(phrase))]
    if not phrase.is_definite:
        return [add_placed(phrase, [], context, sure=verb in {"have", "make"})]
    if len(phrase.words) < 2:
        return []
    shorter, last = replace(phrase, words=phrase.words[:-1]), phrase.words[-1]
    if verb == "let":
        return [ParsedStep(type="action", subject=context.resolve(shorter), to=to_activity([last]))]
    return [_unsure(becomes(shorter, [last], context))]


COMMANDS: dict[str, Callable[[str, Phrase, Words, Discourse], Steps]] = {
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


def becomes(phrase: Phrase, new: Words, context: Discourse) -> ParsedStep:
    """Build the step by which an object or a property becomes what the words `new` say."""
    if changed := _property_of(phrase):
        return _change_property(changed, phrase, new, context)
    subject = context.resolve(phrase)
    if not new:
        return ParsedStep(type=NOT_UNDERSTOOD, subject=subject, sure=False)
    is_image = phrase.is_image
    if is_image or phrase.pronoun in {"it", "this", "that"} or (phrase.pronoun and subject is None):
        if step := _image_becomes(phrase, new, subject, context):
            return step
    if phrase.head in words("text_words") and not phrase.pronoun:
        return ParsedStep(type="text", subject=_owner(phrase, context), to=written_text(new))
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
        return ParsedStep(type="style", subject=named, to=style_text(new), sure=True)
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
        return ParsedStep(type="style", to=style_text(new), sure=is_image or subject is None)
    if is_image and phrase.head not in {"painting", "drawing"}:
        return ParsedStep(type="style", to=style_text(new), sure=False)
    return None


def _property_of(phrase: Phrase) -> str:
    """Return the property that a phrase names instead of an object: "the color of the car"."""
    for name, nouns in _PROPERTIES.items():
        if phrase.head in nouns:
            return name if phrase.owner or len(phrase.words) > 1 or name != "surface" else ""
    return ""


def _change_property(name: str, phrase: Phrase, new: Words, context: Discourse) -> ParsedStep:
    scene, _ = read_phrase(new)
    text = text_of(token for token in new if token not in ARTICLES) or None
    match name:
        case "color" | "size":
            return ParsedStep(type=name, subject=_owner(phrase, context), to=read_value(new).text or None, sure=True)
        case "surface":
            kind = "shape" if phrase.head == "shape" else "texture"
            return ParsedStep(type=kind, subject=_owner(phrase, context), to=text, sure=True)
        case "pose":
            return ParsedStep(type="action", subject=_owner(phrase, context), to=text, sure=bool(new))
        case "background":
            return set_background(scene) if scene.words else ParsedStep(type=name, to=text_of(new) or None, sure=True)
        case "view":
            return (
                set_background(scene, sure=False)
                if scene.is_scene
                else ParsedStep(type="viewpoint", to=text, sure=True)
            )
        case _:
            return ParsedStep(type="style", to=style_text(new) or None, sure=True)


def _owner(phrase: Phrase, context: Discourse) -> str | None:
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
        return ParsedStep(type="color", subject=new.without(colors).name, to=" ".join(colors), sure=False)
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
    return ParsedStep(type="text", subject=subject, from_=old, to=written_text(new), sure=True)


def _unsure(step: ParsedStep) -> ParsedStep:
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
        return _replacing(say_of(phrase, tail, context, may_be_new=may_be_new), old, context)
    if list(tail[:2]) in (["has", "to"], ["have", "to"], ["had", "to"]):
        tail = tail[2:]
    if tail[:1] and tail[0] in {"need", "needs"} and (needed := read_phrases(tail, 1)[0]):
        return [give(phrase, item, context) for item in needed]
    tail = tail[skip(tail, words("modals") | _SKIPPED) :]
    if not tail:
        return [] if phrase.is_definite else [add_placed(phrase, [], context, sure=may_be_new)]
    if tail[0] in {"were", "where", "ware"} and read_phrase(tail, 1)[0].is_worn:  # misspelled "wear"
        return [give(phrase, item, context, "wear") for item in read_phrases(tail, 1)[0]]
    if steps := _several_values(phrase, _after_be(tail), context):
        return steps
    weather = _after_be(tail)[:1]
    if phrase.pronoun in {"it", "this"} and set(weather) & {"rain", "snow", "raining", "snowing", "storming"}:
        return [ParsedStep(type="style", to=str(weather[0]), sure=True)]
    if tail[0] in {"not", "never", "without", "n't"} or list(tail[:2]) in (["be", "not"], ["is", "not"]):
        return _negated(phrase, tail, context)
    is_new = not phrase.is_definite and phrase.words and not _is_bare_subject(phrase, tail)
    if is_new and not match_any(lists_in("participles"), _after_be(tail))[1]:
        return _new_object(phrase, tail, context)
    if tail[0] in words("be") and match_any(("wear", "hold"), tail, 1)[1]:
        tail = tail[1:]
    for rule in _PREDICATES:
        steps = rule(phrase, tail, context)
        if steps is not None:
            return steps
    return []


def _several_values(phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read two properties of one object: "longer and blonde"."""
    if "and" not in tail[1:-1]:
        return []
    at = list(tail).index(Word("and"))
    values = [read_value(part) for part in (tail[:at], tail[at + 1 :])]
    kinds = {value.kind for value in values}
    if len(kinds) < 2 or not kinds <= {"color", "size", "shape", "texture", "action"}:
        return []
    return [describe(phrase, value, context.resolve(phrase)) for value in values]


def _is_bare_subject(phrase: Phrase, tail: Words) -> bool:
    """Tell whether an object without an article is in the image: "make daddy a superhero", "make photo brighter"."""
    if phrase.determiner or phrase.count is not None or is_activity(tail[0]) or action_base(tail[0]):
        return False
    return phrase.head in words("whole") or (singular(phrase.head) == phrase.head and not read_placement(tail, 0))


def _after_be(tail: Words) -> Words:
    return tail[skip(tail, words("be") | _SKIPPED) :]


def _negated(phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "make the man not swing but hold the bat": what follows "but" is asked for."""
    subject = context.resolve(phrase)
    if "but" in tail[:-1]:
        at = list(tail).index(Word("but")) + 1
        if action_base(tail[at]) and action_base(tail[1]):
            return [ParsedStep(type="action", subject=subject, to=to_activity(tail[at:]), sure=True)]
        return say_of(phrase, tail[at:], context)
    rest = [token for token in tail if token not in words("not") | words("be")]
    owns = bool(rest) and rest[0] in words("wear") | words("have") | words("hold")
    if tail[0] == "without" or owns:
        gone, _ = read_phrase(rest, int(owns))
        return [ParsedStep(type="object_removal", subject=gone.name, sure=True)] if gone else []
    if rest and rest[0] in {"there", "visible", "present", "in"}:
        return [remove(phrase, [], context)]
    return [ParsedStep(type="action", subject=subject, to=f"not {to_activity(rest)}".strip())]


def comes_to_exist(tail: Words, context: Discourse, *, sure: bool = True) -> Steps:
    """Read what follows "there should be": "a dog on the sofa", "no people"."""
    tail, old = split_instead(tail)
    if old:
        return _replacing(comes_to_exist(tail, context, sure=sure), old, context)
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
    if first.is_definite and (seen := _is_seen_from(first, after, context)):
        return seen
    placement = find_placement(after)
    if first.is_definite and placement and placement.anchor and placement.anchor.head in words("moods"):
        return [ParsedStep(type="style", to=placement.anchor.name, sure=True)]  # "can we see the bridge at night?"
    same = context.in_caption(first.head)
    colors = [word for word in first.adjectives if kind_of(word) == "color"]
    if not sure and len(pairs) == 1 and colors and (same or not context.caption) and not placement:
        return [replace(redescribe(same or first.without(colors), first, None), sure=same is not None)]
    return [
        step
        for phrase, rest in pairs
        for step in (
            [remove(phrase, [], context)]
            if phrase.determiner == "no"
            else add_all(phrase, rest, context, sure=sure or same is None)
        )
    ]


def _new_object(phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    """Read "let a child play nearby", "a dog should be near the sheep"."""
    body = _after_be(tail)
    if list(body[:1]) == ["the"] and set(body[1:2]) & words("backgrounds"):
        return [set_background(phrase)]
    if body and (action_base(body[0]) or is_activity(body[0])):
        first = body[0]
        body = [Word(to_activity([first])).placed(first.index, first.tag, first.dep, first.head), *body[1:]]
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
    return [ParsedStep(type="text", subject=subject, to=written_text(tail[1:]), sure=True)]


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
    shown, _ = read_phrase(tail, 1)
    if not shown or shown.is_definite:
        return None
    if singular(phrase.head) == "window":
        return [set_background(shown, subject, sure=False)]
    return [add(shown, position=Position("on", subject), sure=False)]


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
        return [ParsedStep(type="text", subject=subject, to=written_text(tail[length:]), sure=True)]
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
        return [ParsedStep(type="action", subject=subject, to=text_of(tail))] if is_pose else []
    value = read_value(after)
    named = replace(part, owner=subject or "") if part.owner in POSSESSIVE else part
    if value.kind in {"action", "color", "texture", "shape", "size"}:
        return [describe(named, value, named.name)]
    return [ParsedStep(type="action", subject=subject, to=f"with {text_of(tail)}")]


def _is_seen_from(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "show the car from behind"."""
    if token_at(tail, 0) != "from" or len(tail) < 2:
        return None
    to = text_of(token for token in tail[1:] if token != "the")
    return [ParsedStep(type="viewpoint", subject=context.resolve(phrase), to=to, sure=True)]


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
        return [ParsedStep(type="style", to=style_text(tail[1:]), sure=True)]
    of_image = list(tail[2:4]) in (["it", "was"], ["it", "were"], ["it", "is"], ["it", "'s"], ["if", "it"])
    if is_image and (of_image or ("like" in tail and is_style(tail))):
        return [ParsedStep(type="style", to=style_text(tail[1:]), sure=True)]
    if tail[1] in {"better", "good", "nice", "great", "cool"} and list(tail[2:3]) == ["in"]:
        return [becomes(phrase, tail[3:], context)]
    start = skip(tail, {"like", "as", "if", "though"}, 1)
    if phrase.pronoun in {"it", "this"} and start > 1 and context.resolve(phrase) is None:
        return [ParsedStep(type="style", to=style_text(tail[start:]))]  # "let it look like the 1980s"
    if token_at(tail, start) in words("pronouns.self"):  # "make it look like we are on the moon"
        return statement(parse_clause(tail[start:]), context)
    start = skip(tail, {"like", "as", "if", "though", "it", "they", "he", "she", "had", "been", *words("be")}, 1)
    return [_unsure(step) for step in _is_what(phrase, tail[start:], context)]


def _seems(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "show the girl as if she were underwater", "make the wall like it is made of ice"."""
    if list(tail[:2]) not in _AS_IF:
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
        return [ParsedStep(type="action", subject=subject, to=text_of(tail), sure=True)]
    if steps := _is_placed(phrase, tail, context):
        return steps
    if tail[0] in {"from", "seen"}:
        return _is_seen_from(phrase, tail[skip(tail, {"seen"}) :], context) or []
    if (shown := _shows(phrase, tail, context)) is not None:
        return shown
    if is_activity(tail[0]) and (known_kind(tail[0]) or "action") == "action":
        return _acts(phrase, tail, context) or []
    return [becomes(phrase, tail, context)]


def _is_placed(phrase: Phrase, tail: Words, context: Discourse) -> Steps:
    placement = read_placement(tail, 0)
    if tail[0] in {"outside", "outdoors", "indoors", "underwater"}:
        return [ParsedStep(type="background", subject=context.resolve(phrase), to=str(tail[0]), sure=True)]
    if not placement or read_value(tail).kind == "texture" or tail[0] in {"with", "out"}:
        return []
    anchor = placement.anchor or Phrase()
    if phrase.head in words("backgrounds"):
        return [set_background(anchor)]
    if anchor.head in words("moods") and not anchor.is_scene:  # "the bridge at night"
        return [ParsedStep(type="style", to=anchor.name, sure=True)]
    if tail[0] == "in" and read_value(tail[1:]).kind in {"color", "texture"}:  # "this dress in blue"
        return [becomes(phrase, tail[1:], context)]
    if tail[0] == "in" and anchor.is_worn:
        return [give(phrase, anchor, context, "wear")]
    if tail[0] == "in" and is_style(tail):
        return [ParsedStep(type="style", to=style_text(tail), sure=True)]
    return relocate(phrase, tail, context)


def _located(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "the man in a suit", "the bridge at night"."""
    return _is_placed(phrase, tail, context) or None if read_placement(tail, 0) else None


def read_fragment(clause: list[Word], context: Discourse) -> Steps:
    """Read a request without a verb: "sunglasses on the dog", "coffee to tea", "door open", "a crown for the king"."""
    parsed = parse_clause(clause)
    phrase, end = read_phrase(parsed, predicate=True)
    tail = parsed[end:]
    if not phrase.words or not tail:
        return []
    known = replace(phrase, determiner="the")
    if tail[0] == "to" and len(tail) > 1:
        return [_unsure(becomes(known, tail[1:], context))]
    if tail[0] == "for" and (recipient := read_phrase(tail, 1)[0]):
        return [_unsure(add_to(phrase, recipient, context))]
    if tail[0] == "without" or (list(tail) == ["off"] and phrase.is_worn):
        return [_unsure(remove(read_phrase(tail, 1)[0] if tail[1:] else known, [], context))]
    if read_value(tail).kind not in {"object", "other", "style"}:
        return [_unsure(step) for step in say_of(known, tail, context)]
    phrase, end = read_phrase(parsed)
    is_placed = read_placement(parsed, end) is not None and parsed[end] not in {"with", "from"}
    return [add_placed(phrase, parsed[end:], context, sure=False)] if is_placed else []


def _passive(group: str, phrase: Phrase, tail: Words, length: int, context: Discourse) -> Steps:
    """Read "be removed", "be replaced by a cat": the command with the phrase as its object."""
    after, subject = tail[length:], context.resolve(phrase)
    if group in {"paint", "change"} and after and after[0] in {"of", "from", "out", "by"}:
        return [describe(phrase, read_value(tail), subject)]
    if tail[0] in {"turned", "switched"} and after and after[0] in {"on", "off"}:
        return [ParsedStep(type="action", subject=subject, to=f"turned {after[0]}", sure=True)]
    if group == "change":
        return [becomes(phrase, after[skip(after[:1], {"to", "into", "for"}) :], context)]
    if group == "rotate":
        return [ParsedStep(type="viewpoint", subject=subject, to=text_of(tail))]
    if group == "write":
        return write([*phrase.words, *after], context)
    if group == "paint" and not after:
        return [ParsedStep(type="color", subject=subject, to=text_of(tail), sure=True)]
    return COMMANDS["put" if group == "add" else group](str(tail[0]), phrase, after, context)


def _acts(phrase: Phrase, tail: Words, context: Discourse) -> Steps | None:
    """Read "sleep", "jump over a ball", "face the camera"."""
    subject, base = context.resolve(phrase), action_base(tail[0])
    if (base == "face" and _VIEWED & set(tail)) or (base == "turn" and list(tail[1:2]) in (["around"], ["away"])):
        to = " ".join([to_activity(tail[:1]), *(token for token in tail[1:] if token != "the")])
        return [ParsedStep(type="viewpoint", subject=subject, to=to, sure=base == "face")]
    is_verb = (
        len(tail) > 1
        and tail[0].tag in {"VB", "VBP"}
        and tail[0].dep in {"ccomp", "xcomp", "ROOT"}
        and not known_kind(tail[0])
    )
    if base or is_activity(tail[0]) or is_verb:
        to = to_activity([token for token in tail if token not in {"now", "instead", "also"}])
        return [ParsedStep(type="action", subject=subject, to=to, sure=True)]
    step = becomes(phrase, tail, context)
    is_bare = read_value(tail).kind == "object" and not phrase.pronoun and tail[0] not in words("indefinite")
    return [_unsure(step) if is_bare else step]


_PREDICATES: tuple[Callable[[Phrase, Words, Discourse], Steps | None], ...] = (
    _says, _shows, _owns, _is_seen_from, _turns_into, _disappears, _is, _located, _looks, _seems, _acts,
)  # fmt: skip
"""Rules for what is said of an object, in order; None means that a rule does not apply."""
