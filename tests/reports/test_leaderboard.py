"""A leaderboard ranks what can be compared, and says what keeps the rest apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from editgauge.analysis.summary import untouched_methods
from editgauge.errors import BadInputError
from editgauge.reports.leaderboard import explain_incomparable, leaderboard, standings
from editgauge.results import ImageStamp, JournalEntry, Run

if TYPE_CHECKING:
    from tests.reports.conftest import Page

SOURCES = 30
Make = Callable[..., Path]


@pytest.fixture
def make(make_record: Callable[..., JournalEntry], make_run: Make) -> Make:
    """A run of these methods, each with about this gain on every edit."""

    def made(name: str, methods: dict[str, float], pixels: str = "aaa", **manifest: Any) -> Path:
        source = ImageStamp("/s.png", 1, 1, pixels)
        records = [
            make_record(
                f"e{n}",
                {"gain": value + 0.01 * (n % 3), "loss": "refused"},
                method=method,
                source=f"{n}.png",
                place=n,
                source_image=source,
            )
            for method, value in methods.items()
            for n in range(SOURCES)
        ]
        return make_run(*records, name=name, **manifest)

    return made


def opened(*folders: Path) -> list[Run]:
    return [Run.open(folder) for folder in folders]


def test_methods_of_several_runs_are_ranked_together(make: Make) -> None:
    (results,) = standings(opened(make("one", {"low": 0.1, "high": 0.8}), make("two", {"mid": 0.4})))

    assert results.players == ["high", "mid", "low"]
    assert [str(results.ranks["toy", "gain", player]) for player in results.players] == [
        "1 [1-1]",
        "2 [2-2]",
        "3 [3-3]",
    ]
    assert explain_incomparable([results]) == []
    assert [table.spec.name for table in results.tables] == ["gain", "loss"]
    assert all(("toy", "loss", player) not in results.ranks for player in results.players)


def test_the_source_itself_has_no_place(make_record: Callable[..., JournalEntry], make_run: Make) -> None:
    pixels = {"idle": "aaa", "mine": "bbb"}
    records = [
        make_record(
            f"e{n}",
            {"gain": 1.0 if method == "idle" else 0.5},
            method=method,
            source=f"{n}.png",
            place=n,
            source_image=ImageStamp("/s.png", 1, 1, "aaa"),
            edited_image=ImageStamp("/e.png", 1, 1, pixels[method]),
        )
        for method in pixels
        for n in range(SOURCES)
    ]
    run = Run.open(make_run(*records))
    (board,) = standings([run])
    assert board.players == ["mine", "idle"]
    assert {player: str(rank) for (_, name, player), rank in board.ranks.items()} == {"mine": "1 [1-1]"}
    assert untouched_methods(run) == {"idle"}


def test_methods_that_cannot_be_told_apart_may_have_either_place(make: Make) -> None:
    (results,) = standings(opened(make("one", {"mine": 0.5}), make("two", {"theirs": 0.5})))

    assert {str(rank) for rank in results.ranks.values()} == {"1 [1-2]"}


def test_a_method_that_two_runs_have_is_told_apart_by_its_run(make: Make) -> None:
    (results,) = standings(opened(make("one", {"mine": 0.5}), make("two", {"mine": 0.7, "new": 0.1})))

    assert results.players == ["mine (two)", "mine (one)", "new"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"benchmark": "others"}, "different benchmarks"),
        ({"edits_sha256": "f0" * 32}, "different edits under the name toys"),
        ({"models": {"detector": {"name": "owl", "revision": "2"}}}, "different models"),
    ],
)
def test_what_cannot_be_compared_gets_a_table_of_its_own(change: dict[str, Any], why: str, make: Make) -> None:
    results = standings(opened(make("one", {"mine": 0.5}), make("two", {"theirs": 0.9}, **change)))

    assert [result.players for result in results] == [["mine"], ["theirs"]]
    assert explain_incomparable(results) == [f"two cannot be compared with one by toy: {why}."]


def test_other_rules_cannot_be_compared(make: Make) -> None:
    one = make("one", {"mine": 0.5})
    rules = replace(Run.open(one).manifest.protocols["toy"], version="2")

    results = standings(opened(one, make("two", {"theirs": 0.9}, protocols={"toy": rules})))
    assert explain_incomparable(results) == [
        "two cannot be compared with one by toy: different rules (version 2 and 1)."
    ]


def test_other_source_pixels_are_warned_of(make: Make) -> None:
    (results,) = standings(opened(make("one", {"mine": 0.5}), make("two", {"theirs": 0.5}, pixels="bbb")))

    assert results.warnings == [f"two has other source pixels than one for {SOURCES} edits: compare with care."]


def test_an_unfinished_run_is_warned_of(make: Make) -> None:
    (results,) = standings(opened(make("one", {"mine": 0.5}, finish=False)))

    assert results.warnings == ["one is not finished; its numbers may still change."]


def test_the_page_holds_all_of_it_and_escapes_names(
    make: Make, tmp_path: Path, as_page: Callable[[Path], Page]
) -> None:
    runs = [
        make("one", {"<b>mine": 0.5}),
        make("two", {"theirs": 0.9}),
        make("three", {"x": 0.5}, benchmark="<i>other"),
    ]
    file = leaderboard(runs, out=tmp_path / "board")

    assert file == tmp_path / "board" / "leaderboard.html"
    page = as_page(file)
    assert page.root.all("b", "mine") == []
    text = page.root.full_text()
    assert "3 runs in 2 tables" in text
    assert "<b>mine" in text
    assert "Not all runs are comparable." in text
    assert "three cannot be compared with one, two by toy: different benchmarks." in text
    first = page.root.all("table")[0]
    assert [row.all("th")[0].full_text() for row in first.all("tbody")[0].all("tr")] == ["theirs", "<b>mine"]
    assert "30 unscored: refused" in text


def test_a_leaderboard_can_be_refreshed_and_touches_no_page_of_others(make: Make, tmp_path: Path) -> None:
    run = make("one", {"mine": 0.5})
    first = leaderboard([run], out=tmp_path / "board")
    assert leaderboard([run], out=tmp_path / "board").read_bytes() == first.read_bytes()
    first.write_text("<p>my own page</p>")
    with pytest.raises(BadInputError, match="is not a report"):
        leaderboard([run], out=tmp_path / "board")
    assert first.read_text() == "<p>my own page</p>"


def test_a_run_given_twice_is_refused(make: Make, tmp_path: Path) -> None:
    run = make("one", {"mine": 0.5})
    with pytest.raises(BadInputError, match="is given twice"):
        leaderboard([run, run.parent / "." / "one"], out=tmp_path / "board")
    with pytest.raises(BadInputError, match="at least one"):
        leaderboard([], out=tmp_path / "board")
