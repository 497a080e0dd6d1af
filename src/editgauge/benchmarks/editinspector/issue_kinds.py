"""The ten kinds of issue in people's remarks on an edit, determined by the words in them (EditInspector, A.7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of issue, and the words that tell it."""

    label: str
    pattern: re.Pattern[str]


def kinds_of(text: str) -> tuple[str, ...]:
    """The kinds of issue that a remark speaks of.

    >>> kinds_of("The bird has an odd shape and its edges are blurry.")
    ('shape', 'blur', 'edges')
    """
    return tuple(name for name, kind in kinds().items() if kind.pattern.search(text))


@cache
def kinds() -> dict[str, Kind]:
    """The ten kinds, by name."""
    text = resources.files(__package__ or "").joinpath("issue_kinds.yaml").read_text("utf-8")
    return {name: Kind(entry["label"], _pattern(entry["words"])) for name, entry in yaml.safe_load(text).items()}


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    patterns = (re.escape(word).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)
