"""From a text to tokens: quotations kept whole, possessives apart, misspelled keywords mended."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Sequence
from functools import cache

from editgauge.instructions.lexicon import (
    action_base,
    adjective_kinds,
    lists_in,
    plain_lists,
    singular,
    table,
    words,
)

LONGEST = 300
"""Words. An instruction has a dozen; a text beyond this is not read to its end."""
MARKS = frozenset(",.;!?:")
QUOTED = r"\"[^\"]+\"|“[^”]+”|«[^»]+»|(?<![\w])'[^']+'(?![\w])|‘[^’]+’(?!\w)"
TOKEN = re.compile(rf"(?P<quoted>{QUOTED})|(?P<word>\d+[.,]\d+|[^\W_]+(?:[-'’][^\W_]+)*)|(?P<mark>[,.;!?:])")
KEYWORDS = ("colors", "backgrounds", "instead", "relations.behind", "sizes")
"""Lists whose words are recognized when misspelled."""


class Token(str):
    """A word in small letters, as it was written in `raw`; a quotation is one token."""

    __slots__ = ("quoted", "raw")

    def __new__(cls, text: str, raw: str = "", quoted: bool = False) -> Token:
        """A token that compares as its small letters."""
        token = super().__new__(cls, text)
        token.raw = raw or text
        token.quoted = quoted
        return token

    raw: str
    quoted: bool


def skip(tokens: Sequence[str], skipped: Container[str], start: int = 0) -> int:
    """Where the first token from `start` on stands that is not to be skipped; the end when there is none.

    >>> skip(tokenize("please just add a cat"), {"please", "just"})
    2
    """
    return next((at for at in range(start, len(tokens)) if tokens[at] not in skipped), max(start, len(tokens)))


def token_at(tokens: Sequence[Token], at: int) -> Token:
    """The token at that place; an empty one beyond the end."""
    return tokens[at] if at < len(tokens) else Token("")


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, at most `LONGEST` of them.

    >>> tokenize('Make the man\\'s sign say "OPEN".')
    ['make', 'the', 'man', "'s", 'sign', 'say', '"open"', '.']
    """
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'").replace("_", " ")
    tokens: list[Token] = []
    for part in TOKEN.finditer(plain):
        if len(tokens) >= LONGEST:
            break
        piece = part.group()
        if part["quoted"]:
            inner = piece[1:-1].strip()
            tokens.append(Token(f'"{inner.casefold()}"', inner, quoted=True))
        elif part["mark"]:
            tokens.append(Token(piece))
        else:
            tokens += _word(piece)
    for place, token in enumerate(tokens):
        tokens[place] = _respelled(token, place, tokens)
    return tokens


def _word(piece: str) -> list[Token]:
    low = piece.casefold()
    if low.endswith("'s") and low not in {"let's", "it's", "that's", "there's", "what's", "he's", "she's"}:
        return [Token(low[:-2], piece[:-2]), Token("'s")]
    if low in {"there's", "he's", "she's", "that's"}:
        return [Token(low[:-2], piece[:-2]), Token("is")]
    if low in {"they're", "we're", "you're"}:
        return [Token(low[:-3], piece[:-3]), Token("are")]
    return [Token(low, piece)]


def _respelled(token: Token, place: int, tokens: Sequence[Token]) -> Token:
    """A misspelled keyword as it should be: the verb at the beginning, or a word of the lists `KEYWORDS`."""
    if not token.quoted and token in words("mistyped"):
        return Token(table("mistyped")[token], token.raw)
    if token.quoted or len(token) < 4 or not token.isalpha() or is_known(token):
        return token
    at_start = place == 0 or tokens[place - 1] in {"and", "then", "please", ",", ".", "to", "you", "let's", "we"}
    near = _nearest(str(token), _command_words()) if at_start else None
    near = near or _nearest(str(token), _keywords(), same_letters=True)
    return Token(near, token.raw) if near else token


def is_known(word: str) -> bool:
    """Is the word, or its singular, in any list of the grammar?"""
    return word in _all_words() or singular(word) in _all_words() or action_base(word) is not None


@cache
def _all_words() -> frozenset[str]:
    listed = _words_in((*KEYWORDS, *plain_lists(), *lists_in("verbs"), "participles"))
    return frozenset(listed | set(adjective_kinds()) | words("common"))


@cache
def _command_words() -> frozenset[str]:
    verbs = (verb for name in lists_in("verbs") for verb in words(name))
    return frozenset(verb for verb in verbs if " " not in verb and len(verb) > 2)


@cache
def _keywords() -> frozenset[str]:
    return frozenset(word for word in _words_in(KEYWORDS) if len(word) > 4 and word.isalpha())


def _words_in(lists: Sequence[str]) -> set[str]:
    """The single words of all entries of these lists."""
    return {word for name in lists for entry in words(name) for word in entry.split()}


def _nearest(word: str, vocabulary: frozenset[str], same_letters: bool = False) -> str | None:
    """The only word within one edit, or two for long words, that begins alike.

    With `same_letters`, letters may be missing, doubled or swapped, but not be others: "greek" is not "green".
    """
    allowed = 1 if len(word) < 8 else 2
    near = [
        (distance, other)
        for other in vocabulary
        if other[0] == word[0] and abs(len(other) - len(word)) <= allowed and len(other) > 3
        if singular(word) != singular(other)
        if not same_letters or set(word) <= set(other)
        for distance in [edit_distance(word, other)]
        if distance <= allowed
    ]
    closest = [other for distance, other in near if distance == min(near)[0]]
    return closest[0] if len(closest) == 1 else None


def edit_distance(one: str, other: str) -> int:
    """Letters to insert, delete, change or swap with a neighbor, to get from one word to the other.

    >>> edit_distance("repalce", "replace"), edit_distance("backgroud", "background")
    (1, 1)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
