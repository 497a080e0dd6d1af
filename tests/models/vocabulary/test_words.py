from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import UnscorableError
from editgauge.models import vocabulary
from editgauge.models.vocabulary import resolve, siblings, synonyms, wordnet_here
from editgauge.models.vocabulary._words import Resolution, WordNet, coco_words, english, sense_of, table
from editgauge.models.weights import weights_of

COCO = tuple(coco_words().values())


@cache
def wordnet() -> WordNet:
    here = wordnet_here()
    if here is None:
        pytest.skip("WordNet is not on this machine: words were NOT looked up in it")
    return here


@pytest.fixture
def without_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "wordnet_here", lambda: None)


def test_every_word_of_the_vocabulary_stands_for_itself() -> None:
    for word in COCO:
        assert resolve(word, COCO) == Resolution(word, "same")
        assert resolve(f"The {word.title()}", COCO).word == word


@pytest.mark.usefixtures("without_wordnet")
@pytest.mark.parametrize(
    ("phrase", "word", "how"),
    [
        ("cats", "cat", "plural"),
        ("two knives", "knife", "plural"),
        ("wine glasses", "wine glass", "plural"),
        ("buses", "bus", "plural"),
        ("ties", "tie", "plural"),
        ("tv monitor", "tv", "table"),
        ("a man", "person", "table"),
        ("people", "person", "table"),
        ("Women", "person", "plural, table"),
        ("sofa", "couch", "table"),
        ("bike", "bicycle", "table"),
        ("plane", "airplane", "table"),
        ("mobile phone", "cell phone", "table"),
        ("doughnuts", "donut", "plural, table"),
        ("a glass of wine", "wine glass", "table"),
        ("hot-dog", "hot dog", "same"),
        ("black cat", "cat", "head noun"),
        ("an orange cat", "cat", "head noun"),
        ("small brown dogs", "dog", "head noun, plural"),
        ("the man's tie", "tie", "head noun"),
        ("wooden chair", "chair", "head noun"),
        ("cup of coffee", "cup", "head noun"),
        ("bunch of bananas", "banana", "head noun, plural"),
        ("man with a hat", "person", "head noun, table"),
        ("dog on a couch", "dog", "head noun"),
    ],
)
def test_table_and_head_nouns_need_no_wordnet(phrase: str, word: str, how: str) -> None:
    assert resolve(phrase, COCO) == Resolution(word, how)


@pytest.mark.parametrize(
    ("phrase", "why"),
    [
        ("toy car", "with 'toy' before it"),
        ("no cat", "with 'no' before it"),
        ("gummy bear", "with 'gummy' before it"),
        ("wooden elephant", "with 'wooden' before it"),
        ("two dogs and a cat", "more than one thing"),
        ("statue of a horse", "none of the 80 words"),
        ("picture of a dog", "none of the 80 words"),
        ("cat toy", "none of the 80 words"),
        ("bus stop", "none of the 80 words"),
        ("vehicle", "none of the 80 words"),
        ("animal", "none of the 80 words"),
        ("hat", "none of the 80 words"),
        ("catt", "none of the 80 words"),
        ("ca", "none of the 80 words"),
        ("", "no word"),
        ("?!", "no word"),
    ],
)
@pytest.mark.parametrize("with_wordnet", [True, False])
def test_what_is_not_known_is_refused(
    phrase: str, why: str, with_wordnet: bool, request: pytest.FixtureRequest
) -> None:
    if with_wordnet:
        wordnet()
    else:
        request.getfixturevalue("without_wordnet")
    with pytest.raises(UnscorableError, match=why) as refused:
        resolve(phrase, COCO)
    assert refused.value.reason == "unknown_word"
    assert repr(phrase) in refused.value.detail


@pytest.mark.usefixtures("without_wordnet")
def test_a_refusal_says_that_wordnet_would_tell_more() -> None:
    with pytest.raises(UnscorableError, match="editgauge models pull wordnet"):
        resolve("robin", COCO)
    with pytest.raises(UnscorableError, match="not on this machine"):
        synonyms("couch")


