"""The spaCy pipeline for English."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any


@cache
def english_pipeline() -> Any:
    """Load the pipeline once."""
    import spacy

    return spacy.load(Path(os.environ["EDITGAUGE_SPACY_DIR"]), exclude=["ner", "lemmatizer", "senter"])


def is_english(word: str) -> bool:
    """Tell whether the pipeline was trained on a word."""
    return word in english_pipeline().vocab.strings
