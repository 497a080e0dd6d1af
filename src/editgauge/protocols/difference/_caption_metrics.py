"""BLEU, ROUGE, METEOR and CIDEr: how alike captions are by their words, from 0 (nothing shared) on; and scores of sets.

They stand next to difference triplets for comparison (EditInspector, tables 2 and 4): shared words say little about
whether the same difference is meant. BLEU comes from sacrebleu, ROUGE from rouge-score, METEOR from nltk, all of the
extra `captions`; CIDEr-D is written here, because its only kept library needs Java.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from statistics import fmean
from typing import Any, Literal

from editgauge.errors import UnscorableError
from editgauge.models.vocabulary import words_for_the_same
from editgauge.protocols import Part
from editgauge.protocols._rules import attempt
from editgauge.protocols.difference._model_captions import ModelDifferences, human_captions
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

Rouge = Literal["rouge1", "rouge2", "rougeL"]
Gram = tuple[str, ...]
LONGEST_GRAM = 4
LENGTH_SIGMA = 6.0
"""By how many words captions may differ in length before CIDEr-D forgives it no more (Vedantam et al. 2015)."""
CIDER_SCALE = 10.0
UNIT = (0.0, 1.0)
WORDING = (
    ScoreSpec("bleu", True, UNIT, "BLEU of the model's caption against people's."),
    ScoreSpec("rouge_1", True, UNIT, "ROUGE-1, F-measure, against the nearest of people's captions."),
    ScoreSpec("rouge_2", True, UNIT, "ROUGE-2, the same."),
    ScoreSpec("rouge_l", True, UNIT, "ROUGE-L, the same."),
    ScoreSpec("meteor", True, UNIT, "METEOR, the same, with synonyms by WordNet."),
)
SETS = (
    ScoreSpec("avg_diff", True, (0.0, 1000.0), "Differences per edit (Avg. Diff of table 3); people report about six."),
    ScoreSpec("no_diffs", False, (0.0, 1.0), "Share of edits without any reported difference (No Diffs of table 3)."),
    ScoreSpec("cider", True, (0.0, CIDER_SCALE), "CIDEr-D against people's captions; rarity counted over the set."),
)

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


async def wording_scores(item: Item, answer: ModelDifferences) -> dict[str, Score | Unscored]:
    """A score for each of `WORDING`; no caption at all shares no word with anyone."""
    try:
        people = human_captions(item.edit, item.outcome)
    except UnscorableError as unable:
        return {spec.name: Unscored(unable.reason, unable.detail) for spec in WORDING}
    said = answer.caption
    measures: dict[str, Callable[[], float]] = {
        "bleu": lambda: bleu(said, people),
        "rouge_1": lambda: rouge(said, people, "rouge1"),
        "rouge_2": lambda: rouge(said, people, "rouge2"),
        "rouge_l": lambda: rouge(said, people, "rougeL"),
        "meteor": lambda: meteor(said, people, words_for_the_same),
    }
    return {name: await attempt(_measured(measure)) if said else Score(0.0) for name, measure in measures.items()}


async def _measured(measure: Callable[[], float]) -> Score:
    return Score(measure())


def set_scores(parts: Sequence[Part]) -> Scores:
    """All three, of what `part` kept of each outcome."""
    if not parts:
        return {spec.name: Unscored("not_applicable", "a set needs one outcome at least") for spec in SETS}
    counts = [int(number[0]) for number, _, _ in parts]
    return {
        "avg_diff": Score(fmean(counts)),
        "no_diffs": Score(counts.count(0) / len(counts)),
        "cider": _cider([(str(caption[0]), [str(each) for each in people]) for _, caption, people in parts]),
    }


def _cider(captions: Sequence[tuple[str, list[str]]]) -> Score | Unscored:
    compared = [(caption, people) for caption, people in captions if people]
    if len(compared) < 2:
        return Unscored(
            "not_applicable", "CIDEr needs people's captions of two edits at least, to know which words are rare"
        )
    rarity = Rarity.of([people for _, people in compared])
    return Score(fmean(cider(caption, people, rarity) for caption, people in compared))


def words(text: str) -> list[str]:
    """The words of a caption, in small letters and without punctuation.

    >>> words("The man's T-shirt, blue.")
    ['the', "man's", 't-shirt', 'blue']
    """
    return _WORD.findall(text.lower())


def bleu(caption: str, references: Sequence[str]) -> float:
    """BLEU of one caption up to four words, from 0 to 1; orders longer than the caption are left out.

    Capitals do not count. sacrebleu smooths exponentially, so that a short caption without four words in a row in
    common is not nothing at once.
    """
    scored = _library("sacrebleu").sentence_bleu(caption, list(references), lowercase=True, use_effective_order=True)
    return min(float(scored.score) / 100, 1.0)


def rouge(caption: str, references: Sequence[str], kind: Rouge) -> float:
    """ROUGE's F-measure against the nearest reference, with Porter's stems: of words, pairs, or one sequence."""
    scorer = _rouge_scorer(kind)
    return max(float(scorer.score(reference, caption)[kind].fmeasure) for reference in references)


def meteor(caption: str, references: Sequence[str], synonyms: Callable[[str], Collection[str]]) -> float:
    """METEOR against the nearest reference, from 0 to 1: words, stems and synonyms, less what is out of order.

    As nltk computes it, which looks synonyms up by the stem of a word: those of 'automobile' (automobil) are missed.

    Args:
        caption: what was written
        references: what it is compared with
        synonyms: other words for a word, as WordNet has them
    """
    library, said, wordnet = _library("nltk.translate.meteor_score"), words(caption), _Synonyms(synonyms)
    return max(float(library.single_meteor_score(words(each), said, wordnet=wordnet)) for each in references)


@dataclass(frozen=True, slots=True)
class Rarity:
    """How rare runs of words are among the references of a set."""

    documents: int
    holding: Mapping[Gram, int]

    @classmethod
    def of(cls, references: Sequence[Sequence[str]]) -> Rarity:
        """Counts in how many items each run of words occurs; an item may have several references."""
        holding: Counter[Gram] = Counter()
        for item in references:
            holding.update({gram for reference in item for grams in _grams(reference) for gram in grams})
        return cls(len(references), holding)

    def weighed(self, grams: Mapping[Gram, int]) -> dict[Gram, float]:
        """Counts of runs of words, each times the logarithm of its rarity."""
        return {
            gram: count * math.log(self.documents / max(1, self.holding.get(gram, 0))) for gram, count in grams.items()
        }


def cider(caption: str, references: Sequence[str], rarity: Rarity) -> float:
    """CIDEr-D of one caption, from 0 to 10: runs of one to four words, the rarer the weightier.

    The mean over references and lengths of the clipped cosine, less for another length (Vedantam et al. 2015, and as
    the COCO caption evaluation computes it, without stems).

    Args:
        caption: what was written
        references: of the same item
        rarity: of the whole set; a set of one item makes every word worth nothing

    >>> rarity = Rarity.of([["a red car"], ["the dog sleeps"]])
    >>> round(cider("a red car", ["a red car"], rarity), 6)
    7.5
    """
    said = [rarity.weighed(grams) for grams in _grams(caption)]
    alike = [_clipped_cosines(said, reference, len(words(caption)), rarity) for reference in references]
    return CIDER_SCALE * sum(alike) / len(alike)


def _clipped_cosines(said: Sequence[Mapping[Gram, float]], reference: str, length: int, rarity: Rarity) -> float:
    apart = length - len(words(reference))
    wanted = (rarity.weighed(grams) for grams in _grams(reference))
    cosines = [_clipped_cosine(one, other) for one, other in zip(said, wanted, strict=True)]
    return math.exp(-(apart**2) / (2 * LENGTH_SIGMA**2)) * sum(cosines) / len(cosines)


def _clipped_cosine(said: Mapping[Gram, float], wanted: Mapping[Gram, float]) -> float:
    """A word said more often than wanted counts as often as wanted."""
    lengths = math.sqrt(sum(w * w for w in said.values())) * math.sqrt(sum(w * w for w in wanted.values()))
    shared = sum(min(weight, wanted[gram]) * wanted[gram] for gram, weight in said.items() if gram in wanted)
    return shared / lengths if lengths else 0.0


def _grams(text: str) -> list[Counter[Gram]]:
    """Runs of one word, of two, … with their counts."""
    said = words(text)
    return [
        Counter(tuple(said[start : start + length]) for start in range(len(said) - length + 1))
        for length in range(1, LONGEST_GRAM + 1)
    ]


@dataclass(frozen=True, slots=True)
class _Lemma:
    word: str

    def name(self) -> str:
        return self.word.replace(" ", "_")


@dataclass(frozen=True, slots=True)
class _Synset:
    words: tuple[str, ...]

    def lemmas(self) -> list[_Lemma]:
        return [_Lemma(word) for word in self.words]


class _Synonyms:
    """A function of synonyms in the shape of nltk's WordNet, whose own reader wants files that few have."""

    def __init__(self, synonyms: Callable[[str], Collection[str]]) -> None:
        self._synonyms = synonyms

    def synsets(self, word: str) -> list[_Synset]:
        return [_Synset(tuple(self._synonyms(word)))]


@cache
def _rouge_scorer(kind: Rouge) -> Any:
    return _library("rouge_score.rouge_scorer").RougeScorer([kind], use_stemmer=True)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UnscorableError(
            "no_model",
            f"this needs {name.partition('.')[0]}, which is not installed: pip install 'editgauge[captions]'",
        ) from error
