"""The one door for pixels: whatever the file, it gives upright RGB bytes or a `BadImageError` that names it."""

from __future__ import annotations

import os
import struct
import subprocess
import warnings
import zlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageCms

from editgauge._util.images import (
    MAX_PIXELS,
    MAX_PIXELS_VARIABLE,
    ImageArray,
    Pixels,
    as_unit,
    cache_latest_images,
    gradient_magnitude,
    load_image,
    native_pixels,
    pixel_hash,
    read_image,
    resize_image,
    write_png,
)
from editgauge.errors import BadImageError

ORIENTATION = 0x0112
GRAY, RGB, GRAY_ALPHA, RGB_ALPHA = 0, 2, 4, 6  # color types of PNG


def png(width: int, height: int, bits: int, color_type: int, rows: bytes, extra: bytes = b"") -> bytes:
    """A PNG made by hand, for what no library writes."""
    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, 0)
    parts = (chunk(b"IHDR", header), extra, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def saved(path: Path, pixels: NDArray[Any] | Image.Image, **options: Any) -> Path:
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(path, **options)
    return path


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


# --- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("orientation", "stored"),
    [
        (1, lambda upright: upright),
        (2, np.fliplr),
        (3, lambda upright: np.rot90(upright, 2)),
        (4, np.flipud),
        (5, lambda upright: np.swapaxes(upright, 0, 1)),
        (6, lambda upright: np.rot90(upright, 1)),
        (7, lambda upright: np.rot90(np.swapaxes(upright, 0, 1), 2)),
        (8, lambda upright: np.rot90(upright, -1)),
    ],
)
@pytest.mark.parametrize("suffix", ["png", "webp", "tif"])
def test_exif_orientation_is_undone(orientation: int, stored: Any, suffix: str, photo: Pixels, tmp_path: Path) -> None:
    upright = photo[:40, :64]
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    options = {"lossless": True} if suffix == "webp" else {}
    path = saved(tmp_path / f"a.{suffix}", np.ascontiguousarray(stored(upright)), exif=exif, **options)

    assert np.array_equal(read_image(path), upright)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
def test_damaged_exif_does_not_cost_the_picture(suffix: str, photo: Pixels, tmp_path: Path) -> None:
    plain = read_image(saved(tmp_path / f"plain.{suffix}", photo))

    for damage in (b"no exif at all", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff", b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03"):
        path = saved(tmp_path / f"damaged.{suffix}", photo, exif=damage)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Pillow's remark about the damage
            assert np.array_equal(read_image(path), plain)


def test_transparency_is_laid_over_white(tmp_path: Path) -> None:
    rgba = np.array([[[200, 0, 0, 255], [200, 0, 0, 0], [0, 0, 0, 51]]], dtype=np.uint8)

    for suffix in ("png", "tif", "webp"):
        read = read_image(saved(tmp_path / f"a.{suffix}", rgba, **({"lossless": True} if suffix == "webp" else {})))
        assert read.tolist() == [[[200, 0, 0], [255, 255, 255], [204, 204, 204]]]


def test_gray_with_alpha_is_laid_over_white(tmp_path: Path) -> None:
    path = written(tmp_path / "a.png", png(2, 1, 8, GRAY_ALPHA, b"\0" + bytes([10, 255, 10, 0])))

    assert read_image(path)[0, :, 0].tolist() == [10, 255]


def test_transparent_palette_colors_are_laid_over_white(tmp_path: Path) -> None:
    image = Image.fromarray(np.array([[0, 1, 2]], dtype=np.uint8))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])

    one = read_image(saved(tmp_path / "one.png", image, transparency=1))
    shades = read_image(saved(tmp_path / "shades.png", image, transparency=bytes([255, 0, 51])))
    gif = read_image(saved(tmp_path / "one.gif", image, transparency=1))

    assert one.tolist() == gif.tolist() == [[[255, 0, 0], [255, 255, 255], [0, 0, 255]]]
    assert shades.tolist() == [[[255, 0, 0], [255, 255, 255], [204, 204, 255]]]


