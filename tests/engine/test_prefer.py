"""A judge prefers one of two outcomes, asked over a real socket; what it says enters `agree`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.analysis.agree import agree
from editgauge.engine.prefer import prefer
from editgauge.engine.run import run as score
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import ImageStamp, JournalEntry
from tests.endpoint import MODEL, Served

Make = Callable[..., Path]
WISHES = ["Steady wish.", "Shifty wish.", "Silent wish.", "Even wish."]


def plan(text: str, seen: int) -> str:
    """Each pair is asked twice: as given, then the other way round."""
    if WISHES[0] in text:
        return '{"answer": "second"}' if seen == 0 else '{"answer": "first"}'
    if WISHES[1] in text:
        return '{"answer": "first"}'
    return "I'm sorry, but I can't help with that." if WISHES[2] in text else '{"answer": "tie"}'


@pytest.fixture
def run(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> Path:
    benchmark = make_benchmark(tmp_path / "photos", edits=len(WISHES), size=48, instruction=WISHES)
    outcomes = {f"m{n}": make_outcomes(benchmark, tmp_path / f"m{n}", n) for n in (1, 2)}
    score(str(benchmark), outcomes=outcomes, protocol=["preservation"], out=tmp_path / "run", quiet=True)
    return tmp_path / "run"


@pytest.fixture
def judge(served: Served) -> str:
    served.plan = plan
    return f"openai:{MODEL}@{served.url}"


def told(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_every_pair_is_asked_in_both_orders_and_nothing_twice(run: Path, judge: str, served: Served) -> None:
    out = run.parent / "judge.jsonl"
    made = prefer(run, judge=judge, out=out, quiet=True)
    assert (made.judge, made.pairs, made.unanswered) == (MODEL, 4, {"refused": 1})
    steady, shifty, silent, even = told(out)
    assert (steady["edit"], steady["first"], steady["second"], steady["rater"]) == ("edit-000", "m1", "m2", MODEL)
    assert (steady["chosen"], steady["swapped"], steady["unanswered"]) == ("second", "second", None)
    assert (shifty["chosen"], shifty["swapped"]) == ("first", "second")
    assert (silent["chosen"], silent["swapped"]) == (None, None)
    assert silent["unanswered"].startswith("refused")
    assert (even["chosen"], even["swapped"]) == ("tie", "tie")
    asked = len(served.requests)
    assert asked == 2 * 4
    first = out.read_bytes()
    prefer(run, judge=judge, out=out, quiet=True)
    prefer(run, judge=judge, out=out, replay=True, quiet=True)
    assert (len(served.requests), out.read_bytes()) == (asked, first)


def test_aspects_are_asked_one_by_one_and_give_one_elo(run: Path, judge: str, served: Served) -> None:
    out = run.parent / "judge.jsonl"
    made = prefer(run, judge=judge, out=out, aspect=["following", "quality"], quiet=True)
    lines = told(out)
    assert [line["rater"] for line in lines[:2]] == [f"{MODEL}:following", f"{MODEL}:quality"]
    assert (len(served.requests), len(lines), made.unanswered) == (2 * 2 * 4, 8, {"refused": 2})
    assert made.figure == "Elo"  # not of GEditBench v2, and not all that it asks
    assert list(made.elo) == ["m2", "m1"]
    assert {item.n for item in made.elo.values()} == {2 * 2 * 3}
    with pytest.raises(UnknownNameError, match="no aspect called 'nice'"):
        prefer(run, judge=judge, out=out, aspect=["nice"])  # type: ignore[list-item] # as the command line may


def test_the_other_order_shows_the_other_picture_first(run: Path, judge: str, served: Served) -> None:
    prefer(run, judge=judge, out=run.parent / "judge.jsonl", limit=1, quiet=True)
    given, swapped = (
        [part["image_url"]["url"] for part in asked["messages"][0]["content"] if part["type"] == "image_url"]
        for asked in served.requests
    )
    assert given == [swapped[0], swapped[2], swapped[1]]
    assert len(set(given)) == 3


def test_what_a_judge_says_enters_agree(run: Path, judge: str) -> None:
    out = run.parent / "judge.jsonl"
    prefer(run, judge=judge, out=out, quiet=True)
    people = run.parent / "people.jsonl"
    choices = [{"edit": f"edit-00{n}", "first": "m1", "second": "m2", "chosen": "second"} for n in range(4)]
    people.write_text("".join(json.dumps(item) + "\n" for item in choices))
    result = agree(run, choices=people, judge_choices=[out])
    assert result.choice_scores is not None
    mine = next(item for item in result.choice_scores.scores if item.protocol == f"judge[{MODEL}]")
    assert mine.share is not None
    assert mine.share.value == pytest.approx(2 / 3)
    assert (mine.share.n, mine.equal, mine.unscored) == (3, 2, 1)


def test_only_the_pairs_that_people_judged_are_asked(run: Path, judge: str, served: Served) -> None:
    people = run.parent / "people.jsonl"
    lines = [{"edit": "edit-003", "first": "m2", "second": "m1", "chosen": "tie", "rater": name} for name in "ab"]
    people.write_text("".join(json.dumps(item) + "\n" for item in lines))
    made = prefer(run, judge=judge, out=run.parent / "judge.jsonl", choices=people, quiet=True)
    assert (made.pairs, len(served.requests)) == (1, 2)
    (line,) = told(made.file)
    assert (line["edit"], line["first"], line["second"]) == ("edit-003", "m2", "m1")


def test_a_picture_that_changed_since_is_not_judged(run: Path, judge: str, served: Served) -> None:
    first, second = (run.parent / "m1" / f"edit-00{n}.png" for n in (0, 2))
    first.write_bytes(second.read_bytes())
    with pytest.raises(BadInputError, match="another picture than the one that was scored"):
        prefer(run, judge=judge, out=run.parent / "judge.jsonl", quiet=True)
    assert not (run.parent / "judge.jsonl").exists()


def test_a_picture_that_went_away_has_no_answer(run: Path, judge: str) -> None:
    (run.parent / "m2" / "edit-003.png").unlink()
    made = prefer(run, judge=judge, out=run.parent / "judge.jsonl", quiet=True)
    assert made.unanswered == {"refused": 1, "unreadable_image": 1}


def test_outcomes_of_different_sources_are_not_compared(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], judge: str, served: Served, tmp_path: Path
) -> None:
    """As in the later turns of a benchmark, where every method goes on from its own last outcome."""
    stamps = [ImageStamp(f"/nowhere/{name}.png", 1, 1, name) for name in ("one", "two")]
    run = make_run(
        *(
            make_record("later", {"gain": 0.5}, method=stamp.path, source_image=stamp, edited_image=stamp)
            for stamp in stamps
        )
    )
    made = prefer(run, judge=judge, out=tmp_path / "judge.jsonl", quiet=True)
    assert (made.unanswered, served.requests) == ({"not_applicable": 1}, [])


def test_mistakes_are_told_before_anybody_is_asked(run: Path, judge: str, served: Served) -> None:
    with pytest.raises(UnknownNameError, match="no method in this run called"):
        prefer(run, judge=judge, out=run.parent / "judge.jsonl", method=["m3"], quiet=True)
    with pytest.raises(BadInputError, match="no pair to ask about"):
        prefer(run, judge=judge, out=run.parent / "judge.jsonl", method=["m1"], quiet=True)
    with pytest.raises(BadInputError, match=r"must end with \.jsonl"):
        prefer(run, judge=judge, out=run.parent / "judge.csv", quiet=True)
    assert served.requests == []
