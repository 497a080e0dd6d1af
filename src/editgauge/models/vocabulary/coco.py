"""The 80 words of COCO."""

from __future__ import annotations

from functools import cache
from importlib import resources

import yaml


@cache
def coco_words() -> dict[int, str]:
    """The words of COCO by the numbers that COCO gives them, from 1 to 90 with gaps."""
    text = (resources.files(__package__) / "coco.yaml").read_text(encoding="utf-8")
    words: dict[int, str] = yaml.safe_load(text)
    return words
