"""The grammar: one clause of an instruction, read into the steps it asks for.

A clause is a command ("remove the dog"), a cause ("let the dog sleep", "have there be a dog"), or a question or
statement about how the picture should be ("could the dog be black?", "the dog is now black"). `commands.py` and
`statements.py` have the forms of each; `steps.py` and `becoming.py` say which edit type a form is.
"""

from __future__ import annotations

from dataclasses import replace

from editgauge.instructions.becoming import becomes, style_text, text_becomes, unsure, written
from editgauge.instructions.commands import command, instead_of
from editgauge.instructions.lexicon import adjective_kinds, is_ing_verb, lists_in, match, match_any, singular, words
from editgauge.instructions.places import find_place, read_place
from editgauge.instructions.statements import comes_to_be, said_of, statement
from editgauge.instructions.steps import UNREAD, EarlierThings, Tokens, adding, becoming, placed, removal, swap
from editgauge.instructions.things import Thing, read_amount, read_number, read_thing, read_things
from editgauge.instructions.tokens import Token, skip, token_at
from editgauge.instructions.values import Value, doing, read_value
from editgauge.types import Step

CAUSES = frozenset({"let", "have", "make", "get", "allow", "cause", "show", "force", "keep", "depict"})
NOUN_LIKE = frozenset(
    {"fill", "write", "paint", "put", "add", "shape", "surface", "reduce", "rotate", "change", "take"}
)
"""Effects with verbs that are nouns as well: "the paint should be red"."""


def read_clause(clause: Tokens, context: EarlierThings) -> list[Step]:
    """The steps that a clause asks for; empty when the grammar has no form for it."""
    steps = _read(list(clause), context)
    for step in steps:
        comes = step.type in {"object_addition", "positional_addition", "object_replacement"}
        name = step.to if comes else step.subject
        if name:
            context.named.append(Thing(words=tuple(map(Token, name.split()))))
    return steps


def _read(clause: list[Token], context: EarlierThings) -> list[Step]:
    wish = match("wishes", clause)
    if wish:
        return _wished(clause[wish:], context)
    there = _existential(clause)
    if there is not None:
        return comes_to_be(there, context)
    if list(clause[:2]) in (["as", "if"], ["as", "though"]) and len(clause) > 2:
        return [Step(type="style", to=style_text(clause), sure=True)]
    some = clause[0] == "more" and len(clause) > 1 and clause[1] not in adjective_kinds()
    if some or (clause[0] in {"no", "less", "fewer"} and len(clause) > 1):
        return comes_to_be(clause, context)
    instead = match("instead", clause)
    if instead:
        return _in_its_stead(clause[instead:], context)
    if clause[0] in words("modals") - {"to", "need", "needs"} and len(clause) > 2:
        return statement(clause[1:], context, question=True)
    is_statement = any(token in {"should", "is", "are", "must", "could"} for token in clause[1:4])
    return _commanded(clause, context, is_statement) or statement(clause, context)


