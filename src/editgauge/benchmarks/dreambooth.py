"""DreamBooth: several pictures of a subject, and prompts that put it elsewhere (Ruiz et al. 2023)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from editgauge._util.datasets import Faults, Ids, read_text, require_data
from editgauge._util.images import IMAGE_SUFFIXES, ImageFile
from editgauge._util.phrases import SPOKEN_COLORS
from editgauge._util.text import format_count, with_article
from editgauge.errors import BadInputError
from editgauge.types import Benchmark, Edit

NEEDED = "the folder `dataset` of DreamBooth, with one folder of pictures for each subject"
LIVE = ("cat", "dog")
"""Classes whose subjects get the prompts for live subjects, by the authors' README."""
OWN_PROMPTS = (
    "a {0} {1} on a wooden table",
    "a {0} {1} with a lake in the background",
    "a {0} {1} in the rain",
    "a blue {0} {1}",
)
OWN_LIVE_PROMPTS = (*OWN_PROMPTS, "a {0} {1} wearing a straw hat")
"""Ours, for a download without `prompts_and_classes.txt`. As in that file, {0} is a learned word, {1} the class."""
PROMPT = re.compile(r"""['"](?P<text>[^'"]*\{0\} \{1\}[^'"]*)['"]""")


@dataclass(frozen=True, slots=True)
class _Prompts:
    classes: dict[str, str]
    objects: tuple[str, ...]
    live: tuple[str, ...]


def load(data: Path | None = None, edits: int = 0, seed: int = 0) -> Benchmark:
    """DreamBooth: subjects in new surroundings; --data the folder with a folder for each subject.

    The first picture of a subject is the source, the others are named in `extras`. The set gives no edit types; those
    that a prompt shows unambiguously are set. AugCLIP has 50 of the edits and does not say which:
    `dreambooth[edits=50]` draws as many with a seed, from all subjects in turn; 0 means all.
    """
    folder = require_data("dreambooth", data, NEEDED)
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    subjects = {path.name: pictures for path in inside if (pictures := _pictures(path))}
    if not subjects:
        raise BadInputError(f"'{folder}' has no folder with pictures. The benchmark 'dreambooth' needs: {NEEDED}.")
    file = folder / "prompts_and_classes.txt"
    faults = Faults("dreambooth", file)
    prompts = _read_prompts(file, faults) if file.is_file() else _Prompts({}, OWN_PROMPTS, OWN_LIVE_PROMPTS)
    ids = Ids()
    made = faults.done(
        edit for name, pictures in subjects.items() for edit in _edits(name, pictures, prompts, ids, faults)
    )
    drawn = _drawn(made, edits, seed) if edits else made
    count = sum(len(pictures) for pictures in subjects.values())
    about = f"{format_count(len(drawn), 'edit')} of {format_count(len(subjects), 'subject')} in "
    about += format_count(count, "picture")
    about += "" if len(subjects) == 30 else " (the paper says 30 subjects)"
    about += "" if file.is_file() else "; prompts by EditGauge, for there is no prompts_and_classes.txt"
    about += f"; drawn from {len(made)} with the seed {seed}, AugCLIP's own 50 are not public" if edits else ""
    return Benchmark(
        "dreambooth",
        drawn,
        about,
        "CC-BY-4.0; pictures from Unsplash under its license (references_and_licenses.txt of the set)",
    )


def _drawn(edits: tuple[Edit, ...], count: int, seed: int) -> tuple[Edit, ...]:
    """Sample edits from all subjects in turn, ordered by a hash of seed and id."""
    if count > len(edits):
        raise BadInputError(f"dreambooth[edits={count}] asks for more than the {len(edits)} edits that there are.")
    by_subject: dict[str, list[Edit]] = {}
    for edit in sorted(edits, key=lambda edit: hashlib.sha256(f"{seed} {edit.id}".encode()).digest()):
        by_subject.setdefault(str(edit.extras["subject"]), []).append(edit)
    turns = (edit for turn in zip_longest(*by_subject.values()) for edit in turn if edit)
    sampled = {edit.id for edit in islice(turns, count)}
    return tuple(edit for edit in edits if edit.id in sampled)


def _pictures(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(file for file in path.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES)


def _read_prompts(file: Path, faults: Faults) -> _Prompts:
    """Read the classes (`subject,class` lines) and the two prompt lists, which are Python source."""
    lines = read_text(file).splitlines()
    by_kind: dict[str, list[str]] = {"objects": [], "live": []}
    classes: dict[str, str] = {}
    part = "classes"
    for number, line in enumerate(lines, start=1):
        words = line.strip().lower()
        part = {"object prompts": "objects", "live subject prompts": "live"}.get(words, part)
        prompt = PROMPT.search(line)
        if part == "classes" and line.count(",") == 1 and words != "subject_name,class":
            name, kind = (word.strip() for word in line.split(","))
            if name in classes:
                faults.add(number, f"the subject '{name}' is given twice")
            classes[name] = kind
        elif part != "classes" and prompt:
            by_kind[part].append(prompt["text"])
        elif part != "classes" and ("{0}" in line or "{1}" in line):
            faults.add(number, "a prompt needs '{0} {1}', the learned word and the class, between quotes")
    for part, prompts in by_kind.items():
        if not prompts:
            faults.add(len(lines), f"there are no prompts for {part.replace('live', 'live subjects')}")
    return _Prompts(classes, tuple(by_kind["objects"]), tuple(by_kind["live"]))


def _edits(name: str, pictures: list[Path], prompts: _Prompts, ids: Ids, faults: Faults) -> list[Edit]:
    if prompts.classes and name not in prompts.classes:
        faults.add(name, "the subject has pictures and no class")
        return []
    kind = prompts.classes.get(name) or re.sub(r"\d+$", "", name).replace("_", " ").strip()
    first, *further = (ImageFile(f"{name}/{path.name}", path) for path in pictures)
    return [
        Edit(
            id=ids.give(name, caption),
            source=first,
            type=_type(template),
            instruction=caption,
            subject=kind,
            source_caption=with_article(kind),
            target_caption=caption,
            extras={
                "subject": name,
                "class": kind,
                "prompt": template,
                "subject_images": [picture.name for picture in further],
            },
        )
        for template in (prompts.live if kind in LIVE else prompts.objects)
        for caption in [" ".join(template.replace("{0}", "").replace("{1}", kind).split())]
    ]


def _type(template: str) -> str:
    """Return the edit type of a prompt: color, accessory, shape or background."""
    before, _, after = template.partition("{0} {1}")
    if SPOKEN_COLORS & set(before.split()):
        return "color"
    if " shaped " in before:
        return "shape"
    if after.startswith(" wearing "):
        return "object_addition"
    is_scene = re.match(r" (?:in the|on the|on a|on top of|floating|with .+ in the background)\b", after)
    return "background" if is_scene else "unspecified"
