"""A local model is asked rightly: a tiny LLaVA with random weights, whose answers mean nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from editgauge._util.images import Pixels
from editgauge.errors import BadInputError
from editgauge.judges import LabeledImage, Parameters, ask_text, ask_yes_no, open_judge
from editgauge.judges._local import LocalModel

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
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(BadInputError, match="There is no model at 'nobody/nothing'"):
        _ = LocalModel("nobody/nothing").model
    question = ask_yes_no("cat ?", LabeledImage("It:", np.zeros((8, 8, 3), np.uint8)))
    mute = save_tiny(tmp_path / "mute", template=None)
    with pytest.raises(BadInputError, match="no chat template"):
        ask(open_judge(f"transformers:{mute}"), question)
    damaged = save_tiny(tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(BadInputError, match=r"cannot be loaded: .* Is the folder complete"):
        ask(open_judge(f"transformers:{damaged}"), question)
