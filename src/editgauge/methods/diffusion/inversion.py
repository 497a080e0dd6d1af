"""DDIM inversion: the noise from which a network paints a given picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.methods.diffusion.stable_diffusion import Painter, moved

if TYPE_CHECKING:
    from torch import Tensor


def inverted(painter: Painter, latents: Tensor, words: Tensor, steps: int) -> list[Tensor]:
    """The way from a picture to its noise: the latents themselves, then those of every timestep upwards.

    Sampling backwards assumes that the noise seen before a step is that seen after it; the error falls with the number
    of steps. No guidance is used, for with it the assumption fails (Null-text inversion, section 3.2).
    """
    way = [latents]
    for timestep in reversed(painter.timesteps(steps)):
        here, there = painter.kept(painter.before(timestep, steps)), painter.kept(timestep)
        noise = painter.noise(way[-1], timestep, words)
        way.append(moved(way[-1], noise, here, there))
    return way


def reconstructed(painter: Painter, noise: Tensor, words: Tensor, steps: int) -> Tensor:
    """What the network paints from inverted noise: the source, but for the error of the inversion."""
    latents = noise
    for timestep in painter.timesteps(steps):
        here, there = painter.kept(timestep), painter.kept(painter.before(timestep, steps))
        latents = moved(latents, painter.noise(latents, timestep, words), here, there)
    return latents
