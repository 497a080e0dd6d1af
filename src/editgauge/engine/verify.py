"""The verb `verify`: check the files of a run, its images, and a sample of recomputed scores."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from editgauge._util.batching import run_async
from editgauge._util.files import read_bytes
from editgauge._util.images import ImageFile, load_image, pixel_hash, read_image
from editgauge._util.progress import progress
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.attributes import EXTRA
from editgauge.engine._judges import FOLDER, recorded_judge_config
from editgauge.engine._perception import RunPerception
from editgauge.engine._scoring import build_item, score_item
from editgauge.errors import BadImageError, BadRunError, EditGaugeError, UnknownNameError
from editgauge.instructions.parsed import SavedParses, complete_edit, parsed_from_json
from editgauge.models import profiles
from editgauge.options import Natural, document_options
from editgauge.protocols import Protocol, open_protocol
from editgauge.results import ImageStamp, Run, ScoreKey, ScoreRecord, tables
from editgauge.results._journal import SIDES, journals, read_journal
from editgauge.results._records import FILE as SETS
from editgauge.results.edits import edits_sha256
from editgauge.types import Edit, Item, Outcome

DEFAULT_SAMPLE = 20
"""Outcomes that are scored again."""
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-4, 1e-6
"""How far a score may move between machines before it counts as changed."""
TRANSIENT_REASONS = frozenset({"crashed", "budget", "refused", "unreachable"})
"""Reasons for a missing score that may be gone the next time."""
UNAVAILABLE_REASONS = TRANSIENT_REASONS | {"no_model"}
"""Reasons for a missing score now that say nothing about the stored score."""


class BenchmarkLocation(NamedTuple):
    """Where the benchmark of a run is; the run's own record fills what is None."""

    benchmark: str | Path | None = None
    data: str | Path | None = None
    images: str | Path | None = None


@dataclass(slots=True)
class SampledOutcome:
    """One outcome of the sample, with the scores that the run holds."""

    edit: str
    method: str
    seed: int
    source: ImageStamp
    edited: ImageStamp
    stored: dict[str, dict[str, float | str]] = field(default_factory=dict)
    """Protocol and score name to the value, or to the reason for having none."""

    @property
    def count(self) -> int:
        """Number of stored scores."""
        return sum(map(len, self.stored.values()))


