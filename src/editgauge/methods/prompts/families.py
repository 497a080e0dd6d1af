"""Which prompt a well-known family of methods is given; the table is `families.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

import yaml

from editgauge.errors import UnknownNameError

Form = Literal["instruction", "caption", "captions", "token"]
DEFAULT_TOKEN = "sks"  # noqa: S105  a word that a model has learned, not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How methods of one family are prompted, and after whom."""

    form: Form
    template: str
    after: str
    token: str | None = None
    also: tuple[str, ...] = ()


@cache
def families() -> dict[str, Family]:
    """All families by name."""
    text = (resources.files(__package__) / "families.yaml").read_text(encoding="utf-8")
    rows = yaml.safe_load(text)
    return {name: Family(**{**row, "also": tuple(row.get("also", ()))}) for name, row in rows.items()}


def family(name: str) -> Family:
    """Return the family of that name.

    >>> family("Instruct-Pix2Pix").form, family("SDE-Edit").form, family("Textual Inversion").token
    ('instruction', 'instruction', '*')
    """
    for key, row in families().items():
        if _folded(name) in map(_folded, (key, *row.also)):
            return row
    raise UnknownNameError("method family", name, families())


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()
