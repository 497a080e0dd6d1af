"""From tokens to clauses: politeness taken off, one request each, and what is to stay left out."""

from __future__ import annotations

from collections.abc import Sequence

from editgauge.instructions.lexicon import is_ing_verb, lists_in, match, match_any, words
from editgauge.instructions.things import read_thing
from editgauge.instructions.tokens import Token, skip, token_at

ENDS = frozenset(".;!?")
AMOUNTS = frozenset({"less", "fewer", "more", "no"})
JOINTS = frozenset({"and", ",", "then", "but", "&", "plus", ":"})


def split_clauses(tokens: Sequence[Token]) -> list[list[Token]]:
    """The clauses in their order; those that only say what must stay are left out.

    >>> from editgauge.instructions.tokens import tokenize
    >>> split_clauses(tokenize("Please remove the tent and add a bonfire, but don't touch the sky."))
    [['remove', 'the', 'tent'], ['add', 'a', 'bonfire']]
    """
    pieces: list[list[Token]] = [[]]
    for at, token in enumerate(tokens):
        mistyped = token == "a" and at + 1 < len(tokens) and tokens[at + 1] in {"put", "add", "place"}  # for "and put"
        joint = token in JOINTS and _begins_clause(tokens, at + 1) and not _tells_how(pieces[-1])
        if token in ENDS or mistyped or joint:
            pieces.append([])
        else:
            pieces[-1].append(token)
    clauses = [part for piece in pieces for part in _regained(_without_purpose(_trimmed(piece)))]
    return [clause for clause in clauses if clause and not keeps(clause)]


def _begins_clause(tokens: Sequence[Token], at: int) -> bool:
    at = skip(tokens, {"then", "also", "and", "please", ",", "finally", "now", "just"}, at)
    if at >= len(tokens):
        return False
    if match_any(("keep", "wishes"), tokens, at)[1] or tokens[at] in {"let's", "let", "could", "can"}:
        return True
    if tokens[0] in AMOUNTS and tokens[at] in AMOUNTS:  # "less rice and more beans"
        return True
    _, length = match_any(lists_in("verbs"), tokens, at)
    if not length:
        return _is_statement(tokens, at)
    if tokens[at] not in words("verbs_or_nouns") or length > 1:
        return True
    return token_at(tokens, at + length) in words("definite") | words("indefinite") | words("pronouns")


def _is_statement(tokens: Sequence[Token], at: int) -> bool:
    """An article, a name and a finite verb: "the dog is gone"."""
    if tokens[at] not in words("definite") | {"a", "an", "there"}:
        return False
    for here in range(at + 1, min(at + 6, len(tokens))):
        if tokens[here] in ENDS or tokens[here] in JOINTS:
            return False
        if tokens[here] in {"is", "are", "should", "must", "was", "were", "has", "could"}:
            earlier = tokens[:at]
            return any(word in {"is", "are", "should", "must", "was", "were", "has", "could", "be"} for word in earlier)
    return False


def _tells_how(clause: Sequence[Token]) -> bool:
    """ "edit the background by removing …": what follows belongs to the same request."""
    return any(token == "by" and is_ing_verb(clause[at + 1]) for at, token in enumerate(clause[:-1]))


def _regained(clause: list[Token]) -> list[list[Token]]:
    """Two clauses that share one verb: "make the cat black and the dog white"."""
    if not clause or clause[0] not in {"make", "turn", "paint", "let", "color", "colour", "dye", "have", "change"}:
        return [clause]
    for at in range(3, len(clause) - 2):
        if clause[at] == "and" and clause[at + 1] in words("definite") | words("indefinite"):
            first, second = clause[:at], [clause[0], *clause[at + 1 :]]
            if _has_predicate(first) and _has_predicate(second):
                return [first, *_regained(second)]
    return [clause]


def _has_predicate(clause: list[Token]) -> bool:
    """Is something said of the thing after the verb: "make the cat black"?"""
    _, end = read_thing(clause, 1, predicate=True)
    return end < len(clause) and clause[end] not in {"and", "of"}


def _trimmed(clause: list[Token]) -> list[Token]:
    """Without politeness at either end."""
    start = 0
    while start < len(clause):
        length = match("openers", clause, start)
        wish = match("wishes", clause, start)
        if clause[start] in {",", "and", "then"}:
            length = max(length, 1)
        if not length or wish >= length:
            break
        if clause[start] == "instead" and clause[start + 1 : start + 2] == ["of"]:
            break
        start += length
    end, closers = len(clause), sorted((entry.split() for entry in words("closers")), key=len, reverse=True)
    trimming = True
    while trimming:
        trimming = False
        for closer in closers:
            if end - start > len(closer) and clause[end - len(closer) : end] == closer:
                end -= len(closer)
                trimming = True
        if end > start and clause[end - 1] in {",", "and"}:
            end -= 1
            trimming = True
    return clause[start:end]


def _without_purpose(clause: list[Token]) -> list[Token]:
    """Without "so that …", "while keeping …", "without changing …"."""
    for at in range(1, len(clause)):
        following = token_at(clause, at + 1)
        if clause[at] == "but" and "not" in clause[:at]:
            continue
        if clause[at] in {"so", "because", "but", "such"} and at > 1 and following != "much":
            return clause[:at]
        if clause[at] in {"while", "without"} and is_ing_verb(following) and following not in {"wearing"}:
            return clause[:at]
        if clause[at] in {"to"} and following == "make" and at > 2 and clause[0] not in {"change", "edit", "use"}:
            return clause[:at]
    return clause


def keeps(clause: Sequence[Token]) -> bool:
    """Does the clause only say what must stay as it is?"""
    if clause[0] in {"don't", "dont", "avoid", "preserve", "retain", "maintain", "never"}:
        return True
    if list(clause[:2]) in (["do", "not"], ["but", "don't"], ["but", "keep"], ["without", "changing"]):
        return True
    is_kept = {"same", "unchanged", "intact", "alone", "is", "original", "untouched", "else", "before"}
    return clause[0] in {"keep", "leave", "everything"} and (bool(is_kept & set(clause)) or clause[0] == "keep")