@dataclass(slots=True)
class Recomputed:
    """Result of scoring a sample again."""

    outcomes: int = 0
    """Outcomes with at least one recomputed score."""
    scores: int = 0
    """Scores that came out the same."""
    replayed: int = 0
    """Of these, scores that rest on recorded answers of judges: computed again, but the judge was not asked."""
    problems: list[str] = field(default_factory=list)
    """Scores that came out different."""
    unchecked: dict[str, int] = field(default_factory=dict)
    """Why scores could not be recomputed, with the number of scores."""

    @property
    def skipped(self) -> int:
        """Sampled scores that could not be recomputed."""
        return sum(self.unchecked.values())

    def skip(self, reason: str, scores: int) -> None:
        """Count scores that are not verified."""
        if scores:
            self.unchecked[reason] = self.unchecked.get(reason, 0) + scores


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and every problem."""

    files: int
    images: int
    scores: int
    """Scores with a value, as `diff` counts them."""
    problems: tuple[str, ...]
    recomputed: Recomputed = field(default_factory=Recomputed)
    """The sample that was scored again; its problems are among `problems`."""
    unscored: int = 0

    @property
    def sound(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    @property
    def sentence(self) -> str:
        """What was recomputed, what could only be replayed, and what could not be checked, in one line."""
        sample, total = self.recomputed, self.scores + self.unscored
        differing = len(sample.problems)
        remaining = total - sample.scores - differing - sample.skipped
        return (
            f"Of {total} scores, {sample.scores - sample.replayed} were recomputed from the images and "
            f"{sample.replayed} replayed from recorded answers of judges with the same result, {differing} differ, "
            f"{sample.skipped} could not be checked, and {max(0, remaining)} were not sampled."
        )


@document_options
def verify(
    run: str | Path,
    *,
    recompute: Natural = DEFAULT_SAMPLE,
    benchmark: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> Verification:
    """Check that a run folder is unchanged: its files, its images, and a sample of recomputed scores.

    What is not available, such as a model in the same revision, is reported and not counted as verified. The exit code
    is 1 if there is a problem.

    Example:
        $ editgauge verify run
        $ editgauge verify run --recompute 200 --benchmark my-benchmark
        >>> editgauge.verify("run", recompute=200)

    Args:
        run: run folder.
        recompute: number of outcomes to score again, drawn at random; 0 for none.
        benchmark: the benchmark's folder, if it is no longer where the run found it.
        seed: random seed that draws the outcomes.
        quiet: print no progress.

    """
    opened = Run.open(Path(run))
    damage = list(_damaged_files(opened))
    if damage:
        return Verification(_count_files(opened), 0, 0, tuple(damage))
    hashes = _recorded_hashes(opened)
    problems: list[str] = []
    with progress("verifying images", len(hashes), quiet=quiet) as advance:
        for path, recorded in hashes.items():
            problems += _image_problems(Path(path), recorded)
            advance()
    problems += _missing_entries(opened)
    problems += _repeated_scores(opened)
    sample = draw_sample(opened, recompute, seed)
    recomputed = _recompute(opened, sample, BenchmarkLocation(benchmark, data, images), quiet=quiet)
    unscored = opened.table["value"].null_count
    return Verification(
        files=_count_files(opened),
        images=len(hashes),
        scores=opened.table.num_rows - unscored,
        problems=(*problems, *recomputed.problems),
        recomputed=recomputed,
        unscored=unscored,
    )


def _damaged_files(run: Run) -> Iterator[str]:
    manifest, folder = run.manifest, run.folder
    yield from _check_hash(folder / "edits.jsonl", manifest.edits_sha256)
    if manifest.sets_sha256:
        yield from _check_hash(folder / SETS, manifest.sets_sha256)
    for number, hashes in manifest.segments.items():
        for kind in tables.SCHEMAS:
            yield from _check_hash(folder / kind / f"{number}.parquet", hashes[f"{kind}_sha256"])
    for journal in journals(folder / "scores"):
        try:
            for _ in read_journal(journal):
                pass
        except BadRunError as error:
            yield f"changed score: {error}"


def _check_hash(path: Path, expected: str) -> Iterator[str]:
    try:
        digest = hashlib.sha256(read_bytes(path)).hexdigest()
    except FileNotFoundError:
        yield f"missing file: {path}"
        return
    except OSError as error:
        yield f"unreadable file: {path}: {error.strerror or error}"
        return
    if digest != expected:
        kind = "changed score" if path.parent.name == "scores" or path.name == SETS else "changed file"
        yield f"{kind}: {path} has SHA-256 {digest[:12]}…, the manifest says {expected[:12]}…"


def _recorded_hashes(run: Run) -> dict[str, set[str | None]]:
    """Return the recorded pixel hashes by path: None for unreadable images, several if a file changed meanwhile."""
    hashes: dict[str, set[str | None]] = {}
    for side in SIDES:
        columns = (f"{side}_path", f"{side}_size", f"{side}_pixels", "reason")
        for path, size, pixels, reason in tables.iter_rows(run.table, columns):
            exists = path is not None and size >= 0
            if exists and (pixels or reason != "crashed"):  # a process that died recorded no hash
                hashes.setdefault(path, set()).add(pixels)
    return hashes


def _image_problems(path: Path, recorded: set[str | None]) -> Iterator[str]:
    if not path.exists():
        yield f"missing image: {path}"
        return
    try:
        current = pixel_hash(read_image(path))
    except BadImageError:
        current = None
    if recorded != {current}:
        change = "can no longer be read" if current is None else "has other pixels than were scored"
        yield f"changed image: {path} {change}"


def _missing_entries(run: Run) -> Iterator[str]:
    keys = set(tables.iter_keys(run.table))
    if len(keys) < run.planned:
        yield f"not finished: {len(keys)} of {run.planned} records; give the same `editgauge run` command to continue"


def _repeated_scores(run: Run) -> Iterator[str]:
    """Report scores that a run holds twice, as after joining journals by hand; means would count both."""
    counts = Counter(tables.iter_rows(run.table, (*ScoreKey._fields, "name")))
    repeated = [key for key, count in counts.items() if count > 1]
    if repeated:
        edit, method, seed, protocol, name = repeated[0]
        yield (
            f"repeated score: {len(repeated)} scores are in the run more than once, such as {protocol}/{name} of "
            f"'{edit}' by '{method}', seed {seed}; run again into another folder"
        )


def _count_files(run: Run) -> int:
    sets = bool(run.manifest.sets_sha256)
    return 2 + sets + 2 * len(run.manifest.segments) + len(journals(run.folder / "scores"))


def draw_sample(run: Run, count: int, seed: int) -> list[SampledOutcome]:
    """Draw outcomes whose two images could be read; the same seed draws the same ones."""
    columns = ("source_path", "source_pixels", "edited_path", "edited_pixels", "name", "value", "reason")
    outcomes: dict[tuple[str, str, int], SampledOutcome] = {}
    rows = tables.iter_rows(run.table, (*ScoreKey._fields, *columns))
    for edit, method, number, protocol, source, source_pixels, edited, edited_pixels, name, value, reason in rows:
        if source_pixels is None or edited_pixels is None:
            continue
        stamps = ImageStamp(source, pixels=source_pixels), ImageStamp(edited, pixels=edited_pixels)
        outcome = outcomes.setdefault((edit, method, number), SampledOutcome(edit, method, number, *stamps))
        outcome.stored.setdefault(protocol, {})[name] = reason if value is None else value
    keys = sorted(outcomes)
    return [outcomes[key] for key in sorted(random.Random(seed).sample(keys, min(count, len(keys))))]  # noqa: S311


def _recompute(run: Run, sample: Sequence[SampledOutcome], location: BenchmarkLocation, *, quiet: bool) -> Recomputed:
    """Score the sampled outcomes again and compare."""
    recomputed = Recomputed()
    if not sample:
        return recomputed
    try:
        edits = _open_edits(run, location)
    except EditGaugeError as error:
        moved = isinstance(error, UnknownNameError) or "benchmark" in run.manifest.locations
        hint = " Pass its folder as `benchmark`." if moved and not location.benchmark else ""
        recomputed.skip(str(error).splitlines()[0] + hint, sum(outcome.count for outcome in sample))
        return recomputed
    run_async(_score_sample(run, sample, edits, recomputed, quiet=quiet))
    return recomputed


def _open_edits(run: Run, location: BenchmarkLocation) -> dict[str, Edit]:
    """Open the benchmark of the run.

    Raises:
        EditGaugeError: it is not available, or has other edits than were run.

    """
    recorded = run.manifest.locations
    opened = open_benchmark(
        location.benchmark or recorded.get("benchmark") or run.manifest.benchmark,
        location.data or recorded.get("data"),
        location.images or recorded.get("images"),
        skip_broken=bool(run.manifest.broken),
    )
    edits = [_restore(edit, run.edits[edit.id]) for edit in opened.edits if edit.id in run.edits]
    if edits_sha256(edits) != run.manifest.edits_sha256:
        raise EditGaugeError(f"the benchmark '{opened.name}' holds other edits here than the run was made with")
    return {edit.id: edit for edit in edits}


def _restore(edit: Edit, fields: Mapping[str, Any]) -> Edit:
    """Add what only the run recorded about an edit: how its instruction was parsed, and its attributes."""
    if fields.get("reading"):
        edit = complete_edit(edit, SavedParses({f"id {edit.id}": parsed_from_json(fields["reading"])}, ""))
    attributes = fields.get("extras", {}).get(EXTRA)
    return edit if attributes is None else replace(edit, extras={**edit.extras, EXTRA: attributes})


def _open_protocol(run: Run, name: str) -> Protocol | str:
    """Open a protocol with the rules of the run, or return why it is not available."""
    if name not in run.manifest.protocols:
        return f"the run does not say what the protocol '{name}' is"
    try:
        names = {role: card["name"] for role, card in run.manifest.models.items()}
        protocol = open_protocol(name).with_models(names)
    except EditGaugeError as error:
        return str(error)
    recorded = run.manifest.protocols[name]
    if protocol.version != recorded.version or not set(recorded.scores) <= set(protocol.scores):
        return f"the protocol '{name}' has version {protocol.version} here, the run was made with {recorded.version}"
    return protocol


def _available_models(run: Run) -> tuple[dict[str, str], str]:
    """Return the models that are available in the run's revision by role, and why others are not."""
    models: dict[str, str] = {}
    problems = []
    for role, card in run.manifest.models.items():
        try:
            current = profiles.describe({role: card["name"]})[role]
        except EditGaugeError as error:
            problems.append(str(error).splitlines()[0])
            continue
        changed = next((key for key in card if key != "license" and current.get(key) != card[key]), None)
        if changed is None:
            models[role] = card["name"]
        else:
            difference = f"{changed} {current.get(changed)} here, the run was made with {card[changed]}"
            problems.append(f"the model '{card['name']}' has {difference}")
    return models, "; ".join(problems)


