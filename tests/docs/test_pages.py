"""The pages: tutorials run, the reference is up to date, links lead somewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]


TUTORIALS = ROOT / "docs" / "tutorials"


def run_blocks(page: Path, folder: Path) -> str:
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=1000)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_first_tutorial_runs_from_top_to_bottom(tmp_path: Path) -> None:
    run_blocks(TUTORIALS / "first-evaluation.md", tmp_path)


@pytest.mark.slow
def test_the_tutorial_on_generative_edits_runs(tmp_path: Path, shared: Path) -> None:
    for name in ("originals", "imagic"):
        shutil.copytree(shared / "tedbench" / name, tmp_path / name)
    output = run_blocks(TUTORIALS / "generative-edits.md", tmp_path)
    assert output.startswith("Done: yes")
    assert "The horse became a zebra." in output


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(TUTORIALS / "notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [data for cell in notebook.cells for output in cell.get("outputs", []) if (data := output.get("data"))]
    pages = [data["text/html"] for data in shown if "text/html" in data]
    assert pages[0].count("<img") == 2, "the result shows both pictures"
    assert (tmp_path / "report" / "index.html").exists()


def test_the_notebook_is_stored_without_outputs() -> None:
    cells = json.loads((TUTORIALS / "notebook.ipynb").read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)


def test_the_reference_is_what_the_program_says() -> None:
    done = subprocess.run([sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL))
    broken = [t for t in targets if not t.startswith(("http://", "https://")) and not (page.parent / t).exists()]
    assert not broken


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "protocols").glob("*.md")), ids=lambda page: page.stem)
def test_every_protocol_page_has_its_picture(page: Path) -> None:
    assert f"](../pictures/protocols/{page.stem}.jpg)" in page.read_text("utf-8")
    assert (ROOT / "docs/pictures/protocols" / f"{page.stem}.jpg").stat().st_size < 150_000
