"""`editgauge run` and what reads a run folder: `compare`, `export`, `verify`, `diff`; as users type them."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from editgauge._cli import app
from editgauge._cli._show_runs import show_comparison
from editgauge._util.images import Pixels, write_png
from editgauge.analysis.compare import Comparison
from editgauge.results import JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

Command = Callable[..., subprocess.CompletedProcess[str]]
Make = Callable[..., Path]
PROTOCOL = ("--protocol", "preservation")
RUN = [
    "run",
    "photos",
    "--outcomes",
    "soft=soft",
    "--outcomes",
    "blurred[sigma=2]=blurred",
    *PROTOCOL,
    "--out",
    "scored",
]
ROWS = 2 * 6 * 12  # methods, edits, scores
SCORED = ROWS - 7 * 6 - 6
FORMATS = ("csv", "jsonl", "parquet", "markdown", "latex")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, make_benchmark: Make, make_outcomes: Make) -> Path:
    """A folder with the benchmark `photos` and the outcomes of two methods; one outcome is missing."""
    home = tmp_path_factory.mktemp("made")
    benchmark = make_benchmark(home / "photos", edits=6, size=64)
    make_outcomes(benchmark, home / "soft", 1)
    make_outcomes(benchmark, home / "blurred", 6)
    (home / "blurred" / "edit-003.png").unlink()
    return home


@pytest.fixture(scope="module")
def scored(made: Path, editgauge: Command) -> Path:
    """The same with a finished run in `scored`, and what the command said."""
    ended = editgauge(*RUN, cwd=made)
    (made / "stdout").write_text(ended.stdout)
    (made / "stderr").write_text(ended.stderr)
    return made


@pytest.fixture
def home(scored: Path, tmp_path: Path) -> Path:
    """A copy in which a test may change things; the copied run knows the images at their first place."""
    shutil.copytree(scored, tmp_path / "home")
    return tmp_path / "home"


def export(editgauge: Command, home: Path, format: str = "jsonl", run: str = "scored") -> str:  # noqa: A002
    return editgauge("export", run, "--format", format, cwd=home).stdout


def test_a_run_shows_means_and_what_is_missing_and_what_to_do_next(scored: Path) -> None:
    table, remarks = (scored / "stdout").read_text(), (scored / "stderr").read_text()
    table = " ".join(table.split())
    assert "psnr ↑" in table
    assert "blurred[sigma=2]" in table, "brackets are part of the name, not markup"
    assert "12 outcomes: 11 fully scored, 0 partly scored, 1 unscored." in table, "a missing file; masks do not apply"
    soft, blurred = remarks.splitlines()[:2]
    assert soft.startswith("soft: ")
    assert "6 of 6 outcomes" in soft
    assert blurred.startswith("blurred[sigma=2]: ")
    assert "5 of 6 outcomes" in blurred
    assert "1 missing" in blurred
    assert "Next: editgauge report scored --out scored-report" in remarks


def test_given_again_it_continues_and_changes_nothing(editgauge: Command, home: Path) -> None:
    before = export(editgauge, home)
    shutil.rmtree(home / "scored")
    editgauge(*RUN, "--quiet", cwd=home)
    again = editgauge(*RUN, cwd=home)
    assert "12 of 12 outcomes were scored before; nothing is left to do." in again.stderr
    assert export(editgauge, home) == before


def test_it_continues_from_another_folder_and_is_verified_there(editgauge: Command, scored: Path) -> None:
    words = [word.replace("=", f"={scored.name}/") if word.endswith(("soft", "blurred")) else word for word in RUN]
    words = [f"{scored.name}/{word}" if word in {"photos", "scored"} else word for word in words]
    words = [word.replace(f"sigma={scored.name}/2", "sigma=2").replace("]=b", f"]={scored.name}/b") for word in words]
    again = editgauge(*words, cwd=scored.parent)
    assert "12 of 12 outcomes were scored before" in again.stderr
    assert "is sound" in editgauge("verify", scored / "scored", cwd=scored.parent).stdout


def test_quiet_says_nothing(editgauge: Command, home: Path) -> None:
    output = editgauge(*RUN, "-q", cwd=home)
    assert (output.stdout, output.stderr) == ("", "")


def test_another_seed_starts_anew_says_why_and_keeps_the_earlier_scores(editgauge: Command, home: Path) -> None:
    output = editgauge(*RUN, "--seed", 1, cwd=home).stderr
    assert "Starting over, because the seed changed from 0 to 1." in output
    assert "The earlier scores are kept in scored/superseded/0001." in output
    assert "were scored before" not in output
    assert export(editgauge, home) == export(editgauge, home, run="scored/superseded/0001")


def test_a_further_method_is_added(editgauge: Command, home: Path, make_outcomes: Make) -> None:
    make_outcomes(home / "photos", home / "more", 3)
    before = set(export(editgauge, home).splitlines())
    editgauge("run", "photos", "--outcomes", "more=more", *PROTOCOL, "--out", "scored", "--quiet", cwd=home)
    after = set(export(editgauge, home).splitlines())
    assert before < after
    assert len(after) == ROWS + 6 * 12


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["--outcomes", "soft"], "--outcomes takes NAME=FOLDER, got 'soft'."),
        (["--outcomes", "=soft"], "--outcomes takes NAME=FOLDER, got '=soft'."),
        (["--outcomes", "a=soft", "--outcomes", "a=blurred"], "--outcomes names 'a' twice: 'soft' and 'blurred'."),
        (["--outcomes", "a=gone"], "There are no outcomes of 'a' at '{home}/gone': no such folder or JSONL file."),
        (["--outcomes", "a=empty"], "'{home}/empty' holds no images of 'a'"),
        (["--outcomes", "a=soft", "--protocol", "psnr"], "There is no protocol called 'psnr'."),
        (["--outcomes", "a=soft", "--out", "photos/edits.jsonl"], "'photos/edits.jsonl' cannot be written"),
    ],
)
def test_a_mistake_is_one_message(editgauge: Command, made: Path, words: list[str], output: str) -> None:
    (made / "empty").mkdir(exist_ok=True)
    ended = editgauge("run", "photos", *words, cwd=made, code=2)
    assert output.format(home=made) in ended.stderr
    assert ended.stdout == ""
    assert not (made / "run").exists()


def test_an_unknown_benchmark_is_named(editgauge: Command, made: Path) -> None:
    output = editgauge("run", "sampel", "--outcomes", "a=soft", cwd=made, code=2).stderr
    assert "There is no benchmark called 'sampel'. Did you mean 'sample'?" in output


def test_a_folder_that_is_no_run_is_named(editgauge: Command, made: Path) -> None:
    for verb, *words in (["export", "--format", "csv"], ["verify"], ["compare", "--methods", "a", "b"]):
        output = editgauge(verb, "soft", *words, cwd=made, code=2).stderr
        assert "'soft' is not a run folder: it has no manifest.json." in output


def test_compare_says_who_is_better(editgauge: Command, scored: Path) -> None:
    output = editgauge(
        "compare", "scored", "--methods", "soft", "blurred[sigma=2]", "--score", "psnr_outside", cwd=scored
    ).stdout
    psnr = next(line for line in output.splitlines() if line.split()[:1] == ["psnr_outside"])
    soft, blurred = [float(word) for word in psnr.split() if re.fullmatch(r"\d+(?:\.\d+)?", word)][:2]
    assert soft > blurred
    assert "clustered by source image" in output
    assert "1 edit has a score for one method only" in output


@pytest.mark.parametrize("methods", [("soft", "sof"), ("soft", "soft")])
def test_compare_refuses_what_cannot_be_compared(editgauge: Command, scored: Path, methods: tuple[str, str]) -> None:
    output = editgauge("compare", "scored", "--methods", *methods, cwd=scored, code=2).stderr
    assert "Did you mean 'soft'?" in output or "different methods" in output


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.slow
def test_every_format_goes_to_standard_output_or_to_a_file(editgauge: Command, home: Path, format: str) -> None:  # noqa: A002
    words = ["export", "scored", "--format", format]
    editgauge(*words, "--out", "new/file", cwd=home)
    if format == "parquet":  # no text, so not by way of the fixture
        script = Path(sys.executable).with_name("editgauge")
        printed = subprocess.run([str(script), *words], capture_output=True, check=True, cwd=home).stdout
    else:
        printed = editgauge(*words, cwd=home).stdout.encode()
    assert (home / "new" / "file").read_bytes() == printed
    if format == "parquet":
        assert pq.read_table(io.BytesIO(printed)).num_rows == ROWS
    elif format in {"csv", "jsonl"}:
        assert len(printed.splitlines()) == ROWS + (format == "csv")
    else:
        assert b"blurred" in printed


def test_tables_hold_the_same_numbers(editgauge: Command, scored: Path) -> None:
    lines = [json.loads(line) for line in export(editgauge, scored).splitlines()]
    rows = list(csv.DictReader(io.StringIO(export(editgauge, scored, "csv"))))
    assert [{key: "" if value is None else str(value) for key, value in line.items()} for line in lines] == rows
    missing = [line for line in lines if line["edit"] == "edit-003" and line["method"] == "blurred[sigma=2]"]
    assert {(line["value"], line["status"], line["reason"]) for line in missing} == {
        (None, "unscored", "missing_outcome")
    }


def test_an_unknown_format_is_named(editgauge: Command, scored: Path) -> None:
    output = editgauge("export", "scored", "--format", "json", cwd=scored, code=2).stderr
    assert "There is no format called 'json'. Did you mean 'jsonl'?" in output


@pytest.mark.slow
def test_an_export_cut_short_by_the_reader_leaves_no_traceback(scored: Path) -> None:
    script = Path(sys.executable).with_name("editgauge")
    command = f"'{script}' export scored --format jsonl | head -1"
    for unbuffered in ("", "1"):
        environment = {"PYTHONUNBUFFERED": unbuffered} if unbuffered else {}
        ended = subprocess.run(command, shell=True, capture_output=True, cwd=scored, check=True, env=environment)
        assert ended.stderr == b""
        assert json.loads(ended.stdout)["edit"] == "edit-000"


def test_a_sound_run_is_verified(editgauge: Command, scored: Path) -> None:
    output = editgauge("verify", "scored", cwd=scored).stdout
    assert "scored is sound: " in output
    assert f"{SCORED} scores, {ROWS - SCORED} unscored and 14 images as recorded." in output


def test_verify_ends_with_1_when_an_image_or_a_score_changed(editgauge: Command, home: Path, photo: Pixels) -> None:
    shutil.rmtree(home / "scored")
    editgauge(*RUN, "--quiet", cwd=home)
    write_png(photo, home / "soft" / "edit-001.png")
    (home / "photos" / "2.png").unlink()
    output = editgauge("verify", "scored", cwd=home, code=1).stdout
    assert f"changed image: {home}/soft/edit-001.png has other pixels than were scored" in output
    assert f"missing image: {home}/photos/2.png" in output
    assert "2 problems in scored" in output
    table = home / "scored" / "scores" / "000001.parquet"
    table.write_bytes(table.read_bytes()[:-1] + b"?")
    assert "changed score: " in editgauge("verify", "scored", cwd=home, code=1).stdout


def test_the_same_run_twice_does_not_differ(editgauge: Command, scored: Path) -> None:
    assert f"All {SCORED} scores are the same." in editgauge("diff", "scored", "scored", cwd=scored).stdout


def test_diff_ends_with_1_and_says_what_moved(editgauge: Command, home: Path, photo: Pixels) -> None:
    write_png(photo, home / "soft" / "edit-001.png")
    editgauge(*RUN[:-1], "other", "--quiet", "--seed", 5, cwd=home)
    output = editgauge("diff", "scored", "other", cwd=home, code=1).stdout
    assert "seed" in output
    assert "1 outcomes have other pixels" in output
    assert "edge_distance_outside" in output, "nothing is cut off"
    assert "blurred" not in output.partition("scores that differ")[2]


def test_ids_may_be_long_and_in_any_writing(
    editgauge: Command, tmp_path: Path, make_benchmark: Make, make_outcomes: Make
) -> None:
    ids = ["猫を黒く", "sürprise ñ", "x" * 200, "ä[b]%20'\"$(x)&;", "-q", "🐈"]
    make_benchmark(tmp_path / "bénch [1]", edits=6, size=64, id=ids)
    make_outcomes(tmp_path / "bénch [1]", tmp_path / "öut cómes")
    decomposed = unicodedata.normalize("NFD", ids[1])
    (tmp_path / "öut cómes" / f"{ids[1]}.png").rename(tmp_path / "öut cómes" / f"{decomposed}.png")
    words = ["run", "./bénch [1]", "--outcomes", "mëthod[η=1]=öut cómes", *PROTOCOL, "--out", "ein lauf"]
    output = editgauge(*words, cwd=tmp_path)
    assert "mëthod[η=1]" in output.stdout
    assert "Next: editgauge report 'ein lauf' --out 'ein lauf-report'" in output.stderr
    lines = [json.loads(line) for line in export(editgauge, tmp_path, run="ein lauf").splitlines()]
    assert list(dict.fromkeys(line["edit"] for line in lines)) == ids
    assert {line["reason"] for line in lines} == {None, "not_applicable"}
    assert "is sound" in editgauge("verify", "ein lauf", cwd=tmp_path).stdout
    assert "猫を黒く" in export(editgauge, tmp_path, "csv", "ein lauf")


def test_the_first_edits_alone_can_be_scored(editgauge: Command, made: Path, tmp_path: Path) -> None:
    words = ["run", "photos", "--outcomes", "soft=soft", "--limit", "2", *PROTOCOL, "--out", str(tmp_path / "run")]
    output = editgauge(*words, cwd=made).stderr
    assert "found 2 of 2 outcomes" in output
    assert "missing" not in output
    rows = editgauge("export", tmp_path / "run", "--format", "jsonl", cwd=made).stdout.splitlines()
    assert {json.loads(row)["edit"] for row in rows} == {"edit-000", "edit-001"}
    assert "agree" in editgauge("verify", tmp_path / "run", "--benchmark", made / "photos", cwd=made).stdout


METHODS = ("instruct-pix2pix", "another-method", "third")


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> Path:
    """Many color edits, few of size, which are harder; the first method is better; the second has no picture of some.

    The protocol has the name of a paper's.
    """
    random = np.random.default_rng(0)
    records = []
    for edit in range(60):
        size = edit % 10 == 0
        for position, method in enumerate(METHODS):
            gain = float(np.clip(random.normal(0.9 - 0.2 * position - 0.3 * size, 0.05), 0, 1))
            lost = method == "another-method" and edit % 6 == 0
            scores: dict[str, float | str] = {"gain": "missing_outcome" if lost else gain, "loss": 0.5}
            kind = "size" if size else "color"
            output = {"place": edit, "source": f"{edit}.png", "edit_type": kind, "protocol": "pixlens"}
            records.append(make_record(f"e{edit}", scores, method=method, **output))
    toy = Run.open(make_run(make_record("a"), name="toy")).manifest.protocols["toy"]
    return make_run(*records, protocols={"pixlens": toy})


def test_everything_in_a_hundred_columns(editgauge: Command, run: Path) -> None:
    output = editgauge("compare", run, "--methods", *METHODS[:2]).stdout
    assert max(map(len, output.splitlines())) <= 100
    lines = output.splitlines()
    row = next(index for index, line in enumerate(lines) if line.startswith("gain ↑") and "0.0000***" in line)
    assert lines[row].split()[-1] == METHODS[0]
    places = lines[row + 1]
    assert "rank 1 [1-1]" in places
    assert "2 [2-2]" in places
    assert "n 50" in places
    low, _, high = lines[row + 2].split()[0].partition("…")
    assert float(high) - float(low) == pytest.approx(10 / 60, abs=0.002)
    assert "the mean if all unscored outcomes, up to 10, had the worst or the best value." in output


def test_the_way_of_averaging_is_shown_where_it_matters(editgauge: Command, run: Path) -> None:
    output = editgauge("compare", run, "--methods", METHODS[0], METHODS[2]).stdout
    below = output.partition("depend on the way of averaging")[2]
    (row, *_) = [line for line in below.splitlines() if line.startswith("gain ↑")]
    count_weighted, by_type = (float(word) for word in row.replace("◂", "").split()[3:5])
    assert count_weighted - by_type > 0.05
    assert "◂" in row.split(str(by_type))[0], "the paper of PixLens counts every edit once"
    assert "loss" not in below


def test_it_is_not_shown_where_it_does_not(
    editgauge: Command, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    records = [
        make_record(f"e{edit}", {"gain": edit / 20}, method=method, place=edit, source=f"{edit // 2}.png")
        for method in METHODS[:2]
        for edit in range(20)
    ]
    output = editgauge("compare", make_run(*records), "--methods", *METHODS[:2]).stdout
    assert "averaging" not in output
    assert "not significant" in " ".join(output.split())


def test_scores_of_several_protocols_are_told_apart(
    editgauge: Command, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    toy = Run.open(make_run(make_record("a"), name="toy")).manifest.protocols["toy"]
    records = [
        make_record("a", {"gain": 0.5}, method=method, protocol=protocol)
        for method in METHODS[:2]
        for protocol in ("one-way", "other-way")
    ]
    protocols = {name: replace(toy, scores=toy.scores[:1]) for name in ("one-way", "other-way")}
    output = editgauge("compare", make_run(*records, protocols=protocols), "--methods", *METHODS[:2]).stdout
    assert "one-way" in output
    assert "other-way" in output


def test_what_the_correction_takes_back_is_named_with_its_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    """Three protocols have a score `edit`: the name alone does not say which one."""
    spec = ScoreSpec("edit", True, (0.0, 1.0))
    shared = Comparison("editval", spec, "mine", "theirs", None, only_first=0, only_second=0)
    lost = replace(shared, protocol="pixlens", verdict="first", p_over_scores=0.09)
    show_comparison([shared, lost])
    assert "not significant: pixlens/edit." in " ".join(capsys.readouterr().out.split())


ENTRY = ProtocolEntry("About " * 40, "none", "1", (), (ScoreSpec("gain", True, (0.0, 1.0)),))
NEWER = dataclasses.replace(ENTRY, version="2", deviations=("Another rule.",))
MODEL = {"id": "eyes", "revision": "abc", "role": "detector"}


def test_gate_prints_a_table_and_markdown_on_request(
    editgauge: Command, make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    base, worse = (
        make_run(
            *(
                make_record(f"e{index}", {"gain": 0.9 - drop - 0.001 * index}, place=index, source=f"{index}.png")
                for index in range(20)
            ),
            name=name,
        )
        for name, drop in (("base", 0.0), ("worse", 0.3))
    )
    words = ("gate", str(worse), "--against", str(base), "--score", "gain", "--max-drop", "0.05")

    table = editgauge(*words, code=1).stdout
    assert table.startswith("Gate failed: 1 worse.")
    assert "no longer scored" not in table
    assert "| score |" not in table

    markdown = editgauge(*words, "--markdown", code=1).stdout
    assert markdown.startswith("### ")
    assert "| score |" in markdown


def test_of_protocols_and_models_only_what_differs_is_shown(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    record = make_record(scores={"gain": 0.5})
    first = make_run(record, protocols={"toy": ENTRY, "gone": ENTRY}, models={"detector": MODEL})
    second = make_run(record, name="second", protocols={"toy": NEWER})
    output = CliRunner().invoke(app, ["diff", str(first), str(second)]).output
    rows = [" ".join(line.split()) for line in output.splitlines()]
    assert "protocol gone version 1 -" in rows
    assert "protocol toy, version 1 2" in rows
    assert "model detector id eyes, revision abc -" in rows
    assert "About" not in output
    assert "{" not in output


@pytest.fixture
def editor_home(tmp_path: Path, make_benchmark: Callable[..., Path]) -> Path:
    make_benchmark(tmp_path / "photos", edits=2, size=48)
    return tmp_path


def test_a_sweep_ends_with_the_command_to_score_it(editgauge: Command, plugin: Path, editor_home: Path) -> None:
    words = ["edit", "photos", "--method", "brighter", "--out", "made", "--sweep", "light=1,2", "--seeds", 2]
    output = editgauge(*words, plugin=plugin, cwd=editor_home).stderr
    assert "brighter[light=1]: 4 outcomes made, 0 kept, 0 absent, in made/brighter[light=1]" in output
    assert "no failures" in output
    assert output.endswith("Next: editgauge run photos --outcomes 'made/*'\n")


def test_a_command_is_a_method_and_its_failure_is_told(editgauge: Command, editor_home: Path) -> None:
    words = ["edit", "photos", "--method", "copy", "--out", "made", "--command"]
    output = editgauge(*words, "cp {source} {output}", cwd=editor_home).stderr
    assert "copy: 2 outcomes made" in output
    assert "Next: editgauge run photos --outcomes copy=made" in output
    failed = editgauge(*words[:-2], "elsewhere", "--command", "false {source} {output}", cwd=editor_home, code=1).stderr
    assert "absent, for example: edit-000: crashed: 'false' ended with 1: it said nothing" in failed
    assert "2 of 2 failed (2 crashed)" in failed
    assert "Next:" not in failed  # there is nothing to score


def test_bad_options_end_with_two_and_no_folder(editgauge: Command, plugin: Path, editor_home: Path) -> None:
    words = ["edit", "photos", "--method", "brighter", "--out", "made", "--option", "lihgt=1", "--option", "seeds=x"]
    output = editgauge(*words, plugin=plugin, cwd=editor_home, code=2).stderr
    assert "no option 'lihgt'; did you mean 'light'?" in output
    assert "no option 'seeds'" in output
    assert not (editor_home / "made").exists()


def test_the_list_of_methods_has_functions_classes_and_addresses(editgauge: Command, plugin: Path) -> None:
    results = {
        item["name"]: item["about"] for item in json.loads(editgauge("list", "methods", "--json", plugin=plugin).stdout)
    }
    assert results["brighter"] == "Adds light everywhere."
    assert results["mirrored"] == "Turns the picture around."
    assert {"endpoint:MODEL@URL", "python:MODULE:NAME"} <= set(results)
    assert not any(about.startswith("cannot be used") for about in results.values())
