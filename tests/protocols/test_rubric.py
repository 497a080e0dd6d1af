"""Rubrics: formulas on hand-worked numbers, and whole rubrics put to a judge behind a real endpoint."""

from __future__ import annotations

import asyncio
import json
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._cli.list import list_names
from editgauge._util.images import ImageFile
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.judges import JudgeService, open_judge
from editgauge.protocols import open_protocol
from editgauge.protocols.rubric._model import open_rubric, rubric_names
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored
from tests.endpoint import MODEL, Served

REFUSAL = "I'm sorry, but I can't help with that."


def an_item(edit_type: str = "color", **extras: Any) -> Item:
    source, edited = (np.full((16, 20, 3), value, np.uint8) for value in (10, 200))
    instruction = "Let the counter be white."
    edit = Edit(id="e", source=ImageFile("p", Path("/p")), type=edit_type, instruction=instruction, extras=extras)
    outcome = Outcome(edit_id="e", method="m", image=Path("/o"))
    return Item(edit=edit, outcome=outcome, source=source, edited=edited)


def made(rubric: str, extras: Any = None, caps: Any = True, **values: float) -> dict[str, Any]:
    known = open_rubric(rubric).rubric
    names = [entry.name for question in known.questions for entry in question.dimensions]
    item = an_item(**(extras or {}))
    result = known.combine({name: values.get(name) for name in names}, item.edit, caps=caps)
    return {name: value.reason if isinstance(value, Unscored) else value for name, value in result.items()}


def test_viescore_takes_the_lower_of_each_pair_and_the_root_of_their_product() -> None:
    result = made("viescore", success=9.0, no_overediting=4.0, naturalness=9.0, no_artifacts=10.0)
    assert (result["sc"], result["pq"], result["overall"]) == (4.0, 9.0, 6.0)
    assert made("viescore", success=9.0, no_overediting=4.0)["overall"] == "not_applicable"


def test_editscore_divides_by_two_and_a_half() -> None:
    result = made("editscore", success=25.0, no_overediting=10.0, naturalness=22.5, no_artifacts=24.0)
    assert (result["sc"], result["pq"]) == (4.0, 9.0)
    assert result["overall"] == pytest.approx(6.0)


def test_imgedit_caps_by_the_first_number_of_the_type() -> None:
    values = {"replace_prompt_compliance": 3.0, "replace_visual_naturalness": 5.0, "replace_physical_integrity": 2.0}
    result = made("imgedit", {"task": "replace"}, **values)
    assert result["replace_visual_naturalness"] == 3.0
    assert result["overall"] == pytest.approx(8 / 3)
    assert made("imgedit", {"task": "replace"}, caps=False, **values)["overall"] == pytest.approx(10 / 3)


def test_kris_scales_to_a_hundred_and_knows_nothing_without_the_instruction() -> None:
    result = made("kris", consistency=5.0, instruction=3.0, quality=4.0, knowledge=2.0)
    assert [result[f"{name}_100"] for name in ("consistency", "instruction", "quality", "knowledge")] == [
        100, 50, 75, 25,
    ]  # fmt: skip
    assert result["overall"] == 62.5
    failed = made("kris", consistency=5.0, instruction=2.0, quality=4.0, knowledge=5.0)
    assert (failed["knowledge"], failed["knowledge_100"], failed["overall"]) == (1.0, 0.0, 50.0)
    assert made("kris", consistency=5.0, instruction=3.0, quality=4.0)["overall"] == 75.0


