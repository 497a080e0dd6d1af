"""Real edits of real photographs, seen by the small models: pairs of TEdBench, edited by Imagic."""

from __future__ import annotations

import pytest

import editgauge
from editgauge.models.weights import available
from tests.shared_data import needs_shared_data, shared_data

WEIGHTS = ("efficientdet-lite2", "u2netp")
HORSE, ZEBRA = "originals/white_horse2.png", "imagic/white_horse2.png-A_photo_of_a_zebra.png"

pytestmark = [
    needs_shared_data,
    pytest.mark.skipif(not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite`"),
]


def verdict(protocol: str, before: str, after: str) -> tuple[float | None, str]:
    folder = shared_data("tedbench")
    told = editgauge.score(
        folder / before,
        folder / after,
        "turn the horse into a zebra",
        edit_type="object_replacement",
        subject="horse",
        from_="horse",
        to="zebra",
        protocol=[protocol],
    )
    edit = next(item for item in told if item.name == "edit")
    return edit.value, " ".join(piece.text for piece in edit.evidence if isinstance(piece, editgauge.Note))


@pytest.mark.parametrize("protocol", ["editval", "editval@released", "pixlens", "pixlens@released"])
def test_a_horse_became_a_zebra_and_the_source_did_not(protocol: str) -> None:
    assert verdict(protocol, HORSE, ZEBRA)[0] == 1
    assert verdict(protocol, HORSE, HORSE)[0] == 0
    assert verdict(protocol, ZEBRA, HORSE)[0] in {0, None}  # no horse to begin with, and no zebra afterwards


def test_the_verdict_is_explained() -> None:
    assert verdict("editval", HORSE, ZEBRA)[1] == "Zebra .96 found, no horse seen: replaced."
