"""From requests to steps: commands, wishes, questions and statements."""

from __future__ import annotations

from dataclasses import replace

from editgauge._util.text import to_gerund
from editgauge.instructions._commands import CAUSATIVES, COMMANDS, LINKERS, give_bare, is_writing, linker_at, move
from editgauge.instructions._english import is_english
from editgauge.instructions._lexicon import (
    adjective_kinds,
    is_activity,
    lists_in,
    match,
    match_any,
    table,
    words,
)
from editgauge.instructions._parser import parse_clause
from editgauge.instructions._phrases import (
    Phrase,
    Words,
    find_placement,
    read_objects,
    read_phrase,
    read_placement,
)
from editgauge.instructions._predicates import (
    AS_IF,
    Steps,
    becomes,
    comes_to_exist,
    replacing,
    say_of,
    split_instead,
    statement,
    style_text,
    unsure,
    write,
)
from editgauge.instructions._requests import ClauseRequest, classify
from editgauge.instructions._steps import (
    Discourse,
    add_placed,
    add_to,
    build_step,
    give,
    read_value,
    remove,
)
from editgauge.instructions._words import Word, skip, text_of, token_at

_PREDICATIVE = frozenset({"cause", "change", "paint", "enlarge", "reduce", "resize", "give"})
"""Groups of verbs after which something can be said of the object: "paint the door green"."""


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
    if list(clause[:2]) in AS_IF[:2] and len(clause) > 2:
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
    steps = statement(parsed, context) or (replacing(comes_to_exist(new, context), old, context) if old else [])
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
    return steps or [build_step("style", to=style_text(clause), sure=True)]


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
    remainder = [token for token in tail[end:] if token != ","]
    steps = read_request(classify(remainder), context) if old and remainder else []
    steps = steps or (comes_to_exist(parse_clause(remainder), context) if remainder else [])
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
    if list(clause[length:]) in ([], ["any"]):
        return _without_object(group, clause, context)
    if not length or clause[length] in words("be") | {"should", "must", "could"}:
        return []
    verb = text_of(clause[:length])
    verb = {"making": "make", "letting": "let", "having": "have"}.get(verb, verb)
    body: Words = parse_clause(clause, command=True)[length:]
    is_dative = group == "give" and body[0] == "me"
    group, verb, body = _regrouped(group, verb, body if is_dative else _unfronted(body))
    if group == "write" or (group in {"add", "put"} and is_writing(body)):
        return write(body, context)
    articles = words("definite") | words("indefinite")
    if group in {"change", "cause"} and body[0] == "that" and len(body) > 3 and body[1] in articles:
        return statement(parse_clause(body[1:]), context)  # "make that the woman smiles"
    if "by" in body and group in {"change", "cause"} and (steps := _change_by(body, context)):
        return steps
    rule = COMMANDS.get(group)
    if rule is None:
        return []
    body, old = split_instead(body)
    if not body:
        return []
    is_linked = group == "change" and verb not in CAUSATIVES and linker_at(body, LINKERS) is not None
    predicate = group in _PREDICATIVE and not is_linked and not (group == "paint" and body[0] in {"a", "an"})
    pairs = read_objects(body, predicate=predicate)
    if group == "give" and len(pairs) > 1 and not any(tail for _, tail in pairs):
        return _give_several([phrase for phrase, _ in pairs], context)
    return replacing([step for phrase, tail in pairs for step in rule(verb, phrase, tail, context)], old, context)


def _without_object(group: str, clause: list[Word], context: Discourse) -> Steps:
    """Read a command that names nothing: "there is a bee, remove", "zoom out"."""
    if group == "remove" and context.mentioned:
        return [remove(context.mentioned[-1], [], context)]
    return [build_step("viewpoint", to=text_of(clause), sure=True)] if group == "rotate" else []


def _regrouped(group: str, verb: str, body: Words) -> tuple[str, str, Words]:
    """Find the group of a verb by what follows it: "turn the lamp | off", "take the hat | off", "zoom in | on"."""
    if group == "rotate" and body[0] == "on" and len(body) > 1:
        return group, verb, body[1:]
    if verb in {"turn", "switch"} and len(body) > 1 and body[-1] in {"on", "off"}:
        return "state", f"{verb} {body[-1]}", body[:-1]
    if group == "take" and ({"off", "out", "away", "from"} & set(body) or body[0] == "one"):
        return "remove", verb, body
    return group, verb, body


def _give_several(phrases: list[Phrase], context: Discourse) -> Steps:
    """Read "give the lion glasses and a mustache"."""
    first = give_bare(phrases[0], context)
    if not first:
        return []
    owner = Phrase(words=(Word(first[0].subject or ""),))
    return [*first, *(give(owner, phrase, context) for phrase in phrases[1:])]


def _unfronted(body: Words) -> Words:
    """Move a prepositional phrase behind the object: "put in the sky some birds", "take off the hat"."""
    if (length := match("instead", body)) and (end := read_phrase(body, length)[1]) < len(body):
        return [*body[end:], *body[:end]]
    if body[0] == "me" and token_at(body, 1) in words("definite") | words("indefinite"):  # "draw me a cat"
        return body[1:]
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
        return [unsure(remove(phrase, tail, context))]
    if find_placement(tail) and "to" in tail:
        return [unsure(step) for step in move(str(clause[0]), phrase, tail, context)]
    verb = str(clause[0])
    participle = f"{verb}d" if verb.endswith("e") else f"{to_gerund(verb)[:-3]}ed"
    return [build_step("action", context.resolve(phrase), participle)]


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
        return [build_step("background", from_=steps[0].subject, to=steps[1].to, sure=True)]
    return steps


def read_fragment(clause: list[Word], context: Discourse) -> Steps:
    """Read a request without a verb: "sunglasses on the dog", "coffee to tea", "door open", "a crown for the king"."""
    parsed = parse_clause(clause)
    phrase, end = read_phrase(parsed, predicate=True)
    tail = parsed[end:]
    if not phrase.words or not tail:
        return []
    named = replace(phrase, determiner="the")
    if tail[0] == "to" and len(tail) > 1:
        return [unsure(becomes(named, tail[1:], context))]
    if tail[0] == "for" and (recipient := read_phrase(tail, 1)[0]):
        return [unsure(add_to(phrase, recipient, context))]
    if tail[0] == "without" or (list(tail) == ["off"] and phrase.is_worn):
        return [unsure(remove(read_phrase(tail, 1)[0] if tail[1:] else named, [], context))]
    if read_value(tail).kind not in {"object", "other", "style"}:
        return [unsure(step) for step in say_of(named, tail, context)]
    phrase, end = read_phrase(parsed)
    is_placed = read_placement(parsed, end) is not None and parsed[end] not in {"with", "from"}
    return [add_placed(phrase, parsed[end:], context, sure=False)] if is_placed else []
