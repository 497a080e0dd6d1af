"""Tuning on a single picture, a copy of the network or a vector learns to denoise it; and two methods made of it.

Imagic: words that mean the source, a network that knows it, and a step from there to the target.
SINE: a network that knows the source guides one that knows everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from editgauge.methods.diffusion.pipeline import PipelineInput
from editgauge.methods.diffusion.stable_diffusion import DEFAULT_OPTIONS, Painter, PaperMethod, add_noise, ddim_step
from editgauge.methods.options import MethodOption, combine_options, integer, number

if TYPE_CHECKING:
    from torch import Tensor


def denoising_loss(painter: Painter, latents: Tensor, words: Tensor, generator: Any) -> Tensor:
    """How badly the network tells the noise in a picture, at a timestep drawn by chance (DDPM, equation 14)."""
    import torch

    timestep = int(torch.randint(0, painter.training_steps, (1,), generator=generator))
    noise = painter.random_like(latents, generator)
    predicted = painter.noise(add_noise(latents, noise, painter.alpha(timestep)), timestep, words)
    return torch.nn.functional.mse_loss(predicted, noise)


def optimize(parameters: Any, loss: Callable[[], Tensor], steps: int, rate: float) -> None:
    """Lets the parameters descend the loss."""
    import torch

    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0)
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            loss().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    optimizer.zero_grad()  # they are as large as what was learned


def fine_tune(painter: Painter, latents: Tensor, words: Tensor, steps: int, rate: float, generator: Any) -> Painter:
    """Return a painter with a copy of the network fine-tuned on one image and caption; the original is unchanged."""
    unet = deepcopy(painter.unet).requires_grad_(True)
    pupil = Painter(painter.pipe, unet)
    optimize(unet.parameters(), lambda: denoising_loss(pupil, latents, words, generator), steps, rate)
    unet.requires_grad_(False)
    return pupil


class Imagic(PaperMethod):
    """Optimizes the target's words towards the source, tunes the network on them, and interpolates."""

    name = "imagic"
    about = "Imagic: text embedding optimized, network tuned, then words between both; eta says how far to the target."
    paper = "https://arxiv.org/abs/2210.09276"
    form = "caption"
    option_specs = combine_options(
        DEFAULT_OPTIONS,
        eta=MethodOption(0.9, "from the source's words (0) to the target's (1)", minimum=0.0, maximum=2.0),
        word_steps=integer(1000, "optimization steps of the words", minimum=0),
        word_rate=number(2e-3, "their learning rate"),
        tuning_steps=integer(1500, "tuning steps of the network", minimum=0),
        tuning_rate=number(5e-7, "their learning rate"),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """Sample from the interpolation between source and target embeddings."""
        options, latents = self.options, painter.latents(request.image)
        target = painter.words(request.prompt.text)
        source = target.detach().clone().requires_grad_()

        def loss() -> Tensor:
            return denoising_loss(painter, latents, source, request.generator)

        optimize([source], loss, options["word_steps"], options["word_rate"])
        source = source.detach()
        pupil = fine_tune(painter, latents, source, options["tuning_steps"], options["tuning_rate"], request.generator)
        words = options["eta"] * target + (1 - options["eta"]) * source
        noise = painter.random_like(latents, request.generator)
        return pupil.sampled(noise, words, painter.words(""), options["guidance"], options["steps"])


class SINE(PaperMethod):
    """Model-based guidance: early steps listen to the tuned network about the source, late ones do not."""

    name = "sine"
    about = "SINE: the network is tuned on the source, and guides the untouched one in the early steps."
    paper = "https://arxiv.org/abs/2212.04489"
    option_specs = combine_options(
        DEFAULT_OPTIONS,
        steps=integer(100, "DDIM steps"),
        guidance=number(10.0, "towards the captions"),
        source_share=number(0.6, "the tuned network's share of the guidance", maximum=1.0),
        until=number(0.5, "share of the noise down to which the tuned network is heard", maximum=1.0),
        tuning_steps=integer(800, "tuning steps of the network", minimum=0),
        tuning_rate=number(1e-6, "their learning rate"),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """Sample the target, guided by the network fine-tuned on the source."""
        import torch

        options, latents = self.options, painter.latents(request.image)
        source, target = painter.words(request.prompt.source or ""), painter.words(request.prompt.text)
        pupil = fine_tune(painter, latents, source, options["tuning_steps"], options["tuning_rate"], request.generator)
        blank, made = painter.words(""), painter.random_like(latents, request.generator)
        for timestep in painter.timesteps(options["steps"]):
            without, towards = painter.noise(made.repeat(2, 1, 1, 1), timestep, torch.cat([blank, target])).chunk(2)
            if timestep >= options["until"] * painter.training_steps:
                towards = towards.lerp(pupil.noise(made, timestep, source), options["source_share"])
            noise = without + options["guidance"] * (towards - without)
            after = painter.alpha(painter.previous_timestep(timestep, options["steps"]))
            made = ddim_step(made, noise, painter.alpha(timestep), after)
        return made


imagic, sine = Imagic(), SINE()