@pytest.mark.parametrize("color_type", [GRAY, RGB])
def test_a_transparent_color_key_is_laid_over_white(color_type: int, tmp_path: Path) -> None:
    channels = 3 if color_type == RGB else 1
    rows = b"\0" + bytes([9] * channels + [200] * channels)
    key = chunk(b"tRNS", struct.pack(f">{channels}H", *[9] * channels))

    path = written(tmp_path / "a.png", png(2, 1, 8, color_type, rows, key))

    assert read_image(path).tolist() == [[[255] * 3, [200] * 3]]


def test_grayscale_becomes_three_equal_channels(photo: Pixels, tmp_path: Path) -> None:
    gray = photo[..., 1]

    assert np.array_equal(read_image(saved(tmp_path / "a.png", gray)), np.dstack([gray] * 3))


def test_one_bit_becomes_black_and_white(tmp_path: Path) -> None:
    checks = np.array([[True, False], [False, True]])

    assert read_image(saved(tmp_path / "a.png", checks))[..., 0].tolist() == [[255, 0], [0, 255]]


def test_cmyk_jpeg_is_read_in_color(tmp_path: Path) -> None:
    cyan = Image.new("CMYK", (16, 16), (255, 0, 0, 0))

    assert np.allclose(read_image(saved(tmp_path / "a.jpg", cyan)), (0, 255, 255), atol=3)


def test_an_animation_gives_its_first_frame(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "lime", "blue")]

    for suffix, options in (("gif", {}), ("webp", {"lossless": True}), ("png", {})):
        path = saved(tmp_path / f"a.{suffix}", frames[0], save_all=True, append_images=frames[1:], **options)
        assert read_image(path)[0, 0].tolist() == [255, 0, 0], suffix


def test_a_path_may_hold_any_letters(photo: Pixels, tmp_path: Path) -> None:
    path = tmp_path / "猫 és кот 🐈.png"
    write_png(photo, path)

    assert np.array_equal(read_image(path), photo)


# --- more than eight bits ----------------------------------------------------------------------------------------

SIXTEEN = np.array([[0, 255, 256, 25_700, 65_279, 65_535]], dtype=np.uint16)
EIGHT = [0, 0, 1, 100, 254, 255]


def sixteen_bit_files(folder: Path, values: NDArray[np.uint16]) -> list[Path]:
    """The same 16-bit gray values in every form that Pillow reads by another way."""
    big = np.ascontiguousarray(values.astype(">u2"))
    height, width = values.shape
    swapped = Image.frombytes("I;16B", (width, height), big.tobytes())
    rows = b"".join(b"\0" + row.tobytes() for row in big)
    color = b"".join(b"\0" + np.repeat(row, 3).tobytes() for row in big)
    return [
        saved(folder / "gray.png", values),
        saved(folder / "gray.tif", values),
        saved(folder / "gray.pgm", values),
        saved(folder / "big_endian.tif", swapped),
        written(folder / "by_hand.png", png(width, height, 16, GRAY, rows)),
        written(folder / "rgb.png", png(width, height, 16, RGB, color)),
    ]


def test_sixteen_bits_give_their_upper_eight(tmp_path: Path) -> None:
    for path in sixteen_bit_files(tmp_path, SIXTEEN):
        assert read_image(path).tolist() == [[[value] * 3 for value in EIGHT]], path.name


def test_a_dark_sixteen_bit_image_stays_dark(tmp_path: Path) -> None:
    """Values up to 255 of 65,535 are next to black, however tempting it is to take them for eight bits."""
    for path in sixteen_bit_files(tmp_path, np.array([[0, 1, 100, 255]], dtype=np.uint16)):
        assert read_image(path).max() == 0, path.name


def test_sixteen_bits_with_alpha(tmp_path: Path) -> None:
    rows = b"\0" + struct.pack(">8H", 25_700, 25_700, 25_700, 65_535, 0, 0, 0, 0)

    assert read_image(written(tmp_path / "a.png", png(2, 1, 16, RGB_ALPHA, rows))).tolist() == [[[100] * 3, [255] * 3]]


def test_a_floating_point_image_in_the_unit_range_is_read(tmp_path: Path) -> None:
    for highest in (0.2, 1.0, 1.0000001):  # a rounding error over 1 must not turn the rest black
        values = np.array([[0.0, 0.2, highest]], dtype=np.float32)
        read = read_image(saved(tmp_path / "a.tif", values))
        assert read[0, :, 0].tolist() == [0, 51, round(min(highest, 1) * 255)]


