"""No more calls are made than a dry run says: for every protocol and builder that asks, whatever is answered."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import editgauge
from editgauge.builders.attributes import attributes
from editgauge.builders.editval import editval
from editgauge.builders.training import training
from editgauge.builders.unibench import unibench
from editgauge.engine._judge_cost import estimate_judge_cost
from editgauge.engine._judges import read_judge_config, transcripts_of
from editgauge.engine._perception import MemoryGate, RunPerception
from editgauge.engine._run_plan import RunPlan, all_tasks, build_plan
from editgauge.engine._scoring import score_task
from editgauge.options import DataOptions, JudgeOptions, ScorerOptions
from editgauge.protocols import open_protocol
from tests.builders.toys import make_toys
from tests.endpoint import MODEL, Served, say

PEOPLE = ["The grey counter was replaced with a white table. A vase was added. The rug is gone.", "A vase was added."]
TOKENS = (400, 40)
THINGS = ("vase", "lamp", "plate", "rug", "chair", "clock")


def stubborn(text: str, seen: int) -> dict[str, Any]:
    """Answers so that much has to be asked: what can be long is long, and half is unreadable at first."""
    triplets = [{"source": None, "target": f"red {each}", "action": "Add"} for each in THINGS]
    answers = {
        "List every difference": {"differences": [f"A {each} was added." for each in THINGS]},
        "What is the main difference": {"difference": "A vase was added."},
        "Turn the description into": {"triplets": triplets},
        "Answer:": {
            "caption": "A vase was added.",
            "action": "Add",
            "source_object": None,
            "target_object": "vase",
            "source_attributes": [],
            "target_attributes": [],
        },
    }
    if "Another program could not read" not in text and sum(map(ord, text)) % 2:
        return say("Hm. Yes and no.", tokens=TOKENS)
    said = next((json.dumps(answer) for words, answer in answers.items() if words in text), "no")
    return say(said, tokens=TOKENS)


@pytest.fixture
def asked(tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]) -> dict[str, Any]:
    extras = {
        "differences": PEOPLE,
        "difference_caption": "A vase was added.",
        "feedback": {"consistent": ["No shadow."], "precise": ["Blurred."]},
    }
    benchmark = make_benchmark(tmp_path / "set", 3, extras=[extras, None, extras])
    outcomes = {f"m{number}": str(make_outcomes(benchmark, tmp_path / f"m{number}", number)) for number in (1, 2)}
    return {"benchmark": benchmark, "outcomes": outcomes}


CASES = (
    ("editinspector[repeat=3,swap]", None),
    (f"editinspector[grader={MODEL}]", None),
    (f"difference-captions[grader={MODEL}]", None),
    (f"difference-captions[grader={MODEL},pipeline=judge]", None),
    ("rubric:viescore[repeat=2,swap]", None),
    ("rubric:kris", None),
    ("rubric:complex-edit[repeat=2]", "median"),
    ("editinspector[repeat=3,swap]", "majority"),
)


async def _score(plan: RunPlan, transcripts: Path) -> None:
    async with RunPerception(plan.choice.models, None, plan.judge_config, transcripts) as see:
        await asyncio.gather(*(score_task(task, plan.protocols, see, MemoryGate()) for task in all_tasks(plan)))


def _prepared(asked: dict[str, Any], protocols: list[str], panel: str | None, judge: list[str]) -> RunPlan:
    return build_plan(
        asked["benchmark"],
        asked["outcomes"],
        ScorerOptions(protocol=protocols),
        data=DataOptions(),
        seed=0,
        judge_config=read_judge_config(JudgeOptions(judge=judge, price="2.5,10", max_tokens=64, panel=panel)),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "panel"), CASES)
def test_a_run_makes_no_more_calls_and_costs_no_more_than_foreseen(
    served: Served, asked: dict[str, Any], protocol: str, panel: str | None, tmp_path: Path
) -> None:
    served.plan = stubborn
    judge = [f"openai:{MODEL}@{served.url}"] + ([f"other=openai:{MODEL}@{served.url}"] if panel else [])
    plan = _prepared(asked, [protocol], panel, judge)
    foreseen = estimate_judge_cost(plan, tmp_path / "run").values()
    assert served.requests == []
    asyncio.run(_score(plan, tmp_path / "transcripts"))
    assert 0 < len(served.requests) <= sum(each["calls at most"] for each in foreseen)
    cost = len(served.requests) * (TOKENS[0] * 2.5 + TOKENS[1] * 10) / 1e6
    assert cost <= sum(each["cost at most"] for each in foreseen)


def test_what_is_scored_already_is_not_expected_again(served: Served, asked: dict[str, Any], tmp_path: Path) -> None:
    judge = [f"openai:{MODEL}@{served.url}"]
    settings: dict[str, Any] = {"judge": judge, "price": "2.5,10", "max_tokens": 64, "quiet": True}
    editgauge.run(**asked, **settings, protocol=["rubric:gedit"], out=tmp_path / "run")
    shutil.rmtree(str(transcripts_of(tmp_path / "run")))  # what they hold is never asked again anyway
    plan = _prepared(asked, ["rubric:gedit", "rubric:viescore"], None, judge)
    further = _prepared(asked, ["rubric:viescore"], None, judge)
    [left], [alone] = (
        estimate_judge_cost(each, tmp_path / out).values() for each, out in ((plan, "run"), (further, "another"))
    )
    assert left["calls"] == alone["calls"]


def test_a_panel_adds_no_call_to_those_of_its_members(served: Served, asked: dict[str, Any], tmp_path: Path) -> None:
    judges = [f"{name}=openai:{MODEL}@{served.url}" for name in ("a", "b", "c")]
    alone, together = (
        {name: each["calls at most"] for name, each in estimate_judge_cost(plan, tmp_path / "run").items()}
        for plan in (_prepared(asked, ["rubric:gedit"], panel, judges) for panel in (None, "median"))
    )
    assert together == alone == dict.fromkeys("abc", 6 * 2 * 2)  # outcomes, questions, each with a repair


def test_the_protocols_that_ask_say_how_much() -> None:
    for name in ("editinspector[a]", "difference-captions[a]", "rubric:gedit[a]", "editgauge[a]"):
        protocol = open_protocol(name)
        assert protocol.judge == "a"
        assert type(protocol).questions_at_most is not type(open_protocol("preservation")).questions_at_most


BUILDERS = ("attributes", "training", "unibench", "editval")


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_builder_makes_no_more_calls_than_foreseen(
    served: Served, tmp_path: Path, make_benchmark: Callable[..., Path], builder: str
) -> None:
    served.plan = stubborn
    judge = f"openai:{MODEL}@{served.url}"
    options: dict[str, Any] = {"judge": judge, "price": "2.5,10", "quiet": True}
    if builder in ("attributes", "training"):
        benchmark = make_benchmark(tmp_path / "set", 3, reference=["0.png", "0.png", "1.png"])
        build: Callable[..., Any] = attributes if builder == "attributes" else training
        asking = build(benchmark, out=tmp_path / "out.jsonl", dry_run=True, **options).asking
        assert (served.requests, (tmp_path / "out.jsonl").exists()) == ([], False)
        build(benchmark, out=tmp_path / "out.jsonl", **options)
    else:
        files = make_toys(tmp_path / "toys")
        build = unibench if builder == "unibench" else editval
        options |= {"coco": files.instances, "images": files.images, "out": tmp_path / "built.json"}
        asking = build(dry_run=True, **options).asking
        assert (served.requests, (tmp_path / "built.json").exists()) == ([], False)
        build(**options)
    assert 0 < len(served.requests) <= asking.calls
    assert len(served.requests) * (TOKENS[0] * 2.5 + TOKENS[1] * 10) / 1e6 <= asking.cost
