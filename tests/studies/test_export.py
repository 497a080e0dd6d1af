"""What people said leaves the study and comes back: for `agree`, for other tools, for another copy of the study."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from editgauge.analysis.agree import agree
from editgauge.analysis.ratings import read_choices, read_ratings
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.studies import RaterInfo, Study, analyze, export, import_
from editgauge.studies.records import AnswerRecord, records
from editgauge.studies.store import StudyItem

Make = Callable[..., Study]
ROUND_TRIP = """
title: All kinds of questions
about: One of each.
unit: outcome
instructions: Look.
text: "{instruction}"
questions:
  - {id: level, kind: scale, label: q, options: [{value: -1, label: a}, {value: 0, label: b}, {value: 1, label: c}]}
  - {id: right, kind: yes_no, label: q, required: false}
  - {id: sort, kind: choice, label: q, required: false, options: [{value: a, label: a, score: 2}, {value: b, label: b}]}
  - {id: all, kind: multi_choice, label: q, required: false, options: [{value: x, label: x}, {value: "y z", label: y}]}
  - {id: why, kind: text, label: q, when: {right: ["no"]}}
fast_seconds: 0
"""
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n\t,;\"'|"), min_size=1
)


def told(study: Study) -> list[AnswerRecord]:
    with study.database.read() as session:
        return list(records(session))


def test_ratings_are_what_agree_reads(make_study: Make, enter: Any, work: Any, tmp_path: Path) -> None:
    study = make_study(edits=8)
    for value in (0, 1, 2):
        work(study, enter(study), value=value)
    assert export(study.folder, out=tmp_path / "ratings.jsonl") == 48
    assert export(study.folder, out=tmp_path / "ratings.csv") == 48
    rated = read_ratings(tmp_path / "ratings.jsonl")
    assert rated == read_ratings(tmp_path / "ratings.csv")
    assert {(item.question, item.rater, item.value) for item in rated} == {
        ("good", "r0001", 0.0),
        ("good", "r0002", 1.0),
        ("good", "r0003", 2.0),
    }
    result = agree(study.manifest.run, ratings=tmp_path / "ratings.jsonl")
    assert result.ratings is not None
    assert (result.ratings.unmatched, len(result.ratings.pairs)) == (0, 48)
    agreement = analyze(study.folder).agreement
    assert agreement is not None
    assert agreement.ratings == result.ratings


def test_choices_are_what_agree_reads(make_study: Make, enter: Callable[..., RaterInfo], tmp_path: Path) -> None:
    study = make_study(edits=8, design="2afc", raters=1)
    rater = enter(study)
    study.answer_eligibility(rater, {"adult": "yes"})
    while (page := study.next(rater)) is not None:
        study.answer(rater, page, {"better": "right"})
    assert export(study.folder, out=tmp_path / "choices.jsonl") == 8
    selected = {choice.edit: choice.choice for choice in read_choices(tmp_path / "choices.jsonl")}
    assert selected == {page.edit: "first" if page.flipped else "second" for page in told(study)}
    assert agree(study.manifest.run, choices=tmp_path / "choices.jsonl").choices is not None
    with pytest.raises(BadInputError, match="gives no ratings"):
        export(study.folder, out=tmp_path / "ratings.jsonl", form="ratings")


def test_what_does_not_count_is_in_the_answers_and_not_in_the_ratings(
    make_study: Make, enter: Any, work: Any, tmp_path: Path
) -> None:
    study = make_study()
    for _ in range(2):
        work(study, enter(study))
    study.exclude("r0001", "a test")
    assert {item.rater for item in read_ratings(_exported(study, tmp_path / "a.jsonl"))} == {"r0002"}
    assert export(study.folder, out=tmp_path / "all.jsonl", form="answers") == 24
    assert export(study.folder, out=tmp_path / "hers.jsonl", form="answers", rater="r0001") == 12
    line = json.loads((tmp_path / "hers.jsonl").read_text().splitlines()[0])
    assert (line["state"], line["excluded"]) == ("void", "a test")


def _exported(study: Study, out: Path) -> Path:
    export(study.folder, out=out)
    return out


def test_faults_are_told_and_nothing_is_taken(make_study: Make, tmp_path: Path, enter: Any, work: Any) -> None:
    study, copy = make_study(seed=1), make_study(seed=1)
    work(study, enter(study), pages=2)
    export(study.folder, out=tmp_path / "a.jsonl", form="answers")
    good, other = (tmp_path / "a.jsonl").read_text().splitlines()
    wrong = json.loads(other) | {"answers": {"good": 9}, "history": []}
    strange = json.loads(other) | {"item": '["edit-99", ["mine", 0]]'}
    lines = [good, json.dumps(wrong), json.dumps(strange)]
    (tmp_path / "b.jsonl").write_text("\n".join(lines))
    with pytest.raises(BadInputError) as caught:
        import_(copy.folder, tmp_path / "b.jsonl")
    assert "page 2: 'good': 9 is not among 0, 1, 2" in str(caught.value)
    assert "page 3: the study has no item" in str(caught.value)
    assert copy.status().done == 0
    (tmp_path / "c.jsonl").write_text('{"item": "x"}\n{"rater": "a", "item": "b", "answers": {}, "mood": 1}\n')
    with pytest.raises(BadInputError) as caught:
        import_(copy.folder, tmp_path / "c.jsonl")
    assert "c.jsonl:1: 'rater' is missing" in str(caught.value)
    assert "c.jsonl:2: there is no field 'mood'" in str(caught.value)
    with pytest.raises(UnknownNameError, match="form of import"):
        import_(copy.folder, tmp_path / "c.jsonl", form="turk")


def test_a_page_needs_only_rater_item_and_answers(make_study: Make, tmp_path: Path) -> None:
    study = make_study(raters=1)
    lines = [{"rater": r, "item": '["edit-0", ["mine", 0]]', "answers": {"good": 2}} for r in ("anna", "bela")]
    (tmp_path / "paper.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    first = import_(study.folder, tmp_path / "paper.jsonl")
    assert (first.done, first.surplus) == (1, 1)
    again = import_(study.folder, tmp_path / "paper.jsonl")
    assert (again.done, again.unchanged) == (0, 2)
    assert [page.rater for page in told(study) if page.state == "done"] == ["anna"]


@pytest.fixture
def templates(tmp_path: Path, make_study: Make) -> Path:
    """Two copies of one study, in which nobody has answered."""
    (tmp_path / "kinds.yaml").write_text(ROUND_TRIP)
    study = make_study(edits=3, methods=("mine",), raters=2, design=str(tmp_path / "kinds.yaml"))
    study.close()
    return study.folder


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data(), suffix=st.sampled_from([".jsonl", ".csv"]))
def test_answers_that_leave_and_come_back_are_the_same(templates: Path, data: st.DataObject, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as index:
        home = Path(index)
        for name in ("here", "there"):
            shutil.copytree(templates, home / name)
        with Study.open(home / "here") as here, Study.open(home / "there") as there:
            raters = [here.rater(invitation.token) for invitation in here.invite(3)]
            for _ in range(data.draw(st.integers(1, 7))):
                rater = data.draw(st.sampled_from(raters))
                page = here.next(rater)
                for _ in range(data.draw(st.integers(1, 2)) if page else 0):
                    here.answer(rater, page or 0, data.draw(_answers()))
            if not told(here):
                return
            if data.draw(st.booleans()):
                here.exclude(told(here)[0].rater, data.draw(WORDS))
            out = home / f"answers{suffix}"
            export(here.folder, out=out, form="answers")
            imported = import_(there.folder, out)
            assert imported.unchanged == imported.changed == 0
            assert sorted(told(there), key=_identity) == sorted(map(_whole_microseconds, told(here)), key=_identity)
            assert there.status().done == here.status().done
            assert import_(there.folder, out).unchanged == len(told(here))


def _identity(page: AnswerRecord) -> tuple[str, str]:
    return page.rater, page.item


def _whole_microseconds(page: AnswerRecord) -> AnswerRecord:
    """Moments are written to the microsecond."""
    from dataclasses import replace

    from editgauge.studies.records import format_time, parse_time

    def cut(moment: float | None) -> float | None:
        return parse_time(format_time(moment))

    history = tuple(replace(item, at=cut(item.at) or 0.0) for item in page.history)
    return replace(page, claimed=cut(page.claimed), done=cut(page.done), history=history)


def _answers() -> st.SearchStrategy[dict[str, Any]]:
    needed = {"level": st.sampled_from([-1, 0, 1])}
    free = {
        "sort": st.sampled_from(["a", "b"]),
        "all": st.lists(st.sampled_from(["x", "y z"]), unique=True),
    }
    fine = st.fixed_dictionaries(needed, optional=free | {"right": st.just("yes")})
    words = WORDS.filter(lambda text: bool(text.strip()))
    wrong = st.fixed_dictionaries(needed | {"right": st.just("no"), "why": words}, optional=free)
    return fine | wrong


def test_a_table_may_name_questions_plainly_and_unknown_columns_are_named(make_study: Make, tmp_path: Path) -> None:
    study = make_study(edits=1, methods=("mine",))
    with study.database.read() as session:
        (key,) = session.scalars(select(StudyItem.key))
    file = tmp_path / "answers.csv"
    quoted = '"' + key.replace('"', '""') + '"'
    file.write_text(f"rater,item,good\nann,{quoted},2\n", encoding="utf-8")
    assert import_(study.folder, file).done == 1
    file.write_text(f"rater,item,goood\nann,{quoted},2\n", encoding="utf-8")
    with pytest.raises(BadInputError, match="'goood'"):
        import_(study.folder, file)
