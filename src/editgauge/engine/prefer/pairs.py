"""Which outcomes of a run can be compared in pairs, and their pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from editgauge._util.images import Pixels, pixel_hash, read_image
from editgauge.analysis.outcomes import Seeds, match
from editgauge.analysis.ratings import read_choices
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run, tables


@dataclass(frozen=True, slots=True)
class OutcomePair:
    """Two outcomes of an edit."""

    edit: str
    first: str
    second: str
    seed: int


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture of the run, and the hash of its pixels when it was scored."""

    path: str
    pixels: str | None


@dataclass(frozen=True, slots=True)
class Pictures:
    """Where the pictures of a run lie."""

    sources: Mapping[tuple[str, str, int], PictureFile]
    """By edit, method and seed: in a multi-turn benchmark each method has a source of its own."""
    outcomes: Mapping[tuple[str, str, int], PictureFile]
    """Only those that could be read when they were scored."""

    @classmethod
    def of(cls, run: Run) -> Pictures:
        """Reads them in one pass."""
        names = ("edit", "method", "seed", "source_path", "source_pixels", "edited_path", "edited_pixels")
        sources, outcomes = {}, {}
        for edit, method, seed, source, source_pixels, edited, edited_pixels in tables.iter_rows(run.scores, names):
            if edited_pixels is not None and source_pixels is not None:
                sources[edit, method, seed] = PictureFile(source, source_pixels)
                outcomes[edit, method, seed] = PictureFile(edited, edited_pixels)
        return cls(sources, outcomes)

    def seeds(self) -> Seeds:
        """Edit and method to the seeds of which there are pictures."""
        seeds_of: dict[tuple[str, str], list[int]] = {}
        for edit, method, seed in self.outcomes:
            seeds_of.setdefault((edit, method), []).append(seed)
        return seeds_of


def named_methods(run: Run, names: Sequence[str]) -> list[str]:
    """The methods of a run that a user names, each once; all of them when none is named."""
    known = list(run.manifest.methods)
    for name in names:
        if name not in known:
            raise UnknownNameError("method in this run", name, known, f"editgauge report {run.folder}")
    return list(dict.fromkeys(names)) or known


def pairs_of(run: Run, pictures: Pictures, methods: Sequence[str], choices: str | Path | None) -> Iterator[OutcomePair]:
    """Two outcomes of every edit and seed, of these methods or of all; with people's choices, only what they judged."""
    wanted = named_methods(run, methods)
    if choices is not None:
        yield from _judged_by_people(Path(choices), pictures, set(wanted))
        return
    there = pictures.seeds()
    for edit in run.edits:
        for first, second in combinations(wanted, 2):
            seeds = (there.get((edit, method), ()) for method in (first, second))
            yield from (OutcomePair(edit, first, second, seed) for seed in sorted(set.intersection(*map(set, seeds))))


def _judged_by_people(choices: Path, pictures: Pictures, wanted: set[str]) -> Iterator[OutcomePair]:
    """Each pair once, for any judge and in either order."""
    seen: set[tuple[str, frozenset[str]]] = set()
    for (first, second), _ in match(read_choices(choices), pictures.seeds()).pairs:
        pair = (first.edit, frozenset((first.method, second.method)))
        if pair not in seen and pair[1] <= wanted and first.seed == second.seed:
            seen.add(pair)
            yield OutcomePair(first.edit, first.method, second.method, first.seed)


def read_scored(place: PictureFile) -> Pixels:
    """The picture as it was scored; raises `BadInputError` when another one lies there now."""
    picture = read_image(Path(place.path))
    if place.pixels is not None and pixel_hash(picture) != place.pixels:
        raise BadInputError(
            f"'{place.path}' is another picture than the one that was scored; `editgauge verify` lists them. "
            "Run again, then ask."
        )
    return picture