@pytest.mark.parametrize(
    ("extras", "values", "overall", "accuracy"),
    [
        ({"category": "causal_reasoning"}, {"reasoning": 4.0, "consistency": 5.0, "plausibility": 3.0}, 4.1, 0.0),
        ({"category": "causal_reasoning"}, {"reasoning": 1.0, "consistency": 5.0, "plausibility": 5.0}, 1.5, 0.0),
        ({"category": "causal_reasoning"}, {"reasoning": 1.0, "consistency": 1.0, "plausibility": 2.0}, 1.0, 0.0),
        ({"category": "spatial_reasoning", "consistency_free": True}, {"reasoning": 5.0, "plausibility": 4}, 4.8, 0.0),
        ({"category": "spatial_reasoning", "consistency_free": True}, {"reasoning": 5.0, "plausibility": 5}, 5.0, 1.0),
        ({"category": "temporal_reasoning", "consistency_free": float("nan")},
         {"reasoning": 5.0, "consistency": 5.0, "plausibility": 5.0}, 5.0, 1.0),
        ({"category": "logical_reasoning"}, {"solved": 5.0, "consistency": 3.0}, 4.4, 0.0),
        ({"category": "logical_reasoning"}, {"solved": 1.0, "consistency": 5.0}, 1.1, 0.0),
        ({"category": "logical_reasoning"}, {"solved": 5.0, "consistency": 5.0}, 5.0, 1.0),
    ],
)  # fmt: skip
def test_rise_weights_by_category(
    extras: dict[str, Any], values: dict[str, float], overall: float, accuracy: float
) -> None:
    result = made("rise", extras, **values)
    assert (result["overall"], result["accuracy"]) == (pytest.approx(overall), accuracy)


def test_the_others_are_means_and_weighted_sums() -> None:
    assert made("complex-edit", following=9.0, identity=6.0, quality=3.0)["overall"] == 6.0
    assert made("wiseedit", following=9.0, detail=6.0, visual_quality=3.0, knowledge=2.0)["overall"] == 5.0
    names = ("following", "text_accuracy", "visual_consistency", "layout", "expectation")
    assert made("texteditbench", **dict(zip(names, (5.0, 4.0, 3.0, 2.0, 1.0), strict=True)))["overall"] == 3.0
    weighted = made("hatie", background_consistency=10.0, object_consistency=5.0, object_fidelity=8.0,
                    background_fidelity=4.0, quality=6.0)  # fmt: skip
    assert weighted["overall"] == pytest.approx(0.8 * (0.3 * 10 + 0.1 * 5 + 0.2 * 8 + 0.4 * 4) + 0.2 * 6)


def judge(served: Served, name: str, item: Item | None = None, repair: bool = True) -> Scores:
    async def score() -> Scores:
        async with open_judge(f"openai:{MODEL}@{served.url}", repair=repair) as asked:
            perception: Any = JudgeService({MODEL: asked})
            return await open_protocol(name).with_models({"judge": MODEL}).score(item or an_item(), perception)

    return asyncio.run(score())


def values(scores: Scores) -> dict[str, Any]:
    return {name: entry.value if isinstance(entry, Score) else entry.reason for name, entry in scores.items()}


def answer_vie(text: str, seen: int) -> str:
    semantics = "carry out the request" in text
    return json.dumps({"reasoning": "r", "success": 8, "no_overediting": 6} if semantics else {"score": [7, 9]})


def test_a_rubric_asks_and_combines(served: Served) -> None:
    served.plan = answer_vie
    scores = judge(served, "rubric:viescore")
    assert values(scores) == {
        "success": 8.0, "no_overediting": 6.0, "naturalness": 7.0, "no_artifacts": 9.0,
        "sc": 6.0, "pq": 7.0, "overall": pytest.approx(sqrt(42)),
    }  # fmt: skip
    shown = sorted(
        sum(part["type"] == "image_url" for part in request["messages"][0]["content"]) for request in served.requests
    )
    assert shown == [1, 2]  # quality is judged from the outcome alone
    assert "Let the counter be white." in served.requests[0]["messages"][0]["content"][-1]["text"] + str(
        served.requests[1]["messages"][0]["content"][-1]["text"]
    )


