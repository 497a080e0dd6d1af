"""Follow CONTRIBUTING.md step by step: a metric, a model, a protocol, an edit type and a verb, two files each.

All are added to a copy of the package; one command then scores an edit with them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "editgauge"
METRIC = '''
import numpy as np
from editgauge.metrics.base import check_pair, metric

@metric(higher_is_better=False, range=(0.0, 1.0), formula="|mean(source) - mean(edited)|")
def mean_shade(source, edited, mask=None):
    """Difference of the mean brightness."""
    check_pair(source, edited, mask)
    return float(abs(np.mean(source) - np.mean(edited)))
'''
MODEL = """
import numpy as np
from editgauge.models.roles import ModelCard

class MeanColor:
    weights, batch = (), 4
    card = ModelCard(
        role="image_embedder", id="mean-color", revision="1", sha256="0" * 64, license="none", input_size=(1, 1)
    )

    def embed(self, images):
        means = np.stack([image.mean(axis=(0, 1)) + 1 for image in images])
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)
"""
PROTOCOL = """
from editgauge.types import Score, ScoreSpec
from editgauge.protocols import Protocol

class Likeness(Protocol):
    name, about, paper, version, deviations = "likeness", "Similarity of the images.", "None.", "1", ()
    needs = ("image_embedder",)
    scores = (ScoreSpec("likeness", True, (-1.0, 1.0), "Cosine of the embeddings."),)

    async def score(self, item, perception):
        before, after = await perception.embed_image(item.source), await perception.embed_image(item.edited)
        return {"likeness": Score(min(1.0, float(before @ after)))}

likeness = Likeness()
"""
EDIT_TYPE = """    EditType(
        name="weather",
        meaning="the weather of the scene changes",
        example="Make it snow.",
        needs=("to",),
        region="everywhere",
        value="attribute",
    ),
"""
RULE = """

@rule("weather")
async def snow(scene):
    return Score(float(scene.item.edited.mean() > scene.item.source.mean()))
"""
VERB = '''
def describe(benchmark: str, *, shout: bool = False) -> str:
    """Return the name of a benchmark.

    Example:
        $ editgauge describe sample
        >>> editgauge.describe("sample")

    Args:
        benchmark: its name.
        shout: use capitals.
    """
    return benchmark.upper() if shout else benchmark
'''
NEW: dict[str, dict[str, tuple[str, str]]] = {
    "metric": {
        "metrics/mean_shade.py": ("", METRIC),
        "metrics/__init__.py": ("BUILT_IN = {\n", '    "mean_shade": "editgauge.metrics.mean_shade:mean_shade",\n'),
    },
    "model": {
        "models/lite/mean_color.py": ("", MODEL),
        "models/catalog.py": (
            "MODELS: dict[str, ModelRow] = {\n",
            '    "mean-color": ModelRow("image_embedder", "lite.mean_color:MeanColor"),\n',
        ),
    },
    "protocol": {
        "protocols/likeness.py": ("", PROTOCOL),
        "protocols/__init__.py": ("BUILT_IN = {\n", '    "likeness": "editgauge.protocols.likeness:likeness",\n'),
    },
    "edit type": {
        "edit_types.py": ('    EditType(\n        name="shape"', EDIT_TYPE),
        "protocols/editval/_rules.py": ("", RULE),
    },
    "verb": {
        "engine/describe.py": ("", VERB),
        "_public.py": ('    "Look": {\n', '        "describe": "editgauge.engine.describe:describe",\n'),
    },
}
"""Task to the files it touches: the text after which something is inserted (empty: at the end), and what."""
INSERT_BEFORE = {"edit_types.py"}
"""Files in which it is inserted before that text instead."""


def _section(task: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    article = "an" if task[0] in "aeiou" else "a"
    section = re.search(rf"^## Add {article} {task}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert section, f"CONTRIBUTING.md has no section on adding {article} {task}"
    return section[1]


@pytest.mark.parametrize("task", NEW)
def test_a_task_touches_two_files_that_the_guide_names(task: str) -> None:
    assert len(NEW[task]) == 2
    section = _section(task)
    existing = [file for file in NEW[task] if (SOURCE / file).exists() and not file.endswith("rules.py")]
    assert [file for file in existing if Path(file).name not in section and file not in section] == []


def test_the_trace_of_one_item_names_modules_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    trace = text.partition("## One item, from the command line to the table")[2].partition("\n## ")[0]
    rows = [line.split("|")[2:4] for line in trace.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) > 10
    missing = []
    for modules, text in rows:
        folder = ""
        for name in re.findall(r"`([\w/.]+\.py|[\w/]+/[\w/]*)`", f"{modules} {text}"):
            folder = name.rpartition("/")[0] if "/" in name else folder
            path = name if "/" in name else f"{folder}/{name}"
            if not (SOURCE / path).exists():
                missing.append(path)
    assert missing == []


@pytest.mark.slow
def test_what_was_added_by_the_guide_scores_an_edit(
    tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    shutil.copytree(SOURCE, tmp_path / "src" / "editgauge", ignore=shutil.ignore_patterns("__pycache__"))
    for files in NEW.values():
        for file, (anchor, new) in files.items():
            path = tmp_path / "src" / "editgauge" / file
            old = path.read_text("utf-8") if path.exists() else ""
            assert not anchor or old.count(anchor) == 1, (file, anchor)
            index = old.index(anchor) + (0 if file in INSERT_BEFORE else len(anchor)) if anchor else len(old)
            path.write_text(old[:index] + new + old[index:], encoding="utf-8")
    benchmark = make_benchmark(tmp_path / "benchmark", edits=2, type=["weather", "weather"], to=["snow", "snow"])
    outcomes = make_outcomes(benchmark, tmp_path / "mine")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    def command(*arguments: object) -> str:
        call = [sys.executable, "-m", "editgauge", *map(str, arguments)]
        ended = subprocess.run(call, env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    protocols = ("--protocol", "preservation[metrics=mean_shade]", "--protocol", "likeness", "--protocol", "editval")
    command("run", benchmark, "--outcomes", f"mine={outcomes}", *protocols, "--model", "image_embedder=mean-color")
    rows = map(json.loads, command("export", "run", "--format", "jsonl").splitlines())
    values = {(row["protocol"].partition("[")[0], row["name"]): row["value"] for row in rows}
    assert 0 < values["preservation", "mean_shade"] < 1
    assert 0 < values["likeness", "likeness"] <= 1
    assert values["editval", "edit"] == 0
    assert command("describe", "sample", "--shout").strip() == "SAMPLE"