@pytest.mark.parametrize(
    "values",
    [
        np.array([[0.0, 255.0]], dtype=np.float32),
        np.array([[-0.5, 0.5]], dtype=np.float32),
        np.array([[np.nan, 0.5]], dtype=np.float32),
        np.array([[0.0, np.inf]], dtype=np.float32),
        np.array([[0, 70_000]], dtype=np.int32),
        np.array([[-5, 100]], dtype=np.int32),
    ],
)
def test_numbers_of_unknown_scale_are_refused_rather_than_guessed(values: NDArray[Any], tmp_path: Path) -> None:
    path = saved(tmp_path / "a.tif", values)

    with pytest.raises(BadImageError, match=r"a\.tif' holds .* save it with 8 or 16 bits"):
        read_image(path)


# --- what is refused ---------------------------------------------------------------------------------------------


def refusal(path: Path) -> str:
    """What `read_image` says; every refusal names the path."""
    with pytest.raises(BadImageError) as caught:
        read_image(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    assert "There is no image at" in refusal(tmp_path / "none.png")


def test_a_folder(tmp_path: Path) -> None:
    assert "cannot be opened: Is a directory" in refusal(tmp_path)


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "cannot be opened: Not a directory" in refusal(tmp_path / "file" / "a.png")


@pytest.mark.parametrize("content", [b"", b"This is not a picture.\n", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_image(content: bytes, tmp_path: Path) -> None:
    assert "is not an image" in refusal(written(tmp_path / "a.png", content))


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "bmp", "tif", "gif"])
def test_a_cut_file_is_refused_wherever_it_is_cut(suffix: str, photo: Pixels, tmp_path: Path) -> None:
    """Only what follows the last pixel (the mark of the end) may be lost."""
    whole = read_image(saved(tmp_path / f"whole.{suffix}", photo[::8, ::8]))
    content = (tmp_path / f"whole.{suffix}").read_bytes()
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for length in range(0, len(content), max(1, len(content) // 150)):
            path = written(tmp_path / f"cut.{suffix}", content[:length])
            try:
                assert np.array_equal(read_image(path), whole), length
            except BadImageError as refusal:
                assert str(path) in str(refusal)  # noqa: PT017
                refused += 1
    assert refused > 100


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "bmp", "tif", "gif"])
def test_no_damage_makes_anything_but_a_picture_or_a_refusal(
    suffix: str, photo: Pixels, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    options = {} if suffix in {"gif", "bmp"} else {"exif": exif}
    content = saved(tmp_path / f"whole.{suffix}", photo[::8, ::8], **options).read_bytes()
    random = np.random.default_rng(0)
    path = tmp_path / f"damaged.{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(400):
            damaged = bytearray(content)
            for place in random.integers(0, min(len(content), 300), size=random.integers(1, 6)):
                damaged[place] = random.integers(256)
            try:
                read = read_image(written(path, bytes(damaged)))
            except BadImageError:
                continue
            assert read.dtype == np.uint8
            assert read.shape[2:] == (3,)
    capfd.readouterr()  # libtiff talks


def test_a_decompression_bomb_is_refused_unread(tmp_path: Path) -> None:
    path = written(tmp_path / "bomb.png", png(50_000, 50_000, 8, RGB, b"\0"))

    assert "claims an absurd size" in refusal(path)


@pytest.mark.parametrize("width", [6_251, 12_000])
def test_an_image_over_the_limit_is_refused_unread(width: int, tmp_path: Path) -> None:
    """The second also exceeds a limit at which Pillow warns; in either case nothing is printed."""
    assert width * 8_000 > MAX_PIXELS

    assert "50,000,000 pixels are read" in refusal(written(tmp_path / "a.png", png(width, 8_000, 8, GRAY, b"\0")))


# --- identity ----------------------------------------------------------------------------------------------------


def test_the_hash_is_of_the_pixels_not_of_the_file(photo: Pixels, tmp_path: Path) -> None:
    files = [
        saved(tmp_path / "a.png", photo),
        saved(tmp_path / "a.bmp", photo),
        saved(tmp_path / "a.webp", photo, lossless=True),
        saved(tmp_path / "b.png", photo, compress_level=1),
    ]

    assert {pixel_hash(read_image(path)) for path in files} == {pixel_hash(photo)}
    assert pixel_hash(np.asfortranarray(photo)) == pixel_hash(photo)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(row=st.integers(0, 127), column=st.integers(0, 127), channel=st.integers(0, 2), by=st.integers(1, 255))
def test_any_one_value_changes_the_hash(row: int, column: int, channel: int, by: int, photo: Pixels) -> None:
    other = photo.copy()
    other[row, column, channel] ^= by

    assert pixel_hash(other) != pixel_hash(photo)


def test_the_same_bytes_in_another_shape_have_another_hash(photo: Pixels) -> None:
    assert pixel_hash(photo.reshape(64, 256, 3)) != pixel_hash(photo)


# --- the other doors ---------------------------------------------------------------------------------------------


def test_as_unit_spans_zero_to_one() -> None:
    unit = as_unit(np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, axis=2))

    assert unit.dtype == np.float32
    assert (unit.min(), unit.max()) == (0, 1)
    assert np.array_equal(np.rint(unit[..., 0] * 255).ravel(), np.arange(256))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint16, np.bool_])
