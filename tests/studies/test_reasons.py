"""Reasons that raters give are sorted into kinds of issue; other words are left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge.studies import Study, analyze

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
    found = analyze(study.folder, out=tmp_path / "out")
    assert found.findings is not None
    (reasons,) = found.findings.reasons
    assert (reasons.question, reasons.remarks, reasons.unsorted) == ("why", 3, 1)
    assert reasons.kinds["Blur"].value == 2 / 3
    assert reasons.kinds["Unreal look"].value == 0
    assert "What the reasons are about" in (tmp_path / "out" / "study.html").read_text("utf-8")
    shown = CliRunner().invoke(groups["study"], ["analyze", str(study.folder)]).output
    assert "why: kinds of issue in 3 remarks" in shown
