"""Finds the one JSON object in an answer, repairs what JSON does not allow, and fits it to what was asked for."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

MAX_REPLY_CHARACTERS = 50_000
"""No answer of any form is so long; a longer one is not searched."""
MOST_OBJECTS = 64
"""An answer with more braces than this holds something else than one object."""
DEEPEST = 32
"""No form nests so deep."""

_MARK = re.compile(r"""["'{}\[\]/#,]""")
_WORD = re.compile(r"\b(True|TRUE|False|FALSE|None|NULL|Null)\b")
_WORDS = {"true": "true", "false": "false", "none": "null", "null": "null"}


class _Broken(ValueError):
    """The text is no JSON object, not even a corrected one."""


def parse_object(text: str) -> dict[str, Any] | None:
    """The one JSON object that the answer holds, bare, fenced or in prose; None when there is none, or several.

    Comments, trailing commas, single quotes and Python's words for true, false and null are corrected. The same object
    twice is one.

    >>> read_object('Sure! ```json\\n{"answer": "yes", /* clear */ "sure": True,}\\n```')
    {'answer': 'yes', 'sure': True}
    >>> read_object('{"answer": "yes", "answer": "no"}') is None
    True
    """
    if len(text) > MAX_REPLY_CHARACTERS:
        return None
    said = strip_reasoning(text)
    last_object: dict[str, Any] | None = None
    position = said.find("{")
    for _ in range(MOST_OBJECTS):
        if position < 0:
            return last_object
        try:
            mended, position = _object_at(said, position)
        except _Broken:
            return None
        read = _parsed(mended)
        if isinstance(read, dict):
            if last_object is not None and last_object != read:
                return None
            last_object = read
        elif read is _TWICE:
            return None
        position = said.find("{", position)
    return None


def _object_at(text: str, start: int) -> tuple[str, int]:
    """The object that begins at `start`, as proper JSON, and where it ends."""
    pieces: list[str] = []
    closing: list[str] = []
    position = start
    while True:
        mark = _MARK.search(text, position)
        if mark is None:
            raise _Broken
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
                raise _Broken
            position = end + 2
        elif sign in "{[":
            pieces.append(sign)
            closing.append("}" if sign == "{" else "]")
            if len(closing) > DEEPEST:
                raise _Broken
        elif sign == ",":
            pieces.append(sign)
        else:
            if closing.pop() != sign:
                raise _Broken
            _drop_comma(pieces)
            pieces.append(sign)
            if not closing:
                return "".join(pieces), position


def _drop_comma(pieces: list[str]) -> None:
    """Takes back the comma that ends a list or an object."""
    while pieces and not pieces[-1].strip():
        pieces.pop()
    if pieces and pieces[-1] == ",":
        pieces.pop()


def _string_at(text: str, start: int) -> tuple[str, int]:
    """A quoted string as JSON writes it, and where it ends."""
    quote, position = text[start], start + 1
    while True:
        end = text.find(quote, position)
        if end < 0:
            raise _Broken
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


_TWICE = object()
"""Stands for an object that gives one name two values."""


