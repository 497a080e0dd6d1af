"""English for messages: articles, plurals, counts and lists; text that is safe for terminals and CSV files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

A_PREFIXES = ("uni", "use", "usu", "ute", "uti", "uto", "ura", "eu", "ewe", "one", "once", "ukulele", "ufo", "u-")
AN_PREFIXES = ("unin", "unim", "unid", "hour", "honest", "honor", "honour", "heir", "suv", "x-ray", "8")
"""Prefixes whose sound differs from their first letter; the longest match wins."""
_ARTICLES = {**dict.fromkeys(A_PREFIXES, "a"), **dict.fromkeys(AN_PREFIXES, "an")}

IRREGULAR_PLURALS = {"person": "people", "knife": "knives", "mouse": "mice", "sheep": "sheep", "skis": "skis"}
ALWAYS_PLURAL = frozenset({"scissors", "skis"})
SINGULAR_ENDINGS = ("ss", "us", "is")
"""Endings of singular nouns in -s."""

TERMINAL_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colors, cursor, screen
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links, clipboard
    r"|[^\[\]PX^_])?"
)
COLOR = re.compile(r"\x1b\[[0-9;]*m")
LINE_SEPARATORS = re.compile("[\x0b\x0c\x1c-\x1e\x85]")
BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of text, which can make one name look like another."""
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""Beginning of a cell that spreadsheets evaluate, possibly escaped."""


def article(phrase: str) -> str:
    """Return the indefinite article of a phrase, "a" or "an".

    >>> [article(word) for word in ("umbrella", "uniform", "hourglass", "éclair", "<owl-toy>", "*")]
    ['an', 'a', 'an', 'an', 'an', 'a']
    """
    start = re.sub(r"^[\W_]+", "", unicodedata.normalize("NFKD", phrase)).lower()
    prefix = max((prefix for prefix in _ARTICLES if start.startswith(prefix)), key=len, default=None)
    if prefix is not None:
        return _ARTICLES[prefix]
    return "an" if start.startswith(("a", "e", "i", "o", "u")) else "a"


def none_detected(noun: str) -> str:
    """Return a clause that says that no such object is seen.

    >>> none_detected("dog"), none_detected("surfboards")
    ('no dog is seen', 'no surfboards are seen')
    """
    return f"no {noun} {'are' if is_plural(noun) else 'is'} seen"


def is_plural(noun: str) -> bool:
    """Return whether a noun looks like a plural.

    >>> [is_plural(noun) for noun in ("books", "skis", "wine glass", "bus")]
    [True, True, False, False]
    """
    return noun in ALWAYS_PLURAL or (noun.endswith("s") and not noun.endswith(SINGULAR_ENDINGS))


def with_article(noun: str) -> str:
    """Prefix a noun with "a" or "an", unless it is a plural.

    >>> [with_article(noun) for noun in ("wine glass", "orange", "books", "unicorn", "scissors")]
    ['a wine glass', 'an orange', 'books', 'a unicorn', 'scissors']
    """
    return noun if is_plural(noun) else f"{article(noun)} {noun}"


def plural(noun: str) -> str:
    """Return the plural of a singular noun.

    >>> plural("person"), plural("couch"), plural("orange"), plural("teddy bear"), plural("story")
    ('people', 'couches', 'oranges', 'teddy bears', 'stories')
    """
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def to_gerund(phrase: str) -> str:
    """Return a phrase with its first word, a verb, in the -ing form.

    >>> [to_gerund(verb) for verb in ("sit", "stand up", "ride", "lie", "see", "grin", "sing", "juggling")]
    ['sitting', 'standing up', 'riding', 'lying', 'seeing', 'grinning', 'singing', 'juggling']
    """
    verb, space, complement = phrase.partition(" ")
    return f"{_gerund(verb)}{space}{complement}"


def _gerund(verb: str) -> str:
    if re.search(r"[aeiouy].*ing$", verb, re.IGNORECASE):  # already a gerund
        return verb
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if re.search(r"[^aeoy]e$", verb) and len(verb) > 2:
        return f"{verb[:-1]}ing"
    if re.fullmatch(r"(qu|[^aeiou])*[aeiou][bdglmnprt]", verb, re.IGNORECASE):  # one short syllable
        return f"{verb}{verb[-1]}ing"
    return f"{verb}ing"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1.

    >>> format_count(1, "edit"), format_count(1200, "source image")
    ('1 edit', '1,200 source images')
    """
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def printable(text: str, *, colors: bool = False) -> str:
    r"""Remove terminal sequences and control characters, except line feeds, tabs and, on request, colors.

    Other control characters that separate lines become spaces, so that words stay apart.

    >>> printable("\x1b[31mred\x1b[0m \u202egnp.exe\tok\n"), printable("one\x0btwo")
    ('red gnp.exe\tok\n', 'one two')
    """
    if text.isascii() and text.isprintable():
        return text
    if colors:
        parts = [printable(part) for part in COLOR.split(text)]
        sequences = [*COLOR.findall(text), ""]
        return "".join(part + sequence for part, sequence in zip(parts, sequences, strict=True))
    without_sequences = LINE_SEPARATORS.sub(" ", TERMINAL_SEQUENCE.sub("", text))
    return "".join(
        char
        for char in without_sequences
        if char in "\n\t" or (char not in BIDI_CONTROLS and unicodedata.category(char) not in {"Cc", "Cs"})
    )


def as_utf8(text: str) -> str:
    r"""Escape characters that UTF-8 cannot encode, such as undecodable bytes of a file name.

    >>> as_utf8("caf\udce9.png")
    'caf\\udce9.png'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def csv_text(text: str) -> str:
    """Escape text for a CSV cell, because spreadsheets evaluate text that begins with =, +, - or @.

    >>> csv_text("=HYPERLINK(0)"), csv_text("a cat"), from_csv_text(csv_text("'-1"))
    ("'=HYPERLINK(0)", 'a cat', "'-1")
    """
    return f"'{text}" if FORMULA.match(text) else text


def from_csv_text(cell: str) -> str:
    """Return the original text of a cell that `csv_text` escaped."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Join words into an enumeration.

    >>> join_words(["a"]), join_words(["a", "b"]), join_words(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b or c')
    """
    *leading, last = words
    return f"{', '.join(leading)} {conjunction} {last}" if leading else last


def edit_distance(first: str, second: str) -> int:
    """Return the number of insertions, deletions, substitutions and adjacent swaps (optimal string alignment).

    >>> edit_distance("repalce", "replace"), edit_distance("backgroud", "background")
    (1, 1)
    """
    previous: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        before_previous, previous, row = previous, row, [i]
        for j, b in enumerate(second, start=1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and b == first[i - 2]:
                cost = min(cost, before_previous[j - 2] + 1)
            row.append(cost)
    return row[-1]
