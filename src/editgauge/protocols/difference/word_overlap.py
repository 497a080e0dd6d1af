"""Captions compared by their words: BLEU, ROUGE and METEOR against everybody's caption."""

from __future__ import annotations

from collections.abc import Callable

from editgauge.core.errors import CannotTell
from editgauge.core.types import Item, Score, ScoreSpec, Unscored
from editgauge.models.vocabulary.thesaurus import words_for_the_same
from editgauge.protocols.difference.answers import ModelDifferences
from editgauge.protocols.difference.caption_metrics import bleu, meteor, rouge
from editgauge.protocols.difference.people import human_captions

UNIT = (0.0, 1.0)
WORDING = (
    ScoreSpec("bleu", True, UNIT, "BLEU of the model's caption against people's."),
    ScoreSpec("rouge_1", True, UNIT, "ROUGE-1, F-measure, against the nearest of people's captions."),
    ScoreSpec("rouge_2", True, UNIT, "ROUGE-2, the same."),
    ScoreSpec("rouge_l", True, UNIT, "ROUGE-L, the same."),
    ScoreSpec("meteor", True, UNIT, "METEOR, the same, with synonyms by WordNet."),
)


async def wording_scores(item: Item, answer: ModelDifferences) -> dict[str, Score | Unscored]:
    """A score for each of `WORDING`; no caption at all shares no word with anyone."""
    try:
        people = human_captions(item.edit, item.outcome)
    except CannotTell as unable:
        return {spec.name: Unscored(unable.reason, unable.detail) for spec in WORDING}
    said = answer.caption
    measures: dict[str, Callable[[], float]] = {
        "bleu": lambda: bleu(said, people),
        "rouge_1": lambda: rouge(said, people, "rouge1"),
        "rouge_2": lambda: rouge(said, people, "rouge2"),
        "rouge_l": lambda: rouge(said, people, "rougeL"),
        "meteor": lambda: meteor(said, people, words_for_the_same),
    }
    return {name: _measured(measure) if said else Score(0.0) for name, measure in measures.items()}


def _measured(measure: Callable[[], float]) -> Score | Unscored:
    try:
        return Score(measure())
    except CannotTell as unable:
        return Unscored(unable.reason, unable.detail)