async def _score_sample(
    run: Run, sample: Sequence[SampledOutcome], edits: Mapping[str, Edit], recomputed: Recomputed, *, quiet: bool
) -> None:
    models, model_problems = _available_models(run)
    opened = {name: _open_protocol(run, name) for name in {name for outcome in sample for name in outcome.stored}}
    transcripts = run.folder / FOLDER
    judges = recorded_judge_config(run.manifest.judges, run.folder) if transcripts.is_dir() else None
    with (
        RunPerception(models, None, judges, transcripts) as perception,
        progress("scoring again", len(sample), quiet=quiet) as advance,
    ):
        for outcome in sample:
            checked = recomputed.scores + len(recomputed.problems)
            item = _load_item(outcome, edits)
            protocols: list[Protocol] = []
            for name, stored in outcome.stored.items():
                protocol = opened[name]
                if isinstance(item, str) or isinstance(protocol, str):
                    recomputed.skip(item if isinstance(item, str) else str(protocol), len(stored))
                else:
                    protocols.append(protocol)
            if not isinstance(item, str):
                for name, records in (await score_item(item, protocols, perception)).items():
                    before = recomputed.scores
                    _compare(outcome.stored[name], records, model_problems, recomputed)
                    if any(protocol.name == name and protocol.judge for protocol in protocols):
                        recomputed.replayed += recomputed.scores - before
            recomputed.outcomes += recomputed.scores + len(recomputed.problems) > checked
            advance()


