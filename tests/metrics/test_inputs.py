"""Every kind of image that metrics accept gives the same number."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from editgauge import metrics
from editgauge._util.images import as_unit, png_bytes, write_png
from tests.metrics.pairs import damaged, photograph

SOURCE, EDITED = photograph("cat")[:60, :80], damaged("cat", "noise")[:60, :80]
EXPECTED = metrics.ssim(as_unit(SOURCE), as_unit(EDITED))


def test_files_bytes_and_pil_images(tmp_path: Path) -> None:
    for name, pixels in (("source.png", SOURCE), ("edited.png", EDITED)):
        write_png(pixels, tmp_path / name)
    assert metrics.ssim(tmp_path / "source.png", str(tmp_path / "edited.png")) == EXPECTED
    assert metrics.ssim(png_bytes(SOURCE), Image.fromarray(EDITED)) == EXPECTED
    assert metrics.ssim(Image.open(io.BytesIO(png_bytes(SOURCE))), EDITED) == EXPECTED


@pytest.mark.parametrize(
    "convert",
    [
        lambda image: image,
        as_unit,
        lambda image: image.transpose(2, 0, 1),
        lambda image: as_unit(image).transpose(2, 0, 1),
        lambda image: image[::-1, ::-1].copy()[::-1, ::-1],
    ],
    ids=["uint8", "float32", "channels first", "floats with channels first", "not contiguous"],
)
def test_arrays(convert: Any) -> None:
    assert metrics.ssim(convert(SOURCE), convert(EDITED)) == EXPECTED
    assert metrics.ssim(SOURCE, convert(EDITED)) == EXPECTED


@pytest.mark.parametrize("scale", ["uint8", "float"])
@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_tensors(scale: str, layout: str) -> None:
    torch = pytest.importorskip("torch")
    source, edited = (torch.from_numpy(np.ascontiguousarray(image)) for image in (SOURCE, EDITED))
    if scale == "float":
        source, edited = source.float() / 255, edited.float() / 255
    if layout == "CHW":
        source, edited = source.permute(2, 0, 1), edited.permute(2, 0, 1)
    assert metrics.ssim(source, edited) == pytest.approx(EXPECTED, abs=1e-9)
    batch = metrics.ssim(torch.stack([source, source]), torch.stack([source, edited]))
    assert batch.tolist() == pytest.approx([1, EXPECTED], abs=1e-9)


def test_batches() -> None:
    values = metrics.ssim([SOURCE, SOURCE], [SOURCE, EDITED])
    assert isinstance(values, np.ndarray)
    assert values.tolist() == [1, EXPECTED]
    assert np.array_equal(metrics.ssim(np.stack([SOURCE, SOURCE]), np.stack([SOURCE, EDITED])), values)
    assert np.array_equal(metrics.ssim(SOURCE, [SOURCE, EDITED]), values)
    assert metrics.ssim([], []).tolist() == []
    with pytest.raises(ValueError, match="cannot be paired"):
        metrics.ssim([SOURCE] * 2, [EDITED] * 3)


def test_masks(tmp_path: Path) -> None:
    mask = np.zeros(SOURCE.shape[:2], np.bool_)
    mask[20:40, 20:60] = True
    expected = metrics.l1(SOURCE, EDITED, mask)
    write_png(np.repeat(mask[..., np.newaxis], 3, axis=2).astype(np.uint8) * 255, tmp_path / "mask.png")
    assert metrics.l1(SOURCE, EDITED, tmp_path / "mask.png") == expected
    assert metrics.l1(SOURCE, EDITED, Image.fromarray(mask)) == expected
    for masks in (mask, [mask, mask], np.stack([mask, mask])):
        assert metrics.l1([SOURCE, SOURCE], [EDITED, EDITED], masks).tolist() == [expected, expected]
