"""The list of a method's outcomes, which grows as they are made: after a kill it says what there is; and their card."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from editgauge._util.files import DRAFT_PREFIX, write_text
from editgauge.errors import BadInputError
from editgauge.methods.absence import why
from editgauge.methods.card import MethodCard
from editgauge.methods.outcomes import LIST

KILOBYTE = 1024


class OutcomeId(NamedTuple):
    """Which outcome."""

    id: str
    seed: int

    @property
    def name(self) -> str:
        """What its file is called, without suffix; the finder of outcomes reads the seed back.

        >>> OutcomeId("cat-black", 0).name, OutcomeId("cat-black", 2).name
        ('cat-black', 'cat-black__seed2')
        """
        return f"{self.id}__seed{self.seed}" if self.seed else self.id

    @property
    def file(self) -> str:
        """What its file is called."""
        return f"{self.name}.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLine:
    """One outcome, or why there is none."""

    id: str
    seed: int
    prompt: str
    source_prompt: str | None = None
    image_path: str | None = None
    absence: str | None = None
    seconds: float | None = None
    """How long the method took, where it was seen at work."""

    @property
    def key(self) -> OutcomeId:
        """Which outcome it is."""
        return OutcomeId(self.id, self.seed)

    def written(self) -> str:
        """The line as it stands in the list."""
        fields = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(fields, ensure_ascii=False) + "\n"


class OutcomeList:
    """The list in a folder. A line that a kill or a full disk cut in two is left out, and its outcome made again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LIST
        self._lines = {line.key: line for line in _read(self._path) if _is_true(line, folder)}
        for draft in folder.glob(f"{DRAFT_PREFIX}*"):
            draft.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[OutcomeLine]:
        return iter(self._lines.values())

    def get(self, key: OutcomeId) -> OutcomeLine | None:
        """What the list says about an outcome."""
        return self._lines.get(key)

    def add(self, line: OutcomeLine) -> None:
        """Writes one more line behind the others."""
        self._lines[line.key] = line
        try:
            with self._path.open("ab", buffering=0) as file:
                written = line.written().encode()
                if file.write(written) != len(written):
                    raise OSError(None, "the disk is full")
        except OSError as error:
            raise BadInputError(
                f"'{self._path}' cannot be written: {error.strerror or error}. Make room there."
            ) from error

    def write(self, order: Iterable[str] = ()) -> None:
        """Writes the whole list again, edits in this order, seeds upwards."""
        places = {edit_id: place for place, edit_id in enumerate(order)}
        lines = sorted(self, key=lambda line: (places.get(line.id, len(places)), line.seed))
        write_text(self._path, "".join(line.written() for line in lines))


def _read(path: Path) -> Iterator[OutcomeLine]:
    if not path.is_file():
        return
    for text in path.read_text("utf-8", "replace").split("\n"):
        try:
            entry: Any = json.loads(text)
            yield OutcomeLine(**entry)
        except (ValueError, TypeError):
            continue


def _is_true(line: OutcomeLine, folder: Path) -> bool:
    """Whether the picture it names is there; an absence needs none."""
    return line.absence is not None or (folder / (line.image_path or line.key.file)).is_file()


def card_of(lines: Iterable[OutcomeLine], price: float | None, earlier: Mapping[str, Any]) -> MethodCard:
    """The card of all outcomes in a folder, given the price of one; memory is the most that any card has seen."""
    known = list(lines)
    seconds = [line.seconds for line in known if line.seconds is not None and line.absence is None]
    outcomes = sum(line.absence is None for line in known)
    return MethodCard(
        outcomes=outcomes,
        failures=dict(Counter(why(line.absence) for line in known if line.absence is not None).most_common()),
        seconds_mean=round(fmean(seconds), 4) if seconds else None,
        seconds_median=round(median(seconds), 4) if seconds else None,
        peak_memory=_most(earlier.get("peak_memory"), _peak_memory()),
        peak_gpu_memory=_most(earlier.get("peak_gpu_memory"), _peak_gpu_memory()),
        cost=None if price is None else round(price * outcomes, 6),
    )


def _most(*known: int | None) -> int | None:
    return max((value for value in known if value), default=None)


def _peak_memory() -> int | None:
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    unit = 1 if sys.platform == "darwin" else KILOBYTE
    return unit * max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _peak_gpu_memory() -> int | None:
    """Asked of torch only if the method brought it in."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return int(torch.cuda.max_memory_allocated())
