"""Speed of perception: an EditVal-shaped load on the OWL-ViT base architecture, one forward per question against ours.

    python benchmarks/perception.py [--edits 60] [--growth 100,1000,5000] [--only questions,growth,memory]

The weights of OWL-ViT are random: time and memory are those of the real model, what it answers means nothing. Every
figure is measured in this run on this machine, start-up and loading included; ratios are what to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import skimage.data
from runner import watch

EDITS_PER_SOURCE = 5
PHRASES = ("cat", "cup", "person", "ball", "hat", "dog", "tree")
MODEL = """
import os
from editgauge.models.hub.detectors import OwlDetector

class Counted(OwlDetector):
    def look(self, images):
        with open(os.environ["BENCH_COUNT"], "ab") as count:
            count.write(b"." * len(images))
        return super().look(images)

def detector():
    return Counted(os.environ["BENCH_MODEL"], device="cpu")
"""
PROTOCOL = '''
from asyncio import gather
from editgauge.types import Score, ScoreSpec
from editgauge.protocols import Protocol

class Questions(Protocol):
    """Asks for each phrase of the edit in both pictures, as EditVal's rules do."""
    name, about, paper, version = "bench-questions", "For this benchmark.", "none", "1"
    deviations = ()
    scores = (ScoreSpec("seen", True, (0.0, 1e9)),)

    async def score(self, item, see):
        phrases = item.edit.subject.split(",")
        asked = [see.detect(image, each, least=0) for image in (item.source, item.edited) for each in phrases]
        return {"seen": Score(float(sum(map(len, await gather(*asked)))))}

