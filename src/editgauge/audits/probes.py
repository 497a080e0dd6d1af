"""Build probes: edits with outcomes of known quality."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge import __version__
from editgauge._util.files import DRAFT_PREFIX
from editgauge._util.images import ImageFile, Pixels
from editgauge._util.masks import MaskFile
from editgauge._util.progress import log_info, progress
from editgauge.audits._probe_set import (
    HARMLESS_KINDS,
    MAX_SIDE,
    OUTCOMES,
    PICTURES,
    TRUTH_FILE,
    Gathered,
    NewProbe,
    Probe,
    ProbeMaterial,
    another_photograph,
    flipped,
    gather,
    pixels_of,
    probes_of,
    read_probes,
    refuse_one_half,
    some_of_each_type,
    split_of,
    write_edits,
    write_probes,
)
from editgauge.audits.human_reference import add_answers
from editgauge.benchmarks import open_benchmark
from editgauge.edit_types import EDIT_TYPES
from editgauge.engine._outcomes import claim
from editgauge.errors import BadInputError, CannotEditError
from editgauge.methods.reference.editors import make_rng
from editgauge.methods.reference.operations import cover_crop
from editgauge.options import Count, Paths, document_options
from editgauge.results.edits import benchmark_entry
from editgauge.types import Position

if TYPE_CHECKING:
    from editgauge.types import Edit, Relation

SETTINGS = "making.json"
SOURCES, MASKS = "sources", "masks"
DEFAULT_EDITS_PER_TYPE = 20
RECIPE_VERSION = 2
"""Raised whenever the same photographs would give other probes."""


@document_options
def probes(
    *,
    out: str | Path,
    images: str | Path | None = None,
    limit: Count | None = 20,
    seed: int = 0,
    choices: str | Path | None = None,
    triplets: str | None = None,
    ratings: str | Path | None = None,
    benchmark: str | Path | None = None,
    outcomes: Paths = (),
    data: str | Path | None = None,
    layout: str | None = None,
    quiet: bool = False,
) -> tuple[Probe, ...]:
    """Build probes: edits of photographs with outcomes that are right, wrong or flawed in a known way.

    `editgauge audit --probes FOLDER` tests evaluators on them. With answers of people no probes are made: the outcomes
    that people compared are added to the folder. Run the same command again to continue after a stop.

    Example:
        $ editgauge build probes --out probes
        $ editgauge build probes --choices people.jsonl --benchmark sample --outcomes "results/*" --out probes
        >>> editgauge.build.probes(out="probes")

    Args:
        out: folder to write: `edits.jsonl`, `edited/`, and the truth in `probes.jsonl`.
        images: folder with photographs of your own; default: those of `editgauge data pull photos`. With `benchmark`,
            the folder of its source images.
        limit: maximum number of edits per type; each gives about two dozen probes.
        seed: random seed.
        choices: people's choices between two outcomes, in the format that `editgauge agree` reads.
        triplets: `good=METHOD,preserved=METHOD,modified=METHOD`, three methods of known quality.
        ratings: people's answers to whether the edit was carried out: the question `edit` with 0 and 1, or
            EditInspector's `accuracy`.
        benchmark: benchmark that the answers are about: a name or a folder.
        outcomes: outcomes that the answers are about, as `NAME=FOLDER`.
        layout: how outcome files are named; detected by default.
        quiet: print no progress or remarks.

    """
    folder = Path(out)
    if choices is not None or triplets is not None or ratings is not None:
        if benchmark is None or not outcomes:
            raise BadInputError("Answers speak of outcomes: give `benchmark` and `outcomes=NAME=FOLDER` too.")
        return add_answers(
            folder,
            open_benchmark(benchmark, data, images),
            outcomes,
            layout,
            choices=choices,
            triplets=triplets,
            ratings=ratings,
            quiet=quiet,
        )
    if benchmark is not None or outcomes:
        raise BadInputError("There are no answers about these outcomes: add `choices`, `triplets` or `ratings`.")
    settings = {
        "images": str(images or "photos"),
        "limit": limit,
        "seed": seed,
        "longest": MAX_SIDE,
        "making": RECIPE_VERSION,
    }
    claim(folder, SETTINGS, {**settings, "editgauge": __version__}, "probes", "editgauge build probes")
    if (folder / TRUTH_FILE).is_file():
        return read_probes(folder)
    try:
        everything = gather(folder, Path(images) if images is not None else None, seed, quiet=quiet)
        selected = some_of_each_type(everything, limit)
        refuse_one_half(selected, limit)
    except BadInputError:
        _release(folder)
        raise
    return probes_from(selected, everything, folder, seed=seed, quiet=quiet)


def _release(folder: Path) -> None:
    """Remove a folder without probes, so that it can be used with other settings."""
    if not (folder / OUTCOMES).exists():
        shutil.rmtree(folder / PICTURES, ignore_errors=True)
        (folder / SETTINGS).unlink(missing_ok=True)


def probes_from(
    selected: Sequence[Gathered], everything: Sequence[Gathered], folder: Path, *, seed: int = 0, quiet: bool = False
) -> tuple[Probe, ...]:
    """Create all probes of the selected edits.

    The source images must be in the folder.
    """
    made: list[tuple[Edit, Probe]] = []
    refused: Counter[str] = Counter()
    with progress("probes", len(selected), quiet=quiet) as advance:
        for turn, item in _in_turn(selected):
            try:
                made += _made(folder, item, everything, turn, seed)
            except CannotEditError as error:
                refused[str(error)] += 1
            advance()
    for why, count in refused.items():
        log_info(f"{count} left out: {why}", quiet=quiet)
    write_edits(folder, [benchmark_entry(edit) for edit, _ in made])
    write_probes(folder, [probe for _, probe in made])
    return read_probes(folder)


def _in_turn(selected: Sequence[Gathered]) -> Iterator[tuple[int, Gathered]]:
    """Every edit with its number among those of its type, so that each type meets every flaw."""
    counts: Counter[str] = Counter()
    for item in selected:
        yield counts[item.edit.type], item
        counts[item.edit.type] += 1


def _made(
    folder: Path, item: Gathered, everything: Sequence[Gathered], turn: int, seed: int
) -> list[tuple[Edit, Probe]]:
    edit, source = item.edit, pixels_of(item.edit)
    around = ProbeMaterial(_another(item, everything, source), _otherwise(item, everything, seed), turn, seed)
    return [_kept(folder, item, source, made) for made in probes_of(edit, source, around)]


def _another(item: Gathered, everything: Sequence[Gathered], source: Pixels) -> Pixels:
    edits = {other.photo: other.edit for other in everything}
    other = edits[another_photograph(item.photo, list(edits))]
    return cover_crop(pixels_of(other), source.shape[1], source.shape[0])


def _otherwise(item: Gathered, everything: Sequence[Gathered], seed: int) -> Edit | None:
    """Another edit of the same photograph that the right outcome does not fulfill, drawn by chance."""
    alternatives = [other.edit for other in everything if other.photo == item.photo]
    unlike = [other for other in alternatives if not may_coincide(item.edit, other)]
    return unlike[int(make_rng(item.edit, seed).integers(len(unlike)))] if unlike else None


def _kept(folder: Path, item: Gathered, source: Pixels, made: NewProbe) -> tuple[Edit, Probe]:
    """Write the images of a probe; return its edit and truth."""
    name = f"{item.edit.id}--{made.kind}"
    probe_edit = replace(made.words or item.edit, id=name, recipe=None, objects={})
    if made.mirrored:
        probe_edit = _mirrored(folder, probe_edit, item.edit, source)
    if made.source is not None:
        probe_edit = replace(probe_edit, source=_written(folder / SOURCES, name, made.source))
    _written(folder / OUTCOMES, name, made.edited)
    probe = Probe(
        id=name,
        edit=item.edit.id,
        photo=item.photo,
        type=item.edit.type,
        kind=made.kind,
        done=made.done,
        family=made.family,
        severity=made.severity,
        harmless=made.kind in HARMLESS_KINDS,
        split=split_of(item.photo),
    )
    return probe_edit, probe


def _mirrored(folder: Path, probe_edit: Edit, edit: Edit, source: Pixels) -> Edit:
    turned = mirrored(probe_edit)
    if edit.mask is None:
        return turned
    inside = flipped(np.repeat(edit.mask.render(source.shape[1], source.shape[0])[..., None], 3, axis=2))
    file = _written(folder / MASKS, probe_edit.id, inside.astype(np.uint8) * 255)
    return replace(turned, mask=MaskFile(file.path, file.name))


def _written(folder: Path, name: str, pixels: Pixels) -> ImageFile:
    """Whole or not at all, but without waiting for the disk: thousands of waits add up, and all can be made again."""
    path = folder / f"{name}.png"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"{DRAFT_PREFIX}{name}.png"
        draft.write_bytes(cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))[1].tobytes())
        draft.replace(path)
    return ImageFile(f"{folder.name}/{path.name}", path)


SIDES = re.compile(r"\b(left|right)(most)?\b", re.IGNORECASE)
OTHER_SIDE: dict[str, Relation] = {"left": "right", "right": "left"}
SURFACE_TYPES = {"color", "texture", "style", "background"}


def in_a_mirror(text: str | None) -> str | None:
    """Exchange left and right in a text.

    >>> in_a_mirror("Remove the leftmost cup, right of the plate.")
    'Remove the rightmost cup, left of the plate.'
    """
    return SIDES.sub(lambda match: _other(match[1]) + (match[2] or ""), text) if text else text


def mirrored(edit: Edit) -> Edit:
    """Adapt an edit to the mirrored photograph; mask and recipe are dropped."""
    position = edit.position
    return replace(
        edit,
        instruction=in_a_mirror(edit.instruction) or "",
        from_=in_a_mirror(edit.from_),
        to=in_a_mirror(edit.to),
        source_caption=in_a_mirror(edit.source_caption),
        target_caption=in_a_mirror(edit.target_caption),
        position=Position(OTHER_SIDE.get(position.relation, position.relation), position.anchor) if position else None,
        mask=None,
        recipe=None,
        objects={},
    )


def may_coincide(done: Edit, requested: Edit) -> bool:
    """Could an outcome that is right for one edit be taken for the other? When in doubt, yes."""
    if done.type == requested.type or (done.to is not None and done.to == requested.to):
        return True
    if done.type == "background":  # what was not kept is gone
        return EDIT_TYPES[requested.type].effect != "adds"
    if done.type in SURFACE_TYPES:
        return requested.type in SURFACE_TYPES
    return EDIT_TYPES[requested.type].region == "object" and done.subject == requested.subject


def _other(side: str) -> str:
    exchanged = OTHER_SIDE[side.lower()]
    return exchanged.capitalize() if side[0].isupper() else exchanged