def test_as_unit_refuses_anything_but_bytes(dtype: type) -> None:
    with pytest.raises(TypeError, match="as_unit wants uint8 pixels"):
        as_unit(np.zeros((2, 2, 3), dtype=dtype))


def test_a_written_png_is_read_back_the_same(photo: Pixels, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.png"
    write_png(photo[:, ::-1], path)  # a view, not contiguous

    assert np.array_equal(read_image(path), photo[:, ::-1])
    assert np.array_equal(np.asarray(cv2.imread(str(path)))[..., ::-1], photo[:, ::-1])


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 4), dtype=np.uint8),
        np.zeros((4, 4, 4), dtype=np.uint8),
        np.zeros((0, 4, 3), dtype=np.uint8),
        np.zeros((4, 4, 3), dtype=np.float32),
        np.zeros((4, 4, 3), dtype=np.int64),
    ],
)
def test_write_png_refuses_what_is_not_rgb_bytes(wrong: NDArray[Any], tmp_path: Path) -> None:
    path = tmp_path / "a.png"

    with pytest.raises(TypeError, match=r"a\.png' .* height x width x 3, uint8; got .*" + str(wrong.dtype)):
        write_png(wrong, path)
    assert not path.exists()


def test_resized_gives_the_asked_size_and_the_same_picture(photo: Pixels) -> None:
    small = resize_image(photo, 50, 30)

    assert small.shape == (30, 50, 3)
    assert abs(float(small.mean()) - float(photo.mean())) < 2
    assert resize_image(photo, 128, 128) is photo


def test_what_is_made_of_the_latest_pictures_is_made_once_and_by_what_they_show(photo: Pixels) -> None:
    asked = []

    @cache_latest_images
    def brightest(picture: Pixels, least: int) -> int:
        asked.append(least)
        return max(least, int(picture.max()))

    assert [brightest(photo, 1), brightest(photo.copy(), 1)] == [int(photo.max())] * 2
    assert asked == [1]
    assert brightest(photo // 4, 1) == int(photo.max()) // 4
    assert brightest(photo, 999) == 999
    assert brightest(photo.reshape(photo.shape[1], photo.shape[0], 3), 1) == int(photo.max())
    assert asked == [1, 1, 999, 1]


def test_gradients_do_not_depend_on_memory_alignment() -> None:
    gray = np.random.default_rng(0).normal(128, 40, (37, 53)).astype(np.float32)
    results = []
    for offset in range(64):  # results stay alive, so that each call gets other memory
        buffer = np.empty(gray.size + 64, np.float32)[offset : offset + gray.size].reshape(gray.shape)
        buffer[:] = gray
        results.append(gradient_magnitude(buffer))
    assert all(np.array_equal(result, results[0]) for result in results)


def test_an_image_array_knows_its_hash_and_native_pixels(photo: Pixels) -> None:
    image = ImageArray(photo.copy(), native=photo[:64])

    assert image.hash == pixel_hash(photo) == pixel_hash(image)
    assert native_pixels(image) is not None
    assert native_pixels(image[:10]) is None, "a view is another image"
    assert pixel_hash(image[:10]) == pixel_hash(photo[:10])
    assert {type(image + 1), type(image * 0.5)} == {np.ndarray}
    assert isinstance(image.max(), np.uint8)
    assert np.array_equal(image, photo)
    with pytest.raises(ValueError, match="read-only"):
        image[0, 0] = 0


LATTICE = np.stack(np.meshgrid(*[np.arange(0, 256, 15)] * 3), axis=-1).astype(np.uint8).reshape(18, -1, 3)
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))


