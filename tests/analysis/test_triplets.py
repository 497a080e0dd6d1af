"""Ground truth selection: one good outcome against one that does too little and one that does too much."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge.analysis.agree import Agreement, agree
from editgauge.analysis.evaluators.triplets import SelectedScore, read_roles
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import JournalEntry

MakeRun = Callable[..., Path]
Make = Callable[..., JournalEntry]
ROLES = "good=ours,preserved=same,modified=new"


def selected(found: Agreement, name: str) -> SelectedScore:
    assert found.selected is not None
    return next(each for each in found.selected.scores if each.spec.name == name)


@pytest.fixture
def run(make_run: MakeRun, make_record: Make) -> Path:
    """`gain` (ours, same, new) by edit; `loss`, where lower is better, always falls for what stays the same."""
    gains: dict[str, tuple[float | str, float, float]] = {
        "won": (0.9, 0.5, 0.5),
        "kept-too-much": (0.5, 0.9, 0.1),
        "changed-too-much": (0.5, 0.1, 0.9),
        "one-tie": (0.9, 0.9, 0.1),
        "two-ties": (0.4, 0.4, 0.4),
        "refused": ("refused", 0.5, 0.5),
    }
    return make_run(
        *(
            make_record(
                edit,
                {"gain": gain, "loss": loss},
                method=method,
                place=place,
                source=f"{place}.png",
                edit_type=("color", "style")[place % 2],
            )
            for place, (edit, three) in enumerate(gains.items())
            for method, gain, loss in zip(("ours", "same", "new"), three, (0.3, 0.0, 0.8), strict=True)
        )
    )


def test_triplets_by_hand(run: Path) -> None:
    found = agree(run, triplets=ROLES)
    assert found.selected is not None
    gain, loss = (selected(found, name) for name in ("gain", "loss"))
    assert gain.both is not None
    assert gain.over_preserved is not None
    assert gain.over_modified is not None
    assert gain.both.value == pytest.approx((1 + 0 + 0 + 1 / 2 + 1 / 3) / 5)
    assert gain.over_preserved.value == pytest.approx((1 + 0 + 1 + 0.5 + 0.5) / 5)
    assert gain.over_modified.value == pytest.approx((1 + 1 + 0 + 1 + 0.5) / 5)
    assert (gain.both.n, gain.equal, gain.unscored) == (5, 2, 1)
    assert {name: mean.n for name, mean in gain.by_type.items()} == {"color": 3, "style": 2}
    assert loss.both is not None
    assert loss.over_modified is not None
    assert (loss.both.value, loss.over_modified.value, loss.unscored) == (0.0, 1.0, 0)
    assert [each.spec.name for each in found.selected.scores] == ["gain", "loss"]
    assert [(each.first, each.second, each.difference.n) for each in found.selected.behind] == [
        ("toy/gain", "toy/loss", 5)
    ]


def test_a_method_with_one_seed_lends_it_to_all(make_run: MakeRun, make_record: Make) -> None:
    records = [
        make_record("e", {"gain": 0.9}, method="ours", seed=0),
        make_record("e", {"gain": 0.3}, method="ours", seed=1),
        make_record("e", {"gain": 0.5}, method="same", seed=0),
        make_record("e", {"gain": 0.8}, method="new", seed=0),
        make_record("e", {"gain": 0.2}, method="new", seed=1),
        make_record("lonely", {"gain": 0.9}, method="ours", seed=0, place=1),
        make_record("several", {"gain": 0.9}, method="ours", seed=0, place=2),
        make_record("several", {"gain": 0.9}, method="same", seed=0, place=2),
        *(make_record("several", {"gain": 0.9}, method="new", seed=seed, place=2) for seed in (5, 6)),
    ]
    found = agree(make_run(*records), triplets=ROLES)
    assert found.selected is not None
    assert (found.selected.triplets, found.selected.incomplete) == (2, 2)
    both = selected(found, "gain").both
    assert both is not None
    assert both.value == 0.5


@pytest.mark.parametrize(
    "text", ["", "good=a,preserved=b", "a,b,c", "good=a,preserved=b,modified=", "x,good=a,preserved=b,modified=c"]
)
def test_roles_are_written_in_one_form(text: str) -> None:
    with pytest.raises(BadInputError, match="good=METHOD,preserved=METHOD,modified=METHOD"):
        read_roles(text)


def test_three_roles_need_three_methods_of_the_run(run: Path) -> None:
    with pytest.raises(BadInputError, match="three methods"):
        agree(run, triplets="good=ours,preserved=ours,modified=new")
    with pytest.raises(UnknownNameError, match="Did you mean 'ours'"):
        agree(run, triplets="good=our,preserved=same,modified=new")


def test_methods_that_share_no_edit_make_no_triplet(make_run: MakeRun, make_record: Make) -> None:
    records = [make_record(f"e{n}", {"gain": 0.5}, method=m, place=n) for n, m in enumerate(("ours", "same", "new"))]
    with pytest.raises(BadInputError, match="No edit of the run has outcomes of all three"):
        agree(make_run(*records), triplets=ROLES)
