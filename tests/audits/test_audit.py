"""`audit` from end to end: a judge that can be trusted, and three that cannot, distinguished by their cards alone."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from editgauge._cli import app
from editgauge.audits._probe_set import split_of
from editgauge.audits.audit import audit
from editgauge.audits.audit_card import AuditCard
from editgauge.errors import BadInputError, UnknownNameError
from tests.audits.conftest import RedBoxes
from tests.endpoint import MODEL, Served

PHOTOS = 12
Audited = Callable[..., AuditCard]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, red_boxes: RedBoxes) -> Path:
    return red_boxes(tmp_path_factory.mktemp("probes"), PHOTOS)


@pytest.fixture
def audited(folder: Path, tmp_path: Path, served: Served) -> Audited:
    """The card of a judge that answers as it is told: by the addresses of its pictures, and by what it was asked."""

    def card(answer: Callable[[list[str], str], bool], protocol: str = "editinspector") -> AuditCard:
        times: Counter[str] = Counter()

        def plan(text: str, seen: int) -> str:
            if '"yes"' not in text:
                return "Something is wrong."
            pictures = _pictures([request for request in list(served.requests) if _text(request) == text][seen])
            question = "".join([text, *pictures])
            with served.lock:
                times[question] += 1
            return json.dumps({"answer": "yes" if answer(pictures, f"{question} {times[question]}") else "no"})

        served.plan = plan
        judge = [f"openai:{MODEL}@{served.url}"]
        return audit(protocol=[protocol], out=tmp_path / "audit", probes=folder, judge=judge, quiet=True)

    return card


def _text(request: dict[str, Any]) -> str:
    content = request["messages"][0]["content"]
    return str(content if isinstance(content, str) else content[-1]["text"])


def _pictures(request: dict[str, Any]) -> list[str]:
    return [part["image_url"]["url"] for part in request["messages"][0]["content"] if part["type"] == "image_url"]


def _coin(text: str) -> bool:
    return bool(hashlib.sha256(text.encode()).digest()[0] % 2)


def verdict(card: AuditCard) -> Any:
    return next(each for each in card.scores if each.name == "edit")


@pytest.mark.slow
def test_a_judge_that_looks_has_a_perfect_card(audited: Audited, tmp_path: Path) -> None:
    card = audited(lambda pictures, asked: pictures[0] != pictures[1])
    assert (verdict(card).auroc.value, verdict(card).accuracy.value) == (1.0, 1.0)
    assert card.failures[f"editinspector[{MODEL}]/edit"] == ()
    assert card.costs is not None
    assert card.costs.calls > PHOTOS
    stored = json.loads((tmp_path / "audit" / "card.json").read_text())
    assert stored["scores"][0]["auroc"]["value"] == 1.0
    assert "Does the evaluator deserve trust?" in (tmp_path / "audit" / "index.html").read_text("utf-8")


@pytest.mark.slow
def test_a_judge_that_always_says_yes_is_exposed(audited: Audited, tmp_path: Path) -> None:
    card = audited(lambda pictures, asked: True)
    found = verdict(card)
    assert (found.auroc.value, found.accuracy.value) == (0.5, 0.5)
    assert (found.sensitivity.value, found.specificity.value) == (1.0, 0.0)
    assert {each.kind for each in card.failures[f"editinspector[{MODEL}]/edit"]} == {"nothing"}
    assert "data:image/jpeg" in (tmp_path / "audit" / "index.html").read_text("utf-8")


@pytest.mark.slow
def test_a_judge_that_guesses_is_exposed_by_asking_again(audited: Audited) -> None:
    card = audited(lambda pictures, asked: _coin(asked), "editinspector[repeat=3]")
    steady = card.steadiness[f"editinspector[repeat=3,{MODEL}]/self_agreement"]
    assert steady.high is not None
    assert steady.high < 0.7
    found = verdict(card)
    assert found.auroc.low < 0.5 < found.auroc.high


@pytest.mark.slow
def test_a_judge_that_sees_the_first_picture_only_is_exposed_by_their_order(audited: Audited) -> None:
    card = audited(lambda pictures, asked: _coin(pictures[0]), "editinspector[swap]")
    order = card.steadiness[f"editinspector[swap,{MODEL}]/order_agreement"]
    assert order.high is not None
    assert order.high < 1.0  # a judge that looks at both has 1
    found = verdict(card)
    assert found.auroc.value == 0.5
    assert found.against["nothing"].value == 0.5  # the first picture is the same, so is the answer


@pytest.mark.slow
def test_given_again_nothing_is_asked_again(audited: Audited, served: Served) -> None:
    first = audited(lambda pictures, asked: True)
    asked = len(served.requests)
    again = audited(lambda pictures, asked: False)
    assert len(served.requests) == asked
    assert again.scores == first.scores


@pytest.mark.slow
def test_pixels_alone_prefer_that_nothing_was_done(folder: Path, tmp_path: Path) -> None:
    card = audit(protocol=["preservation"], out=tmp_path / "audit", probes=folder, quiet=True)
    ssim = next(each for each in card.scores if each.name == "ssim")
    assert ssim.auroc.value == 0.0
    assert ssim.against["nothing"].value == 0.0
    assert card.probes == 2 * PHOTOS
    assert card.held_back == 2 * sum(split_of(f"photo {number}") == "held_back" for number in range(PHOTOS))


@pytest.mark.slow
def test_the_command_line_prints_the_table_and_where_the_page_is(folder: Path, tmp_path: Path) -> None:
    words = ["--protocol", "preservation", "--probes", str(folder), "--out", str(tmp_path / "audit")]
    told = CliRunner().invoke(app, ["audit", *words])
    assert told.exit_code == 0, told.output
    assert "preservation/psnr" in told.output
    assert "nothing" in told.output
    assert (tmp_path / "audit" / "index.html").is_file()
    again = CliRunner().invoke(app, ["audit", *words, "--json", "--quiet"])
    assert json.loads(again.stdout)["probes"] == 2 * PHOTOS


@pytest.mark.slow
def test_one_score_is_held_against_all_others_where_both_have_a_value(folder: Path, tmp_path: Path) -> None:
    card = audit(
        protocol=["preservation"], out=tmp_path / "audit", probes=folder, against="preservation/ssim", quiet=True
    )
    assert {pair.first for pair in card.ahead} == {"preservation/ssim"}
    assert len(card.ahead) == len(card.scores) - 1
    ssim, l1 = (next(each for each in card.scores if each.name == name) for name in ("ssim", "l1"))
    found = next(pair for pair in card.ahead if pair.second == "preservation/l1")
    assert (found.first_auroc, found.second_auroc) == (ssim.auroc, l1.auroc)  # both score every probe
    assert found.difference.value == 0.0
    with pytest.raises(UnknownNameError, match="no score in this audit called 'sim'"):
        audit(protocol=["preservation"], out=tmp_path / "audit", probes=folder, against="sim", quiet=True)


@pytest.mark.slow
def test_a_wrong_name_is_told_before_anything_is_made(tmp_path: Path) -> None:
    wrong: tuple[dict[str, Any], ...] = ({"models": "nosuch"}, {"against": "sim"}, {"blend": "ssim,sim"})
    for words in wrong:
        with pytest.raises((BadInputError, UnknownNameError)):
            audit(protocol=["preservation"], out=tmp_path / "audit", quiet=True, **words)
    assert not (tmp_path / "audit").exists()


@pytest.mark.slow
def test_mistakes_are_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="at least one protocol"):
        audit(protocol=[], out=tmp_path / "audit", probes=folder)
    with pytest.raises(BadInputError, match="are there already"):
        audit(protocol=["preservation"], out=tmp_path / "audit", probes=folder, limit=3)
    with pytest.raises(BadInputError, match="two scores"):
        audit(protocol=["preservation"], out=tmp_path / "audit", probes=folder, blend="ssim", quiet=True)
