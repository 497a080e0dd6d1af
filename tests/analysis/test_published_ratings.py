"""Ratings and judge's answers in the files in which others publish them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge.analysis.agree import agree
from editgauge.analysis.people.ratings import Rating, read_ratings
from editgauge.benchmarks.datasets import ratings as write_ratings
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import JournalEntry

SHARED = os.environ.get("EDITGAUGE_SHARED_DATA")


def written(file: Path, *lines: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def given(name: str, place: object) -> Path:
    return Path(f"{name}={place}")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Two raters, as ImagenHub publishes them."""
    head = "uid\tours\ttheirs"
    written(tmp_path / "IE" / "IE_rater1.tsv", head, "sample_1_1.jpg\t[0.5, 1]\t[0,0]", "sample_2_1.jpg\t[1,1]\t")
    written(tmp_path / "IE" / "IE_rater2.tsv", head, "sample_1_1.jpg\t[1, 1]\t[0,0.5]", "sample_2_1.jpg\t[1,1]\t[1,1]")
    return tmp_path / "IE"


def test_imagenhub_tables_give_both_aspects_and_their_geometric_mean(tables: Path) -> None:
    ratings = read_ratings(given("imagenhub", tables))
    assert Rating("sample_1_1", "ours", 0.5, "IE_rater1", "SC") in ratings
    assert Rating("sample_1_1", "ours", 1.0, "IE_rater1", "PQ") in ratings
    assert Rating("sample_1_1", "ours", math.sqrt(0.5), "IE_rater1", "overall") in ratings
    assert len(ratings) == 7 * 3, "an empty cell is no answer"


def test_files_can_be_named_one_by_one(tables: Path) -> None:
    both = ",".join(str(file) for file in sorted(tables.glob("*.tsv")))
    assert read_ratings(given("imagenhub", both)) == read_ratings(given("imagenhub", tables))
    assert {each.rater for each in read_ratings(given("imagenhub", tables / "IE_rater2.tsv"))} == {"IE_rater2"}


def test_every_faulty_cell_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "r.tsv", "uid\tours\ttheirs", "a.jpg\t[1]\tgood", "b.jpg\t[1, 1]\t[-1, 0]")
    with pytest.raises(BadInputError) as raised:
        read_ratings(given("imagenhub", file))
    assert raised.value.problems == (
        "r.tsv:2: column 'ours': expected [SC, PQ] such as [0.5, 1], got '[1]'",
        "r.tsv:2: column 'theirs': expected [SC, PQ] such as [0.5, 1], got 'good'",
        "r.tsv:3: column 'theirs': expected [SC, PQ] such as [0.5, 1], got '[-1, 0]'",
    )


def test_what_is_missing_or_unknown_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="imagenhub"):
        read_ratings(given("imagenhubb", tmp_path))
    with pytest.raises(BadInputError, match=r"no \.tsv files"):
        read_ratings(given("imagenhub", tmp_path))
    with pytest.raises(BadInputError, match="no such file"):
        read_ratings(given("imagenhub", tmp_path / "none.tsv"))
    with pytest.raises(BadInputError, match="turn is missing"):
        read_ratings(given("magicbrush", written(tmp_path / "ratings.csv", "id,rater,overall", "1,a,3")))