class _Repeated(Exception):
    pass


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except _Repeated:
        return _TWICE
    except (ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _Repeated
    return fields


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def fit_to_schema(value: Any, wanted: Any) -> Any:
    """The value without what was not asked for, its names and fixed words in the case that was asked for.

    The word "null" or "None" in place of a text is no text: it becomes null, and goes out of lists.

    Args:
        value: as it was read from JSON
        wanted: the type that is asked for; other types than models, lists, fixed words and texts stay as they are
    """
    origin, parts = get_origin(wanted), get_args(wanted)
    if isinstance(wanted, type) and issubclass(wanted, BaseModel) and isinstance(value, Mapping):
        return _fields(value, wanted)
    if origin in (list, set, tuple) and parts and isinstance(value, list):
        items = [fit_to_schema(each, parts[0]) for each in value] if len(parts) == 1 or parts[-1] is ... else value
        return [each for each in items if not (each is None and parts[0] is str)]
    if origin is Literal and isinstance(value, str):
        return next((word for word in parts if _same(word, value)), value)
    if origin in (Union, types.UnionType):
        return _of_union(value, parts)
    if wanted is str and isinstance(value, str) and is_null_word(value):
        return None
    return value


def _fields(value: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        keys = [key for key in value if key == name] or [key for key in value if _same(name, key)]
        if len(keys) == 1:
            fields[name] = fit_to_schema(value[keys[0]], field.annotation)
    return fields


def _of_union(value: Any, parts: tuple[Any, ...]) -> Any:
    if value is None or (type(None) in parts and isinstance(value, str) and is_null_word(value)):
        return None
    others = [part for part in parts if part is not type(None)]
    return fit_to_schema(value, others[0]) if len(others) == 1 else value


def _same(wanted: Any, key: str) -> bool:
    """Are two names the same except for case, blanks and hyphens?"""
    plain = key.strip().strip(".").lower().replace("-", " ").replace("_", " ")
    return isinstance(wanted, str) and wanted.lower().replace("-", " ").replace("_", " ") == plain


SHOWN = 80
"""This much of an unreadable answer is repeated in the message about it."""
LONGEST_REFUSAL = 600
"""A refusal comes at the beginning; no more than this is looked at."""
OPENING_PHRASES = 6
"""This many regrets and introductions may stand before a refusal."""

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
_REFUSAL = re.compile("|".join(f"(?:{each})" for each in _REFUSALS), re.IGNORECASE)
_OPENING = re.compile(
    rf"(?:(?:{_I} ?(?:{_APOSTROPHE}m|am|are) )?(?:very |so |really |terribly )?sorry|{_I} apologi[sz]e|"
    rf"(?:my )?apologies|unfortunately|regrettably|as an? [a-z -]{{0,30}}\b(?:ai|model|assistant)\b[^.,;!\n]{{0,60}}|"
    rf"for (?:the|any) (?:inconvenience|confusion)|but|however|note(?: that)?|thank you[^.,;!\n]{{0,40}}|hello|hi)"
    r"(?=[^a-z]|$)[^\w<{]{0,4}",
    re.IGNORECASE,
)


class UnparsableReplyError(ValueError):
    """An answer that is not of the asked form."""

    def __init__(self, wanted: str, text: str) -> None:
        shown = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
        super().__init__(f"wanted {wanted}, got {shown!r}")


def strip_reasoning(text: str) -> str:
    """The answer without control tokens, and without the thoughts that some models write before it.

    A thought that never ends leaves nothing. Some chat templates swallow the tag that opens a thought.

    >>> spoken("<think>Is it red? Yes.</think> no"), spoken("Is it red? Hm.</think>no"), spoken("<think>yes")
    ('no', 'no', '')
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
    """Is it one of the words for no thing at all?

    >>> is_nothing("None"), is_nothing("null."), is_nothing("nonesuch")
    (True, True, False)
    """
    return len(text) < SHOWN and text.strip(" \t\r\n.\"'`").lower() in _NOTHING


def is_refusal(text: str) -> bool:
    """Does it begin as models do that will not or cannot answer?

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("I cannot see any image.")
    (True, True)
    >>> is_refusal("I cannot see a difference."), is_refusal("I don't see any image artifacts.")
    (False, False)
    """
    rest = strip_reasoning(text)[:LONGEST_REFUSAL].lstrip(" \t\r\n*_#>\"'")
    regretted = False
    for _ in range(OPENING_PHRASES):
        if _REFUSAL.match(rest):
            return True
        opening = _OPENING.match(rest)
        if opening is None:
            return False
        regretted |= "sorry" in opening[0].lower() or "apolog" in opening[0].lower()
        rest = rest[opening.end() :].lstrip()
        if not rest:
            return regretted
    return _REFUSAL.match(rest) is not None


Value = TypeVar("Value")

KEYS = ("answer", "final_answer", "response", "result", "verdict", "choice")
"""Names under which models give the one thing that they were asked for."""
NUMBER_KEYS = (*KEYS, "rating", "score")
LIST_KEYS = ("score", "scores", "rating", "ratings", "answer")
"""Names under which models give several numbers in order, or by name."""
LONGEST_LINE = 400
"""A line that holds an answer is short; of a longer one this much is looked at."""

_BROKEN_OBJECTS = ('{"', "{'", "{\n", "{ ")
"""A text with such a beginning was to be an object, and is none that can be read."""
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
    """The one of the words that is the answer, that the answer begins with, or that it ends with under a label.

    >>> read_word("**Yes**, the dog is there.", ("yes", "no")), read_word('{"answer": true}', ("yes", "no"))
    ('yes', 'yes')
    >>> read_word("Yes and no.", ("yes", "no"))
    Traceback (most recent call last):
    ...
    editgauge.judges._parsing.UnparsableReplyError: wanted one of yes, no, got 'Yes and no.'
    """
    fields = parse_object(text)
    if fields is not None:
        word = _only(fields, KEYS, lambda value: _word_of(value, words))
    else:
        word = _said(text, lambda line: _word_of(line, words))
    if word is None:
        raise UnparsableReplyError(f"one of {', '.join(words)}", text)
    return word


def parse_integer(text: str, low: int, high: int) -> int:
    """The number that is the answer, if it lies on the scale.

    >>> read_whole_number("Rating: 4/5. The hat fits.", 1, 5)
    4
    >>> read_whole_number("4 or 5", 1, 5)
    Traceback (most recent call last):
    ...
    editgauge.judges._parsing.UnparsableReplyError: wanted a whole number from 1 to 5, got '4 or 5'
    """
    number = _one_number(text, low, high)
    if number is None or number != int(number):
        raise UnparsableReplyError(f"a whole number from {low} to {high}", text)
    return int(number)


def parse_ratings(text: str, names: Mapping[str, tuple[str, ...]], low: float, high: float) -> dict[str, float]:
    """A number for every name: in an object, as a list in the order of the names, or on a line of its own each.

    Args:
        text: the answer
        names: what is wanted, each with further names for it
        low: the least number
        high: the greatest

    >>> read_ratings('{"score": [8, 6.5], "reasoning": "…"}', {"success": (), "kept": ()}, 0, 10)
    {'success': 8.0, 'kept': 6.5}
    >>> read_ratings("Prompt Compliance: 4\\n**Visual Quality:** 5/5", {"compliance": ("prompt compliance",), "quality":
    ... ("visual quality",)}, 1, 5)
    {'compliance': 4.0, 'quality': 5.0}
    """
    fields = parse_object(text)
    values_of = _rated_object(fields, names) if fields is not None else _rated_lines(text, names)
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


def _rated_object(fields: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]) -> dict[str, list[Any]]:
    plain = {_plain(key): value for key, value in fields.items()}
    for key in LIST_KEYS:
        values = plain.get(key)
        if isinstance(values, list) and len(values) == len(names):
            return {name: [value] for name, value in zip(names, values, strict=True)}
        if isinstance(values, Mapping):
            plain = {_plain(name): value for name, value in values.items()} | plain
    return {
        name: [plain[key] for key in dict.fromkeys(map(_plain, (name, *also))) if key in plain]
        for name, also in names.items()
    }


def _rated_lines(text: str, names: Mapping[str, tuple[str, ...]]) -> dict[str, list[Any]]:
    if len(text) > MAX_REPLY_CHARACTERS:
        return {}
    wanted = {_plain(each): name for name, also in names.items() for each in (name, *also)}
    ratings: dict[str, list[Any]] = {}
    for line in strip_reasoning(text).splitlines():
        label, sign, value = _EMPHASIS.sub("", line[:LONGEST_LINE]).replace("=", ":").partition(":")
        name = wanted.get(_plain(label.lstrip(" -\u20220123456789.)")))
        if sign and name:
            ratings.setdefault(name, []).append(value.strip())
    return ratings


def _plain(name: str) -> str:
    """A name without case, underscores and the word score."""
    words = name.strip().lower().replace("_", " ").replace("-", " ").replace("&", "and").split()
    return " ".join(words[:-1] if len(words) > 1 and words[-1] in ("score", "rating") else words)


def _one_number(text: str, low: float, high: float) -> float | None:
    fields = parse_object(text)
    if fields is not None:
        return _only(fields, NUMBER_KEYS, lambda value: parse_number(value, low, high))
    return _said(text, lambda line: parse_number(line, low, high))


def parse_number(value: Any, low: float, high: float) -> float | None:
    """A number on the scale, given as such or in words such as `4/5`; None when it is none, or of another scale.

    >>> read_number(7, 0, 10), read_number("7.5", 0, 10), read_number("7/10", 0, 25), read_number(True, 0, 1)
    (7.0, 7.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        bare = _bare(value)
        begins = _NUMBER.match(bare)
        if begins is None or (begins[3] is not None and int(begins[3]) != high) or _begins_a_list(bare, begins[1]):
            return None
        value = float(begins[1] + (begins[2] or ""))
    return float(value) if low <= value <= high else None


def _begins_a_list(text: str, number: str) -> bool:
    """Is the number the first of several that count paragraphs?"""
    return f" {int(number) + 1}. " in text.replace("\n", " ")


def _only(fields: Mapping[str, Any], keys: tuple[str, ...], read: Callable[[Any], Value | None]) -> Value | None:
    """What an object gives under the names of an answer, if it is one thing."""
    plain = {key.strip().lower().replace(" ", "_"): value for key, value in fields.items()}
    values = {read(plain[key]) for key in keys if key in plain}
    return values.pop() if len(values) == 1 else None


def _said(text: str, read: Callable[[str], Value | None]) -> Value | None:
    """What a text says at its beginning, under a label, or alone on its last line; None where these differ."""
    if len(text) > MAX_REPLY_CHARACTERS:
        return None
    whole = strip_reasoning(text)
    if not whole or any(begin in whole for begin in _BROKEN_OBJECTS):
        return None
    boxed = {read(each) for each in _BOXED.findall(whole)}
    if boxed:
        return boxed.pop() if len(boxed) == 1 else None
    lines = [line for line in (_EMPHASIS.sub("", line).strip() for line in whole.splitlines()) if line]
    if not lines:
        return None
    first, leading = read(_joined(lines)), read(_CLAUSE_END.split(lines[0][:LONGEST_LINE], maxsplit=1)[0])
    if first is None and leading is not None:
        return None  # it takes back what it begins with
    labeled = {read(each) for line in lines for each in _labeled(line)}
    last = read(lines[-1]) if len(lines) > 1 and len(lines[-1]) < 40 else None
    said = {each for each in (first, last, *labeled) if each is not None}
    if None in labeled and first is None and last is None:
        return None
    return said.pop() if len(said) == 1 else None


def _joined(lines: list[str]) -> str:
    """The text from its first line on, as far as it matters; a label on a line of its own joins with the next."""
    return "\n".join(lines[:3])[:LONGEST_LINE] if len(lines[0]) < 40 else lines[0][:LONGEST_LINE]


def _labeled(line: str) -> list[str]:
    """What follows each label in a line; a label is followed by `:`, `=` or `is`."""
    return [
        line[label.end() : label.end() + LONGEST_LINE]
        for label in _LABEL.finditer(line)
        if re.search(r"[:=]|\bis\b|be\b", label[0])
    ]


def _bare(text: str) -> str:
    """The answer without emphasis, quotes and a label such as `Answer:`."""
    plain = _EMPHASIS.sub("", text[:LONGEST_LINE]).strip()
    return _LABEL.sub("", plain, count=1).strip() if _LABEL.match(plain) else plain


def _word_of(value: Any, words: tuple[str, ...]) -> str | None:
    """The word that a value is or begins with, as a sentence of its own, and does not take back."""
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
    rest = bare[begins.end() :]
    if word not in words or re.match(r"\s{0,3}(?:/|or\b|and\b)", rest) or _takes_back(rest, words, word):
        return None
    return word


def _takes_back(rest: str, words: tuple[str, ...], word: str) -> bool:
    """Does another of the words follow, as a clause of its own?"""
    others = "|".join(each for each in words if each != word)
    again = rf"{_CLAUSE}(?:\w{{1,12}} ){{0,2}}(?:{others})\s{{0,3}}(?:$|[.,;:!\n])"
    at_once = rf"\s{{0,3}}(?:(?:and|or|but|actually|wait|rather|well)\W{{1,3}}){{0,3}}(?:{others})\b(?! \w)"
    labeled = rf"answer(?: is)?\W{{1,3}}(?:{others})\b"
    return bool(
        re.match(at_once, rest, re.IGNORECASE)
        or re.search(again, rest, re.IGNORECASE)
        or re.search(labeled, rest, re.IGNORECASE)
    )
