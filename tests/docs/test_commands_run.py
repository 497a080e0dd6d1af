"""Commands of the pages are run as they stand there, but for few edits; the others are listed with what they need."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import skimage.data
from PIL import Image

from tests.docs.test_commands import PAGES, ROOT, commands, taken_options

NEEDS = {
    r"--judge (?!rules)|openai:|transformers:|endpoint:": "a language model",
    r"^judges (?:compare|captions)|--judge-choices|rubric:": "answers of a language model",
    r"--models paper|embedder=clip|--method (?:instructpix2pix|sdedit|imagic)|disentangle|outcomes/\*": "hub models",
    r"=dreamsim:": "a hub model",
    r"imagenhub|kris|pie_bench|[mM]agic[bB]rush|editinspector|gedit|tedbench|--coco|(?:run|edit) editval": "files",
    r"unibench\.json|genai-bench": "files of others",
    r"--command \"(?:python|bash)|yolo11n|BENCHMARK|SLURM|owlvit|--fields": "what only you have",
    r"people\.(?:jsonl|csv)|run-seed|--engine ray|Batch_1|project-1|choices\.jsonl": "answers of people, or a cluster",
    r"^(?:serve|study serve|build review)": "somebody who stops it: tests/serving, tests/studies/web, tests/builders",
    r"^(?:demo|audit|build probes|build tune|build training)|demo/run": "minutes: tests/cli, tests/audits",
    r"models pull|data pull|cache clear|models verify": "the network, or your own cache: tests/models, tests/util",
    r"calibrat|^agree run|estimate|accept|--ratings|study (?:import|analyze|export)": "ratings: tests/analysis",
    r"my-benchmark|merge shards": "a folder of yours: tests/engine/test_merge.py",
    r"--items 200": "more outcomes than there are here: tests/studies",
    r"unibench-sample|negligible|overdone": "longer runs: tests/golden",
}
"""What the words of a command hold, and what it needs that is not here, or where it is tested."""
FEW = ["--limit", "2"]


def reason(line: str) -> str:
    """Why a command of a page is not run here; nothing where it is."""
    words = line.removeprefix("editgauge ")
    return next((why for pattern, why in NEEDS.items() if re.search(pattern, words)), "")


def runnable() -> Iterator[tuple[Path, list[str]]]:
    for page in PAGES:
        lines = [line for line in commands(page) if not reason(line)]
        if lines and page.parent.name != "reference":  # made from docstrings, each example on its own
            yield page, lines


def test_most_pages_have_a_command_that_is_run_and_no_excuse_is_left_over() -> None:
    every = [line.removeprefix("editgauge ") for page in PAGES for line in commands(page)]
    unused = [pattern for pattern in NEEDS if not any(re.search(pattern, line) for line in every)]
    assert not unused
    assert sum(len(lines) for _, lines in runnable()) >= 45


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, editgauge: Callable[..., Any]) -> Path:
    """A folder with everything that the pages speak of: images, outcomes, a benchmark, a finished run and copies."""
    place = tmp_path_factory.mktemp("pages")
    photo, portrait = skimage.data.chelsea(), skimage.data.astronaut()  # type: ignore[no-untyped-call]
    for name in ("before.png", "source.png", "street.jpg", "photo.png"):
        Image.fromarray(photo).save(place / name)
    for name in ("after.png", "edited.png"):
        Image.fromarray(255 - photo).save(place / name)
    Image.fromarray(portrait).save(place / "portrait.jpg")
    editgauge("edit", "sample", "--method", "classical", "--out", "outcomes", *FEW, "-q", cwd=place)
    for name in ("mine", "theirs"):
        shutil.copytree(place / "outcomes", place / "elsewhere" / name)
    shutil.move(place / "elsewhere" / "mine", place / "outcomes" / "mine")
    shutil.move(place / "elsewhere" / "theirs", place / "outcomes" / "theirs")
    options = ["--outcomes", "mine=outcomes/", "--protocol", "preservation", "--protocol", "pixlens", *FEW, "-q"]
    editgauge("run", "sample", *options, "--out", "run", cwd=place)
    for name in ("baseline", "run-of-ada", "run-of-grace", "run-of-yesterday"):
        shutil.copytree(place / "run", place / name)
    (place / "instructions.jsonl").write_text(json.dumps({"text": "make the cat black"}) + "\n")
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/how-to/options.md").read_text("utf-8"), re.DOTALL)
    (place / "evaluation.yaml").write_text(block)
    editgauge("study", "create", "run", "--out", "study", "-q", cwd=place)
    return place


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "lines"),
    [pytest.param(*each, id=str(each[0].relative_to(ROOT))) for each in runnable()],
)
def test_the_commands_of_a_page_run(
    page: Path, lines: list[str], workspace: Path, tmp_path: Path, editgauge: Callable[..., Any]
) -> None:
    place = tmp_path / "pages"
    shutil.copytree(workspace, place)
    if any(" study create " in line for line in lines):
        shutil.rmtree(place / "study")
    for line in lines:
        for command in line.split(" && "):
            first = re.split(r" (?:>|\|) ", command)[0]
            words = shlex.split(first, comments=True)[1:]
            few = FEW if "--limit" in taken_options(words) and "--limit" not in words else []
            editgauge(*words, *few, cwd=place)
