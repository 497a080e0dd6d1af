"""The objects in a stretch of words: without articles, and without what only says where or which."""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from editgauge.errors import UnscorableError
from editgauge.judges import Question
from editgauge.judges._questions import YesNo
from editgauge.models.vocabulary import synonyms
from editgauge.models.vocabulary.phrases import plain_words, singulars, without_what_follows

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

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
MAX_NAME_WORDS = 6
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
    kept = without_what_follows(kept_words)[-MAX_NAME_WORDS:]
    return None if not kept or set(kept) <= _NO_OBJECT else " ".join(kept)


def head(name: str) -> str:
    """The noun of a name.

    >>> head("bottle of wine"), head("light brown curtain")
    ('bottle', 'curtain')
    """
    return name.split(" of ")[0].split()[-1]


Action = Literal["Add", "Remove", "Replace", "Change Attribute"]
ACTIONS: tuple[Action, ...] = get_args(Action)
Alike = Callable[[str, str], bool]
"""Are two objects the same kind of thing, attributes aside?"""


@dataclass(frozen=True, slots=True)
class Triplet:
    """One difference: what was there before, what is there now, and what was done."""

    source: str | None
    target: str | None
    action: Action

    def __str__(self) -> str:
        return f"{self.action}: {self.source or 'nothing'} → {self.target or 'nothing'}"


@dataclass(frozen=True, slots=True)
class TripletAgreement:
    """Which differences of a human and of a model are the same."""

    human: int
    model: int
    found: int
    """Differences of the human that the model has too."""
    made_up: int
    """Differences of the model that match none of the human's."""

    @property
    def precision(self) -> float | None:
        """MP, from 0 to 1; None if the human named no difference."""
        return self.found / self.human if self.human else None

    @property
    def hallucination(self) -> float | None:
        """HR, from 0 to 1; None if the model named no difference."""
        return self.made_up / self.model if self.model else None


def agreement(
    human: Sequence[Triplet], model: Sequence[Triplet], alike: Alike, *, soft: bool = False, released: bool = False
) -> TripletAgreement:
    """How far the model's differences are the human's.

    Every difference counts for one of the other side at most, and as many as possible are paired. The paper prints
    sets, and leaves open what happens when two differences of one side match the same one of the other.

    Args:
        human: the differences that a person named
        model: the differences that a model named
        alike: whether two objects count as the same
        soft: source and target may also be reversed
        released: as the released notebooks count: several may match the same one, Replace and Change Attribute are
            one action, an addition's source and a removal's target are ignored

    >>> result = agreement([Triplet(None, "dog", "Add")], [Triplet(None, "dog", "Add")], str.__eq__)
    >>> result.precision, result.hallucination
    (1.0, 0.0)
    """
    same = np.array([[_match(one, other, alike, soft, released) for other in model] for one in human], dtype=np.bool_)
    table = same.reshape(len(human), len(model))
    if released:
        hits, matched = int(table.any(axis=1).sum()), int(table.any(axis=0).sum())
    else:
        hits = matched = _most_pairs(table)
    return TripletAgreement(len(human), len(model), hits, len(model) - matched)


def compared_objects(human: Sequence[Triplet], model: Sequence[Triplet]) -> Iterator[tuple[str, str]]:
    """The pairs of objects, human's first, about which `agreement` may ask; each once."""
    pairs: dict[tuple[str, str], None] = {}
    for one in human:
        for other in model:
            if _action(one, True) == _action(other, True):
                for mine in (one.source, one.target):
                    for theirs in (other.source, other.target):
                        if mine is not None and theirs is not None:
                            pairs[mine, theirs] = None
    yield from pairs


def _most_pairs(table: NDArray[np.bool_]) -> int:
    if not table.size:
        return 0
    return int((maximum_bipartite_matching(csr_array(table.astype(np.int8))) >= 0).sum())


def _match(one: Triplet, other: Triplet, alike: Alike, soft: bool, released: bool) -> bool:
    if _action(one, released) != _action(other, released):
        return False
    ends = _same_ends(one, other, alike, released)
    return ends or (soft and _same_ends(one, Triplet(other.target, other.source, other.action), alike, released))


