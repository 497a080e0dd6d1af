"""SINE: a network that knows the source guides one that knows everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.methods.diffusion.pipeline import PipelineInput
from editgauge.methods.diffusion.stable_diffusion import USUAL, Painter, PaperMethod, moved
from editgauge.methods.diffusion.tuning import tuned
from editgauge.methods.options import number, offers, whole

if TYPE_CHECKING:
    from torch import Tensor


class SINE(PaperMethod):
    """Model-based guidance: early steps listen to the tuned network about the source, late ones do not."""

    name = "sine"
    about = "SINE: the network is tuned on the source, and guides the untouched one in the early steps."
    paper = "https://arxiv.org/abs/2212.04489"
    known = offers(
        USUAL,
        steps=whole(100, "DDIM steps"),
        guidance=number(10.0, "towards the captions"),
        source_share=number(0.6, "the tuned network's share of the guidance", most=1.0),
        until=number(0.5, "share of the noise down to which the tuned network is heard", most=1.0),
        tuning_steps=whole(800, "tuning steps of the network", least=0),
        tuning_rate=number(1e-6, "their learning rate"),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """The target, guided by what the source looks like."""
        import torch

        options, latents = self.options, painter.latents(request.image)
        source, target = painter.words(request.prompt.source or ""), painter.words(request.prompt.text)
        pupil = tuned(painter, latents, source, options["tuning_steps"], options["tuning_rate"], request.generator)
        blank, made = painter.words(""), painter.random_like(latents, request.generator)
        for timestep in painter.timesteps(options["steps"]):
            without, towards = painter.noise(made.repeat(2, 1, 1, 1), timestep, torch.cat([blank, target])).chunk(2)
            if timestep >= options["until"] * painter.training_steps:
                towards = towards.lerp(pupil.noise(made, timestep, source), options["source_share"])
            noise = without + options["guidance"] * (towards - without)
            after = painter.kept(painter.before(timestep, options["steps"]))
            made = moved(made, noise, painter.kept(timestep), after)
        return made


sine = SINE()
