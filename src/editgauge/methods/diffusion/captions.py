"""Text-to-image networks that start from the source, or from nothing: SDEdit, LCM, ControlNet, text alone."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import cv2
import numpy as np
from PIL import Image

from editgauge.errors import BadInputError
from editgauge.methods.diffusion.pipeline import Diffusion, PipelineInput, common_options
from editgauge.methods.diffusion.weights import PipelineWeights, explain_load_errors
from editgauge.methods.options import combine_options, integer, number, text

STABLE_DIFFUSION = "stable-diffusion-v1-5/stable-diffusion-v1-5"
STRENGTH = number(0.8, "how much of the noise is added to the source: 1 keeps hardly anything of it", maximum=1.0)


class SDEdit(Diffusion):
    """Adds noise to the source and removes it under the words."""

    name = "sdedit"
    about = "SDEdit (img2img): the source under noise, denoised towards the words."
    paper = "https://arxiv.org/abs/2108.01073"
    pipeline = "StableDiffusionImg2ImgPipeline"
    option_specs = combine_options(
        common_options(STABLE_DIFFUSION),
        steps=integer(50, "denoising steps, of which the share `strength` is made"),
        guidance=number(7.5, "towards the words"),
        strength=STRENGTH,
    )

    def make(self, request: PipelineInput) -> Any:
        """Add noise to the source and denoise it under the target caption."""
        return self.denoise_source(request)

    def denoise_source(self, request: PipelineInput, **options: Any) -> Any:
        """Add noise of the requested strength to the source and denoise it."""
        steps, strength = self.options["steps"], self.options["strength"]
        if int(steps * strength) < 1:
            raise BadInputError(f"A strength of {strength:g} leaves less than one of {steps} steps; raise one of them.")
        return self.denoise(request, image=request.image, strength=strength, **options)


class LCMImg2Img(SDEdit):
    """SDEdit with a network that needs a few steps only."""

    name = "lcm-img2img"
    about = "Latent consistency model, img2img: SDEdit in a few steps."
    paper = "https://arxiv.org/abs/2310.04378"
    pipeline = "LatentConsistencyModelImg2ImgPipeline"
    scheduler = "LCMScheduler"
    option_specs = combine_options(
        common_options("SimianLuo/LCM_Dreamshaper_v7", size=768),
        steps=integer(4, "denoising steps"),
        guidance=number(8.5, "towards the words, as the network was distilled with"),
        strength=STRENGTH,
    )


class ControlNetCanny(SDEdit):
    """SDEdit that keeps to the edges of the source."""

    name = "controlnet-canny"
    about = "ControlNet with Canny edges, img2img: the source under noise, its edges held."
    paper = "https://arxiv.org/abs/2302.05543"
    pipeline = "StableDiffusionControlNetImg2ImgPipeline"
    option_specs = combine_options(
        SDEdit.option_specs,
        controlnet=text("lllyasviel/sd-controlnet-canny", "the control network: an id of the hub, or a folder"),
        control=number(1.0, "how strongly the edges are held"),
        low=integer(100, "Canny's lower threshold", minimum=0),
        high=integer(200, "Canny's upper threshold", minimum=0),
    )

    def make(self, request: PipelineInput) -> Any:
        """Denoise the source, conditioned on its Canny edges."""
        return self.denoise_source(
            request,
            control_image=edges(request.image, self.options["low"], self.options["high"]),
            controlnet_conditioning_scale=self.options["control"],
        )

    def settings(self) -> dict[str, Any]:
        """Those of every method, and which control network."""
        return {**super().settings(), "controlnet": self.control.id, "controlnet_revision": self.control.commit}

    @cached_property
    def control(self) -> PipelineWeights:
        """Where the control network is."""
        return PipelineWeights(self.options["controlnet"], index="config.json")

    def parts(self, library: Any) -> dict[str, Any]:
        """Load the control network."""
        import torch

        with explain_load_errors(self.control):
            network = library.ControlNetModel.from_pretrained(
                self.control.folder,
                dtype=getattr(torch, self.precision),
                use_safetensors=True,
                local_files_only=True,
            )
        return {"controlnet": network}


class TextToImage(Diffusion):
    """Paints the target caption and never sees the source: what changing everything looks like."""

    name = "text-to-image"
    about = "The target caption alone, without the source: everything is changed (AugCLIP's 'excessively modified')."
    paper = "https://arxiv.org/abs/2112.10752"
    pipeline = "StableDiffusionPipeline"
    form = "caption"
    option_specs = combine_options(
        common_options(STABLE_DIFFUSION),
        steps=integer(50, "denoising steps"),
        guidance=number(7.5, "towards the caption"),
    )

    def make(self, request: PipelineInput) -> Any:
        """Generate an image from the target caption in the source's aspect ratio."""
        width, height = request.image.size
        return self.denoise(request, width=width, height=height)


def edges(image: Image.Image, low: int, high: int) -> Image.Image:
    """White edges on black, as the control network was trained with."""
    lines = cv2.Canny(np.asarray(image), low, high)
    return Image.fromarray(np.repeat(lines[..., None], 3, axis=2))


sdedit, lcm_img2img, controlnet_canny, text_to_image = SDEdit(), LCMImg2Img(), ControlNetCanny(), TextToImage()
