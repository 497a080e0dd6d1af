"""Caption metrics (BLEU, ROUGE, METEOR, CIDEr), and scores of sets.

They complement difference triplets (EditInspector, tables 2 and 4): shared words say little about whether the same
difference is meant. BLEU comes from sacrebleu, ROUGE from rouge-score, METEOR from nltk, all in the extra `captions`;
CIDEr-D is implemented here, because its only maintained library needs Java.
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
from editgauge.protocols import SetPart
from editgauge.protocols._rules import attempt
from editgauge.protocols.difference._model_captions import ModelDifferences, human_captions
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

Rouge = Literal["rouge1", "rouge2", "rougeL"]
Gram = tuple[str, ...]
MAX_GRAM = 4
LENGTH_SIGMA = 6.0
"""Standard deviation in words of CIDEr-D's length penalty (Vedantam et al. 2015)."""
CIDER_SCALE = 10.0
UNIT_RANGE = (0.0, 1.0)
WORDING = (
    ScoreSpec("bleu", True, UNIT_RANGE, "BLEU of the model's caption against people's."),
    ScoreSpec("rouge_1", True, UNIT_RANGE, "ROUGE-1, F-measure, against the nearest of people's captions."),
    ScoreSpec("rouge_2", True, UNIT_RANGE, "ROUGE-2, the same."),
    ScoreSpec("rouge_l", True, UNIT_RANGE, "ROUGE-L, the same."),
    ScoreSpec("meteor", True, UNIT_RANGE, "METEOR, the same, with synonyms by WordNet."),
)
SETS = (
    ScoreSpec("avg_diff", True, (0.0, 1000.0), "Differences per edit (Avg. Diff of table 3); people report about six."),
    ScoreSpec("no_diffs", False, (0.0, 1.0), "Share of edits without any reported difference (No Diffs of table 3)."),
    ScoreSpec("cider", True, (0.0, CIDER_SCALE), "CIDEr-D against people's captions; rarity counted over the set."),
)

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


async def wording_scores(item: Item, answer: ModelDifferences) -> dict[str, Score | Unscored]:
    """Return a score for each of `WORDING`; an empty caption shares no word with anyone."""
    try:
        people = human_captions(item.edit, item.outcome)
    except UnscorableError as error:
        return {spec.name: Unscored(error.reason, error.detail) for spec in WORDING}
    caption = answer.caption
    measures: dict[str, Callable[[], float]] = {
        "bleu": lambda: bleu(caption, people),
        "rouge_1": lambda: rouge(caption, people, "rouge1"),
        "rouge_2": lambda: rouge(caption, people, "rouge2"),
        "rouge_l": lambda: rouge(caption, people, "rougeL"),
        "meteor": lambda: meteor(caption, people, words_for_the_same),
    }
    return {name: await attempt(_measure(measure)) if caption else Score(0.0) for name, measure in measures.items()}


async def _measure(measure: Callable[[], float]) -> Score:
    return Score(measure())


def set_scores(parts: Sequence[SetPart]) -> Scores:
    """Return all scores of a set, from the parts of its outcomes."""
    if not parts:
        return {spec.name: Unscored("not_applicable", "a set needs one outcome at least") for spec in SETS}
    counts = [int(number[0]) for number, _, _ in parts]
    return {
        "avg_diff": Score(fmean(counts)),
        "no_diffs": Score(counts.count(0) / len(counts)),
        "cider": _cider([(str(caption[0]), [str(text) for text in people]) for _, caption, people in parts]),
    }


def _cider(captions: Sequence[tuple[str, list[str]]]) -> Score | Unscored:
    pairs = [(caption, people) for caption, people in captions if people]
    if len(pairs) < 2:
        return Unscored(
            "not_applicable", "CIDEr needs people's captions of two edits at least, to know which words are rare"
        )
    rarity = Rarity.of([people for _, people in pairs])
    return Score(fmean(cider(caption, people, rarity) for caption, people in pairs))


def words(text: str) -> list[str]:
    """Return the words of a caption in lower case, without punctuation.

    >>> words("The man's T-shirt, blue.")
    ['the', "man's", 't-shirt', 'blue']
    """
    return _WORD.findall(text.lower())


