"""Parse replies of language models: JSON objects, words, numbers, ratings and refusals.

Endpoints that follow a JSON schema reply with one object. Others wrap it in prose, code fences and reasoning, or reply
with a bare word. All of that is accepted. A reply that contradicts itself, or does not answer, is unparsable: nothing
is guessed. All parsers take time linear in the length of the text, up to `MAX_REPLY_CHARACTERS`.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

MAX_REPLY_CHARACTERS = 50_000
MAX_OBJECTS = 64
MAX_DEPTH = 32

_MARK = re.compile(r"""["'{}\[\]/#,]""")
_WORD = re.compile(r"\b(True|TRUE|False|FALSE|None|NULL|Null)\b")
_WORDS = {"true": "true", "false": "false", "none": "null", "null": "null"}


class _MalformedError(ValueError):
    """Raised when a text is not a JSON object, even after corrections."""


def parse_object(text: str) -> dict[str, Any] | None:
    r"""Return the only JSON object of a reply, bare, fenced or in prose; None for no or several different objects.

    Comments, trailing commas, single quotes and Python literals are corrected.

    >>> parse_object('Sure! ```json\n{"answer": "yes", /* clear */ "sure": True,}\n```')
    {'answer': 'yes', 'sure': True}
    >>> parse_object('{"answer": "yes", "answer": "no"}') is None
    True
    """
    if len(text) > MAX_REPLY_CHARACTERS:
        return None
    reply = strip_reasoning(text)
    last_object: dict[str, Any] | None = None
    position = reply.find("{")
    if position > 0 and is_refusal(reply[:position]):
        return None
    for _ in range(MAX_OBJECTS):
        if position < 0:
            return last_object
        try:
            corrected, position = _object_at(reply, position)
        except _MalformedError:
            return None
        value = _load_json(corrected)
        if isinstance(value, dict):
            if last_object is not None and last_object != value:
                return None
            last_object = value
        elif value is _DUPLICATE_KEYS:
            return None
        position = reply.find("{", position)
    return None


def _object_at(text: str, start: int) -> tuple[str, int]:
    """Return the object that starts at `start` as valid JSON, and its end."""
    pieces: list[str] = []
    closing: list[str] = []
    position = start
    while True:
        mark = _MARK.search(text, position)
        if mark is None:
            raise _MalformedError
        pieces.append(_WORD.sub(lambda word: _WORDS[word[0].lower()], text[position : mark.start()]))
        sign, position = mark[0], mark.end()
        if sign in "\"'":
            string, position = _string_at(text, mark.start())
            pieces.append(string)
        elif sign == "#" or (sign == "/" and text[position : position + 1] == "/"):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif sign == "/":
            end = text.find("*/", position)
            if text[position : position + 1] != "*" or end < 0:
                raise _MalformedError
            position = end + 2
        elif sign in "{[":
            pieces.append(sign)
            closing.append("}" if sign == "{" else "]")
            if len(closing) > MAX_DEPTH:
                raise _MalformedError
        elif sign == ",":
            pieces.append(sign)
        else:
            if closing.pop() != sign:
                raise _MalformedError
            _drop_comma(pieces)
            pieces.append(sign)
            if not closing:
                return "".join(pieces), position


def _drop_comma(pieces: list[str]) -> None:
    """Remove a trailing comma."""
    while pieces and not pieces[-1].strip():
        pieces.pop()
    if pieces and pieces[-1] == ",":
        pieces.pop()


def _string_at(text: str, start: int) -> tuple[str, int]:
    """Return a quoted string as JSON, and its end."""
    quote, position = text[start], start + 1
    while True:
        end = text.find(quote, position)
        if end < 0:
            raise _MalformedError
        slashes, before = 0, end - 1
        while before >= position and text[before] == "\\":
            slashes, before = slashes + 1, before - 1
        position = end + 1
        if slashes % 2 == 0:
            break
    inside = text[start + 1 : end]
    if quote == "'":
        inside = inside.replace("\\'", "'").replace('"', '\\"')
    return '"' + inside.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"', position


