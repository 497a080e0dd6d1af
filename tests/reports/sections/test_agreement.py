"""With ratings or choices available the report says how far each score agrees with people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.analysis.agree import agree
from editgauge.errors import BadInputError
from editgauge.reports.report import report
from editgauge.reports.sections.agreement import disputes, people_tables
from editgauge.results import JournalEntry, Run

if TYPE_CHECKING:
    from tests.reports.conftest import Page


EDITS = 24


@pytest.fixture
def run(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Path:
    """`gain` follows what people say, `loss` (lower is better) says the opposite."""
    records = [
        make_record(
            f"e{n}",
            {"gain": (n % 12) / 12 if n else "refused", "loss": (n % 12) / 12},
            method=method,
            source=f"{n}.png",
            place=n,
        )
        for method in ("one", "two")
        for n in range(EDITS)
    ]
    return make_run(*records)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    rows = [f"e{n},{method},{1 + (n % 12) // 3},ada" for method in ("one", "two") for n in range(EDITS)]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["edit,method,value,rater", *rows, "stranger,one,3,ada"]) + "\n")
    return path


@pytest.fixture
def choices(tmp_path: Path) -> Path:
    output = [
        {"edit": f"e{n}", "first": "one", "second": "two", "chosen": "tie" if n < 4 else "first"} for n in range(EDITS)
    ]
    path = tmp_path / "choices.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in output))
    return path


def test_the_score_that_agrees_most_comes_first(run: Path, ratings: Path, choices: Path) -> None:
    rated, chosen, by_rating, by_choice = people_tables(agree(run, ratings=ratings, choices=choices))

    assert [row.spec.name for row in rated.rows] == ["gain", "loss"]
    best, worst = (row.cells[0] for row in rated.rows)
    assert float(best.text) > 0.9
    assert worst.text.startswith("−0.9")
    assert rated.rows[0].unscored == 2
    assert [name for name, _ in rated.columns] == ["pooled", "per method", "per rater", "by type", "system"]
    assert any("fewer than 3 pairs" in reason for reason in rated.reasons)
    assert chosen.title == "Choices"
    assert {row.cells[0].text for row in chosen.rows} == {"0.50"}
    assert [row.cells[1].text for row in chosen.rows] == ["–", "1.000"], "the first has nobody before it"
    assert [by_rating.title, by_choice.title] == ["Order of the methods, ratings", "Order of the methods, choices"]
    assert [name for name, _ in by_choice.columns] == ["Kendall", "Spearman", "1 one", "2 two"]
    assert any("fewer than 3 pairs" in reason for reason in by_choice.reasons)
    assert "ties of people are left out: 4." in chosen.about


def test_the_numbers_are_those_of_agree(run: Path, ratings: Path) -> None:
    results = agree(run, ratings=ratings)
    table, _ = people_tables(results)
    output = results.rated[0].levels["pooled"].spearman

    assert table.rows[0].cells[0].text == f"{output.value:.2f}"
    assert table.rows[0].cells[0].interval == f"[{output.low:.2f}, {output.high:.2f}]"
    assert table.rows[0].cells[0].n == output.n


def test_the_section_is_there_only_when_people_spoke(
    run: Path, ratings: Path, choices: Path, tmp_path: Path, as_page: Callable[[Path], Page]
) -> None:
    page = as_page(report(run, out=tmp_path / "with", quiet=True, ratings=ratings, choices=choices))
    section = page.section("agreement")
    assert len(section.all("svg", "profile")) == 2, "an order of two methods has no correlation to draw"
    assert len(section.all("table", "people")) == 4
    assert "Ratings: 48 of outcomes of this run; 1 about other outcomes, excluded." in section.full_text()
    without = as_page(report(run, out=tmp_path / "without", quiet=True))
    assert "agreement" not in [element.attributes["id"] for element in without.root.all("section")]


def test_triplets_and_judges_have_their_rows(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path], tmp_path: Path
) -> None:
    methods = {"ours": 0.6, "same": 0.9, "new": 0.2}
    records = [
        make_record(
            f"e{n}",
            {"gain": gain, "loss": 0.5 if method == "ours" else 0.9},
            method=method,
            source=f"{n}.png",
            place=n,
            edit_type=("color", "style")[n % 2],
        )
        for method, gain in methods.items()
        for n in range(EDITS)
    ]
    verdicts = [
        {"edit": f"e{n}", "first": "ours", "second": other, "chosen": "first", "swapped": "first", "rater": "tiny"}
        for n in range(EDITS)
        for other in ("same", "new")
    ]
    (tmp_path / "judge.jsonl").write_text("".join(json.dumps(verdict) + "\n" for verdict in verdicts))
    roles = "good=ours,preserved=same,modified=new"
    (table,) = people_tables(agree(make_run(*records), triplets=roles, judge_choices=[tmp_path / "judge.jsonl"]))
    assert [name for name, _ in table.columns] == ["both", "over same", "over new", "p", "color", "style"]
    assert {row.protocol + "/" + row.spec.name: [cell.text for cell in row.cells[:3]] for row in table.rows} == {
        "toy/loss": ["1.00", "1.00", "1.00"],
        "judge[tiny]/prefers": ["1.00", "1.00", "1.00"],
        "toy/gain": ["0.00", "0.00", "1.00"],
    }
    assert table.rows[-1].cells[3].text == "< 0.001"
    assert ">judge[tiny]</text>" in table.plot, "a judge is known by its name"


def test_ratings_of_another_run_are_refused_before_anything_is_written(run: Path, tmp_path: Path) -> None:
    (tmp_path / "others.csv").write_text("edit,method,value\nstranger,one,3\n")
    with pytest.raises(BadInputError):
        report(run, out=tmp_path / "report", quiet=True, ratings=tmp_path / "others.csv")
    assert not (tmp_path / "report").exists()


def test_where_score_and_people_disagree_pictures_stand_side_by_side_with_the_reasons(
    run: Path, tmp_path: Path, as_page: Callable[[Path], Page]
) -> None:
    ratings = tmp_path / "ratings.csv"
    values = {n: n % 12 for n in range(EDITS)} | {5: 11.5}
    rows = [f"e{n},{method},{value},{rater}" for n, value in values.items() for method in ("one",) for rater in "ab"]
    ratings.write_text("\n".join(["edit,method,value,rater", *rows]) + "\n")
    results = agree(run, ratings=ratings)
    (rendered,) = disputes(results, Run.open(run))
    assert (rendered.spec.name, rendered.outcomes) == ("gain", EDITS - 1)
    harder = dict(rendered.sides)["The score is harder than people"]
    assert harder[0].outcome.edit == "e5"
    assert harder[0].people == "11.50 (11.5, 11.5), above 98%"

    section = as_page(report(run, out=tmp_path / "report", ratings=ratings, quiet=True)).section("agreement")
    first, *_ = section.all("ul", "disputed")
    assert "11.50 (11.5, 11.5), above 98%" in section.full_text()
    assert {link.attributes["data-method"] for link in first.all("a")} == {"one"}
