"""Laws of every protocol that claims `edit`: what is absent from the picture never passes, whatever the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import editgauge
from editgauge.edit_types import EDIT_TYPES
from editgauge.engine._options import DEFAULT_PROTOCOLS
from editgauge.errors import UnscorableError
from editgauge.models.weights import available
from editgauge.protocols import BUILT_IN, open_protocol
from editgauge.types import ParsedInstruction, ParsedStep, Position, Relation, Score, Unscored

Make = Callable[..., tuple[Any, Any]]
PASS = 0.5
JUDGING = [name for name in BUILT_IN if any(spec.name == "edit" for spec in open_protocol(name).scores)]
BY_RULES = [name for name in JUDGING if set(open_protocol(name).needs) <= {"detector", "segmenter"}]
BY_STEP = [name for name in JUDGING if any(spec.name == "steps_done" for spec in open_protocol(name).scores)]
PRESENT, ABSENT = ("cat", "dog", "bench", "cup"), ("airplane", "purple submarine")
boxes = st.tuples(st.integers(0, 200), st.integers(0, 150), st.integers(20, 90), st.integers(20, 80)).map(
    lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])
)
scenes = st.dictionaries(st.sampled_from(PRESENT), st.lists(boxes, min_size=1, max_size=3))
RELATIONS: tuple[Relation, ...] = ("left", "right", "above", "below", "center")
relations = st.sampled_from(RELATIONS)
THINGS = [name for name, kind in EDIT_TYPES.items() if kind.value == "thing"]
OTHERS = ["object_removal", "single_instance_removal", "size", "position_replacement"]


def verdict(protocol: str, staging: tuple[Any, Any], name: str = "edit") -> Score | Unscored:
    item, perception = staging
    try:
        return asyncio.run(open_protocol(protocol).score(item, perception))[name]
    except UnscorableError as unable:  # what the engine makes of it
        return Unscored(unable.reason, unable.detail)


def passes(given: Score | Unscored) -> bool:
    return isinstance(given, Score) and given.value >= PASS


def test_the_laws_know_every_protocol_that_judges_an_edit() -> None:
    judges = {name for name in JUDGING if "judge" in open_protocol(name).needs}
    assert {*BY_RULES, "editgauge", *judges} == set(JUDGING)
    assert set(BY_STEP) == {name for name in JUDGING if "@" not in name} - judges - {"unibench-detect"}


@pytest.mark.parametrize("protocol", BY_RULES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_absent_from_the_picture_never_passes(staged: Make, protocol: str, data: st.DataObject) -> None:
    """Whatever the scene: something that nobody sees was not added, nor did it replace, lose or move anything."""
    before, after = data.draw(scenes), data.draw(scenes)
    kind, absent = data.draw(st.sampled_from([*THINGS, *OTHERS])), data.draw(st.sampled_from(ABSENT))
    present, relation = data.draw(st.sampled_from(PRESENT)), data.draw(relations)
    edit: dict[str, Any] = {"type": kind, "count": data.draw(st.none() | st.integers(1, 3))}
    if kind in THINGS:
        edit |= {"subject": present, "from_": present, "to": absent, "position": Position(relation, present)}
    else:
        edit |= {"subject": absent, "to": {"size": "large"}.get(kind, relation), "position": Position(relation)}
    assert not passes(verdict(protocol, staged(edit, before, after, size=(300, 240))))


@pytest.mark.parametrize("protocol", ["editval", "pixlens"])
@pytest.mark.parametrize(("seen", "done"), [(1, False), (2, True), (3, True)])
def test_a_number_in_the_instruction_counts(staged: Make, protocol: str, seen: int, done: bool) -> None:
    """ "Two bananas" is not done by the untouched picture of one; the released rules do not count."""
    boxes = [(20 + 90 * place, 20, 90 + 90 * place, 90) for place in range(seen)]
    edit = {"type": "object_addition", "subject": "banana", "to": "banana"}
    staging, uncounted = (
        staged({**edit, "count": count}, {"banana": boxes[:1]}, {"banana": boxes}, size=(300, 240))
        for count in (2, None)
    )
    assert passes(verdict(protocol, staging)) is done
    released = f"{protocol}@released"
    assert passes(verdict(released, staging)) == passes(verdict(released, uncounted))


@pytest.mark.parametrize("protocol", ["editval", "pixlens"])
def test_a_caption_that_names_no_old_thing_asks_for_a_new_one(staged: Make, protocol: str) -> None:
    edit = {"type": "object_replacement", "to": "zebra"}
    horse, zebra = {"horse": [(20, 20, 200, 200)]}, {"zebra": [(20, 20, 200, 200)]}
    assert passes(verdict(protocol, staged(edit, horse, zebra)))
    assert not passes(verdict(protocol, staged(edit, horse, horse)))
    untouched = verdict(protocol, staged(edit, zebra, zebra))
    assert isinstance(untouched, Unscored)
    assert "zebra" in untouched.detail


@pytest.mark.parametrize("protocol", ["editval", "pixlens"])
@pytest.mark.parametrize(
    ("edited", "done", "share"), [(("cat", "cup"), 1.0, 1.0), (("cat",), 0.0, 0.5), ((), 0.0, 0.0)]
)
def test_an_edit_is_done_when_every_step_is(
    staged: Make, protocol: str, edited: tuple[str, ...], done: float, share: float
) -> None:
    steps = tuple(ParsedStep(type="object_addition", to=thing, sure=True) for thing in ("cat", "cup"))
    edit = {"type": "object_addition", "to": "cat", "reading": ParsedInstruction(steps, "rules")}
    staging = staged(edit, {}, {thing: [(20, 20, 200, 200)] for thing in edited})
    values = [verdict(protocol, staging, name) for name in ("edit", "steps_done")]
    assert [given.value for given in values if isinstance(given, Score)] == [done, share]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", BY_RULES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_pass_never_survives_another_instruction(staged: Make, protocol: str, data: st.DataObject) -> None:
    """One scene, one outcome: where a request passes, one that was not followed scores otherwise."""
    before = data.draw(scenes)
    comes = data.draw(st.sampled_from(PRESENT))
    before.pop(comes, None)
    others = [word for word in PRESENT if word != comes]
    left, top, right, bottom = data.draw(boxes)  # beside all else: where two things fill one box, either may be seen
    after = {**before, comes: [(left + 300, top, right + 300, bottom)]}
    other, relation = data.draw(st.sampled_from(others)), data.draw(relations)
    absent = data.draw(st.sampled_from([*ABSENT, *(word for word in others if word not in after)]))
    followed = {"type": "object_addition", "subject": other, "to": comes}
    swapped: list[dict[str, Any]] = [
        {"type": kind, "subject": other, "from_": other, "to": absent, "position": Position(relation, other)}
        for kind in THINGS
    ]
    swapped += [
        {"type": "object_removal", "subject": comes},
        {"type": "object_replacement", "subject": comes, "from_": comes, "to": other},
        {"type": "size", "subject": absent, "to": "large"},
        {"type": "position_replacement", "subject": absent, "to": relation, "position": Position(relation)},
    ]
    done = verdict(protocol, staged(followed, before, after, size=(600, 240)))
    if isinstance(done, Score) and passes(done):
        for edit in swapped:
            instead = verdict(protocol, staged(edit, before, after, size=(600, 240)))
            assert isinstance(instead, Unscored) or instead.value != done.value, edit


MUSEUM = "museum/ImagenHub_Text-Guided_IE"
REAL = (
    ("sample_100081_1.jpg", "change the frisbee into {}"),
    ("sample_262161_1.jpg", "add {}"),
    ("sample_309_1.jpg", "let there be {}"),
)
FOLLOWED = (
    ("sample_100081_3.jpg", "Gemini2NativeEdit", ("add a car", "replace the dog with a cat", "remove the dog")),
    ("sample_234956_1.jpg", "Gemini2NativeEdit", ("add a boat", "change the train into a bus", "add two birds")),
    (
        "sample_111376_1.jpg",
        "Gemini2NativeEdit",
        ("make the cow white", "add a bicycle", "replace the cow with a horse"),
    ),
)
"""Outcomes that people would call done, and instructions of the same photograph that nobody followed."""
REASON = "NOT TESTED: run `editgauge models pull lite`"


@pytest.fixture(scope="module")
def scorer() -> Iterator[editgauge.Scorer]:
    with editgauge.Scorer() as scorer:
        yield scorer


def edit_scores(result: editgauge.ScoreResult) -> dict[str, float | None]:
    return {entry.protocol: entry.value for entry in result if entry.name == "edit"}


@pytest.mark.slow
@pytest.mark.skipif(not available("efficientdet-lite2"), reason=REASON)
@pytest.mark.parametrize(("name", "asks"), REAL)
def test_on_photographs_what_is_absent_never_passes(
    shared: Path, scorer: editgauge.Scorer, name: str, asks: str
) -> None:
    """Real edits by a method that people rated, with the models of `lite`; whatever type of edit asks for the thing."""
    before, after = (shared / MUSEUM / folder / name for folder in ("input", "GroundTruth"))
    wordings = [asks, "replace the person with {}", "add {} to the left of the person", "have a person hold {}"]
    for text in [
        *(asks.format(f"a {thing}") for thing in (*ABSENT, "bonfire")),
        *(w.format("an airplane") for w in wordings),
    ]:
        scores = scorer.score(before, after, text)
        edits = edit_scores(scores)
        assert set(edits) == {*DEFAULT_PROTOCOLS} - {"preservation"}, text
        assert all(value is None or value < PASS for value in edits.values()), (text, edits)
        partly = {"partly"} if len(editgauge.parse(text).steps) > 1 else set()  # 'have a person hold an airplane'
        assert scores.verdict.done in {"no", "cannot tell"} | partly, (text, scores.verdict.sentence)


@pytest.mark.slow
@pytest.mark.skipif(not available("efficientdet-lite2"), reason=REASON)
@pytest.mark.parametrize(("name", "method", "others"), FOLLOWED)
def test_on_photographs_a_pass_never_survives_another_instruction(
    shared: Path, scorer: editgauge.Scorer, name: str, method: str, others: tuple[str, ...]
) -> None:
    """And of our own graded score no two instructions have the same number."""
    lookup = json.loads((shared / MUSEUM / "dataset_lookup.json").read_text("utf-8"))
    before, after = (shared / MUSEUM / folder / name for folder in ("input", method))
    asked = lookup[name]["instruction"]
    edits = {text: edit_scores(scorer.score(before, after, text)) for text in (asked, *others)}
    for protocol, value in edits[asked].items():
        for text in others:
            instead = edits[text][protocol]
            same = instead is not None and instead == value
            assert not (same and instead is not None and instead >= PASS), (protocol, text, edits)
    own = [values["editgauge"] for values in edits.values() if values["editgauge"] is not None]
    assert len(set(own)) == len(own), edits


@pytest.mark.slow
@pytest.mark.skipif(not available("efficientdet-lite2"), reason=REASON)
def test_a_horse_that_became_a_zebra_is_judged_by_what_was_asked(shared: Path) -> None:
    """TEdBench's own pair: each instruction its own number, and only the right one passes."""
    folder = shared / "tedbench"
    before = folder / "originals" / "white_horse2.png"
    after = folder / "imagic" / "white_horse2.png-A_photo_of_a_zebra.png"
    done = editgauge.score(before, after, "A photo of a zebra.")
    wrong = editgauge.score(before, after, "replace the horse with an airplane")
    assert (done.verdict.done, wrong.verdict.done) == ("yes", "no")
    for protocol in set(DEFAULT_PROTOCOLS) - {"preservation"}:
        right, swapped = (
            next(entry.value for entry in scores if (entry.protocol, entry.name) == (protocol, "edit"))
            for scores in (done, wrong)
        )
        assert right is not None
        assert right >= PASS
        assert swapped is None or swapped < PASS