@pytest.mark.parametrize(
    ("phrase", "word", "how"),
    [
        ("robin", "bird", "WordNet: robin is a kind of bird"),
        ("poodles", "dog", "plural, WordNet: poodle is a kind of dog"),
        ("taxi", "car", "WordNet: taxi is a kind of car"),
        ("automobile", "car", "WordNet: automobile is another word for car"),
        ("policeman", "person", "WordNet: policeman is a kind of person"),
        ("siamese cat", "cat", "WordNet: siamese cat is a kind of cat"),
        ("a shiny fire truck", "truck", "head noun, WordNet: fire truck is a kind of truck"),
        ("black cat", "cat", "head noun"),
        ("birthday cake", "cake", "WordNet: birthday cake is a kind of cake"),
    ],
)
def test_wordnet_knows_kinds(phrase: str, word: str, how: str) -> None:
    wordnet()
    assert resolve(phrase, COCO) == Resolution(word, how)


@pytest.mark.parametrize(
    ("phrase", "why"),
    [
        ("cable car", "a thing of its own"),
        ("sea horse", "a thing of its own"),
        ("koala bear", "a thing of its own"),
        ("pitcher", "can be a person or something else"),  # the player, and the jug
        ("cardinal", "can be a person or something else"),  # the dignitary, and the bird
        ("rat", "none of the 80 words"),  # COCO's mouse is the device
        ("cougar", "none of the 80 words"),  # WordNet's cat includes it, a picture of a cat does not
        ("van", "none of the 80 words"),  # a car to some of COCO's annotators, a truck to others
        ("bat", "none of the 80 words"),
    ],
)
def test_wordnet_is_not_followed_into_a_guess(phrase: str, why: str) -> None:
    wordnet()
    with pytest.raises(UnscorableError, match=why):
        resolve(phrase, COCO)


def test_words_of_a_smaller_vocabulary_are_the_only_ones_given() -> None:
    with pytest.raises(UnscorableError, match="none of the 2 words"):
        resolve("sofa", ("cat", "dog"))
    assert resolve("sofa", ("sofa", "couch")).how == "same"


@given(st.text(max_size=40))
def test_any_text_is_answered_or_refused(phrase: str) -> None:
    try:
        answer = resolve(phrase, COCO).word
    except UnscorableError as refused:
        answer = refused.reason
    assert answer in {*COCO, "unknown_word"}


def test_the_table_is_whole() -> None:
    rows = table()["synonyms"]
    assert set(rows) <= set(COCO)
    assert set(table()["senses"]) <= set(COCO)
    said = [name for names in rows.values() for name in names]
    assert len(said) == len(set(said)), "no word may stand for two things"
    assert not set(said) & set(COCO), "a known word needs no synonym"
    assert all(isinstance(why, str) and len(why) > 5 for names in rows.values() for why in names.values())
    assert english().grown <= set(COCO)
    lists = yaml.safe_load((Path(vocabulary.__file__).parent / "phrases.yaml").read_text("utf-8"))
    words = [word for name, item in lists.items() for word in item if name != "irregular"]
    assert all(isinstance(word, str) for word in words), "YAML reads a bare no or on as a truth value"


def test_every_word_of_coco_but_the_stop_sign_has_a_sense() -> None:
    missing = [word for word in COCO if sense_of(word, wordnet()) is None]
    assert missing == ["stop sign"]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("mouse", "computer mouse"),
        ("tv", "television receiver"),
        ("hot dog", "red hot"),
        ("toilet", "commode"),
        ("tie", "necktie"),
        ("remote", "remote control"),
    ],
)
def test_senses_are_those_that_can_be_seen(word: str, name: str) -> None:
    sense = sense_of(word, wordnet())
    assert sense is not None
    assert name in wordnet().names(sense)


def test_siblings_and_synonyms() -> None:
    wordnet()
    assert "horse" in siblings("zebras")
    assert "zebra" not in siblings("zebra")
    assert "sofa" in synonyms("couch")
    with pytest.raises(UnscorableError, match="no noun 'xyzzy'"):
        siblings("xyzzy")


def test_bisection_finds_what_reading_the_whole_file_finds() -> None:
    lines = weights_of("wordnet").path("index.noun").read_text("latin-1").splitlines() if wordnet() else []
    nouns = [line.split() for line in lines if not line.startswith("  ")]
    for fields in (*nouns[::1000], nouns[-1]):
        assert wordnet().senses(fields[0]) == tuple(map(int, fields[-int(fields[2]) :]))
        assert wordnet().senses(f"{fields[0]}~") == (), "there is no such noun beside it"
