"""Text to words: quotations kept whole, contractions split, misspelled keywords corrected."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from functools import cache

from editgauge._util.text import edit_distance
from editgauge.instructions._english import is_english
from editgauge.instructions._lexicon import (
    CONTRACTION,
    action_base,
    adjective_kinds,
    lists_in,
    plain_lists,
    singular,
    table,
    words,
)

MAX_WORDS = 300
"""Longer texts are not parsed; an instruction has about a dozen words."""
MARKS = frozenset(",.;!?:")
_QUOTED = r"\"[^\"]+\"|“[^”]+”|«[^»]+»|「[^」]+」|(?<!\w)'[^']+'(?!\w)|`[^`]+`"
_WORD = r"\d+[.,:]\d+|[^\W_]+(?:[-'][^\W_]+)*'?"
_TOKEN = re.compile(rf"(?P<quoted>{_QUOTED})|(?P<word>{_WORD})|(?P<mark>[,.;!?:&])")
_NUMBERING = re.compile(r"(?:^|\s)\(?\d{1,2}[.)]\s+(?=[A-Za-z])")
_ASIDE = re.compile(r"\([^()\"]*\)|\[[^\[\]\"]*\]")
_ABBREVIATIONS = {"w/o": "without", "w/": "with ", "b&w": "black and white", "b/w": "black and white"}
_ABBREVIATED = re.compile(r"(?<!\w)(?:w/o|w/|b&w|b/w)", re.IGNORECASE)
_LABELED = re.compile(
    r"^\s*(?:change\s+)?((?:the\s+)?(?!request|edit|task|instruction|wish|note|title|prompt|step)[a-z]+)\s*:\s+",
    re.IGNORECASE,
)
"""A property with its new value: "Background: mountains"."""
_KEYWORDS = ("colors", "backgrounds", "instead", "relations.behind", "sizes")
"""Lists whose words are corrected when misspelled."""
_FILLERS = frozenset({"please", "pls", "plz", "kindly", "um", "umm", "uh", "er", "erm", "hmm", "alexa", "siri"})
_UNSPLIT = frozenset({"dont", "doesnt", "didnt", "isnt", "arent", "wont", "cant", "shouldnt", "wouldnt"})
_BEFORE_COMMANDS = frozenset({"and", "then", "please", ",", ".", "to", "you", "'s", "we"})


class Word(str):
    """A lower-case word with its place in the dependency tree.

    Attributes:
        raw: the word as written; for a quotation, the text inside the quotation marks.
        quoted: whether it is a quotation.
        order: position in its clause.
        tag: Penn Treebank part-of-speech tag; empty before parsing.
        dep: dependency label.
        head: index of the word that it depends on.

    """

    __slots__ = ("dep", "head", "order", "quoted", "raw", "tag")
    raw: str
    quoted: bool
    order: int
    tag: str
    dep: str
    head: int

    def __new__(cls, text: str, raw: str = "", *, quoted: bool = False) -> Word:
        """Create a word without dependencies."""
        word = super().__new__(cls, text)
        word.raw, word.quoted = raw or text, quoted
        word.order, word.tag, word.dep, word.head = -1, "", "", -1
        return word

    def placed(self, order: int, tag: str, dep: str, head: int) -> Word:
        """Return the word with its place in a dependency tree."""
        word = Word(self, self.raw, quoted=self.quoted)
        word.order, word.tag, word.dep, word.head = order, tag, dep, head
        return word


def text_of(tokens: Iterable[Word], *, raw: bool = False) -> str:
    """Join words to a text: in lower case except for quotations, or as written."""
    return " ".join(token.raw if raw or token.quoted else str(token) for token in tokens).replace(" 's", "'s")


def skip(tokens: Sequence[str], skipped: Container[str], start: int = 0) -> int:
    """Return the index of the first token from `start` on that is not in `skipped`; the end if there is none.

    >>> skip(["please", "just", "add"], {"please", "just"})
    2
    """
    return next((at for at in range(start, len(tokens)) if tokens[at] not in skipped), max(start, len(tokens)))


def token_at(tokens: Sequence[Word], index: int) -> Word:
    """Return the token at an index; an empty one after the end."""
    return tokens[index] if index < len(tokens) else Word("")


def tokenize(text: str) -> list[Word]:
    r"""Split a text into at most `MAX_WORDS` words.

    >>> tokenize('Make the man\'s sign say "OPEN".')
    ['make', 'the', 'man', "'s", 'sign', 'say', '"open"', '.']
    """
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'").replace("_", " ")
    plain = _ASIDE.sub(" ", _ABBREVIATED.sub(lambda match: _ABBREVIATIONS[match[0].lower()], plain))
    plain = _LABELED.sub(r"change \1 to ", _NUMBERING.sub(" . ", plain.replace("->", " to ").replace("→", " to ")))
    tokens: list[Word] = []
    for part in _TOKEN.finditer(plain):
        piece = part.group()
        if part["quoted"]:
            inner = piece[1:-1].strip(" ,.")
            tokens.append(Word(f'"{inner.casefold()}"', inner, quoted=True))
        elif part["mark"]:
            tokens.append(Word(piece.replace("&", "and")))
        elif piece.casefold() not in _FILLERS:
            tokens += _split(piece, tokens[-1] if tokens else "")
    tokens = _with_instead(tokens[:MAX_WORDS])
    return [_corrected(token, index, tokens) for index, token in enumerate(tokens)]


def _with_instead(tokens: list[Word]) -> list[Word]:
    """Write "white, not black" and "rather a bike than a car" with "instead of"."""
    instead = [Word("instead"), Word("of")]
    for at, token in enumerate(tokens[:-1]):
        after = tokens[at + 1]
        is_contrast = (
            token == "not" and tokens[at - 1] == "," and (after in {"a", "an", "the"} or after in adjective_kinds())
        )
        if is_contrast and at > 1:
            return [*tokens[: at - 1], *instead, *tokens[at + 1 :]]
        if token in {"than", "over"} and {"rather", "prefer"} & set(tokens[:at]):
            return [*(word for word in tokens[:at] if word != "rather"), *instead, *tokens[at + 1 :]]
    return tokens


def _split(piece: str, previous: str) -> list[Word]:
    """Split contractions as treebanks do; "it's" after a verb or a preposition is a misspelled "its"."""
    if piece.lower() == "it's" and (
        previous in _command_words() or previous in {"on", "in", "of", "to", "from", "with", "at"}
    ):
        return [Word("its", piece)]
    if piece.lower() in _UNSPLIT:
        piece = f"{piece[:-1]}'{piece[-1]}"
    if piece.endswith("'"):
        plural = piece[:-1]
        return [Word(plural.casefold(), plural), *([Word("'s", "'")] if plural.endswith("s") else [])]
    return [Word(part.casefold(), part) for part in CONTRACTION.sub(r" \1", piece).split()]


def _corrected(token: Word, index: int, tokens: Sequence[Word]) -> Word:
    """Correct a misspelled command at the beginning of a clause, or a misspelled word of `_KEYWORDS`."""
    if not token.quoted and token in words("mistyped"):
        return Word(table("mistyped")[token], token.raw)
    if token.quoted or len(token) < 4 or not token.isalpha() or _is_known(token) or is_english(str(token)):
        return token
    opens_clause = index == 0 or tokens[index - 1] in _BEFORE_COMMANDS
    near = _nearest(str(token), _command_words()) if opens_clause else None
    near = near or _nearest(str(token), _keywords(), same_letters=True)
    return Word(near, token.raw) if near else token


def _is_known(word: str) -> bool:
    return word in _vocabulary() or singular(word) in _vocabulary() or action_base(word) is not None


@cache
def _vocabulary() -> frozenset[str]:
    listed = _words_in((*_KEYWORDS, *plain_lists(), *lists_in("verbs"), "participles"))
    return frozenset(listed | set(adjective_kinds()) | words("common"))


@cache
def _command_words() -> frozenset[str]:
    verbs = (verb for name in lists_in("verbs") for verb in words(name))
    return frozenset(verb for verb in verbs if " " not in verb and len(verb) > 2)


@cache
def _keywords() -> frozenset[str]:
    return frozenset(word for word in _words_in(_KEYWORDS) if len(word) > 4 and word.isalpha())


def _words_in(lists: Sequence[str]) -> set[str]:
    return {word for name in lists for entry in words(name) for word in entry.split()}


def _nearest(word: str, vocabulary: frozenset[str], *, same_letters: bool = False) -> str | None:
    """Return the only word within one edit, or two for long words, with the same first letter.

    With `same_letters`, letters may be missing, doubled or swapped but not replaced: "greek" is not "green".
    """
    limit = 1 if len(word) < 8 else 2
    candidates = [
        (edit_distance(word, candidate), candidate)
        for candidate in vocabulary
        if candidate[0] == word[0] and abs(len(candidate) - len(word)) <= limit and len(candidate) > 3
        if singular(word) != singular(candidate)
        if not same_letters or set(word) <= set(candidate)
    ]
    nearest = min((distance for distance, _ in candidates), default=limit + 1)
    closest = [candidate for distance, candidate in candidates if distance == nearest <= limit]
    return closest[0] if len(closest) == 1 else None
