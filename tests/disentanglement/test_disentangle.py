"""The verb from latents to the page; the command line and Python are one function."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from editgauge._cli import app
from editgauge._cli._show_inspect import show_disentanglement
from editgauge.disentanglement.disentangle import disentangle
from editgauge.errors import BadInputError
from editgauge.results import JournalEntry
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

WORDS = {
    "objects": ["chair", "bowl", "ball"],
    "color": ["red", "green", "blue", "abstract"],
    "style": ["retro", "modern", "surreal", "abstract", "vintage"],
}
VERDICT = ProtocolEntry("For tests.", "none", "1", (), (ScoreSpec("edit", True, (0.0, 1.0)),))


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    file = tmp_path / "words.json"
    file.write_text(json.dumps(WORDS))
    return file


@pytest.fixture
def latents(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / "latents" / name for name in ("mine", "theirs", "<i>third")]
    for seed, folder in enumerate(folders):
        folder.mkdir(parents=True)
        draw = np.random.default_rng(seed)
        for word in dict.fromkeys(WORDS["color"] + WORDS["style"]):
            for prompt in (word, *(f"{word} {thing}" for thing in WORDS["objects"])):
                np.save(folder / f"{prompt}.npy", draw.normal(size=(4, 3, 3)))
    Image.new("RGB", (300, 200), "red").save(folders[0] / "red chair.png")
    return folders


def test_numbers_and_page(
    latents: list[Path],
    vocabulary: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make_run: Callable[..., Path],
    make_record: Callable[..., JournalEntry],
) -> None:
    verdicts = {"mine": 0.9, "theirs": 0.4, "<i>third": 0.1}
    records = [make_record("a", {"edit": value}, method=method) for method, value in verdicts.items()]
    run = make_run(*records, protocols={"toy": VERDICT})
    written = disentangle(latents, out=tmp_path / "out", vocabulary=vocabulary, runs=[run])
    assert written.page == tmp_path / "out" / "disentanglement.html"
    told = json.loads((tmp_path / "out" / "disentanglement.json").read_text("utf-8"))
    assert (told["schema"], told["seed"], told["vocabulary"]) == (1, 0, WORDS)
    assert [entry["model"] for entry in told["models"]] == list(verdicts)
    assert len({entry["latents_sha256"] for entry in told["models"]}) == 3
    assert told["models"][0]["overall"]["error"]["n"] == (4 * 3 + 5 * 4) * 3
    assert [len(entry["models"]) for entry in told["beside"]] == [3, 3, 3]
    page = written.page.read_text("utf-8")
    assert page.count("data:image/png;base64,") == 1
    assert "<i>third" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    show_disentanglement(written, {"quiet": False})
    shown = capsys.readouterr().out
    assert "without 'abstract'" in shown
    assert "n 3" in shown


def test_a_page_of_others_is_not_touched_and_nothing_is_computed(
    latents: list[Path], vocabulary: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "disentanglement.html").write_text("mine")
    with pytest.raises(BadInputError, match="it would be overwritten"):
        disentangle(latents, out=tmp_path / "out", vocabulary=vocabulary, quiet=True)
    assert not (tmp_path / "out" / "disentanglement.json").exists()


def test_the_command_line(latents: list[Path], vocabulary: Path, tmp_path: Path) -> None:
    words = ["disentangle", str(latents[0]), "--vocabulary", str(vocabulary), "--out", str(tmp_path / "out")]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    assert "Intra-sample error" in ended.output
    assert "Args:" not in CliRunner().invoke(app, ["disentangle", "--help"]).output
