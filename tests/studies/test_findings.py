"""`editgauge study analyze`: from answers to tables and a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge.analysis.study import ComparedAttributes, weight_agreement
from editgauge.analysis.summary import ALL
from editgauge.errors import BadInputError
from editgauge.evidence import WEIGHTS_OF_ATTRIBUTES, Scatter, ScatterPoint, to_json
from editgauge.results import JournalEntry, Run
from editgauge.studies import RaterInfo, Study, analyze
from editgauge.studies.store import Assignment, StudyItem

Make = Callable[..., Study]


def rate(study: Study, rater: RaterInfo, level: dict[str, int]) -> None:
    """Gives every outcome the level of its method."""
    while (page := study.next(rater)) is not None:
        study.answer(rater, page, {"good": level[_methods(study, page)[0]]})


def choose(study: Study, rater: RaterInfo, order: str) -> None:
    """Chooses the method that comes first in the order, on whichever side it stands."""
    study.answer_eligibility(rater, {"adult": "yes"})
    while (page := study.next(rater)) is not None:
        first, second = _methods(study, page)
        with study.database.read() as session:
            flipped = session.get_one(Assignment, page).flipped
        wants_first = order.index(first) < order.index(second)
        study.answer(rater, page, {"better": "left" if wants_first != flipped else "right"})


def _methods(study: Study, page: int) -> list[str]:
    with study.database.read() as session:
        item = session.get_one(StudyItem, session.get_one(Assignment, page).item_id)
        return [entry["method"] for entry in item.content["compared"]]


def test_levels_bias_and_agreement_of_a_study(make_study: Make, enter: Any, tmp_path: Path) -> None:
    study = make_study(edits=6, raters=3)
    for level in ({"mine": 2, "theirs": 1}, {"mine": 2, "theirs": 0}, {"mine": 2, "theirs": 0}):
        rate(study, enter(study), level)
    result = analyze(study.folder, out=tmp_path / "out")
    assert result.findings is not None
    (question,) = result.findings.questions
    assert question.cells["mine", ALL].counts == (0, 0, 18)
    assert question.cells["theirs", ALL].counts == (12, 6, 0)
    assert question.panel is not None
    assert question.panel.majority.value == 1
    assert question.panel.full_agreement.value == 0.5
    biases = {item.rater: item.deviation.value for item in question.bias if item.deviation}
    assert biases == pytest.approx({"r0001": 0.5, "r0002": -0.25, "r0003": -0.25})
    assert result.page == tmp_path / "out" / "study.html"


def test_strengths_and_wins_of_a_study(make_study: Make, enter: Any) -> None:
    study = make_study(edits=8, methods=("a", "b", "c"), design="2afc", raters=3)
    for order in ("abc", "bca", "acb"):
        choose(study, enter(study), order)
    findings = analyze(study.folder).findings
    assert findings is not None
    (side,) = findings.sides
    strengths = {name: item.value for name, item in side.pairwise.strengths.items()}
    assert sorted(strengths, key=lambda name: -(strengths[name] or 0)) == ["a", "b", "c"]
    assert side.pairwise.wins["a", "b"].value == pytest.approx(2 / 3)
    assert side.pairwise.wins["b", "c"].value == pytest.approx(2 / 3)
    assert side.left is not None
    assert 0.3 < side.left.value < 0.7, "whoever is preferred stands on either side"


def test_void_answers_and_gold_items_are_not_counted(
    make_study: Make, enter: Any, tmp_path: Path, work: Callable[..., int]
) -> None:
    (tmp_path / "gold.jsonl").write_text('{"edit": "edit-0", "method": "mine", "answers": {"good": 1}}\n')
    study = make_study(gold=tmp_path / "gold.jsonl", raters=2)
    for value in (1, 2):
        work(study, enter(study), value=value)
    study.exclude("r0002", "a test")
    findings = analyze(study.folder).findings
    assert findings is not None
    (question,) = findings.questions
    assert question.cells[None, ALL].counts == (0, 11, 0)


def test_the_page_needs_nothing_and_runs_nothing(make_study: Make, enter: Any, tmp_path: Path) -> None:
    study = make_study(edits=6, methods=("<b>mine</b>", "theirs"), raters=2)
    study.invite(label="Anna & co")
    for _ in range(2):
        rate(study, enter(study), {"<b>mine</b>": 2, "theirs": 0})
    page = analyze(study.folder, out=tmp_path).page
    assert page is not None
    text = page.read_text("utf-8")
    assert "<b>mine" not in text
    assert "&lt;b&gt;mine&lt;/b&gt;" in text
    assert "Anna &amp; co" in text
    assert not re.search(r"(?:src|href)=\"(?!data:)|<script|style=\"|https?://", text)
    assert str(tmp_path) not in text, "no folder of this machine"
    assert analyze(study.folder, out=tmp_path).page == page, "a page of ours is refreshed"
    page.write_text("<html>mine</html>")
    with pytest.raises(BadInputError, match="is not a page of a study"):
        analyze(study.folder, out=tmp_path)


def test_the_tables_say_it_too(make_study: Make, enter: Any, tmp_path: Path) -> None:
    study = make_study(edits=6, raters=2)
    for _ in range(2):
        rate(study, enter(study), {"mine": 2, "theirs": 0})
    ended = CliRunner().invoke(
        groups["study"], ["analyze", str(study.folder), "--out", str(tmp_path / "o")], catch_exceptions=False
    )
    assert ended.exit_code == 0
    assert "How good? (good): share of answers, mean and 95% interval" in ended.output
    assert re.search(r"mine +all +0% +0% +100% +2.00", ended.output)
    assert "Krippendorff's alpha (ordinal) 1.00" in ended.output
    assert "study.html" in ended.output


def test_a_study_that_says_nothing_yet_says_so(make_study: Make, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no answers yet"):
        analyze(make_study().folder)
    (tmp_path / "attributes.jsonl").write_text('{"edit_id": "edit-0", "source": ["red", "round"], "target": []}\n')
    study = make_study(design="attribute-importance", attributes=tmp_path / "attributes.jsonl")
    with pytest.raises(BadInputError, match="no answers yet"):
        analyze(study.folder)


def test_weights_of_attributes_are_compared_with_peoples_choices(make_run: Any, make_record: Any) -> None:
    """Table 7 of AugCLIP: `augclip` weighs as people do, `augclip[naive]` the other way round."""

    def weighed(edit: str, protocol: str, weights: dict[str, float]) -> JournalEntry:
        points = tuple(ScatterPoint(name, "source attributes", weight, 0.0) for name, weight in weights.items())
        piece = to_json(Scatter(f"{protocol}: {WEIGHTS_OF_ATTRIBUTES}", points))
        record: JournalEntry = make_record(edit, {"augclip": 0.5}, protocol=protocol, evidence=(piece,))
        return record

    edits = [f"edit-{number}" for number in range(6)]
    weights = {edit: {"a": 1.0 + number, "b": 0.5, "c": 0.1} for number, edit in enumerate(edits)}
    records = [weighed(edit, "augclip", weights[edit]) for edit in edits]
    records += [weighed(edit, "augclip[naive]", {name: -its for name, its in weights[edit].items()}) for edit in edits]
    run = Run.open(make_run(*records, name="weighed"))
    answers = [
        ComparedAttributes(edit, first, second, "first")
        for edit in edits
        for first, second in (("a", "b"), ("a", "c"), ("b", "c"))
    ]
    answers += [ComparedAttributes(edit, "b", "c", "second") for edit in edits]  # one of two raters is of another mind

    result = {item.protocol: item for item in weight_agreement(run, answers)}

    assert result["augclip"].side == "source"
    assert result["augclip"].choices.value == 1
    assert result["augclip[naive]"].choices.value == 0
    assert result["augclip"].correlation.value == pytest.approx(-(result["augclip[naive]"].correlation.value or 0))
    assert (result["augclip"].correlation.value or 0) > 0.3


DESIGN = """
title: Is it clean?
about: A question and a reason.
unit: outcome
instructions: Look and say.
text: "{instruction}"
questions:
  - {id: clean, kind: yes_no, label: Is it clean?}
  - {id: why, kind: text, label: What is not?, when: {clean: ["no"]}}
  - {id: story, kind: text, label: What do you see?}
