"""Reads answers strictly: what is not clearly of the asked form is unreadable, never guessed.

Endpoints that follow a JSON schema answer with one object; the others were asked for the same object in words, and
some of them answer with a bare word all the same. Both are read; everything in between is not.
"""

from __future__ import annotations

import json
import re
from typing import Any

SHOWN = 80
"""So much of an unreadable answer is repeated in the message about it."""

_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)
_LABEL = re.compile(r"(?:the |my |final )*(?:answer|rating|score|verdict)(?: is)?\s*[:=]?\s*", re.IGNORECASE)
_LEADING_WORD = re.compile(r"([a-z]+)(?:\s*(?:$|[.,;:!\n\u2013\u2014])|\s+-\s)\s*", re.IGNORECASE)
_NUMBER = re.compile(r"([-+]?\d+)(?:\.0+)?(?:\s*(?:/|out of|of)\s*(\d+))?(?=$|[.,;:!\n](?!\d)|\s*\()", re.IGNORECASE)
_REGRET = r"(?:(?:i(?:'|\u2019)?m |i am )?(?:very |so )?sorry\W+(?:but )?|unfortunately\W+|as an ai\b[^.]{0,40}\W+)*"
_UNWILLING = r"(?:can(?:'|\u2019)?t|cannot|can not|won(?:'|\u2019)t|will not|must decline to|unable to|not able to)"
_WHAT = (
    r"(?:help|assist|answer|comply|provide|discuss|identify|analy[sz]e|process|fulfil|continue|engage|"
    r"do (?:that|this)|respond|comment|describe|judge|rate|support)"
)
_REFUSAL = re.compile(
    rf"{_REGRET}i(?:(?:'|\u2019)m| am)? {_UNWILLING} (?:\w+ly )?{_WHAT}|(?:i(?:'|\u2019)?m |i am )?sorry\W*$",
    re.IGNORECASE,
)
"""Only what models cannot or will not do for us: "I cannot see a difference" is an answer."""


class Unreadable(ValueError):
    """An answer that is not of the asked form."""

    def __init__(self, wanted: str, text: str) -> None:
        shown = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
        super().__init__(f"wanted {wanted}, got {shown!r}")


def spoken(text: str) -> str:
    """The answer without the thoughts that some models write before it.

    >>> spoken("<think>Is it red? Yes.</think> no")
    'no'
    """
    return _THOUGHT.sub("", text, count=1).strip() if text.lstrip().startswith("<think") else text.strip()


def is_refusal(text: str) -> bool:
    """Does it begin as models do that will not answer?

    >>> is_refusal("I'm sorry, but I can't help with that.")
    True
    >>> is_refusal("I cannot see a difference.")
    False
    """
    return _REFUSAL.match(spoken(text)) is not None


def read_object(text: str) -> dict[str, Any] | None:
    """The one JSON object that the answer is, bare or fenced; None when it is something else.

    >>> read_object('```json\\n{"answer": "yes"}\\n```')
    {'answer': 'yes'}
    >>> read_object('{"answer": "yes", "answer": "no"}') is None
    True
    """
    said = spoken(text)
    fenced = _FENCED.findall(said)
    if len(fenced) > 1:
        return None
    try:
        found = json.loads(fenced[0] if fenced else said, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_word(text: str, words: tuple[str, ...]) -> str:
    """The one of the words that is the answer, or that the answer begins with as a sentence of its own.

    >>> read_word("**Yes**, the dog is there.", ("yes", "no"))
    'yes'
    >>> read_word("Yes and no.", ("yes", "no"))
    Traceback (most recent call last):
    ...
    editgauge.judges.parsing.Unreadable: wanted one of yes, no, got 'Yes and no.'
    """
    found = read_object(text)
    if found is not None:
        word = found.get("answer")
        if found.keys() == {"answer"} and isinstance(word, str) and word.strip().lower() in words:
            return word.strip().lower()
        raise Unreadable(f"one of {', '.join(words)}", text)
    bare = _bare(text)
    begins = _LEADING_WORD.match(bare)
    word = begins[1].lower() if begins else ""
    if begins is None or word not in words or _takes_back(bare[begins.end() :], words, word):
        raise Unreadable(f"one of {', '.join(words)}", text)
    return word


def read_whole_number(text: str, low: int, high: int) -> int:
    """The number that is the answer, if it lies on the scale.

    >>> read_whole_number("Rating: 4/5. The hat fits.", 1, 5)
    4
    >>> read_whole_number("4 or 5", 1, 5)
    Traceback (most recent call last):
    ...
    editgauge.judges.parsing.Unreadable: wanted a whole number from 1 to 5, got '4 or 5'
    """
    found = read_object(text)
    if found is not None:
        value = found.get("answer")
        number = value if found.keys() == {"answer"} and type(value) in (int, float) else None
    else:
        begins = _NUMBER.match(_bare(text))
        other_scale = begins is not None and begins[2] is not None and int(begins[2]) != high
        number = None if begins is None or other_scale or len(begins[1]) > 9 else int(begins[1])
    if number is None or not low <= number <= high or number != int(number):
        raise Unreadable(f"a whole number from {low} to {high}", text)
    return int(number)


def _bare(text: str) -> str:
    """The answer without emphasis, quotes and a label such as `Answer:`."""
    return _LABEL.sub("", re.sub(r"[*_`\"\u201c\u201d]", "", spoken(text)).strip(), count=1).strip()


def _takes_back(rest: str, words: tuple[str, ...], word: str) -> bool:
    """Does another of the words follow at once, or as an answer of its own?"""
    others = "|".join(each for each in words if each != word)
    at_once = re.match(rf"(?:(?:and|or|but|actually|wait|rather|well)\W+)*(?:{others})\b", rest, re.IGNORECASE)
    labelled = re.search(rf"answer(?: is)?\W+(?:{others})\b", rest, re.IGNORECASE)
    return bool(at_once or labelled)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
