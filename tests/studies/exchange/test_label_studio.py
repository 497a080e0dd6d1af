"""Label Studio: the configuration it is given, and what its exports mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.errors import BadInputError
from editgauge.studies import Study, import_
from editgauge.studies.exchange.label_studio import label_studio
from editgauge.studies.records import AnswerRecord, records

URL = "https://lab.example/images"
Make = Callable[..., Study]


def told(study: Study) -> list[AnswerRecord]:
    with study.database.read() as session:
        return list(records(session))


def test_a_condition_is_a_view_around_the_question(make_study: Make, studio: Any, tmp_path: Path) -> None:
    study = make_study(edits=2, design="editinspector")
    label_studio.write(study, tmp_path / "out", URL)
    project = studio(tmp_path / "out")
    (around,) = [
        view for view in project.config.iter("View") if view.find("TextArea[@name='accuracy_reason']") is not None
    ]
    assert around.attrib == {
        "visibleWhen": "choice-selected",
        "whenTagName": "accuracy",
        "whenChoiceValue": "inaccurate,reflects,unexpected",
    }
    names = {tag.get("name") for tag in project.config.iter() if tag.get("name")}
    assert names == {"source", "edited"} | {question.id for question in study.design.questions}
    assert {tag.get("toName") for tag in project.config.iter() if tag.get("toName")} == {"source"}


def test_tasks_show_pictures_and_no_method(make_study: Make, studio: Any, tmp_path: Path) -> None:
    study = make_study(edits=3, design="2afc", methods=("sdedit", "imagic"), raters=1)
    assert label_studio.write(study, tmp_path / "out", URL) == 3
    written = (tmp_path / "out" / "tasks.json").read_text("utf-8")
    assert not any(word in written for word in ("sdedit", "imagic", "edit-0"))
    assert "flipped" not in written, "annotators can read a task's data, and pairs are stored in the order of methods"
    for task in studio(tmp_path / "out").tasks:
        for side in ("source", "left", "right"):
            assert (study.images / task["data"][side].removeprefix(f"{URL}/")).is_file()


def test_ratings_and_pairwise_choices_are_read_too(make_study: Make, studio: Any, tmp_path: Path) -> None:
    """An owner may change the tags; these results are as Label Studio's documentation and source have them."""
    rated, paired = make_study(edits=1, methods=("mine",)), make_study(edits=1, design="2afc")
    for study, name, kind, value in (
        (rated, "good", "rating", {"rating": 2}),
        (paired, "better", "pairwise", {"selected": "left"}),
    ):
        folder = tmp_path / name
        label_studio.write(study, folder, URL)
        project = studio(folder)
        result = {"from_name": name, "to_name": "source", "type": kind, "value": value, "origin": "manual"}
        project.hand_in(0, 3, {}, result=[result])
        import_(study.folder, project.export(folder / "export.json"), form="label-studio")
        (page,) = told(study)
        sides = ("second", "first") if page.flipped else ("first", "second")
        assert page.answers == ({"good": 2} if kind == "rating" else {"better": sides[0]})
        assert page.claimed is not None
        assert page.done is not None
        assert page.done - page.claimed == pytest.approx(42.5)
        assert "lab.example" not in page.rater


def test_faults_are_told_and_nothing_is_taken(make_study: Make, studio: Any, tmp_path: Path) -> None:
    study = make_study(edits=1)
    label_studio.write(study, tmp_path / "out", URL)
    project = studio(tmp_path / "out")
    project.hand_in(0, 1, {"good": 1})
    project.hand_in(0, 2, {})
    project.hand_in(1, 2, {}, was_cancelled=True)
    project.tasks.append({"data": {"image": "x.png"}, "annotations": []})
    with pytest.raises(BadInputError) as caught:
        import_(study.folder, project.export(tmp_path / "export.json"), form="label-studio")
    assert "annotation 1: good: please answer this question" in str(caught.value)
    assert "a task with the item None is not of this study" in str(caught.value)
    assert told(study) == []
    for content, words in (("{", "not valid JSON"), ("{}", "must hold a list"), ("[]", "holds no annotations")):
        (tmp_path / "bad.json").write_text(content)
        with pytest.raises(BadInputError, match=words):
            import_(study.folder, tmp_path / "bad.json", form="label-studio")
    with pytest.raises(BadInputError, match="`url`"):
        label_studio.write(study, tmp_path / "other", None)


def test_what_label_studio_cannot_show_is_said(make_study: Make, plain_design: Path, tmp_path: Path) -> None:
    text = plain_design.read_text()
    (tmp_path / "checks.yaml").write_text(
        text + 'attention: {questions: [{id: awake, kind: yes_no, label: Yes?, right: ["yes"]}]}\n'
    )
    with pytest.raises(BadInputError, match="attention check"):
        label_studio.write(make_study(design=str(tmp_path / "checks.yaml")), tmp_path / "out", URL)
    extra = """  - {id: sort, kind: choice, label: q, options: [{value: "a, b", label: a}, {value: c, label: c}]}
  - {id: why, kind: text, label: q, when: {sort: ["a, b"]}}
fast_seconds"""
    (tmp_path / "commas.yaml").write_text(text.replace("fast_seconds", extra))
    with pytest.raises(BadInputError, match="knows no commas"):
        label_studio.write(make_study(design=str(tmp_path / "commas.yaml")), tmp_path / "out", URL)
    assert not (tmp_path / "out" / "tasks.json").exists()
