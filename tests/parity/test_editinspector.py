"""EditInspector's table 2: which reading of BLEU, ROUGE and METEOR gives its printed numbers, and where none can.

The three pairs of captions are those of the table, a fact of a few words each.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

bleu_score = pytest.importorskip("nltk.translate.bleu_score", reason="NOT TESTED: pip install 'editgauge[captions]'")
meteor_score = pytest.importorskip("nltk.translate.meteor_score")
rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")

PAIRS = (
    (
        "The main difference is the first image has a blue vase, and the second image has a brown vase.",
        "The main difference is the first image has a squirrel, and the second image does not.",
    ),
    (
        "A brown squirrel was added to the image.",
        "The difference between the two images is that the first image has a blue vase. The second image has a blue "
        "vase and a squirrel next to it.",
    ),
    (
        "In the first image, the tree was removed, and new flowerbed was added.",
        "In the first image, the flowerbed was removed, and new tree was added.",
    ),
)
PRINTED = ((0.68, 0.81, 0.78), (0.55, 0.60, 0.57), (0.73, 0.79, 0.76))
"""BLEU, ROUGE and METEOR of each pair."""
TOKENS = (str.split, lambda text: text.lower().split(), lambda text: re.findall(r"\w+", text.lower()))
ROUNDED = 0.0051


class NoSynonyms:
    def synsets(self, word: str) -> list[Any]:
        return []


def bleu(reference: str, caption: str, split: Any, length: int, smoothing: int) -> float:
    smooth = getattr(bleu_score.SmoothingFunction(), f"method{smoothing}")
    return float(bleu_score.sentence_bleu([split(reference)], split(caption), (1 / length,) * length, smooth))


def meteor(reference: str, caption: str, split: Any, alpha: float, gamma: float) -> float:
    given = {"alpha": alpha, "beta": 3.0, "gamma": gamma}
    return float(meteor_score.single_meteor_score(split(reference), split(caption), wordnet=NoSynonyms(), **given))


def readings(first: str, second: str) -> tuple[set[float], set[float], set[float]]:
    """All that the three metrics can say of a pair: tokens, lengths, smoothing, parts of ROUGE, either as reference."""
    ways = [(first, second), (second, first)]
    bleus = {bleu(*pair, *rest) for pair, *rest in product(ways, TOKENS, (1, 2, 3, 4), (1, 2, 3, 4, 5, 7))}
    rouges: set[float] = set()
    for kind, stems in product(("rouge1", "rouge2", "rougeL"), (False, True)):
        found = rouge_scorer.RougeScorer([kind], use_stemmer=stems).score(first, second)[kind]
        rouges |= {found.precision, found.recall, found.fmeasure}
    meteors = {meteor(*pair, *rest) for pair, *rest in product(ways, TOKENS, (0.5, 0.8, 0.9, 0.95), (0.0, 0.2, 0.5))}
    return bleus, rouges, meteors


def reached(pair: int) -> list[bool]:
    found = readings(*PAIRS[pair])
    return [
        any(abs(value - printed) < ROUNDED for value in values)
        for values, printed in zip(found, PRINTED[pair], strict=True)
    ]


def test_the_first_row_takes_the_generated_caption_for_the_reference() -> None:
    truth, generated = PAIRS[0]
    scored = rouge_scorer.RougeScorer(["rouge1"]).score(truth, generated)["rouge1"]

    assert bleu(generated, truth, str.split, 1, 1) == pytest.approx(0.68, abs=ROUNDED)
    assert scored.precision == pytest.approx(0.81, abs=ROUNDED)  # recall, when the generated caption is the reference
    assert meteor(generated, truth, str.split, 0.8, 0.5) == pytest.approx(0.78, abs=ROUNDED)


def test_no_reading_gives_the_other_rows() -> None:
    assert reached(0) == [True, True, True]
    assert reached(1) == [False, False, False]
    assert reached(2) == [False, False, False]
