"""AugCLIP through a small CLIP that is saved and loaded as a large one would be, and through vectors that are told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from editgauge._util.images import ImageFile, Pixels
from editgauge.benchmarks.attributes import EXTRA, of_edit
from editgauge.engine._judges import read_judge_config
from editgauge.engine._perception import RunPerception
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import Note, Scatter, from_json, to_json
from editgauge.metrics.embeddings import cosine_similarity, unit_vectors
from editgauge.options import JudgeOptions
from editgauge.protocols.augclip import AugClip, augclip, augclip_as_in_the_appendix, augclip_by_sums
from editgauge.protocols.augclip import _attributes as rules
from editgauge.protocols.augclip._attributes import AttributeRequest
from editgauge.types import Edit, Item, Outcome, Score
from tests.endpoint import MODEL, Served

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

WORDS = ("a", "red", "blue", "cat", "dog", "cup", "hat", "grass", "on", "with", "small", "black")
ATTRIBUTES = {
    "source": ["red cat", "cat on grass", "small cat", "a red cup", "red hat"],
    "target": ["blue cat", "blue dog", "cat with a blue hat", "blue cup"],
}


def small_clip(folder: Path) -> Path:
    layer = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
    names = ("!", *WORDS, "<unk>", "<|startoftext|>", "<|endoftext|>")
    first, last = len(names) - 2, len(names) - 1
    text = {**layer, "vocab_size": len(names), "max_position_embeddings": 20}
    text |= {"pad_token_id": 0, "bos_token_id": first, "eos_token_id": last}
    vision = {**layer, "image_size": 32, "patch_size": 8}
    torch.manual_seed(1)
    made = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=24))
    random = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for values in made.parameters():
            if values.ndim > 1:  # as initialized, small networks hardly tell one picture from another
                values.normal_(0, 0.4 / values[0].numel() ** 0.25, generator=random)
    made.eval().save_pretrained(folder)
    square = {"height": 32, "width": 32}
    transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=square).save_pretrained(folder)
    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(names)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="<|startoftext|> $A <|endoftext|>",
        special_tokens=[("<|startoftext|>", first), ("<|endoftext|>", last)],
    )
    special = {"pad_token": "!", "unk_token": "<unk>", "bos_token": names[first], "eos_token": names[last]}
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=20, **special).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return f"clip:{small_clip(tmp_path_factory.mktemp('clip'))}"


def picture(seed: int) -> Pixels:
    random = np.random.default_rng(seed)
    return np.asarray(np.kron(random.integers(0, 256, (4, 4, 3)), np.ones((10, 10, 1))), dtype=np.uint8)


def item(seed: int = 1, attributes: Any = ATTRIBUTES, **fields: Any) -> Item:
    edit: dict[str, Any] = {"type": "color", "instruction": "make the cat blue", **fields}
    extras = {} if attributes is None else {EXTRA: attributes}
    return Item(
        edit=Edit(id="e", source=ImageFile("p", Path("/p")), extras=extras, **edit),
        outcome=Outcome(edit_id="e", method="m", image=Path("/o")),
        source=picture(0),
        edited=picture(seed),
    )


def scored(protocol: AugClip, one: Item, clip: str) -> Score:
    async def ask() -> Any:
        async with RunPerception({"joint_embedder": clip}) as perception:
            return (await protocol.score(one, perception))["augclip"]

    result = asyncio.run(ask())
    assert isinstance(result, Score)
    return result


def notes(score: Score) -> str:
    return " ".join(piece.text for piece in score.evidence if isinstance(piece, Note))


class Told:
    """A joint embedder for tests only, which gives the vectors it was told."""

    def __init__(self, source: Sequence[float], edited: Sequence[float], texts: Mapping[str, Sequence[float]]) -> None:
        self._pictures = [np.asarray(source), np.asarray(edited)]
        self._texts = texts

    async def joint_image(self, image: Pixels) -> NDArray[np.float64]:
        return unit_vectors(self._pictures[not np.array_equal(image, picture(0))])

    async def joint_text(self, text: str) -> NDArray[np.float64]:
        return unit_vectors(np.asarray(self._texts[text]))


def told(protocol: AugClip, perception: Told, attributes: Any) -> tuple[Score, NDArray[np.float64]]:
    one, sight = item(attributes=attributes), perception
    result = asyncio.run(protocol.score(one, sight))["augclip"]  # type: ignore[arg-type]
    (part,) = asyncio.run(protocol.part(one, sight))  # type: ignore[arg-type]
    assert isinstance(result, Score)
    return result, part


TEXTS = {"s1": (1, 0, 0), "s2": (1, 0.1, 0), "t1": (0, 1, 0), "t2": (0.1, 1, 0)}
TWO_EACH = {"source": ["s1", "s2"], "target": ["t1", "t2"]}


def test_an_outcome_on_the_hyperplane_is_ideal_and_an_untouched_one_is_not() -> None:
    """The two sets mirror each other in x = y, which so is the hyperplane: from (1, 0, 1) the ideal is (½, ½, 1)."""
    ideal, part = told(augclip.variant({"c": "1000"}), Told((1, 0, 1), (0.5, 0.5, 1), TEXTS), TWO_EACH)
    assert ideal.value == pytest.approx(1.0)
    assert part.tolist() == [0.0, 0.0]
    untouched, _ = told(augclip.variant({"c": "1000"}), Told((1, 0, 1), (1, 0, 1), TEXTS), TWO_EACH)
    assert untouched.value == pytest.approx(cosine_similarity(np.array([1, 0, 1]), np.array([0.5, 0.5, 1])))


def test_a_source_on_the_target_side_is_compared_as_it_is_and_it_is_said() -> None:
    perception = Told((0, 1, 1), (1, 0, 1), TEXTS)
    result, part = told(augclip, perception, TWO_EACH)
    assert result.value == pytest.approx(0.5)
    assert "v = 0" in notes(result)
    assert part.tolist() == [0.0, 1.0]
    assert "should change most" not in notes(result)


def test_the_appendix_has_no_clamp_and_fits_every_outcome_anew() -> None:
    back, part = told(augclip_as_in_the_appendix, Told((0, 1, 1), (1, 0, 1), TEXTS), TWO_EACH)
    assert "move it back" in notes(back)
    assert part[1] == 1.0
    first, _ = told(augclip_as_in_the_appendix, Told((1, 0, 1), (0.2, 1, 1), TEXTS), TWO_EACH)
    second, _ = told(augclip_as_in_the_appendix, Told((1, 0, 1), (0.2, -1, 1), TEXTS), TWO_EACH)
    lines = [[p for piece in s.evidence if isinstance(piece, Scatter) for p in piece.points] for s in (first, second)]
    assert lines[0][-1] != lines[1][-1]  # the ideal edit itself depends on the outcome
    plain = [told(augclip, Told((1, 0, 1), edited, TEXTS), TWO_EACH)[0] for edited in ((0.2, 1, 1), (0.2, -1, 1))]
    ideals = [[p for piece in s.evidence if isinstance(piece, Scatter) for p in piece.points][-1] for s in plain]
    assert ideals[0] == ideals[1]


def test_how_often_v_was_zero_is_a_score_of_the_set() -> None:
    sets = augclip.score_set([(np.array([0.0, 1.0]),), (np.array([0.5, 0.0]),)])
    assert {name: score.value for name, score in sets.items() if isinstance(score, Score)} == {
        "misclassified": 0.25,
        "already_there": 0.5,
    }
    assert {getattr(entry, "reason", None) for entry in augclip.score_set([]).values()} == {"not_applicable"}


def test_what_should_change_and_what_should_stay_is_ranked() -> None:
    texts = TEXTS | {"stays": (0.3, 0.3, 1.0), "s1": (1, 0, 0)}
    result, _ = told(
        augclip.variant({"c": "1000"}),
        Told((1, 0, 1), (0.5, 0.5, 1), texts),
        {"source": ["stays", "s1", "s2"], "target": ["t1", "t2"]},
    )
    source = notes(result).split(";")[0]
    assert source.startswith("augclip[c=1000]: Of the source, what should change most: s1 (-")
    assert "what should stay: stays" in notes(result)


@pytest.mark.parametrize("protocol", [augclip, augclip_by_sums, augclip_as_in_the_appendix])
def test_a_small_clip_scores_the_same_whatever_the_order_of_attributes(protocol: AugClip, clip: str) -> None:
    first = scored(protocol, item(), clip)
    turned = {side: phrases[::-1] for side, phrases in ATTRIBUTES.items()}
    second = scored(protocol, item(attributes=turned), clip)
    assert first.value == pytest.approx(second.value, abs=1e-6)  # phrases are embedded in other batches
    assert -1 <= first.value <= 1
    assert first.value != scored(protocol, item(seed=2), clip).value


@pytest.mark.parametrize(
    "options",
    [{"unweighted": ""}, {"lda": ""}, {"logistic": ""}, {"short": ""}, {"number": "10"}, {"c": "100"}, {"rules": ""}],
)
def test_every_variant_scores_under_its_own_name(options: dict[str, str], clip: str) -> None:
    variant = augclip.variant(options)
    assert variant.name == "augclip[{}]".format(",".join(f"{k}={v}" if v else k for k, v in options.items()))
    one = item(subject="cat", from_="red", to="blue", source_caption="a red cat", target_caption="a blue cat")
    assert -1 <= scored(variant, one, clip).value <= 1


def test_variants_differ_where_they_should(clip: str) -> None:
    captions: dict[str, Any] = {"source_caption": "a red cat", "target_caption": "a blue cat"}
    names: tuple[dict[str, str], ...] = (
        {},
        {"unweighted": ""},
        {"naive": ""},
        {"lda": ""},
        {"logistic": ""},
        {"c": "100"},
    )
    appendix = augclip_as_in_the_appendix  # where v is never 0, which would hide a difference
    values = [scored(appendix.variant(entry), item(**captions), clip).value for entry in names]
    assert len(set(values)) == len(values)


def test_evidence_survives_storing(clip: str) -> None:
    result = scored(augclip, item(), clip)
    scatter, _ = [piece for piece in result.evidence if isinstance(piece, Scatter)]
    assert [point.group for point in scatter.points].count("source attributes") == 5
    assert [point.name for point in scatter.points[-3:]] == ["source image", "edited image", "ideal edit"]
    again = from_json(json.loads(json.dumps(to_json(scatter))))
    assert to_json(again) == to_json(scatter)
    assert isinstance(again, Scatter)
    ideal = again.points[-1]
    assert ideal.x == 0.0 or "v = 0" in notes(result)  # the hyperplane is the line x = 0
    assert scatter.line is not None
    assert scatter.line[0] == scatter.line[2] == 0.0


def test_a_single_attribute_on_either_side_is_scored_and_drawn_on_a_level_line() -> None:
    result, _ = told(augclip, Told((1, 0, 1), (0.5, 0.5, 1), TEXTS), {"source": ["s1"], "target": ["t1"]})
    scatter, _ = [piece for piece in result.evidence if isinstance(piece, Scatter)]
    assert {point.y for point in scatter.points} == {0.0}
    assert "a whole set: all weigh the same" in notes(result)


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        (None, "editgauge build attributes"),
        ({"source": ["a"], "target": []}, "'target' is empty"),
        ({"source": ["a"]}, "'target' is missing"),
        ({"source": "red cat", "target": ["b", 3]}, "'source' must be a list"),
        ({"source": ["same", "same"], "target": ["same", "same"]}, "no hyperplane parts"),
    ],
)
def test_without_usable_attributes_nothing_is_scored_and_it_says_what_to_do(
    attributes: Any, why: str, clip: str
) -> None:
    with pytest.raises(UnscorableError, match=why) as unable:
        scored(augclip, item(attributes=attributes), clip)
    assert unable.value.reason == "not_applicable"


def test_naive_weights_need_two_captions(clip: str) -> None:
    with pytest.raises(UnscorableError, match="a source caption"):
        scored(augclip.variant({"naive": ""}), item(), clip)
    same: dict[str, Any] = {"source_caption": "a cat", "target_caption": "a cat"}
    with pytest.raises(UnscorableError, match="both captions are the same"):
        scored(augclip.variant({"naive": ""}), item(**same), clip)


def test_long_attributes_may_be_lacking(clip: str) -> None:
    with pytest.raises(UnscorableError, match="no source attribute is long"):
        scored(augclip.variant({"long": ""}), item(), clip)


def test_a_free_number_and_length_take_everything() -> None:
    phrases = ("one two three four five", "a", "one two three four five six")
    assert AttributeRequest().of(phrases) == phrases
    assert AttributeRequest("short").of(phrases) == ("a",)
    assert AttributeRequest("long").of(phrases) == phrases[2:]
    assert AttributeRequest(number=10).of(tuple(map(str, range(30)))) == tuple(map(str, range(10)))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"unweighted": "", "naive": ""}, "exclude each other"),
        ({"lda": "", "logistic": ""}, "exclude each other"),
        ({"lda": "", "c": "2"}, "exclude each other"),
        ({"short": "", "long": ""}, "exclude each other"),
        ({"rules": "", "judge": "x"}, "exclude each other"),
        ({"number": "12"}, "one of 10, 20, 30"),
        ({"number": ""}, "one of 10, 20, 30"),
        ({"c": "-1"}, "a number over 0"),
        ({"c": "nan"}, "a number over 0"),
        ({"lda": "yes"}, "takes no value"),
        ({"svm": ""}, "no option 'svm'"),
    ],
)
def test_an_odd_option_is_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(BadInputError, match=problem):
        augclip.variant(options)


def test_a_judge_gives_its_name_to_the_protocol() -> None:
    asking = augclip.variant({"judge": "", "number": "10"})
    assert asking.needs == ("joint_embedder", "judge")
    assert asking.with_models({"joint_embedder": "x", "judge": "gpt-4o"}).name == "augclip[judge=gpt-4o,number=10]"
    assert asking.with_models({"joint_embedder": "x"}).name == "augclip[judge,number=10]"
    assert augclip.with_models({"judge": "gpt-4o"}).name == "augclip"
    assert augclip.variant({"judge": "mine"}).with_models({"judge": "other"}).name == "augclip[judge=mine]"


def answers(text: str, _seen: int) -> str:
    if "Description:" not in text:
        return "A red cat sits on grass. It is small."
    if "Request:" in text:
        assert "make the cat blue" in text
        return json.dumps({"attributes": ["blue cat", "cat with a blue hat"]})
    return json.dumps({"attributes": ["red cat", "cat on grass", "small cat"]})


def test_a_judge_is_asked_for_a_caption_first_and_then_for_both_lists(
    served: Served, clip: str, tmp_path: Path
) -> None:
    served.plan = answers
    jury = read_judge_config(JudgeOptions(judge=f"openai:{MODEL}@{served.url}"))
    asking = augclip.variant({"judge": MODEL})

    async def ask() -> Any:
        async with RunPerception({"joint_embedder": clip}, None, jury, tmp_path / "transcripts") as perception:
            return (await asking.score(item(attributes=None), perception))["augclip"]

    first = asyncio.run(ask())
    assert isinstance(first, Score)
    assert len(served.requests) == 3
    caption, *lists = [request["messages"][0]["content"] for request in served.requests]
    assert any(part["type"] == "image_url" for part in caption)
    assert all("A red cat sits on grass." in str(entry) for entry in lists)
    assert asyncio.run(ask()).value == first.value
    assert len(served.requests) == 3  # the transcripts remember
    by_hand = {"source": ["red cat", "cat on grass", "small cat"], "target": ["blue cat", "cat with a blue hat"]}
    assert scored(augclip, item(attributes=by_hand), clip).value == pytest.approx(first.value)


def test_a_judge_that_answers_nonsense_leaves_the_edit_unscored(served: Served, clip: str) -> None:
    served.plan = lambda text, seen: "A red cat." if "Description:" not in text else '{"attributes": "red"}'
    jury = read_judge_config(JudgeOptions(judge=f"openai:{MODEL}@{served.url}"))

    async def ask() -> Any:
        async with RunPerception({"joint_embedder": clip}, None, jury) as perception:
            return await augclip.variant({"judge": MODEL}).score(item(attributes=None), perception)

    with pytest.raises(UnscorableError) as unable:
        asyncio.run(ask())
    assert unable.value.reason == "unparsable"


def edit(**fields: Any) -> Edit:
    return replace(item(attributes=None).edit, **fields)


@pytest.mark.parametrize(
    ("fields", "source", "target"),
    [
        (
            {
                "instruction": "turn the horse into a zebra",
                "source_caption": "a brown horse in a field",
                "target_caption": "a zebra in a field",
            },
            {"brown horse", "brown horse in field", "field", "horse"},
            {"zebra", "zebra in field"},
        ),
        (
            {"instruction": "", "type": "color", "subject": "car", "from_": "red", "to": "green"},
            {"red car", "car"},
            {"green car"},
        ),
        (
            {"instruction": "replace the dog with a sheep", "type": "unspecified"},
            {"dog"},
            {"sheep"},
        ),
        (
            {"instruction": "", "type": "object_removal", "subject": "dog"},
            {"scene", "scene with dog", "dog"},
            {"scene without dog"},
        ),
        (
            {"source_caption": "A photo of two people, and a kite above them.", "instruction": "make it night"},
            {"two people", "kite", "kite above them"},
            {"make it night"},
        ),
    ],
)
def test_rules_take_attributes_from_the_words_of_an_edit(
    fields: dict[str, Any], source: set[str], target: set[str]
) -> None:
    result = rules.extract(edit(**fields))
    assert set(result.source) == source
    assert set(result.target) == target
    assert result.by == "rules.v1"
    assert rules.extract(edit(**fields)) == result


def test_rules_that_find_nothing_say_so() -> None:
    with pytest.raises(UnscorableError, match="no source attribute"):
        rules.extract(edit(type="unspecified", instruction="brighten up"))


def test_an_edits_own_attributes_are_cleaned_of_blanks() -> None:
    told_so = edit(extras={EXTRA: {"source": [" red  cat "], "target": ("blue cat",), "by": "me"}})
    assert of_edit(told_so).source == ("red cat",)
    assert of_edit(told_so).by == "me"
