"""The verb `understand`: an instruction or a target caption, read into steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError
from editgauge.instructions.captions import caption_things, is_caption, read_caption
from editgauge.instructions.clauses import split_clauses
from editgauge.instructions.differences import compare_captions
from editgauge.instructions.grammar import read_clause
from editgauge.instructions.lexicon import lists_in, match, mentions, singular, words
from editgauge.instructions.steps import UNREAD, EarlierThings
from editgauge.instructions.tokens import LONGEST, Token, tokenize
from editgauge.types import Reading, Step

LATIN = range(0x250)


def understand(
    text: str, source_caption: str | None = None, target_caption: str | None = None, form: str | None = None
) -> Reading:
    """What an instruction, or a target caption, asks for.

    Args:
        text: the instruction, or a caption of the picture after the edit.
        source_caption: what the source image shows; pronouns are resolved from it.
        target_caption: what the edited image should show.
        form: `caption` when the text is a target caption; taken from the text itself when not given.

    >>> understand("Could you replace the sofa with a red chair?").steps[0].to
    'red chair'
    """
    reading = _understood(text, source_caption, target_caption, form)
    return replace(reading, steps=tuple(map(_spelled, reading.steps)))


def _spelled(step: Step) -> Step:
    """The step with possessives in one word again: "person's face"."""
    texts = {name: getattr(step, name) for name in ("subject", "from_", "to")}
    return replace(step, **{name: text.replace(" 's", "'s") for name, text in texts.items() if text and " 's" in text})


@lru_cache(maxsize=4096)
def _understood(text: str, source_caption: str | None, target_caption: str | None, form: str | None) -> Reading:
    if not text or not text.strip():
        raise BadInputError(
            "The instruction is empty. Say in words what should change, such as 'add a hat to the dog'."
        )
    problem = _unreadable(text)
    if problem:
        return Reading((Step(type=UNREAD),), "rules", problem)
    tokens = tokenize(text)
    things = caption_things(source_caption)
    context = EarlierThings(caption=things)
    steps: list[Step] = []
    left: list[str] = []
    as_caption = form is not None and "caption" in form
    if not as_caption:
        clauses = split_clauses(tokens)
        if not clauses:
            return Reading((Step(type=UNREAD),), "rules", f"{text.strip()} (asks for no change)")
        if not is_caption(clauses[0]):
            for clause in clauses:
                read_steps = read_clause(clause, context)
                merged = [] if _names_its_verb(read_steps, clause) else _merged(steps, read_steps, clause)
                if not merged:
                    left.append(" ".join(token.raw for token in clause))
                    continue
                steps = merged
            return _finished(steps, left, source_caption, target_caption)
    if source_caption:
        compared = compare_captions(source_caption, text)
        if compared:
            return Reading(tuple(compared), "captions")
    read = read_caption(tokens)
    if not as_caption and _is_bare(tokens, read[0]):
        return Reading((Step(type=UNREAD),), "rules", text.strip())
    return Reading(tuple(read), "rules", "" if read[0].type != UNREAD else text.strip())


def _is_bare(tokens: Sequence[Token], step: Step) -> bool:
    """A name without an article is neither a request nor a caption: "sunset"."""
    has_article = tokens[0] in words("indefinite") | words("numbers") or (len(tokens) > 1 and tokens[1] == "of")
    return step.type == "object_replacement" and not has_article


def _names_its_verb(steps: Sequence[Step], clause: Sequence[Token]) -> bool:
    """Was the verb taken for the thing, as in "add next to the cat", which does not say what?"""
    if not any(match(verbs, clause, 0) for verbs in lists_in("verbs")):
        return False
    return any(step.to == clause[0] for step in steps if EDIT_TYPES[step.type].effect == "adds")


def _merged(steps: list[Step], new: list[Step], clause: Sequence[Token]) -> list[Step]:
    """The steps so far with those of one more clause; empty when the clause was not read.

    "remove the cup and put a plate in its place" is one replacement.
    """
    if not new:
        return []
    takes_place = mentions("in_its_place", clause)
    if steps and len(new) == 1 and "removal" in steps[-1].type and new[0].from_ == steps[-1].subject:
        return [*steps[:-1], new[0]]
    if steps and takes_place and "removal" in steps[-1].type and len(new) == 1 and new[0].to:
        old = steps[-1].subject
        return [
            *steps[:-1],
            replace(new[0], type="object_replacement", subject=old, from_=old, position=None, sure=True),
        ]
    return [*steps, *new]


def _finished(steps: list[Step], left: list[str], source: str | None, target: str | None) -> Reading:
    """The reading, completed by the captions where the instruction leaves something open."""
    if not steps and source and target:
        compared = compare_captions(source, target)
        if compared:
            return Reading(tuple(compared), "captions", "; ".join(left))
    if not steps:
        return Reading((Step(type=UNREAD),), "rules", "; ".join(left))
    if source and target:
        steps = [_settled(_recolored(step, source, target), source, target) for step in steps]
    if source and target and any(_is_open(step) for step in steps):
        steps = _completed(steps, compare_captions(source, target))
    if left:
        steps = [replace(step, sure=False) for step in steps]
    unread = [step.to or step.subject or "" for step in steps if step.type == UNREAD]
    return Reading(tuple(steps), "rules", "; ".join(filter(None, [*left, *unread])))


def _recolored(step: Step, source: str, target: str) -> Step:
    """By the captions: a color that the instruction leaves open, and "a blue jet" where the jet there turns blue."""
    before, after = (_colors(caption) for caption in (source, target))
    fresh = [(color, noun) for color, noun in after if (color, noun) not in before]
    if step.type == "color" and step.subject and not step.to:
        noun = step.subject.split()[-1]
        was = next((color for color, named in before if singular(named) == singular(noun)), None)
        becomes = next((color for color, named in fresh if singular(named) == singular(noun)), None)
        return replace(step, from_=step.from_ or (was if becomes else None), to=becomes)
    is_new = step.type == "object_addition" and not step.subject and step.position is None and step.to
    shown = {singular(str(word)) for word in tokenize(source)}
    for color, noun in fresh if is_new else ():
        if color in step.attributes and singular(noun) in shown:
            thing = " ".join(word for word in (step.to or "").split() if word != color)
            return Step(type="color", subject=thing, to=color)
    return step


def _settled(step: Step, source: str, target: str) -> Step:
    """By the captions: whether "it should be a pizza on the tray" is one more thing, or takes the place of another."""
    if step.type != "object_replacement" or step.sure or not step.to:
        return step
    before, after = caption_things(source), caption_things(target)
    heads_before, heads_after = ({singular(thing.head) for thing in things} for things in (before, after))
    comes = {singular(word) for word in step.to.split()} & (heads_after - heads_before)
    gone = [thing.without(thing.adjectives).name for thing in before if singular(thing.head) not in heads_after]
    if not comes:
        gone = [each.from_ for each in compare_captions(source, target) if each.to == step.to and each.from_]
        return replace(step, subject=gone[0], from_=gone[0]) if len(gone) == 1 else step
    if len(gone) > 1:
        return step
    if gone:
        return replace(step, subject=gone[0], from_=gone[0])
    return replace(step, type="object_addition", subject=None, from_=None)


def _colors(caption: str) -> list[tuple[str, str]]:
    """The colors that a caption names, each with the words that it may describe."""
    return [
        (str(color), str(noun))
        for thing in caption_things(caption)
        for at, color in enumerate(thing.words)
        if color in words("colors")
        for noun in thing.words[at + 1 :]
    ]


def _is_open(step: Step) -> bool:
    needs_to = step.type not in {"object_removal", "single_instance_removal", UNREAD}
    return (needs_to and not step.to) or (step.type == "object_replacement" and not step.from_)


def _completed(steps: list[Step], compared: Sequence[Step]) -> list[Step]:
    done = []
    for step in steps:
        other = next((each for each in compared if each.type == step.type), None)
        if other is not None and _is_open(step):
            step = replace(
                step, subject=step.subject or other.subject, from_=step.from_ or other.from_, to=step.to or other.to
            )
        done.append(step)
    return done


def _unreadable(text: str) -> str:
    """Why the rules cannot read a text at all; empty when they can."""
    letters = [sign for sign in text if sign.isalpha()]
    if not letters:
        return f"'{_short(text)}' holds no words"
    foreign = sum(ord(sign) not in LATIN for sign in letters)
    if foreign > len(letters) / 2:
        how = "the rules read English: add --judge, or --edit-type with its fields"
        return f"'{_short(text)}' is not in the Latin alphabet; {how}"
    count = len(text.split())
    if count > LONGEST:
        return f"the text has {count:,} words; an instruction of at most {LONGEST} is read"
    return ""


def _short(text: str) -> str:
    return text.strip() if len(text.strip()) <= 60 else f"{text.strip()[:57]}..."
