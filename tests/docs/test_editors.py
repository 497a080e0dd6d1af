"""The pages on making outcomes: what they show can be typed, and the wrapper of the recipes works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from editgauge.engine._options import pairs
from editgauge.methods.command import Command

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
EXTERNAL = (HOW_TO / "external-editors.md").read_text("utf-8")
STRIP = """
import sys
from pathlib import Path
from PIL import Image
source = Image.open(sys.argv[1]).resize((20, 20))
strip = Image.new("RGB", (40, 20))
strip.paste(source.point(lambda value: 255 - value), (20, 0))
Path("results/deep").mkdir(parents=True, exist_ok=True)
strip.save("results/deep/final_result.png")
"""


def blocks(text: str, language: str) -> list[str]:
    return [block.replace("\\\n", " ") for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["make-outcomes", "external-editors"])
def test_the_commands_of_a_page_run(page: str, tmp_path: Path, editgauge: Callable[..., object]) -> None:
    lines = "".join(blocks((HOW_TO / f"{page}.md").read_text("utf-8"), "bash")).splitlines()
    assert lines
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "editgauge"
        editgauge(*words, cwd=tmp_path)


def test_every_recipe_has_a_command_that_is_accepted() -> None:
    recipes = EXTERNAL.partition("## Recipes")[2]
    lines = [line for block in blocks(recipes, "text") for line in block.splitlines()]
    with_command = [shlex.split(line) for line in lines if "--command" in line]
    assert len(with_command) == recipes.count("\n### ") - 1, "BLIP-Diffusion is a Python function"
    for words in with_command:
        given = {word: value for word, value in pairwise(words) if word.startswith("--")}
        option = pairs([given["--option"]], "option", "") if "--option" in given else {}
        swept = pairs([given["--sweep"]], "sweep", "") if "--sweep" in given else {}
        command = given["--command"].replace("python ", f"{sys.executable} ", 1)
        Command(given["--method"], command, option | swept).settings()


def test_the_wrapper_takes_the_part_that_was_made_and_nothing_old(tmp_path: Path, photo: np.ndarray) -> None:
    wrapper = next(block for block in blocks(EXTERNAL, "python") if block.startswith("# newest.py"))
    (tmp_path / "newest.py").write_text(wrapper)
    (tmp_path / "editor.py").write_text(STRIP)
    Image.fromarray(photo).save(tmp_path / "source.png")
    words = [sys.executable, "newest.py", "out.png", "results", "2/2", sys.executable]
    subprocess.run([*words, "editor.py", "source.png"], cwd=tmp_path, check=True)
    expected = 255 - np.asarray(Image.open(tmp_path / "source.png").resize((20, 20)))
    assert (np.asarray(Image.open(tmp_path / "out.png")) == expected).all()

    os.utime(tmp_path / "results" / "deep" / "final_result.png", (0, 0))
    ended = subprocess.run([*words, "-c", ""], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "left no picture in results" in ended.stderr
