"""`build probes` on a folder of photographs, as users bring them: with broken files, twins, and too few."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import skimage
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge._util.images import read_image, write_png
from editgauge.audits._probe_set import read_probes, split_of
from editgauge.audits.probes import probes
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError
from editgauge.models.weights import available

pytestmark = pytest.mark.slow

needs_eyes = pytest.mark.skipif(
    not all(map(available, ("efficientdet-lite2", "u2netp"))), reason="NOT TESTED: run `editgauge models pull lite`"
)
PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Photographs that scikit-image carries, in copies so that both halves have some; and what lies about besides."""
    place = tmp_path / "photographs"
    place.mkdir()
    there = [path for name in PHOTOGRAPHS if (path := Path(skimage.__file__).parent / "data" / name).is_file()]
    for number in range(6):
        path = there[number % len(there)]
        shutil.copy(path, place / f"{number}-{path.name}")
    write_png(read_image(there[0])[:, ::-1].copy(), place / "twin.png")
    shutil.copy(there[0], place / "twin.jpg")
    (place / "broken.jpg").write_bytes(b"no picture")
    (place / "._hidden.jpg").write_bytes(b"no picture")
    (place / "notes.txt").write_text("no picture")
    return place


def invoked(*words: str) -> tuple[int, str]:
    told = CliRunner().invoke(groups["build"], ["probes", *words])
    return told.exit_code, told.output


@needs_eyes
def test_a_folder_of_photographs_becomes_probes(folder: Path, tmp_path: Path) -> None:
    words = ("--images", str(folder), "--limit", "4", "--out", str(tmp_path / "probes"))
    code, told = invoked(*words)
    assert code == 0, told
    assert "broken.jpg" in told
    made = read_probes(tmp_path / "probes")
    assert {probe.split for probe in made} == {"tuning", "held_back"}
    assert all(probe.split == split_of(probe.photo) for probe in made)
    assert len(open_benchmark(tmp_path / "probes").edits) == len(made)
    assert {"twin-jpg.png", "twin-png.png"} <= {path.name for path in (tmp_path / "probes" / "pictures").iterdir()}
    assert not list((tmp_path / "probes" / "pictures").glob("*hidden*"))
    again = invoked(*words)
    assert again[0] == 0
    assert read_probes(tmp_path / "probes") == made


def test_too_few_photographs_are_told_before_anything_is_looked_at(folder: Path, tmp_path: Path) -> None:
    for path in sorted(folder.iterdir())[3:]:
        path.unlink()
    with pytest.raises(BadInputError, match="each half needs 2"):
        probes(out=tmp_path / "probes", images=folder, quiet=True)
    with pytest.raises(BadInputError, match="cannot be listed"):  # and the same folder can be given again
        probes(out=tmp_path / "probes", images=tmp_path / "nowhere", quiet=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInputError, match="holds no pictures"):
        probes(out=tmp_path / "probes", images=tmp_path / "empty", quiet=True)


@needs_eyes
def test_so_few_edits_that_one_half_has_none_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="none lies on a held-back photograph; raise `limit`"):
        probes(out=tmp_path / "probes", images=folder, limit=1, quiet=True)
    assert not list((tmp_path / "probes").iterdir()), "what is advised must be possible in the same folder"


@needs_eyes
def test_another_folder_of_photographs_wants_another_folder_of_probes(folder: Path, tmp_path: Path) -> None:
    probes(out=tmp_path / "probes", images=folder, limit=4, quiet=True)
    with pytest.raises(BadInputError, match="limit: 4 there, 3 asked for"):
        probes(out=tmp_path / "probes", images=folder, limit=3, quiet=True)
