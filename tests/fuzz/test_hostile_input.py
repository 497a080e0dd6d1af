"""Whatever strangers send, the answer is a result or an error a user can read: never another exception.

`make test` tries the same few examples every time; `make fuzz` tries new ones until its time is used up.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import io
import json
import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

import editgauge
from editgauge._util.images import Pixels, load_image, png_bytes
from editgauge.benchmarks.folder import load
from editgauge.engine.scorer import Scorer
from editgauge.errors import BadImageError, BadInputError, EditGaugeError
from editgauge.instructions import parse_instruction
from editgauge.judges._endpoint import find_fault, parse_reply
from editgauge.judges._parsing import UnparsableReplyError
from editgauge.judges._questions import FreeText, PairwiseAnswer, Ratings, Scale, YesNo
from editgauge.protocols import rubric
from editgauge.protocols.rubric._model import open_rubric
from editgauge.results import JournalEntry
from editgauge.serving._app import make_app
from editgauge.serving._scoring import OneScorer

SECONDS = float(os.environ.get("EDITGAUGE_FUZZ_SECONDS", "0"))
"""For each of the tests here; 0 for a fixed number of examples."""
EXAMPLES = 60
BUILT_IN_RUBRICS = Path(rubric.__file__).parent / "built_in"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
MUTATIONS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255), st.sampled_from(["set", "cut", "insert"])))


def explore(check: Callable[..., None], **strategies: st.SearchStrategy[Any]) -> None:
    """Calls the check with many examples: always the same ones, or new ones as long as there is time."""
    if not SECONDS:
        settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)(given(**strategies)(check))()
        return
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        settings(max_examples=300, deadline=None, derandomize=False)(given(**strategies)(check))()


def mutated(content: bytes, changes: list[tuple[int, int, str]]) -> bytes:
    """The content with some bytes changed, inserted, or everything cut off after one."""
    result = bytearray(content)
    for place, value, how in changes:
        at = place % max(len(result), 1)
        if how == "set" and result:
            result[at] = value
        elif how == "insert":
            result[at:at] = bytes([value]) * (1 + place % 7)
        elif how == "cut" and place % 5 == 0:
            del result[at:]
    return bytes(result)


def seeds_of_images(photo: Pixels) -> list[bytes]:
    """Small pictures in every format that is read, with profile and orientation where the format has them."""
    image = Image.fromarray(np.ascontiguousarray(photo[::5, ::5]))
    exif = Image.Exif()
    exif[0x0112] = 6
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    more: dict[str, dict[str, Any]] = {
        "PNG": {"exif": exif, "icc_profile": profile},
        "JPEG": {"exif": exif, "icc_profile": profile},
        "WEBP": {"exif": exif, "icc_profile": profile},
        "TIFF": {"icc_profile": profile},
    }
    result = []
    for kind in ("PNG", "JPEG", "WEBP", "TIFF", "GIF", "BMP", "PPM"):
        out = io.BytesIO()
        image.save(out, kind, **more.get(kind, {}))
        result.append(out.getvalue())
    return result


def test_images(photo: Pixels, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seeds, path = seeds_of_images(photo), tmp_path / "a.png"

    def check(seed: int, changes: list[tuple[int, int, str]]) -> None:
        path.write_bytes(mutated(seeds[seed], changes))
        with suppress(BadImageError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pixels = load_image(path).pixels
            assert pixels.dtype == np.uint8
            assert pixels.shape[2:] == (3,)

    explore(check, seed=st.integers(0, len(seeds) - 1), changes=MUTATIONS)
    capfd.readouterr()  # libtiff talks


LINE = {
    "id": "a",
    "source": "s.png",
    "type": "color",
    "instruction": "Make the cat black.",
    "subject": "cat",
    "to": "black",
    "position": {"relation": "left", "anchor": "dog"},
    "mask": {"union": [[[1, 1, 9, 1, 9, 9]], {"box": [1, 1, 5, 5]}, {"runs": [0, 4], "size": [8, 8], "frame": 1}]},
    "turn": 1,
    "extras": {"level": 3},
}


def test_lines_of_a_benchmark(tmp_path: Path) -> None:
    (tmp_path / "s.png").touch()
    whole = json.dumps(LINE).encode()

    def check(field: str, value: Any, changes: list[tuple[int, int, str]]) -> None:
        line = json.dumps({**LINE, field: value}).encode() if field else mutated(whole, changes)
        (tmp_path / "edits.jsonl").write_bytes(line + b"\n")
        with suppress(BadInputError):
            load(tmp_path)

    explore(check, field=st.sampled_from(["", "", *LINE, "unknown"]), value=JSON, changes=MUTATIONS)


def places_in(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a JSON value, as keys from the root."""
    keys: Any = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    return [path, *(place for key in keys for place in places_in(tree[key], (*path, key)))]


