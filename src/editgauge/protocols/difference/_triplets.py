"""Differences as triplets of source, target and action: parsed from captions, compared with people's."""

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
from editgauge.models.vocabulary import synonyms, wordnet_here
from editgauge.models.vocabulary._words import plain_words, singulars, without_what_follows

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

_DETERMINED = r"(?:the|a|an|some|another|his|her|its|their|one|two|three|four|five|six|several|many|more)"
_ENUMERATION = re.compile(rf",? and (?={_DETERMINED} )|, (?={_DETERMINED} )")
_QUANTIFIERS = frozenset(
    ("small", "other", "new", "extra", "additional", "few", "of", "part", "parts", "portion", "most", "only", "what")
)
"""Words before an object that say which one, or how much of it."""
_CONTINUATION = re.compile(
    rf"(?<=\w) \w+ing (?={_DETERMINED}\b|(?:in|on|at|down|up|to|from|through|near|next)\b)| next to "
)
_PRESENTATION = re.compile(
    r"^(?:there (?:is|are|was|were) )?(?:now )?(?:(?:the|a|an) )?(?:close-up )?(?:(?:image|view|close-up|photo) of )?"
)
_PRONOUNS = frozenset(("it", "they", "them", "this", "that", "there", "which", "who", "he", "she", "one"))
_NO_OBJECT = _PRONOUNS | {"image", "scene", "nothing", "none"}
MAX_NAME_WORDS = 6
"""Longer names are sentences that were taken for an object."""


def object_names(words: str) -> Iterator[str]:
    """Yield the names of the objects in an enumeration.

    >>> list(object_names("a red and white can, two spoons and the plate on the table"))
    ['red and white can', 'spoons', 'plate']
    """
    for part in _ENUMERATION.split(words):
        name = object_name(part)
        if name:
            yield name


def object_name(words: str) -> str | None:
    """Return the object that a phrase names, or None.

    >>> object_name("the small dog that sits on the couch"), object_name("it")
    ('dog', None)
    """
    tokens = plain_words(_CONTINUATION.split(_PRESENTATION.sub("", words).split(",")[0])[0])
    while len(tokens) > 1 and tokens[0] in _QUANTIFIERS:
        tokens = plain_words(" ".join(tokens[1:]))
    if not tokens or tokens[0] == "no":
        return None
    name_words = without_what_follows(tokens)[-MAX_NAME_WORDS:]
    return None if not name_words or set(name_words) <= _NO_OBJECT else " ".join(name_words)


def head(name: str) -> str:
    """Return the head noun of a name.

    >>> head("bottle of wine"), head("light brown curtain")
    ('bottle', 'curtain')
    """
    return name.partition(" of ")[0].split()[-1]


Action = Literal["Add", "Remove", "Replace", "Change Attribute"]
ACTIONS: tuple[Action, ...] = get_args(Action)
SameObject = Callable[[str, str], bool]
"""Whether two names mean the same kind of object, attributes aside."""


@dataclass(frozen=True, slots=True)
class Triplet:
    """One difference: object before, object after, and action."""

    source: str | None
    target: str | None
    action: Action

    def __str__(self) -> str:
        return f"{self.action}: {self.source or 'nothing'} → {self.target or 'nothing'}"


@dataclass(frozen=True, slots=True)
class TripletAgreement:
    """Agreement of a person's and a model's differences."""

    human: int
    model: int
    matched_count: int
    """Differences of the person that the model reported too."""
    made_up: int
    """Differences of the model that match none of the person's."""

    @property
    def precision(self) -> float | None:
        """MP, from 0 to 1; None if the human named no difference."""
        return self.matched_count / self.human if self.human else None

    @property
    def hallucination(self) -> float | None:
        """HR, from 0 to 1; None if the model named no difference."""
        return self.made_up / self.model if self.model else None


