"""Splitting a text into requests: politeness, reasons and requests to keep something are dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from editgauge.instructions._lexicon import is_activity, lists_in, match, match_any, words
from editgauge.instructions._parser import parse_clause
from editgauge.instructions._words import Word, skip, token_at

Kind = Literal["command", "wish", "question", "statement", "description"]
_ENDS = frozenset(".;!?")
_JOINTS = frozenset({"and", ",", "then", "but", "plus", ":", "so"})
_AMOUNTS = frozenset({"less", "fewer", "more", "no"})
_OBLIGATION = frozenset({"should", "must", "could", "needs", "need", "ought", "would", "now", "can", "shall"})
_COPULAS = frozenset(
    {
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "looks",
        "look",
        "seems",
        "'s",
        "'re",
        "'m",
        "am",
        "like",
        "likes",
        "hate",
    }
)
_UNCHANGED = frozenset({"same", "unchanged", "intact", "alone", "is", "original", "untouched", "else", "before"})
_DETERMINERS = words("definite") | words("indefinite") | words("pronouns")
_BEFORE_KERNELS = frozenset(
    {
        "to",
        "could",
        "can",
        "would",
        "please",
        "someone",
        "somebody",
        "anyone",
        "wanna",
        "you",
        "gonna",
        "and",
        "help",
        "with",
    }
)
_PURPOSEFUL = frozenset({"make", "change", "edit", "modify", "alter", "adjust", "update", "move", "rotate", "turn"})
"""Verbs that say what happens in a clause of purpose: "change the sign so that it reads EXIT"."""
_CORE_VERBS = frozenset(
    {
        "make",
        "remove",
        "add",
        "replace",
        "put",
        "delete",
        "change",
        "erase",
        "swap",
        "place",
        "draw",
        "insert",
        "turn",
        "get",
        "give",
        "take",
    }
)


@dataclass(frozen=True, slots=True)
class ClauseRequest:
    """A clause with the form of what it asks for."""

    kind: Kind
    words: list[Word]

    @property
    def text(self) -> str:
        """The clause as written."""
        return " ".join(word.raw for word in self.words)


def split_requests(tokens: Sequence[Word]) -> list[ClauseRequest]:
    """Return the requests of a text in order, without those that only say what must stay.

    >>> from editgauge.instructions._words import tokenize
    >>> [request.text for request in split_requests(tokenize("Please remove the tent. Don't touch the sky."))]
    ['remove the tent']
    """
    pieces: list[list[Word]] = [[]]
    joined = [False]
    for at, token in enumerate(tokens):
        if token in _ENDS or _splits(tokens, at, pieces[-1]):
            pieces.append([] if token in _ENDS | _JOINTS or token == "a" else [token])
            joined.append(token == "and")
            if token == "so" and classify(pieces[-2]).kind in {"wish", "statement"}:
                pieces[-2] = []  # a reason: "I need a photo for work, so ..."
        elif token == ":" and (
            len(pieces[-1]) <= 3 or match_any(lists_in("verbs"), tokens, at + 1)[1]
        ):  # "Request: ..."
            pieces[-1].clear()
        else:
            pieces[-1].append(token)
    requests: list[ClauseRequest] = []
    for piece, is_joined in zip(pieces, joined, strict=True):
        clause = _without_purpose(_without_closers(piece))
        if not clause or keeps(clause) or _is_polite(clause):
            continue
        request = classify(clause)
        if request.kind == "description" and is_joined and requests and requests[-1].kind != "description":
            request = replace(request, kind="statement")  # "I wish the sofa was green and there were plants"
        requests.append(request)
    return requests


def _is_polite(clause: Sequence[Word]) -> bool:
    return all(word in words("polite") or word.isdigit() for word in clause) and not any(
        match("wishes", clause, at) for at in range(len(clause))
    )


def _splits(tokens: Sequence[Word], at: int, piece: Sequence[Word]) -> bool:
    """Tell whether a new clause begins at or after a word."""
    token, following = tokens[at], token_at(tokens, at + 1)
    if token == "a" and following in {"put", "add", "place"}:  # a misspelled "and"
        return True
    if token in _JOINTS and not (token == "," and match("instead", piece)):
        return _begins_clause(tokens, at + 1) and not _says_how(piece)
    run_on = token in _CORE_VERBS and following in _DETERMINERS and len(piece) > 2 and piece[-1] not in words("polite")
    return run_on and classify(list(piece)).kind == "description"


def _begins_clause(tokens: Sequence[Word], at: int) -> bool:
    at = skip(tokens, words("polite") - {"let", "could", "can", "would", "i", "we", "it", "there"}, at)
    if at >= len(tokens):
        return False
    if match_any(("keep", "wishes"), tokens, at)[1] or tokens[at] in {"let", "could", "can", "would", "may", "might"}:
        return True
    if tokens[0] in _AMOUNTS and tokens[at] in _AMOUNTS:  # "less rice and more beans"
        return True
    _, length = match_any((*lists_in("verbs"), "openers"), tokens, at)
    if not length:
        return _is_statement(tokens, at)
    if tokens[at] not in words("verbs_or_nouns") or length > 1:
        return True
    return token_at(tokens, at + length) in _DETERMINERS


def _is_statement(tokens: Sequence[Word], at: int) -> bool:
    """Tell whether a subject and a finite verb follow another finite verb: "..., the dog is gone"."""
    if tokens[at] not in words("definite") | {"a", "an", "there", "it", "i", "we", "they"}:
        return False
    for token in tokens[at + 1 : at + 6]:
        if token in _ENDS or token in _JOINTS:
            return False
        if token in _COPULAS | _OBLIGATION | {"want", "wish"}:
            return any(earlier in _COPULAS | _OBLIGATION | {"be"} for earlier in tokens[:at])
    return False


def _says_how(clause: Sequence[Word]) -> bool:
    """Tell whether "by removing ..." began: what follows belongs to the same request."""
    return any(token == "by" and is_activity(token_at(clause, at + 1)) for at, token in enumerate(clause))


def classify(clause: list[Word]) -> ClauseRequest:
    """Find the request behind words of politeness."""
    clause = _unfronted(clause)
    at = begin = 0
    if (
        wish_at := next((at for at in range(len(clause)) if list(clause[at : at + 3]) == ["wants", "to", "see"]), None)
    ) is not None:
        return ClauseRequest("wish", clause[wish_at + 3 :])
    if "if" in clause[2:] and clause[0] in {"i", "we", "it"}:  # "it would look better if", "I'd love it if"
        inner = classify(clause[list(clause).index(Word("if")) + 1 :])
        return inner if inner.kind == "command" else ClauseRequest("wish", inner.words)
    while at < len(clause):
        if wish := match("wishes", clause, at):
            remainder = clause[at + wish :]
            is_negated = clause[at] == "want" and bool({"n't", "not"} & set(clause[max(at - 2, 0) : at]))
            if is_negated:  # "I don't want the dog there"
                return ClauseRequest("command", [Word("remove"), *remainder])
            command = classify(remainder) if remainder else None
            return command if command and command.kind == "command" else ClauseRequest("wish", remainder)
        if opener := match("openers", clause, at):
            at = begin = at + opener
            continue
        if list(clause[at : at + 2]) in (["let", "'s"], ["let", "us"]):
            at += 2
            continue
        is_own = at == 1 and clause[0] in {"i", "we", "they", "you", "it"}  # "we have two cats"
        if match_any(lists_in("verbs"), clause, at)[1] and not is_own and not _is_label(clause, at):
            return ClauseRequest("command", clause[at:])
        if clause[at] not in words("polite") or list(clause[at : at + 2]) == ["instead", "of"]:
            break
        at += 1
    if (kernel := _kernel(clause)) is not None:
        return ClauseRequest("command", clause[kernel:])
    start = skip(
        clause,
        words("polite")
        - _OBLIGATION
        - {
            "will",
            "may",
            "might",
            "it",
            "i",
            "we",
            "you",
            "there",
            "be",
            "all",
            "everyone",
            "that",
            "someone",
            "somebody",
            "anyone",
            "instead",
            "is",
            "are",
            "what",
        },
        begin,
    )
    remainder = clause[start:]
    if remainder and remainder[0] in words("modals") - {"to", "need", "needs"}:
        return ClauseRequest("question", remainder)
    return ClauseRequest("description" if remainder and _is_finite(remainder) else "statement", remainder)


def _unfronted(clause: list[Word]) -> list[Word]:
    """Move a place in front of a command behind it: "on the table put an apple"."""
    if not clause or not match_any(lists_in("relations"), clause)[1]:
        return clause
    for at in range(2, len(clause) - 1):
        if clause[at] in _CORE_VERBS and clause[at + 1] in _DETERMINERS | words("numbers"):
            return [*clause[at:], *(word for word in clause[:at] if word != ",")]
    return clause


def _kernel(clause: list[Word]) -> int | None:
    """Return where a command begins inside a clause: "looking for someone to | change the background"."""
    if {"should", "must", "let"} & set(clause):
        return None
    for at in range(1, len(clause) - 1):
        length = match_any(lists_in("verbs"), clause, at)[1]
        follows = token_at(clause, at + length)
        if length and (follows in _DETERMINERS or follows.quoted) and clause[at - 1] in _BEFORE_KERNELS:
            return at
    return None


def _is_finite(clause: list[Word]) -> bool:
    """Tell whether a clause is a complete sentence about how things are: "my mom blinked"."""
    if clause[0] == "there" and token_at(clause, 1) in {"is", "are", "'s", "was", "were"}:
        return True
    if clause[0] in {"i", "we", "you"} and "see" in clause[1:4]:
        return True
    parsed = parse_clause(clause)
    if any(word.tag == "MD" or word in {"needs", "need", "now", "should", "must"} for word in parsed):
        return False
    root = next((word for word in parsed if word.dep == "ROOT"), None)
    if root is None or not any(
        word.head == root.order and word.dep in {"nsubj", "nsubjpass", "expl"} for word in parsed
    ):
        return False
    verbs = [root, *(word for word in parsed if word.head == root.order and word.dep in {"aux", "auxpass"})]
    return any(word.tag in {"VBD", "VBZ", "VBP"} for word in verbs)


def _is_label(clause: Sequence[Word], at: int) -> bool:
    """Tell whether "edit" or "photoshop" only names the request: "photoshop request: ..."."""
    return clause[at] in {"edit", "photoshop"} and token_at(clause, at + 1) not in _DETERMINERS


def _without_closers(clause: list[Word]) -> list[Word]:
    """Drop politeness at the end."""
    end = len(clause)
    while shorter := _before_closer(clause[:end]):
        end = shorter
    return clause[skip(clause[:end], {",", "and", "but", "then"}) : end]


def _before_closer(clause: Sequence[Word]) -> int:
    """Return the position of a polite phrase at the end of the clause; 0 if there is none."""
    end = len(clause)
    if end > 1 and clause[-1] in {",", "and", "but"}:
        return end - 1
    return next((at for at in range(1, end) if at + match("closers", clause, at) == end), 0)


def _without_purpose(clause: list[Word]) -> list[Word]:
    """Drop "so that ...", "while keeping ...", "without changing ..."."""
    for at in range(2, len(clause)):
        token, following = clause[at], token_at(clause, at + 1)
        is_contrast = token == "but" and "not" in clause[:at]
        is_purpose = (
            not (token == "so" and clause[0] in _PURPOSEFUL)
            and token in {"so", "because", "but", "such"}
            and following not in {"much", "in", "with", "as", "at"}
            and not (token == "so" and following not in words("definite") | words("pronouns") | {"that", "there"})
            and not is_contrast
        )
        keeps_rest = token in {"while", "without"} and is_activity(following) and following != "wearing"
        aims = (
            token == "to"
            and following == "make"
            and at > 2
            and match_any(lists_in("verbs"), clause)[1]
            and clause[0] not in {"change", "edit", "use"}
        )
        if is_purpose or keeps_rest or aims:
            return clause[:at]
    return clause


def keeps(clause: Sequence[Word]) -> bool:
    """Tell whether a clause only says what must stay as it is."""
    opening = list(clause[:2])
    if clause[0] in {"avoid", "preserve", "retain", "maintain", "never", "dont"} or opening in (
        ["do", "n't"],
        ["do", "not"],
    ):
        return True
    if opening == ["without", "changing"] or clause[0] == "keep":
        return True
    if clause[0] == "leave":
        return "out" not in clause
    return clause[0] == "everything" and bool(_UNCHANGED & set(clause))
