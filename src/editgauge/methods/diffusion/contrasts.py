"""Pipelines of the library that find by themselves what to change: DiffEdit and LEDITS++."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from editgauge.methods.diffusion.captions import STABLE_DIFFUSION
from editgauge.methods.diffusion.pipeline import LATENT_DDIM, Diffusion, PipelineInput, common_options
from editgauge.methods.diffusion.weights import diffusers
from editgauge.methods.options import combine_options, integer, number

SDE_DPM = MappingProxyType({"algorithm_type": "sde-dpmsolver++", "solver_order": 2})
"""The solver for which LEDITS++ derives its inversion (section 3.1)."""


class DiffEdit(Diffusion):
    """Masks where two captions disagree, inverts the source, and repaints inside the mask."""

    name = "diffedit"
    about = "DiffEdit: a mask from the contrast of two captions, then DDIM inversion and repainting inside it."
    paper = "https://arxiv.org/abs/2210.11427"
    pipeline = "StableDiffusionDiffEditPipeline"
    scheduler = "DDIMScheduler"
    scheduler_options = LATENT_DDIM
    form = "captions"
    option_specs = combine_options(
        common_options(STABLE_DIFFUSION),
        steps=integer(50, "denoising steps"),
        guidance=number(7.5, "towards the caption"),
        strength=number(0.8, "how far the source is inverted (the paper's encoding ratio)", minimum=0.05, maximum=1.0),
        maps=integer(10, "contrasts that are averaged into the mask"),
        mask_strength=number(0.5, "noise under which the captions are contrasted", minimum=0.05, maximum=1.0),
    )

    def make(self, request: PipelineInput) -> Any:
        """Repaint the region in which source and target captions disagree."""
        steps, strength = self.options["steps"], self.options["strength"]
        mask = self.pipe.generate_mask(
            image=request.image,
            source_prompt=request.prompt.source,
            target_prompt=request.prompt.text,
            num_maps_per_mask=self.options["maps"],
            mask_encode_strength=self.options["mask_strength"],
            num_inference_steps=steps,
            guidance_scale=self.options["guidance"],
            generator=request.generator,
        )
        inverted = self.pipe.invert(
            prompt=request.prompt.source,
            image=request.image,
            num_inference_steps=steps,
            inpaint_strength=strength,
            guidance_scale=1.0,  # guided inversion does not lead back to the source
            generator=request.generator,
        ).latents
        return self.denoise(request, mask_image=mask, image_latents=inverted, inpaint_strength=strength)

    def to_device(self, pipe: Any) -> Any:
        """With the inverse of its scheduler, which models are saved without."""
        inverse = diffusers(f"The method '{self.name}'").DDIMInverseScheduler.from_config(pipe.scheduler.config)
        pipe.register_modules(inverse_scheduler=inverse)
        return super().to_device(pipe)


class LEditsPP(Diffusion):
    """Inverts the source without error, and guides only where the words matter."""

    name = "ledits++"
    about = "LEDITS++: edit-friendly inversion, then guidance inside masks the network finds by itself."
    paper = "https://arxiv.org/abs/2311.16711"
    pipeline = "LEditsPPPipelineStableDiffusion"
    form = "captions"
    scheduler = "DPMSolverMultistepScheduler"
    scheduler_options = SDE_DPM
    multiple = 32
    option_specs = combine_options(
        common_options(STABLE_DIFFUSION),
        steps=integer(50, "inversion steps"),
        skip=number(0.15, "share of the noisiest steps that is left out", maximum=0.99),
        source_guidance=number(3.5, "towards the source caption while inverting"),
        guidance=number(5.0, "towards the target caption"),
        threshold=number(0.9, "share of the picture that stays", maximum=1.0),
    )

    def make(self, request: PipelineInput) -> Any:
        """Denoise the inverted source with guidance from the target caption."""
        self.pipe.invert(
            image=request.image,
            source_prompt=request.prompt.source,
            source_guidance_scale=self.options["source_guidance"],
            num_inversion_steps=self.options["steps"],
            skip=self.options["skip"],
            generator=request.generator,
        )
        return self.call(
            request,
            editing_prompt=[request.prompt.text],
            edit_guidance_scale=self.options["guidance"],
            edit_threshold=self.options["threshold"],
        )


diffedit, ledits_pp = DiffEdit(), LEditsPP()
