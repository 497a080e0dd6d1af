"""Which outcomes a score and people place most differently."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from editgauge.analysis.agree import agree
from editgauge.results import JournalEntry


def test_the_widest_gaps_come_first_on_either_side_and_each_edit_once(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    """`loss` (lower is better) follows people except for e3, which it finds far too good, and e9, far too bad."""
    loss = {n: n / 12 for n in range(12)} | {3: 1.5, 9: -1.0}
    records = [
        make_record(f"e{n}", {"loss": -loss[n]}, method=method, source=f"{n}.png", place=n)
        for n in range(12)
        for method in ("one", "two")
    ]
    rows = [f"e{n},{m},{n + extra},{r}" for n in range(12) for m in ("one", "two") for r, extra in (("a", 0), ("b", 1))]
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("\n".join(["edit,method,value,rater", *rows]) + "\n")

    (disputed,) = agree(make_run(*records), ratings=ratings).disputed

    assert disputed.spec.name == "loss"
    assert disputed.outcomes == 24
    first, *others = disputed.overrated
    assert first.outcome.edit == "e3"
    assert first.score == -1.5
    assert first.ratings == (3, 4)
    assert first.percentile > 0.9 > 0.4 > first.people_percentile
    assert disputed.underrated[0].outcome.edit == "e9"
    assert "e3" not in {other.outcome.edit for other in others}


def test_a_score_that_answers_few_outcomes_is_not_the_one_that_is_shown(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    """`rare` agrees perfectly on the three outcomes that it answers."""
    records = [
        make_record(f"e{n}", {"gain": (n * 5) % 12 / 12, "rare": n / 12 if n < 3 else "no_rule"}, source=f"{n}.png")
        for n in range(12)
    ]
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("\n".join(["edit,method,value,rater", *(f"e{n},mine,{n},a" for n in range(12))]) + "\n")
    (disputed,) = agree(make_run(*records), ratings=ratings).disputed
    assert (disputed.spec.name, disputed.outcomes) == ("gain", 12)


def test_without_ratings_nothing_is_disputed(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    records = [make_record("e0", {"gain": 0.5}, method=method) for method in ("one", "two")]
    choices = tmp_path / "choices.csv"
    choices.write_text("edit,first,second,chosen\ne0,one,two,first\n")
    assert agree(make_run(*records), choices=choices).disputed == ()
