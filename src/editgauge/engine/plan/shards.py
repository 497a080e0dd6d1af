"""Shards: a run in parts on many machines, each part the outcomes of some source images."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from editgauge.errors import BadInputError
from editgauge.results._records import short_hash
from editgauge.results.manifest import Manifest, is_run

_FORM = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of that many parts, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def holds(self, source: str) -> bool:
        """Whether outcomes of that source image belong here: by a hash of its name, the same on every machine."""
        if self.of == 1:
            return True
        return short_hash(source) % self.of == self.number - 1


WHOLE = Shard(1, 1)


def read_shard(text: str | None) -> Shard:
    """The shard of a text such as `2/8`; the whole when there is none.

    >>> read_shard("2/8")
    Shard(number=2, of=8)
    """
    if text is None:
        return WHOLE
    match = _FORM.fullmatch(text)
    shard = Shard(*map(int, match.groups())) if match else None
    if shard is None or not 1 <= shard.number <= shard.of:
        raise BadInputError(f"--shard takes NUMBER/OF, from 1/OF to OF/OF, such as 2/8; got '{text}'.")
    return shard


def refuse_another_shard(folder: Path, shard: Shard) -> None:
    """A folder that holds one shard takes no other: each of them would take the other's outcomes for taken away."""
    if shard == WHOLE or not is_run(folder):
        return
    held = Manifest.load(folder).shard
    if held != str(shard):
        raise BadInputError(
            f"'{folder}' holds {f'shard {held}' if held else 'a whole run'}; give shard {shard} a folder of its own, "
            "and make one run of all shards with `editgauge merge`."
        )
