"""The 80 words of COCO."""

from __future__ import annotations

from bisect import bisect
from functools import cache

from editgauge.models.vocabulary._words import read_table


@cache
def coco_words() -> dict[int, str]:
    """Return COCO's class names by category id, from 1 to 90 with gaps."""
    words: dict[int, str] = read_table("coco.yaml")
    return words


GROUP_STARTS = (1, 2, 10, 16, 27, 34, 44, 52, 62, 72, 78, 84)
"""The number at which each of COCO's groups begins: person, vehicle, outdoor, animal, accessory, sports, kitchen, food,
furniture, electronic, appliance, indoor."""


def same_coco_kind(word: str, other: str) -> bool:
    """Tell whether both words are in one COCO group, such as vehicles; False for unknown words.

    >>> same_coco_kind("car", "truck"), same_coco_kind("car", "cup"), same_coco_kind("rocket", "rocket")
    (True, False, False)
    """
    groups = _groups()
    return word in groups and groups[word] == groups.get(other)


def is_animal(word: str) -> bool:
    """Tell whether a word is one of COCO's animals."""
    return same_coco_kind(word, "dog")


@cache
def _groups() -> dict[str, int]:
    return {word: bisect(GROUP_STARTS, number) for number, word in coco_words().items()}