def _same_ends(one: Triplet, other: Triplet, alike: Alike, released: bool) -> bool:
    sources = (released and one.action == "Add") or _same(one.source, other.source, alike)
    targets = (released and one.action == "Remove") or _same(one.target, other.target, alike)
    return sources and targets


def _same(mine: str | None, theirs: str | None, alike: Alike) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return alike(mine, theirs)


def _action(triplet: Triplet, released: bool) -> Action:
    return "Replace" if released and triplet.action == "Change Attribute" else triplet.action


ALIKE = 0.7
"""Cosine of sentence embeddings from which two names mean one thing. MiniLM gives no false pair of 18 at it, such as
dog and cat (.66), and finds 11 of 18 true ones together with WordNet; at .6 it finds 15, and dog and cat are one."""
Opinion = Callable[[str, str], Awaitable[bool]]


def same_words(one: str, other: str) -> bool:
    """Do their nouns say the same, by themselves, as singular and plural, or as WordNet's synonyms?

    Attributes do not count: EditInspector's match is relaxed in the same way (section 3.2).

    >>> same_words("red cars", "a blue car on the street"), same_words("car", "carpet")
    (True, False)
    """
    first, second = _nouns(one), _nouns(other)
    return bool(first & second) or bool(_wider(first) & second)


async def known_alike(human: Sequence[Triplet], model: Sequence[Triplet], opinion: Opinion) -> Alike:
    """A function that knows of all available pairs whether they are alike; a model is asked where words do not tell."""
    pairs = list(compared_objects(human, model))
    unlike = [pair for pair in pairs if not same_words(*pair)]
    opinions = zip(unlike, await gather(*(opinion(*pair) for pair in unlike)), strict=True)
    known = {**dict.fromkeys(pairs, True), **dict(opinions)}
    return lambda one, other: known[one, other]


def same_object(one: str, other: str, perception: JudgingPerception) -> Question[bool]:
    """Can two names mean the same kind of thing?"""
    return Question(words=perception.prompt("object_match").render(first=one, second=other), form=YesNo())


def judged(perception: JudgingPerception, judge: str) -> Opinion:
    """What a judge says."""

    async def opinion(one: str, other: str) -> bool:
        return (await perception.ask(same_object(one, other, perception), role=judge)).value

    return opinion


def embedded(perception: JudgingPerception) -> Opinion:
    """What sentence embeddings say."""

    async def opinion(one: str, other: str) -> bool:
        return await perception.similarity(one, other) >= ALIKE

    return opinion


def _nouns(name: str) -> set[str]:
    """The noun of a name, alone and with the word before it: 'fire hydrant' and 'hydrant'."""
    words = plain_words(name)
    kept = without_what_follows(words) if words else []
    noun = head(" ".join(kept)) if kept else name.casefold()
    names = {noun, *([" ".join(kept[-2:])] if len(kept) > 1 else [])}
    return names | {each for name in names for each in singulars(name)}


def _wider(nouns: set[str]) -> set[str]:
    return {same.casefold() for noun in nouns for same in _synonyms(noun)}


def _synonyms(noun: str) -> tuple[str, ...]:
    try:
        return synonyms(noun)
    except UnscorableError:  # a word that WordNet lacks has no synonyms there; the model is asked next
        return ()