def test_manifests(tmp_path: Path, make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> None:
    run = make_run(make_record("a"), make_record("b", place=1), make_record("a", method="theirs"))
    whole = json.loads((run / "manifest.json").read_text())
    places = [place for place in places_in(whole) if place]

    def check(place: tuple[Any, ...], value: Any, removed: bool) -> None:
        stored = copy.deepcopy(whole)
        inside = stored
        for key in place[:-1]:
            inside = inside[key]
        if removed:
            del inside[place[-1]]
        else:
            inside[place[-1]] = value
        (run / "manifest.json").write_text(json.dumps(stored))
        for use in (
            lambda: editgauge.verify(run, recompute=0, quiet=True),
            lambda: editgauge.export(run, format="csv", out=tmp_path / "out.csv"),
            lambda: editgauge.export(run, format="markdown"),
        ):
            with suppress(EditGaugeError):
                use()

    explore(check, place=st.sampled_from(places), value=JSON, removed=st.booleans())


def test_answers_of_judges() -> None:
    ratings = Ratings((("following", ()), ("quality", ("perceptual quality",))), 1, 5)
    forms = (YesNo(), Scale(1, 5), PairwiseAnswer(), FreeText(), ratings)
    pieces = (
        "yes",
        "no",
        "A",
        "B",
        "tie",
        "3",
        "<think>",
        "</think>",
        "```json",
        "```",
        '{"answer": ',
        "}",
        "As an AI ",
        "quality: ",
        '"following": 4',
    )
    texts = st.text(max_size=60) | st.lists(st.sampled_from(pieces) | st.text(max_size=4), max_size=40).map("".join)

    def check(text: str, body: Any) -> None:
        for form in forms:
            with suppress(UnparsableReplyError):
                form.read(text)
        said = {"choices": [{"message": {"content": text}}], "usage": body, "model": body}
        for reply in (body, said):
            with suppress(ValueError):
                find_fault(parse_reply(reply), "tiny-judge")

    explore(check, text=texts, body=JSON)


def test_rubric_files(tmp_path: Path) -> None:
    seeds = [path.read_bytes() for path in sorted(BUILT_IN_RUBRICS.glob("*.yaml"))]
    trees = [yaml.safe_load(seed) for seed in seeds]
    path = tmp_path / "mine.yaml"

    def check(seed: int, changes: list[tuple[int, int, str]], position: int, value: Any) -> None:
        if changes:
            path.write_bytes(mutated(seeds[seed], changes))
        else:
            positions = [keys for keys in places_in(trees[seed]) if keys]
            content = copy.deepcopy(trees[seed])
            *parents, last = positions[position % len(positions)]
            inside = content
            for key in parents:
                inside = inside[key]
            inside[last] = value
            path.write_text(yaml.safe_dump(content), "utf-8")
        open_rubric.cache_clear()
        with suppress(BadInputError):
            open_rubric(str(path))

    explore(check, seed=st.integers(0, len(seeds) - 1), changes=MUTATIONS, position=st.integers(0, 10**6), value=JSON)


def test_requests_to_the_service(photo: Pixels) -> None:
    image = base64.b64encode(png_bytes(np.ascontiguousarray(photo[::4, ::4]))).decode()
    good = {"sources": [image], "outcome": image, "instruction": "Make the cat black.", "to": "black", "mask": image}
    content = json.dumps(good).encode()

    with Scorer(["preservation"]) as scorer:
        transport = httpx.ASGITransport(make_app(OneScorer(scorer)), raise_app_exceptions=False)

        async def post(path: str, body: bytes) -> int:
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                response = await client.post(path, content=body, headers={"Content-Type": "application/json"})
                response.json()
                return response.status_code

        def check(field: str, value: Any, changes: list[tuple[int, int, str]]) -> None:
            body = json.dumps({**good, field: value}).encode() if field else mutated(content, changes)
            assert asyncio.run(post("/v1/score", body)) < 500
            assert asyncio.run(post("/v1/batch", b'{"items": [' + content + b", " + body + b"]}")) < 500

        explore(check, field=st.sampled_from(["", *good, "from", "unknown"]), value=JSON, changes=MUTATIONS)


def test_instructions() -> None:
    pieces = (
        "make", "add", "remove", "replace", "the cat", "a red hat", "with", "to the left of", "and", "then", "not",
        "it", "two", "把", "换成", "猫", "，", ".", ",", '"', "\x00", "\u202e", "\x1b[31m", "\n", "’", "{to}", "%s",
    )  # fmt: skip
    texts = st.text(max_size=80) | st.lists(st.sampled_from(pieces) | st.text(max_size=4), max_size=30).map(" ".join)

    def check(text: str, caption: str | None) -> None:
        with suppress(BadInputError):
            parsed = parse_instruction(text, caption)
            assert parsed.steps
            assert parse_instruction(text, caption) == parsed

    explore(check, text=texts, caption=st.none() | texts)
