"""Answers are read strictly: what a form writes it reads, and what is not clearly an answer is none."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from editgauge.errors import BadInputError
from editgauge.judges._parsing import UnparsableReplyError, is_refusal
from editgauge.judges._questions import FreeText, PairwiseAnswer, Ratings, Scale, Structured, YesNo


class Found(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    count: int


class Side(Enum):
    LEFT = "left"


class Placed(BaseModel):
    where: Side
    box: tuple[int, int]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"answer": "yes"}', True),
        (' {"answer": "No"}\n', False),
        ('```json\n{"answer": "yes"}\n```', True),
        ('Here it is:\n```\n{"answer": "no"}\n```', False),
        ("yes", True),
        ("No.", False),
        ("**Yes**", True),
        ("Yes, there are no artifacts.", True),
        ("No - the dog is gone.", False),
        ("Answer: yes", True),
        ("The final answer is: No.", False),
        ("<think>no, wait, yes</think>\n\nno", False),
    ],
)
def test_the_usual_ways_of_saying_yes_and_no(text: str, value: bool) -> None:
    assert YesNo().read(text) is value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes and no.",
        "Yes, no.",
        "yes/no",
        "Yes or no? Hard to say.",
        "No problem, yes it is.",
        "Yesterday it was there.",
        "Nothing changed.",
        "No-one can tell.",
        "yes-no",
        "I would say yes",
        "Yes. But my final answer is no.",
        '{"answer": "yes", "answer": "no"}',
        '{"answer": "yes"} {"answer": "no"}',
        '```\n{"answer": "yes"}\n```\n```\n{"answer": "no"}\n```',
        '["yes"]',
        "<think>yes",
        '{"answer": "y',
    ],
)
def test_what_is_not_clearly_yes_or_no_is_neither(text: str) -> None:
    with pytest.raises(UnparsableReplyError):
        YesNo().read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"answer": 4}', 4),
        ('{"answer": 4.0}', 4),
        ("4", 4),
        ("4.0", 4),
        ("Rating: 5/5", 5),
        ("3 out of 5.", 3),
        ("2, it is bad", 2),
    ],
)
def test_the_usual_ways_of_giving_a_number(text: str, value: int) -> None:
    assert Scale(1, 5).read(text) == value


@pytest.mark.parametrize(
    "text",
    ["0", "6", "-4", "4/10", "4 or 5", "3-4", "4.5", "4.05", '{"answer": 4.5}', '{"answer": true}',
     '{"answer": NaN}', '{"answer": 1e400}', "four", "4,5", "5 stars of 10", "10000000000000", "99"],
)  # fmt: skip
def test_what_is_not_on_the_scale_is_no_number(text: str) -> None:
    with pytest.raises(UnparsableReplyError):
        Scale(1, 5).read(text)


@given(st.text() | st.text('yesno firtcd0123.,:/{}"\n'))
def test_nothing_but_a_form_comes_out_of_any_text(text: str) -> None:
    for form, values in (
        (YesNo(), (True, False)),
        (Scale(0, 3), (0, 1, 2, 3)),
        (PairwiseAnswer(), ("one", "two", "tie")),
    ):
        with contextlib.suppress(UnparsableReplyError):
            assert form.read(text) in values


@given(st.integers(-50, 50), st.integers(1, 60), st.data())
def test_every_step_of_a_scale_is_read_as_itself(low: int, steps: int, data: st.DataObject) -> None:
    scale, step = Scale(low, low + steps), data.draw(st.integers(low, low + steps))
    assert scale.read(json.dumps({"answer": step})) == scale.read(f"{step}.") == step
    assert step in scale.schema["properties"]["answer"]["enum"]


def test_a_choice_names_the_edit_and_not_its_place() -> None:
    assert [PairwiseAnswer(swapped).read("first") for swapped in (False, True)] == ["one", "two"]
    assert [PairwiseAnswer(swapped).read('{"answer": "second"}') for swapped in (False, True)] == ["two", "one"]
    assert [PairwiseAnswer(swapped).read("Tie.") for swapped in (False, True)] == ["tie", "tie"]


def test_a_structure_must_fit_its_model() -> None:
    form = Structured(Found)
    assert form.read('```json\n{"name": "hat", "count": 2}\n```') == Found(name="hat", count=2)
    for wrong in (
        '{"name": "hat"}',
        '{"name": "hat", "count": "2"}',
        "hat: 2",
    ):
        with pytest.raises(UnparsableReplyError):
            form.read(wrong)
    assert form.read('{"Name": "hat", "count": 2, "more": 1}') == Found(name="hat", count=2)
    assert form.schema["additionalProperties"] is False
    assert Structured(Placed).read('{"where": "left", "box": [1, 2]}') == Placed(where=Side.LEFT, box=(1, 2))


def test_free_text_may_be_anything_but_nothing_and_a_refusal() -> None:
    assert FreeText().read("<think>hm</think> A hat.\n") == "A hat."
    for said in ("The dog looks sorry.", "I cannot see any difference.", "I am sorry to say that the hat is gone."):
        assert FreeText().read(said) == said
    refusals = (
        "I'm sorry, but I can't assist with that.",
        "I cannot describe people.",
        "As an AI model, I am unable to judge art.",
        "Sorry.",
    )
    for wrong in ("", "  \n", *refusals):
        with pytest.raises(UnparsableReplyError):
            FreeText().read(wrong)


def test_a_scale_goes_upwards() -> None:
    with pytest.raises(BadInputError, match="from a lower number to a higher one; got 5 to 1"):
        Scale(5, 1)


YES = [
    '{"answer": "yes"}',
    '{"answer":"Yes"}',
    '{"answer": "YES"}',
    '{"answer": "Yes."}',
    '{"answer": "yes, the hat is on the dog"}',
    '{"answer": true}',
    '{"answer": True}',
    '{"Answer": "yes"}',
    '{"ANSWER": "yes"}',
    "{'answer': 'yes'}",
    '{"answer": "yes",}',
    '{"answer": "yes", "explanation": "A red hat is on the dog\'s head."}',
    '{"explanation": "There is a {small} hat", "answer": "yes"}',
    '{"reasoning": "It says \\"no\\" on the sign, which was asked for.", "answer": "yes"}',
    '{"answer": "yes"} // the hat is visible',
    '{\n  // the hat is visible\n  "answer": "yes"\n}',
    '{"answer": "yes" /* clearly */}',
    '{"answer": "yes" # clearly\n}',
    '```json\n{"answer": "yes"}\n```',
    '```JSON\n{"answer": "yes"}\n```',
    '```\n{"answer": "yes"}\n```',
    '```json {"answer": "yes"} ```',
    '```json\n{\n  "answer": "yes",\n}\n```',
    'Here is my answer:\n\n```json\n{"answer": "yes"}\n```',
    'Here is the JSON object you asked for: {"answer": "yes"}',
    'Sure! {"answer": "yes"} Let me know if you need more.',
    'After comparing both pictures, the sky is now pink.\n{"answer": "yes"}',
    '{"answer": "yes"}\n\nThe hat was added as asked; there is no other change.',
    '{"answer": "yes"}\n{"answer": "yes"}',
    '{"response": "yes"}',
    '{"result": true, "confidence": 0.93}',
    '{"verdict": "Yes"}',
    '{"answer": "yes", "confidence": "high", "evidence": ["hat", "head"]}',
    '<think>The dog had no hat. Now it does.</think>{"answer": "yes"}',
    '<think>\nno... wait, there it is\n</think>\n\n```json\n{"answer": "yes"}\n```',
    'The dog had no hat before.</think>\n{"answer": "yes"}',
    '<|begin_of_box|>{"answer": "yes"}<|end_of_box|>',
    "<answer>yes</answer>",
    '<think>hm</think><answer>{"answer": "yes"}</answer>',
    '{"answer": "yes"}<|im_end|>',
    "yes",
    "Yes.",
    "YES",
    "yes!",
    "**Yes**",
    "**Yes.**",
    "`yes`",
    '"yes"',
    "Yes, the dog now wears a hat.",
    "Yes. The dog now wears a hat.",
    "Yes; a hat.",
    "Yes: the hat is there.",
    "Yes - the hat is there.",
    "Yes \u2014 the hat is there.",
    "Yes\n\nThe hat is there and nothing else changed.",
    "Yes, there are no artifacts.",
    "Yes. No artifacts are visible.",
    "Yes the dog now wears a hat.",
    "Yes it does",
    "Answer: yes",
    "Answer: **Yes**",
    "**Answer:** Yes",
    "The answer is yes.",
    "Final answer: yes",
    "My answer is: Yes.",
    "Answer:\nYes",
    "True",
    "The picture shows a dog with a hat.\n\nAnswer: yes",
    "The sky was blue. It is pink now. The answer is yes.",
    "Step 1: the dog had no hat.\nStep 2: it has one now.\n\nYes",
    "Let me compare.\n- before: blue\n- after: pink\n\n**Final answer: Yes**",
    "The change was made. \\boxed{yes}",
    "\\boxed{\\text{Yes}}",
]
NO = [
    '{"answer": "no"}',
    '{"answer": false}',
    '{"answer": False, "why": "nothing changed"}',
    '{"answer": "No, the dog is still there."}',
    '{"reason": "yes, I looked twice", "answer": "no"}',
    '{"answer": "no", "yes_confidence": 0.2}',
    'I compared the two pictures. {"answer": "no", "explanation": "The dog is unchanged."}',
    "no",
    "No.",
    "NO",
    "No, the dog is still there.",
    "No \u2013 the dog is still there.",
    "No. Nothing changed.",
    "No the hat is missing.",
    "No there is no hat.",
    "**No**, because the dog is still visible.",
    "The final answer is: No.",
    "False.",
    "Looking closely, the dog remains.\n\nNo.",
    "Answer: No, the color stayed the same.",
    "<thinking>yes? no.</thinking>\nno",
    "Therefore, the answer is no.",
]
NEITHER_YES_NOR_NO = [
    "",
    " ",
    "null",
    "None",
    "{}",
    "{",
    "}",
    '{"answer"',
    '{"answer": "y',
    '{"answer": }',
    '{"answer": null}',
    '{"answer": None}',
    '{"answer": ""}',
    '{"answer": "maybe"}',
    '{"answer": "unclear"}',
    '{"answer": "yes or no"}',
    '{"answer": "yes/no"}',
    '{"answer": 1}',
    '{"answer": ["yes"]}',
    '{"answer": {"value": "yes"}}',
    '{"answer": "yes", "answer": "no"}',
    '{"answer": "yes"} {"answer": "no"}',
    'For example {"answer": "yes"}, but here it is {"answer": "no"}',
    '{"answer": "yes", "result": "no"}',
    '{"is_unchanged": "yes"}',
    '{"question": "Is there a hat?"}',
    '["yes"]',
    "yes and no",
    "Yes and no.",
    "Yes, no.",
    "Yes/No",
    "yes or no",
    "Yes. Actually, no.",
    "Yes... wait, no.",
    "No, wait, yes.",
    "Yes. On a closer look, no.",
    "Yes. But my final answer is no.",
    "No. My final answer: yes.",
    "Answer: yes\nAnswer: no",
    "Answer: yes or no",
    "Maybe.",
    "Partially",
    "Partly yes.",
    "Not really.",
    "No problem, I will look at it.",
    "No hat",
    "Yesterday there was one.",
    "Nothing changed.",
    "Nope",
    "Yep",
    "I would say yes",
    "I think so.",
    "It depends.",
    "I cannot tell.",
    "It is impossible to say.",
    "The hat is there.",
    "\u662f",
    "Oui.",
    "<think>yes",
    "<think>The answer is yes.",
    "```json\n```",
    '```json\n{"answer": "yes"\n```',
    "\\boxed{yes} or \\boxed{no}",
    '{"type": "object", "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}}}',
    'Reply with one JSON object and nothing else: {"answer": "yes"} or {"answer": "no"}.',
    "yesyesyesyesyes",
    "\x00\x00",
    "!!!!!!!!!!!!!!!!",
    "<image><image>",
]
FOUR_OF_FIVE = [
    '{"answer": 4}',
    '{"answer": 4.0}',
    '{"answer": "4"}',
    '{"answer": "4/5"}',
    '{"answer": "4 out of 5"}',
    '{"rating": 4}',
    '{"Score": 4, "reason": "small halo"}',
    '{"answer": 4, "max": 5}',
    'I would give it: {"answer": 4}',
    '```json\n{"answer": 4,}\n```',
    "4",
    "4.",
    "4.0",
    "**4**",
    "4/5",
    "4 / 5",
    "4 out of 5",
    "4 (good)",
    "4, because of the halo",
    "4 - a small halo",
    "Rating: 4",
    "Score: 4/5",
    "Rating: **4**",
    "The rating is 4.",
    "My rating is: 4",
    "The edit is clean apart from a halo.\n\nRating: 4",
    "The edit scores well.\n4",
    "<think>5? 4.</think>4",
    "\\boxed{4}",
]
NO_STEP_OF_FIVE = [
    "0",
    "6",
    "-4",
    "4.5",
    "4/10",
    "8/10",
    "80%",
    "3-4",
    "4 or 5",
    "between 3 and 4",
    "four",
    "\u2605\u2605\u2605\u2605\u2606",
    '{"answer": 4.5}',
    '{"answer": 6}',
    '{"answer": "high"}',
    '{"answer": true}',
    '{"answer": null}',
    '{"answer": [4]}',
    '{"answer": 4, "rating": 2}',
    '{"answer": NaN}',
    '{"answer": Infinity}',
    '{"answer": 1e400}',
    '{"answer": "4/10"}',
    "Rating: 4\nRating: 2",
    "1. The hat is on the dog. 2. The sky is blue.",
    "I see 4 dogs.",
    "4 dogs are visible",
    "The picture has 3 hats, so I am not sure.",
    "N",
    '{"answer": N}',
    "good",
    "99999999999999999999",
]
FIRST = [
    '{"answer": "first"}',
    '{"answer": "First"}',
    '{"answer": "the first edit"}',
    '{"choice": "first"}',
    "first",
    "First.",
    "The first edit is better.",
    "The first edit is clearly better than the second.",
    "The first one.",
    "Answer: first",
]
TIE = ['{"answer": "tie"}', "Tie", "It's a tie.", "A tie"]
NO_CHOICE = [
    '{"answer": "both"}',
    '{"answer": "A"}',
    "first or second",
    "Neither.",
    "The first edit is worse.",
    "first, no, second",
    "Firstly, both are fine.",
    "Both",
    '{"answer": "first or second"}',
]
REFUSALS = [
    "I'm sorry, but I can't assist with that.",
    "I\u2019m sorry, but I can\u2019t help with identifying people.",
    "I cannot help with this picture.",
    "I am unable to view images.",
    "I'm unable to see the images you mention.",
    "I cannot see any image.",
    "I can't see any images. Please upload them.",
    "I do not see any image in your message.",
    "I don't see any pictures attached.",
    "I don't have the ability to view images.",
    "Sorry, I am not able to analyze images directly.",
    "As an AI language model, I cannot view images.",
    "As a text-based AI model, I do not have access to images.",
    "Unfortunately, I cannot provide a rating for this content.",
    "No image was provided.",
    "There is no image attached to this conversation.",
    "It looks like the images did not load.",
    "Please provide the two images so that I can compare them.",
    "I apologize, but I cannot evaluate this content.",
    "I must decline to judge this.",
    "I won't rate pictures of people.",
    "Sorry.",
    "This request violates our policy.",
]
NO_REFUSALS = [
    "I cannot see a difference.",
    "I don't see any image artifacts.",
    "The dog looks sorry.",
    "I am sorry to say that the hat is gone.",
    "There is no image of a hat on the shirt, although it was asked for.",
    "The picture of the dog is gone.",
    "Unfortunately, the hat covers the eyes.",
    "I can see the hat on the dog.",
    "The person cannot see the ball.",
    "No picture hangs on the wall any more.",
]


class Change(BaseModel):
    model_config = ConfigDict(extra="forbid")
    action: Literal["Add", "Remove", "Change Attribute"]
    source: str | None
    names: list[str] = []


CHANGES: list[tuple[str, Change]] = [
    ('{"action": "add", "source": null}', Change(action="Add", source=None)),
    ('{"action": "ADD", "source": "null"}', Change(action="Add", source=None)),
    ('{"action": "Add", "source": "None"}', Change(action="Add", source=None)),
    ('{"action": "Add", "source": None}', Change(action="Add", source=None)),
    ('{"action": "Remove", "source": "a hat", "explanation": "gone"}', Change(action="Remove", source="a hat")),
    ('{"Action": "change_attribute", "Source": "sky"}', Change(action="Change Attribute", source="sky")),
    (
        'It is {"action": "Add", "source": "N/A", "names": ["a", "None"]}',
        Change(action="Add", source=None, names=["a"]),
    ),
]
NO_CHANGES = [
    "null",
    "None",
    "[]",
    '{"action": "Paint", "source": null}',
    '{"action": "Add"}',
    '{"action": null, "source": "hat"}',
    '{"action": "Add", "source": 3}',
    "The action is Add.",
    '{"action": "Add", "source": null} {"action": "Remove", "source": "hat"}',
]

READ: list[tuple[Any, str, Any]] = [
    *((YesNo(), text, True) for text in YES),
    *((YesNo(), text, False) for text in NO),
    *((Scale(1, 5), text, 4) for text in FOUR_OF_FIVE),
    *((PairwiseAnswer(), text, "one") for text in FIRST),
    *((PairwiseAnswer(), text, "tie") for text in TIE),
    *((Structured(Change), text, change) for text, change in CHANGES),
]
UNREAD: list[tuple[Any, str]] = [
    *((YesNo(), text) for text in NEITHER_YES_NOR_NO),
    *((Scale(1, 5), text) for text in NO_STEP_OF_FIVE),
    *((PairwiseAnswer(), text) for text in NO_CHOICE),
    *((Structured(Change), text) for text in NO_CHANGES),
    *((form, text) for form in (YesNo(), Scale(1, 5), PairwiseAnswer(), Structured(Change)) for text in REFUSALS),
]


@pytest.mark.parametrize(("form", "text", "value"), READ)
def test_it_is_read_as_it_is_meant(form: Any, text: str, value: Any) -> None:
    assert form.read(text) == value
    assert not is_refusal(text)


@pytest.mark.parametrize(("form", "text"), UNREAD)
def test_it_is_not_read_as_anything(form: Any, text: str) -> None:
    with pytest.raises(UnparsableReplyError, match=r"expected .+, got"):
        form.read(text)


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals_are_recognized(text: str) -> None:
    assert is_refusal(text)
    with pytest.raises(UnparsableReplyError):
        FreeText().read(text)


@pytest.mark.parametrize("text", NO_REFUSALS)
def test_what_only_sounds_like_a_refusal_is_none(text: str) -> None:
    assert not is_refusal(text)
    assert FreeText().read(text) == text


def test_the_corpus_is_large() -> None:
    distinct = {text for _, text, _ in READ} | {text for _, text in UNREAD} | {*REFUSALS, *NO_REFUSALS}
    assert len(distinct) >= 250


@pytest.mark.parametrize(
    "text",
    [
        '{"score": [1, 1], "a": 5, "b": 5}',
        '{"a": 1, "A Score": 5, "b": 3}',
        '{"scores": {"a": 1, "b": 2}, "a": 4, "b": 2}',
        'Example output: {"a": 1, "b": 1}\na: 4\nb: 5',
        'I am sorry, but I cannot judge this image. {"a": 3, "b": 3}',
    ],
)
def test_contradictory_ratings_are_unparsable(text: str) -> None:
    with pytest.raises(UnparsableReplyError):
        Ratings((("a", ()), ("b", ())), 1, 5).read(text)


def test_equal_ratings_given_twice_are_accepted() -> None:
    assert Ratings((("a", ()), ("b", ())), 1, 5).read('{"score": [4, 5], "a": 4, "b": 5}') == {"a": 4, "b": 5}


@pytest.mark.parametrize("text", ["2. No wait, 4.", "4 - actually, I mean 3.", "Rating: 5. On second thought, 2."])
def test_a_retracted_number_is_unparsable(text: str) -> None:
    with pytest.raises(UnparsableReplyError):
        Scale(1, 5).read(text)


@pytest.mark.parametrize(
    "text",
    ['{"Answer": "yes", "answer": "no"}', "No. I cannot view images.", 'I cannot see the images. {"answer": "no"}'],
)
def test_a_contradicted_word_is_unparsable(text: str) -> None:
    with pytest.raises(UnparsableReplyError):
        YesNo().read(text)


@pytest.mark.parametrize(
    "text",
    [
        "抱歉，我无法查看图片。",
        "Lo siento, no puedo ayudar con eso.",
        "Je suis désolé, mais je ne peux pas répondre.",
        "Es tut mir leid, aber ich kann das nicht beurteilen.",
        "Desculpe, não posso ajudar com isso.",
        "Извините, я не могу помочь с этим.",
        "申し訳ありませんが、お答えできません。",
        "죄송하지만 도와드릴 수 없습니다.",
        "عذرا، لا يمكنني المساعدة في ذلك.",
        "क्षमा करें, मैं इसमें मदद नहीं कर सकता।",
        "Mi dispiace, non posso aiutare.",
    ],
)
def test_refusals_in_other_languages_are_recognized(text: str) -> None:
    assert is_refusal(text)


LIMIT = 60
"""Seconds of CPU time for all readers and all answers; they need about five on a slow machine."""
PROGRAM = """
import contextlib, resource, sys
from pydantic import BaseModel
from editgauge._util.endpoints import retry_after
from editgauge.judges._questions import FreeText, PairwiseAnswer, Scale, Structured, YesNo
from editgauge.judges._parsing import is_refusal, parse_object, strip_reasoning
from editgauge.judges._endpoint import is_content_filter, same_model
from editgauge.protocols.difference._triplets import first_change, read_triplets