SENTENCE = re.compile(r"(?<=[.!?;])\s*(?=[A-Z\"'“])|(?<=[.!?;])\s+|\n+")
FRAME = re.compile(
    r"^(?:(?:the |a )?(?:main |only |key |biggest |most notable |first |second |other )?(?:difference|change)s?"
    r"(?: between [^,]*?)? (?:is|are|was)(?: that)?,? |"
    r"(?:in|on) (?:the )?(?:first|second|other|new|original|edited|resulting) (?:image|picture|photo)[,:]? |"
    r"(?:also|additionally|furthermore|moreover|finally|overall|then|however),? )+"
)
_MANNER = r"(?:(?:also|now|all|then|a bit|a little|more|been|being|mostly|\w+ly) )*"
_BE = r"(?:was|were|is|are|be|has been|have been|had been|has|have|had|got|gets?|being)"
_ADDED = r"added|inserted|introduced|included|attached|superimposed|placed|put|drawn|brought in"
_REMOVED = (
    r"removed|erased|deleted|eliminated|taken (?:away|out|off)|gone|missing|absent|lost|cut (?:off|out)|"
    r"no longer (?:visible|present|there|seen)|not (?:visible|present|there|seen)(?: anymore)?"
)
_REPLACED = r"replaced|swapped|substituted|exchanged"
_CHANGED = r"changed|transformed|turned|converted|altered|modified|edited|morphed|switched|adjusted|made|given"
_STAY = r"un\w+|red|sleeping|seen|shown|based|used|located|situated|visible|supposed|left"
"""They tell how something is, not what became of it."""
_BENT = (
    rf"(?!(?:{_STAY})\b)[a-z]+ed|(?:torn|cut|bent|shrunk|split|spread|lit|bigger|smaller|larger|darker|lighter|brighter|"
    r"thicker|thinner|wider|shorter|longer|taller|blurry|different)"
)
HELD = r"holding|wearing|carrying|holds|wears|has|have|contains?|features?"
_OWN = r"(?:(?<=\bwith )|(?<=\bhad )|(?<=\bhas ))(?P<own>(?:his|her|its|their|a|an|the|some|more) (?:\S+ ){1,4}?)"
"""Whose tongue is removed in 'a dog with its tongue removed', and in 'the dog had its tongue removed'."""
VERB = re.compile(
    rf"\b(?P<now>{_BE} (?:\w+ly )?now(?: (?:seen|shown))?|now(?= (?:{HELD}|\w+s|\w+ing)\b))\b|"
    rf"(?<=\bby )(?:(?P<adding>adding|inserting)|(?P<removing>removing|erasing|deleting))\b|"
    rf"\b(?P<lacks>no longer has|no longer have|loses|lacks)\b|"
    rf"(?:\b{_BE} {_MANNER}|(?<=\band )(?={_REPLACED})|{_OWN})"
    rf"(?:(?P<added>{_ADDED})|(?P<removed>{_REMOVED})|(?P<replaced>{_REPLACED})|(?P<changed>{_CHANGED}))\b|"
    rf"\b(?!being\b){_BE} {_MANNER}(?P<bent>{_BENT})\b|"
    r"\b(?:(?P<came>appear(?:s|ed)?(?! (?:to|as|like|more|less|\w+er)\b)|showed up|comes? into view)|"
    r"(?P<went>disappear(?:s|ed)?|vanish(?:es|ed)?)|"
    r"(?P<became>bec[ao]mes?|turns? into|turned(?: into)?|chang(?:ed|es)(?= (?:in)?to )|switched|appear(?:s|ed)?)|"
    r"(?P<took>replaced(?! (?:with|by)\b)|replaces|t(?:ook|akes) the place of)|"
    r"(?P<moved>changed|changes|shifted|shifts|moved|moves|extends|merged|blends))\b"
)
BARE = re.compile(r"^(?:(?P<added>added)|(?P<removed>removed|erased)) (?P<what>.+)$")
HEADLINE = re.compile(rf"^((?:(?!\b{_BE}\b).)*?) ({_ADDED}|{_REMOVED}|{_REPLACED})\b")
"""'Hat added to the dog' leaves the auxiliary out; a sentence that has one says something else."""
MISSPELLED = re.compile(rf"\bwhere (?={_MANNER}(?:{_ADDED}|{_REMOVED}|{_REPLACED}|{_CHANGED})\b)")
JOINT = re.compile(r",? (?:and|but|while|whereas|as well as|so that)(?: also)? |; |, (?:with )?| with ")
RELATIVE = re.compile(
    r"\b(?:that|which|who|whose \w+|where|as)"
    r"(?: (?:the|a|an|his|her|its|their|it|they|he|she|also|previously|originally|initially|once)"
    rf"(?: (?!{_BE}\b)[^\s,]+){{0,3}})?\s*$"
)
"""Ends so what stands before a verb that belongs to a thing, not to the sentence."""
WITH = re.compile(r"^\s*(?:with|by|for|to|into)\s+")
FROM_TO = re.compile(r"^\s*(?:in \w+ )?from (.+?) (?:in)?to (.+)$")
TO = re.compile(r"^\s*(?:in \w+ )?(?:in)?to (?:be |become |have |look like |show )?(.+)$")
ADDITION = re.compile(r"\baddition of (.+)$")
ATTRIBUTE_OF = re.compile(
    r"^(?:the |a |an |its |their )?(?:\w+ ){0,3}?(?:colou?r|shape|size|texture|pattern|design|position|tone|appearance|"
    r"material|style|structure|brightness|shade|shading|orientation|expression)s?"
    r"(?: and \w+)? of (.+)$"
)
LONGEST = 4_000
"""Characters of a caption that are read; captions are a few sentences, and reading a long one takes very long."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """A verb that tells a change, with what stands before and after it."""

    kind: str
    verb: str
    before: str
    after: str


def first_change(caption: str) -> str:
    """The sentence that tells the first change: the main one in 95 of 100 human captions (section 3.2).

    >>> first_change("A dog was added. The grass is blurred.")
    'A dog was added.'
    """
    sentences = _sentences(caption[:LONGEST])
    return next((each for each in sentences if read_triplets(each)), sentences[0] if sentences else "")


def read_triplets(caption: str) -> tuple[Triplet, ...]:
    """The differences that a caption tells, in its order.

    >>> for triplet in read_triplets("The red car was replaced by a blue truck. A dog has been added on the left."):
    ...     print(triplet)
    Replace: red car → blue truck
    Add: nothing → dog
    """
    caption = caption[:LONGEST]
    if tells_both_pictures(caption):
        return compared(caption)
    triplets = (each for sentence in _sentences(caption) for each in _of_sentence(sentence))
    return tuple(dict.fromkeys(triplets))


def _sentences(caption: str) -> list[str]:
    return [part.strip() for part in SENTENCE.split(" ".join(caption.split())) if part and part.strip()]


def _of_sentence(sentence: str) -> Iterator[Triplet]:
    words = MISSPELLED.sub("were ", FRAME.sub("", sentence.lower().replace("’", "'").rstrip(".!?; ")))
    bare = BARE.match(words)
    if bare:
        yield from _triplets(_Clause("added" if bare["added"] else "removed", "", bare["what"], ""))
        return
    for clause in _clauses(words):
        yield from _triplets(clause)


def _clauses(words: str) -> Iterator[_Clause]:
    """Each verb with its subject; a verb without one of its own shares that of the verb before."""
    words = words if VERB.search(words) else HEADLINE.sub(r"\1 was \2", words)
    verbs = list(VERB.finditer(words))
    main = [verb for verb in verbs if not RELATIVE.search(words[: verb.start()])] or verbs[-1:]
    start, subject = 0, ""
    for verb, later in zip_longest(main, main[1:]):
        until = later.start() if later else len(words)
        joints = list(JOINT.finditer(words, verb.end(), until)) if later else []
        end = joints[-1].start() if joints else until
        kind = next(name for name, text in verb.groupdict().items() if text is not None and name != "own")
        subject = verb["own"] or words[start : verb.start()].strip(" ,") or subject
        start = joints[-1].end() if joints else until
        exchanged = kind == "removed" and later is not None and later["replaced"] and start >= later.start()
        if not exchanged:  # 'removed and replaced with a hat' is one change
            yield _Clause(kind, verb[kind], subject, words[verb.end() : end].strip(" ,"))


def _triplets(clause: _Clause) -> Iterator[Triplet]:
    before, after = clause.before, clause.after
    addition = ADDITION.search(after)
    match clause.kind:
        case "changed" | "bent" if addition:
            yield from (Triplet(None, thing, "Add") for thing in things(addition[1]))
        case "added" | "came":
            yield from (Triplet(None, thing, "Add") for thing in things(before))
        case "removed" | "went":
            yield from (Triplet(thing, None, "Remove") for thing in things(before))
        case "adding":
            yield from (Triplet(None, thing, "Add") for thing in things(after))
        case "removing" | "lacks":
            yield from (Triplet(thing, None, "Remove") for thing in things(after))
        case "replaced" if WITH.match(after):
            yield from _exchange(before, WITH.sub("", after))
        case "took":
            yield from _exchange(after, before)
        case "became" if clause.verb.startswith("bec"):
            yield from _change(before, f"to {after}", another=True)
        case "changed" | "became":
            yield from _change(before, after, another=clause.verb not in {"changed", "changes", "altered", "modified"})
        case "now":
            yield from _now(before, after)
        case _:
            yield from _bent(before, clause.verb)


def _exchange(old: str, new: str) -> Iterator[Triplet]:
    source, target = named(old), named(new)
    if source and target:
        yield Triplet(source, target, "Replace")


def _change(subject: str, rest: str, another: bool) -> Iterator[Triplet]:
    """Something became another thing, or got another look: then the object stays, and its look goes with it."""
    owner = ATTRIBUTE_OF.match(subject)
    source = named(owner[1] if owner else subject)
    if not source:
        return
    between, to = FROM_TO.match(rest), TO.match(rest)
    new = between[2] if between else to[1] if to else ""
    target = named(new)
    if not target:
        yield Triplet(source, f"changed {source}", "Change Attribute")
    elif another and to and re.match(r"(?:a|an|the|some) ", new) and not _same_head(source, target):
        yield Triplet(source, target, "Replace")
    else:
        yield Triplet(source, _looking(target, source), "Change Attribute")


def _now(subject: str, rest: str) -> Iterator[Triplet]:
    held = re.match(rf"(?:{HELD}) (.+?)(?: (?:instead|in place) of (.+))?$", rest)
    if held:
        yield from _exchange(held[2], held[1]) if held[2] else (Triplet(None, each, "Add") for each in things(held[1]))
        return
    source = named(subject)
    look = named(rest)
    if source and look:
        yield Triplet(source, _looking(look, source), "Change Attribute")


def _bent(subject: str, verb: str) -> Iterator[Triplet]:
    owner = ATTRIBUTE_OF.match(subject)
    for thing in things(owner[1] if owner else subject):
        yield Triplet(thing, f"{verb} {thing}", "Change Attribute")


def _looking(look: str, thing: str) -> str:
    """A thing by its new look: 'blue' of a white cup is a blue cup, and so is 'a blue one'."""
    return look if _same_head(look, thing) else f"{look.removesuffix(' one')} {head(thing)}"


def _same_head(one: str, other: str) -> bool:
    first, second = ({head(each), *singulars(head(each))} for each in (one, other))
    return bool(first & second)


_WHICH = r"(?:the )?(?:{}) (?:image|picture|photo|one)"
_HAS = r",? ?(?:there (?:is|are)|has|have|shows?|contains?|features?|includes?|depicts?)"
_FIRST = re.compile(_WHICH.format("first|original|source|left") + _HAS, re.IGNORECASE)
_SECOND = re.compile(
    _WHICH.format("second|edited|new|other|right") + r"(?:" + _HAS + r"|,? ?(?:does not|doesn't))", re.IGNORECASE
)
_NOT = re.compile(r"(?:does not|doesn't)\b", re.IGNORECASE)
_NO = re.compile(r"^(?:no|nothing)\b")
_LISTED = re.compile(r",? and |, ")


def tells_both_pictures(caption: str) -> bool:
    """Does it say what the first picture has, and what the second?"""
    first, second = _FIRST.search(caption), _SECOND.search(caption)
    return bool(first and second and first.start() < second.start())


def compared(caption: str) -> tuple[Triplet, ...]:
    """The differences of the two descriptions.

    >>> [str(each) for each in compared("The first image has a cup. The second image has a cup and a spoon.")]
    ['Add: nothing → spoon']
    """
    first, second = _FIRST.search(caption), _SECOND.search(caption)
    if first is None or second is None:
        return ()
    before = _listed(caption[first.end() : second.start()])
    after = [] if _NOT.search(second[0]) else _listed(caption[second.end() :])
    gone = [each for each in before if each not in after]
    come = [each for each in after if each not in before]
    paired = tuple(_exchanged(old, new) for old, new in zip(gone, come, strict=False))
    removed = tuple(Triplet(old, None, "Remove") for old in gone[len(come) :])
    return paired + removed + tuple(Triplet(None, new, "Add") for new in come[len(gone) :])


def _exchanged(old: str, new: str) -> Triplet:
    return Triplet(old, new, "Change Attribute" if _same_head(old, new) else "Replace")


def _listed(words: str) -> list[str]:
    sentence = re.split(r"[.;]", words.lower())[0]
    parts = (
        part.strip() for part in _LISTED.split(re.sub(r"(?:,| )+(?:and|while|whereas|but)?(?: in)?\s*$", "", sentence))
    )
    return [name for part in parts if part and not _NO.match(part) and (name := named(part))]
