from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from editgauge._util.images import Pixels, pixel_hash, read_image, write_png
from editgauge.reports._outcomes import ScoredImage
from editgauge.reports.images import (
    EMBEDDED,
    INDEX_FILE,
    LARGE,
    SMALL,
    Absent,
    Album,
    Decoded,
    EmbeddedAlbum,
    changed_region,
    decode,
    difference,
    fitted,
)


def test_nothing_changed_is_black(photo: Pixels) -> None:
    heat = difference(photo, photo)
    assert heat.shape == photo.shape
    assert heat.max() <= 4  # the first color of the scale is not quite zero


def test_more_change_is_brighter(photo: Pixels) -> None:
    gray = np.full_like(photo, 100)
    brightness = [int(difference(gray, gray + np.uint8(step)).sum()) for step in (0, 20, 60, 100, 128)]
    assert brightness == sorted(set(brightness))
    assert (difference(gray, gray + np.uint8(128)) == difference(gray, gray + np.uint8(155))).all()


def test_a_change_in_one_channel_counts_in_full() -> None:
    black = np.zeros((4, 4, 3), dtype=np.uint8)
    blue, gray = black.copy(), black + np.uint8(90)
    blue[..., 2] = 90
    assert (difference(black, blue) == difference(black, gray)).all()


def test_an_edited_image_of_another_size_is_compared_at_the_size_of_the_source(photo: Pixels) -> None:
    assert difference(photo, fitted(photo, 50)).shape == photo.shape


def test_pictures_shrink_to_the_longest_side_and_never_grow(photo: Pixels) -> None:
    wide = np.zeros((300, 900, 3), dtype=np.uint8)
    assert fitted(wide, 360).shape == (120, 360, 3)
    assert fitted(np.zeros((1, 5000, 3), dtype=np.uint8), 360).shape == (1, 360, 3)
    assert fitted(photo, 360) is photo


def remaining(pixels: Pixels, path: Path) -> ScoredImage:
    write_png(pixels, path)
    return ScoredImage(str(path), pixel_hash(pixels))


def test_a_large_picture_gets_two_copies_and_a_small_one_is_its_own(tmp_path: Path, photo: Pixels) -> None:
    album = Album(tmp_path / "album")
    large = album.source(remaining(np.zeros((1500, 3000, 3), dtype=np.uint8), tmp_path / "large.png"))
    small = album.source(remaining(photo, tmp_path / "small.png"))
    assert read_image(album.folder / large["large"]).shape == (LARGE // 2, LARGE, 3)
    assert read_image(album.folder / large["small"]).shape == (SMALL // 2, SMALL, 3)
    assert (large["width"], large["height"], large["frame"]) == (SMALL, SMALL // 2, [2828, 1414])
    assert small["small"] == small["large"]
    assert all(re.fullmatch(r"[0-9a-f]{20}\.jpg", path.name) for path in album.folder.iterdir())


def test_a_copy_looks_like_the_picture(tmp_path: Path, photo: Pixels) -> None:
    placed = Album(tmp_path / "album").source(remaining(photo, tmp_path / "a.png"))
    copy = read_image(tmp_path / "album" / placed["large"]).astype(int)
    assert np.abs(copy - photo).mean() < 5


def test_a_changed_picture_is_recognized(tmp_path: Path, photo: Pixels) -> None:
    write_png(photo, tmp_path / "a.png")
    same = decode(ScoredImage(str(tmp_path / "a.png"), pixel_hash(photo)))
    other = decode(ScoredImage(str(tmp_path / "a.png"), "another"))
    assert isinstance(same, Decoded)
    assert isinstance(other, Decoded)
    assert (same.changed, other.changed) == (False, True)


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"not an image")
    gone, bad = (
        decode(ScoredImage(str(tmp_path / "gone.png"), "x")),
        decode(ScoredImage(str(tmp_path / "bad.png"), None)),
    )
    assert isinstance(gone, Absent)
    assert "There is no image" in gone.problem
    assert isinstance(bad, Absent)
    assert "not an image" in bad.problem


def test_only_what_is_used_stays(tmp_path: Path, photo: Pixels) -> None:
    folder = tmp_path / "album"
    folder.mkdir()
    (folder / "0123.jpg").write_bytes(b"of an earlier report")
    (folder / ".writing-0123.jpg").write_bytes(b"half")
    album = Album(folder)
    placed = album.source(remaining(photo, tmp_path / "a.png"))
    album.finish()
    assert {path.name for path in folder.iterdir()} == {placed["small"], INDEX_FILE}


def test_a_second_album_makes_nothing_again(tmp_path: Path, photo: Pixels, monkeypatch: pytest.MonkeyPatch) -> None:
    files = remaining(photo, tmp_path / "a.png"), remaining(photo[::-1].copy(), tmp_path / "b.png")
    first = Album(tmp_path / "album")
    output = first.source(files[0]), *first.edited(*files)
    first.finish()
    monkeypatch.setattr("editgauge.reports.images.read_image", lambda _: pytest.fail("decoded again"))
    second = Album(tmp_path / "album")
    assert (second.source(files[0]), *second.edited(*files)) == output
    second.finish()
    assert len(list((tmp_path / "album").glob("*.jpg"))) == 3


def test_a_changed_image_or_a_lost_copy_is_made_again(tmp_path: Path, photo: Pixels) -> None:
    file, other = remaining(photo, tmp_path / "a.png"), photo[::-1].copy()
    first = Album(tmp_path / "album")
    before = first.source(file)
    first.finish()
    (tmp_path / "album" / before["small"]).unlink()
    assert Album(tmp_path / "album").source(file) == before
    assert (tmp_path / "album" / before["small"]).is_file()
    write_png(other, tmp_path / "a.png")
    after = Album(tmp_path / "album").source(file)
    assert after["small"] != before["small"]
    assert after["changed"] is True


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": {"small": "x.jpg"}}'])
def test_a_damaged_list_of_copies_only_costs_time(tmp_path: Path, photo: Pixels, content: str) -> None:
    (tmp_path / "album").mkdir()
    (tmp_path / "album" / INDEX_FILE).write_text(content)
    assert "small" in Album(tmp_path / "album").source(remaining(photo, tmp_path / "a.png"))


def test_an_embedded_picture_is_in_the_page_itself(tmp_path: Path, photo: Pixels) -> None:
    album = EmbeddedAlbum()
    large = np.ascontiguousarray(np.tile(photo, (4, 4, 1)))
    placed = album.source(remaining(large, tmp_path / "a.png"))
    assert placed["small"] == placed["large"]
    assert max(placed["width"], placed["height"]) == EMBEDDED
    assert album.embedded[placed["small"]].startswith("data:image/jpeg;base64,/9j/")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_the_changed_region_is_found_unless_it_is_most_of_the_image(photo: Pixels) -> None:
    height, width = photo.shape[:2]
    edited = photo.copy()
    edited[height // 4 : height // 2, width // 4 : width // 2] = (
        255 - edited[height // 4 : height // 2, width // 4 : width // 2]
    )
    region = changed_region(photo, edited)
    assert region == pytest.approx([0.25, 0.25, 0.5, 0.5], abs=0.06)
    assert changed_region(photo, photo) is None
    assert changed_region(photo, 255 - photo) is None
