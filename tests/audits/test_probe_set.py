"""The folder of probes: written, read again, refused with every fault at once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from editgauge._util.images import Pixels, read_image
from editgauge.audits._probe_set import Probe, read_probes, some_of_each_type, split_of
from editgauge.audits.cards.card import Sheet, measured_by, score_card
from editgauge.audits.probes import probes_from
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError, UnscorableError
from editgauge.types import Edit, ScoreSpec
from tests.audits.conftest import Edits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, edits_of: Edits) -> Path:
    place = tmp_path_factory.mktemp("probes")
    everything = edits_of(place, 6)
    probes_from(everything, everything, place, quiet=True)
    return place


@pytest.mark.slow
def test_a_set_of_probes_is_a_benchmark_with_one_outcome_each(folder: Path) -> None:
    probes = read_probes(folder)
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    assert set(edits) == {probe.id for probe in probes}
    assert len(probes) > 300
    assert all((folder / "edited" / f"{probe.id}.png").is_file() for probe in probes)
    kinds = Counter(probe.kind for probe in probes)
    assert kinds["right"] == kinds["nothing"] == kinds["black"] == kinds["mirrored"] == 18
    assert all(edit.recipe is None for edit in edits.values())  # whoever is audited is not told the answer


def test_masks_and_sources_follow_the_picture(folder: Path) -> None:
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    plain, turned = edits["p0-color--right"], edits["p0-color--mirrored"]
    assert plain.mask is not None
    assert turned.mask is not None
    assert np.array_equal(turned.mask.render(160, 120), plain.mask.render(160, 120)[:, ::-1])
    source = read_image(turned.source.path)
    assert np.array_equal(source[:, ::-1], read_image(plain.source.path))


def test_halves_are_told_by_the_name_of_the_photograph_alone(folder: Path) -> None:
    probes = read_probes(folder)
    assert all(probe.split == split_of(probe.photo) for probe in probes)
    names = [f"photo {number}.jpg" for number in range(2000)]
    assert 900 < sum(split_of(name) == "tuning" for name in names) < 1100


def test_making_again_gives_the_same_pictures(folder: Path, tmp_path: Path, edits_of: Edits) -> None:
    everything = edits_of(tmp_path, 6)
    again = probes_from(everything[:3], everything, tmp_path, quiet=True)
    assert again == read_probes(folder)[: len(again)]
    for probe in again:
        name = f"edited/{probe.id}.png"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_so_many_of_each_type_hand_drawn_first(tmp_path: Path, edits_of: Edits) -> None:
    chosen = some_of_each_type(edits_of(tmp_path, 5), 2)
    assert Counter(each.edit.type for each in chosen) == {"color": 2, "object_removal": 2, "style": 2}


def write(folder: Path, *lines: object) -> Path:
    edits = [{"id": name, "source": "a.png", "type": "color", "instruction": "Paint it."} for name in ("a", "b")]
    (folder / "edits.jsonl").write_text("".join(json.dumps(each) + "\n" for each in edits))
    text = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    (folder / "probes.jsonl").write_text("".join(f"{line}\n" for line in text))
    return folder


def test_answers_of_people_join_with_an_id_and_what_they_said(tmp_path: Path) -> None:
    preferred = [{"id": "b", "edit": "pair"}, {"id": "a", "edit": "pair", "over": {"b": 0.75}}]
    sheet = Sheet.of(read_probes(write(tmp_path, *preferred)))
    assert (sheet.preferred.tolist(), sheet.agreed.tolist()) == ([[1, 0]], [0.75])
    assert (sheet.graded.size, int(sheet.known.sum())) == (0, 0)
    probes = read_probes(write(tmp_path, {"id": "a", "done": True}, {"id": "b", "done": False, "photo": "p"}))
    assert [probe.done for probe in probes] == [True, False]
    assert probes[0] == Probe("a", "a", "a", "color", "given", True, split=split_of("a"))


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    lines = ({"id": "a"}, {"id": "a"}, {"id": "z"}, "{", {"id": "b", "dnoe": 1}, {"id": "b", "split": "middle"})
    with pytest.raises(BadInputError) as told:
        read_probes(write(tmp_path, *lines))
    for part in ("line 3: there is no edit 'z'", "line 4: not JSON", "unknown key 'dnoe'", "`split` is one", "twice"):
        assert part in str(told.value)
    with pytest.raises(BadInputError, match="build probes"):
        read_probes(tmp_path / "nowhere")


def test_a_function_of_ones_own_has_a_card(folder: Path) -> None:
    probes = [probe for probe in read_probes(folder) if probe.type == "color"]

    def redness(source: Pixels, edited: Pixels, edit: Edit) -> float | None:
        if "--mirrored" in edit.id:
            raise UnscorableError("not_applicable", "it does not know of mirrors")
        return float(edited[45:85, 25:55, 0].mean()) - float(edited[45:85, 25:55, 1].mean())

    measured = measured_by(redness, folder, probes, ScoreSpec("redness", True, (-255, 255)))
    found = score_card(measured, Sheet.of(probes))
    assert found.auroc.value is not None
    assert found.auroc.value > 0.9 - 0.2  # another instruction shows the same pixels: no function of them can tell
    assert found.against["nothing"].value == 1.0
    assert found.unscored.keys() == {"not_applicable"}
    assert found.unchanged_rate.value == 1.0


def test_what_is_not_a_number_has_a_reason(folder: Path) -> None:
    probes = read_probes(folder)[:3]
    given = iter((float("nan"), float("inf"), None))
    measured = measured_by(lambda *_: next(given), folder, probes, ScoreSpec("odd", True, (0, 1)))
    assert np.isnan(measured.values).all()
    assert list(measured.reasons) == ["crashed", "crashed", "not_applicable"]