def agreement(
    human: Sequence[Triplet],
    model: Sequence[Triplet],
    is_same: SameObject,
    *,
    soft: bool = False,
    released: bool = False,
) -> TripletAgreement:
    """Match the model's differences with the person's.

    Every difference counts for one of the other side at most, and as many as possible are paired. The paper prints
    sets, and leaves open what happens when two differences of one side match the same one of the other.

    Args:
        human: the differences that a person named
        model: the differences that a model named
        is_same: whether two objects are the same
        soft: source and target may also be reversed
        released: as the released notebooks count: several may match the same one, Replace and Change Attribute are
            one action, an addition's source and a removal's target are ignored

    >>> result = agreement([Triplet(None, "dog", "Add")], [Triplet(None, "dog", "Add")], str.__eq__)
    >>> result.precision, result.hallucination
    (1.0, 0.0)

    """
    same = np.array(
        [[_match(first, second, is_same, soft=soft, released=released) for second in model] for first in human],
        dtype=np.bool_,
    )
    table = same.reshape(len(human), len(model))
    if released:
        hits, matched = int(table.any(axis=1).sum()), int(table.any(axis=0).sum())
    else:
        hits = matched = _most_pairs(table)
    return TripletAgreement(len(human), len(model), hits, len(model) - matched)


def object_pairs(human: Sequence[Triplet], model: Sequence[Triplet]) -> Iterator[tuple[str, str]]:
    """Yield each pair of objects that `agreement` may compare, the person's first."""
    pairs: dict[tuple[str, str], None] = {}
    for first in human:
        for second in model:
            if _action(first, released=True) == _action(second, released=True):
                for mine in (first.source, first.target):
                    for theirs in (second.source, second.target):
                        if mine is not None and theirs is not None:
                            pairs[mine, theirs] = None
    yield from pairs


def _most_pairs(table: NDArray[np.bool_]) -> int:
    if not table.size:
        return 0
    return int((maximum_bipartite_matching(csr_array(table.astype(np.int8))) >= 0).sum())


def _match(first: Triplet, second: Triplet, is_same: SameObject, *, soft: bool, released: bool) -> bool:
    if _action(first, released=released) != _action(second, released=released):
        return False
    ends = _same_ends(first, second, is_same, released=released)
    return ends or (
        soft and _same_ends(first, Triplet(second.target, second.source, second.action), is_same, released=released)
    )


def _same_ends(first: Triplet, second: Triplet, is_same: SameObject, *, released: bool) -> bool:
    sources = (released and first.action == "Add") or _same(first.source, second.source, is_same)
    targets = (released and first.action == "Remove") or _same(first.target, second.target, is_same)
    return sources and targets


def _same(mine: str | None, theirs: str | None, is_same: SameObject) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return is_same(mine, theirs)


def _action(triplet: Triplet, *, released: bool) -> Action:
    return "Replace" if released and triplet.action == "Change Attribute" else triplet.action


MIN_SIMILARITY = 0.7
"""Cosine of sentence embeddings from which two names mean one thing. MiniLM gives no false pair of 18 at it, such as
dog and cat (.66), and finds 11 of 18 true ones together with WordNet; at .6 it finds 15, and dog and cat are one."""
AsksSame = Callable[[str, str], Awaitable[bool]]


def same_nouns(first: str, second: str) -> bool:
    """Return whether two names have the same noun, by inflection or as WordNet synonyms.

    Attributes do not count: EditInspector's match is relaxed in the same way (section 3.2).

    >>> same_nouns("red cars", "a blue car on the street"), same_nouns("car", "carpet")
    (True, False)
    """
    first_nouns, second_nouns = _nouns(first), _nouns(second)
    return bool(first_nouns & second_nouns) or bool(_wider(first_nouns) & second_nouns)


