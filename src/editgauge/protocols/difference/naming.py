"""The objects in a stretch of words: without articles, and without what only says where or which."""

from __future__ import annotations

import re
from collections.abc import Iterator

from editgauge.models.vocabulary.phrases import plain_words, without_what_follows

_DETERMINED = r"(?:the|a|an|some|another|his|her|its|their|one|two|three|four|five|six|several|many|more)"
_NEXT = re.compile(rf",? and (?={_DETERMINED} )|, (?={_DETERMINED} )")
_FIRST_WORDS = frozenset(
    ("small", "other", "new", "extra", "additional", "few", "of", "part", "parts", "portion", "most", "only", "what")
)
"""Before an object these tell which, or how much of it."""
_FURTHER = re.compile(rf"(?<=\w) \w+ing (?={_DETERMINED}\b|(?:in|on|at|down|up|to|from|through|near|next)\b)| next to ")
_SHOWN = re.compile(
    r"^(?:there (?:is|are|was|were) )?(?:now )?(?:(?:the|a|an) )?(?:close-up )?(?:(?:image|view|close-up|photo) of )?"
)
_PRONOUNS = frozenset(("it", "they", "them", "this", "that", "there", "which", "who", "he", "she", "one"))
_NO_OBJECT = _PRONOUNS | {"image", "scene", "nothing", "none"}
LONGEST = 6
"""Words of an object; what is longer is a sentence that was taken for one."""


def things(words: str) -> Iterator[str]:
    """The objects of an enumeration, each by its name.

    >>> list(things("a red and white can, two spoons and the plate on the table"))
    ['red and white can', 'spoons', 'plate']
    """
    for part in _NEXT.split(words):
        name = named(part)
        if name:
            yield name


def named(words: str) -> str | None:
    """The object that a phrase names; None where it names none.

    >>> named("the small dog that sits on the couch"), named("it")
    ('dog', None)
    """
    kept_words = plain_words(_FURTHER.split(_SHOWN.sub("", words).split(",")[0])[0])
    while len(kept_words) > 1 and kept_words[0] in _FIRST_WORDS:
        kept_words = plain_words(" ".join(kept_words[1:]))
    if not kept_words or kept_words[0] == "no":
        return None
    kept = without_what_follows(kept_words)[-LONGEST:]
    return None if not kept or set(kept) <= _NO_OBJECT else " ".join(kept)


def head(name: str) -> str:
    """The noun of a name.

    >>> head("bottle of wine"), head("light brown curtain")
    ('bottle', 'curtain')
    """
    return name.split(" of ")[0].split()[-1]
