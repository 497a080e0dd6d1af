"""The protocol `text`: lines that the test writes down, then words drawn on a photograph and read by OCR."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.images import ImageFile, Pixels
from editgauge.errors import UnscorableError
from editgauge.models.answers import TextLines
from editgauge.models.perception import ModelService
from editgauge.models.weights import available
from editgauge.protocols.text import text
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored

photographs: Any = skimage.data
BEFORE, AFTER = np.zeros((100, 200, 3), np.uint8), np.ones((100, 200, 3), np.uint8)
Written = list[tuple[str, int, int]]


def lines(*written: tuple[str, int, int]) -> TextLines:
    """Lines of text with the left and top of each; a letter is 8 wide and 10 high."""
    corners = [
        [[left, top], [left + 8 * len(words), top], [left + 8 * len(words), top + 10], [left, top + 10]]
        for words, left, top in written
    ]
    return TextLines(
        tuple(words for words, _, _ in written),
        np.array(corners, np.float32).reshape(-1, 4, 2),
        np.full(len(written), 0.9, np.float32),
    )


class Reader:
    """A perception for tests only, which reads what it was given."""

    def __init__(self, before: TextLines | None, after: TextLines | None) -> None:
        self._lines = before, after

    async def read_text(self, image: Pixels) -> TextLines:
        answer = self._lines[image is AFTER]
        if answer is None:
            raise UnscorableError("no_model", "no model plays the role 'text_reader'")
        return answer


def item(source: Pixels = BEFORE, edited: Pixels = AFTER, kind: str = "text", **fields: Any) -> Item:
    edit = Edit(id="e", source=ImageFile("p", Path("/p")), type=kind, instruction="Change the words.", **fields)
    outcome = Outcome(edit_id="e", method="m", image=Path("/o"))
    return Item(edit=edit, outcome=outcome, source=source, edited=edited)


def scores(before: TextLines | None, after: TextLines | None, **fields: Any) -> Scores:
    return asyncio.run(text.score(item(**fields), Reader(before, after)))  # type: ignore[arg-type]


def value(score: Score | Unscored) -> float:
    assert isinstance(score, Score), score
    return score.value


def test_words_that_were_replaced_where_they_stood() -> None:
    before, after = lines(("STOP", 10, 10), ("Main Street", 10, 50)), lines(("GO", 12, 10), ("Main Street", 10, 50))
    done = scores(before, after, from_="STOP", to="Go")
    assert {name: value(entry) for name, entry in done.items()} == {
        "words": 1, "old_words_gone": 1, "place": 1, "other_text": 1
    }  # fmt: skip


def test_an_untouched_picture_fails_and_keeps_all_other_text() -> None:
    before = lines(("STOP", 10, 10), ("Main Street", 10, 50))
    untouched = scores(before, before, from_="STOP", to="Welcome")
    assert value(untouched["words"]) < 0.3
    assert value(untouched["old_words_gone"]) == 0
    assert value(untouched["other_text"]) == 1
    assert isinstance(untouched["place"], Unscored)


def test_wrong_letters_are_counted() -> None:
    spelled = scores(lines(), lines(("WELC0ME", 10, 10)), to="WELCOME")
    assert value(spelled["words"]) == pytest.approx(6 / 7)


def test_words_in_the_wrong_place_and_other_text_that_is_lost() -> None:
    before, after = lines(("STOP", 10, 10), ("Main Street", 10, 50)), lines(("GO", 150, 80))
    moved = scores(before, after, from_="STOP", to="GO")
    assert value(moved["words"]) == 1
    assert value(moved["place"]) == 0
    assert value(moved["other_text"]) == 0


def test_words_over_two_lines_are_read_together() -> None:
    assert value(scores(lines(), lines(("HAPPY", 10, 10), ("BIRTHDAY", 10, 22)), to="Happy Birthday")["words"]) == 1


def test_part_of_a_longer_word_is_not_the_word() -> None:
    assert value(scores(lines(), lines(("OPENING", 10, 10)), to="OPEN")["words"]) < 0.5
    assert value(scores(lines(), lines(("OPEN TODAY", 10, 10)), to="OPEN")["words"]) == 1


def test_another_kind_of_edit_is_scored_for_the_text_that_should_stay() -> None:
    before = lines(("Main Street", 10, 50))
    other = scores(before, lines(("Ma1n Strcct", 10, 50)), kind="object_removal", subject="car")
    assert 0.5 < value(other["other_text"]) < 1
    assert isinstance(other["words"], Unscored)


def test_without_a_reader_and_without_text_nothing_is_made_up() -> None:
    assert {entry.reason for entry in scores(None, None, to="GO").values() if isinstance(entry, Unscored)} == {
        "no_model"
    }
    empty = scores(lines(), lines(), from_="STOP", to="GO")
    assert value(empty["words"]) == 0
    reasons = {name: entry.reason for name, entry in empty.items() if isinstance(entry, Unscored)}
    assert reasons == {"old_words_gone": "not_detected", "place": "not_applicable", "other_text": "not_detected"}


@pytest.mark.skipif(not available("pp-ocr"), reason="NOT TESTED: run `editgauge models pull lite`")
def test_words_on_a_photograph_are_judged_by_what_can_be_read() -> None:
    """The real reader: a sign on a photograph whose words were replaced, and one on which nothing was done."""

    def sign(words: str) -> Pixels:
        picture: Pixels = photographs.coffee().copy()
        cv2.rectangle(picture, (40, 30), (330, 110), (250, 250, 240), -1)
        cv2.putText(picture, words, (55, 85), cv2.FONT_HERSHEY_DUPLEX, 1.6, (20, 20, 20), 3, cv2.LINE_AA)
        cv2.putText(picture, "fresh every day", (330, 370), cv2.FONT_HERSHEY_DUPLEX, 0.9, (255, 255, 255), 2)
        return picture

    before, after = sign("CLOSED"), sign("COFFEE")
    with ModelService({"text_reader": "pp-ocr"}) as perception:
        done = asyncio.run(text.score(item(before, after, from_="CLOSED", to="Coffee"), perception))
        untouched = asyncio.run(text.score(item(before, before, from_="CLOSED", to="Coffee"), perception))
    assert value(done["words"]) > 0.8
    assert value(done["old_words_gone"]) > 0.5
    assert value(done["place"]) > 0.8
    assert value(done["other_text"]) > 0.9
    assert value(untouched["words"]) < 0.5
    assert value(untouched["old_words_gone"]) < 0.2
