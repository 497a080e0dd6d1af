"""The protocol `editgauge` with the lite models on `sample`: the right outcome against wrong and spoiled ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from editgauge._util.images import read_image
from editgauge.benchmarks import open_benchmark
from editgauge.engine._perception import RunPerception
from editgauge.engine._scoring import build_item
from editgauge.errors import CannotEditError
from editgauge.evidence import Note
from editgauge.methods import Method
from editgauge.methods.reference.editors import classical, identity, overdone
from editgauge.models.profiles import choose_models
from editgauge.models.weights import available
from editgauge.protocols.editgauge import editgauge
from editgauge.types import Edit, Outcome, Score, Scores

WEIGHTS = ("efficientdet-lite2", "u2netp")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite`"),
]


OUTCOMES: dict[str, Method] = {
    "right": classical,
    "nothing": identity,
    "rest spoiled": overdone,
}
HANDFUL = 6
NO_RULE = ("alter_parts", "shape", "action", "viewpoint")


@pytest.fixture(scope="module")
def see() -> Iterator[RunPerception]:
    with RunPerception(choose_models("lite", {}, (*editgauge.needs, *editgauge.prefers)).models) as service:
        yield service


@pytest.fixture(scope="module")
def scores(see: RunPerception) -> dict[str, list[Scores | None]]:
    """One edit of each of some fitted types, by what was made of it."""
    found: dict[str, Edit] = {}
    for edit in open_benchmark("sample").edits:
        if edit.recipe is not None and edit.type not in NO_RULE:
            found.setdefault(edit.type, edit)
    chosen = list(found.values())[:HANDFUL]
    return {name: [scored(edit, method, see) for edit in chosen] for name, method in OUTCOMES.items()}


def scored(edit: Edit, method: Method, see: RunPerception) -> Scores | None:
    source = read_image(edit.source.path)
    try:
        edited = method.edit(edit, source, 0)
    except CannotEditError:
        return None
    outcome = Outcome(edit_id=edit.id, method=method.name, image=Path("/nowhere"))
    return asyncio.run(editgauge.score(build_item(edit, outcome, source, edited), see))


def pairs(scores: dict[str, list[Scores | None]], one: str, other: str, name: str) -> NDArray[np.float64]:
    """What both outcomes of every edit got."""
    rows = [
        (first[name], second[name])
        for first, second in zip(scores[one], scores[other], strict=True)
        if first is not None and second is not None
    ]
    return np.array([(a.value, b.value) for a, b in rows if isinstance(a, Score) and isinstance(b, Score)])


def test_doing_the_edit_is_likelier_done_than_doing_nothing(scores: dict[str, list[Scores | None]]) -> None:
    right, nothing = pairs(scores, "right", "nothing", "edit").T

    assert len(right) >= HANDFUL / 2  # the others name things that no model knows
    assert (right > nothing).all()
    assert right.mean() > nothing.mean() + 0.2


def test_a_disturbed_rest_is_kept_less(scores: dict[str, list[Scores | None]]) -> None:
    right, spoiled = pairs(scores, "right", "rest spoiled", "kept").T

    assert spoiled.mean() < right.mean() - 0.2


def test_every_score_has_reasons_in_sentences(scores: dict[str, list[Scores | None]]) -> None:
    for given in scores["right"]:
        assert given is not None
        assert set(given) == {spec.name for spec in editgauge.scores}
        scored = [score for score in given.values() if isinstance(score, Score)]
        assert all(any(isinstance(piece, Note) for piece in score.evidence) for score in scored)
        assert all(score.detail for score in given.values() if not isinstance(score, Score))
