"""Left or right: the pictures are those whose sides are known, and an answer is only right when it is the true one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from editgauge.audits.judges import sides
from editgauge.audits.judges.sides import TwoObjects, tell_sides, two_objects
from editgauge.audits.probes.probes import Probe, write_probes
from editgauge.core.images import write_png


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Additions to the left and above, and one without a place."""
    write_png(np.full((20, 30, 3), 90, np.uint8), tmp_path / "a.png")
    words = {"source": "a.png", "type": "positional_addition", "instruction": "Add a cup.", "to": "cup"}
    left, above = {"relation": "left", "anchor": "bowl"}, {"relation": "above", "anchor": "bowl"}
    edits = [{"id": name, **words, **({"position": where} if where else {})} for name, where in _places(left, above)]
    (tmp_path / "edits.jsonl").write_text("".join(json.dumps(each) + "\n" for each in edits))
    return tmp_path


def _places(left: dict[str, str], above: dict[str, str]) -> list[tuple[str, dict[str, str] | None]]:
    return [("a--right", left), ("a--nothing", left), ("b--right", above), ("c--right", None)]


def test_only_right_outcomes_beside_something_are_shown(folder: Path) -> None:
    kinds = {"a--right": "right", "a--nothing": "nothing", "b--right": "right", "c--right": "right"}
    probes = [Probe(name, name[0], "photo", "positional_addition", kind) for name, kind in kinds.items()]
    write_probes(folder, probes)
    (found,) = two_objects(folder, probes)
    assert (found.new, found.anchor, found.side) == ("cup", "bowl", "left")
    assert found.caption("right") == "cup to the right of bowl"


def test_what_a_model_says_counts_by_the_side_that_is_true() -> None:
    pictures = [TwoObjects(Path(), f"photo {n}", "cup", "bowl", "left" if n < 4 else "right") for n in range(8)]
    always_left = sides._told("joint_embedder", pictures, ["left"] * 7 + [None])
    assert (always_left.left.value, always_left.right.value) == (1.0, 0.0)
    assert (always_left.pictures, always_left.answered) == (8, 7)


def test_without_a_model_that_can_tell_nothing_is_told() -> None:
    pictures = [TwoObjects(Path(), "photo", "cup", "bowl", "left")]
    assert tell_sides(pictures, {"image_embedder": "augnet"}) == {}
    assert tell_sides([], {"detector": "efficientdet-lite2"}) == {}
