"""Images from strangers: color profiles, formats, pipes and devices, sizes and shapes."""

from __future__ import annotations

import os
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms

from editgauge._util.images import MAX_PIXELS_VARIABLE, Pixels, load_image, read_image
from editgauge.errors import BadImageError

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
