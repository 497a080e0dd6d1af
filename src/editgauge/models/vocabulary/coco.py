"""The 80 words of COCO."""

from __future__ import annotations

from bisect import bisect
from functools import cache

from editgauge.models.vocabulary._phrases import read_table


@cache
def coco_words() -> dict[int, str]:
    """The words of COCO by the numbers that COCO gives them, from 1 to 90 with gaps."""
    words: dict[int, str] = read_table("coco.yaml")
    return words


GROUP_STARTS = (1, 2, 10, 16, 27, 34, 44, 52, 62, 72, 78, 84)
"""The number at which each of COCO's groups begins: person, vehicle, outdoor, animal, accessory, sports, kitchen, food,
furniture, electronic, appliance, indoor."""


def same_coco_kind(word: str, other: str) -> bool:
    """Are both words of one of COCO's groups, such as vehicles? False for words that COCO does not have.

    >>> same_coco_kind("car", "truck"), same_coco_kind("car", "cup"), same_coco_kind("rocket", "rocket")
    (True, False, False)
    """
    groups = _groups()
    return word in groups and groups[word] == groups.get(other)


def is_animal(word: str) -> bool:
    """Is it one of COCO's animals? A person is none of them."""
    return same_coco_kind(word, "dog")


@cache
def _groups() -> dict[str, int]:
    return {word: bisect(GROUP_STARTS, number) for number, word in coco_words().items()}
