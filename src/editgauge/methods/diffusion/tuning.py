"""Tuning on a single picture: a copy of the network, or a vector, learns to denoise it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from editgauge.methods.diffusion.stable_diffusion import Painter, mixed

if TYPE_CHECKING:
    from torch import Tensor


def denoising_loss(painter: Painter, latents: Tensor, words: Tensor, generator: Any) -> Tensor:
    """How badly the network tells the noise in a picture, at a timestep drawn by chance (DDPM, equation 14)."""
    import torch

    timestep = int(torch.randint(0, painter.training_steps, (1,), generator=generator))
    noise = painter.random_like(latents, generator)
    seen = painter.noise(mixed(latents, noise, painter.kept(timestep)), timestep, words)
    return torch.nn.functional.mse_loss(seen, noise)


def learn(parameters: Any, loss: Callable[[], Tensor], steps: int, rate: float) -> None:
    """Lets the parameters descend the loss."""
    import torch

    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0)
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            loss().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    optimizer.zero_grad()  # they are as large as what was learned


def tuned(painter: Painter, latents: Tensor, words: Tensor, steps: int, rate: float, generator: Any) -> Painter:
    """A painter with a copy of the network that has learned this picture under these words; the network stays."""
    unet = deepcopy(painter.unet).requires_grad_(True)
    pupil = Painter(painter.pipe, unet)
    learn(unet.parameters(), lambda: denoising_loss(pupil, latents, words, generator), steps, rate)
    unet.requires_grad_(False)
    return pupil
