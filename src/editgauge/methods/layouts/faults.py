"""What is not as it should be in a folder of outcomes: rows that can be shown, none of them silent."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

FaultKind = Literal[
    "missing",  # an edit without an outcome
    "missing_seed",  # an edit without an outcome for a seed that other edits have
    "duplicate",  # a second picture for an outcome, which is not used
    "misspelled",  # a file that matches no edit, and is close to one that is missing; not used
    "capitals",  # a file that differs from what was expected in capitals only; used
    "stranger",  # a file that matches no edit
    "link",  # a link that is not followed
    "unlisted",  # a folder that was not looked into
]

MIN_SIMILARITY = 0.8
MAX_COMPARED = 300
"""Comparing spellings takes missing files times unknown files; beyond this it would take seconds and not help."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: what kind, the edit's id or the file, and a sentence."""

    kind: FaultKind
    where: str
    detail: str


def find_misspelled(unexpected: Mapping[str, str], missing: Iterable[str]) -> dict[str, str]:
    """For files that match no edit, the missing path each resembles; numbers must agree, for they are never misspelled.

    Args:
        unexpected: file to its path without suffix and seed.
        missing: the expected paths, without suffix.

    >>> find_misspelled({"cta.png": "cta", "cat2.png": "cat2"}, ["cat", "cat1"])
    {}
    >>> find_misspelled({"black-catt.png": "black-catt"}, ["black-cat", "cat1"])
    {'black-catt.png': 'black-cat'}

    """
    by_number: dict[str, list[str]] = defaultdict(list)
    for path in missing:
        by_number[_digits(path)].append(path)
    close: dict[str, str] = {}
    for file, path in list(unexpected.items())[:MAX_COMPARED]:
        near = get_close_matches(path, by_number.get(_digits(path), [])[:MAX_COMPARED], n=1, cutoff=MIN_SIMILARITY)
        if near:
            close[file] = near[0]
    return close


def _digits(path: str) -> str:
    return re.sub(r"\D+", " ", path).strip()