_DUPLICATE_KEYS = object()
"""Result for an object with duplicate keys."""


class _DuplicateKeyError(Exception):
    """Raised for an object with duplicate keys."""


def _load_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_reject_constant)
    except _DuplicateKeyError:
        return _DUPLICATE_KEYS
    except (ValueError, RecursionError):
        return None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _DuplicateKeyError
    return fields


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def fit_to_schema(value: Any, target: Any) -> Any:
    """Drop unknown fields and normalize the case of names and literals.

    The words "null" and "None" become null, and are removed from lists of texts.

    Args:
        value: value parsed from JSON.
        target: type of the field; only models, lists, literals and texts are changed.

    """
    origin, parts = get_origin(target), get_args(target)
    if isinstance(target, type) and issubclass(target, BaseModel) and isinstance(value, Mapping):
        return _fields(value, target)
    if origin in (list, set, tuple) and parts and isinstance(value, list):
        items = [fit_to_schema(item, parts[0]) for item in value] if len(parts) == 1 or parts[-1] is ... else value
        return [item for item in items if not (item is None and parts[0] is str)]
    if origin is Literal and isinstance(value, str):
        return next((word for word in parts if _same(word, value)), value)
    if origin in (Union, types.UnionType):
        return _fit_to_union(value, parts)
    if target is str and isinstance(value, str) and is_null_word(value):
        return None
    return value


