"""A local model is asked rightly: a tiny LLaVA with random weights, whose answers mean nothing."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from editgauge._util.images import ImageFile, Pixels
from editgauge.errors import BadInputError
from editgauge.judges import (
    FAULTS,
    Answer,
    JudgeService,
    LabeledImage,
    NoAnswerError,
    Parameters,
    Question,
    ask_scale,
    ask_text,
    ask_yes_no,
    open_judge,
)
from editgauge.judges._local import HEADS, REWARD_MARKER, LocalModel, RewardModel
from editgauge.judges._questions import FreeText
from editgauge.judges._transcripts import read_transcripts
from editgauge.judges.prompts import RenderedPrompt
from editgauge.protocols import open_protocol
from editgauge.types import Edit, Item, Outcome, Score, Scores
from tests.endpoint import MODEL, Served

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")

WORDS = ("<pad>", "<unk>", "<s>", "</s>", "<image>", "user", ":", "yes", "no", "cat", "?", "ASSISTANT", "Which", "It:")
LAYER = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
TEMPLATE = (
    "{% for m in messages %}{{ m.role }} : {% for c in m.content %}"
    "{% if c.type == 'image' %} <image> {% else %} {{ c.text }} {% endif %}{% endfor %}{% endfor %} ASSISTANT :"
)


def save_tiny(folder: Path, seed: int = 0, template: str | None = TEMPLATE) -> Path:
    torch.manual_seed(seed)
    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    extra = {"image_token": "<image>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, extra_special_tokens=extra, **marks)
    eyes = transformers.CLIPVisionConfig(**LAYER, image_size=32, patch_size=8, projection_dim=16)
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    mind = transformers.LlamaConfig(**LAYER, **ids, vocab_size=len(WORDS), num_key_value_heads=2)
    config = transformers.LlavaConfig(vision_config=eyes, text_config=mind, image_token_index=4, image_seq_length=16)
    network = transformers.LlavaForConditionalGeneration(config)
    with torch.no_grad():
        for values in network.parameters():
            values.normal_(
                0, 0.5 if values.ndim < 4 else 5.0
            )  # as initialized, it would hardly tell one picture from another
    network.eval().save_pretrained(folder)
    side = {"height": 32, "width": 32}
    pixels = transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=side)
    patches = {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    transformers.LlavaProcessor(pixels, tokenizer, chat_template=template, **patches).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny-llava")


@pytest.fixture(autouse=True)
def offline(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "served" in request.fixturenames:
        return

    def refused(*_: object) -> None:
        raise OSError("no test of a model may use the network")

    monkeypatch.setattr(socket.socket, "connect", refused)


def test_it_says_what_the_library_says(tiny: Path, ask: Any, picture: Callable[[int], Pixels], tmp_path: Path) -> None:
    parameters = Parameters(max_tokens=8)
    question = ask_text("Which cat ?", LabeledImage("It:", picture(3)))
    judge = open_judge(f"transformers:{tiny}", parameters=parameters, transcripts=tmp_path)
    [answer] = ask(judge, question)
    library = transformers.LlavaForConditionalGeneration.from_pretrained(tiny).eval()
    processor = transformers.AutoProcessor.from_pretrained(tiny, backend="pil")
    written = f"user :  It:  <image>  {question.words.text}  ASSISTANT :"
    inputs = processor(text=written, images=picture(3), return_tensors="pt")
    with torch.inference_mode():
        expected = library.generate(**inputs, max_new_tokens=8, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    [call] = judge.transcripts
    said: Any = call.body
    assert said["choices"][0]["message"]["content"] == processor.decode(expected, skip_special_tokens=True)
    assert said["usage"] == {"prompt_tokens": inputs["input_ids"].shape[1], "completion_tokens": len(expected)}
    assert said["choices"][0]["finish_reason"] == ("stop" if expected[-1] == 3 else "length")
    replayed = ask(
        open_judge(f"transformers:{tiny}", parameters=parameters, transcripts=tmp_path, replay=True), question
    )
    assert str(replayed[0]) == str(answer)


def test_pictures_and_seeds_matter_and_repeat(tiny: Path, picture: Callable[[int], Pixels]) -> None:
    model = LocalModel(str(tiny))

    def say(seed: int, image: int, temperature: float) -> Any:
        question = ask_yes_no("cat ?", LabeledImage("It:", picture(image) // 2 + np.uint8(16 * image)))
        parameters = Parameters(max_tokens=12, temperature=temperature, seed=seed)
        return model._generate(question, parameters, 60.0)["choices"][0]["message"]["content"]

    assert say(0, 1, 0.0) == say(1, 1, 0.0)
    assert say(5, 1, 2.0) == say(5, 1, 2.0)
    assert any(say(seed, 0, 2.0) != say(seed, 7, 2.0) for seed in range(20))
    assert len({say(seed, 1, 2.0) for seed in range(8)}) > 1


def test_a_model_is_known_by_its_weights(tiny: Path, tmp_path: Path) -> None:
    other = save_tiny(tmp_path / "tiny-llava", seed=1)
    names = [LocalModel(str(folder)).model for folder in (tiny, other)]
    assert all(name.startswith("tiny-llava@") for name in names)
    assert len(set(names)) == 2


def test_what_cannot_be_loaded_is_explained(tiny: Path, tmp_path: Path, ask: Any) -> None:
    with pytest.raises(BadInputError, match="No model at 'nobody/nothing'"):
        _ = LocalModel("nobody/nothing").model
    question = ask_yes_no("cat ?", LabeledImage("It:", np.zeros((8, 8, 3), np.uint8)))
    mute = save_tiny(tmp_path / "mute", template=None)
    with pytest.raises(BadInputError, match="no chat template"):
        ask(open_judge(f"transformers:{mute}"), question)
    damaged = save_tiny(tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(BadInputError, match=r"cannot be loaded: .* Is the folder complete"):
        ask(open_judge(f"transformers:{damaged}"), question)


MARKS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
REWARD_WORDS = (*MARKS, "<unk>", "user", "assistant", "picture", "request", "yes", "no", "7", "4")
REWARD_TEMPLATE = (
    "{% for m in messages %}<|im_start|> {{ m.role }} {% for c in m.content %}{% if c.type == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %} {{ c.text }} {% endif %}{% endfor %}<|im_end|>{% endfor %}"
    " <|im_start|> assistant"
)
HIDDEN = 32


def save_reward_model(folder: Path, *, marked: bool = False) -> Path:
    """A Qwen2.5-VL of two layers with weights drawn at random, and a vocabulary of a few words."""
    torch.manual_seed(4)
    words = (*REWARD_WORDS, *((REWARD_MARKER,) if marked else ()))
    pieces = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    pieces.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [*MARKS[1:], *((REWARD_MARKER,) if marked else ())]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        unk_token="<unk>",
        pad_token=MARKS[0],
        eos_token="<|im_end|>",
        extra_special_tokens=special,
    )
    ids = {name: words.index(token) for name, token in (
        ("image_token_id", "<|image_pad|>"), ("video_token_id", "<|video_pad|>"),
        ("vision_start_token_id", "<|vision_start|>"), ("vision_end_token_id", "<|vision_end|>"))}  # fmt: skip
    text = {
        "vocab_size": len(words), "hidden_size": HIDDEN, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 4096,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 3, 3]},
    }  # fmt: skip
    vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "out_hidden_size": HIDDEN,
              "fullatt_block_indexes": [1], "window_size": 112}  # fmt: skip
    config = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=vision, **ids)
    transformers.Qwen2_5_VLForConditionalGeneration(config).eval().save_pretrained(folder)
    pixels = transformers.Qwen2VLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 64 * 28 * 28})
    pixels.save_pretrained(folder)
    tokenizer.chat_template = REWARD_TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


def add_heads(folder: Path, names: tuple[str, ...]) -> Path:
    """Heads of two layers beside the other weights, under the names that EditReward gives them."""
    from safetensors.torch import load_file, save_file

    torch.manual_seed(9)
    file = folder / "model.safetensors"
    weights = load_file(file)
    for name in names:
        weights |= {f"{name}0.weight": torch.randn(8, HIDDEN), f"{name}0.bias": torch.randn(8)}
        weights |= {f"{name}3.weight": torch.randn(2, 8)}
    save_file(weights, file, metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def quiet() -> None:
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()


@pytest.fixture(scope="module")
def writing(tmp_path_factory: pytest.TempPathFactory, quiet: None) -> Path:
    return save_reward_model(tmp_path_factory.mktemp("models") / "writing")


@pytest.fixture(scope="module")
def rewarding(tmp_path_factory: pytest.TempPathFactory, quiet: None) -> Path:
    folder = save_reward_model(tmp_path_factory.mktemp("models") / "rewarding", marked=True)
    return add_heads(folder, ("rm_heads.head_0.", "rm_heads.head_1."))


def scored(address: str, protocol: str, source: Pixels, edited: Pixels, transcripts: Path | None = None) -> Scores:
    edit = Edit(id="e", source=ImageFile("p", Path("/p")), type="color", instruction="request no")
    item = Item(
        edit=edit, outcome=Outcome(edit_id="e", method="m", image=Path("/o")), source=source, edited=edited
    )  # fmt: skip

    async def score() -> Scores:
        async with open_judge(address, transcripts=transcripts, parameters=Parameters(max_tokens=8)) as judge:
            see: Any = JudgeService({"r": judge})
            return await open_protocol(f"{protocol}[r]").score(item, see)

    return asyncio.run(score())


def test_the_number_is_what_the_head_reads_off_the_network(
    rewarding: Path, picture: Callable[[int], Pixels], tmp_path: Path
) -> None:
    scores = scored(f"reward:{rewarding}", "rubric:editreward", picture(1), picture(2), tmp_path)
    numbers = {name: each.value for name, each in scores.items() if isinstance(each, Score)}
    assert set(numbers) == {"following", "quality", "reward", "reward_lower"}
    assert numbers["reward"] == pytest.approx((numbers["following"] + numbers["quality"]) / 2)
    assert numbers["following"] != numbers["quality"]  # each has a question and a head of its own
    model = RewardModel(str(rewarding))
    weights = import_module("safetensors.torch").load_file(rewarding / "model.safetensors")
    state = torch.randn(HIDDEN)
    for place, name in enumerate(HEADS):
        head = f"rm_heads.head_{place}."
        hidden = weights[f"{head}0.weight"] @ state + weights[f"{head}0.bias"]
        expected = weights[f"{head}3.weight"] @ torch.relu(hidden)
        through = import_module("editgauge.judges._local")._apply_head(model._head_for(name), state)
        assert torch.allclose(through, expected, atol=1e-5)
    replayed = scored(f"reward:{rewarding}", "rubric:editreward", picture(1), picture(2), tmp_path)
    assert replayed == scores


def test_another_outcome_gets_another_reward(rewarding: Path, picture: Callable[[int], Pixels]) -> None:
    one, other = (scored(f"reward:{rewarding}", "rubric:editreward", picture(1), picture(n))["reward"] for n in (2, 3))
    assert isinstance(one, Score)
    assert isinstance(other, Score)
    assert one.value != other.value


def test_a_head_answers_numbers_and_nothing_else(rewarding: Path, ask: Any, picture: Callable[[int], Pixels]) -> None:
    [refused] = ask(open_judge(f"reward:{rewarding}"), ask_yes_no("yes ?", LabeledImage("picture", picture(1))))
    assert isinstance(refused, NoAnswerError)
    assert refused.fault == "rejected"
    assert "rubric:editreward" in refused.detail


def test_one_that_writes_its_numbers_is_asked_like_any_other_model(
    writing: Path, ask: Any, picture: Callable[[int], Pixels]
) -> None:
    question = ask_text("request", LabeledImage("picture", picture(3)))
    short = Parameters(max_tokens=4)
    answers = []
    for kind in ("reward", "transformers"):
        [answer] = ask(open_judge(f"{kind}:{writing}", parameters=short), question)
        answers.append(answer.detail if isinstance(answer, NoAnswerError) else answer.value)
    assert answers[0] == answers[1]
    assert RewardModel(str(writing))._heads == {}


def test_an_adapter_is_added_to_the_model_that_it_names(
    writing: Path, tmp_path: Path, picture: Callable[[int], Pixels]
) -> None:
    peft = import_module("peft")
    base = transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(writing)
    settings = peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    torch.manual_seed(1)
    network = peft.get_peft_model(base, settings)
    network.peft_config["default"].base_model_name_or_path = str(writing)
    network.save_pretrained(tmp_path / "adapter")
    plain, adapted = LocalModel(str(writing)), LocalModel(str(tmp_path / "adapter"))
    assert plain.model != adapted.model
    names = dict(plain._network.named_parameters())
    changed = [name for name, each in adapted._network.named_parameters() if not torch.equal(each, names[name])]
    assert changed
    assert all("q_proj" in name or "v_proj" in name for name in changed)
    (tmp_path / "adapter" / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    with pytest.raises(BadInputError, match="does not name the base model"):
        LocalModel(str(tmp_path / "adapter"))._base  # noqa: B018


def pixels_of(url: str) -> Pixels:
    encoded = np.frombuffer(base64.b64decode(url.partition(",")[2]), np.uint8)
    decoded = cv2.imdecode(encoded, cv2.IMREAD_COLOR)
    assert decoded is not None
    return np.asarray(cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB), np.uint8)


def test_a_tiny_model_is_asked_over_a_socket(
    served: Served, ask: Callable[..., list[Any]], picture: Callable[[int], Pixels], tmp_path: Path
) -> None:
    model = LocalModel(str(save_tiny(tmp_path / "tiny")))
    seen: list[Pixels] = []

    def answer(text: str, times: int) -> dict[str, Any]:
        content = served.requests[-1]["messages"][0]["content"]
        parts = content if isinstance(content, list) else []
        shown = tuple(LabeledImage("It:", pixels_of(part["image_url"]["url"])) for part in parts if "image_url" in part)
        seen.extend(each.pixels for each in shown)
        question = Question(words=RenderedPrompt("x", 1, text), form=FreeText(), images=shown)
        said = asyncio.run(model.send(question, Parameters(max_tokens=6), 60.0))
        return {**said, "model": MODEL}

    served.plan = answer
    transcripts = tmp_path / "transcripts"
    judge = open_judge(f"openai:{MODEL}@{served.url}", transcripts=transcripts, client={"at_once": 1})
    shown = LabeledImage("It:", picture(3))
    ends = "bad", "good"
    answers = ask(
        judge, ask_text("Which cat ?", shown), ask_yes_no("cat ?", shown), ask_scale("cat ?", 1, 5, *ends, shown)
    )
    assert all(isinstance(each, Answer) or each.fault in FAULTS for each in answers)
    assert (seen[0] == picture(3)).all(), "PNG loses nothing on the way"
    calls = list(read_transcripts(transcripts))
    assert len(calls) >= 3
    assert all(call.body is not None and call.model == MODEL and call.prompt_tokens for call in calls)