def bleu(caption: str, references: Sequence[str]) -> float:
    """Return BLEU-4 of one caption, from 0 to 1; orders longer than the caption are left out.

    Case is ignored. sacrebleu smooths exponentially, so that a short caption without a common 4-gram is not 0.
    """
    scored = _library("sacrebleu").sentence_bleu(caption, list(references), lowercase=True, use_effective_order=True)
    return min(float(scored.score) / 100, 1.0)


def rouge(caption: str, references: Sequence[str], kind: Rouge) -> float:
    """Return ROUGE's F-measure against the nearest reference, with Porter stemming."""
    scorer = _rouge_scorer(kind)
    return max(float(scorer.score(reference, caption)[kind].fmeasure) for reference in references)


def meteor(caption: str, references: Sequence[str], synonyms: Callable[[str], Collection[str]]) -> float:
    """Return METEOR against the nearest reference, from 0 to 1.

    As nltk computes it, which looks synonyms up by the stem of a word: those of 'automobile' (automobil) are missed.

    Args:
        caption: caption to score
        references: captions to compare with
        synonyms: returns the synonyms of a word, as in WordNet

    """
    library, tokens, wordnet = _library("nltk.translate.meteor_score"), words(caption), _Synonyms(synonyms)
    return max(
        float(library.single_meteor_score(words(reference), tokens, wordnet=wordnet)) for reference in references
    )


@dataclass(frozen=True, slots=True)
class Rarity:
    """Document frequencies of n-grams among the references of a set."""

    documents: int
    document_counts: Mapping[Gram, int]

    @classmethod
    def of(cls, references: Sequence[Sequence[str]]) -> Rarity:
        """Count in how many items each n-gram occurs; an item may have several references."""
        document_counts: Counter[Gram] = Counter()
        for item in references:
            document_counts.update({gram for reference in item for grams in _grams(reference) for gram in grams})
        return cls(len(references), document_counts)

    def weigh(self, grams: Mapping[Gram, int]) -> dict[Gram, float]:
        """Return counts of n-grams, weighted by the logarithm of their rarity."""
        return {
            gram: count * math.log(self.documents / max(1, self.document_counts.get(gram, 0)))
            for gram, count in grams.items()
        }


def cider(caption: str, references: Sequence[str], rarity: Rarity) -> float:
    """Return CIDEr-D of one caption, from 0 to 10: weighted n-grams of one to four words.

    The mean over references and lengths of the clipped cosine, less for another length (Vedantam et al. 2015, and as
    the COCO caption evaluation computes it, without stems).

    Args:
        caption: caption to score
        references: captions of the same item
        rarity: document frequencies of the set; with one item, every weight is 0

    >>> rarity = Rarity.of([["a red car"], ["the dog sleeps"]])
    >>> round(cider("a red car", ["a red car"], rarity), 6)
    7.5

    """
    weights = [rarity.weigh(grams) for grams in _grams(caption)]
    similarities = [_clipped_cosines(weights, reference, len(words(caption)), rarity) for reference in references]
    return CIDER_SCALE * sum(similarities) / len(similarities)


def _clipped_cosines(weights: Sequence[Mapping[Gram, float]], reference: str, length: int, rarity: Rarity) -> float:
    length_difference = length - len(words(reference))
    reference_weights = (rarity.weigh(grams) for grams in _grams(reference))
    cosines = [_clipped_cosine(first, second) for first, second in zip(weights, reference_weights, strict=True)]
    return math.exp(-(length_difference**2) / (2 * LENGTH_SIGMA**2)) * sum(cosines) / len(cosines)


def _clipped_cosine(weights: Mapping[Gram, float], reference_weights: Mapping[Gram, float]) -> float:
    """Return the cosine, with counts clipped to those of the reference."""
    lengths = math.sqrt(sum(weight * weight for weight in weights.values())) * math.sqrt(
        sum(weight * weight for weight in reference_weights.values())
    )
    shared = sum(
        min(weight, reference_weights[gram]) * reference_weights[gram]
        for gram, weight in weights.items()
        if gram in reference_weights
    )
    return shared / lengths if lengths else 0.0


def _grams(text: str) -> list[Counter[Gram]]:
    """Return the counts of n-grams, for n from 1 to the maximum."""
    tokens = words(text)
    return [
        Counter(tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1))
        for length in range(1, MAX_GRAM + 1)
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
    """Adapter of a synonym function to nltk's WordNet reader, whose own data files few have."""

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