def _load_item(outcome: SampledOutcome, edits: Mapping[str, Edit]) -> Item | str:
    """Build the item from the images that were scored, or return why they are not available."""
    loaded = []
    for stamp in (outcome.source, outcome.edited):
        try:
            image = load_image(Path(stamp.path))
        except BadImageError as error:
            return str(error)
        if pixel_hash(image.pixels) != stamp.pixels:
            return f"'{stamp.path}' has other pixels than were scored"
        loaded.append(image)
    edit = edits[outcome.edit]
    edit = replace(edit, source=ImageFile(edit.source.name, Path(outcome.source.path)))
    made = Outcome(edit_id=outcome.edit, method=outcome.method, seed=outcome.seed, image=Path(outcome.edited.path))
    try:
        return build_item(edit, made, *loaded)
    except BadImageError as error:
        return str(error)


def _compare(
    stored: Mapping[str, float | str], records: Sequence[ScoreRecord], model_problems: str, recomputed: Recomputed
) -> None:
    for record in records:
        if record.name not in stored:
            continue
        expected = stored[record.name]
        if isinstance(expected, float) and record.reason in UNAVAILABLE_REASONS:
            missing_model = model_problems if record.reason == "no_model" else ""
            recomputed.skip(missing_model or record.explanation or str(record.reason), 1)
        elif isinstance(expected, str) and (expected in TRANSIENT_REASONS or record.reason in UNAVAILABLE_REASONS):
            recomputed.skip(f"the run has no score there ({expected})", 1)
        elif difference := _difference(expected, record):
            score = f"{record.full_name} of '{record.edit}' by '{record.method}', seed {record.seed}"
            recomputed.problems.append(f"other score: {score}: {difference}")
        else:
            recomputed.scores += 1


def _difference(expected: float | str, record: ScoreRecord) -> str:
    """Describe how a recomputed score differs from the stored one; empty if it does not."""
    current = record.reason if record.value is None else record.value
    if isinstance(expected, float) and isinstance(current, float):
        if math.isclose(expected, current, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE):
            return ""
        return f"the run says {expected:.9g}, scored again it is {current:.9g}"
    if expected == current:
        return ""
    first, second = (f"{it:.9g}" if isinstance(it, float) else f"unscored ({it})" for it in (expected, current))
    return f"the run says {first}, scored again it is {second}"
