"""Fine-tuning really runs: a tiny LLaVA learns a few lessons by heart, and is then a judge that says them."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from editgauge._util.images import Pixels, write_png
from editgauge.builders.training import MESSAGES, USUAL_LABELS
from editgauge.builders.tune import RECORD, tune
from editgauge.errors import BadInputError
from editgauge.judges import LabeledImage, Parameters, Question, open_judge
from editgauge.judges._questions import YesNo
from editgauge.judges.prompts import RenderedPrompt
from tests.judges import test_local

pytestmark = pytest.mark.slow

pytest.importorskip("peft")
transformers: Any = import_module("transformers")
ASKED = {"Is it brighter ?": "yes", "Is it darker ?": "no"}


def picture(shade: int) -> Pixels:
    return np.full((32, 32, 3), shade, np.uint8)


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    """As `build training` writes them."""
    folder = tmp_path / "lessons"
    for name, shade in (("dark", 20), ("bright", 230)):
        write_png(picture(shade), folder / f"{name}.png")
    first, second = USUAL_LABELS
    rows = [
        {
            "id": text,
            "images": ["dark.png", "bright.png"],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": first},
                        {"type": "image"},
                        {"type": "text", "text": second},
                        {"type": "image"},
                        {"type": "text", "text": text},
                    ],
                },
                {"role": "assistant", "content": [{"type": "text", "text": json.dumps({"answer": answer})}]},
            ],
        }
        for text, answer in ASKED.items()
    ]
    (folder / MESSAGES).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the words of the lessons and of their answers, and with room to learn them."""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    said = " ".join([*USUAL_LABELS, *ASKED, *(json.dumps({"answer": item}) for item in ASKED.values())]).split()
    monkeypatch.setattr(test_local, "WORDS", tuple(dict.fromkeys([*test_local.WORDS, *said])))
    monkeypatch.setitem(test_local.LAYER, "hidden_size", 64)
    folder = test_local.save_tiny(tmp_path / "tiny-llava")
    config = transformers.AutoConfig.from_pretrained(folder)
    config.text_config.initializer_range = 0.2  # at 0.02 the last layer could hardly prefer a word to another
    torch.manual_seed(0)
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    return folder


def test_lessons_are_learned_and_said(tiny: Path, lessons: Path, tmp_path: Path, ask: Callable[..., list[Any]]) -> None:
    out = tmp_path / "tuned"
    done = tune(data=lessons, model=tiny, out=out, epochs=60, learning_rate=5e-3, lora=8, batch=2, quiet=True)
    assert (done.lessons, done.steps) == (2, 60)
    assert done.losses[-1] < done.losses[0] / 20
    record = json.loads((out / RECORD).read_text("utf-8"))
    assert (record["model"], record["learning_rate"], record["lora"]) == (str(tiny), 5e-3, 8)
    judge = open_judge(f"transformers:{out}", parameters=Parameters(max_tokens=6))
    shown = tuple(LabeledImage(label, picture(shade)) for label, shade in zip(USUAL_LABELS, (20, 230), strict=True))
    questions = [Question(words=RenderedPrompt("taught", 1, text), form=YesNo(), images=shown) for text in ASKED]
    answers = ask(judge, *questions)
    assert [answer.value for answer in answers] == [True, False]


def test_one_epoch_by_the_recipe_of_the_paper_changes_the_weights(tiny: Path, lessons: Path, tmp_path: Path) -> None:
    done = tune(data=lessons, model=str(tiny), out=tmp_path / "tuned", quiet=True)
    before, after = ((folder / "model.safetensors").read_bytes() for folder in (tiny, done.folder))
    assert done.steps == 1
    assert len(before) == len(after), "adapters are merged, so that the model has its old shape"
    assert before != after


def test_what_cannot_be_tuned_is_explained(tiny: Path, lessons: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no messages\.jsonl"):
        tune(data=tmp_path, model=tiny, out=tmp_path / "out")
    with pytest.raises(BadInputError, match="is not empty"):
        tune(data=lessons, model=tiny, out=tiny)
    with pytest.raises(BadInputError, match="over 0"):
        tune(data=lessons, model=tiny, out=tmp_path / "out", epochs=0)
    with pytest.raises(BadInputError, match="hf download nobody/nothing"):
        tune(data=lessons, model="nobody/nothing", out=tmp_path / "out")
    (lessons / "dark.png").unlink()
    with pytest.raises(BadInputError, match="lacks 2 pictures"):
        tune(data=lessons, model=tiny, out=tmp_path / "out")
    (lessons / MESSAGES).write_text("")
    with pytest.raises(BadInputError, match=r"no lesson .* README\.md"):
        tune(data=lessons, model=tiny, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
