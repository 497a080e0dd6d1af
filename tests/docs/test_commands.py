"""Every command on a page is one that the program takes; those of the README's first example are run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import skimage.data
from PIL import Image
from typer.main import get_command

import editgauge
from editgauge._cli import app
from editgauge._cli._options_file import take_file

ROOT = Path(__file__).parents[2]
SHELLS = ("", "bash", "sh", "console", "text")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page: Path) -> list[str]:
    """The lines of a page's code blocks that start with `editgauge`, without comments; continued lines are joined."""
    blocks = re.findall(r"^```([^\n]*)\n(.*?)^```\s*?$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    shown = [block for language, block in blocks if language in SHELLS]
    lines = "\n".join(shown).replace("\\\n", " ").splitlines()
    starts = [line.strip().removeprefix("$ ") for line in lines]
    return [line for line in starts if re.match(r"editgauge \S", line)]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_command_of_a_page_is_one_that_the_program_takes(page: Path) -> None:
    wrong = {line: problem for line in commands(page) if (problem := refusal(line))}
    assert not wrong


def refusal(line: str) -> str:
    """What the command line says against these words; nothing is run."""
    first = re.split(r" (?:>|\||&&) ", line)[0]
    words, file = take_file(shlex.split(first.replace("…", ""), comments=True)[1:])
    command: Any = get_command(app)
    while words and getattr(command, "commands", {}).get(words[0]):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands"):
        return "" if not words or words[0].startswith("-") else f"there is no verb '{words[0]}'"
    try:
        command.make_context(command.name, list(words))
    except Exception as error:  # typer brings its own copy of click's errors
        problem = "" if getattr(error, "exit_code", 1) == 0 else str(error) or type(error).__name__
        return "" if file and problem.startswith("Missing") else problem  # the file may hold it
    return ""


def taken_options(words: Sequence[str]) -> set[str]:
    """The options that the command of these words takes."""
    command: Any = get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return {name for parameter in command.params for name in parameter.opts}


def test_a_misspelled_command_would_be_noticed() -> None:
    assert "no verb 'rum'" in refusal("editgauge rum sample")
    assert "Missing" in refusal("editgauge edit sample --out outcomes")
    assert "No such option" in refusal("editgauge run sample --outcomes mine=x --protocl editval")


@pytest.mark.slow
def test_the_first_example_of_the_readme_runs(tmp_path: Path) -> None:
    editgauge.edit("sample", method="classical", out=tmp_path / "outcomes", limit=1, quiet=True)
    (tmp_path / "outcomes" / "chelsea-black.png").rename(tmp_path / "black-cat.png")
    Image.fromarray(skimage.data.chelsea()).save(tmp_path / "cat.png")  # type: ignore[no-untyped-call]
    code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[0]
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Done: yes")
