"""Laws that every protocol keeps: the registry is walked, so none can be forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data
from numpy.typing import NDArray

from editgauge._util.images import ImageArray, ImageFile, Pixels
from editgauge._util.masks import Rectangle
from editgauge.engine._options import open_protocols_with_models
from editgauge.errors import BadInputError, UnscorableError
from editgauge.models.perception import ModelService
from editgauge.models.weights import available
from editgauge.options import ModelOptions
from editgauge.protocols import BUILT_IN, Protocol, _changes
from editgauge.types import Edit, Item, Outcome, Position, Score, Scores

ScoreTable = dict[tuple[str, str], dict[str, float | str]]
"""Scores, or the reasons why there are none, by protocol and edit."""
CAT: Callable[[], Pixels] = skimage.data.chelsea
WOMAN: Callable[[], Pixels] = skimage.data.astronaut
OFFSETS = (0, 1, 13)
"""Bytes from an address that is a multiple of 64."""
LITE = ("efficientdet-lite2", "u2netp", "wordnet", "lpips-alex")
NEEDS_A_HUB_OR_A_JUDGE = {
    "augclip", "augclip@appendix", "augclip@literal", "augclip@sum", "clip-family", "difference-captions",
    "difference-captions@released", "editinspector", "editinspector@released", "local-clip",
}  # fmt: skip
"""Protocols that no small model can serve; everything else is scored."""
EDITS: dict[str, dict[str, Any]] = {
    "color": {"type": "color", "instruction": "Make the cat black.", "subject": "cat", "to": "black"},
    "addition": {
        "type": "positional_addition",
        "instruction": "Add one dog to the left of the cat.",
        "subject": "cat",
        "to": "dog",
        "count": 1,
        "position": Position("left", "cat"),
    },
    "people": {"type": "action", "instruction": "Make the woman smile.", "subject": "woman", "to": "smile"},
    "text": {
        "type": "text",
        "instruction": "Change 'OPEN' to 'SHUT'.",
        "subject": "text",
        "from_": "OPEN",
        "to": "SHUT",
    },
    "unibench": {
        "type": "color",
        "instruction": "Make the cat red.",
        "subject": "cat",
        "to": "red",
        "objects": {"cat": Rectangle(120, 20, 330, 280)},
        "extras": {
            "unibench": {
                "task": "change_color",
                "name": "cat",
                "target": "red",
                "candidates": ["red", "blue"],
                "object": "cat",
                "others": [],
            }
        },
    },
}


def place_at(array: NDArray[Any], offset: int) -> NDArray[Any]:
    """Return a copy whose first byte lies at an offset from a multiple of 64."""
    memory = np.zeros(array.nbytes + 128, np.uint8)
    start = (-memory.ctypes.data) % 64 + offset
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    assert copy.ctypes.data % 64 == offset
    return copy


@cache
def images(kind: str) -> tuple[Pixels, Pixels]:
    """Return a photograph of a cat, or of a woman with a word beside her, and a damaged copy."""
    if kind in {"people", "text"}:
        source = np.ascontiguousarray(WOMAN()[:320, 60:380])
        edited = source.copy()
        for image, word in ((source, "OPEN"), (edited, "SHUT")):
            cv2.putText(image, word, (10, 300), cv2.FONT_HERSHEY_SIMPLEX, 2, (255, 255, 255), 5)
    else:
        source = np.ascontiguousarray(CAT())
        edited = np.roll(source, 2, axis=1)
    edited[40:200, 150:300] //= 2
    noise = np.random.default_rng(0).integers(-6, 7, source.shape)
    return source, np.clip(edited + noise, 0, 255).astype(np.uint8)


def item_at(offset: int, kind: str) -> Item:
    source, edited = (ImageArray(place_at(image, offset)) for image in images(kind))
    mask = np.zeros(source.shape[:2], np.bool_)
    mask[30:210, 140:310] = True
    return Item(
        edit=Edit(id="e", source=ImageFile("p", Path("/p")), **EDITS[kind]),
        outcome=Outcome(edit_id="e", method="m", image=Path("/o")),
        source=source,
        edited=edited,
        mask=place_at(mask, offset),
        reference=ImageArray(place_at(images(kind)[1], offset)),
        unchanged=place_at(~mask, offset),
    )


def values(protocol: Protocol, item: Item, models: ModelService) -> dict[str, float | str]:
    async def score() -> Scores:
        return await protocol.score(item, models)  # type: ignore[arg-type]

    try:
        scores = asyncio.run(score())
    except UnscorableError as error:
        return {"all": error.reason}
    return {name: score.value if isinstance(score, Score) else score.reason for name, score in scores.items()}


@cache
def lite_protocols() -> tuple[list[Protocol], dict[str, str]]:
    """Return every protocol that small models can serve, and the models of all of them."""
    opened: list[Protocol] = []
    models: dict[str, str] = {}
    for name in BUILT_IN:
        try:
            protocols, choice = open_protocols_with_models([name], ModelOptions(models="lite-plus"))
        except BadInputError:
            continue
        opened += protocols
        models |= choice.models
    return opened, models


@pytest.fixture(scope="module")
def scores_by_offset() -> dict[int, ScoreTable]:
    protocols, models = lite_protocols()
    scores: dict[int, ScoreTable] = {}
    for offset in OFFSETS:
        _changes._recent.clear()  # a cached pair would hide a difference
        with ModelService(models) as service:  # a new one, because answers are cached by content
            scores[offset] = {
                (protocol.name, kind): values(protocol, item_at(offset, kind), service)
                for kind in EDITS
                for protocol in protocols
            }
    return scores


pytestmark = pytest.mark.skipif(
    not all(map(available, LITE)), reason="NOT TESTED: run `editgauge models pull lite`"
)  # fmt: skip


def test_only_protocols_that_need_a_hub_or_a_judge_are_left_out() -> None:
    assert set(BUILT_IN) - {protocol.name for protocol in lite_protocols()[0]} == NEEDS_A_HUB_OR_A_JUDGE


@pytest.mark.parametrize("offset", OFFSETS[1:])
def test_scores_do_not_depend_on_where_an_image_lies_in_memory(
    scores_by_offset: dict[int, ScoreTable], offset: int
) -> None:
    first, other = scores_by_offset[OFFSETS[0]], scores_by_offset[offset]
    assert {key: scores for key, scores in other.items() if scores != first[key]} == {}


def test_every_protocol_gives_a_number_for_one_of_the_edits(
    scores_by_offset: dict[int, ScoreTable],
) -> None:
    scored = {
        name
        for (name, _), scores in scores_by_offset[0].items()
        if any(isinstance(value, float) for value in scores.values())
    }
    unscored = {name for name, _ in scores_by_offset[0]} - scored
    assert unscored <= ({"people"} if not available("yunet-sface") else set())
