"""Makes the pictures of README and docs, from photographs in the public domain only.

    python docs/pictures.py

Needs the photographs (`editgauge data pull photos`), the small models (`editgauge models pull lite`) and, for the
screenshot, a Chromium.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import sync_playwright

import editgauge
from editgauge._util.images import Pixels, read_image
from editgauge.benchmarks import open_benchmark
from editgauge.methods import methods
from editgauge.types import Edit

OUT = Path(__file__).parent / "pictures"
SHOWN = ("chelsea-black", "astronaut-pad", "motorcycle-blur", "rocket-right")
METHODS = ("identity", "classical", "overdone", "careless")
WIDTH, HEIGHT, LINE, GAP = 300, 200, 26, 8
CARD_HEIGHT = 545
"""Of the gallery's card down to its scores; the remarks below them are left out."""


def editors() -> None:
    """Source, classical, overdone and careless side by side."""
    edits = {edit.id: edit for edit in open_benchmark("sample").edits}
    columns = ("source", "classical", "overdone", "careless")
    font = ImageFont.load_default(15)
    sheet = Image.new("RGB", (len(columns) * (WIDTH + GAP) + GAP, LINE + len(SHOWN) * (HEIGHT + LINE + GAP)), "white")
    draw = ImageDraw.Draw(sheet)
    for column, name in enumerate(columns):
        draw.text((GAP + column * (WIDTH + GAP), 4), name, fill="black", font=font)
    for row, name in enumerate(SHOWN):
        top = LINE + row * (HEIGHT + LINE + GAP)
        draw.text((GAP, top + 4), f"“{edits[name].instruction}”", fill="#555555", font=font)
        for column, method in enumerate(columns):
            tile = _tile(_outcome(edits[name], method))
            sheet.paste(tile, (GAP + column * (WIDTH + GAP), top + LINE))
    sheet.save(OUT / "editors.jpg", quality=88)


def _outcome(edit: Edit, method: str) -> Pixels:
    source = read_image(edit.source.path)
    return source if method == "source" else methods.get(method).edit(edit, source, 0)


def _tile(pixels: Pixels) -> Image.Image:
    """Crop the center of the image to a tile."""
    picture = Image.fromarray(pixels)
    scale = max(WIDTH / picture.width, HEIGHT / picture.height)
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS)
    left, top = (picture.width - WIDTH) // 2, (picture.height - HEIGHT) // 4
    return picture.crop((left, top, left + WIDTH, top + HEIGHT))


def card() -> None:
    """One edit in the gallery of a report; only of photographs that may be shown."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium here: the screenshot was not made")
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        report = _report(str(_public_domain_benchmark(Path(temporary) / "benchmark")), Path(temporary) / "few")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1240, "height": 900})
        page.goto(f"{report.as_uri()}#gallery")
        page.wait_for_timeout(4000)  # thumbnails are loaded as they come into view
        shot = page.locator("#gallery article").first.screenshot()
        browser.close()
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    picture.crop((0, 0, picture.width, CARD_HEIGHT)).save(OUT / "card.jpg", quality=88)


def _report(benchmark: str, folder: Path) -> Path:
    for method in METHODS:
        editgauge.edit(benchmark, method=method, out=folder / method, quiet=True)
    places = {method: folder / method for method in METHODS}
    editgauge.run(
        benchmark,
        outcomes=places,
        protocol=["editgauge", "editval", "pixlens", "preservation"],
        out=folder / "run",
        models="lite",
        quiet=True,
    )
    return editgauge.report(folder / "run", out=folder / "report", quiet=True)


def _public_domain_benchmark(folder: Path) -> Path:
    """Write the selected edits of `sample` as a benchmark, with their recipes."""
    import yaml

    from editgauge.benchmarks import sample

    content = yaml.safe_load((Path(sample.__file__).parent / "sample.yaml").read_text("utf-8"))
    chosen = [edit for edit in content["edits"] if edit["id"] in SHOWN]
    names = {edit["source"] for edit in chosen} | {"rocket"}
    paths = {edit.source.name: edit.source.path for edit in open_benchmark("sample").edits}
    folder.mkdir(parents=True)
    sources = {}
    for name in sorted(names):
        source = dict(content["sources"][name])
        path = paths[source["image"]] if source["image"] in paths else paths[name]
        shutil.copy(path, folder / path.name)
        sources[name] = {**source, "image": path.name}
    few = {"name": "public domain", "sources": sources, "edits": chosen}
    (folder / "benchmark.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(few)), sort_keys=False), "utf-8")
    return folder


def seen() -> None:
    """Draw what the small models detect in two photographs."""
    edits = {edit.id: edit for edit in open_benchmark("sample").edits}
    shown = (("chelsea-black", ("cat",)), ("motorcycle-blur", ("motorcycle",)), ("astronaut-pad", ("person", "tie")))
    tiles = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, phrases in shown:
            drawn = Path(temporary) / f"{name}.png"
            editgauge.see(edits[name].source.path, phrases, out=drawn)
            picture = Image.open(drawn)
            tiles.append(picture.resize((round(picture.width * 300 / picture.height), 300), Image.Resampling.LANCZOS))
    sheet = Image.new("RGB", (sum(tile.width for tile in tiles) + GAP * (len(tiles) - 1), 300), "white")
    left = 0
    for tile in tiles:
        sheet.paste(tile, (left, 0))
        left += tile.width + GAP
    sheet.save(OUT / "seen.jpg", quality=88)


def changes() -> None:
    """Draw what changed when the cat was made black."""
    edit = next(edit for edit in open_benchmark("sample").edits if edit.id == SHOWN[0])
    with tempfile.TemporaryDirectory() as temporary:
        drawn = Path(temporary) / "changes.png"
        editgauge.changes(edit.source.path, _outcome(edit, "classical"), out=drawn)
        Image.open(drawn).convert("RGB").save(OUT / "changes.jpg", quality=85)


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    editors()
    seen()
    changes()
    card()
