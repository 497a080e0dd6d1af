"""Difference captions of a judge behind a real endpoint, against people's: by judge, by rules, as released."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import ImageFile
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import Note
from editgauge.judges import JudgeService, open_judge
from editgauge.protocols import Protocol, SetPart
from editgauge.protocols.difference import as_released, difference_captions
from editgauge.protocols.difference._model_captions import human_captions
from editgauge.types import Edit, Item, Outcome, Score, Scores
from tests.endpoint import MODEL, Served

ASKED = {
    "List every difference": "all",
    "What is the main difference": "main",
    "Turn the description into": "triplets",
    "Can both mean the same kind": "object",
    "Do they mean the same difference": "same",
    "Which single difference do all of them report": "common",
    "Another program could not read": "repair",
}
PEOPLE = ["The grey counter was replaced with a white table. A vase was added. The rug is gone.", "A vase was added."]
TOLD = ["A vase was added on the counter.", "A clock was removed."]
TRIPLETS: dict[str, list[tuple[str | None, str | None, str]]] = {
    PEOPLE[0]: [("counter", "table", "Replace"), (None, "vase", "Add"), ("rug", None, "Remove")],
    PEOPLE[1]: [(None, "vase", "Add")],
    " ".join(TOLD): [(None, "vase", "Add"), ("clock", None, "Remove")],
    "A jug was added.": [(None, "jug", "Add")],
    "The counter became a table.": [("counter", "table", "Change Attribute")],
    "A spoon was added.": [(None, "spoon", "Add")],
    "A milk jug was added.": [(None, "milk jug", "Add")],
}
REFUSAL = "I'm sorry, but I can't help with that."


def question(text: str) -> str:
    (result,) = [name for words, name in ASKED.items() if words in text]
    return result


def answering(**changes: str) -> Callable[[str, int], str]:
    def answer(text: str, seen: int) -> str:
        kind = question(text)
        if kind in changes:
            return changes[kind]
        if kind == "triplets":
            (caption,) = [entry for entry in TRIPLETS if f"\n{entry}\n" in text]
            rows = [dict(zip(("source", "target", "action"), entry, strict=True)) for entry in TRIPLETS[caption]]
            return json.dumps({"triplets": rows})
        if kind == "common":
            return "A vase was added."
        if kind == "same":
            return "yes" if text.count("vase") == 2 else "no"
        if kind == "repair":
            return "unclear"
        usual = {"all": {"differences": TOLD}, "main": {"difference": TOLD[0]}, "object": {"answer": "no"}}
        return json.dumps(usual[kind])

    return answer


class Seeing(JudgeService):
    """Judges behind an endpoint; sentence embeddings say that nothing is alike."""

    async def similarity(self, text: str, other: str) -> float:
        return 0.0

    async def detect_all(self, image: Any) -> Any:
        raise UnscorableError("not_applicable", "an open vocabulary has no end")


def item(**extras: Any) -> Item:
    pictures = (np.random.default_rng(seed).integers(0, 256, (16, 20, 3), dtype=np.uint8) for seed in range(2))
    source, edited = pictures
    edit = Edit(
        id="e", source=ImageFile("p", Path("/p")), type="unspecified", instruction="Add a vase.", extras=extras
    )  # fmt: skip
    return Item(
        edit=edit, outcome=Outcome(edit_id="e", method="m", image=Path("/o")), source=source, edited=edited
    )  # fmt: skip


def by_judge(protocol: Protocol = difference_captions) -> Protocol:
    return protocol.variant({"grader": MODEL})


def scored(served: Served, protocol: Protocol | None = None, **extras: Any) -> Scores:
    async def score() -> Scores:
        async with open_judge(f"openai:{MODEL}@{served.url}") as judge:
            perception: Any = Seeing({MODEL: judge})
            return await (protocol or by_judge()).with_models({"judge": MODEL}).score(item(**extras), perception)

    return asyncio.run(score())


def part(served: Served, **extras: Any) -> SetPart:
    async def made() -> SetPart:
        async with open_judge(f"openai:{MODEL}@{served.url}") as judge:
            perception: Any = Seeing({MODEL: judge})
            return await difference_captions.with_models({"judge": MODEL}).part(item(**extras), perception)

    return asyncio.run(made())


def values(scores: Scores) -> dict[str, float | str]:
    return {name: entry.value if isinstance(entry, Score) else entry.reason for name, entry in scores.items()}


def test_each_person_counts_and_the_mean_is_taken(served: Served) -> None:
    served.plan = answering()
    scores = scored(served, differences=PEOPLE)
    result = values(scores)
    assert result["main_matched"] == 0.5  # the first person begins with the counter, the second with the vase
    assert result["mp"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["hr"] == 0.5
    assert result["differences"] == 2
    assert set(result) == {spec.name for spec in difference_captions.scores}
    told = [piece.text for piece in scores["mp"].evidence if isinstance(piece, Note)]
    assert "People: Add: nothing → vase" in told
    assert "Model: Remove: clock → nothing" in told


def test_pictures_are_shown_before_first_and_only_where_they_are_needed(served: Served) -> None:
    served.plan = answering()
    scored(served, differences=PEOPLE)
    shown = {
        question(entry["messages"][0]["content"][-1]["text"]): [
            part["text"] for part in entry["messages"][0]["content"][:-1:2]
        ]
        for entry in served.requests
        if isinstance(entry["messages"][0]["content"], list)
    }
    assert shown == {kind: ["Before the change:", "After the change:"] for kind in ("all", "main")}


def test_the_words_of_the_captions_are_compared_with_the_nearest_person(served: Served) -> None:
    served.plan = answering(all='{"differences": ["A vase was added."]}')
    result = values(scored(served, differences=PEOPLE))
    assert result["rouge_1"] == result["rouge_l"] == result["bleu"] == pytest.approx(1.0)
    assert isinstance(result["meteor"], float)
    assert result["meteor"] > 0.99


def test_without_people_the_number_of_differences_is_all_there_is(served: Served) -> None:
    served.plan = answering()
    result = values(scored(served))
    assert result.pop("differences") == 2
    assert set(result.values()) == {"not_applicable"}


def test_no_difference_is_an_answer_and_hallucinates_nothing(served: Served) -> None:
    served.plan = answering(all='{"differences": []}', main='{"difference": null}')
    result = values(scored(served, differences=[PEOPLE[1]]))
    assert (result["differences"], result["main_matched"], result["mp"], result["bleu"]) == (0, 0, 0, 0)
    assert result["hr"] == result["soft_hr"] == "not_applicable"


def test_a_refused_reading_takes_only_its_own_scores_with_it(served: Served) -> None:
    served.plan = answering(triplets=REFUSAL, same="maybe")
    result = values(scored(served, differences=PEOPLE))
    assert (result["mp"], result["hr"], result["main_matched"]) == ("refused", "refused", "unparsable")
    assert result["differences"] == 2
    assert isinstance(result["rouge_1"], float)


def test_a_judge_that_refuses_to_look_leaves_nothing_to_score(served: Served) -> None:
    served.plan = answering(all=REFUSAL)
    with pytest.raises(UnscorableError, match="refused"):
        scored(served, differences=PEOPLE)


def test_objects_that_words_do_not_tell_are_shown_to_the_judge(served: Served) -> None:
    served.plan = answering(object="yes", all='{"differences": ["A jug was added."]}')
    assert values(scored(served, differences=[PEOPLE[1]]))["mp"] == 1
    asked = [text for text in served.seen if question(text) == "object"]
    assert len(asked) == 1
    assert "vase" in asked[0]
    assert "jug" in asked[0]


def test_the_rules_grade_unless_a_grader_is_named(served: Served) -> None:
    served.plan = answering()
    result = values(scored(served, difference_captions, differences=PEOPLE))
    assert {question(text) for text in served.seen} == {"all", "main"}
    assert result["mp"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["main_matched"] == 0.5
    assert difference_captions.needs == ("judge", "text_similarity")
    assert difference_captions.variant({"grader": "rules"}).name == "difference-captions"


def test_what_the_rules_cannot_read_is_unscored_and_not_zero(served: Served) -> None:
    served.plan = answering(all='{"differences": ["Hm."]}', main='{"difference": "Hm."}')
    result = values(scored(served, difference_captions, differences=PEOPLE))
    assert (result["mp"], result["hr"], result["main_matched"]) == ("unparsable", "unparsable", "unparsable")
    served.plan = answering()
    result = values(scored(served, difference_captions, differences=["Hm.", PEOPLE[1]]))
    assert (result["mp"], result["main_matched"]) == (1.0, 1.0)
    assert values(scored(served, difference_captions, differences=["Hm."]))["main_matched"] == "unparsable"


def test_as_released_replacing_is_changing(served: Served) -> None:
    served.plan = answering(all='{"differences": ["The counter became a table."]}')
    assert values(scored(served, differences=PEOPLE[:1]))["mp"] == 0
    assert values(scored(served, by_judge(as_released), differences=PEOPLE[:1]))["mp"] == pytest.approx(1 / 3)


def test_as_released_the_main_difference_comes_from_all_captions_together(served: Served) -> None:
    served.plan = answering()
    assert values(scored(served, differences=PEOPLE))["main_matched"] == 0.5
    assert values(scored(served, by_judge(as_released), differences=PEOPLE))["main_matched"] == 1
    (text,) = [text for text in served.seen if question(text) == "common"]
    assert all(caption in text for caption in PEOPLE)


def test_as_released_objects_without_a_related_noun_are_not_shown_to_the_judge(served: Served) -> None:
    served.plan = answering(object="yes", all='{"differences": ["A jug was added."]}')
    assert values(scored(served, by_judge(as_released), differences=["A spoon was added."]))["mp"] == 0
    assert "object" not in map(question, served.seen)
    assert values(scored(served, by_judge(as_released), differences=["A milk jug was added."]))["mp"] == 1
    assert "object" in map(question, served.seen)


def test_questions_at_most_holds_as_released(served: Served) -> None:
    served.plan = answering()
    protocol = by_judge(as_released).with_models({"judge": MODEL})
    scored(served, by_judge(as_released), differences=PEOPLE[:1])
    assert len(served.requests) <= sum(protocol.questions_at_most(item(differences=PEOPLE[:1]).edit, 1).values())


def test_sets_count_differences_and_weigh_rare_words(served: Served) -> None:
    served.plan = answering()
    told = part(served, differences=PEOPLE)
    served.plan = answering(all='{"differences": []}')
    nothing = part(served, differences=["The sky was changed to green."])
    result = values(difference_captions.score_set([told, nothing, part(served)]))
    assert result["avg_diff"] == pytest.approx(2 / 3)
    assert result["no_diffs"] == pytest.approx(2 / 3)
    assert isinstance(result["cider"], float)
    assert result["cider"] > 0
    assert values(difference_captions.score_set([told]))["cider"] == "not_applicable"
    assert set(values(difference_captions.score_set([])).values()) == {"not_applicable"}


def test_where_objects_can_be_counted_they_are() -> None:
    counting = difference_captions.with_models({"judge": "a", "detector": "efficientdet-lite2"})
    assert [spec.name for spec in counting.scores][-1] == "objects"
    assert "objects" not in [spec.name for spec in difference_captions.scores]


def test_it_is_named_after_its_judge_and_its_options() -> None:
    assert difference_captions.with_models({"judge": "gpt-4o"}).name == "difference-captions[gpt-4o]"
    both = difference_captions.variant({"pipeline": "", "gpt-4o": ""})
    assert both.name == both.with_models({"judge": "other"}).name == "difference-captions[gpt-4o,pipeline]"
    assert (both.needs, both.prefers) == (("judge", "captioner", "text_similarity"), ("detector",))
    judged = difference_captions.variant({"pipeline": "judge", "grader": "b"}).with_models({"judge": "a"})
    assert (judged.name, judged.needs) == ("difference-captions[a,grader=b,pipeline=judge]", ("judge",))
    assert as_released.with_models({"judge": "a"}).name == "difference-captions@released[a]"


@pytest.mark.parametrize(
    "options", [{"a": "", "b": ""}, {"pipeline": "3"}, {"zoom": "2"}, {"rules": ""}, {"grader": ""}]
)
def test_options_it_does_not_have_are_explained(options: Mapping[str, str]) -> None:
    with pytest.raises(BadInputError, match="three zooms"):
        difference_captions.variant(options)


def test_empty_captions_are_nobodys() -> None:
    assert human_captions(item(differences=["", " A cat was added. "]).edit) == ("A cat was added.",)
    with pytest.raises(UnscorableError):
        human_captions(item(differences=["  "], difference_caption="A machine wrote this.").edit)