class Said(BaseModel):
    a: str | None
    b: list[str]

resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1]) + 1))
LENGTH = 100_000
FORMS = [YesNo(), Scale(1, 5), PairwiseAnswer(), Structured(Said), FreeText()]
READERS = [form.read for form in FORMS] + [
    is_refusal, parse_object, strip_reasoning, retry_after, is_content_filter, read_triplets, first_change,
    lambda text: same_model("gpt-4o", text),
]
UNITS = [
    "As an AI language model, ", "I am sorry, but ", "sorry ", "unfortunately, ", "I cannot see any image ", "the ",
    "<think>", "</think>", "<think>a</think>", "<answer>", "<|im_end|>", "<|", "```json\\n", "```", "\\n```\\n{",
    "{", "}", "{}", "[", '{"a":', '{"a":1},', "{'", '"', "'", "\\\\", '\\\\"', "/*", "//", "#", ",", "true,", "-", " ",
    "the final answer ", "answer: ", "answer is ", "yes ", "yes, ", "no, ", "yes\\n", "1", "1.", "1 ", "1/", "1 of ",
    "a ", "\\n",
    "\\t", "\\\\boxed{", "\\\\boxed{yes}", "**", "first ", "the first edit is ", "rating: 4\\n", "\\x00", "\\u2028",
    "and the cat was replaced by ", "was added and ", "is now ", "changed from a to ", "image 1 shows a dog. ",
]
read = 0
for unit in UNITS:
    for before, after in (("", ""), ('{"answer": "', '"}')):
        text = (before + unit * (LENGTH // len(unit)))[: LENGTH - len(after)] + after
        for reader in READERS:
            for part in (text, text[:40_000]):  # the readers do not look at the longer one, the shorter is read
                with contextlib.suppress(ValueError):
                    reader(part)
                read += 1
print(read)
"""


@pytest.mark.slow
def test_reading_takes_linear_time_whatever_the_answer() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(LIMIT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"more than {LIMIT} s of CPU time, or an error:\n{done.stderr[-2000:]}"
    assert int(done.stdout) > 3000
