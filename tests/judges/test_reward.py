"""Reward models as judges: small random networks of the architecture that EditReward and EditScore are built on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from editgauge._util.images import ImageFile, Pixels
from editgauge.errors import BadInputError
from editgauge.judges import JudgeService, LabeledImage, NoAnswerError, Parameters, ask_text, ask_yes_no, open_judge
from editgauge.judges._local import HEADS, REWARD_MARKER, LocalModel, RewardModel
from editgauge.protocols import open_protocol
from editgauge.types import Edit, Item, Outcome, Score, Scores

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")
MARKS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
WORDS = (*MARKS, "<unk>", "user", "assistant", "picture", "request", "yes", "no", "7", "4")
TEMPLATE = (
    "{% for m in messages %}<|im_start|> {{ m.role }} {% for c in m.content %}{% if c.type == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %} {{ c.text }} {% endif %}{% endfor %}<|im_end|>{% endfor %}"
    " <|im_start|> assistant"
)
HIDDEN = 32


def save_tiny(folder: Path, *, marked: bool = False) -> Path:
    """A Qwen2.5-VL of two layers with weights drawn at random, and a vocabulary of a few words."""
    torch.manual_seed(4)
    words = (*WORDS, *((REWARD_MARKER,) if marked else ()))
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
    tokenizer.chat_template = TEMPLATE
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
    return save_tiny(tmp_path_factory.mktemp("models") / "writing")


@pytest.fixture(scope="module")
def rewarding(tmp_path_factory: pytest.TempPathFactory, quiet: None) -> Path:
    folder = save_tiny(tmp_path_factory.mktemp("models") / "rewarding", marked=True)
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
        through = import_module("editgauge.judges._local")._through(model._head_for(name), state)
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
    with pytest.raises(BadInputError, match="does not name the model"):
        LocalModel(str(tmp_path / "adapter"))._base  # noqa: B018
