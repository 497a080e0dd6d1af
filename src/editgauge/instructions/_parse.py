"""Parsing an instruction or a target caption into steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from editgauge._util.text import printable
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError
from editgauge.instructions._captions import caption_objects, compare_captions, is_caption, read_caption
from editgauge.instructions._chinese import is_chinese, parse_chinese
from editgauge.instructions._english import MissingParserError
from editgauge.instructions._lexicon import (
    action_base,
    is_function_word,
    known_kind,
    lists_in,
    match,
    mentions,
    singular,
    words,
)
from editgauge.instructions._parser import parse_clause
from editgauge.instructions._requests import ClauseRequest, split_requests
from editgauge.instructions._rules import mention, read_fragment, read_request
from editgauge.instructions._steps import NOT_UNDERSTOOD, Discourse, alternatives
from editgauge.instructions._words import MAX_WORDS, Word, tokenize
from editgauge.types import ParsedInstruction, ParsedStep

_LATIN = range(0x250)
_MAX_NAME_WORDS = 5
_MAX_SURE_WORDS = 14
_PERSONAL = frozenset({"i", "me", "my", "we", "us", "our"})
_MAX_IGNORED = 1
"""Content words that a sure parse may leave out; with two, one in seven was right (150 labeled instructions)."""


def parse_instruction(
    text: str, source_caption: str | None = None, target_caption: str | None = None, form: str | None = None
) -> ParsedInstruction:
    """Parse an instruction, or a target caption, into steps.

    Args:
        text: the instruction, or a caption of the edited image.
        source_caption: what the source image shows; pronouns are resolved from it.
        target_caption: what the edited image should show.
        form: `caption` if the text is a target caption; detected by default.

    Example:
        >>> parse_instruction("Could you replace the sofa with a red chair?").steps[0].to
        'red chair'

    """
    text = printable(text or "")
    if not text.strip():
        raise BadInputError(
            "The instruction is empty. Say in words what should change, such as 'add a hat to the dog'."
        )
    if is_chinese(text):
        return parse_chinese(text)
    if problem := _unreadable(text):
        return ParsedInstruction((ParsedStep(type=NOT_UNDERSTOOD),), "rules", problem)
    try:
        return _parse_english(text, source_caption, target_caption, form)
    except MissingParserError as error:
        return ParsedInstruction((ParsedStep(type=NOT_UNDERSTOOD),), "rules", f"{text.strip()} ({error})")


@lru_cache(maxsize=4096)
def _parse_english(
    text: str, source_caption: str | None, target_caption: str | None, form: str | None
) -> ParsedInstruction:
    tokens = tokenize(text)
    as_caption = form is not None and "caption" in form
    if not as_caption:
        clauses = split_requests(tokens)
        if not clauses:
            return ParsedInstruction(
                (ParsedStep(type=NOT_UNDERSTOOD),), "rules", f"{text.strip()} (asks for no change)"
            )
        is_fragment = (
            len(clauses) == 1 and clauses[0].kind in {"statement", "description"} and _opens_fragment(clauses[0].words)
        )
        if is_fragment and form is None and (steps := read_fragment(clauses[0].words, Discourse())):
            return _finished(steps, [], clauses, source_caption, target_caption)
        asks = any(request.kind in {"command", "wish", "question"} for request in clauses)
        if asks or not is_caption(clauses[0].words):
            return _parse_requests(clauses, source_caption, target_caption)
    if source_caption and (compared := compare_captions(source_caption, text)):
        return ParsedInstruction(tuple(compared), "captions")
    step = read_caption(tokens)
    if (not as_caption and _is_bare(tokens, step)) or step.type == NOT_UNDERSTOOD:
        return ParsedInstruction((step if as_caption else ParsedStep(type=NOT_UNDERSTOOD),), "rules", text.strip())
    return ParsedInstruction((step,), "rules")


def _opens_fragment(words_: Sequence[Word]) -> bool:
    """Tell whether a text begins with a noun without an article, or is short: "hat on the dog"."""
    opening = words_[0] if words_ else Word("")
    has_article = opening in words("definite") | words("pronouns") | {"a", "an", "there", "no", "more", "less", "fewer"}
    is_command = len(words_) > 1 and words_[1] in words("definite")
    return (not has_article or "for" in words_) and not is_command


def _is_bare(tokens: Sequence[Word], step: ParsedStep) -> bool:
    """Tell whether a name without an article is neither a request nor a caption: "sunset"."""
    has_article = tokens[0] in words("indefinite") | words("numbers") or (len(tokens) > 1 and tokens[1] == "of")
    return step.type == "object_replacement" and not has_article


def _parse_requests(requests: list[ClauseRequest], source: str | None, target: str | None) -> ParsedInstruction:
    context = Discourse(caption=caption_objects(source))
    steps: list[ParsedStep] = []
    left: list[str] = []
    only_describes = all(request.kind == "description" for request in requests)
    for request in requests:
        if request.kind == "description" and not only_describes:
            mention(request, context)
            continue
        new = read_request(request, context)
        if not new or _adds_its_verb(new, request.words):
            left.append(request.text)
        else:
            steps = _merged(steps, new, request.words)
    return _finished(steps, left, requests, source, target)


def _adds_its_verb(steps: Sequence[ParsedStep], clause: Sequence[Word]) -> bool:
    """Tell whether the verb was taken for the object, as in "add next to the cat"."""
    if not any(match(verbs, clause, 0) for verbs in lists_in("verbs")):
        return False
    return any(step.to == clause[0] for step in steps if EDIT_TYPES[step.type].effect == "adds")


def _merged(steps: list[ParsedStep], new: list[ParsedStep], clause: Sequence[Word]) -> list[ParsedStep]:
    """Join the steps of a clause: "remove the cup and put a plate in its place" is one replacement."""
    follows_removal = bool(steps) and len(new) == 1 and "removal" in steps[-1].type
    if follows_removal and new[0].from_ == steps[-1].subject:
        return [*steps[:-1], new[0]]
    comes = new[0].to if "addition" in new[0].type else None
    if follows_removal and comes and (mentions("in_its_place", clause) or clause[-1] == "there"):
        old = steps[-1].subject
        merged = replace(new[0], type="object_replacement", subject=old, from_=old, position=None, sure=True)
        return [*steps[:-1], merged]
    return [*steps, *new]


def _finished(
    steps: list[ParsedStep], left: list[str], requests: Sequence[ClauseRequest], source: str | None, target: str | None
) -> ParsedInstruction:
    """Complete the steps from the captions where the instruction leaves something open."""
    if not steps and source and target and (compared := compare_captions(source, target)):
        return ParsedInstruction(tuple(compared), "captions", "; ".join(left))
    if not steps:
        return ParsedInstruction((ParsedStep(type=NOT_UNDERSTOOD),), "rules", "; ".join(left))
    if source and target:
        steps = [_settled(_recolored(step, source, target), source, target) for step in steps]
        if any(_is_open(step) for step in steps):
            steps = _completed(steps, compare_captions(source, target))
    if left or _is_doubtful(requests) or _ignored(requests, steps) > _MAX_IGNORED:
        steps = [replace(step, sure=False) for step in steps]
    steps = [replace(step, sure=step.sure and _is_plausible(step)) for step in steps]
    steps = [replace(step, also=alternatives(step)) for step in steps]
    unread = [step.to or step.subject or "" for step in steps if step.type == NOT_UNDERSTOOD]
    return ParsedInstruction(tuple(steps), "rules", "; ".join(filter(None, [*left, *unread])))


def _is_plausible(step: ParsedStep) -> bool:
    """Tell whether names are short and an activity is a listed verb: else the parser likely went wrong."""
    names = [step.subject, step.to if step.type in {"object_addition", "object_replacement"} else None]
    if any(len(name.split()) > _MAX_NAME_WORDS for name in names if name):
        return False
    if step.type == "action" and step.to:
        first = step.to.split()[0]
        return action_base(first) is not None or known_kind(first) is not None or step.to in words("states")
    return step.subject != step.to or not step.to


def _is_doubtful(requests: Sequence[ClauseRequest]) -> bool:
    """Tell whether the form of a text makes a wrong type likely.

    Wishes, personal talk, long texts and respelled words hold most errors on labeled instructions.
    """
    kinds = {request.kind for request in requests}
    if "wish" in kinds or ("description" in kinds and len(kinds) > 1):
        return True
    tokens = [word for request in requests for word in request.words if not word.quoted]
    is_respelled = any(word.isalpha() and word != word.raw.casefold() for word in tokens)
    return is_respelled or len(tokens) > _MAX_SURE_WORDS or bool(_PERSONAL & set(tokens))


def _ignored(requests: Sequence[ClauseRequest], steps: Sequence[ParsedStep]) -> int:
    """Count the nouns, verbs and adjectives of the requests that no step and no word list accounts for."""
    fields = [
        value
        for step in steps
        for value in (step.subject, step.from_, step.to, step.position and step.position.anchor, *step.attributes)
        if value
    ]
    stems = {singular(word.strip("'"))[:3] for value in fields for word in value.casefold().replace("'s", "").split()}
    clauses = [parse_clause(request.words, command=request.kind == "command") for request in requests]
    return sum(
        word.tag[:2] in {"NN", "VB", "JJ"} and not word.quoted and not _is_accounted(word, clause, stems)
        for request, clause in zip(requests, clauses, strict=True)
        if request.kind != "description"
        for word in clause
    )


def _is_accounted(word: Word, clause: Sequence[Word], stems: set[str]) -> bool:
    """Tell whether a word shapes the request, is in a field, or modifies a noun that is."""
    if is_function_word(word) or singular(str(word))[:3] in stems:
        return True
    head = clause[word.head] if 0 <= word.head < len(clause) else word
    is_modifier = word.dep in {"amod", "compound", "pobj", "prep", "acl", "relcl", "dobj", "poss", "conj"}
    return is_modifier and head is not word and head.dep != "ROOT" and _is_accounted(head, clause, stems)


def _recolored(step: ParsedStep, source: str, target: str) -> ParsedStep:
    """Take a color from the captions: one that is left open, or of "a blue jet" where a jet turns blue."""
    before, after = (_colors(caption) for caption in (source, target))
    fresh = [pair for pair in after if pair not in before]
    if step.type == "color" and step.subject and not step.to:
        noun = singular(step.subject.split()[-1])
        old = next((color for color, named in before if singular(named) == noun), None)
        new = next((color for color, named in fresh if singular(named) == noun), None)
        return replace(step, from_=step.from_ or (old if new else None), to=new)
    if step.type != "object_addition" or step.subject or step.position is not None or not step.to:
        return step
    source_nouns = {singular(str(word)) for word in tokenize(source)}
    for color, noun in fresh:
        if color in step.attributes and singular(noun) in source_nouns:
            subject = " ".join(word for word in step.to.split() if word != color)
            return ParsedStep(type="color", subject=subject, to=color)
    return step


def _settled(step: ParsedStep, source: str, target: str) -> ParsedStep:
    """Decide by the captions whether "it should be a pizza on the tray" adds or replaces an object."""
    if step.type != "object_replacement" or step.sure or not step.to:
        return step
    before, after = caption_objects(source), caption_objects(target)
    heads_before, heads_after = ({singular(phrase.head) for phrase in phrases} for phrases in (before, after))
    is_new = {singular(word) for word in step.to.split()} & (heads_after - heads_before)
    if is_new:
        gone = [phrase.without(phrase.adjectives).name for phrase in before if singular(phrase.head) not in heads_after]
    else:
        compared = compare_captions(source, target)
        gone = [other.from_ for other in compared if other.to == step.to and other.from_]
    if len(gone) == 1:
        return replace(step, subject=gone[0], from_=gone[0])
    if is_new and not gone:
        return replace(step, type="object_addition", subject=None, from_=None)
    return step


def _colors(caption: str) -> list[tuple[str, str]]:
    """Return the colors that a caption names, each with the nouns that it may describe."""
    return [
        (str(color), str(noun))
        for phrase in caption_objects(caption)
        for at, color in enumerate(phrase.words)
        if color in words("colors")
        for noun in phrase.words[at + 1 :]
    ]


def _is_open(step: ParsedStep) -> bool:
    needs_to = step.type not in {"object_removal", "single_instance_removal", NOT_UNDERSTOOD}
    return (needs_to and not step.to) or (step.type == "object_replacement" and not step.from_)


def _completed(steps: list[ParsedStep], compared: Sequence[ParsedStep]) -> list[ParsedStep]:
    by_type = {step.type: step for step in reversed(compared)}
    return [
        replace(step, subject=step.subject or other.subject, from_=step.from_ or other.from_, to=step.to or other.to)
        if _is_open(step) and (other := by_type.get(step.type))
        else step
        for step in steps
    ]


def _unreadable(text: str) -> str:
    """Return why a text cannot be parsed at all; empty if it can."""
    letters = [sign for sign in text if sign.isalpha()]
    short = text.strip() if len(text.strip()) <= 60 else f"{text.strip()[:57]}..."
    if not letters:
        return f"'{short}' holds no words"
    if sum(ord(sign) not in _LATIN for sign in letters) > len(letters) / 2:
        how = "the rules read English and some Chinese: use a judge, or give the edit type with its fields"
        return f"'{short}' is not in the Latin alphabet; {how}"
    count = len(text.split())
    return f"the text has {count:,} words; an instruction of at most {MAX_WORDS} is read" if count > MAX_WORDS else ""