# --- color profiles ----------------------------------------------------------------------------------------------


def matrix_profile(red: Any, green: Any, blue: Any, gamma: float, name: str) -> bytes:
    """An ICC profile of three primaries (XYZ, adapted to D50) and one gamma, written by hand as in ICC.1:2010."""

    def xyz(values: Any) -> bytes:
        return b"XYZ \0\0\0\0" + b"".join(struct.pack(">i", round(value * 65_536)) for value in values)

    text = name.encode() + b"\0"
    description = b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + bytes(78)
    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256)) + b"\0\0"
    tags = {
        b"desc": description + bytes(-len(description) % 4),
        b"wtpt": xyz((0.9642, 1.0, 0.8249)),
        b"rXYZ": xyz(red),
        b"gXYZ": xyz(green),
        b"bXYZ": xyz(blue),
        b"rTRC": curve,
        b"gTRC": curve,
        b"bTRC": curve,
    }
    table, body, start = b"", b"", 128 + 4 + 12 * len(tags)
    for tag, content in tags.items():
        table += tag + struct.pack(">II", start + len(body), len(content))
        body += content
    size = start + len(body)
    white = b"".join(struct.pack(">i", round(value * 65_536)) for value in (0.9642, 1.0, 0.8249))
    header = struct.pack(">I", size) + bytes(4) + struct.pack(">I", 0x02100000) + b"mntrRGB XYZ " + bytes(12) + b"acsp"
    header = header.ljust(68, b"\0") + white
    return header.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


WIDE_GAMUT = matrix_profile((0.6097, 0.3111, 0.0195), (0.2053, 0.6257, 0.0609), (0.1492, 0.0632, 0.7446), 2.2, "Wide")
"""Adobe RGB (1998), by its published primaries."""


def in_profile(pixels: Pixels, profile: bytes) -> Image.Image:
    """The same colors, written in another profile."""
    import io

    target = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    converted = ImageCms.profileToProfile(Image.fromarray(pixels), SRGB, target, outputMode="RGB")
    assert converted is not None
    return converted


@pytest.mark.parametrize("suffix", ["png", "tif", "webp"])
def test_colors_of_another_profile_become_srgb(suffix: str, photo: Pixels, tmp_path: Path) -> None:
    """Every viewer shows both files alike, so they are the same picture."""
    path = tmp_path / f"a.{suffix}"
    options: dict[str, Any] = {"lossless": True} if suffix == "webp" else {}
    in_profile(photo, WIDE_GAMUT).save(path, icc_profile=WIDE_GAMUT, **options)

    loaded = load_image(path)

    assert np.abs(loaded.pixels.astype(int) - photo).max() <= 3  # two roundings to 8 bits
    assert np.abs(np.asarray(Image.open(path).convert("RGB")).astype(int) - photo).max() > 20
    assert loaded.notes == ("its colors were converted from the profile 'Wide' to sRGB",)


