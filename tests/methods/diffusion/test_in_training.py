"""A small InstructPix2Pix is trained for a few steps, and `Monitor` scores it in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import editgauge

torch: Any = pytest.importorskip("torch")
diffusers: Any = pytest.importorskip("diffusers")
accelerate: Any = pytest.importorskip("accelerate")

pytestmark = pytest.mark.slow


def test_a_pipeline_is_scored_while_its_network_is_trained(
    saved: Callable[[str], Path], make_benchmark: Callable[..., Path], tmp_path: Path
) -> None:
    pipeline = diffusers.StableDiffusionInstructPix2PixPipeline.from_pretrained(saved("instruct"))
    pipeline.set_progress_bar_config(disable=True)
    accelerator = accelerate.Accelerator(cpu=True)
    network = pipeline.unet.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    network, optimizer = accelerator.prepare(network, optimizer)
    words = torch.zeros(1, 4, network.config.cross_attention_dim)
    benchmark = make_benchmark(tmp_path / "benchmark", edits=2)

    with editgauge.Monitor(benchmark, out=tmp_path / "eval", limit=2, every=2, protocol=["preservation"]) as monitor:
        for step in range(4):
            noise = torch.randn(1, 8, 8, 8)
            loss = (network(noise, torch.tensor([10]), words).sample - noise[:, :4]).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            before = [parameter.detach().clone() for parameter in network.parameters()]
            monitor.on_step_end(step, pipeline, accelerator=accelerator, num_inference_steps=2)
            assert network.training
            assert all(map(torch.equal, before, network.parameters())), "looking changes nothing"

    lines: list[dict[str, Any]] = [
        json.loads(each) for each in (tmp_path / "eval/history.jsonl").read_text().split("\n") if each
    ]
    assert [line["step"] for line in lines] == [0, 2]
    for line in lines:
        assert line["failures"] == {}
        assert line["scores"]["preservation/ssim"]["scored"] == 2
        assert line["seconds_editing"] > 0 < line["seconds_scoring"]
    first, second = (tmp_path / "eval" / f"step-{step:08d}" / "edit-000.png" for step in (0, 2))
    assert first.read_bytes() != second.read_bytes(), "the network moved in between, and so did its outcome"
