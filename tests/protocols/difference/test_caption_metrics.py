"""Captions compared by words: values worked out by hand, and the laws they share."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import UnscorableError
from editgauge.protocols.difference._caption_metrics import Rarity, bleu, cider, meteor, rouge

CAR, DOG = "a red car was removed", "the dog sleeps on the couch"
WORDS = st.lists(st.sampled_from(("a", "red", "car", "dog", "was", "added")), min_size=1, max_size=9).map(" ".join)


def no_synonyms(word: str) -> tuple[str, ...]:
    return ()


def test_bleu_by_hand() -> None:
    """Three of four words, two of three pairs, one of two triples, and a four-word run halved by smoothing."""
    result = bleu("a red car vanished", ["a red car stayed"])
    assert result == pytest.approx((3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** (1 / 4))


def test_rouge_by_hand() -> None:
    """Shared: red, car of three words and of four; pairs: one of two and of three; stems make 'cars' a car."""
    caption, reference = "red cars here", "the red car left"
    assert rouge(caption, [reference], "rouge1") == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert rouge(caption, [reference], "rouge2") == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert rouge(caption, ["nothing", reference], "rougeL") == rouge(caption, [reference], "rougeL") > 0


def test_meteor_by_hand() -> None:
    """Four words in one piece: 1 - 0.5 (1/4)^3. Without the synonym three match, in two pieces."""
    said, expected = "the sofa was removed", "the couch was removed"
    same = {"sofa": ("couch",)}
    assert meteor(said, [expected], lambda word: same.get(word, ())) == pytest.approx(1 - 0.5 / 64)
    assert meteor(said, [expected], no_synonyms) == pytest.approx(3 / 4 * (1 - 0.5 * (2 / 3) ** 3))


def test_cider_by_hand() -> None:
    """Of two captions each word is worth log 2 but 'a', which both have and which is worth nothing."""
    rarity = Rarity.of([["a red car"], ["a dog"]])
    one, two = cider("a red dog", ["a red car"], rarity), cider("a red car car", ["a red car"], rarity)
    words = 1 / (math.sqrt(2) * math.sqrt(2))  # 'red' of (red, dog) and (red, car)
    pairs = 1 / (math.sqrt(2) * math.sqrt(2))  # 'a red' of ('a red', 'red dog') and ('a red', 'red car')
    assert one == pytest.approx(10 * (words + pairs) / 4)
    clipped = 2 / (math.sqrt(1 + 4) * math.sqrt(2))  # 'car' is said twice and counts once
    longer = 2 / (math.sqrt(3) * math.sqrt(2)), 1 / math.sqrt(2)
    assert two == pytest.approx(10 * math.exp(-1 / 72) * (clipped + sum(longer)) / 4)


def test_cider_is_ten_for_the_same_words_and_nothing_where_all_is_common() -> None:
    rarity = Rarity.of([[CAR], [DOG]])
    assert cider(CAR, [CAR], rarity) == pytest.approx(10)
    assert cider(CAR, [CAR, DOG], rarity) == pytest.approx(5)
    assert cider(DOG, [CAR], rarity) == 0
    assert cider(CAR, [CAR], Rarity.of([[CAR]])) == 0


@given(WORDS, WORDS)
def test_no_caption_is_nearer_to_a_reference_than_the_reference_itself(caption: str, reference: str) -> None:
    rarity = Rarity.of([[reference], [DOG]])
    assert 0 <= cider(caption, [reference], rarity) <= cider(reference, [reference], rarity) + 1e-9
    for kind in ("rouge1", "rougeL"):
        assert 0 <= rouge(caption, [reference], kind) <= rouge(reference, [reference], kind) + 1e-9
    assert 0 <= bleu(caption, [reference]) <= bleu(reference, [reference]) + 1e-9
    assert 0 <= meteor(caption, [reference], no_synonyms) <= 1


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(UnscorableError, match=r"sacrebleu.*editgauge\[captions\]"):
        bleu("a dog", ["a dog"])
