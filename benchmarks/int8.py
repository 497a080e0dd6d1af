"""What int8 does to detections on a processor: boxes lost and gained, their overlap, and the time saved.

    python benchmarks/int8.py owl:google/owlvit-base-patch32 photos/*.jpg --words "a cat" "a cup" "a person"

Needs a detector whose weights are on this machine. With `--from-config` a network of the base architecture with random
weights takes its place: then the ratio of times means something, and the detections do not, so they are not printed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._util.images import read_image
from editgauge.models.hub._network import overlap
from editgauge.models.hub.detectors import OwlDetector
from editgauge.models.profiles import FAMILIES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("detector", help="owl:FOLDER or owl:OWNER/NAME")
    parser.add_argument("pictures", nargs="+", type=Path)
    parser.add_argument("--words", nargs="+", default=["a photo of a person"])
    parser.add_argument("--from-config", action="store_true", help="random weights of the OWL-ViT base architecture")
    given = parser.parse_args()
    images = [read_image(path) for path in given.pictures]
    with tempfile.TemporaryDirectory() as folder:
        place = random_owl(Path(folder)) if given.from_config else given.detector.removeprefix("owl:")
        assert given.detector.startswith("owl:"), f"of the families {', '.join(FAMILIES)}, owl is measured here"
        full, full_seconds = asked(OwlDetector(place, device="cpu"), images, tuple(given.words))
        rounded, rounded_seconds = asked(OwlDetector(place, device="cpu", precision="int8"), images, tuple(given.words))
    print(f"{len(images)} pictures, {len(given.words)} words each")
    ratio = full_seconds / rounded_seconds
    print(f"seconds a picture   float32 {full_seconds:.2f}   int8 {rounded_seconds:.2f}   ratio {ratio:.2f}")
    if given.from_config:
        print("random weights: what they detect means nothing and is not shown")
        return
    kept, overlaps, shifts = compared(full, rounded, given.words)
    before, after = (sum(len(each.over(OwlDetector.operating_point)) for each in found) for found in (full, rounded))
    print(f"boxes at {OwlDetector.operating_point}        float32 {before}   int8 {after}   in both {kept}")
    if kept:
        print(f"of those in both    overlap (IoU) median {np.median(overlaps):.3f}, worst {min(overlaps):.3f}")
        print(f"                    confidence moved by {np.mean(shifts):.3f} on average, {max(shifts):.3f} at most")


def asked(detector: OwlDetector, images: list[Any], words: tuple[str, ...]) -> tuple[list[Any], float]:
    """Return the detections and the seconds per image once everything is loaded."""
    detector.find([(detector.look(images[:1])[0], words)])
    start = time.perf_counter()
    found = [detector.find([(detector.look([image])[0], words)])[0] for image in images]
    return found, (time.perf_counter() - start) / len(images)


def compared(full: list[Any], rounded: list[Any], words: list[str]) -> tuple[int, list[float], list[float]]:
    """How many boxes both see (same word, overlap of at least a half), the overlaps, and how confidence moved."""
    overlaps, shifts = [], []
    for first, second in zip(full, rounded, strict=True):
        for word in words:
            one, other = (each.of(word).over(OwlDetector.operating_point) for each in (first, second))
            if not (one.found and other.found):
                continue
            fits = overlap(one.boxes, other.boxes)
            for row, column in enumerate(fits.argmax(axis=1)):
                if fits[row, column] >= 0.5:
                    overlaps.append(float(fits[row, column]))
                    shifts.append(float(abs(one.confidences[row] - other.confidences[column])))
    return len(overlaps), overlaps, shifts


def random_owl(folder: Path) -> Path:
    """OWL-ViT base with random weights and a vocabulary of bytes."""
    import torch
    from tokenizers import Tokenizer, models

    transformers: Any = import_module("transformers")
    torch.manual_seed(0)
    transformers.OwlViTForObjectDetection(transformers.OwlViTConfig()).save_pretrained(folder)
    transformers.OwlViTImageProcessorPil().save_pretrained(folder)
    letters = Tokenizer(models.WordLevel({"!": 0, "?": 1}, unk_token="?"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=letters, pad_token="!", unk_token="?").save_pretrained(folder)
    return folder


if __name__ == "__main__":
    main()
