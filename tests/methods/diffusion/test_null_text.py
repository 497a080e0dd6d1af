"""What the papers' methods must do on any network, trained or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from editgauge._util.images import Pixels
from editgauge.methods.diffusion._stable_diffusion import Painter, PaperMethod, ddim_step
from editgauge.methods.diffusion.null_text import (
    Injection,
    counterparts,
    ddim_p2p,
    invert,
    null_text,
    optimize_null_embeddings,
    pad_counterparts,
)
from editgauge.types import Edit

pytestmark = pytest.mark.slow

torch: Any = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed")

CAPTION = "a photo of a red cat"


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def painter(saved: Any) -> Painter:
    return null_text.variant({"model": str(saved("stable"))}).painter


@pytest.fixture
def latents(painter: Painter, source: Pixels) -> Any:
    return painter.latents(Image.fromarray(source).resize((32, 32)))


def small(method: PaperMethod, saved: Any, **options: object) -> PaperMethod:
    told = {"model": str(saved("stable")), "size": "32", "steps": 2, **options}
    return method.variant({name: str(value) for name, value in told.items()})


def test_a_step_there_and_back_is_no_step(painter: Painter, latents: Any) -> None:
    noise, high, low = torch.ones_like(latents), painter.alpha(900), painter.alpha(20)
    torch.testing.assert_close(ddim_step(ddim_step(latents, noise, low, high), noise, high, low), latents)


def reconstructed(painter: Painter, noise: Any, words: Any, steps: int) -> Any:
    """What the network paints from inverted noise: the source, except for the error of the inversion."""
    latents = noise
    for timestep in painter.timesteps(steps):
        here, there = painter.alpha(timestep), painter.alpha(painter.previous_timestep(timestep, steps))
        latents = ddim_step(latents, painter.noise(latents, timestep, words), here, there)
    return latents


def test_the_error_of_an_inversion_falls_with_its_steps(painter: Painter, latents: Any) -> None:
    words = painter.words(CAPTION)

    def error(steps: int) -> float:
        way = invert(painter, latents, words, steps)
        assert len(way) == steps + 1
        return float((reconstructed(painter, way[-1], words, steps) - latents).abs().mean())

    errors = [error(steps) for steps in (15, 30, 60)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.75 * errors[0]


def test_our_steps_are_those_of_the_librarys_scheduler(painter: Painter, latents: Any) -> None:
    words, blank, ours = painter.words(CAPTION), painter.words(""), painter.sampled
    scheduler = painter.pipe.scheduler
    expected = latents
    for timestep in painter.timesteps(5):
        noise = painter.guided(expected, timestep, words, blank, 7.5)
        expected = scheduler.step(noise, timestep, expected, return_dict=False)[0]
    torch.testing.assert_close(ours(latents, words, blank, 7.5, 5), expected)


def test_learned_blanks_bring_guided_sampling_back_to_the_source(painter: Painter, latents: Any) -> None:
    words, steps = painter.words(CAPTION), 4
    way = invert(painter, latents, words, steps)

    def error(inner: int) -> float:
        made = way[-1]
        for blank, timestep in zip(
            optimize_null_embeddings(painter, way, words, 7.5, inner), painter.timesteps(steps), strict=True
        ):
            there = painter.alpha(painter.previous_timestep(timestep, steps))
            made = ddim_step(made, painter.guided(made, timestep, words, blank, 7.5), painter.alpha(timestep), there)
        return float((made - latents).abs().mean())

    errors = [error(inner) for inner in (0, 3, 12)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.9 * errors[0]


def test_words_find_their_counterparts() -> None:
    assert counterparts([1, 5, 6, 2], [1, 5, 6, 2]) == [0, 1, 2, 3]
    assert counterparts([1, 5, 6, 2], [1, 5, 9, 6, 2]) == [0, 1, -1, 2, 3], "an added word has none"
    assert counterparts([1, 5, 6, 2], [1, 5, 9, 2]) == [0, 1, 2, 3], "a swapped word looks where the old one looked"
    assert counterparts([1, 5, 6, 2], [1, 7, 8, 9, 2]) == [0, -1, -1, -1, 3]
    assert pad_counterparts([0, 1, 3], 5) == [0, 1, 3, 3, 4]


def test_injection_touches_the_target_under_its_caption_only() -> None:
    weights = torch.arange(4 * 2 * 3 * 3, dtype=torch.float32).reshape(8, 3, 3)
    injection = Injection(torch.tensor([0, -1, 1]), cross_attention=True)
    changed = injection(weights, to_words=True).reshape(4, 2, 3, 3)
    before = weights.reshape(4, 2, 3, 3)
    assert torch.equal(changed[:3], before[:3])
    assert torch.equal(changed[3, ..., 0], before[2, ..., 0])
    assert torch.equal(changed[3, ..., 1], before[3, ..., 1]), "no counterpart: its own"
    assert torch.equal(changed[3, ..., 2], before[2, ..., 1])
    assert torch.equal(injection(weights, to_words=False), weights)
    injection.self_attention = True
    assert torch.equal(injection(weights, to_words=False).reshape(4, 2, 3, 3)[3], before[2])
    injection.max_queries = 2
    assert torch.equal(injection(weights, to_words=False), weights), "fine layers keep their own"


def test_our_attention_is_the_librarys_when_nothing_is_put_in(saved: Any, source: Pixels, request_: Edit) -> None:
    method = small(ddim_p2p, saved, cross=0, own=0)
    before = {name: type(each) for name, each in method.painter.unet.attn_processors.items()}
    free = method.edit(request_, source, 0)
    assert {name: type(each) for name, each in method.painter.unet.attn_processors.items()} == before
    painter, image = method.painter, Image.fromarray(source).resize((32, 24), Image.Resampling.LANCZOS)
    assert request_.source_caption is not None
    assert request_.target_caption is not None
    way = invert(painter, painter.latents(image), painter.words(request_.source_caption), 2)
    made = painter.sampled(way[-1], painter.words(request_.target_caption), painter.words(""), 7.5, 2)
    plain = np.rint(painter.picture(made) * 255).astype(np.uint8)
    plain = np.asarray(Image.fromarray(plain).resize((70, 60), Image.Resampling.LANCZOS))
    assert np.abs(plain.astype(int) - free).max() <= 1
    assert not np.array_equal(free, small(ddim_p2p, saved, cross=1, own=0).edit(request_, source, 0))
    assert not np.array_equal(free, small(ddim_p2p, saved, cross=0, own=1).edit(request_, source, 0))