def test_the_only_method_of_a_run_is_meant_where_the_files_name_none(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    lines = [f"{i},1,{rater},{i},{i % 3}" for i in range(8) for rater in ("a", "b")]
    file = written(tmp_path / "mb" / "ratings.csv", "id,turn,rater,overall,quality", *lines, "8,1,a,,")
    records = [make_record(f"{i}-1", {"gain": float(i)}, method="m", place=i, source=f"{i}.png") for i in range(8)]
    found = agree(make_run(*records), ratings=given("magicbrush", file))
    assert {each.question for each in found.rated} == {"overall", "quality"}
    best = next(each for each in found.rated if each.question == "overall")
    assert best.levels["pooled"].spearman.value == pytest.approx(1)
    two = [make_record(f"{i}-1", {"gain": 1.0}, method=name, place=i) for i in range(8) for name in ("m", "n")]
    with pytest.raises(BadInputError, match="do not name the method") as raised:
        agree(make_run(*two), ratings=given("magicbrush", file.parent))
    assert raised.value.problems == ("m", "n")


def test_published_ratings_become_a_csv_that_agree_reads(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "ratings.csv"
    assert write_ratings("imagenhub", data=tables, out=out) == 21
    assert read_ratings(out) == read_ratings(given("imagenhub", tables))
    with pytest.raises(BadInputError, match="--method"):
        write_ratings("magicbrush", data=tables, out=out)


def test_answers_from_outside_stand_among_the_scores_in_their_direction(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    uids = [f"sample_{i}_1.jpg" for i in range(9)]
    rows = [f"{uid}\t[{(i % 3) / 2}, {(i // 3) / 2}]" for i, uid in enumerate(uids)]
    human = written(tmp_path / "h" / "rater1.tsv", "uid\tours", *rows)
    judged = [f"ours\t{uid}\t[{i % 3}, 9]\t[{i // 3}, 10]" for i, uid in enumerate(uids)]
    judge = written(
        tmp_path / "gpt.tsv", "method\tuid\tSC_scores\tPQ_scores", *judged[1:], "ours\tsample_0_1.jpg\t\t[]"
    )
    lpips = {uid: {"LPIPS": 1 - i % 3 / 4} for i, uid in enumerate(uids)}
    written(tmp_path / "metrics" / "ours.json", json.dumps(lpips))
    edits = [uid.removesuffix(".jpg") for uid in uids]
    run = make_run(*(make_record(edit, {"gain": 1.0}, method="ours", place=i) for i, edit in enumerate(edits)))
    sources = [given("viescore", judge), given("viescore", tmp_path / "metrics")]
    found = agree(run, ratings=given("imagenhub", human), external=sources)
    values = {(each.question, each.protocol, each.spec.name): each for each in found.rated}
    judge_on_sc = values["SC", "external[gpt]", "SC"]
    assert judge_on_sc.levels["pooled"].spearman.value == pytest.approx(1)
    assert judge_on_sc.unscored == 1, "an answer that could not be read is no score"
    metric = values["SC", "external[metrics]", "LPIPS"]
    assert not metric.spec.higher_is_better
    assert metric.levels["pooled"].spearman.value == pytest.approx(1)
    only = agree(run, ratings=given("imagenhub", human), score=["external*/SC"], external=sources)
    assert {each.spec.name for each in only.rated} == {"SC"}


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="NOT TESTED: EDITGAUGE_SHARED_DATA does not name the published data")
def test_the_published_correlations_of_viescore_come_out_of_the_raw_files(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    place = Path(SHARED or "") / "imagenhub_viescore"
    expected = json.loads((place / "expected_correlations.json").read_text())["gemini_0shot"]["per_method_spearman"]
    human = given("imagenhub", place / "human_ratings")
    methods = sorted(expected)
    edits = sorted({rating.edit for rating in read_ratings(human)})
    records = [
        make_record(edit, {"gain": 1.0}, method=method, place=i, source=edit.rsplit("_", 1)[0])
        for i, edit in enumerate(edits)
        for method in methods
    ]
    judge = given("viescore", place / "vie_scores" / "text_guided_ie_gemini_0shot.tsv")
    found = agree(make_run(*records), ratings=human, score=["external*/*"], external=[judge])
    for aspect, question in (("SC", "SC"), ("PQ", "PQ"), ("O", "overall")):
        (score,) = (each for each in found.rated if (each.question, each.spec.name) == (question, question))
        parts = score.levels["per_method"].parts
        for method in methods:
            assert parts[method].value == pytest.approx(expected[method][aspect], abs=0.001), (method, aspect)
