"""Match files to edits by a layout, and recognize the layout of a folder."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from editgauge._util.variants import base_name, options_text
from editgauge.errors import BadInputError
from editgauge.methods._layout_files import Fault, escape_name, find_misspelled, fold_case, normalize_name
from editgauge.methods.layouts import LAYOUTS, METHOD, Layout, layouts

if TYPE_CHECKING:
    from editgauge.methods._layout_files import Tree, TreeImage
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
    """The files of a folder, assigned to edits by a layout."""

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
    """Return every irregularity of the folder as a row."""
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
            rows.append(Fault("unmatched", escape_name(file.name), "matches no edit"))
    for name in tree.other_files:
        stem = normalize_name(str(PurePosixPath(name).with_suffix("")))
        detail = f"is the outcome of '{expected[stem]}', but not an image" if stem in expected else "is not an image"
        rows.append(Fault("unmatched", escape_name(name), detail))
    return rows + list(tree.faults)


def explain_absence(layout: Layout, paths: Sequence[str]) -> str:
    """Return the reason why an edit has no outcome."""
    if not paths:
        return f"the edit has no {' and '.join(layout.needs)}, which the {layout.title} layout needs"
    return f"no file '{canonical_name(paths[0])}' in the folder"


def canonical_name(path: str) -> str:
    """Return the canonical name of the file."""
    return escape_name(f"{path}.png")


MAX_EXAMPLES = 5
_SETTINGS = re.compile(r"(.+?)_((?:[0-9]+(?:\.[0-9]+)?)(?:_[0-9]+(?:\.[0-9]+)?)*)", re.ASCII)
"""A path, and the numbers at its end."""


def recognize(method: str, edits: Sequence[Edit], tree: Tree, name: str | None = None) -> tuple[Match, list[str]]:
    """Match by the named layout or by the best one; also return the rivals that match equally many other files.

    Equal numbers: plain first, then the layout whose turns are made as the edits say, then the order of `LAYOUTS`.
    """
    layout = layouts.get(name) if name is not None else None
    if layout and edits and not any(layout.expected_paths(edit) for edit in edits):
        lacking = ", ".join(f"'{key}'" for key in layout.missing_extras(edits[0]))
        raise BadInputError(
            f"The {layout.title} layout needs {lacking} of every edit, which this benchmark does not give; "
            "`editgauge list layouts` shows the others."
        )
    possible = [layout] if layout else _fitting(edits)
    matches = [match_files(_as_used(layout, method, edits, tree), edits, tree) for layout in possible]
    follows = any(edit.follows for edit in edits)
    best = min(matches, key=lambda one: (-len(one.used), one.layout.name != "plain", one.layout.chained != follows))
    if best.problems:
        raise BadInputError(
            f"'{tree.folder}' holds more than one image for an edit, or one for several ({best.layout.title} layout); "
            "keep one of each.",
            best.problems,
        )
    if edits and not best.used:
        what = f"'{tree.folder}' holds no images of '{method}' that belong to an edit."
        raise BadInputError(what, _looked(matches, edits, tree))
    return best, [
        one.layout.name
        for one in matches
        if one is not best and len(one.used) == len(best.used) and _files(one) != _files(best)
    ]


def _fitting(edits: Sequence[Edit]) -> list[Layout]:
    """Return the layouts that the edits' extras allow; plain always qualifies."""
    extras = set().union(*(edit.extras for edit in edits))
    every = [layouts.get(name) for name in [*LAYOUTS, *(other for other in layouts if other not in LAYOUTS)]]
    return [layout for layout in every if extras.issuperset(layout.needs)]


def _as_used(layout: Layout, method: str, edits: Sequence[Edit], tree: Tree) -> Layout:
    """Adapt the layout to the settings or the prefix in the file names of this folder."""
    named = replace(layout, paths=lambda edit: (path.replace(METHOD, base_name(method)) for path in layout.paths(edit)))
    return _with_prefix(_with_settings(named, method, edits, tree), edits, tree)


def _with_prefix(layout: Layout, edits: Sequence[Edit], tree: Tree) -> Layout:
    """Adapt the layout to the most frequent prefix of the file names; files without it are unexpected."""
    if not layout.prefixed:
        return layout
    expected = {fold_case(path) for edit in edits for path in layout.expected_paths(edit)}
    parts = (image.bare.rpartition("_") for image in tree.images)
    prefixes = Counter(prefix for prefix, _, suffix in parts if prefix and fold_case(suffix) in expected)
    if not prefixes:
        return layout
    plain, prefix = layout.paths, min(prefixes, key=lambda item: (-prefixes[item], item))
    return replace(layout, paths=lambda edit: (f"{prefix}_{path}" for path in plain(edit)))


def _with_settings(layout: Layout, method: str, edits: Sequence[Edit], tree: Tree) -> Layout:
    """Adapt the layout to the settings suffix of the file names; raise `BadInputError` if there are several.

    A method's variant chooses: `pix2pix[1.5_6.5]`.
    """
    if not layout.has_settings:
        return layout
    endings: dict[str, set[str]] = {}
    for image in tree.images:
        if parts := _SETTINGS.fullmatch(image.bare):
            endings.setdefault(fold_case(parts[1]), set()).add(parts[2])
    present = sorted(
        {
            ending
            for edit in edits
            for path in layout.expected_paths(edit)
            for ending in endings.get(fold_case(path), ())
        }
    )
    variant = options_text(method)
    if len(present) > 1 and variant not in present:
        base = base_name(method)
        raise BadInputError(
            f"'{tree.folder}' holds outcomes of {len(present)} settings. Name one: "
            f"`outcomes='{base}[{present[0]}]={tree.folder}'`.",
            present,
        )
    ending = variant if variant in present else "".join(present)
    if not ending:
        return layout
    plain = layout.paths
    other_endings = [f".*_{re.escape(other)}" for other in present if other != ending]
    return replace(
        layout,
        paths=lambda edit: (*(f"{path}_{ending}" for path in plain(edit)), *plain(edit)),
        ignored=re.compile("|".join([*([layout.ignored.pattern] if layout.ignored else []), *other_endings]) or "(?!)"),
    )


def _files(one: Match) -> dict[tuple[str, int], str]:
    return {key: offer.file for key, offer in one.used.items()}


def _looked(matches: Sequence[Match], edits: Sequence[Edit], tree: Tree) -> list[str]:
    """Describe what each layout expected and which files exist."""
    lines = []
    for layout in (one.layout for one in matches):
        example = next((paths[0] for edit in edits if (paths := layout.expected_paths(edit))), None)
        if example:
            lines.append(f"{layout.title} layout: expected files such as '{canonical_name(example)}'")
    files = [file.name for file in tree.images] + list(tree.other_files)
    more = f", … ({len(files)} files)" if len(files) > MAX_EXAMPLES else ""
    names = ", ".join(f"'{escape_name(file)}'" for file in files[:MAX_EXAMPLES])
    lines.append(f"there are: {names}{more}" if files else "there are no files, other than hidden ones")
    lines += [f"{fault.where} {fault.detail}" for fault in tree.faults[:MAX_EXAMPLES]]
    alternatives = [match_files(layout, edits, tree) for layout in _fitting(edits)] if len(matches) == 1 else []
    lines += [f"`layout='{other.layout.name}'` would find {len(other.used)}" for other in alternatives if other.used]
    return [*lines, "`layout` chooses a layout; `editgauge list layouts` shows them"]
