"""Weights that a library cannot load."""

from __future__ import annotations

from pathlib import Path

import pytest

from editgauge.models.lite._runtime import UnloadableWeightsError, litert, onnx_session

ADVICE = r"The detector cannot load .*`editgauge models verify` lists damaged files"


@pytest.mark.parametrize("content", [b"", b"no model", b"\x1c\0\0\0TFL3" + bytes(200)])
def test_a_tensorflow_lite_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(content)

    with pytest.raises(UnloadableWeightsError, match=ADVICE):
        litert(tmp_path / "net.tflite", "The detector", 1)


@pytest.mark.parametrize("content", [b"no model", b"\x08\x07" + bytes(100)])
def test_an_onnx_graph(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(content)

    for model in (content, tmp_path / "net.onnx"):
        with pytest.raises(UnloadableWeightsError, match=ADVICE):
            onnx_session(model, "The detector", 1)
