"""Imagic: words that mean the source, a network that knows it, and a step from there to the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.methods.diffusion.pipeline import PipelineInput
from editgauge.methods.diffusion.stable_diffusion import USUAL, Painter, PaperMethod
from editgauge.methods.diffusion.tuning import denoising_loss, learn, tuned
from editgauge.methods.options import MethodOption, number, offers, whole

if TYPE_CHECKING:
    from torch import Tensor


class Imagic(PaperMethod):
    """Optimizes the target's words towards the source, tunes the network on them, and interpolates."""

    name = "imagic"
    about = "Imagic: text embedding optimized, network tuned, then words between both; eta says how far to the target."
    paper = "https://arxiv.org/abs/2210.09276"
    form = "caption"
    known = offers(
        USUAL,
        eta=MethodOption(0.9, "how far towards the target's words: 0 the source, 1 the target", least=0.0, most=2.0),
        word_steps=whole(1000, "optimization steps of the words", least=0),
        word_rate=number(2e-3, "their learning rate"),
        tuning_steps=whole(1500, "tuning steps of the network", least=0),
        tuning_rate=number(5e-7, "their learning rate"),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """The picture of the words between source and target."""
        options, latents = self.options, painter.latents(request.image)
        target = painter.words(request.prompt.text)
        source = target.detach().clone().requires_grad_()

        def loss() -> Tensor:
            return denoising_loss(painter, latents, source, request.generator)

        learn([source], loss, options["word_steps"], options["word_rate"])
        source = source.detach()
        pupil = tuned(painter, latents, source, options["tuning_steps"], options["tuning_rate"], request.generator)
        words = options["eta"] * target + (1 - options["eta"]) * source
        noise = painter.random_like(latents, request.generator)
        return pupil.sampled(noise, words, painter.words(""), options["guidance"], options["steps"])


imagic = Imagic()
