"""One word or one number out of an answer; an answer that says two of them says none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from editgauge.judges.reading.objects import LONGEST, read_object
from editgauge.judges.reading.spoken import Unreadable, spoken

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


def read_word(text: str, words: tuple[str, ...]) -> str:
    """The one of the words that is the answer, that the answer begins with, or that it ends with under a label.

    >>> read_word("**Yes**, the dog is there.", ("yes", "no")), read_word('{"answer": true}', ("yes", "no"))
    ('yes', 'yes')
    >>> read_word("Yes and no.", ("yes", "no"))
    Traceback (most recent call last):
    ...
    editgauge.judges.reading.spoken.Unreadable: wanted one of yes, no, got 'Yes and no.'
    """
    fields = read_object(text)
    if fields is not None:
        word = _only(fields, KEYS, lambda value: _word_of(value, words))
    else:
        word = _said(text, lambda line: _word_of(line, words))
    if word is None:
        raise Unreadable(f"one of {', '.join(words)}", text)
    return word


def read_whole_number(text: str, low: int, high: int) -> int:
    """The number that is the answer, if it lies on the scale.

    >>> read_whole_number("Rating: 4/5. The hat fits.", 1, 5)
    4
    >>> read_whole_number("4 or 5", 1, 5)
    Traceback (most recent call last):
    ...
    editgauge.judges.reading.spoken.Unreadable: wanted a whole number from 1 to 5, got '4 or 5'
    """
    number = _one_number(text, low, high)
    if number is None or number != int(number):
        raise Unreadable(f"a whole number from {low} to {high}", text)
    return int(number)


def read_ratings(text: str, names: Mapping[str, tuple[str, ...]], low: float, high: float) -> dict[str, float]:
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
    fields = read_object(text)
    values_of = _rated_object(fields, names) if fields is not None else _rated_lines(text, names)
    if len(names) == 1 and not values_of:
        number = _one_number(text, low, high)
        values_of = {} if number is None else {name: [number] for name in names}
    ratings: dict[str, float] = {}
    for name in names:
        numbers = {read_number(value, low, high) for value in values_of.get(name, [])}
        number = numbers.pop() if len(numbers) == 1 else None
        if number is None:
            raise Unreadable(f"one number from {low:g} to {high:g} for {name}", text)
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
    if len(text) > LONGEST:
        return {}
    wanted = {_plain(each): name for name, also in names.items() for each in (name, *also)}
    ratings: dict[str, list[Any]] = {}
    for line in spoken(text).splitlines():
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
    fields = read_object(text)
    if fields is not None:
        return _only(fields, NUMBER_KEYS, lambda value: read_number(value, low, high))
    return _said(text, lambda line: read_number(line, low, high))


def read_number(value: Any, low: float, high: float) -> float | None:
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
    if len(text) > LONGEST:
        return None
    whole = spoken(text)
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
