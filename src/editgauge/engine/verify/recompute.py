"""Scores a random sample of a run's outcomes again: does the protocol still give what the run says?"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from editgauge._util.concurrency import run_async
from editgauge._util.images import ImageFile, load_image, pixel_hash
from editgauge._util.progress import progress
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.attributes import EXTRA
from editgauge.engine.judges import FOLDER, recorded_jury
from editgauge.engine.prefer.pairs import PictureFile
from editgauge.engine.worker.perception import RunPerception
from editgauge.engine.worker.scoring import build_item, score_protocol
from editgauge.errors import BadImageError, EditGaugeError, UnknownNameError
from editgauge.instructions.parsed import SavedParses, complete_edit, parsed_from_json
from editgauge.models import service
from editgauge.protocols import Protocol, open_protocol
from editgauge.results import Key, Run, ScoreRecord, tables
from editgauge.results.edits import edits_sha256
from editgauge.types import Edit, Item, Outcome

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""How far a score may move between machines before it is called another value: a hundredth of a percent."""
BY_CHANCE = frozenset({"crashed", "budget", "refused", "unreachable"})
"""Reasons that depend on the day; what has no score for one of them may have one now."""
NOT_AT_HAND = frozenset({"no_model", "crashed", "budget", "refused", "unreachable"})
"""Reasons for having no score now that say nothing about the score the run has."""


class BenchmarkPlace(NamedTuple):
    """Where the benchmark of a run is; what is left out is taken from the run."""

    benchmark: str | Path | None = None
    data: str | Path | None = None
    images: str | Path | None = None


@dataclass(slots=True)
class Sampled:
    """One outcome of the sample, with everything the run says about it."""

    edit: str
    method: str
    seed: int
    source: PictureFile
    edited: PictureFile
    stored: dict[str, dict[str, float | str]] = field(default_factory=dict)
    """Protocol and score to the value, or the reason why there is none."""


@dataclass(slots=True)
class Recomputed:
    """What the second look found."""

    outcomes: int = 0
    """Of the sample, those with at least one score that was computed again."""
    scores: int = 0
    """Scores that came out the same."""
    problems: list[str] = field(default_factory=list)
    """Scores that came out otherwise."""
    unchecked: dict[str, int] = field(default_factory=dict)
    """Why scores could not be computed again, to how many."""

    def pass_over(self, why: str, scores: int) -> None:
        """Counts what is not verified."""
        if scores:
            self.unchecked[why] = self.unchecked.get(why, 0) + scores


def recompute(run: Run, count: int, place: BenchmarkPlace, seed: int, quiet: bool) -> Recomputed:
    """Scores `count` outcomes of the run again, drawn by the seed among those that have both pictures."""
    recomputed = Recomputed()
    chosen = sample(run, count, seed)
    if not chosen:
        return recomputed
    try:
        edits = _edits(run, place)
    except EditGaugeError as error:
        moved = isinstance(error, UnknownNameError) or "benchmark" in run.manifest.places
        hint = " Give its folder with --benchmark." if moved and not place.benchmark else ""
        why = str(error).splitlines()[0] + hint
        recomputed.pass_over(why, sum(len(s) for each in chosen for s in each.stored.values()))
        return recomputed
    here = {name: _protocol(run, name) for name in run.manifest.protocols}
    run_async(_score_all(run, chosen, edits, here, recomputed, quiet))
    return recomputed


def sample(run: Run, count: int, seed: int) -> list[Sampled]:
    """This many outcomes at random; the same seed gives the same ones."""
    columns = ("source_path", "source_pixels", "edited_path", "edited_pixels", "name", "value", "reason")
    known: dict[tuple[str, str, int], Sampled] = {}
    rows = tables.iter_rows(run.scores, (*Key._fields, *columns))
    for edit, method, number, protocol, source, source_pixels, edited, edited_pixels, name, value, reason in rows:
        if source_pixels is None or edited_pixels is None:
            continue
        images = PictureFile(source, source_pixels), PictureFile(edited, edited_pixels)
        each = known.setdefault((edit, method, number), Sampled(edit, method, number, *images))
        each.stored.setdefault(protocol, {})[name] = reason if value is None else value
    names = sorted(known)
    return [known[name] for name in sorted(random.Random(seed).sample(names, min(count, len(names))))]  # noqa: S311


def _edits(run: Run, place: BenchmarkPlace) -> dict[str, Edit]:
    """The edits of the same benchmark that was run; another one is refused."""
    places = run.manifest.places
    opened = open_benchmark(
        place.benchmark or places.get("benchmark") or run.manifest.benchmark,
        place.data or places.get("data"),
        place.images or places.get("images"),
    )
    edits = [_as_run(edit, run.edits[edit.id]) for edit in opened.edits if edit.id in run.edits]
    if edits_sha256(edits) != run.manifest.edits_sha256:
        raise EditGaugeError(f"the benchmark '{opened.name}' holds other edits here than the run was made with")
    return {edit.id: edit for edit in edits}