def _in_its_stead(rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "instead of the clock, a bell should be there"."""
    old, end = read_thing(rest)
    steps = _read([token for token in rest[end:] if token != ","], context) if old and end < len(rest) else []
    comes = len(steps) == 1 and steps[0].to and steps[0].type in {"object_addition", "positional_addition"}
    if not comes:
        return steps
    before = context.resolve(old)
    return [
        replace(steps[0], type="object_replacement", subject=before, from_=before, position=None, sure=bool(before))
    ]


def _wished(rest: list[Token], context: EarlierThings) -> list[Step]:
    """After "what if", "I want", "can we have": a statement, or a thing alone."""
    rest = rest[skip(rest, {"that", "to", "if", "have", "see"}) :]
    if not rest:
        return []
    there = _existential(rest)
    if there is not None:
        return comes_to_be(there, context)
    steps = _commanded(rest, context, rest[0] in {"set", "top", "light", "park", "plant", "line"})
    return steps or statement(rest, context) or comes_to_be(rest, context, sure=False)


def _existential(clause: Tokens) -> list[Token] | None:
    """What follows "let there be", "there should be"; None when the clause is of another form."""
    at = skip(clause, {"let", "have", "make", "what", "if", "could", "can", "should"})
    if token_at(clause, at) != "there":
        return None
    after = skip(clause, words("modals") | words("be") | {"now", "only", "just", "also"}, at + 1)
    return list(clause[after:])


def _commanded(clause: list[Token], context: EarlierThings, is_statement: bool) -> list[Step]:
    """The clause as a command, when it begins with the verb of one."""
    name, length = match_any(lists_in("verbs"), clause)
    effect, rest = name.removeprefix("verbs."), clause[length:]
    if effect == "rotate" and not rest:
        return [Step(type="viewpoint", to=" ".join(clause), sure=True)]
    if not length or not rest or (effect in NOUN_LIKE and is_statement):
        return []
    switched = clause[0] in {"turn", "switch"} and length == 1 and len(rest) > 1 and rest[-1] in {"on", "off"}
    if switched:  # "turn the lamp off"
        return command("state", [*clause[:1], rest[-1]], rest[:-1], context)
    if effect in {"cause", "change"}:
        verb = str(clause[0])
        return _changed({"making": "make", "letting": "let", "having": "have"}.get(verb, verb), rest, context)
    return command(effect, clause[:length], rest, context)


def _changed(verb: str, rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "change X to Y", "make X Y", "let X do Y"."""
    if rest[:2] == ["it", "so"] and len(rest) > 3:
        return statement([token for token in rest[2:] if token != "that"], context)
    how = next((at for at in range(len(rest) - 1) if rest[at] == "by" and is_ing_verb(rest[at + 1])), None)
    if how is not None:
        return _by_doing(rest, how, context)
    swapped = instead_of(rest, context) if verb in CAUSES | {"use"} else []
    if swapped and rest[0] == "it":
        return [swap(_after_instead(rest), read_thing(rest, 1)[0], context)]
    into = _into(rest, verb)
    if into is not None:
        return _turned(rest, into, context)
    things, end = read_things(rest, predicate=True)
    if not things:
        return []
    if swapped and not things[0].is_definite:
        return swapped
    end = _predicate_start(rest, end, verb)
    if verb == "get" and rest[end : end + 1] == ["out"]:  # "get the tourists out of the picture"
        return [removal(thing, [], context) for thing in things]
    if verb in CAUSES or end < len(rest):
        steps = said_of(things, rest[end:], context, new_ones=verb in {"have", "make"})
        if steps:
            return steps
    return _unfinished(things, verb, context)


def _after_instead(rest: Tokens) -> Thing:
    at = next(place for place in range(len(rest)) if match("instead", rest, place))
    return read_thing(rest, at + match("instead", rest, at))[0]


def _predicate_start(rest: Tokens, end: int, verb: str) -> int:
    """Where the predicate begins after what tells which thing is meant: "the paper on the wall | a mirror"."""
    place = find_place(rest, end)
    if place is None or verb not in {"make", "turn", "let", "have", "paint"}:
        return end
    tells_which = place.start == end or (is_ing_verb(rest[end]) and place.start == end + 1)
    more = place.end < len(rest) and rest[place.end] not in {"and", ","}
    return place.end if tells_which and more else end


def _by_doing(rest: list[Token], at: int, context: EarlierThings) -> list[Step]:
    """ "edit the background by removing the museum and placing a castle"."""
    about, _ = read_thing(rest[:at])
    steps: list[Step] = []
    clause: list[Token] = []
    for token in [*rest[at + 1 :], Token("and")]:
        if token != "and":
            clause.append(token)
            continue
        steps += _read(clause, context) if clause else []
        clause = []
    comes_and_goes = [step.type for step in steps] == ["object_removal", "object_addition"]
    if about.head in words("backgrounds") and comes_and_goes:
        return [Step(type="background", from_=steps[0].subject, to=steps[1].to, sure=True)]
    return steps


def _into(rest: Tokens, verb: str) -> int | None:
    """Where "to", "into" or "for" stands between what changes and what it becomes."""
    if verb in CAUSES - {"make"}:
        return None
    joints = (
        {"into"}
        | ({"to", "for", "as"} if verb != "make" else set())
        | ({"in", "with"} if verb in {"turn", "transform"} else set())
    )
    for at in range(1, len(rest) - 1):
        if rest[at] not in joints:
            continue
        place = read_place(rest, at)
        is_side = rest[at] == "to" and place is not None and place.anchor is not None
        later = rest[at] in {"in", "with", "as", "for"} and any(token in {"to", "into"} for token in rest[at + 1 :])
        colored = rest[at] in {"in", "with"} and rest[at - 1] in words("colors")
        if not (is_side or later or colored):
            return at
    return None


def _turned(rest: list[Token], at: int, context: EarlierThings) -> list[Step]:
    """ "change X from A to B"."""
    about, new = rest[:at], rest[at + 1 :]
    before: list[Token] = []
    if "from" in about[1:]:
        cut = list(about).index(Token("from"))
        about, before = about[:cut], about[cut + 1 :]
    things, _ = read_things(about)
    if not things:
        return []
    first = things[0]
    if (amount := read_amount(about)) and (count := read_number(new[0])):
        return [replace(adding(amount[0], sure=False), count=count)]
    if set(about[:3]) & words("text_words") or (set(about) & words("text_words") and new[0].quoted):
        return [text_becomes([*about, *([Token("from"), *before] if before else [])], new, context)]
    says = new[0] in words("say") and len(new) > 1
    if says or (new[0].quoted and singular(first.head) in words("text_holders")):
        return [Step(type="text", subject=context.resolve(first), to=written(new), sure=True)]
    new = new[1:] if new[0] == "be" and len(new) > 1 else new
    if rest[at] == "into" and len(things) == 1 and all(word in words("materials") for word in new):
        return [becoming(first, Value("texture", " ".join(new)), context.resolve(first))]
    steps = [becomes(thing, new, context) for thing in things]
    if before and len(steps) == 1 and steps[0].from_ in {None, steps[0].subject}:
        return [replace(steps[0], from_=read_value(before).text or None)]
    return steps


def _unfinished(things: list[Thing], verb: str, context: EarlierThings) -> list[Step]:
    """Nothing is said of the thing: "change the shirt", "make a hill", "make both the pizzas pepperoni"."""
    first = things[0]
    if first.head in {"color", "colour"} | words("text_words") | words("backgrounds") | words("whole"):
        return [becomes(first, [], context)]
    if verb not in CAUSES:
        return [Step(type=UNREAD, subject=context.resolve(each)) for each in things]
    if not first.is_definite:
        return [placed(each, [], context, sure=verb in {"have", "make"}) for each in things]
    if len(first.words) < 2:
        return []
    shorter, last = replace(first, words=first.words[:-1]), first.words[-1]
    if verb == "let":
        return [Step(type="action", subject=context.resolve(shorter), to=doing([last]))]
    return [unsure(becomes(shorter, [last], context))]