def _fields(value: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for attribute, field in model.model_fields.items():
        name = field.alias or attribute
        keys = [key for key in value if key == name] or [key for key in value if _same(name, key)]
        if len(keys) == 1:
            fields[name] = fit_to_schema(value[keys[0]], field.annotation)
    return fields


def _fit_to_union(value: Any, parts: tuple[Any, ...]) -> Any:
    if value is None or (type(None) in parts and isinstance(value, str) and is_null_word(value)):
        return None
    members = [part for part in parts if part is not type(None)]
    return fit_to_schema(value, members[0]) if len(members) == 1 else value


def _same(name: Any, key: str) -> bool:
    """Return whether two names are equal up to case, blanks and hyphens."""
    plain = key.strip().strip(".").lower().replace("-", " ").replace("_", " ")
    return isinstance(name, str) and name.lower().replace("-", " ").replace("_", " ") == plain


MAX_QUOTED_REPLY = 80
MAX_REFUSAL_PREFIX = 600
"""Characters at the beginning that are searched for a refusal."""
MAX_OPENING_PHRASES = 6
"""Apologies and introductions that may precede a refusal."""

_TOKEN = re.compile(r"<\|[A-Za-z_]{1,30}\|>")
_NOTHING = frozenset({"", "null", "none", "n/a", "na", "nil", "nothing", "undefined", "-"})

_I = r"(?:i|we)"
_APOSTROPHE = "['\u2019]"
_UNABLE = (
    rf"(?:can(?:{_APOSTROPHE}?t|not| not)|could(?:n{_APOSTROPHE}t| not)|won{_APOSTROPHE}t|will not|must decline to|"
    rf"have to decline to|(?:{_APOSTROPHE}m|am|are|{_APOSTROPHE}re) (?:currently )?(?:unable|not able|not allowed|"
    rf"not permitted|not comfortable)(?: to)?|do(?:n{_APOSTROPHE}t| not) have the (?:ability|capability|capacity) to)"
)
_ADVERBS = r"(?:(?:directly|actually|really|currently|physically|further|to) ){0,2}"
_SERVICE = (
    r"(?:help|assist|answer|comply|provide|discuss|identify|identifying|analy[sz]e|process|fulfil|fulfill|continue|"
    r"engage|do (?:that|this|so)|respond|comment|describe|judge|judging|rate|rating|score|evaluate|assess|support|"
    r"complete|perform|carry out|determine|offer|give (?:a|an|any) (?:rating|score|answer|evaluation|assessment))\b"
)
_PICTURES = r"(?:images?|pictures?|photos?|photographs?|attachments?|files?)"
_SEE = r"(?:see|view|access|open|load|look at|display|interpret|perceive|find|receive)"
_ENDS = r"(?=\s*(?:$|[.,;:!?\n(\u2014-]|here|attached|provided|that|which|in (?:this|your|our)|to|you|from|but|so|and))"
_WHICH = (
    r"(?:the|any|an|a|your|these|this|those|both|either|two|actual|provided|attached|uploaded|source|edited|original)"
)
_UNSEEN = rf"(?:{_SEE} )(?:{_WHICH} ){{0,3}}{_PICTURES}{_ENDS}"
_REFUSALS = (
    rf"{_I} ?{_UNABLE} {_ADVERBS}(?:{_SERVICE}|{_UNSEEN})",
    rf"{_I} (?:do(?:n{_APOSTROPHE}t| not)|did(?:n{_APOSTROPHE}t| not)) {_ADVERBS}{_UNSEEN}",
    rf"{_I} do(?:n{_APOSTROPHE}t| not) have (?:access to|any way to see|eyes for) (?:{_WHICH} ){{0,3}}{_PICTURES}",
    rf"(?:no|neither) {_PICTURES} (?:was|were|is|are|has been|have been|could be|can be) "
    r"(?:provided|attached|given|included|uploaded|visible to me|seen|found|shared|loaded|opened|received)",
    rf"there (?:is|are|was|were) no {_PICTURES} (?:attached|provided|included|given|uploaded|shared|visible|here)",
    rf"it (?:looks|seems|appears)(?: like| that)? (?:the |no |your |there (?:are|is) no )?{_PICTURES} "
    rf"(?:was|were|is|are|did|do|has|have|attached|provided|did not|didn{_APOSTROPHE}t)",
    rf"(?:please|could you|can you|kindly) (?:please )?(?:provide|upload|attach|share|re-?upload|send)\b[^.\n]{{0,60}}"
    rf"{_PICTURES}",
    rf"the {_PICTURES} (?:is|are|was|were) (?:missing|not (?:provided|attached|visible|included|accessible|available))",
    r"(?:this|that|the) (?:request|content|image|picture) (?:violates|goes against|is against|may violate)\b",
)
_OTHER_LANGUAGES = (
    r"(?:非常|很)?(?:抱歉|对不起|遗憾|不好意思)|我(?:无法|不能|没有办法|没办法)|无法(?:查看|看到|回答|提供)",
    r"(?:lo siento|lamento|disculp[ae]|perd[oó]n|no puedo|no me es posible)\b",
    r"(?:(?:je suis )?d[ée]sol[ée]e?|je (?:regrette|m'excuse)|je ne (?:peux|suis) pas)\b",
    r"(?:(?:es )?tut mir leid|entschuldigung|leider|ich kann (?:das |dies |ihnen |dir |dabei )?(?:leider )?nicht)\b",
    r"(?:desculp[ae]|lamento|sinto muito|infelizmente|n[ãa]o (?:posso|consigo))\b",
    r"(?:извините|простите|к сожалению|я не (?:могу|вижу|в состоянии))\b",
    r"(?:申し訳|すみません|ごめんなさい|残念ながら)",
    r"(?:죄송|미안|유감)",
    r"(?:عذر|آسف|أعتذر|للأسف|لا أستطيع|لا يمكنني)",
    r"(?:क्षमा|माफ़|माफ|खेद|मैं .{0,20}(?:नहीं|असमर्थ))",
    r"(?:mi dispiace|purtroppo|non posso|non sono in grado)\b",
)
"""Beginnings of refusals in Chinese, Spanish, French, German, Portuguese, Russian, Japanese, Korean, Arabic, Hindi and
Italian."""
_REFUSAL = re.compile("|".join(f"(?:{pattern})" for pattern in (*_REFUSALS, *_OTHER_LANGUAGES)), re.IGNORECASE)
_OPENING = re.compile(
    rf"(?:(?:{_I} ?(?:{_APOSTROPHE}m|am|are) )?(?:very |so |really |terribly )?sorry|{_I} apologi[sz]e|"
    rf"(?:my )?apologies|unfortunately|regrettably|as an? [a-z -]{{0,30}}\b(?:ai|model|assistant)\b[^.,;!\n]{{0,60}}|"
    rf"for (?:the|any) (?:inconvenience|confusion)|but|however|note(?: that)?|thank you[^.,;!\n]{{0,40}}|hello|hi)"
    r"(?=[^a-z]|$)[^\w<{]{0,4}",
    re.IGNORECASE,
)


class UnparsableReplyError(ValueError):
    """Raised when a reply does not match the requested form."""

    def __init__(self, expected: str, text: str) -> None:
        quoted = text if len(text) <= MAX_QUOTED_REPLY else text[: MAX_QUOTED_REPLY - 3] + "..."
        super().__init__(f"expected {expected}, got {quoted!r}")


def strip_reasoning(text: str) -> str:
    """Remove control tokens and reasoning; an unfinished reasoning leaves nothing.

    >>> strip_reasoning("<think>Is it red? Yes.</think> no"), strip_reasoning("<think>yes")
    ('no', '')
    """
    bare = _TOKEN.sub("", text).strip()
    for name in ("think", "thinking", "thought"):
        end = bare.rfind(f"</{name}>")
        if end >= 0:
            bare = bare[end + len(name) + 3 :].strip()
        if bare.startswith(f"<{name}>"):
            return ""
    opened, closed = bare.find("<answer>"), bare.find("</answer>")
    if 0 <= opened < closed and bare.count("<answer>") == 1:
        return bare[opened + len("<answer>") : closed].strip()
    return bare


def is_null_word(text: str) -> bool:
    """Return whether a text is a word for no value.

    >>> is_null_word("None"), is_null_word("null."), is_null_word("nonesuch")
    (True, True, False)
    """
    return len(text) < MAX_QUOTED_REPLY and text.strip(" \t\r\n.\"'`").lower() in _NOTHING


def is_refusal(text: str) -> bool:
    """Return whether a reply begins like a refusal, in English or another common language.

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("I cannot see any image.")
    (True, True)
    >>> is_refusal("I cannot see a difference."), is_refusal("I don't see any image artifacts.")
    (False, False)
    """
    remaining = strip_reasoning(text)[:MAX_REFUSAL_PREFIX].lstrip(" \t\r\n*_#>\"'")
    has_apology = False
    for _ in range(MAX_OPENING_PHRASES):
        if _REFUSAL.match(remaining):
            return True
        opening = _OPENING.match(remaining)
        if opening is None:
            return False
        has_apology |= "sorry" in opening[0].lower() or "apolog" in opening[0].lower()
        remaining = remaining[opening.end() :].lstrip()
        if not remaining:
            return has_apology
    return _REFUSAL.match(remaining) is not None


Value = TypeVar("Value")

KEYS = ("answer", "final_answer", "response", "result", "verdict", "choice")
"""Keys that models use for a single answer."""
NUMBER_KEYS = (*KEYS, "rating", "score")
LIST_KEYS = ("score", "scores", "rating", "ratings", "answer")
"""Keys that models use for several numbers."""
MAX_LINE = 400
"""Characters of a line that are searched for an answer."""

_BROKEN_OBJECTS = ('{"', "{'", "{\n", "{ ")
"""Beginnings of malformed objects."""
_OBJECT = re.compile(r"\{[^{}]*\}")
_RETRACTION = re.compile(
    r"\b(?:no,? wait|wait|scratch that|correction|on second thought|actually|rather|i mean)\b", re.IGNORECASE
)
_EMPHASIS = re.compile(r"[*_`\"\u201c\u201d#>]")
_BOXED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}\n]{1,40})\}{1,2}")
_LABEL = re.compile(
    r"(?:(?:so|thus|therefore|hence|overall)\b,? )?(?:the |my |final |overall |correct ){0,3}"
    r"(?:answer|rating|score|verdict|choice|response|result)(?: is| would be|:)?\s{0,3}[:=]?\s{0,3}(?:a |an )?",
    re.IGNORECASE,
)
_ENDS_WORD = r"(?:\s{0,3}(?:$|[.,;:!\n\u2013\u2014(])|\s{1,3}-\s|\s(?=(?:the|it|there|this|they|that|he|she|i)\b))"
_CLAUSE = r"(?:^|[.,;:!?\n\u2013\u2014-]\s{0,3}(?:(?:and|or|but|actually|wait|rather|well|so|then)\W{1,3}){0,3})"
_NUMBER = re.compile(
    r"([-+]?\d{1,9})(\.\d{1,9})?(?:\s{0,3}(?:/|out of|of)\s{0,3}(\d{1,9}))?"
    r"(?=\s{0,3}$|\s{0,3}[.,;:!\n](?!\d)|\s{0,3}\(|\s{1,3}[-\u2013\u2014]\s|\s{1,3}because\b)",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"(?:(?:the|edit|image|picture|option) )?(first|second)(?: (?:edit|one|image|picture|option|version))?"
    r"(?:(?: is| looks)(?: \w{1,12}ly| much| a bit)? better(?: than the (?:first|second|other)"
    r"(?: (?:edit|one|image|picture|option|version))?)?)?(?=\s{0,3}(?:$|[.,;:!\n]))",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.,;!?](?!\d)")