async def match_objects(
    human: Sequence[Triplet], model: Sequence[Triplet], opinion: AsksSame, *, released: bool = False
) -> SameObject:
    """Decide for all pairs of objects whether they are the same; a model decides where words do not.

    Args:
        human: the differences that a person named
        model: the differences that a model named
        opinion: asks a model about two names
        released: as in the released notebook: names without a related noun are different, and only the others are asked

    """
    pairs = list(object_pairs(human, model))
    if released:
        answers = {(first, second): first == second for first, second in pairs}
        undecided = [pair for pair in pairs if not answers[pair] and share_related_noun(*pair)]
    else:
        answers = {pair: same_nouns(*pair) for pair in pairs}
        undecided = [pair for pair in pairs if not answers[pair]]
    answers |= zip(undecided, await gather(*(opinion(*pair) for pair in undecided)), strict=True)
    return lambda first, second: answers[first, second]


def share_related_noun(first: str, second: str) -> bool:
    """Return whether two names have a noun in common, or related ones, as the released notebook decides whom to ask.

    Related are the words of a noun's most frequent sense, of what that is a kind of, and of its kinds.

    >>> share_related_noun("red car", "toy car"), share_related_noun("car", "spoon")
    (True, False)
    """
    first_nouns, second_nouns = _related_nouns(first), _related_nouns(second)
    return bool(first_nouns & second_nouns)


def _related_nouns(name: str) -> set[str]:
    wordnet = wordnet_here()
    related: set[str] = set()
    for word in plain_words(name):
        forms = (*singulars(word), word)
        if wordnet is None:
            related.update(forms)
            continue
        noun = next((form for form in forms if wordnet.senses(form)), None)
        if noun is not None:
            sense = wordnet.senses(noun)[0]
            senses = (sense, *wordnet.kind_of(sense), *wordnet.kinds(sense))
            related |= {noun, *(lemma.casefold() for kind in senses for lemma in wordnet.names(kind))}
    return related


def same_object(first: str, second: str, perception: JudgingPerception) -> Question[bool]:
    """Return the question whether two names can mean the same kind of object."""
    return Question(words=perception.prompt("object_match").render(first=first, second=second), form=YesNo())


def ask_judge(perception: JudgingPerception, judge: str) -> AsksSame:
    """Return a comparison of two names by a judge."""

    async def opinion(one: str, other: str) -> bool:
        return (await perception.ask(same_object(one, other, perception), role=judge)).value

    return opinion


def ask_embedder(perception: JudgingPerception) -> AsksSame:
    """Return a comparison of two names by sentence embeddings."""

    async def opinion(one: str, other: str) -> bool:
        return await perception.similarity(one, other) >= MIN_SIMILARITY

    return opinion


def _nouns(name: str) -> set[str]:
    """Return the noun of a name, alone and with the word before it: 'fire hydrant' and 'hydrant'."""
    words = plain_words(name)
    words_of_name = without_what_follows(words) if words else []
    noun = head(" ".join(words_of_name)) if words_of_name else name.casefold()
    names = {noun, *([" ".join(words_of_name[-2:])] if len(words_of_name) > 1 else [])}
    return names | {form for name in names for form in singulars(name)}


def _wider(nouns: set[str]) -> set[str]:
    return {synonym.casefold() for noun in nouns for synonym in _synonyms(noun)}


def _synonyms(noun: str) -> tuple[str, ...]:
    try:
        return synonyms(noun)
    except UnscorableError:  # a word that WordNet lacks has no synonyms there; the model is asked next
        return ()


