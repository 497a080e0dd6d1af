"""Real edits that people rated or compared, as a reference set and as probes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import editgauge
from editgauge._cli import groups
from editgauge._cli._show_inspect import show_card
from editgauge._stats.resampling import Estimate
from editgauge._util.images import read_image, write_png
from editgauge.analysis.ratings import Rating
from editgauge.audits._probe_set import Probe, read_probes
from editgauge.audits.audit import audit
from editgauge.audits.card import Sheet
from editgauge.audits.human_reference import disagree, mean_ratings
from editgauge.audits.probes import probes
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError
from tests.audits.conftest import LEFT, RedBoxes, drawn

PHOTOS = 12
Ratings = Callable[[Callable[[str], float]], Path]


@pytest.fixture(scope="module")
def probe_folder(tmp_path_factory: pytest.TempPathFactory, red_boxes: RedBoxes) -> Path:
    return red_boxes(tmp_path_factory.mktemp("probes"), PHOTOS)


@pytest.fixture(scope="module")
def rated_run(tmp_path_factory: pytest.TempPathFactory, probe_folder: Path) -> Path:
    out = tmp_path_factory.mktemp("ground") / "run"
    editgauge.run(
        probe_folder, outcomes={"mine": probe_folder / "edited"}, protocol=["preservation"], out=out, quiet=True
    )
    return out


@pytest.fixture
def ratings(tmp_path: Path) -> Ratings:
    def write(value: Callable[[str], float]) -> Path:
        file = tmp_path / "ratings.csv"
        with file.open("w", newline="") as lines:
            rows = csv.writer(lines)
            rows.writerow(["edit", "method", "rater", "question", "value"])
            for number in range(PHOTOS):
                for kind in ("right", "nothing"):
                    rows.writerow([f"{number}--{kind}", "mine", "ann", "SC", value(kind)])
        return file

    return write


@pytest.mark.parametrize("liked", ["nothing", "right"])
@pytest.mark.slow
def test_page_begins_with_a_disagreement(
    liked: str, probe_folder: Path, rated_run: Path, ratings: Ratings, tmp_path: Path
) -> None:
    file = ratings(lambda kind: float(kind == liked))
    card = audit(
        protocol=["preservation"],
        probes=probe_folder,
        ground=str(rated_run),
        ratings=file,
        out=tmp_path / "audit",
        against="l1",
        quiet=True,
    )
    assert card.human_reference is not None
    assert (card.human_reference.outcomes, card.human_reference.photos, card.human_reference.methods) == (
        2 * PHOTOS,
        PHOTOS,
        1,
    )
    row = card.human_reference.of("preservation", "l1")
    assert row is not None
    assert row.answered == 1
    assert row.done.value == float(liked == "nothing"), "a picture that stayed as it was has the better l1"
    page = (tmp_path / "audit" / "index.html").read_text("utf-8")
    lead = page.partition('<p class="summary">')[2]
    assert lead.startswith("Probes and people disagree.") is (liked == "nothing")


def test_reference_set_needs_ratings(probe_folder: Path, rated_run: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="`ground` and `ratings` go together"):
        audit(protocol=["preservation"], probes=probe_folder, ground=str(rated_run), out=tmp_path / "audit", quiet=True)


def test_scales_are_divided_by_their_end() -> None:
    ratings = [Rating("a", "m", 8, "ann", "alignment"), Rating("a", "m", 4, "bob", "alignment")]
    assert mean_ratings([*ratings, Rating("a", "m", 10, "ann", "quality")]) == {("a", "m"): {"done": 0.6, "quality": 1}}


def test_disagreement_means_disjoint_intervals() -> None:
    high, low, wide = (
        Estimate(value, *ends, 9, 9) for value, ends in ((0.9, (0.85, 0.95)), (0.6, (0.5, 0.7)), (0.7, (0.5, 0.9)))
    )
    assert disagree(high, low)
    assert disagree(low, high)
    assert not disagree(high, wide)
    assert not disagree(high, Estimate(None, None, None, 0, 0, "nothing"))


EDITS = 8
METHODS = {"faithful": 0, "rough": 12, "wild": 60}
"""How far each method moves every pixel of the picture."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark with masks in files, and three methods that keep ever less of the rest."""
    place = tmp_path_factory.mktemp("compared")
    lines = []
    for number in range(EDITS):
        source = drawn(number)
        write_png(source, place / "photos" / f"{number}.png")
        inside = LEFT.render(160, 120)
        write_png(np.repeat(inside[..., None], 3, axis=2).astype(np.uint8) * 255, place / "photos" / f"m{number}.png")
        words = {"type": "color", "instruction": "Make the box red.", "mask": f"m{number}.png"}
        lines.append({"id": f"e{number}", "source": f"{number}.png", **words})
        for method, by in METHODS.items():
            edited = np.clip(source.astype(np.int16) + by, 0, 255).astype(np.uint8)
            edited[inside] = (220, 20, 20)
            write_png(edited, place / method / f"e{number}.png")
    (place / "photos" / "edits.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


def choices_file(folder: Path, *choices: tuple[int, str, str, str]) -> Path:
    """Edit, first, second, chosen; each by another person."""
    told = [
        {"edit": f"e{edit}", "first": first, "second": second, "chosen": chosen, "rater": f"r{number}"}
        for number, (edit, first, second, chosen) in enumerate(choices)
    ]
    (folder / "people.jsonl").write_text("".join(json.dumps(line) + "\n" for line in told))
    return folder / "people.jsonl"


def spoken(place: Path) -> dict[str, Any]:
    return {
        "benchmark": place / "photos",
        "outcomes": {method: place / method for method in METHODS},
        "quiet": True,
    }


def test_what_most_people_prefer_is_known_with_their_share(place: Path, tmp_path: Path) -> None:
    file = choices_file(
        tmp_path,
        (0, "faithful", "wild", "first"),
        (0, "wild", "faithful", "second"),  # the same pair the other way round
        (0, "faithful", "wild", "tie"),
        (0, "faithful", "wild", "second"),
        (1, "rough", "wild", "first"),
        (2, "rough", "wild", "first"),
        (2, "rough", "wild", "second"),  # nobody knows
    )
    made = {probe.id: probe for probe in probes(out=tmp_path / "probes", choices=file, **spoken(place))}
    assert set(made) == {"e0--by-faithful", "e0--by-wild", "e1--by-rough", "e1--by-wild"}
    assert made["e0--by-faithful"].over == {"e0--by-wild": pytest.approx(0.625)}
    assert made["e1--by-rough"].over == {"e1--by-wild": 1.0}
    assert {probe.done for probe in made.values()} == {None}
    assert made["e0--by-wild"].photo == "0.png"


def test_pictures_and_masks_come_along(place: Path, tmp_path: Path) -> None:
    file = choices_file(tmp_path, (0, "faithful", "wild", "first"))
    probes(out=tmp_path / "probes", choices=file, **spoken(place))
    edits = {edit.id: edit for edit in open_benchmark(tmp_path / "probes").edits}
    kept = edits["e0--by-wild"]
    assert np.array_equal(read_image(kept.source.path), drawn(0))
    assert kept.mask is not None
    assert np.array_equal(kept.mask.render(160, 120), LEFT.render(160, 120))
    assert edits["e0--by-faithful"].source == kept.source
    mine = read_image(tmp_path / "probes" / "edited" / "e0--by-wild.png")
    assert np.array_equal(mine, read_image(place / "wild" / "e0.png"))


def test_the_card_tells_who_agrees_with_people(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the people's pairs lie on tuning photographs; as nothing is chosen by them, all count."""
    told = [(edit, "faithful", "wild", "first") for edit in range(EDITS)]
    probes(out=tmp_path / "probes", choices=choices_file(tmp_path, *told), **spoken(place))
    card = audit(protocol=["preservation"], out=tmp_path / "audit", probes=tmp_path / "probes", quiet=True)
    assert card.people is not None
    assert (card.people.pairs, card.people.photos, card.people.agree.value) == (EDITS, EDITS, 1.0)
    ssim = next(each for each in card.scores if each.name == "ssim")
    assert (ssim.people.value, ssim.people.n) == (1.0, EDITS)
    assert (ssim.pair_accuracy.value, ssim.auroc.value, ssim.probes) == (None, None, 0)  # nothing was made here
    page = (tmp_path / "audit" / "index.html").read_text("utf-8")
    assert "What people prefer" in page
    assert "Every protocol at a glance" not in page
    show_card(card)
    assert "8 pairs that people compared" in capsys.readouterr().out


@pytest.mark.slow
def test_people_join_made_probes_without_touching_their_figures(
    place: Path, tmp_path: Path, red_boxes: RedBoxes
) -> None:
    folder = red_boxes(tmp_path / "probes", 6)
    before = audit(protocol=["preservation"], out=tmp_path / "before", probes=folder, quiet=True)
    file = choices_file(tmp_path, (0, "wild", "faithful", "first"))
    joined = probes(out=folder, choices=file, **spoken(place))
    assert len(joined) == 12 + 2
    assert probes(out=folder, choices=file, **spoken(place)) == joined  # given again, nothing is added twice
    after = audit(protocol=["preservation"], out=tmp_path / "after", probes=folder, quiet=True)
    one, two = (next(each for each in card.scores if each.name == "ssim") for card in (before, after))
    assert (one.auroc, one.pair_accuracy, one.spread, one.probes) == (
        two.auroc,
        two.pair_accuracy,
        two.spread,
        two.probes,
    )
    assert (one.people.value, two.people.value) == (None, 0.0)
    assert before.people is None


def test_the_good_one_of_a_triplet_is_over_both_others(place: Path, tmp_path: Path) -> None:
    roles = "good=rough,preserved=faithful,modified=wild"
    made = {probe.id: probe for probe in probes(out=tmp_path / "probes", triplets=roles, **spoken(place))}
    assert len(made) == 3 * EDITS
    assert made["e3--by-rough"].over == {"e3--by-faithful": 1.0, "e3--by-wild": 1.0}
    assert Sheet.of(tuple(made.values())).preferred.shape == (2 * EDITS, 2)


def test_what_people_call_done_is_done(place: Path, tmp_path: Path) -> None:
    lines = ["edit,method,value,rater,question"]
    lines += [f"e0,faithful,{value},r{number},edit" for number, value in enumerate((1, 1, 0))]
    lines += [f"e0,wild,{value},r{number},edit" for number, value in enumerate((0, 1))]
    lines += ["e1,wild,0,r1,edit"]
    (tmp_path / "ratings.csv").write_text("\n".join(lines) + "\n")
    made = {
        probe.id: probe.done for probe in probes(out=tmp_path / "p", ratings=tmp_path / "ratings.csv", **spoken(place))
    }
    assert made == {"e0--by-faithful": True, "e1--by-wild": False}  # two people are no majority for e0, wild


def test_an_edit_of_the_same_name_is_not_held_against_the_made_right_outcome(place: Path, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("edit,method,value,question\ne0,wild,0,edit\n")
    (said,) = probes(out=tmp_path / "probes", ratings=ratings, **spoken(place))
    made = Probe("e0--right", "e0", "photos/0.png", "color", "right", done=True)
    assert Sheet.of((made, said)).rights.tolist() == [0, -1]


def test_what_is_not_spoken_of_again_stays_as_it_was_said(place: Path, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("edit,method,value,question\ne0,faithful,1,edit\ne0,wild,0,edit\n")
    probes(out=tmp_path / "probes", ratings=ratings, **spoken(place))
    first = choices_file(tmp_path, (0, "faithful", "wild", "first"), (0, "faithful", "rough", "first"))
    probes(out=tmp_path / "probes", choices=first, **spoken(place))
    second = choices_file(tmp_path, (0, "faithful", "rough", "second"))
    told = {probe.id: probe for probe in probes(out=tmp_path / "probes", choices=second, **spoken(place))}
    assert told["e0--by-faithful"].done is True
    assert told["e0--by-wild"].done is False
    assert told["e0--by-faithful"].over == {"e0--by-wild": 1.0}
    assert told["e0--by-rough"].over == {"e0--by-faithful": 1.0}


def test_a_picture_that_cannot_be_read_takes_its_pairs_with_it(place: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    for number in range(EDITS):
        write_png(drawn(number), broken / f"e{number}.png")
    (broken / "e0.png").write_bytes(b"no picture")
    file = choices_file(tmp_path, (0, "faithful", "broken", "first"), (1, "faithful", "broken", "first"))
    given = {**spoken(place), "outcomes": {"faithful": place / "faithful", "broken": broken}}
    made = {probe.id: probe for probe in probes(out=tmp_path / "probes", choices=file, **given)}
    assert made["e0--by-faithful"].over == {}
    assert made["e1--by-faithful"].over == {"e1--by-broken": 1.0}


def test_mistakes_are_told(place: Path, tmp_path: Path) -> None:
    file = choices_file(tmp_path, (0, "faithful", "wild", "first"))
    with pytest.raises(BadInputError, match="give `benchmark` and `outcomes"):
        probes(out=tmp_path / "probes", choices=file)
    with pytest.raises(BadInputError, match="There are no answers about these outcomes"):
        probes(out=tmp_path / "probes", benchmark=place / "photos")
    with pytest.raises(BadInputError, match="is not empty"):
        probes(out=place, choices=file, **spoken(place))
    (tmp_path / "ratings.csv").write_text("edit,method,value,question\ne0,wild,3,beauty\n")
    with pytest.raises(BadInputError, match="None of the questions"):
        probes(out=tmp_path / "probes", ratings=tmp_path / "ratings.csv", **spoken(place))


def test_preferences_that_fit_nothing_are_refused(place: Path, tmp_path: Path) -> None:
    edits = [{"id": name, "source": "a.png", "type": "color", "instruction": "Paint it."} for name in "abc"]
    (tmp_path / "edits.jsonl").write_text("".join(json.dumps(each) + "\n" for each in edits))
    for over, why in (({"b": 0.3}, "over 0.5 up to 1"), ({"c": 1.0}, "no other probe of the same `edit`")):
        lines = [{"id": "a", "edit": "x", "over": over}, {"id": "b", "edit": "x"}, {"id": "c", "edit": "y"}]
        (tmp_path / "probes.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
        with pytest.raises(BadInputError, match=why):
            read_probes(tmp_path)


def test_the_command_line_takes_the_same_words(place: Path, tmp_path: Path) -> None:
    file = choices_file(tmp_path, (0, "faithful", "wild", "first"))
    words = ["--out", str(tmp_path / "p"), "--choices", str(file), "--benchmark", str(place / "photos")]
    outcomes = [f"--outcomes={method}={place / method}" for method in METHODS]
    told = CliRunner().invoke(groups["build"], ["probes", *words, *outcomes])
    assert told.exit_code == 0, told.output
    assert "People compared 1 pairs." in told.output
    assert isinstance(read_probes(tmp_path / "p")[0], Probe)