questions = Questions()
'''


def make_model(folder: Path, tiny: bool) -> Path:
    """OWL-ViT base-patch32 as its configuration describes it, or a tiny one of the same architecture."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    layers = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    small = {"text_config": layers, "vision_config": {**layers, "image_size": 64, "patch_size": 16}}
    config = transformers.OwlViTConfig(**small, projection_dim=16) if tiny else transformers.OwlViTConfig()
    transformers.OwlViTForObjectDetection(config).eval().save_pretrained(folder)
    side = config.vision_config.image_size
    transformers.OwlViTImageProcessorPil(size={"height": side, "width": side}).save_pretrained(folder)
    names = ("!", *PHRASES, "<unk>", "<|startoftext|>", "<|endoftext|>")
    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(names)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="<|startoftext|> $A <|endoftext|>",
        special_tokens=[(name, names.index(name)) for name in names[-2:]],
    )
    marks = {"pad_token": "!", "unk_token": "<unk>", "bos_token": names[-2], "eos_token": names[-1]}
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, **marks).save_pretrained(folder)
    return folder


def make_plugin(site: Path) -> Path:
    """Write the model and the protocol as a third-party package."""
    about = site / "editgauge_bench-1.dist-info"
    about.mkdir(parents=True)
    (site / "bench_model.py").write_text(MODEL)
    (site / "bench_protocol.py").write_text(PROTOCOL)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: editgauge-bench\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "[editgauge.models]\nbench-owl = bench_model:detector\n"
        "[editgauge.protocols]\nbench-questions = bench_protocol:questions\n"
    )
    return site


def make_edits(folder: Path, edits: int, side: int) -> list[tuple[Path, Path, list[str]]]:
    """`edits` edits, five of a source, two or three phrases each; the outcome is the source with a tinted part."""
    photos = [getattr(skimage.data, name)() for name in ("astronaut", "chelsea", "coffee", "rocket")]
    (folder / "bench").mkdir(parents=True)
    (folder / "outcomes").mkdir()
    load, lines = [], []
    for number in range(edits):
        which = number // EDITS_PER_SOURCE
        source, outcome = folder / "bench" / f"{which}.png", folder / "outcomes" / f"e{number}.png"
        photo = np.roll(photos[which % len(photos)], 29 * which, axis=1)
        picture = cv2.cvtColor(cv2.resize(photo, (side, side), interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2BGR)
        if not source.exists():
            cv2.imwrite(str(source), picture)
        picture[: side // 4 + number % EDITS_PER_SOURCE, :, 0] //= 2
        cv2.imwrite(str(outcome), picture)
        phrases = [PHRASES[(which + place) % len(PHRASES)] for place in range(2 + number % 2)]
        told = {"id": f"e{number}", "source": source.name, "type": "object_addition", "subject": ",".join(phrases)}
        lines.append(json.dumps({**told, "instruction": "add it"}) + "\n")
        load.append((source, outcome, phrases))
    (folder / "bench" / "edits.jsonl").write_text("".join(lines))
    return load


class Bench:
    """One load and one model, scored by whole commands."""

    def __init__(self, folder: Path, model: Path, site: Path) -> None:
        self._folder, self._count = folder, folder / "count"
        self._environment = {**os.environ, "PYTHONPATH": str(site), "BENCH_MODEL": str(model)}
        self._environment |= {"BENCH_COUNT": str(self._count), "EDITGAUGE_CACHE": str(folder / "cache")}

    def run(self, processes: int = 1, remember: bool = True) -> tuple[int, float, float]:
        """Return forward passes, seconds and peak memory (MB) of one `editgauge run` into a new folder."""
        shutil.rmtree(self._folder / "run", ignore_errors=True)
        self._count.write_bytes(b"")
        words = [sys.executable, "-m", "editgauge", "run", str(self._folder / "bench"), "--quiet"]
        words += ["--outcomes", f"m={self._folder / 'outcomes'}", "--out", str(self._folder / "run")]
        words += ["--protocol", "bench-questions", "--model", "detector=bench-owl", "--processes", str(processes)]
        size = {"EDITGAUGE_CACHE_BYTES": "10e9" if remember else "0"}
        started = time.perf_counter()
        process = subprocess.Popen(words, env={**self._environment, **size}, stdout=subprocess.DEVNULL)
        peak = [0]
        watcher = threading.Thread(target=watch, args=(process.pid, peak))
        watcher.start()
        if process.wait() != 0:
            sys.exit("the run failed")
        watcher.join()
        return self._count.stat().st_size, time.perf_counter() - started, peak[0] / 1e6


def one_forward_per_question(load: list[tuple[Path, Path, list[str]]], model: Path) -> tuple[int, float]:
    """Run the network once per edit, image and phrase, as the released scripts do."""
    started = time.perf_counter()
    import torch
    import transformers

    network: Any = transformers.OwlViTForObjectDetection.from_pretrained(model).eval()
    processor = transformers.OwlViTImageProcessorPil.from_pretrained(model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    forwards = 0
    for source, outcome, phrases in load:
        for path in (source, outcome):
            pixels = processor(cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB), return_tensors="pt")
            for phrase in phrases:
                words = tokenizer([phrase], padding="max_length", max_length=16, return_tensors="pt")
                with torch.inference_mode():
                    network(input_ids=words["input_ids"], attention_mask=words["attention_mask"], **pixels)
                forwards += 1
    return forwards, time.perf_counter() - started


def questions(edits: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model, site = make_model(folder / "model", tiny=False), make_plugin(folder / "site")
        load = make_edits(folder / "load", edits, 512)
        bench = Bench(folder / "load", model, site)
        print(f"OWL-ViT base-patch32, {edits} edits of {-(-edits // EDITS_PER_SOURCE)} photographs, 2-3 phrases each")
        plain_forwards, plain = one_forward_per_question(load, model)
        print(f"  one forward per question: {plain_forwards:4d} forwards  {plain:7.1f} s")
        forwards, seconds, _ = bench.run()
        gain = f"{plain_forwards / forwards:.1f}x fewer forwards, {plain / seconds:.1f}x less time"
        print(f"  editgauge run:            {forwards:4d} forwards  {seconds:7.1f} s   {gain}")
        again, second, _ = bench.run()
        print(
            f"  a second run:             {again:4d} forwards  {second:7.1f} s   1/{seconds / second:.0f} of the time"
        )
        (_, one, _), (_, two, _) = (bench.run(processes, remember=False) for processes in (1, 2))
        print(f"  2 processes against 1:                   {two:7.1f} s   {one / two:.2f}x, nothing remembered")


def growth(sizes: list[int]) -> None:
    print("memory with the number of pictures, a tiny model of the same architecture, 1 process")
    for edits in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            model, site = make_model(folder / "model", tiny=True), make_plugin(folder / "site")
            make_edits(folder / "load", edits, 128)
            forwards, seconds, memory = Bench(folder / "load", model, site).run()
            print(f"  {edits:6d} edits: {forwards:6d} pictures  {seconds:6.1f} s  {memory:5.0f} MB at most")


LITE_MEMORY = """
import sys
import cv2, numpy as np, skimage.data
from editgauge._util.batching import run_async
from editgauge.models.answers import Prompt
from editgauge.models.profiles import choose_models, models_of
from editgauge.models.roles import Service

async def ask_all(see, picture):
    found = await see.detect_all(picture)
    await see.segment(picture, Prompt(boxes=found.boxes[:3]))
    await see.classes(picture)
    await see.patches(picture)
    await see.classify(picture)
    await see.read_text(picture)
    await see.distance(picture, np.ascontiguousarray(picture[:, ::-1]))
    await see.similarity("a cat", "a dog")
    if "face_reader" in models.models:
        await see.faces(picture)

profile, pictures = sys.argv[1], int(sys.argv[2])
models = choose_models(profile, {"fid_features": "none"}, models_of(profile))
photos = [getattr(skimage.data, name)() for name in ("astronaut", "chelsea", "coffee", "rocket")]
with Service(models.models) as see:
    for number in range(pictures):
        size = 448 + 64 * (number % 5), 512
        photo = np.roll(photos[number % len(photos)], 29 * number, axis=1)
        run_async(ask_all(see, cv2.resize(photo, size, interpolation=cv2.INTER_AREA)))
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def memory(pictures: int) -> None:
    """Print the peak memory of one worker with every model of a profile except the one for FID."""
    print(f"memory of one process that asked every model about {pictures} pictures of five sizes")
    for profile in ("lite", "lite-plus"):
        words = [sys.executable, "-c", LITE_MEMORY, profile, str(pictures)]
        ended = subprocess.run(words, check=True, capture_output=True, text=True)
        print(f"  {profile:10s} {int(ended.stdout.split()[-1]) / 1000:6.0f} MB at most")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--edits", type=int, default=60)
    options.add_argument("--growth", default="100,1000,5000")
    options.add_argument("--pictures", type=int, default=30)
    options.add_argument("--only", default="questions,growth,memory")
    chosen = options.parse_args()
    if "questions" in chosen.only:
        questions(chosen.edits)
    if "memory" in chosen.only:
        memory(chosen.pictures)
    if "growth" in chosen.only:
        growth([int(size) for size in chosen.growth.split(",")])


if __name__ == "__main__":
    main()
