"""`editgauge[calibration=FILE]`: which numbers it gives, what it says about them, and that no other file passes for
it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

import editgauge
from editgauge.errors import BadInputError
from editgauge.evidence import Note
from editgauge.models.weights import available
from editgauge.protocols import open_protocol
from editgauge.protocols.editgauge import EditGaugeProtocol
from editgauge.protocols.editgauge._calibration import (
    Calibration,
    CalibrationCurve,
    Point,
    apply_calibration,
    combine_overall,
    read_calibration,
)
from editgauge.results import Run
from editgauge.types import Score, Scores, Unscored

WEIGHTS = ("efficientdet-lite2", "u2netp")
ENDS = (Point(0.0, 0.0, 0.0, 0.2), Point(1.0, 1.0, 0.6, 1.0))
UNSURE = CalibrationCurve("accuracy", 0.5, 0.5, -0.5, 80, ENDS)
FOUND: Scores = {
    "edit": Score(0.8, (Note("For the edit being done: all."),)),
    "kept": Score(0.9),
    "quality": Score(0.5),
    "success": Score(0.8),
    "overall": combine_overall(0.8, 0.5),
}


def stored(**changes: Any) -> dict[str, Any]:
    curve = {"question": "accuracy", "low": 0.5, "high": 0.5, "shift": -0.5, "outcomes": 80, "points": []}
    told = {"schema": 1, "version": EditGaugeProtocol.version, "models": {"detector": "efficientdet-lite2"}}
    return {**told, "scores": {"edit": {"curve": curve}}, **changes}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def make(name: str = "c.json", **changes: Any) -> Path:
        (tmp_path / name).write_text(json.dumps(stored(**changes)))
        return tmp_path / name

    return make


def value(score: Score | Unscored) -> float:
    assert isinstance(score, Score)
    return score.value


def notes(score: Score | Unscored) -> list[str]:
    assert isinstance(score, Score)
    return [piece.text for piece in score.evidence if isinstance(piece, Note)]


# --- the numbers -------------------------------------------------------------------------------------------------


def test_a_calibrated_number_says_what_it_was_and_what_people_make_of_it() -> None:
    made = apply_calibration(FOUND, Calibration("c.json", "00", "1", {}, {"edit": UNSURE}))

    assert value(made["edit"]) == pytest.approx(expit(0.5 * logit(0.8) - 0.5))
    assert notes(made["edit"]) == [
        "Before the calibration it is 0.80; people's answers to 'accuracy' on 80 outcomes make 0.55 (0.48 to 0.84) "
        "of it (c.json). The reasons add up to the former.",
        "For the edit being done: all.",
    ]
    assert (made["kept"], made["quality"]) == (FOUND["kept"], FOUND["quality"])


def test_overall_joins_what_people_make_of_its_parts_unless_it_has_a_curve() -> None:
    by_parts = apply_calibration(FOUND, Calibration("c.json", "00", "1", {}, {"success": UNSURE}))
    by_itself = apply_calibration(FOUND, Calibration("c.json", "00", "1", {}, {"overall": UNSURE}))

    assert value(by_parts["overall"]) == pytest.approx(value(by_parts["success"]) ** 0.6 * 0.5**0.4)
    assert notes(by_parts["overall"]) == [
        "Before the calibration (c.json) it is 0.66.",
        "Success 0.55 and quality 0.50, weighted 3 to 2: 0.53.",
    ]
    assert value(by_itself["overall"]) == pytest.approx(UNSURE(0.8**0.6 * 0.5**0.4))
    assert by_itself["edit"] == FOUND["edit"]


def test_what_is_unscored_stays_so() -> None:
    nothing = Unscored("no_rule", "no probe is of this type")
    found: Scores = {**FOUND, "edit": nothing, "success": nothing, "overall": nothing}
    made = apply_calibration(found, Calibration("c.json", "00", "1", {}, {"edit": UNSURE, "kept": UNSURE}))

    assert (made["edit"], made["overall"]) == (nothing, nothing)
    assert value(made["kept"]) == pytest.approx(UNSURE(0.9))


# --- its identity ------------------------------------------------------------------------------------------------


def test_without_a_calibration_nothing_changes() -> None:
    assert (open_protocol("editgauge").name, open_protocol("editgauge").version) == (
        "editgauge",
        EditGaugeProtocol.version,
    )


def test_another_content_is_another_protocol(write: Callable[..., Path]) -> None:
    first = open_protocol(f"editgauge[calibration={write()}]")
    again = open_protocol(first.name)
    assert (again.name, again.version) == (first.name, first.version)
    assert first.scores[0].about == (
        "The share of people who answer to 'accuracy' that it is good, by ratings of 80 outcomes."
    )
    assert first.scores[1:] == EditGaugeProtocol.scores[1:]

    file = write(made={"ratings": "others.csv"})
    second = open_protocol(f"editgauge[calibration={file}]")
    assert second.name != first.name
    assert second.version != first.version
    assert open_protocol(first.name).version == first.version  # what was read once is kept


def test_one_content_has_one_name_wherever_it_lies(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    file = write()
    monkeypatch.chdir(file.parent)
    spellings = (file, file.name, f"./{file.name}", f"../{file.parent.name}/{file.name}")
    (name,) = {open_protocol(f"editgauge[calibration={each}]").name for each in spellings}
    assert name.startswith("editgauge[calibration=c.json@")


def test_a_file_that_changed_is_no_longer_what_was_asked_for(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = open_protocol(f"editgauge[calibration={write()}]").name
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "another-machine"))
    monkeypatch.chdir(tmp_path)
    write(made={"ratings": "others.csv"})
    with pytest.raises(BadInputError, match=r"c\.json' has changed: its SHA-256 begins with"):
        open_protocol(name)


def test_a_calibration_of_other_numbers_is_refused(write: Callable[..., Path]) -> None:
    with pytest.raises(BadInputError, match="was made for version 0 of the protocol 'editgauge'"):
        open_protocol(f"editgauge[calibration={write(version='0')}]")
    opened = open_protocol(f"editgauge[calibration={write()}]")
    assert opened.with_models({"detector": "efficientdet-lite2", "segmenter": "grabcut"}).name == opened.name
    with pytest.raises(BadInputError, match="detector: efficientdet-lite2 then, owl-vit now"):
        opened.with_models({"detector": "owl-vit"})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
        (json.dumps(stored(schema=9)), "its schema is 9"),
        (json.dumps({**stored(), "scores": {"edit": {}}}), "KeyError 'curve'"),
    ],
)
def test_a_file_that_is_no_calibration_is_told(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(BadInputError, match="is no calibration that") as told:
        read_calibration(str(tmp_path / "c.json"))
    assert said in str(told.value)


@pytest.mark.parametrize("options", ["trials=3", "calibration", "calibration=c.json,trials=3"])
def test_other_options_are_refused(options: str) -> None:
    with pytest.raises(BadInputError, match="takes calibration=FILE"):
        open_protocol(f"editgauge[{options}]")


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(BadInputError, match=r"nowhere\.json' cannot be read: No such file"):
        open_protocol("editgauge[calibration=nowhere.json]")


# --- from ratings to a run ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite`")
def test_from_a_run_and_ratings_to_calibrated_numbers(
    make_benchmark: Callable[..., Path],
    make_outcomes: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    benchmark = make_benchmark(tmp_path / "photos", edits=20, size=64)
    places = {
        "soft": make_outcomes(benchmark, tmp_path / "soft", 1),
        "blurred": make_outcomes(benchmark, tmp_path / "blurred", 6),
    }
    words: dict[str, Any] = {"models": "lite", "processes": 1, "quiet": True}
    plain = values_of(
        editgauge.run(benchmark, outcomes=places, protocol=["editgauge"], out="run", **words), "editgauge"
    )

    random = np.random.default_rng(0)
    middle = np.median(logit(list(plain.values())))
    lines = ["edit,method,value,rater"]
    for (edit, method), number in plain.items():
        chance = expit(2 * (logit(number) - middle))
        lines += [f"{edit},{method},{int(random.uniform() < chance)},r{rater}" for rater in range(3)]
    Path("ratings.csv").write_text("\n".join(lines))
    built = editgauge.build.calibration("run", ratings="ratings.csv", out="calibration.json", score=["quality"])
    (found,) = built.scores

    run = editgauge.run(
        benchmark, outcomes=places, protocol=["editgauge", built.protocol], out="calibrated", limit=3, **words
    )
    name = f"editgauge[calibration=calibration.json@{built.sha256[:12]}]"
    assert list(run.manifest.protocols) == ["editgauge", name]
    made, before = values_of(run, name), values_of(run, "editgauge")
    assert before == {key: plain[key] for key in before}
    assert made == {key: pytest.approx(found.curve(number)) for key, number in before.items()}
    assert len(made) == 6
    told = [text for key, score, text in run.iter_evidence() if (key.protocol, score) == (name, "quality")]
    assert sum("people's answers on 40 outcomes make" in text for text in told) == 6

    Path("calibration.json").write_text(Path("calibration.json").read_text() + "\n")
    again = editgauge.run(benchmark, outcomes=places, protocol=["editgauge", name], out="calibrated", limit=3, **words)
    assert values_of(again, name) == made  # the content that the name tells, kept since it was read


def values_of(run: Run, protocol: str) -> dict[tuple[str, str], float]:
    columns = ("edit", "method", "protocol", "name", "value")
    rows = zip(*(run.scores[column].to_pylist() for column in columns), strict=True)
    return {(edit, method): value for edit, method, by, name, value in rows if (by, name) == (protocol, "quality")}
