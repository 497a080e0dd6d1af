"""Captions: what a target caption asks for, alone or compared with the source caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from editgauge.instructions._lexicon import (
    action_base,
    adjective_kinds,
    is_activity,
    known_kind,
    lists_in,
    match,
    match_any,
    mentions,
    singular,
    words,
)
from editgauge.instructions._parser import parse_clause
from editgauge.instructions._phrases import (
    SIDES,
    Phrase,
    Words,
    find_placement,
    read_number,
    read_phrase,
    read_placement,
)
from editgauge.instructions._steps import (
    NOT_UNDERSTOOD,
    add,
    alter,
    build_step,
    is_mood,
    is_style,
    read_value,
    replace_by,
    set_background,
    size_or_text,
    to_activity,
)
from editgauge.instructions._words import MARKS, Word, skip, text_of, tokenize
from editgauge.types import ParsedStep, Position

_ARTICLES = frozenset({"a", "an", "the", "some"})
_FRAMES = frozenset({"photo", "image", "picture", "photograph", "close-up", "closeup", "shot", "view", "pic"})
_PARTICLES = frozenset({"down", "up", "over", "half", "in", "out", "off"})
_MIN_SIMILARITY = 0.34
"""Captions that share less than this ratio of words are compared object by object."""
_CLEAR_SIMILARITY = 0.6
"""From this ratio on, a single difference is sure."""
_MAX_DIFFERENCES = 3
_FUNCTION_WORDS = frozenset(
    {
        "and",
        "that",
        "which",
        "who",
        "there",
        "this",
        "his",
        "her",
        "its",
        "their",
        "it",
        "just",
        "now",
        "also",
        "very",
        "really",
    }
)
_LEADS = frozenset({"as", "while", "including", "featuring", "accompanied", "surrounded", "adorned", "lined", "filled"})
_LACKS = frozenset({"minus", "without", "no"})
_EMPTY = frozenset({"empty", "deserted", "vacant"})
_LOCATIVES = frozenset({"in", "on", "at", "through", "near", "during"})
_OBJECT_TYPES = frozenset({"object_addition", "object_removal", "object_replacement", "alter_parts"})
_DESCRIPTIONS = frozenset({"color", "texture", "shape", "size", "action"})


def is_caption(clause: Sequence[Word]) -> bool:
    """Tell whether a text describes an image instead of asking for a change."""
    if len(without_frame(clause)) < len(clause):
        return True
    if mentions("instead", clause):
        return False
    if match_any((*lists_in("verbs"), "wishes", "modals"), clause)[1] and clause[0] not in _ARTICLES:
        is_noun = clause[0] in {"park", "plant", "line", "color", "letter", "box", "mirror"}
        return (
            is_noun
            and match_any(lists_in("verbs"), clause)[1] == 1
            and list(clause[1:2]) in (["with"], ["in"], ["on"], ["at"])
        )
    if clause[0] in words("definite") | words("pronouns") | {"there", "what", "no", "less", "fewer", "instead", "as"}:
        return False
    if any(token in {"should", "could", "must", "would", "can", "need", "needs", "now"} for token in clause):
        return False
    parsed = parse_clause(clause)
    phrase, end = read_phrase(parsed)
    if end < len(parsed) and parsed[end] in words("be") and match_any(lists_in("participles"), parsed, end + 1)[1]:
        return False  # "a kite is added"
    if not phrase.words or (end < len(parsed) and parsed[end] in words("definite") | words("indefinite")):
        return False
    placement = read_placement(parsed, end)
    return not (placement and placement.anchor and placement.anchor.is_definite and placement.end >= len(parsed))


def without_frame(tokens: Sequence[Word]) -> list[Word]:
    """Drop "a photo of"."""
    at = 1 if tokens and tokens[0] in _ARTICLES else 0
    framed = len(tokens) > at + 1 and tokens[at] in _FRAMES and tokens[at + 1] == "of"
    return list(tokens[at + 2 :] if framed else tokens)


def caption_objects(caption: str | None) -> list[Phrase]:
    """Return the objects that a caption names, the main one first."""
    if not caption or not caption.strip():
        return []
    tokens = parse_clause(without_frame(tokenize(caption)))
    phrases, at = [], 0
    while at < len(tokens):
        phrase, end = read_phrase(tokens, at, predicate=True)
        if phrase.words and not is_activity(phrase.head) and action_base(phrase.words[0]) is None:
            phrases.append(replace(phrase, owner=""))
        at = max(end, at + 1)
    return phrases


def read_caption(tokens: Sequence[Word]) -> ParsedStep:
    """Return the likely edit of a target caption when the source is unknown."""
    first = next((at for at, token in enumerate(tokens) if token in {".", "!", "?"}), len(tokens))
    body = parse_clause(without_frame(tokens[:first]))
    more = [token for token in tokens[first:] if token not in MARKS]
    medium, depicted = _medium(tokens[:first])
    if medium and not set(medium.split()) & _FRAMES:
        return build_step("style", text_of(depicted), medium)
    phrase, end = read_phrase(body, predicate=True)
    if not phrase.words:
        return ParsedStep(type=NOT_UNDERSTOOD)
    if more and is_mood(more[-1:]):
        return build_step("style", phrase.name, str(more[-1]))
    tail = body[end:]
    tail = tail[skip(tail, words("be") | {",", "that", "which", "who"}) :]
    described, plain = _described(phrase)
    predicate = read_predicate(plain, tail) if tail else None
    if predicate and (predicate.sure or described is None):
        return predicate
    if described:
        return described
    return _caption_object(phrase, body, tail)


def _caption_object(phrase: Phrase, body: Words, tail: Words) -> ParsedStep:
    if is_style(body) and not tail:
        return build_step("style", to=phrase.name)
    unlisted = [str(word) for word in phrase.front[:-1] if _is_unlisted(word)]
    if unlisted:
        return build_step(NOT_UNDERSTOOD, phrase.without(unlisted).name, " ".join(unlisted))
    if phrase.count and phrase.count > 1:
        return build_step("object_addition", phrase.name, phrase.name, count=phrase.count, sure=True)
    return build_step("object_replacement", to=phrase.name, attributes=phrase.adjectives)


def _is_unlisted(word: str) -> bool:
    """Tell whether an adjective says nothing that an edit type changes."""
    return known_kind(word) == "other" or word in words("moods") or word.endswith(("ful", "ous", "less", "ish"))


def _described(phrase: Phrase) -> tuple[ParsedStep | None, Phrase]:
    """Return what the words before the noun ask for, and the phrase without them: "a sitting dog"."""
    for cut in range(1, len(phrase.words)):
        front, noun = phrase.words[:cut], phrase.words[cut:]
        is_inside = noun[0] in _PARTICLES or match("compounds", phrase.words[cut - 1 :]) == 2
        if is_inside or noun[0] in adjective_kinds() or is_activity(noun[0]):
            continue
        kind = kind_of_words(front)
        plain = replace(phrase, words=noun)
        if kind in _DESCRIPTIONS | {"alter_parts"}:
            text = size_or_text(front) if kind == "size" else " ".join(front)
            sure = kind == "action" and is_activity(front[-1])
            return build_step(kind, plain.name, text, count=phrase.count, sure=sure), plain
    return None, phrase


def kind_of_words(described: Sequence[Word]) -> str | None:
    """Return the edit type that a description of several words belongs to, or None."""
    text = " ".join(described)
    if text in words("states"):
        return "action"
    if text in words("shapes"):
        return "shape"
    kinds = ["action" if is_activity(word) else known_kind(word) for word in described if word not in _PARTICLES]
    if not kinds or None in kinds:
        return None
    return next((kind for kind in kinds if kind not in {"other", "age"}), None)


def read_predicate(phrase: Phrase, tail: Words) -> ParsedStep | None:
    """Return what the words after the noun of a caption ask for, or None."""
    name, length = match_any(("wear", "hold"), tail)
    item = read_phrase(tail, length)[0] if length and len(tail) > length else Phrase()
    if item.words and not (name == "hold" and item.owner):
        return add(item, phrase.name, Position("on", phrase.name) if name == "wear" else None)
    text = " ".join(token for token in tail if token not in _ARTICLES)
    if text in words("states"):
        return build_step("action", phrase.name, text, sure=True)
    if (value := read_value(tail)).kind == "texture":
        return build_step("texture", phrase.name, value.text, sure=True)
    if tail[0] in words("say") and len(tail) > 1:
        return build_step("text", phrase.name, text_of(tail[1:], raw=True), sure=True)
    if action_base(tail[0]) == "face":
        return build_step("viewpoint", phrase.name, text, sure=True)
    if tail[0] == "from" and len(tail) > 1:
        return build_step("viewpoint", phrase.name, text.removeprefix("from "), sure=True)
    activity = next((at for at, token in enumerate(tail) if is_activity(token)), None)
    if tail[0] == "and" and activity is not None:
        pair = [*phrase.words, "and", *(token for token in tail[1:activity] if token not in _ARTICLES)]
        return build_step("action", " ".join(pair), " ".join(tail[activity:]), sure=True)
    if tail[0] in words("shapes") or list(tail[1:3]) in (["in", "half"], ["in", "pieces"]):
        return build_step("shape", phrase.name, " ".join(tail), sure=True)
    if is_activity(tail[0]) or action_base(tail[0]):
        is_ride = action_base(tail[0]) == "ride"  # the rider may be what is added
        return build_step("action", phrase.name, to_activity(tail), sure=not is_ride)
    return _with_item(phrase, tail) if tail[0] == "with" else _located(phrase, tail)


def _with_item(phrase: Phrase, tail: Words) -> ParsedStep | None:
    item, _ = read_phrase(tail, 1)
    if {"crossed", "closed", "open", "raised"} & set(item.words[:-1]):
        return build_step("action", phrase.name, " ".join(["with", *item.words]), sure=True)
    if not item.words:
        return None
    return alter(phrase.name, item) if item.head in words("parts") else add(item, phrase.name, sure=False)


def _located(phrase: Phrase, tail: Words) -> ParsedStep | None:
    placement = read_placement(tail, 0)
    if not placement or not placement.anchor:
        return None
    anchor, preposition = placement.anchor, placement.preposition
    if anchor.head in words("moods") and not anchor.is_scene:
        return build_step("style", phrase.name, anchor.name, sure=False)
    if "pose" in tail:
        return build_step("action", phrase.name, " ".join(tail))
    if preposition == "in" and tail[-1] in words("worn"):
        clothes = Phrase(words=tuple(word for word in tail[1:] if word not in _ARTICLES))
        return add(clothes, phrase.name, Position("on", phrase.name))
    if placement.relation in SIDES and preposition != "over":
        is_sure = placement.relation in {"left", "right"}
        to = placement.relation
        return build_step("position_replacement", phrase.name, to, position=placement.position, sure=is_sure)
    if preposition in {"in", "on", "at", "inside"} and {"year", "style"}.isdisjoint(anchor.words):
        if anchor.is_scene or not anchor.determiner or preposition == "in":
            return set_background(anchor, phrase.name, sure=False)
        return None
    if placement.relation == "next to":
        return build_step("object_addition", phrase.name, anchor.name, attributes=anchor.adjectives)
    return None


def compare_captions(source: str, target: str) -> list[ParsedStep]:
    """Return the steps from one caption to the other; empty if they do not differ in a known way.

    >>> compare_captions("a cat sitting on a chair", "a dog sitting on a chair")[0].to
    'dog'
    """
    if restyled := _restyled(source, target):
        return [restyled]
    before, after = _content(source), _content(target)
    if not before or not after or before == after:
        return []
    matcher = SequenceMatcher(None, [_base(word) for word in before], [_base(word) for word in after], autojunk=False)
    differences = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    if not differences:
        return _changed_counts(before, after)
    if matcher.ratio() >= _MIN_SIMILARITY and len(differences) <= _MAX_DIFFERENCES:
        steps = _distinct([step for opcode in differences for step in _difference(before, after, opcode)])
        if steps:
            is_clear = len(differences) == 1 and matcher.ratio() >= _CLEAR_SIMILARITY
            return [replace(step, sure=step.sure and is_clear) for step in _paired(steps)]
    return _compare_objects(source, target)


def _content(caption: str) -> list[Word]:
    ignored = _ARTICLES | MARKS | _FUNCTION_WORDS | words("be")
    return parse_clause([token for token in without_frame(tokenize(caption)) if token not in ignored])


def _base(word: Word) -> str:
    return action_base(word) or singular(str(word))


def _restyled(source: str, target: str) -> ParsedStep | None:
    """Read "a photo of a lion", "a drawing of a lion"."""
    (old, before), (new, after) = (_medium(tokenize(caption)) for caption in (source, target))
    if not new or old == new or before != after or not before:
        return None
    return build_step("style", " ".join(before), new, from_=old or None, sure=True)


def _medium(tokens: Sequence[Word]) -> tuple[str, list[Word]]:
    """Split "a drawing of a lion" into "drawing" and "lion"; no medium if the caption begins with the object."""
    body = [token for token in tokens if token not in _ARTICLES | MARKS]
    at = body.index(Word("of")) if "of" in body[:4] else 0
    if not at or not set(body[:at]) & (words("styles") | words("whole")):
        return "", body
    return " ".join(body[:at]), body[at + 1 :]


def _distinct(steps: Sequence[ParsedStep]) -> list[ParsedStep]:
    """Drop duplicates, and other words for an activity where an object came, went or changed."""
    unique = list(dict.fromkeys(steps))
    has_objects = any(step.type in _OBJECT_TYPES for step in unique)
    return [step for step in unique if step.type != "action"] if has_objects else unique


def _changed_counts(before: Words, after: Words) -> list[ParsedStep]:
    """Read the plural of a noun that was singular."""
    for old, new in zip(before, after, strict=False):
        if old != new and singular(str(new)) == str(old):
            return [build_step("object_addition", str(old), str(new))]
    return []


def _difference(before: list[Word], after: list[Word], opcode: tuple[str, int, int, int, int]) -> list[ParsedStep]:
    """Read one stretch of words that differs."""
    _, i, j, k, m = opcode
    k += skip(after[k:m], _LEADS)
    if before[i:j] and after[k:m] and before[i] in _LOCATIVES and after[k] in _LOCATIVES:
        i, k = i + 1, k + 1
    gone, come = before[i:j], after[k:m]
    owner = _noun_near(after, k, m)
    lacking = next((at for at, word in enumerate(come[:-1]) if word in _LACKS), None)
    if lacking is not None:
        return _removed(come[lacking + 1 :])
    if come and all(word in _EMPTY for word in come):
        return _removed(gone) or [build_step("object_removal", position=Position("on", owner), sure=True)]
    if come and is_mood(come) and (not gone or is_mood(gone)) and k and after[k - 1] in _LOCATIVES:
        return [build_step("style", _main_object(after[:k]), " ".join(come), sure=True)]
    if step := _new_description(gone, come, owner, follows=m < len(after)):
        return [step]
    if come and come[0] in words("numbers") and m < len(after) and j < len(before):
        return [build_step("object_addition", str(before[j]), str(after[m]), count=read_number(come[0]))]
    if not _names_object(before, i, j):
        return _new_predicate(gone, come, owner) or _added(come, before, owner)
    return _exchanged(before, after, (i, j, k, m)) if come else _removed(gone)


def _is_verb(word: Word) -> bool:
    return is_activity(word) or (action_base(word) is not None and word not in words("noun_verbs"))


def _names_object(tokens: Words, start: int, end: int) -> bool:
    """Tell whether a stretch of words has a noun, not only verbs, prepositions and descriptions."""
    phrase, _ = read_phrase(_without_preposition(tokens[start:end]))
    if not phrase.words or _is_verb(phrase.words[0]):
        return False
    return kind_of_words(phrase.words) is None or read_phrase(tokens, end - 1)[1] <= end


def _without_preposition(tokens: Words) -> Words:
    _, length = match_any(("other_prepositions", *lists_in("relations")), tokens)
    return tokens[length:]


def _new_description(gone: Words, come: Words, owner: str | None, *, follows: bool) -> ParsedStep | None:
    """Read a description that is new or replaces another: "red" for "blue", "sleeping"."""
    if not come or not all(known_kind(word) or is_activity(word) for word in come if word not in _PARTICLES):
        return None
    kind, old_kind = kind_of_words(come), kind_of_words(gone) if gone else None
    if kind is None and follows and all(word in words("moods") for word in come):
        return build_step("style", owner, text_of(come), sure=False)
    if kind == "color" and old_kind == "texture":  # "golden" for "stone"
        kind = "texture"
    if kind is None or kind not in _DESCRIPTIONS or not (follows or kind == "action"):
        return None
    before = " ".join(gone) if gone and old_kind == kind else None
    return build_step(kind, owner, size_or_text(come) if kind == "size" else " ".join(come), from_=before, sure=True)


def _new_predicate(gone: Words, come: Words, owner: str | None) -> list[ParsedStep]:
    if not come or not (_is_verb(come[0]) or match_any(("wear", "hold"), come)[1]):
        return []
    step = read_predicate(Phrase(words=(Word(owner),)) if owner else Phrase(), come)
    if step is None:
        return []
    before = " ".join(gone) if step.type == "action" and gone and _is_verb(gone[0]) else None
    return [replace(step, subject=owner, from_=before)]


def _added(come: Words, before: Words, owner: str | None) -> list[ParsedStep]:
    if not come:
        return []
    if match_any(("other_prepositions", *lists_in("relations")), come)[1] or come[0] == "with":
        step = read_predicate(Phrase(words=(Word(owner or "it"),)), come)
        if step and step.type != "action":
            return [replace(step, subject=owner)]
        come = come[1:]
    phrase, _ = read_phrase(come) if come else (Phrase(), 0)
    if not phrase.words or _is_verb(phrase.words[0]):
        return []
    is_shown = singular(phrase.head) in {singular(str(word)) for word in before}
    kind = kind_of_words(phrase.words[:-1]) if len(phrase.words) > 1 else None
    if is_shown and kind in {"color", "texture", "shape"}:  # "with white hair" of hair that was there
        return [build_step(kind, str(phrase.head), " ".join(phrase.words[:-1]))]
    return [add(phrase)]


def _removed(gone: Words) -> list[ParsedStep]:
    phrase, _ = read_phrase(_without_preposition(gone)) if gone else (Phrase(), 0)
    return [build_step("object_removal", phrase.name, sure=True)] if phrase.words else []


def _exchanged(before: Words, after: Words, span: tuple[int, int, int, int]) -> list[ParsedStep]:
    i, j, k, m = span
    old, _ = read_phrase(before[i:])
    if after[k] == "with" and k + 1 < m:
        k += 1
    new, _ = read_phrase(after[k:])
    if not old.words or not new.words:
        return []
    if k > 1 and i > 0 and _base(after[k - 1]) == _base(before[i - 1]) == "play":
        past, present = (f"playing {phrase.name}" for phrase in (old, new))
        return [build_step("action", _main_object(after[: k - 1]), present, from_=past, sure=True)]
    if k > 0 and after[k - 1] in _LOCATIVES and new.is_scene:
        return [replace(set_background(new, _main_object(after[:k])), from_=old.name)]
    kind = kind_of_words(after[k:m]) if singular(old.head) == singular(new.head) and len(new.words) > 1 else None
    if kind in {"color", "texture", "shape", "action"}:
        past = " ".join(before[i:j])
        return [build_step(kind, new.head, " ".join(after[k:m]), from_=past or None, sure=True)]
    return [replace_by(old.name, replace(new, count=None), sure=True)]


def _main_object(tokens: Words) -> str | None:
    return read_phrase(tokens)[0].name or None if tokens else None


def _noun_near(tokens: Words, start: int, end: int) -> str | None:
    """Return the noun that a description belongs to: the one after it, or else the one before it."""
    phrase, stop = read_phrase(tokens, start)
    if stop > end and phrase.words:
        return str(phrase.head)
    for at in range(start - 1, -1, -1):
        is_verb = is_activity(tokens[at]) or match_any(("other_prepositions", *lists_in("relations")), tokens, at)[1]
        if known_kind(tokens[at]) is None and not is_verb:
            begin = at - 1 if at and tokens[at - 1].tag[:2] == "NN" and action_base(tokens[at - 1]) is None else at
            return " ".join(tokens[begin : at + 1])
    return None


def _paired(steps: list[ParsedStep]) -> list[ParsedStep]:
    """Read a removal and an addition as one replacement."""
    if len(steps) == 2 and {steps[0].type, steps[1].type} == {"object_removal", "object_addition"}:
        gone, come = sorted(steps, key=lambda step: step.type != "object_removal")
        old = gone.subject
        return [build_step("object_replacement", old, come.to, from_=old, attributes=come.attributes)]
    return steps


def _compare_objects(source: str, target: str) -> list[ParsedStep]:
    """Compare captions of different wording by the objects they name."""
    before, after = caption_objects(source), caption_objects(target)
    if not before or not after:
        return []
    heads_after = {singular(phrase.head) for phrase in after}
    main = after[0]
    old = next((phrase for phrase in before if _is_same(phrase, main)), None)
    gone = [phrase for phrase in before if singular(phrase.head) not in heads_after]
    if old is None and singular(before[0].head) in heads_after:
        return [build_step("object_addition", to=main.name, attributes=main.adjectives)]
    if old is None:
        dropped = gone[0] if gone else before[0]
        return [replace_by(dropped.without(dropped.adjectives).name, replace(main, count=None), sure=True)]
    if main.words[0] in _EMPTY and gone:
        return [build_step("object_removal", gone[0].name)]
    step = read_caption(tokenize(target))
    if step.type == "background":
        placement = find_placement(_content(source))
        return [replace(step, from_=placement.anchor.name if placement and placement.anchor else None, sure=True)]
    if step.type == "object_replacement" and len(main.words) > 1 and main.words != old.words:
        return [replace(step, subject=old.name, from_=old.name)]
    if step.type == "object_replacement":
        return [build_step("object_removal", gone[0].name)] if gone else []
    value = {singular(word) for word in (step.to or "").split()}
    if value and value <= {singular(str(word)) for word in tokenize(source)}:
        heads_before = {singular(phrase.head) for phrase in before}
        fresh = [phrase for phrase in after if singular(phrase.head) not in heads_before]
        return [build_step("object_addition", to=fresh[0].name, attributes=fresh[0].adjectives)] if fresh else []
    return [step]


def _is_same(old: Phrase, new: Phrase) -> bool:
    """Tell whether two phrases name the same object: "teddy" and "torn up teddy bear"."""
    names = {singular(str(word)) for word in new.words}
    return singular(old.head) in names and (singular(old.head) == singular(new.head) or len(old.words) == 1)
