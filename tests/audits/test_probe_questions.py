"""Judges asked about pairs of probes, and models asked which of two objects is on the left."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import write_png
from editgauge.audits import _probe_questions
from editgauge.audits._probe_questions import (
    PairAnswers,
    PairFindings,
    ProbePair,
    TwoObjects,
    draw_pairs,
    findings,
    tell_sides,
    two_objects,
    two_objects_of_coco,
)
from editgauge.audits._probe_set import Probe, read_probes, write_probes
from editgauge.audits.audit import audit, what_is_left
from editgauge.audits.audit_card import AuditCard, Cost
from editgauge.audits.card import Sheet
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError
from editgauge.judges import Choice
from tests.audits.conftest import RedBoxes
from tests.endpoint import MODEL, Served, say
from tests.shared_data import needs_shared_data, shared_data

FREE = Cost(0, 0, 0, 0.0, 0.0)
PHOTOS = 24
Judged = Callable[[Callable[[list[str], int], str]], AuditCard]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, red_boxes: RedBoxes) -> Path:
    return red_boxes(tmp_path_factory.mktemp("probes"), PHOTOS)


@pytest.fixture
def judged(folder: Path, tmp_path: Path, served: Served) -> Judged:
    """The card of a judge that answers by the addresses of its three pictures, and by how often it saw them so."""

    def card(answer: Callable[[list[str], int], str]) -> AuditCard:
        times: Counter[str] = Counter()

        def plan(text: str, seen: int) -> str:
            shown = [item for item in list(served.requests) if not isinstance(item["messages"][0]["content"], str)]
            asked = [item for item in shown if item["messages"][0]["content"][-1]["text"] == text]
            if not asked:
                return "unclear"  # the repair question, which shows no picture
            pictures = _pictures(asked[seen])
            with served.lock:
                times["".join(pictures)] += 1
            return json.dumps({"answer": answer(pictures, times["".join(pictures)])})

        served.plan = plan
        judge = [f"openai:{MODEL}@{served.url}"]
        return audit(out=tmp_path / "audit", probes=folder, judge=judge, pairs=100, price="1,2", quiet=True)

    return card


def _pictures(request: dict[str, Any]) -> list[str]:
    return [part["image_url"]["url"] for part in request["messages"][0]["content"] if part["type"] == "image_url"]


def _coin(text: str) -> str:
    return ("first", "second")[hashlib.sha256(text.encode()).digest()[0] % 2]


def shares(found: PairFindings) -> dict[str, float | None]:
    return {name: getattr(found, name).value for name in ("right", "first_shown", "order_changes", "same_again")}


def test_a_judge_that_looks_is_right_in_any_order(judged: Judged, served: Served, tmp_path: Path) -> None:
    card = judged(
        lambda shown, times: "first" if shown[1] != shown[0] else "second"
    )  # the other one shows nothing done
    result = card.pairs[MODEL]
    assert shares(result) == {"right": 1.0, "first_shown": 0.5, "order_changes": 0.0, "same_again": 1.0}
    assert result.by_group["nothing"].value == 1.0
    assert (result.ties, result.unanswered, result.answers) == (0, {}, 3 * result.pairs)
    assert result.cost.calls == len(served.requests) == 3 * result.pairs
    assert result.cost.cost == pytest.approx(result.cost.calls * (10 * 1 + 2 * 2) / 1e6)
    page = (tmp_path / "audit" / "index.html").read_text("utf-8")
    assert "Judges between two outcomes" in page
    assert "by edit type" not in page  # no protocol was audited
    assert json.loads((tmp_path / "audit" / "card.json").read_text())["pairs"][MODEL]["right"]["value"] == 1.0


def test_a_judge_that_always_takes_the_first_is_exposed(judged: Judged) -> None:
    result = judged(lambda shown, times: "first").pairs[MODEL]
    assert shares(result) == {"right": 0.5, "first_shown": 1.0, "order_changes": 1.0, "same_again": 1.0}


def test_a_judge_that_guesses_is_exposed(judged: Judged) -> None:
    result = judged(lambda shown, times: _coin(f"{shown} {times}")).pairs[MODEL]
    assert result.same_again.high is not None
    assert result.right.low is not None
    assert result.same_again.high < 0.9
    assert result.right.low < 0.5 < (result.right.high or 0)
    assert result.order_changes.value != 0


def test_ties_are_counted_and_nothing_is_asked_twice(judged: Judged, served: Served) -> None:
    first = judged(lambda shown, times: "tie").pairs[MODEL]
    assert (first.right.value, first.ties) == (0.5, first.answers)
    assert first.first_shown.value is None
    asked = len(served.requests)
    again = judged(lambda shown, times: "first").pairs[MODEL]
    assert len(served.requests) == asked
    assert again == first


def test_one_budget_holds_for_all_parts_of_an_audit(judged: Judged, tmp_path: Path) -> None:
    spent = judged(lambda shown, times: "tie").pairs[MODEL].cost.cost
    out = tmp_path / "audit"
    assert 0 < spent < 1
    assert what_is_left(1.0, out, out / "runs" / "editinspector") == pytest.approx(1.0 - spent)
    assert what_is_left(1.0, out, out / "pairs") == 1.0  # a part knows itself what it has spent
    assert what_is_left(spent / 2, out, out / "runs" / "editinspector") == 0.0
    assert what_is_left(None, out, out / "pairs") is None


def test_what_the_budget_forbade_is_no_call(folder: Path, tmp_path: Path, served: Served) -> None:
    served.plan = lambda text, seen: say('{"answer": "tie"}', tokens=(1000, 1))
    judge = [f"openai:{MODEL}@{served.url}"]
    result = audit(
        out=tmp_path, probes=folder, judge=judge, pairs=100, price="1,2", budget=0.01, max_tokens=16, quiet=True
    ).pairs[MODEL]
    assert 0 < result.unanswered["budget"] < 3 * result.pairs
    assert result.cost.calls == len(served.requests)


def test_a_judge_whose_answers_cannot_be_read_has_no_share(judged: Judged) -> None:
    result = judged(lambda shown, times: "I cannot say").pairs[MODEL]
    assert result.right.value is None
    assert result.unanswered == {"unparsable": 3 * result.pairs}


def test_pairs_want_a_judge(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="give `judge` too"):
        audit(out=tmp_path / "audit", probes=folder, pairs=3)


def test_pairs_are_held_back_and_of_one_request(folder: Path) -> None:
    probes = {probe.id: probe for probe in read_probes(folder)}
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    pairs = draw_pairs(Sheet.of(tuple(probes.values())), edits, 1000, seed=0)
    assert pairs
    for pair in pairs:
        better, worse = (pair.first, pair.second) if pair.better_first else (pair.second, pair.first)
        assert (probes[better].done, probes[worse].done) == (True, False)
        assert probes[better].split == probes[worse].split == "held_back"
        assert edits[better].source == edits[worse].source
    assert len({pair.better_first for pair in pairs}) == 2
    assert draw_pairs(Sheet.of(tuple(probes.values())), edits, 4, seed=0) == pairs[:4]


CHOICES = st.sampled_from(["one", "two", "tie", None])


@given(st.lists(st.tuples(CHOICES, CHOICES, CHOICES, st.booleans()), min_size=1, max_size=12))
def test_naming_the_outcomes_the_other_way_round_changes_nothing(
    told: list[tuple[Choice | None, Choice | None, Choice | None, bool]],
) -> None:
    """The order of the first showing is chance; what is found must not depend on it."""
    turned: dict[Choice | None, Choice | None] = {"one": "two", "two": "one", "tie": "tie", None: None}
    pairs = [ProbePair("a", "b", first, f"photo {n}", "nothing") for n, (*_, first) in enumerate(told)]
    said = [PairAnswers(given, swapped, again) for given, swapped, again, _ in told]
    others = [ProbePair(item.second, item.first, not item.better_first, item.photo, item.group) for item in pairs]
    other_said = [PairAnswers(turned[item.swapped], turned[item.first_order], None) for item in said]
    one, two = findings(pairs, said, FREE), findings(others, other_said, FREE)
    # shown the other way round first, `given` is what was `swapped` before, and both still name the outcome
    assert one.right == two.right
    assert one.order_changes == two.order_changes
    assert one.first_shown.value == two.first_shown.value


@pytest.fixture
def drawn_folder(tmp_path: Path) -> Path:
    """Additions to the left and above, and one without a place."""
    write_png(np.full((20, 30, 3), 90, np.uint8), tmp_path / "a.png")
    words = {"source": "a.png", "type": "positional_addition", "instruction": "Add a cup.", "to": "cup"}
    left, above = {"relation": "left", "anchor": "bowl"}, {"relation": "above", "anchor": "bowl"}
    edits = [{"id": name, **words, **({"position": where} if where else {})} for name, where in _places(left, above)]
    (tmp_path / "edits.jsonl").write_text("".join(json.dumps(item) + "\n" for item in edits))
    return tmp_path


def _places(left: dict[str, str], above: dict[str, str]) -> list[tuple[str, dict[str, str] | None]]:
    return [("a--right", left), ("a--nothing", left), ("b--right", above), ("c--right", None)]


def test_only_right_outcomes_beside_something_are_shown(drawn_folder: Path) -> None:
    kinds = {"a--right": "right", "a--nothing": "nothing", "b--right": "right", "c--right": "right"}
    probes = [Probe(name, name[0], "photo", "positional_addition", kind) for name, kind in kinds.items()]
    write_probes(drawn_folder, probes)
    (result,) = two_objects(drawn_folder, probes)
    assert (result.new, result.anchor, result.side) == ("cup", "bowl", "left")
    assert result.caption("right") == "cup to the right of bowl"


def test_what_a_model_says_counts_by_the_side_that_is_true() -> None:
    pictures = [TwoObjects(Path(), f"photo {n}", "cup", "bowl", "left" if n < 4 else "right") for n in range(8)]
    always_left = _probe_questions._choices("joint_embedder", pictures, ["left"] * 7 + [None])
    assert (always_left.left.value, always_left.right.value) == (1.0, 0.0)
    assert (always_left.pictures, always_left.answered) == (8, 7)


def test_without_a_model_that_can_tell_nothing_is_told() -> None:
    pictures = [TwoObjects(Path(), "photo", "cup", "bowl", "left")]
    assert tell_sides(pictures, {"image_embedder": "augnet"}) == {}
    assert tell_sides([], {"detector": "efficientdet-lite2"}) == {}


def test_photographs_of_coco_with_two_objects_side_by_side(tmp_path: Path) -> None:
    """Two cats make the first no pair; in the second the cup lies left of the dog; in the third they overlap."""
    for number in (1, 2, 3):
        write_png(np.zeros((10, 20, 3), np.uint8), tmp_path / f"{number}.png")
    rows = [
        (1, 1, [0, 0, 5, 5]),
        (1, 1, [10, 0, 5, 5]),
        (1, 2, [6, 0, 2, 2]),
        (2, 2, [0, 0, 4, 4]),
        (2, 3, [5, 0, 9, 9]),
        (3, 2, [0, 0, 9, 9]),
        (3, 3, [5, 0, 9, 9]),
    ]
    told = {
        "images": [{"id": number, "file_name": f"{number}.png", "width": 20, "height": 10} for number in (1, 2, 3)],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "cup"}, {"id": 3, "name": "dog"}],
        "annotations": [
            {"id": place, "image_id": image, "category_id": kind, "bbox": box, "segmentation": []}
            for place, (image, kind, box) in enumerate(rows)
        ],
    }
    file = tmp_path / "instances.json"
    file.write_text(json.dumps(told))

    (result,) = two_objects_of_coco(file, tmp_path)

    assert (result.picture.name, result.new, result.anchor, result.side) == ("2.png", "cup", "dog", "left")
    file.write_text("[]")
    with pytest.raises(BadInputError, match="is no COCO file"):
        two_objects_of_coco(file, tmp_path)


@needs_shared_data
def test_real_annotations_give_pairs_on_both_sides() -> None:
    coco = shared_data("coco128")
    result = two_objects_of_coco(coco / "instances_train2017.json", coco / "images")

    assert len(result) >= 10
    assert {item.side for item in result} == {"left", "right"}
