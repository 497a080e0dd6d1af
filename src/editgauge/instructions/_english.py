"""The spaCy pipeline for English: found on this machine, loaded once, never downloaded here."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from editgauge.errors import EditGaugeError
from editgauge.models.weights import MissingWeightsError, weights_of

MODEL = "en_core_web_sm"
WEIGHTS = "en-core-web-sm"
"""The name of the model in `editgauge models list`."""
ADVICE = (
    f"English is parsed with spaCy and its model {MODEL}: run `pip install 'editgauge[lite]'` and "
    f"`editgauge models pull {WEIGHTS}`, or give the edit type and its fields"
)
_UNUSED = ["ner", "lemmatizer", "senter"]


class MissingParserError(EditGaugeError):
    """Raised when spaCy or its model is not on this machine."""

    def __init__(self) -> None:
        super().__init__(ADVICE)


def _model() -> str | Path:
    """Return the installed model package, or else the verified folder of the model in the cache."""
    if importlib.util.find_spec("spacy") is None:
        raise MissingParserError
    if importlib.util.find_spec(MODEL) is not None:
        return MODEL
    try:
        files = weights_of(WEIGHTS)
    except MissingWeightsError as error:
        raise MissingParserError from error
    files.check()
    return files.path("config.cfg").parent


def english_pipeline() -> Any:
    """Return the pipeline.

    Raises:
        MissingParserError: if spaCy or the model is not on this machine.

    """
    return _load()[0]


def is_english(word: str) -> bool:
    """Tell whether the pipeline was trained on a word."""
    return word in _load()[1]


@cache
def _load() -> tuple[Any, frozenset[str]]:
    """Load the pipeline with its vocabulary, to which every parsed text adds its words later."""
    model = _model()
    with _without_torch():
        import spacy

        pipeline = spacy.load(model, exclude=_UNUSED)
    return pipeline, frozenset(pipeline.vocab.strings)


@contextmanager
def _without_torch() -> Iterator[None]:
    """Keep spaCy from importing torch, which takes seconds and which this pipeline does not use."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]  # `import torch` then raises ImportError
    try:
        yield
    finally:
        del sys.modules["torch"]