_TIE = re.compile(r"(?:it(?:'|\u2019)?s |it is )?(?:a )?(tie)\b", re.IGNORECASE)


def parse_word(text: str, words: tuple[str, ...]) -> str:
    """Return the word that a reply consists of, begins with, or gives under a label.

    >>> parse_word("**Yes**, the dog is there.", ("yes", "no")), parse_word('{"answer": true}', ("yes", "no"))
    ('yes', 'yes')
    >>> parse_word("Yes and no.", ("yes", "no"))
    Traceback (most recent call last):
    ...
    editgauge.judges._parsing.UnparsableReplyError: expected one of yes, no, got 'Yes and no.'
    """
    fields = parse_object(text)
    if fields is not None:
        word = _only(fields, KEYS, lambda value: _word_of(value, words))
    else:
        word = _from_text(text, lambda line: _word_of(line, words))
    if word is None:
        raise UnparsableReplyError(f"one of {', '.join(words)}", text)
    return word


def parse_integer(text: str, low: int, high: int) -> int:
    """Return the integer that a reply gives, if it lies on the scale.

    >>> parse_integer("Rating: 4/5. The hat fits.", 1, 5)
    4
    >>> parse_integer("4 or 5", 1, 5)
    Traceback (most recent call last):
    ...
    editgauge.judges._parsing.UnparsableReplyError: expected an integer from 1 to 5, got '4 or 5'
    """
    number = _one_number(text, low, high)
    if number is None or number != int(number):
        raise UnparsableReplyError(f"an integer from {low} to {high}", text)
    return int(number)


def parse_ratings(text: str, names: Mapping[str, tuple[str, ...]], low: float, high: float) -> dict[str, float]:
    r"""Return a number for every name, from an object, an ordered list, or labeled lines.

    Args:
        text: reply of the model.
        names: dimensions with their aliases.
        low: minimum.
        high: maximum.

    >>> parse_ratings('{"score": [8, 6.5], "reasoning": "…"}', {"success": (), "kept": ()}, 0, 10)
    {'success': 8.0, 'kept': 6.5}
    >>> parse_ratings("Prompt Compliance: 4\n**Visual Quality:** 5/5", {"compliance": ("prompt compliance",),
    ... "quality": ("visual quality",)}, 1, 5)
    {'compliance': 4.0, 'quality': 5.0}

    """
    fields = parse_object(text)
    values_of = _ratings_in_lines(text, names)
    if fields is not None:
        # Lines beside the object count too, so that an example of the format does not pass for the answer.
        outside = _ratings_in_lines(_OBJECT.sub("", strip_reasoning(text)), names)
        values_of = _ratings_in_object(fields, names)
        for name, values in outside.items():
            values_of[name] += values
    if len(names) == 1 and not values_of:
        number = _one_number(text, low, high)
        values_of = {} if number is None else {name: [number] for name in names}
    ratings: dict[str, float] = {}
    for name in names:
        numbers = {parse_number(value, low, high) for value in values_of.get(name, [])}
        number = numbers.pop() if len(numbers) == 1 else None
        if number is None:
            raise UnparsableReplyError(f"one number from {low:g} to {high:g} for {name}", text)
        ratings[name] = number
    return ratings


