"""The overview says only what the intervals support."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.analysis.summary import FEW_SOURCES
from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.reports.sections.overview import sentences
from editgauge.results import JournalEntry, Run

if TYPE_CHECKING:
    from tests.reports.conftest import Page


Told = Callable[..., list[str]]


@pytest.fixture
def output(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Told:
    """The sentences for methods with these values on each of `sources` source images; markup taken out."""

    def tell(
        values: Mapping[str, float | str],
        sources: int = 60,
        score: str = "gain",
        spread: float = 0.001,
        name: str = "run",
    ) -> list[str]:
        other = {"gain": "loss", "loss": "gain"}[score]
        records = [
            make_record(
                f"e{n}",
                {score: value if isinstance(value, str) else value + spread * (n % 2), other: 0.5},
                method=method,
                source=f"{n}.png",
                edit_type=("color", "style")[n % 2],
            )
            for method, value in values.items()
            for n in range(sources)
        ]
        return [str(sentence.striptags()) for sentence in sentences(Context(Run.open(make_run(*records, name=name))))]

    return tell


def without_numbers(sentence: str) -> str:
    return re.sub(r" [\d.]+ \[[\d.]+, [\d.]+\]", " #", sentence)


def test_the_best_of_two(output: Told) -> None:
    first = output({"a": 0.9, "b": 0.4})[0]
    assert first.startswith("a 0.900 [0.900, 0.901] does better than b 0.400 [0.400, 0.401] on gain (higher is better)")


def test_lower_can_be_better(output: Told) -> None:
    assert output({"a": 0.9, "b": 0.4}, score="loss")[1].startswith("b 0.4")


def test_the_best_and_the_worst_of_many(output: Told) -> None:
    first = output({"low": 0.1, "high": 0.9, "mid": 0.5, "mid2": 0.5})[0]
    assert without_numbers(first) == "high # does best on gain (higher is better); low # does worst."


def test_level_at_the_top(output: Told) -> None:
    first = output({"a": 0.9, "b": 0.9, "c": 0.2})[0]
    assert (
        without_numbers(first)
        == "a # and b # are best, without a significant difference between them, on gain (higher is better); "
        "c # does worst."
    )


def test_what_overlaps_is_not_ranked(output: Told) -> None:
    first = output({"a": 0.5, "b": 0.49, "c": 0.48}, spread=0.5)[0]
    assert first.startswith("On gain (higher is better) no two methods differ significantly: ")
    assert "best" not in first
    assert "worst" not in first


def test_a_difference_too_small_to_print_is_none(output: Told) -> None:
    assert "no two methods differ significantly" in output({"a": 0.9, "b": 0.90004}, spread=0.0)[0]


def test_few_source_images_allow_no_claim(output: Told) -> None:
    first = output({"a": 0.9, "b": 0.1}, sources=9)[0]
    assert first == (
        "On gain and loss nothing is claimed: there are only 9 source images, "
        f"and intervals need {FEW_SOURCES} to be relied on."
    )
    assert "does better" not in " ".join(output({"a": 0.9, "b": 0.1}, sources=1, name="one"))


def test_few_source_images_are_told_once(output: Told) -> None:
    assert output({"a": 0.9, "b": 0.1}, sources=1) == [
        "On gain and loss nothing is claimed: there is only 1 source image, "
        f"and intervals need {FEW_SOURCES} to be relied on.",
        "No outcome failed altogether.",
    ]
    assert len(output({"a": 0.9, "b": 0.1}, sources=9, name="nine")) == 2


def test_a_small_sample_is_said(output: Told) -> None:
    assert "These means are over 30 source images, a small sample" in " ".join(output({"a": 0.9, "b": 0.1}, sources=30))
    assert "small sample" not in " ".join(output({"a": 0.9, "b": 0.1}, sources=60, name="large"))


def test_one_method_alone(output: Told) -> None:
    assert without_numbers(output({"a": 0.9})[0]) == "gain (higher is better) has a #."


def test_edit_types_with_a_clear_winner(output: Told) -> None:
    (line,) = [line for line in output({"a": 0.9, "b": 0.4}) if line.startswith("By edit type")]
    assert line == "By edit type, on gain: a is significantly better than all others at color and style."
    (line,) = [line for line in output({"a": 0.9, "b": 0.9}, name="level") if line.startswith("By edit type")]
    assert line == "By edit type, on gain: 2 edit types without a significantly best method."
    few = output({"a": 0.9, "b": 0.4}, FEW_SOURCES + 2, name="few")
    (line,) = [line for line in few if line.startswith("By edit type")]
    assert line == f"By edit type, on gain: no edit type has {FEW_SOURCES} source images to judge by."


def test_what_failed_is_counted_with_its_reason_and_method(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    failed = {"gain": "missing_outcome", "loss": "missing_outcome"}
    records = [
        make_record("a", failed, method="one"),
        make_record("b", failed, method="one"),
        make_record("c", {"gain": 0.5, "loss": "not_detected"}, method="two"),
        make_record("d", {"gain": 0.5, "loss": "not_applicable"}, method="two"),
    ]
    output = [str(item.striptags()) for item in sentences(Context(Run.open(make_run(*records))))]
    assert "2 of 2 edits lack an outcome by one (missing outcome)." in output
    assert not any("failed" in line for line in output)
    assert output[-1].startswith("1 outcome lacks some of its scores, as not detected: ")


def test_missing_failed_and_unscored_are_told_apart(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    reasons = {
        ("a", "one"): "missing_outcome",
        ("a", "two"): "missing_outcome",
        ("b", "one"): "missing_outcome",
        ("b", "two"): "crashed",
        ("c", "one"): "unreadable_image",
        ("c", "two"): "refused",
    }
    records = [
        make_record(edit, {"gain": reason, "loss": reason}, method=method) for (edit, method), reason in reasons.items()
    ]
    records.append(make_record("d", {"gain": 0.5, "loss": 0.5}, method="one"))
    records.append(make_record("d", {"gain": 0.5, "loss": 0.5}, method="two"))
    output = [str(item.striptags()) for item in sentences(Context(Run.open(make_run(*records))))]
    assert output[-3:] == [
        "Some edits lack an outcome (missing outcome): 2 of 4 by one and 1 of 4 by two.",
        "2 of 8 outcomes failed altogether (1 crashed and 1 unreadable image): 1 by two and 1 by one.",
        "1 of 8 outcomes has no score at all (refused): by two.",
    ]


def test_only_many_lack_scores_mostly_for_a_reason(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    mixed = {"gain": 0.5, "loss": "no_rule"}
    one = [str(item.striptags()) for item in sentences(Context(Run.open(make_run(make_record("a", mixed)))))]
    assert one[-1].startswith("1 outcome lacks some of its scores, as no rule: ")
    many = [make_record("a", mixed), make_record("b", mixed), make_record("c", {"gain": 0.5, "loss": "refused"})]
    output = [str(item.striptags()) for item in sentences(Context(Run.open(make_run(*many, name="many"))))]
    assert output[-1].startswith("3 outcomes lack some of their scores, mostly as no rule: ")


def test_methods_scored_on_different_edits_are_compared_with_care(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    records = [
        make_record(f"e{n}", {"gain": 0.5 if method == "one" or n else "refused", "loss": 0.5}, method=method)
        for method in ("one", "two")
        for n in range(12)
    ]
    output = [str(item.striptags()) for item in sentences(Context(Run.open(make_run(*records))))]
    assert (
        "The methods were not scored on the same number of edits on gain (one 12 and two 11): compare with care."
        in output
    )


def test_nothing_scored_nothing_claimed(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    run = make_run(make_record(scores={"gain": "refused", "loss": "refused"}))
    output = [str(item.striptags()) for item in sentences(Context(Run.open(run)))]
    assert output == ["1 of 1 outcome has no score at all (refused): by mine."]


def test_names_are_escaped(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> None:
    nasty = "<script>alert(1)</script>"
    scores = {"gain": 0.5, "loss": 0.5}
    records = [make_record(f"e{n}", scores, method=nasty, source=f"{n}.png") for n in range(FEW_SOURCES)]
    text = " ".join(sentences(Context(Run.open(make_run(*records)))))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_places_and_bounds_stand_beside_the_means(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> None:
    """`two` is better; one of its twenty outcomes crashed and might have had any value."""
    records = [
        make_record(
            f"e{n}",
            {"gain": "crashed" if (method, n) == ("two", 0) else value + 0.01 * (n % 3)},
            method=method,
            source=f"{n}.png",
            place=n,
        )
        for method, value in {"one": 0.2, "two": 0.8}.items()
        for n in range(20)
    ]
    page = as_page(report(make_run(*records), out=tmp_path / "report", quiet=True))
    one, two = (row.full_text() for row in page.section("overview").all("tbody")[0].all("tr"))
    assert "rank 2 20 scored" in one
    assert "rank 1 19 scored, 1 not" in two
    summary = page.section("summary").full_text()
    assert "1 unscored: crashed" in summary
    assert re.findall(r"0\.7\d\d to 0\.8\d\d if the 1 missing had scores", summary)


def test_under_every_table_stand_its_paper_and_deviations(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> None:
    toy = Run.open(make_run(make_record(), name="plain")).manifest.protocols["toy"]
    output = replace(toy, paper="Doe and Roe, 2024.", deviations=("It rounds `<up>` here.", "It skips."))
    run = make_run(make_record(scores={"gain": 0.5, "loss": 0.5}), protocols={"toy": output})
    section = as_page(report(run, out=tmp_path / "report", quiet=True)).section("summary")
    lines = [element.full_text() for element in section.all("p", "source")]
    assert lines == ["toy, version 1. Paper: Doe and Roe, 2024. Deviations: It rounds <up> here. It skips."] * 2
    assert [element.full_text() for element in section.all("code") if element.full_text() == "<up>"] == ["<up>"] * 2