def test_an_srgb_profile_moves_no_value(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(LATTICE).save(path, icc_profile=SRGB.tobytes())

    loaded = load_image(path)

    assert np.array_equal(loaded.pixels, LATTICE)
    assert loaded.notes == ()


def test_transparency_survives_the_conversion(tmp_path: Path) -> None:
    rgba = np.dstack([np.full((16, 16, 3), 100, np.uint8), np.full((16, 16), 255, np.uint8)])
    rgba[:8, :, 3] = 0
    path = tmp_path / "a.png"
    Image.fromarray(rgba).save(path, icc_profile=WIDE_GAMUT)

    pixels = read_image(path)

    assert (pixels[:8] == 255).all()
    assert 95 <= pixels[12, 4].min() <= pixels[12, 4].max() <= 105  # gray stays gray


@pytest.mark.parametrize("mode", ["L", "LA", "P"])
def test_a_profile_that_does_not_fit_the_picture_is_ignored_and_noted(mode: str, tmp_path: Path) -> None:
    """A profile for RGB says nothing about gray; a palette of RGB colors is converted."""
    path = tmp_path / "a.png"
    Image.new("RGB", (16, 16), (200, 40, 40)).convert(mode).save(path, icc_profile=WIDE_GAMUT)

    loaded = load_image(path)

    assert loaded.notes[0] == (
        "its colors were converted from the profile 'Wide' to sRGB"
        if mode == "P"
        else "its color profile does not fit the picture and was ignored"
    )


@pytest.mark.parametrize("profile", [b"no profile at all", WIDE_GAMUT[:200], b"\xff" * 3_000])
def test_a_damaged_profile_does_not_cost_the_picture(profile: bytes, photo: Pixels, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(photo).save(path, icc_profile=profile)

    loaded = load_image(path)

    assert np.array_equal(loaded.pixels, photo)
    assert loaded.notes == ("its color profile does not fit the picture and was ignored",)


def test_the_name_of_a_profile_cannot_steer_a_terminal(tmp_path: Path) -> None:
    profile = matrix_profile((0.6, 0.3, 0.02), (0.2, 0.6, 0.06), (0.15, 0.06, 0.7), 1.8, "\x1b[2Jgone" + "x" * 500)
    path = tmp_path / "a.png"
    Image.new("RGB", (16, 16), (200, 40, 40)).save(path, icc_profile=profile)

    (note,) = load_image(path).notes

    assert "\x1b" not in note
    assert len(note) < 150


# --- formats -----------------------------------------------------------------------------------------------------


def test_a_page_of_postscript_is_no_picture_and_starts_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **_: started.append(words))
    path = tmp_path / "a.png"
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 32 32\n%%EndComments\nshowpage\n%%EOF\n")

    with pytest.raises(BadImageError, match=r"a\.png' is not an image in a format that is read: PNG, JPEG"):
        read_image(path)
    assert not started


@pytest.mark.parametrize("kind", ["ICO", "TGA", "PCX", "SGI", "JPEG2000", "AVIF", "ICNS", "DDS", "PDF"])
def test_rare_formats_are_refused_by_content_whatever_the_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (32, 32), "red").save(path, format=kind)

    with pytest.raises(BadImageError, match="is not an image in a format that is read"):
        read_image(path)


# --- pipes and devices -------------------------------------------------------------------------------------------


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")

    with pytest.raises(BadImageError, match=r"a\.png' cannot be opened: it is a named pipe, not a regular file"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "/dev/tty", "/dev/stdin"])
def test_a_device_is_refused_at_once(device: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to(device)

    with pytest.raises(BadImageError, match=r"cannot be opened"):
        read_image(tmp_path / "a.png")


# --- sizes -------------------------------------------------------------------------------------------------------


def large_png(path: Path, width: int, height: int) -> Path:
    """A black picture of any size in a few kilobytes."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packer = zlib.compressobj(1)
    rows = b"".join(packer.compress(bytes(width // 8 + 1 + (width % 8 > 0))) for _ in range(height)) + packer.flush()
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    return path


def test_the_limit_of_pixels_can_be_raised_and_lowered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = large_png(tmp_path / "large.png", 7_200, 7_000), large_png(tmp_path / "small.png", 100, 100)
    assert large.stat().st_size < 100_000

    with pytest.raises(BadImageError, match=rf"7200 x 7000; .* 50,000,000 pixels .* {MAX_PIXELS_VARIABLE}"):
        read_image(large)
    monkeypatch.setenv(MAX_PIXELS_VARIABLE, "51000000")
    assert read_image(large).shape == (7_000, 7_200, 3)
    monkeypatch.setenv(MAX_PIXELS_VARIABLE, "9999")
    with pytest.raises(BadImageError, match="100 x 100"):
        read_image(small)
    monkeypatch.setenv(MAX_PIXELS_VARIABLE, "many")
    with pytest.raises(BadImageError, match=f"{MAX_PIXELS_VARIABLE} is a whole number of pixels, got 'many'"):
        read_image(small)