def _as_run(edit: Edit, fields: Mapping[str, Any]) -> Edit:
    """The edit with the attributes that the run was given for it, which no benchmark holds."""
    if fields.get("reading"):
        edit = complete_edit(edit, SavedParses({f"id {edit.id}": parsed_from_json(fields["reading"])}, ""))
    attributes = fields.get("extras", {}).get(EXTRA)
    return edit if attributes is None else replace(edit, extras={**edit.extras, EXTRA: attributes})


def _protocol(run: Run, name: str) -> Protocol | str:
    """The protocol of that name with the same rules, or why it is not available."""
    try:
        names = {role: card["name"] for role, card in run.manifest.models.items()}
        here = open_protocol(name).with_models(names)
    except EditGaugeError as error:
        return str(error)
    made_with = run.manifest.protocols[name]
    if here.version != made_with.version or not set(made_with.scores) <= set(here.scores):
        return f"the protocol '{name}' has version {here.version} here, the run was made with {made_with.version}"
    return here


def _models(run: Run) -> tuple[dict[str, str], str]:
    """The models that are available in the run's revision, and why others are not."""
    chosen: dict[str, str] = {}
    absent = []
    for role, card in run.manifest.models.items():
        try:
            here = service.describe({role: card["name"]})[role]
        except EditGaugeError as error:
            absent.append(str(error).splitlines()[0])
            continue
        other = [key for key in card if key != "license" and here.get(key) != card[key]]
        if not other:
            chosen[role] = card["name"]
        else:
            difference = f"{other[0]} {here.get(other[0])} here, the run was made with {card[other[0]]}"
            absent.append(f"the model '{card['name']}' has {difference}")
    return chosen, "; ".join(absent)


async def _score_all(
    run: Run,
    chosen: Sequence[Sampled],
    edits: Mapping[str, Edit],
    here: Mapping[str, Protocol | str],
    recomputed: Recomputed,
    quiet: bool,
) -> None:
    models, absent = _models(run)
    transcripts = run.folder / FOLDER
    jury = recorded_jury(run.manifest.judges, run.folder) if transcripts.is_dir() else None
    with (
        RunPerception(models, None, jury, transcripts) as see,
        progress("scoring again", len(chosen), quiet=quiet) as advance,
    ):
        for each in chosen:
            before = recomputed.scores + len(recomputed.problems)
            item = _item(each, edits)
            for name, stored in each.stored.items():
                protocol = here.get(name, f"the run does not say what the protocol '{name}' is")
                if isinstance(item, str) or isinstance(protocol, str):
                    recomputed.pass_over(item if isinstance(item, str) else str(protocol), len(stored))
                else:
                    _compare(each, name, stored, await score_protocol(protocol, item, see), absent, recomputed)
            recomputed.outcomes += recomputed.scores + len(recomputed.problems) > before
            advance()


def _item(each: Sampled, edits: Mapping[str, Edit]) -> Item | str:
    """The pictures as they were scored, or why they are not available."""
    decoded = []
    for image in (each.source, each.edited):
        try:
            loaded = load_image(Path(image.path))
        except BadImageError as error:
            return str(error)
        if pixel_hash(loaded.pixels) != image.pixels:
            return f"'{image.path}' has other pixels than were scored"
        decoded.append(loaded)
    edit = edits[each.edit]
    edit = replace(edit, source=ImageFile(edit.source.name, Path(each.source.path)))
    outcome = Outcome(edit_id=each.edit, method=each.method, seed=each.seed, image=Path(each.edited.path))
    try:
        return build_item(edit, outcome, decoded[0], decoded[1])
    except BadImageError as error:
        return str(error)


def _compare(
    each: Sampled,
    protocol: str,
    stored: Mapping[str, float | str],
    records: Sequence[ScoreRecord],
    absent: str,
    recomputed: Recomputed,
) -> None:
    now = {record.name: record for record in records}
    for name, was in stored.items():
        row = now[name]
        if isinstance(was, float) and row.reason in NOT_AT_HAND:
            recomputed.pass_over((row.reason == "no_model" and absent) or row.detail or str(row.reason), 1)
        elif isinstance(was, str) and (was in BY_CHANCE or row.reason in NOT_AT_HAND):
            recomputed.pass_over(f"the run has no score there ({was})", 1)
        elif problem := next(_difference(was, row), ""):
            about = f"{protocol}/{name} of '{each.edit}' by '{each.method}', seed {each.seed}"
            recomputed.problems.append(f"other score: {about}: {problem}")
        else:
            recomputed.scores += 1


def _difference(was: float | str, row: ScoreRecord) -> Iterator[str]:
    now = row.reason if row.value is None else row.value
    if isinstance(was, float) and isinstance(now, float):
        if not math.isclose(was, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            yield f"the run says {was:.9g}, scored again it is {now:.9g}"
    elif was != now:
        first, second = (f"{it:.9g}" if isinstance(it, float) else f"unscored ({it})" for it in (was, now))
        yield f"the run says {first}, scored again it is {second}"
