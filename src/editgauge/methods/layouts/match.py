"""Which file is the outcome of which edit, by one layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from editgauge.methods.layouts.faults import Fault, find_misspelled
from editgauge.methods.layouts.names import escape_name, fold_case, normalize_name

if TYPE_CHECKING:
    from editgauge.methods.layouts import Layout
    from editgauge.methods.layouts.tree import Tree, TreeImage
    from editgauge.types import Edit


class Claim(NamedTuple):
    """An edit can have a file; the least is the strongest.

    A path spelled exactly goes before one in other capitals, a name as it stands before one with a seed taken off (an
    id may itself end in `_seed1`), and the first path an edit asks for before its later ones.
    """

    capitals: bool
    seeded: bool
    rank: int
    edit_id: str
    path: str
    seed: int


class FileMatch(NamedTuple):
    """A file that can be an outcome; the least is the best."""

    capitals: bool
    rank: int
    file: str
    path: str


@dataclass(frozen=True, slots=True)
class Match:
    """What a layout makes of a folder."""

    layout: Layout
    used: Mapping[tuple[str, int], FileMatch]
    """Edit id and seed to the file."""
    duplicates: tuple[tuple[FileMatch, FileMatch], ...]
    """Files that could have been used, each with the better one that was."""
    unmatched: tuple[TreeImage, ...]
    """Images that match no edit."""
    problems: tuple[str, ...]
    """Why the folder cannot be used as it is."""


def match_files(layout: Layout, edits: Sequence[Edit], tree: Tree) -> Match:
    """Assign each file to the edit that expects it; ambiguous claims are reported as problems."""
    claims: dict[str, list[Claim]] = defaultdict(list)
    for edit in edits:
        for rank, path in enumerate(layout.expected_paths(edit)):
            for read, seed, seeded, file in tree.readings.get(fold_case(path), ()):
                claims[file].append(Claim(read != path, seeded, rank, edit.id, path, seed))
    offers: dict[tuple[str, int], list[FileMatch]] = defaultdict(list)
    problems, unmatched = [], []
    for image in tree.images:
        strongest = _strongest(claims[image.name]) if image.name in claims else []
        if len(strongest) == 1:
            claim = strongest[0]
            offers[claim.edit_id, claim.seed].append(FileMatch(claim.capitals, claim.rank, image.name, claim.path))
        elif strongest and not strongest[0].capitals:
            who = ", ".join(f"'{claim.edit_id}'" for claim in strongest[:5])
            problems.append(f"{escape_name(image.name)} is expected by {len(strongest)} edits: {who}")
        elif not (layout.ignored and layout.ignored.fullmatch(image.bare.rpartition("/")[2])):
            unmatched.append(image)
    used, duplicates = {}, []
    for key, several in offers.items():
        best, *rivals = sorted(several)
        used[key] = best
        equal = [best, *(offer for offer in rivals if offer[:2] == best[:2])]
        if len(equal) > 1:
            problems.append(f"{best.path}: {', '.join(escape_name(offer.file) for offer in equal)}")
        duplicates += [(other, best) for other in rivals]
    return Match(layout, used, tuple(duplicates), tuple(unmatched), tuple(problems))


def _strongest(claims: Sequence[Claim]) -> list[Claim]:
    best = min(claims)
    return [claim for claim in claims if claim[:3] == best[:3]]


def list_faults(matched: Match, edits: Sequence[Edit], tree: Tree) -> list[Fault]:
    """Everything about the folder that is not as it should be, row by row."""
    seeds: dict[str, set[int]] = defaultdict(set)
    for edit_id, seed in matched.used:
        seeds[edit_id].add(seed)
    missing = {edit.id: matched.layout.expected_paths(edit) for edit in edits if edit.id not in seeds}
    expected = {path: edit_id for edit_id, paths in missing.items() for path in paths[:1]}
    rows = [Fault("missing", edit_id, explain_absence(matched.layout, paths)) for edit_id, paths in missing.items()]
    every = {seed for _, seed in matched.used}
    for edit_id, have in seeds.items():
        if lacking := sorted(every - have):
            rows.append(Fault("missing_seed", edit_id, f"no outcome for seed {', '.join(map(str, lacking[:5]))}"))
    rows += [
        Fault(
            "capitals", escape_name(offer.file), f"differs in capitals from '{canonical_name(offer.path)}'; it is used"
        )
        for offer in matched.used.values()
        if offer.capitals
    ]
    rows += [
        Fault("duplicate", escape_name(other.file), f"is not used; '{escape_name(best.file)}' is")
        for other, best in matched.duplicates
    ]
    close = find_misspelled({file.name: file.bare for file in matched.unmatched}, expected)
    for file in matched.unmatched:
        if file.name in close:
            meant = close[file.name]
            detail = f"matches no edit; did you mean '{canonical_name(meant)}' for the edit '{expected[meant]}'?"
            rows.append(Fault("misspelled", escape_name(file.name), detail))
        else:
            rows.append(Fault("stranger", escape_name(file.name), "matches no edit"))
    for name in tree.other_files:
        stem = normalize_name(str(PurePosixPath(name).with_suffix("")))
        detail = f"is the outcome of '{expected[stem]}', but not an image" if stem in expected else "is not an image"
        rows.append(Fault("stranger", escape_name(name), detail))
    return rows + list(tree.faults)


def explain_absence(layout: Layout, paths: Sequence[str]) -> str:
    """Why there is no outcome for an edit."""
    if not paths:
        return f"the edit has no {' and '.join(layout.needs)}, which the {layout.title} layout needs"
    return f"no file '{canonical_name(paths[0])}' in the folder"


def canonical_name(path: str) -> str:
    """Return the canonical name of the file."""
    return escape_name(f"{path}.png")