def test_what_cannot_be_read_is_unscored_and_released_code_makes_it_up(served: Served) -> None:
    served.plan = lambda text, seen: "A fine edit." if "carry out the request" in text else '{"score": [7, 9]}'
    plain = values(judge(served, "rubric:viescore", repair=False))
    assert (plain["sc"], plain["pq"], plain["overall"]) == ("unparsable", 7.0, "unparsable")
    released = values(judge(served, "rubric:viescore@released"))
    assert all(isinstance(value, float) for value in released.values())
    assert released == values(judge(served, "rubric:viescore@released"))
    assert values(judge(served, "rubric:editscore@released"))["sc"] == 5.0
    served.plan = lambda text, seen: REFUSAL
    assert set(values(judge(served, "rubric:viescore")).values()) == {"refused"}


def test_repetitions_and_both_orders_are_averaged(served: Served) -> None:
    numbers = iter(range(100))
    served.plan = lambda text, seen: json.dumps({"following": 2, "identity": 4, "quality": next(numbers) % 2 * 10})
    scores = values(judge(served, "rubric:complex-edit[repeat=2,swap]"))
    assert len(served.requests) == 6  # one picture alone has no other order, and its question is asked once per pass
    assert scores["following"] == 2.0


def test_conditions_choose_what_is_asked(served: Served) -> None:
    served.plan = lambda text, seen: "Object Selection & Identity: 4\nMask Precision: 5\nVisual Quality: 3/5"
    scores = values(judge(served, "rubric:imgedit", an_item(task="extract")))
    assert len(served.requests) == 1
    assert (scores["extract_mask_precision"], scores["overall"]) == (4.0, pytest.approx(11 / 3))
    assert scores["replace_prompt_compliance"] == "not_applicable"
    assert values(judge(served, "rubric:imgedit", an_item(task="strange")))["overall"] == "not_applicable"


def test_sets_are_means_of_task_means() -> None:
    protocol = open_protocol("rubric:gedit")
    rows = [("a", "en", 2.0), ("a", "en", 4.0), ("b", "en", 9.0), ("b", "cn", 1.0)]

    def part(task: str, language: str, value: float) -> Any:
        rubric = open_rubric("gedit").rubric
        edit = an_item(task=task, language=language, intersection=task == "a").edit
        accepted = [rubric.applies(entry.when, edit) for entry in rubric.sets]
        return np.full(len(accepted), value), np.array(accepted), np.array([task] * len(accepted))

    result = values(protocol.score_set([part(*row) for row in rows]))
    assert (result["g_o_en"], result["g_o_cn"], result["g_o_en_intersection"]) == (6.0, 1.0, 3.0)
    assert result["g_o_cn_intersection"] == "not_applicable"


def test_a_file_of_ones_own_works_the_same(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\nabout: Is it good?\nquestions:\n  - name: good\n    shows: [outcome]\n    range: [1, 3]\n"
        "    asks: Look.\n    dimensions: [{name: good, asks: how good}]\n"
        "scores:\n  - {name: total, about: twice, range: [2, 6], is: {scaled: good, minus: 0, times: 2}}\n"
    )
    served.plan = lambda text, seen: "3"
    assert values(judge(served, f"rubric:{file}")) == {"good": 3.0, "total": 6.0}
    file.write_text(file.read_text().replace("scaled: good", "scaled: bad"))
    open_rubric.cache_clear()
    with pytest.raises(BadInputError, match="no such dimension"):
        open_protocol(f"rubric:{file}")
    with pytest.raises(UnknownNameError, match="There is no rubric called 'viescor'"):
        open_protocol("rubric:viescor")
    with pytest.raises(BadInputError, match="There is no rubric at"):
        open_protocol("rubric:nowhere.yaml")


def test_all_rubrics_are_listed_and_open() -> None:
    listed = {entry["name"] for entry in list_names("rubrics")}
    assert listed == {f"rubric:{name}" for name in rubric_names()}
    assert len(listed) >= 10
    for name in listed:
        assert open_protocol(name).name == name
