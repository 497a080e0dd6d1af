"""`editgauge study`, from a run to ratings, with the same words in Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge.studies import RaterInfo, Study

VERBS = ("create", "invite", "serve", "status", "export", "import_", "analyze", "exclude", "include", "forget")


def run(*words: object) -> str:
    ended = CliRunner().invoke(groups["study"], [str(word) for word in words], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_the_whole_way_of_a_study(
    small_run: Callable[..., Path], plain_design: Path, tmp_path: Path, work: Callable[..., int]
) -> None:
    index = tmp_path / "study"
    made = run("create", small_run(), "--design", plain_design, "--raters", 2, "--out", index, "--quiet")
    assert "12 items with 2 raters each, and 0 gold items" in made
    assert "No raters are invited yet" in run("status", index)
    links = run("invite", index, "--count", 2, "--url", "https://lab.example/", "--label", "lab").splitlines()
    assert all(line.split()[1].startswith("https://lab.example/enter/") for line in links)
    with Study.open(index) as study:
        for line in links:
            rater: RaterInfo = study.rater(line.rpartition("/")[2])
            work(study, rater)
        assert not any(line.rpartition("/")[2].encode() in (index / "study.db").read_bytes() for line in links)
    status = " ".join(run("status", index).split())
    assert "24 of 24 answers, 12 of 12 items complete; 0 being answered, 0 surplus; complete." in status
    assert "24 lines" in run("export", index, "--out", tmp_path / "ratings.jsonl")
    assert "24 lines" in run("export", index, "--form", "answers", "--out", tmp_path / "answers.csv")
    assert "24 were there already" in run("import", index, tmp_path / "answers.csv")
    assert "12 answers of r0001 are void" in run("exclude", index, "r0001", "--reason", "at random")
    assert "at random" in " ".join(run("status", index).split())
    assert "12 answers of r0001 count again; 0 are surplus" in run("include", index, "r0001")
    assert "is forgotten" in run("forget", index, "r0002")
    assert "gain" in run("analyze", index)