def _ratings_in_object(fields: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]) -> dict[str, list[Any]]:
    """Return all values that an object gives for each name; the caller rejects contradictions."""
    values: dict[str, list[Any]] = {}
    nested = [value for key, value in fields.items() if _plain(key) in LIST_KEYS and isinstance(value, Mapping)]
    for mapping in (fields, *nested):
        for key, value in mapping.items():
            values.setdefault(_plain(key), []).append(value)
    ratings = {
        name: [value for key in dict.fromkeys(map(_plain, (name, *aliases))) for value in values.get(key, ())]
        for name, aliases in names.items()
    }
    for key in LIST_KEYS:
        for value in values.get(key, ()):
            if isinstance(value, list) and len(value) == len(names):
                for name, item in zip(names, value, strict=True):
                    ratings[name].append(item)
    return ratings


def _ratings_in_lines(text: str, names: Mapping[str, tuple[str, ...]]) -> dict[str, list[Any]]:
    if len(text) > MAX_REPLY_CHARACTERS:
        return {}
    name_of = {_plain(alias): name for name, aliases in names.items() for alias in (name, *aliases)}
    ratings: dict[str, list[Any]] = {}
    for line in strip_reasoning(text).splitlines():
        label, sign, value = _EMPHASIS.sub("", line[:MAX_LINE]).replace("=", ":").partition(":")
        name = name_of.get(_plain(label.lstrip(" -\u20220123456789.)")))
        if sign and name:
            ratings.setdefault(name, []).append(value.strip())
    return ratings


def _plain(name: str) -> str:
    """Normalize a name: lower case, no underscores, no trailing "score"."""
    words = name.strip().lower().replace("_", " ").replace("-", " ").replace("&", "and").split()
    return " ".join(words[:-1] if len(words) > 1 and words[-1] in ("score", "rating") else words)


def _one_number(text: str, low: float, high: float) -> float | None:
    fields = parse_object(text)
    if fields is not None:
        return _only(fields, NUMBER_KEYS, lambda value: parse_number(value, low, high))
    return _from_text(text, lambda line: parse_number(line, low, high))