_SENTENCE = re.compile(r"(?<=[.!?;])\s*(?=[A-Z\"'“])|(?<=[.!?;])\s+|\n+")
_FRAME = re.compile(
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
_STATES = r"un\w+|red|sleeping|seen|shown|based|used|located|situated|visible|supposed|left"
"""Participles that describe a state, not a change."""
_ALTERED = (
    rf"(?!(?:{_STATES})\b)[a-z]+ed|(?:torn|cut|bent|shrunk|split|spread|lit|bigger|smaller|larger|darker|lighter|brighter|"
    r"thicker|thinner|wider|shorter|longer|taller|blurry|different)"
)
_POSSESSION = r"holding|wearing|carrying|holds|wears|has|have|contains?|features?"
_OWNED = r"(?:(?<=\bwith )|(?<=\bhad )|(?<=\bhas ))(?P<own>(?:his|her|its|their|a|an|the|some|more) (?:\S+ ){1,4}?)"
"""Whose tongue is removed in 'a dog with its tongue removed', and in 'the dog had its tongue removed'."""
_VERB = re.compile(
    rf"\b(?P<now>{_BE} (?:\w+ly )?now(?: (?:seen|shown))?|now(?= (?:{_POSSESSION}|\w+s|\w+ing)\b))\b|"
    rf"(?<=\bby )(?:(?P<adding>adding|inserting)|(?P<removing>removing|erasing|deleting))\b|"
    rf"\b(?P<lacks>no longer has|no longer have|loses|lacks)\b|"
    rf"(?:\b{_BE} {_MANNER}|(?<=\band )(?={_REPLACED})|{_OWNED})"
    rf"(?:(?P<added>{_ADDED})|(?P<removed>{_REMOVED})|(?P<replaced>{_REPLACED})|(?P<changed>{_CHANGED}))\b|"
    rf"\b(?!being\b){_BE} {_MANNER}(?P<bent>{_ALTERED})\b|"
    r"\b(?:(?P<came>appear(?:s|ed)?(?! (?:to|as|like|more|less|\w+er)\b)|showed up|comes? into view)|"
    r"(?P<went>disappear(?:s|ed)?|vanish(?:es|ed)?)|"
    r"(?P<became>bec[ao]mes?|turns? into|turned(?: into)?|chang(?:ed|es)(?= (?:in)?to )|switched|appear(?:s|ed)?)|"
    r"(?P<took>replaced(?! (?:with|by)\b)|replaces|t(?:ook|akes) the place of)|"
    r"(?P<moved>changed|changes|shifted|shifts|moved|moves|extends|merged|blends))\b"
)
_BARE = re.compile(r"^(?:(?P<added>added)|(?P<removed>removed|erased)) (?P<what>.+)$")
_HEADLINE = re.compile(rf"^((?:(?!\b{_BE}\b).)*?) ({_ADDED}|{_REMOVED}|{_REPLACED})\b")
"""A change without an auxiliary verb, such as 'hat added to the dog'."""
_MISSPELLED = re.compile(rf"\bwhere (?={_MANNER}(?:{_ADDED}|{_REMOVED}|{_REPLACED}|{_CHANGED})\b)")
_CONJUNCTION = re.compile(r",? (?:and|but|while|whereas|as well as|so that)(?: also)? |; |, (?:with )?| with ")
_RELATIVE = re.compile(
    r"\b(?:that|which|who|whose \w+|where|as)"
    r"(?: (?:the|a|an|his|her|its|their|it|they|he|she|also|previously|originally|initially|once)"
    rf"(?: (?!{_BE}\b)[^\s,]+){{0,3}})?\s*$"
)
"""End of the text before a verb that describes an object in a relative clause, not a change."""
_WITH = re.compile(r"^\s*(?:with|by|for|to|into)\s+")
_FROM_TO = re.compile(r"^\s*(?:in \w+ )?from (.+?) (?:in)?to (.+)$")
TO = re.compile(r"^\s*(?:in \w+ )?(?:in)?to (?:be |become |have |look like |show )?(.+)$")
_ADDITION = re.compile(r"\baddition of (.+)$")
_ATTRIBUTE_OF = re.compile(
    r"^(?:the |a |an |its |their )?(?:\w+ ){0,3}?(?:colou?r|shape|size|texture|pattern|design|position|tone|appearance|"
    r"material|style|structure|brightness|shade|shading|orientation|expression)s?"
    r"(?: and \w+)? of (.+)$"
)
MAX_CAPTION_CHARACTERS = 4_000
"""Characters of a caption that are read; captions are a few sentences, and reading a long one takes very long."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """A verb that describes a change, with the text before and after it."""

    kind: str
    verb: str
    before: str
    after: str


def first_change(caption: str) -> str:
    """Return the first sentence with a change: the main one in 95 of 100 human captions (section 3.2).

    >>> first_change("A dog was added. The grass is blurred.")
    'A dog was added.'
    """
    sentences = _sentences(caption[:MAX_CAPTION_CHARACTERS])
    return next((sentence for sentence in sentences if read_triplets(sentence)), sentences[0] if sentences else "")


def read_triplets(caption: str) -> tuple[Triplet, ...]:
    """Parse the differences that a caption describes, in order.

    >>> for triplet in read_triplets("The red car was replaced by a blue truck. A dog has been added on the left."):
    ...     print(triplet)
    Replace: red car → blue truck
    Add: nothing → dog
    """
    caption = caption[:MAX_CAPTION_CHARACTERS]
    if describes_both_images(caption):
        return compare_descriptions(caption)
    triplets = (triplet for sentence in _sentences(caption) for triplet in _of_sentence(sentence))
    return tuple(dict.fromkeys(triplets))


def _sentences(caption: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.split(" ".join(caption.split())) if part and part.strip()]


def _of_sentence(sentence: str) -> Iterator[Triplet]:
    words = _MISSPELLED.sub("were ", _FRAME.sub("", sentence.lower().replace("’", "'").rstrip(".!?; ")))
    bare = _BARE.match(words)
    if bare:
        yield from _triplets(_Clause("added" if bare["added"] else "removed", "", bare["what"], ""))
        return
    for clause in _clauses(words):
        yield from _triplets(clause)


def _clauses(words: str) -> Iterator[_Clause]:
    """Yield each verb with its subject; a verb without a subject shares the previous one."""
    words = words if _VERB.search(words) else _HEADLINE.sub(r"\1 was \2", words)
    verbs = list(_VERB.finditer(words))
    main = [verb for verb in verbs if not _RELATIVE.search(words[: verb.start()])] or verbs[-1:]
    start, subject = 0, ""
    for verb, later in zip_longest(main, main[1:]):
        until = later.start() if later else len(words)
        joints = list(_CONJUNCTION.finditer(words, verb.end(), until)) if later else []
        end = joints[-1].start() if joints else until
        kind = next(name for name, text in verb.groupdict().items() if text is not None and name != "own")
        subject = verb["own"] or words[start : verb.start()].strip(" ,") or subject
        start = joints[-1].end() if joints else until
        exchanged = kind == "removed" and later is not None and later["replaced"] and start >= later.start()
        if not exchanged:  # 'removed and replaced with a hat' is one change
            yield _Clause(kind, verb[kind], subject, words[verb.end() : end].strip(" ,"))


def _triplets(clause: _Clause) -> Iterator[Triplet]:
    before, after = clause.before, clause.after
    addition = _ADDITION.search(after)
    match clause.kind:
        case "changed" | "bent" if addition:
            yield from (Triplet(None, name, "Add") for name in object_names(addition[1]))
        case "added" | "came":
            yield from (Triplet(None, name, "Add") for name in object_names(before))
        case "removed" | "went":
            yield from (Triplet(name, None, "Remove") for name in object_names(before))
        case "adding":
            yield from (Triplet(None, name, "Add") for name in object_names(after))
        case "removing" | "lacks":
            yield from (Triplet(name, None, "Remove") for name in object_names(after))
        case "replaced" if _WITH.match(after):
            yield from _replacement(before, _WITH.sub("", after))
        case "took":
            yield from _replacement(after, before)
        case "became" if clause.verb.startswith("bec"):
            yield from _change(before, f"to {after}", another=True)
        case "changed" | "became":
            yield from _change(before, after, another=clause.verb not in {"changed", "changes", "altered", "modified"})
        case "now":
            yield from _now(before, after)
        case _:
            yield from _altered(before, clause.verb)


def _replacement(old: str, new: str) -> Iterator[Triplet]:
    source, target = object_name(old), object_name(new)
    if source and target:
        yield Triplet(source, target, "Replace")


def _change(subject: str, remainder: str, *, another: bool) -> Iterator[Triplet]:
    """Yield a replacement or an attribute change, with the object's new look."""
    owner = _ATTRIBUTE_OF.match(subject)
    source = object_name(owner[1] if owner else subject)
    if not source:
        return
    between, to = _FROM_TO.match(remainder), TO.match(remainder)
    new = between[2] if between else to[1] if to else ""
    target = object_name(new)
    if not target:
        yield Triplet(source, f"changed {source}", "Change Attribute")
    elif another and to and re.match(r"(?:a|an|the|some) ", new) and not _same_head(source, target):
        yield Triplet(source, target, "Replace")
    else:
        yield Triplet(source, _with_look(target, source), "Change Attribute")


def _now(subject: str, remainder: str) -> Iterator[Triplet]:
    possession = re.match(rf"(?:{_POSSESSION}) (.+?)(?: (?:instead|in place) of (.+))?$", remainder)
    if possession:
        yield from (
            _replacement(possession[2], possession[1])
            if possession[2]
            else (Triplet(None, name, "Add") for name in object_names(possession[1]))
        )
        return
    source = object_name(subject)
    look = object_name(remainder)
    if source and look:
        yield Triplet(source, _with_look(look, source), "Change Attribute")


def _altered(subject: str, verb: str) -> Iterator[Triplet]:
    owner = _ATTRIBUTE_OF.match(subject)
    for name in object_names(owner[1] if owner else subject):
        yield Triplet(name, f"{verb} {name}", "Change Attribute")


def _with_look(look: str, name: str) -> str:
    """Return the object with its new look: 'blue' of a white cup is a blue cup, and so is 'a blue one'."""
    return look if _same_head(look, name) else f"{look.removesuffix(' one')} {head(name)}"


def _same_head(first: str, second: str) -> bool:
    first_forms, second_forms = ({head(name), *singulars(head(name))} for name in (first, second))
    return bool(first_forms & second_forms)


_WHICH = r"(?:the )?(?:{}) (?:image|picture|photo|one)"
_HAS = r",? ?(?:there (?:is|are)|has|have|shows?|contains?|features?|includes?|depicts?)"
_FIRST = re.compile(_WHICH.format("first|original|source|left") + _HAS, re.IGNORECASE)
_SECOND = re.compile(
    _WHICH.format("second|edited|new|other|right") + r"(?:" + _HAS + r"|,? ?(?:does not|doesn't))", re.IGNORECASE
)
_NOT = re.compile(r"(?:does not|doesn't)\b", re.IGNORECASE)
_NO = re.compile(r"^(?:no|nothing)\b")
_LISTED = re.compile(r",? and |, ")


def describes_both_images(caption: str) -> bool:
    """Return whether a caption describes the first image, then the second."""
    first, second = _FIRST.search(caption), _SECOND.search(caption)
    return bool(first and second and first.start() < second.start())


def compare_descriptions(caption: str) -> tuple[Triplet, ...]:
    """Return the differences of the descriptions of both images.

    >>> print(*compare_descriptions("The first image has a cup. The second image has a cup and a spoon."))
    Add: nothing → spoon
    """
    first, second = _FIRST.search(caption), _SECOND.search(caption)
    if first is None or second is None:
        return ()
    before = _listed(caption[first.end() : second.start()])
    after = [] if _NOT.search(second[0]) else _listed(caption[second.end() :])
    removed_names = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    paired = tuple(_changed_pair(old, new) for old, new in zip(removed_names, added, strict=False))
    removed = tuple(Triplet(old, None, "Remove") for old in removed_names[len(added) :])
    return paired + removed + tuple(Triplet(None, new, "Add") for new in added[len(removed_names) :])


def _changed_pair(old: str, new: str) -> Triplet:
    return Triplet(old, new, "Change Attribute" if _same_head(old, new) else "Replace")


def _listed(words: str) -> list[str]:
    sentence = re.split(r"[.;]", words.lower())[0]
    parts = (
        part.strip() for part in _LISTED.split(re.sub(r"(?:,| )+(?:and|while|whereas|but)?(?: in)?\s*$", "", sentence))
    )
    return [name for part in parts if part and not _NO.match(part) and (name := object_name(part))]
