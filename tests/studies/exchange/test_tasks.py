"""What people answer on other platforms arrives as it was given, whatever the design and the words."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge.studies import Study, create, import_
from editgauge.studies.exchange import ExchangeFormat
from editgauge.studies.exchange._tasks import items_by_name, pseudonym
from editgauge.studies.exchange.label_studio import label_studio
from editgauge.studies.exchange.mturk import mturk
from editgauge.studies.records import AnswerRecord, records

TOOLS: dict[str, ExchangeFormat] = {"mturk": mturk, "label-studio": label_studio}
URL = "https://lab.example/images"
SIGNS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp"])
WORDS = st.text(SIGNS | st.sampled_from("'\"<>&,;${}"), min_size=1, max_size=12).filter(lambda t: bool(t.strip()))
VALUES = WORDS.filter(lambda word: "|" not in word)
ANY_SIGNS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
PROSE = st.text(ANY_SIGNS | st.sampled_from("\n\t,;\"'|"), min_size=1)
KINDS = st.sampled_from(["choice", "multi_choice", "scale", "text"])
SLOW = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
SIDES = ("left", "right", "tie")


def told(study: Study) -> list[AnswerRecord]:
    with study.database.read() as session:
        return list(records(session))


@st.composite
def designs(draw: st.DrawFn, unit: str) -> dict[str, Any]:
    """A design with questions of every kind, some of them optional, and one that is asked only after a "no"."""
    words = st.lists(VALUES, min_size=2, max_size=4, unique=True)
    levels = st.lists(st.integers(-5, 9), min_size=2, max_size=5, unique=True)
    questions: list[dict[str, Any]] = [{"id": "side", "kind": "pick_side", "tie": True}] if unit == "pair" else []
    for number, kind in enumerate(draw(st.lists(KINDS, max_size=4))):
        values: Sequence[int | str] = draw(levels) if kind == "scale" else draw(words)
        options = [{"value": value, "label": draw(WORDS)} for value in values]
        asked = {"id": f"q{number}", "kind": kind, "required": draw(st.booleans())}
        questions.append(asked | ({"options": options} if kind != "text" else {}))
    questions += [{"id": "fine", "kind": "yes_no"}, {"id": "why", "kind": "text", "when": {"fine": ["no"]}}]
    for question in questions:
        question["label"] = draw(WORDS)
    top = {"title": draw(WORDS), "about": "a", "unit": unit, "instructions": draw(WORDS), "text": "{instruction}"}
    return top | {"questions": questions, "mturk": {"reward": 0.1}, "fast_seconds": 0}


@st.composite
def answers(draw: st.DrawFn, design: dict[str, Any]) -> dict[str, Any]:
    """What somebody may answer on a page."""
    given: dict[str, Any] = {}
    for question in design["questions"]:
        if "when" in question and given.get("fine") != "no":
            continue
        if not question.get("required", True) and draw(st.booleans()):
            continue
        values = [option["value"] for option in question.get("options", ())]
        value = {
            "pick_side": st.sampled_from(SIDES),
            "yes_no": st.sampled_from(["yes", "no"]),
            "text": PROSE.filter(lambda words: bool(words.strip())),
            "multi_choice": st.lists(st.sampled_from(values), min_size=1, unique=True) if values else st.nothing(),
        }
        given[question["id"]] = draw(value.get(question["kind"], st.sampled_from(values or [0])))
        if question["kind"] == "multi_choice":
            given[question["id"]].sort(key=values.index)
    return given


@pytest.fixture
def new_study(tmp_path: Path, small_run: Callable[..., Path]) -> Callable[[dict[str, Any]], Study]:
    run, numbers = small_run(edits=2), count()

    def make(design: dict[str, Any]) -> Study:
        index = tmp_path / str(next(numbers))
        index.mkdir()
        (index / "design.yaml").write_text(yaml.safe_dump(design, allow_unicode=True), encoding="utf-8")
        return create(run, design=str(index / "design.yaml"), raters=2, out=index / "study", quiet=True)

    return make


@pytest.mark.slow
@settings(suppress_health_check=SLOW)
@given(data=st.data(), unit=st.sampled_from(["outcome", "pair"]), tool=st.sampled_from(["mturk", "label-studio"]))
def test_answers_given_elsewhere_arrive_as_they_were(
    new_study: Callable[..., Study], turk: Any, studio: Any, data: st.DataObject, unit: str, tool: str
) -> None:
    design = data.draw(designs(unit))
    with new_study(design) as study, tempfile.TemporaryDirectory() as index:
        folder = Path(index) / "out"
        tasks = TOOLS[tool].write(study, folder, URL)
        platform = turk(folder) if tool == "mturk" else studio(folder)
        pages = [(task, who) for task in range(tasks) for who in (7, 8)]
        expected: dict[tuple[str, str], dict[str, Any]] = {}
        for task, who in pages:
            form = data.draw(answers(design))
            if tool == "mturk":
                platform.hand_in(task, str(who), form, flat=data.draw(st.booleans()))
            else:
                platform.hand_in(task, who, form)
            fields = platform.hits[task] if tool == "mturk" else platform.tasks[task]["data"]
            second = items_by_name(study)[fields["item"]].content["compared"][-1]["image"]
            is_flipped = fields.get("left", "").endswith(second)
            rater = f"{tool}-{pseudonym(study, str(who))}"
            expected[rater, fields["item"]] = _of_the_item(form, is_flipped=is_flipped)
        file = Path(index) / ("results.csv" if tool == "mturk" else "export.json")
        back = platform.results(file) if tool == "mturk" else platform.export(file)
        assert import_(study.folder, back, form=tool).done == len(pages)
        assert {(page.rater, pseudonym(study, page.item)): page.answers for page in told(study)} == expected
        assert import_(study.folder, back, form=tool).unchanged == len(pages)


def _of_the_item(form: dict[str, Any], *, is_flipped: bool) -> dict[str, Any]:
    """The side of the page as that of the item, which may stand the other way round."""
    sides = {"left": "second", "right": "first"} if is_flipped else {"left": "first", "right": "second"}
    return form | ({"side": sides.get(form["side"], "tie")} if "side" in form else {})


def run(*words: object) -> str:
    ended = CliRunner().invoke(groups["study"], [str(word) for word in words], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return ended.output


@pytest.mark.parametrize("tool", ["mturk", "label-studio"])
def test_items_go_there_and_answers_come_back(
    make_study: Callable[..., Study], turk: Any, studio: Any, tool: str, tmp_path: Path
) -> None:
    study = make_study(edits=2, methods=("a", "b"), design="2afc", raters=2)
    out = tmp_path / "out"
    assert "2 lines" in run("export", study.folder, "--form", tool, "--out", out, "--url", "https://lab.example/images")
    platform = (turk if tool == "mturk" else studio)(out)
    for index in (0, 1):
        platform.hand_in(index, "7" if tool == "mturk" else 7, {"better": "left"})
    file = tmp_path / ("results.csv" if tool == "mturk" else "export.json")
    back = platform.results(file) if tool == "mturk" else platform.export(file)
    assert (
        run("import", study.folder, back, "--form", tool).splitlines()[-1].startswith("2 count, 0 are surplus, 0 void")
    )