def parse_number(value: Any, low: float, high: float) -> float | None:
    """Return a number on the scale, given as a number or as text such as `4/5`; None otherwise.

    >>> parse_number(7, 0, 10), parse_number("7.5", 0, 10), parse_number("7/10", 0, 25), parse_number(True, 0, 1)
    (7.0, 7.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        bare = _bare(value)
        begins = _NUMBER.match(bare)
        if begins is None or (begins[3] is not None and int(begins[3]) != high) or _begins_a_list(bare, begins[1]):
            return None
        if (retraction := _RETRACTION.search(bare, begins.end())) and re.search(r"\d", bare[retraction.end() :]):
            return None
        value = float(begins[1] + (begins[2] or ""))
    return float(value) if low <= value <= high else None


def _begins_a_list(text: str, number: str) -> bool:
    """Return whether the number starts a numbered list."""
    return f" {int(number) + 1}. " in text.replace("\n", " ")


def _only(fields: Mapping[str, Any], keys: tuple[str, ...], read: Callable[[Any], Value | None]) -> Value | None:
    """Return the value of the answer keys of an object, if they agree."""
    values = {read(value) for key, value in fields.items() if key.strip().lower().replace(" ", "_") in keys}
    return values.pop() if len(values) == 1 else None


def _from_text(text: str, read: Callable[[str], Value | None]) -> Value | None:
    """Return what a text states at its beginning, under a label, or on its last line; None if these differ."""
    if len(text) > MAX_REPLY_CHARACTERS:
        return None
    reply = strip_reasoning(text)
    if not reply or any(begin in reply for begin in _BROKEN_OBJECTS):
        return None
    boxed = {read(match) for match in _BOXED.findall(reply)}
    if boxed:
        return boxed.pop() if len(boxed) == 1 else None
    lines = [line for line in (_EMPHASIS.sub("", line).strip() for line in reply.splitlines()) if line]
    if not lines:
        return None
    first, leading = read(_joined(lines)), read(_CLAUSE_END.split(lines[0][:MAX_LINE], maxsplit=1)[0])
    if first is None and leading is not None:
        return None  # the first clause is retracted
    labeled = {read(value) for line in lines for value in _labeled(line)}
    last = read(lines[-1]) if len(lines) > 1 and len(lines[-1]) < 40 else None
    values = {value for value in (first, last, *labeled) if value is not None}
    if None in labeled and first is None and last is None:
        return None
    return values.pop() if len(values) == 1 else None


def _joined(lines: list[str]) -> str:
    """Return the beginning of a text; a label on its own line is joined with the next line."""
    return "\n".join(lines[:3])[:MAX_LINE] if len(lines[0]) < 40 else lines[0][:MAX_LINE]


def _labeled(line: str) -> list[str]:
    """Return the text after each label of a line."""
    return [
        line[label.end() : label.end() + MAX_LINE]
        for label in _LABEL.finditer(line)
        if re.search(r"[:=]|\bis\b|be\b", label[0])
    ]


def _bare(text: str) -> str:
    """Remove emphasis, quotes and a label such as `Answer:`."""
    plain = _EMPHASIS.sub("", text[:MAX_LINE]).strip()
    return _LABEL.sub("", plain, count=1).strip() if _LABEL.match(plain) else plain


def _word_of(value: Any, words: tuple[str, ...]) -> str | None:
    """Return the word that a value consists of or begins with, unless it is retracted."""
    yes_or_no = words == ("yes", "no")
    if isinstance(value, bool):
        return ("yes" if value else "no") if yes_or_no else None
    if not isinstance(value, str):
        return None
    bare = _bare(value)
    named = (_ITEM.match(bare) or _TIE.match(bare)) if "first" in words else None
    begins = named or re.match(rf"([a-z]{{1,12}}){_ENDS_WORD}", bare, re.IGNORECASE)
    if begins is None:
        return None
    word = begins[1].lower()
    if yes_or_no:
        word = {"true": "yes", "false": "no"}.get(word, word)
    remainder = bare[begins.end() :]
    if word not in words or re.match(r"\s{0,3}(?:/|or\b|and\b)", remainder) or _is_retracted(remainder, words, word):
        return None
    if is_refusal(remainder.lstrip(" .,;:!-")):
        return None
    return word


def _is_retracted(remainder: str, words: tuple[str, ...], word: str) -> bool:
    """Return whether another of the words follows as a clause."""
    alternatives = "|".join(item for item in words if item != word)
    again = rf"{_CLAUSE}(?:\w{{1,12}} ){{0,2}}(?:{alternatives})\s{{0,3}}(?:$|[.,;:!\n])"
    at_once = rf"\s{{0,3}}(?:(?:and|or|but|actually|wait|rather|well)\W{{1,3}}){{0,3}}(?:{alternatives})\b(?! \w)"
    labeled = rf"answer(?: is)?\W{{1,3}}(?:{alternatives})\b"
    return bool(
        re.match(at_once, remainder, re.IGNORECASE)
        or re.search(again, remainder, re.IGNORECASE)
        or re.search(labeled, remainder, re.IGNORECASE)
    )
