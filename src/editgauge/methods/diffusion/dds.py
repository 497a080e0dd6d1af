"""Delta Denoising Score: the source moved along the difference of what two captions ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.methods.diffusion.pipeline import PipelineInput
from editgauge.methods.diffusion.stable_diffusion import DEFAULT_OPTIONS, Painter, PaperMethod, add_noise
from editgauge.methods.options import combine_options, integer, number

if TYPE_CHECKING:
    from torch import Tensor

EARLIEST, LATEST = 0.05, 0.95
"""Shares of the timesteps between which noise is drawn, as in the paper's code."""
REFERENCE_LEARNING_RATE = 200.0
"""The paper's code sums its loss, times 2000, over the latent's area, with a learning rate of 0.1."""


class DDS(PaperMethod):
    """Descends the difference of two denoising scores: the error both share cancels."""

    name = "dds"
    about = "Delta Denoising Score: gradient steps on the source's latents, no sampling and no mask."
    paper = "https://arxiv.org/abs/2304.07090"
    option_specs = combine_options(
        DEFAULT_OPTIONS,
        steps=integer(200, "gradient steps"),
        rate=number(1.0, "size of a step, as a multiple of that in the paper's code"),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """Move the source's latents along the delta denoising gradient."""
        import torch

        blank, guidance = painter.words(["", ""]), self.options["guidance"]
        captions = torch.cat([painter.words(request.prompt.source or ""), painter.words(request.prompt.text)])
        source = painter.latents(request.image)
        target = source.clone()
        first, last = (round(share * painter.training_steps) for share in (EARLIEST, LATEST))
        size = REFERENCE_LEARNING_RATE * self.options["rate"] / (source.shape[-1] * source.shape[-2])
        for _ in range(self.options["steps"]):
            timestep = int(torch.randint(first, last, (1,), generator=request.generator))
            noise = painter.random_like(source, request.generator)
            noised = add_noise(torch.cat([source, target]), noise, painter.alpha(timestep))
            of_source, of_target = painter.guided(noised, timestep, captions, blank, guidance).chunk(2)
            target = target - size * (of_target - of_source)
        return target


dds = DDS()
