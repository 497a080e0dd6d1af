"""Which layout a folder has: the one by which most outcomes are found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from editgauge._util.variants import base_name, options_text
from editgauge.errors import BadInputError
from editgauge.methods.layouts import LAYOUTS, Layout, layouts
from editgauge.methods.layouts.match import Match, canonical_name, match_files
from editgauge.methods.layouts.names import escape_name, fold_case

if TYPE_CHECKING:
    from editgauge.methods.layouts.tree import Tree
    from editgauge.types import Edit

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
    return _with_prefix(_with_settings(layout, method, edits, tree), edits, tree)


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
