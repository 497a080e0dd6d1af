"""CelebA as AugCLIP uses it: faces, and target captions made by swapping one attribute (Liu et al. 2015)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from editgauge._util.datasets import Faults, Ids, read_text, require_data
from editgauge._util.text import format_count
from editgauge.benchmarks.image_store import ImageFolder
from editgauge.errors import BadInputError
from editgauge.types import Benchmark, Edit

NEEDED = "the folder of CelebA, with list_attr_celeba.txt and img_align_celeba/"
TABLES = ("list_attr_celeba.txt", "Anno/list_attr_celeba.txt", "list_attr_celeba.csv")
FOLDERS = ("img_align_celeba/img_align_celeba", "img_align_celeba", "Img/img_align_celeba")
LICENSE = "non-commercial research only, by the agreement of the authors"


@dataclass(frozen=True, slots=True)
class Swap:
    """An attribute a face has (or lacks, where the name begins with `-`), and what it becomes."""

    attribute: str
    type: str
    instruction: str
    before: str
    after: str
    subject: str = "person"
    from_: str | None = None
    to: str | None = None


HAIR = {"Black_Hair": "black", "Blond_Hair": "blond", "Brown_Hair": "brown", "Gray_Hair": "gray"}
SWAPS = (
    *(
        Swap(name, "color", f"Change the hair from {a} to {b}.", f"with {a} hair", f"with {b} hair", "hair", a, b)
        for name, a in HAIR.items()
        for b in HAIR.values()
        if a != b
    ),
    Swap("Smiling", "action", "Make the person stop smiling.", "smiling", "not smiling", from_="smile"),
    Swap("-Smiling", "action", "Make the person smile.", "not smiling", "smiling", to="smile"),
    Swap("Straight_Hair", "shape", "Make the hair wavy.", "with straight hair", "with wavy hair", "hair", to="wavy"),
    Swap("Wavy_Hair", "alter_parts", "Make the hair straight.", "with wavy hair", "with straight hair", to="straight"),
    Swap("Bangs", "alter_parts", "Remove the bangs.", "with bangs", "without bangs", from_="bangs"),
    Swap("-Bangs", "alter_parts", "Add bangs.", "without bangs", "with bangs", to="bangs"),
    Swap("Mustache", "alter_parts", "Remove the mustache.", "with a mustache", "without a mustache", from_="mustache"),
    Swap("Eyeglasses", "object_removal", "Remove the glasses.", "with glasses", "without glasses", "glasses"),
    Swap("-Eyeglasses", "object_addition", "Add glasses.", "without glasses", "with glasses", to="glasses"),
    Swap("Wearing_Hat", "object_removal", "Remove the hat.", "wearing a hat", "without a hat", "hat"),
    Swap("-Wearing_Hat", "object_addition", "Add a hat.", "without a hat", "wearing a hat", to="hat"),
    Swap("-Wearing_Earrings", "object_addition", "Add earrings.", "without earrings", "with earrings", to="earrings"),
)


def load(data: Path | None = None, edits: int = 50, seed: int = 0) -> Benchmark:
    """CelebA as AugCLIP uses it: faces with one attribute swapped; --data the folder of CelebA.

    The paper's own 50 pairs are not public. Ours are drawn with a seed: faces in the order of a hash of seed and name,
    each with the swap that was used least so far among those that fit it; so a seed means the same edits everywhere.
    """
    folder = require_data("celeba", data, NEEDED)
    table = next((folder / name for name in TABLES if (folder / name).is_file()), None)
    images = next((folder / name for name in FOLDERS if (folder / name).is_dir()), folder / FOLDERS[1])
    if table is None:
        raise BadInputError(f"'{folder}' has no '{TABLES[0]}'. The benchmark 'celeba' needs: {NEEDED}.")
    faults = Faults("celeba", table)
    names, faces = _faces(table, faults)
    unknown = sorted({swap.attribute.lstrip("-") for swap in SWAPS} - set(names))
    if unknown:
        faults.add(1, f"the attributes {', '.join(unknown)} are missing")
        faults.done()
    made = faults.done(_edits(_drawn(names, faces, edits, seed), ImageFolder(images, faults)))
    about = f"{format_count(len(made), 'edit')} drawn from {format_count(len(faces), 'face')} with seed {seed}"
    if len(made) < edits:
        about += f" ({edits} were wanted)"
    return Benchmark("celeba", made, f"{about}; swaps by EditGauge, the 50 of AugCLIP are not public", LICENSE)


def _faces(table: Path, faults: Faults) -> tuple[list[str], dict[str, list[str]]]:
    """Read the attribute names and, per image, a `1` or `-1` for each."""
    lines = read_text(table).replace(",", " ").splitlines()
    head = 0 if lines and lines[0].startswith("image_id") else 1
    names = lines[head].split()[0 if head else 1 :] if len(lines) > head else []
    faces: dict[str, list[str]] = {}
    for number, line in enumerate(lines[head + 1 :], start=head + 2):
        name, *values = line.split() or [""]
        if not name:
            continue
        if len(values) != len(names) or not set(values) <= {"1", "-1"}:
            faults.add(number, f"'{name}' needs {len(names)} values that are 1 or -1")
        elif name in faces:
            faults.add(number, f"'{name}' is given twice")
        faces[name] = values
    if head and lines and lines[0].strip() != str(len(faces)):
        faults.add(1, f"announces {lines[0].strip()[:20]} images, and {len(faces)} follow")
    return names, {} if faults.problems else faces


def _drawn(names: list[str], faces: dict[str, list[str]], count: int, seed: int) -> Iterator[tuple[str, Swap]]:
    columns = {name: index for index, name in enumerate(names)}
    used: Counter[str] = Counter()

    def chance(*words: str) -> str:
        return hashlib.sha256("\n".join([str(seed), *words]).encode()).hexdigest()

    for name in sorted(faces, key=chance)[:count]:
        fitting = [
            swap
            for swap in SWAPS
            if (faces[name][columns[swap.attribute.lstrip("-")]] == "-1") == swap.attribute.startswith("-")
        ]
        swap = min(fitting, key=lambda swap: (used[swap.attribute], chance(name, swap.attribute, swap.after)))
        used[swap.attribute] += 1
        yield name, swap


def _edits(drawn: Iterable[tuple[str, Swap]], image_folder: ImageFolder) -> Iterator[Edit]:
    ids = Ids()
    for name, swap in drawn:
        source = image_folder.picture(name, name)
        if source:
            yield Edit(
                id=ids.give(Path(name).stem, swap.after),
                source=source,
                type=swap.type,
                instruction=swap.instruction,
                subject=swap.subject,
                from_=swap.from_,
                to=swap.to,
                source_caption=f"a photo of a person {swap.before}",
                target_caption=f"a photo of a person {swap.after}",
                groups={"attribute": swap.attribute},
                extras={"image": name, "attribute": swap.attribute},
            )
