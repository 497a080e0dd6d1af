"""Create a study from a run."""

from __future__ import annotations

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from editgauge import __version__
from editgauge._util.files import DRAFT_PREFIX, write_text
from editgauge._util.images import pixel_hash, read_image, write_png
from editgauge._util.progress import log_info, progress
from editgauge.benchmarks.outcome_captions import read_captions
from editgauge.errors import BadImageError, BadInputError
from editgauge.options import Count
from editgauge.results import Run
from editgauge.studies._candidates import (
    GoldItem,
    PageCandidate,
    list_candidates,
    read_gold,
    sample_candidates,
    with_captions,
)
from editgauge.studies.assignment import SHUFFLE_BELOW, draw
from editgauge.studies.design import Design, find_design, read_design
from editgauge.studies.store import Database, StudyCell, StudyItem
from editgauge.studies.study import DESIGN, IMAGES, LOCAL_DATABASE, Study, StudyManifest

IMAGE_TIME = 946_684_800  # 2000-01-01 UTC
"""Modification time of all images: they are written method by method, and servers publish the time."""


def create(
    run: str | Path,
    *,
    design: str = "editval",
    raters: Count = 3,
    items: Count | None = None,
    sample: str = "all",
    gold: str | Path | None = None,
    out: str | Path = "study",
    database: str | None = None,
    attributes: str | Path | None = None,
    captions: str | Path | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> Study:
    """Create a study of the outcomes of a run.

    Example:
        $ editgauge study create run --design editval --raters 3 --items 200 --sample stratified --out study
        >>> editgauge.study.create("run", design="editval", raters=3, out="study")

    Args:
        run: run folder.
        design: `editval`, `editinspector`, `2afc`, `attribute-importance`, or a design file (.yaml).
        raters: number of people who rate each item.
        items: number of items; default: all.
        sample: `all`, `stratified` (at random, as many of every method and edit type; each item's chance is kept, and
            `estimate` and `accept` weight by it), or `disagreement` (where the automatic scores disagree most).
        gold: JSONL file with items of known answer, which are mixed in.
        out: study folder to write.
        database: PostgreSQL URL; default: an SQLite file in the study folder.
        attributes: JSONL file with edit_id, source, target, for designs that compare attributes.
        captions: file from `editgauge judges captions`: each outcome is shown with its own difference caption.
        seed: random seed: the sample, the order of pages, the sides of pairs.
        quiet: print no progress.

    """
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInputError(f"'{folder}' is there already. Choose another `out`.")
    if raters < 1 or (items is not None and items < 1):
        raise BadInputError(f"A study needs at least one rater and one item, got {raters} and {items}.")
    opened = Run.open(Path(run))
    text, design_folder = find_design(design)
    study_design = read_design(text, Path(design).name)
    available = list_candidates(opened, study_design.unit, Path(attributes) if attributes else None)
    if captions is not None:
        available.candidates = with_captions(available.candidates, read_captions(captions))
    gold_items = read_gold(Path(gold), study_design, available.candidates) if gold else []
    taken = {item.candidate.key for item in gold_items}
    rated = sample_candidates([c for c in available.candidates if c.key not in taken], sample, items, opened, seed)
    if not rated:
        raise BadInputError(_no_items_message(study_design, opened, available.skipped))
    for reason, count in available.skipped.items():
        log_info(f"{count} outcomes are left out: {reason}.", quiet=quiet)
    draft = folder.resolve().with_name(f"{DRAFT_PREFIX}{secrets.token_hex(16)}")
    try:
        image_store = ImageStore(draft / IMAGES, available.scored)
        rows = _rows(rated, gold_items, raters, seed, image_store, quiet=quiet)
        manifest = StudyManifest(
            study=secrets.token_hex(16),
            editgauge=__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            run=str(Path(run).resolve()),
            design=design,
            raters=raters,
            seed=seed,
            sample=sample,
            items=len(rated),
            gold=len(gold_items),
            skipped=dict(available.skipped),
            pictures=_quiz_pictures(study_design, design_folder, image_store),
            database=database or LOCAL_DATABASE,
        )
        write_text(draft / DESIGN, text)
        manifest.save(draft)
        _fill(Database(manifest.url(draft)), manifest.study, rated, rows, raters)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Study.open(folder)


def _no_items_message(design: Design, run: Run, skipped: Counter[str]) -> str:
    needs = {
        "outcome": "outcomes with pictures",
        "pair": "edits with outcomes of two methods",
        "attributes": "edits with two attributes: pass a file of them as `attributes`",
    }[design.unit]
    left_out = "".join(f" {count} outcomes: {reason}." for reason, count in skipped.items())
    return f"The run '{run.folder}' has nothing for this design, which needs {needs}.{left_out}"


def _rows(
    rated: Sequence[PageCandidate],
    gold_items: Sequence[GoldItem],
    raters: int,
    seed: int,
    image_store: ImageStore,
    *,
    quiet: bool,
) -> list[dict[str, Any]]:
    cells = {name: number for number, name in enumerate(dict.fromkeys(item.cell for item in rated), start=1)}
    rows = []
    with progress("copying pictures", len(rated) + len(gold_items), quiet=quiet) as advance:
        for candidate, right in [*((c, None) for c in rated), *((g.candidate, g.right) for g in gold_items)]:
            is_gold = right is not None
            rows.append(
                {
                    "key": candidate.key,
                    "kind": "gold" if is_gold else "rated",
                    "cell_id": None if is_gold else cells[candidate.cell],
                    "shuffle": draw(SHUFFLE_BELOW, seed, "shuffle", candidate.key),
                    "free": 0 if is_gold else raters,
                    "is_open": not is_gold,
                    "edit": candidate.edit,
                    "content": _content(candidate, image_store),
                    "right": right,
                }
            )
            advance()
    return rows


def _content(candidate: PageCandidate, image_store: ImageStore) -> dict[str, Any]:
    compared = [
        {"attribute": item.attribute}
        if item.image is None
        else {"method": item.method, "seed": item.seed, "image": image_store.add(item.image)}
        for item in candidate.compared
    ]
    content = {"edit": dict(candidate.fields), "source": image_store.add(candidate.source), "compared": compared}
    optional = {"side": candidate.side, "probability": candidate.probability}
    return content | {name: value for name, value in optional.items() if value is not None}


def _quiz_pictures(design: Design, design_folder: Path | None, image_store: ImageStore) -> dict[str, str]:
    quiz = design.qualification.items if design.qualification else []
    paths = [path for item in quiz for path in (item.source, item.edited) if path]
    return {path: image_store.add((design_folder or Path()) / path) for path in paths}


def _fill(
    database: Database, study: str, rated: Sequence[PageCandidate], rows: list[dict[str, Any]], raters: int
) -> None:  # fmt: skip
    counts = Counter(candidate.cell for candidate in rated)
    cells = [{"name": name, "items": n, "requested": n * raters, "taken": 0} for name, n in counts.items()]
    try:
        database.make(study)
        with database.write() as session:
            session.execute(insert(StudyCell), [{"id": number, **cell} for number, cell in enumerate(cells, start=1)])
            session.execute(insert(StudyItem), rows)
    finally:
        database.close()


class ImageStore:
    """Images of a study under names made from their pixels; equal images are stored once.

    Each is decoded by the one loader and written as PNG: no byte of a method's own file reaches a rater, so neither its
    name, its format nor its metadata tells who made it, and an animation or a color profile cannot make a browser show
    something else than was measured. What raters saw stays what it was when a method's folder is written again.

    Args:
        folder: where the pictures of the study go
        scored: the pixel hash that a picture had when it was scored, by path

    """

    def __init__(self, folder: Path, scored: Mapping[Path, str]) -> None:
        self.folder = folder
        self.names: dict[Path, str] = {}
        self._scored = scored

    def add(self, path: Path) -> str:
        """Copy an image into the study and return its new name."""
        if path not in self.names:
            self.names[path] = self._copy(path)
        return self.names[path]

    def _copy(self, path: Path) -> str:
        try:
            pixels = read_image(path)
        except BadImageError as error:
            raise BadInputError(
                f"A picture of the study cannot be used: {error} Was it moved since the run?"
            ) from error
        pixel_id = pixel_hash(pixels)
        if self._scored.get(path, pixel_id) != pixel_id:
            raise BadInputError(
                f"The picture '{path}' has other pixels than were scored. Give `editgauge run` again, so that people "
                "and scores are about the same picture."
            )
        target = self.folder / f"{pixel_id[:40]}.png"
        if not target.exists():
            write_png(pixels, target)
            os.utime(target, (IMAGE_TIME, IMAGE_TIME))
        return target.name
