"""`editgauge build calibration`: from a run and people's ratings to a file that the protocol `editgauge` uses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.special import expit, logit
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge.builders.calibration import calibration
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.protocols import open_protocol
from editgauge.protocols.editgauge import EditGaugeProtocol
from editgauge.protocols.editgauge._further import JUDGED, WORDS
from editgauge.results import JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry

ENTRY = ProtocolEntry(
    EditGaugeProtocol.about,
    EditGaugeProtocol.paper,
    EditGaugeProtocol.version,
    EditGaugeProtocol.deviations,
    EditGaugeProtocol.scores,
)
LITE = {"detector": {"name": "efficientdet-lite2"}, "segmenter": {"name": "grabcut"}}
EDITS = 60
Make = Callable[..., Path]


@pytest.fixture
def scored(make_run: Make, make_record: Callable[..., JournalEntry]) -> Path:
    """120 outcomes of 30 source images by two methods; three outcomes have no verdict."""
    random = np.random.default_rng(0)
    records = []
    for index in range(EDITS):
        for method in ("mine", "theirs"):
            scores: dict[str, float | str] = {
                name: float(random.beta(0.8, 0.8)) for name in ("edit", "kept", "quality", "overall")
            }
            if index < 3 and method == "mine":
                scores["edit"] = "no_rule"
            named = {"method": method, "place": index, "source": f"{index // 2}.png", "protocol": "editgauge"}
            records.append(make_record(f"e{index}", scores, **named))
    return make_run(*records, protocols={"editgauge": ENTRY}, models=LITE)


def people(
    run: Path, file: Path, questions: Mapping[str, Callable[[dict[str, float]], float]], raters: int = 3
) -> Path:
    """Ratings by people who say good with a chance that the scores of an outcome tell."""
    random = np.random.default_rng(1)
    table = Run.open(run).scores
    rows = zip(*(table[column].to_pylist() for column in ("edit", "method", "name", "value")), strict=True)
    outcomes: dict[tuple[str, str], dict[str, float]] = {}
    for edit, method, name, value in rows:
        outcomes.setdefault((edit, method), {})[name] = 0.5 if value is None else value
    lines = ["edit,method,value,rater,question"]
    for question, good in questions.items():
        yes = 3 if question == "accuracy" else 1  # EditInspector's scale, which is good from 2 on
        for (edit, method), values in outcomes.items():
            said = random.uniform(size=raters) < good(values)
            lines += [f"{edit},{method},{yes * int(item)},r{number},{question}" for number, item in enumerate(said)]
    file.write_text("\n".join(lines))
    return file


def unsure(values: dict[str, float]) -> float:
    return float(expit(0.5 * logit(values["edit"]) - 0.5))


def clean(values: dict[str, float]) -> float:
    return float(expit(logit(values["quality"]) + 1))


@pytest.fixture
def ratings(scored: Path, tmp_path: Path) -> Path:
    return people(scored, tmp_path / "ratings.csv", {"": unsure})


def test_a_question_without_a_name_is_about_the_edit(scored: Path, ratings: Path, tmp_path: Path) -> None:
    (result,) = calibration(scored, ratings=ratings, out=tmp_path / "c.json").scores

    assert (result.score, result.question, result.good_from) == ("edit", "", 1.0)
    assert (result.outcomes, result.answers, result.raters, result.sources, result.unscored) == (117, 351, 3, 30, 3)
    for value in (0.2, 0.5, 0.8):
        ends = result.curve.interval(value)
        assert ends is not None
        assert ends[0] < unsure({"edit": value}) < ends[1]
    assert result.slope.low is not None
    assert result.slope.high is not None
    assert 0 < result.slope.low < 0.5 < result.slope.high < 1
    assert result.left_out.log_loss_change.high is not None
    assert result.left_out.log_loss_change.high < 0
    assert result.left_out.after.expected_error < result.left_out.before.expected_error


def test_the_protocol_takes_the_file_and_bears_its_hash(scored: Path, ratings: Path, tmp_path: Path) -> None:
    built = calibration(scored, ratings=ratings, out=tmp_path / "c.json")
    opened = open_protocol(built.protocol)

    assert isinstance(opened, EditGaugeProtocol)
    assert opened.name == f"editgauge[calibration=c.json@{built.sha256[:12]}]"
    assert built.sha256 in opened.version
    told = json.loads(built.file.read_text("utf-8"))
    assert told["models"] == {"detector": "efficientdet-lite2", "segmenter": "grabcut"}
    assert told["version"] == EditGaugeProtocol.version
    assert calibration(scored, ratings=ratings, out=tmp_path / "again.json").sha256 == built.sha256


def test_the_evidence_of_a_judge_and_an_embedder_is_weighed_by_ratings(
    make_run: Make, make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    """People say what the judge says; what the joint embedder says has nothing to do with it."""
    protocol = EditGaugeProtocol().with_models({"joint_embedder": "clip-b16", "judge": "gpt-4o"})
    entry = ProtocolEntry(protocol.about, protocol.paper, protocol.version, protocol.deviations, protocol.scores)
    random = np.random.default_rng(4)
    records = []
    for index in range(120):
        scores: dict[str, float | str] = {name: float(random.uniform(0.3, 0.7)) for name in ("edit", "quality")}
        scores |= {JUDGED: float(random.uniform(-1, 1)), WORDS: float(random.uniform(-1, 1))}
        named = {"method": "mine", "place": index, "source": f"{index}.png", "protocol": protocol.name}
        records.append(make_record(f"e{index}", scores, **named))
    models = LITE | {"joint_embedder": {"name": "clip-b16"}}
    run = make_run(*records, protocols={protocol.name: entry}, models=models)
    file = people(
        run, tmp_path / "r.csv", {"": lambda values: float(expit(logit(values["edit"]) + 3 * values[JUDGED]))}
    )
    built = calibration(run, ratings=file, out=tmp_path / "c.json", quiet=True)
    weights = json.loads(built.file.read_text("utf-8"))["scores"]["edit"]["roles"]
    assert weights[JUDGED] == pytest.approx(3, abs=1)
    assert weights.get(WORDS, 0.0) < 0.5
    assert dict(built.scores[0].roles) == pytest.approx(weights, abs=1e-3)


def test_questions_of_our_studies_find_their_scores(scored: Path, tmp_path: Path) -> None:
    questions = {"accuracy": unsure, "precise": clean, "caption_right": unsure}
    result = calibration(
        scored, ratings=people(scored, tmp_path / "r.csv", questions), out=tmp_path / "c.json", quiet=True
    )

    assert {item.score: item.question for item in result.scores} == {"edit": "accuracy", "quality": "precise"}
    quality = result.scores[1].curve
    assert quality(0.2) < quality(0.8)
    assert quality(0.5) == pytest.approx(clean({"quality": 0.5}), abs=0.12)


def test_the_user_says_which_question_is_about_which_score(scored: Path, tmp_path: Path) -> None:
    file = people(scored, tmp_path / "r.csv", {"done?": unsure, "clean?": clean})
    words: dict[str, Any] = {"score": ["quality", "editgauge/edit"], "question": ["clean?", "done?"]}
    result = calibration(scored, ratings=file, out=tmp_path / "c.json", **words)
    assert {item.score: item.question for item in result.scores} == {"quality": "clean?", "edit": "done?"}

    (entry,) = calibration(scored, ratings=file, out=tmp_path / "c.json", question=["done?"]).scores
    assert (entry.score, entry.question) == ("edit", "done?")
    with pytest.raises(BadInputError, match="Each score takes one question"):
        calibration(scored, ratings=file, out=tmp_path / "c.json")
    with pytest.raises(BadInputError, match="got 1 scores and 2 questions"):
        calibration(scored, ratings=file, out=tmp_path / "c.json", score=["edit"], question=["done?", "clean?"])
    with pytest.raises(UnknownNameError, match="Did you mean 'done\\?'"):
        calibration(scored, ratings=file, out=tmp_path / "c.json", score=["edit"], question=["don?"])
    with pytest.raises(UnknownNameError, match="score in this run"):
        calibration(scored, ratings=file, out=tmp_path / "c.json", score=["fidelity"], question=["done?"])


def test_a_scale_needs_the_level_from_which_on_it_is_good(scored: Path, ratings: Path, tmp_path: Path) -> None:
    scale = tmp_path / "scale.csv"
    lines = ratings.read_text().splitlines()
    scale.write_text(
        "\n".join([lines[0], *(line.replace(",1,r", ",5,r").replace(",0,r", ",2,r") for line in lines[1:])])
    )
    with pytest.raises(BadInputError, match=r"go from 2 to 5: set `level`"):
        calibration(scored, ratings=scale, out=tmp_path / "c.json")

    by_level, by_answer = (
        calibration(scored, ratings=file, out=tmp_path / "c.json", level=level).scores[0].curve
        for file, level in ((scale, 4), (ratings, None))
    )
    assert by_level == by_answer


def test_too_few_ratings_are_refused_with_what_is_needed(scored: Path, ratings: Path, tmp_path: Path) -> None:
    lines = ratings.read_text().splitlines()
    few = tmp_path / "few.csv"
    few.write_text("\n".join(lines[:40]))
    with pytest.raises(BadInputError) as refused:
        calibration(scored, ratings=few, out=tmp_path / "c.json")
    assert any("10 of each are needed" in problem for problem in refused.value.problems)
    assert any("source images; 10 are needed" in problem for problem in refused.value.problems)

    few.write_text("\n".join([lines[0], *(line.replace(",0,r", ",1,r") for line in lines[1:])]))
    with pytest.raises(BadInputError, match="all people say yes; both answers are needed"):
        calibration(scored, ratings=few, out=tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()


def test_people_who_contradict_the_score_are_refused(scored: Path, tmp_path: Path) -> None:
    file = people(scored, tmp_path / "r.csv", {"edit": lambda values: 1 - values["edit"]})
    with pytest.raises(BadInputError, match="do not rise with editgauge/edit"):
        calibration(scored, ratings=file, out=tmp_path / "c.json")


def test_other_runs_are_refused(
    scored: Path, ratings: Path, tmp_path: Path, make_run: Make, make_record: Callable[..., JournalEntry]
) -> None:
    with pytest.raises(BadInputError, match="has no numbers of the protocol 'editgauge'"):
        calibration(make_run(make_record(), name="toy"), ratings=ratings, out=tmp_path / "c.json")
    record = make_record("e0", {"edit": 0.5}, protocol="editgauge[calibration=c.json@12]")
    there = make_run(record, name="done", protocols={"editgauge[calibration=c.json@12]": ENTRY})
    with pytest.raises(BadInputError, match="calibrated already"):
        calibration(there, ratings=ratings, out=tmp_path / "c.json")
    half = make_run(make_record("e0", {"edit": 0.5}, protocol="editgauge"), name="half", finish=False,
                    protocols={"editgauge": ENTRY})  # fmt: skip
    with pytest.raises(BadInputError, match="is not finished"):
        calibration(half, ratings=ratings, out=tmp_path / "c.json")
    for name in ("c.txt", "a,b.json"):
        with pytest.raises(BadInputError, match="`out`"):
            calibration(scored, ratings=ratings, out=tmp_path / name)


def test_as_users_type_it(scored: Path, tmp_path: Path) -> None:
    file = people(scored, tmp_path / "r.csv", {"accuracy": unsure, "precise": clean})
    out = tmp_path / "c.json"
    ended = CliRunner().invoke(groups["build"], ["calibration", str(scored), "--ratings", str(file), "--out", str(out)])
    assert ended.exit_code == 0, ended.output
    said = " ".join(ended.output.split())
    assert "351 answers of 3 raters to 'accuracy' on 117 outcomes of 30 source images" in said
    assert "0.5 becomes 0." in said
    assert f"--protocol 'editgauge[calibration={out}]'" in " ".join(said.split())
    drawn = ElementTree.fromstring(out.with_suffix(".svg").read_text("utf-8"))
    classes = [item.get("class") for item in drawn.iter()]
    assert (classes.count("curve"), classes.count("even")) == (2, 4)
    assert classes.count("dot before") == classes.count("dot after") == 20
    assert "expected error" in (drawn.get("aria-label") or "")

    words = ["calibration", str(scored), "--ratings", str(file), "--score", "edit", "--question", "accuracy"]
    told = json.loads(CliRunner().invoke(groups["build"], [*words, "--out", str(out), "--json"]).output)
    assert [item["score"] for item in told["scores"]] == ["edit"]
    assert told["scores"][0]["left_out"]["before"]["brier"]["n"] == 117
