"""What a paper needs: a methods section derived from the run folder alone, and figures that stand alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from xml.etree import ElementTree

import pytest

from editgauge.errors import BadInputError
from editgauge.reports._paper_figures import NAMESPACE
from editgauge.reports.export import export
from editgauge.results import JournalEntry, Run

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]
MODELS = {"detector": {"name": "owl", "id": "owl_v2", "revision": "abc123", "sha256": "f" * 64, "license": "MIT"}}


@pytest.fixture
def run(make_run: MakeRun, make_record: Make) -> Path:
    plain = Run.open(make_run(make_record(), name="plain")).manifest.protocols["toy"]
    toy = replace(plain, paper="Doe & Roe, 2024.", version="3", deviations=("50 % of it is guessed.",))
    records = [
        make_record("a", {"gain": 0.5, "loss": 0.1}, method="one_a"),
        make_record("b", {"gain": 0.7, "loss": "refused"}, place=1, source="dog.png", edit_type="size", method="one_a"),
        make_record("a", {"gain": -0.0, "loss": 0.3}, method="猫"),
    ]
    return make_run(*records, models=MODELS, seed=7, protocols={"toy": toy}, environment={"numpy": "2.0.0"})


def test_the_methods_section_names_everything(run: Path) -> None:
    text = export(run, format="methods-text").decode()

    for output in (
        *("benchmark toys", "2 edits of 2 source images", "2 methods were evaluated: one_a and 猫", "toy, version 3"),
        *("Doe & Roe, 2024", "gain (higher is better); loss (lower is better)", "- 50 % of it is guessed."),
        *(
            "detector: owl_v2 (revision abc123",
            "f" * 64,
            "95% confidence intervals",
            "max-t",
            "McNemar",
            "seed of the run is 7",
        ),
        *("EditGauge 0.1.0", "numpy 2.0.0", "Of 6 scores, 1 has no value"),
        Run.open(run).manifest.edits_sha256[:12],
    ):
        assert output in text, output


def test_markdown_and_latex_say_the_same(run: Path) -> None:
    """With their own headings, and every sign of theirs escaped."""
    latex, markdown = export(run, format="methods-latex").decode(), export(run, format="methods-markdown").decode()

    assert r"\paragraph{Data.}" in latex
    assert r"one\_a" in latex
    assert r"Doe \& Roe" in latex
    assert r"\item 50 \% of it is guessed." in latex
    assert latex.count(r"\begin{itemize}") == latex.count(r"\end{itemize}") == 2
    assert not re.search(r"(?<!\\)[&%$#_]", latex)
    assert "**Data.** We evaluated" in markdown
    assert "- 50 % of it is guessed." in markdown


def test_no_folder_of_the_machine_is_told(make_run: MakeRun, make_record: Make) -> None:
    models = {"detector": {"name": "mine", "id": "/home/ada/secret/weights/mine.pt", "revision": "1"}}
    text = export(make_run(make_record(), models=models), format="methods-text").decode()

    assert "ada" not in text
    assert "/nowhere" not in text
    assert "…/weights/mine.pt" in text


def test_the_folder_for_a_paper(run: Path, tmp_path: Path) -> None:
    listed = export(run, format="paper", out=tmp_path / "paper").decode().splitlines()

    results = sorted(str(path.relative_to(tmp_path / "paper")) for path in (tmp_path / "paper").rglob("*.*"))
    assert results == listed
    assert {"methods.md", "methods.tex", "methods.txt", "tables.md", "tables.tex"} <= set(listed)
    svgs = [name for name in listed if name.endswith(".svg")]
    assert len(svgs) == 2 * (1 + 1 + 2) + 3  # of both scores: all edits, heat map, two methods; and the edit types
    assert (tmp_path / "paper" / "tables.tex").read_bytes() == export(run, format="latex")


def test_a_figure_stands_alone(run: Path, tmp_path: Path) -> None:
    """No class, no variable of a style sheet, nothing to fetch: colors and sizes are written into it."""
    export(run, format="paper", out=tmp_path)
    for file in tmp_path.rglob("*.svg"):
        text = file.read_text("utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == f"{{{NAMESPACE}}}svg"
        assert "class=" not in text
        assert "var(" not in text
        assert "href" not in text
        assert root.findtext(f"{{{NAMESPACE}}}title")
        assert all(item.get("fill") and item.get("font-size") for item in root.iter(f"{{{NAMESPACE}}}text"))


def test_a_pdf_for_every_figure_whose_names_the_font_knows(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("svglib", reason="NOT TESTED: needs pip install 'editgauge[figures]'")
    export(run, format="paper", out=tmp_path)
    pdfs = {path.name: path.read_bytes() for path in tmp_path.rglob("*.pdf")}
    assert "method-1-one_a.pdf" in pdfs
    assert all(content.startswith(b"%PDF-") for content in pdfs.values())
    assert not [name for name in pdfs if name in {"heat-map.pdf", "all-edits.pdf"}]


def test_without_the_extra_it_says_so_and_writes_the_rest(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "svglib.svglib", None)
    listed = export(run, format="paper", out=tmp_path).decode()

    assert ".pdf" not in listed
    assert "pip install 'editgauge[figures]'" in caplog.text


def test_a_folder_is_asked_for(run: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="pass `out`"):
        export(run, format="paper")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match="is a file"):
        export(run, format="paper", out=tmp_path / "file")


def test_the_command_says_where_it_lies(
    run: Path, tmp_path: Path, editgauge: Callable[..., CompletedProcess[str]]
) -> None:
    output = editgauge("export", run, "--format", "paper", "--out", tmp_path / "paper").stdout
    assert output.endswith(f"files in {tmp_path / 'paper'}: methods, tables and figures.\n")
