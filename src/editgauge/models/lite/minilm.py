"""MiniLM sentence vectors (Wang et al. 2020; Reimers and Gurevych 2019), in 8 bits, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from editgauge.models.answers import Vector
from editgauge.models.lite._runtime import FromCatalog, card_of, library, onnx_session
from editgauge.models.roles import ModelCard

NAME = "minilm"
ID = "all-MiniLM-L6-v2 (int8)"
MAX_TOKENS = 256
LENGTH = 384


class MiniLm(FromCatalog):
    """Role `text_similarity`: normalized mean of the token embeddings of a sentence.

    Each text is processed individually. The network quantizes to 8 bits depending on its input, so a neighbor in the
    batch would change the answer; and a text takes a few thousandths of a second.
    """

    batch = 64
    weights = (NAME,)

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(NAME, "text_similarity", ID, precision="int8", most_tokens=MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> Vector:
        """Embed each text as a unit vector."""
        return np.array([self._vector(text) for text in texts], np.float32).reshape(-1, LENGTH)

    def _vector(self, text: str) -> Vector:
        tokens = np.array([self._tokenizer.encode(text).ids], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        mean = self._session.run(["last_hidden_state"], inputs)[0][0].mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    @cached_property
    def _session(self) -> Any:
        return onnx_session(self._file("model_quantized.onnx"), ID, self._threads)

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer = library("tokenizers", ID).Tokenizer.from_file(str(self._file("tokenizer.json")))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer
