"""Dependency parses by spaCy's `en_core_web_sm`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from editgauge.instructions._english import english_pipeline
from editgauge.instructions._words import Word, tokenize

MODIFIERS = frozenset(
    {"det", "amod", "compound", "nummod", "poss", "nmod", "quantmod", "predet", "npadvmod", "case", "advmod"}
)
"""Labels of words before a noun that belong to its phrase."""
_LEAD = "please"
"""Read before a command: an imperative is then tagged as a verb in every labeled instruction."""
_QUOTATION = "Hello"
"""Stands for a quotation, whose own words would confuse the parser."""


def parse_clause(tokens: Sequence[Word], *, command: bool = False) -> list[Word]:
    """Return the words of a clause with their dependencies.

    Args:
        tokens: the words of one clause.
        command: whether it begins with an imperative.

    """
    lead = [_LEAD] if command else []
    texts = (
        *lead,
        *(_QUOTATION if token.quoted else token.raw if token.raw.lower() == token else str(token) for token in tokens),
    )
    parsed = _parse_texts(texts)[len(lead) :]
    return [
        token.placed(index, tag, dep, head - len(lead))
        for index, (token, (tag, dep, head)) in enumerate(zip(tokens, parsed, strict=True))
    ]


@lru_cache(maxsize=8192)
def _parse_texts(texts: tuple[str, ...]) -> tuple[tuple[str, str, int], ...]:
    pipeline = english_pipeline()  # before any other import of spaCy: it keeps torch out
    from spacy.tokens import Doc

    doc = pipeline(Doc(pipeline.vocab, words=[*texts, "."]))
    return tuple((token.tag_, token.dep_, token.head.i) for token in doc)[:-1]


def head_position(tokens: Sequence[Word], at: int) -> int:
    """Return the position among `tokens` of the word that the one at `at` depends on; -1 if it is none of them."""
    return next((position for position, token in enumerate(tokens) if token.order == tokens[at].head), -1)


def subtree_end(tokens: Sequence[Word], at: int) -> int:
    """Return the position after the last word that depends on the one at `at`, directly or not."""
    members, end = {tokens[at].order}, at + 1
    for _ in tokens:
        for position, token in enumerate(tokens):
            if token.head in members and token.order not in members:
                members.add(token.order)
                end = max(end, position + 1)
    return end


def explain_dependencies(text: str) -> str:
    """Return the requests of an English text with the dependency parse of each, one word per line.

    Raises:
        MissingParserError: if spaCy or its model is not on this machine.
    """
    from editgauge.instructions._requests import split_requests

    lines = []
    for request in split_requests(tokenize(text)):
        lines.append(f"{request.kind}: {request.text}")
        parsed = parse_clause(request.words, command=request.kind == "command")
        for word in parsed:
            head = parsed[word.head].raw if 0 <= word.head < len(parsed) and word.head != word.order else "-"
            lines.append(f"  {word.raw:<16} {word.tag:<5} {word.dep:<10} {head}")
    return "\n".join(lines)
