"""Small models of the real architectures, with random weights, saved as a user would find them on disk.

They show that our code asks a network rightly. What they answer means nothing, and no result is ever made with them.

- `save(model, *parts)`: a folder with the model and what belongs to it (image processor, tokenizer).
- `picture(seed, height, width)`: a picture that is not square, with something in it at every scale.
- `clip_tokenizer(longest)`, `bert_tokenizer()`: words to numbers as those networks have them, for a handful of words.
- `layer`: the shape of a small transformer; `clip_text(longest)`: of a text tower for `clip_tokenizer`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from editgauge._util.images import Pixels

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

WORDS = ("a", "photo", "of", "cat", "cup", "dog", "the", "red", "blue", "left", "people", "person", "hot", ".", "?")
END = len(WORDS) + 3
"""The number of the last word of the CLIP vocabulary, which ends a text."""
BERT_SIZE = 1040
BERT_MARKS = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
LAYER = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}


@pytest.fixture(scope="session", autouse=True)
def quiet() -> None:
    logging = transformers.utils.logging
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # small vocabularies lack the numbers that configurations name by default


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A model that tried to download something fails here; what is remembered stays out of the user's cache."""

    def refused(*_: object) -> None:
        raise OSError("no test of a model may use the network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def layer() -> dict[str, int]:
    return LAYER


@pytest.fixture(scope="session")
def picture() -> Callable[..., Pixels]:
    def make(seed: int = 0, height: int = 40, width: int = 60) -> Pixels:
        random = np.random.default_rng(seed)
        coarse = np.kron(random.integers(0, 256, (4, 4, 3)), np.ones((-(-height // 4), -(-width // 4), 1)))
        noise = random.integers(-20, 20, (height, width, 3))
        return np.asarray(np.clip(coarse[:height, :width] + noise, 0, 255), dtype=np.uint8)

    return make


@pytest.fixture(scope="session")
def save(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    def make(model: Any, *parts: Any) -> Path:
        folder = tmp_path_factory.mktemp("model")
        random = torch.Generator().manual_seed(7)
        with torch.no_grad():
            for values in model.parameters():
                if values.ndim > 1:  # as initialized, small networks hardly tell one picture from another
                    values.normal_(0, 0.4 / values[0].numel() ** 0.25, generator=random)
        model.eval().save_pretrained(folder)
        for part in parts:
            part.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def clip_tokenizer() -> Callable[[int], Any]:
    def make(longest: int) -> Any:
        names = ("!", *WORDS, "<unk>", "<|startoftext|>", "<|endoftext|>")
        words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(names)}, unk_token="<unk>"))
        words.pre_tokenizer = pre_tokenizers.Whitespace()
        words.post_processor = processors.TemplateProcessing(
            single="<|startoftext|> $A <|endoftext|>",
            special_tokens=[("<|startoftext|>", END - 1), ("<|endoftext|>", END)],
        )
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=words,
            pad_token="!",
            unk_token="<unk>",
            bos_token="<|startoftext|>",
            eos_token="<|endoftext|>",
            extra_special_tokens={"image_token": "<image>"},
            model_max_length=longest,
        )

    return make


@pytest.fixture(scope="session")
def clip_text() -> Callable[[int], dict[str, int]]:
    def make(longest: int) -> dict[str, int]:
        special = {"pad_token_id": 0, "bos_token_id": END - 1, "eos_token_id": END}
        return {**LAYER, **special, "vocab_size": END + 2, "max_position_embeddings": longest}

    return make


@pytest.fixture(scope="session")
def bert_tokenizer() -> Callable[[], Any]:
    """With the marks where BERT has them, since GroundingDINO counts on that; `cats` falls into two pieces."""

    def make() -> Any:
        named = {**BERT_MARKS, **dict(enumerate((*WORDS[:-2], "##s"), start=200))}
        pieces = {named.get(place, f"[unused{place}]"): place for place in range(BERT_SIZE)}
        words = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
        words.normalizer = normalizers.BertNormalizer()
        words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        words.post_processor = processors.BertProcessing(("[SEP]", 102), ("[CLS]", 101))
        words.decoder = decoders.WordPiece()
        return transformers.BertTokenizerFast(tokenizer_object=words, model_max_length=64)

    return make


@pytest.fixture(scope="session")
def bert_text() -> dict[str, int]:
    return {**LAYER, "vocab_size": BERT_SIZE, "max_position_embeddings": 64}