fast_seconds: 0
minutes: 10
"""


def test_reasons_are_sorted_and_shown(
    tmp_path: Path, make_study: Callable[..., Study], enter: Callable[[Study], Any]
) -> None:
    design = tmp_path / "clean.yaml"
    design.write_text(DESIGN, encoding="utf-8")
    study = make_study(edits=4, methods=("mine",), design=str(design), raters=1)
    rater = enter(study)
    said = iter(["The edges are blurry.", "Blurred.", "Something.", None])
    while (page := study.next(rater)) is not None:
        reason = next(said)
        answers = {"clean": "no", "why": reason} if reason else {"clean": "yes"}
        study.answer(rater, page, {**answers, "story": "A blurry toy."})
    result = analyze(study.folder, out=tmp_path / "out")
    assert result.findings is not None
    (reasons,) = result.findings.reasons
    assert (reasons.question, reasons.remarks, reasons.unsorted) == ("why", 3, 1)
    assert reasons.kinds["Blur"].value == 2 / 3
    assert reasons.kinds["Unreal look"].value == 0
    assert "What the reasons are about" in (tmp_path / "out" / "study.html").read_text("utf-8")
    shown = CliRunner().invoke(groups["study"], ["analyze", str(study.folder)]).output
    assert "why: kinds of issue in 3 remarks" in shown
