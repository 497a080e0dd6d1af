"""Editing methods with a pipeline in diffusers: SDEdit, ControlNet, DiffEdit, InstructPix2Pix, FLUX Kontext, ..."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import Any

import cv2
import numpy as np
from PIL import Image

from editgauge.errors import BadInputError
from editgauge.methods.diffusion._pipeline import (
    LATENT_DDIM,
    Diffusion,
    PipelineInput,
    PipelineWeights,
    common_options,
    diffusers,
    explain_load_errors,
)
from editgauge.methods.options import combine_options, integer, number, text

STABLE_DIFFUSION = "stable-diffusion-v1-5/stable-diffusion-v1-5"
STRENGTH = number(0.8, "how much of the noise is added to the source: 1 keeps hardly anything of it", maximum=1.0)
OFFLOAD = {"offload": text("no", "keep only the part that is at work on the GPU", "no", "yes")}
SDE_DPM = MappingProxyType({"algorithm_type": "sde-dpmsolver++", "solver_order": 2})
"""Options of the solver for which LEDITS++ derives its inversion (section 3.1)."""


class SDEdit(Diffusion):
    """SDEdit: add noise to the source and denoise it with the prompt."""

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
        """Add noise to the source and denoise it with the prompt."""
        return self.denoise_source(request)

    def denoise_source(self, request: PipelineInput, **options: Any) -> Any:
        """Add noise of the configured strength to the source and denoise it.

        Raises:
            BadInputError: if the strength leaves no denoising step.

        """
        steps, strength = self.options["steps"], self.options["strength"]
        if int(steps * strength) < 1:
            raise BadInputError(f"A strength of {strength:g} leaves less than one of {steps} steps; raise one of them.")
        return self.denoise(request, image=request.image, strength=strength, **options)


class LCMImg2Img(SDEdit):
    """SDEdit with a latent consistency model, which needs only a few steps."""

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
    """SDEdit with a ControlNet that preserves the Canny edges of the source."""

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
            control_image=_canny_edges(request.image, self.options["low"], self.options["high"]),
            controlnet_conditioning_scale=self.options["control"],
        )

    def settings(self) -> dict[str, Any]:
        """Return the common settings, and the id and commit of the control network."""
        return {**super().settings(), "controlnet": self.control.id, "controlnet_revision": self.control.commit}

    @cached_property
    def control(self) -> PipelineWeights:
        """The files of the control network."""
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
    """Generation from the target caption without the source: a baseline that changes everything."""

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


def _canny_edges(image: Image.Image, low: int, high: int) -> Image.Image:
    """Return white edges on black in RGB, the format with which the control network was trained."""
    edges = cv2.Canny(np.asarray(image), low, high)
    return Image.fromarray(np.repeat(edges[..., None], 3, axis=2))


class DiffEdit(Diffusion):
    """DiffEdit: mask the region in which two captions differ, invert the source, and repaint inside the mask."""

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
        """Repaint the region in which the predictions for source and target captions differ."""
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
        latents = self.pipe.invert(
            prompt=request.prompt.source,
            image=request.image,
            num_inference_steps=steps,
            inpaint_strength=strength,
            guidance_scale=1.0,  # inversion with guidance does not reconstruct the source
            generator=request.generator,
        ).latents
        return self.denoise(request, mask_image=mask, image_latents=latents, inpaint_strength=strength)

    def to_device(self, pipe: Any) -> Any:
        """Add the inverse scheduler, which saved models lack, and move the pipeline to its device."""
        inverse = diffusers(f"The method '{self.name}'").DDIMInverseScheduler.from_config(pipe.scheduler.config)
        pipe.register_modules(inverse_scheduler=inverse)
        return super().to_device(pipe)


class LEditsPP(Diffusion):
    """LEDITS++: invert the source exactly, and apply guidance only in the regions relevant to the prompt."""

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


class InstructPix2Pix(Diffusion):
    """InstructPix2Pix: follow the instruction with separate guidance for text and source image."""

    name = "instructpix2pix"
    about = "InstructPix2Pix: a network trained on pairs of pictures and instructions."
    paper = "https://arxiv.org/abs/2211.09800"
    pipeline = "StableDiffusionInstructPix2PixPipeline"
    option_specs = combine_options(
        common_options("timbrooks/instruct-pix2pix"),
        steps=integer(100, "denoising steps"),
        guidance=number(7.5, "towards the instruction"),
        image_guidance=number(1.5, "towards the source", minimum=1.0),
    )

    def make(self, request: PipelineInput) -> Any:
        """Edit the source according to the instruction."""
        return self.denoise(request, image=request.image, image_guidance_scale=self.options["image_guidance"])


class _LargeModel(Diffusion):
    """Base class of instruction-following models with billions of parameters."""

    on_gpu = "bfloat16"
    multiple = 16
    by_area = True

    def to_device(self, pipe: Any) -> Any:
        """Move the pipeline to its device; with `offload`, only the component in use."""
        if self.options["offload"] == "no":
            return pipe.to(self.device)
        if self.device == "cpu":
            raise BadInputError("offload=yes moves the parts that rest away from a GPU, and the device is cpu.")
        pipe.enable_model_cpu_offload(device=self.device)
        return pipe

    def make(self, request: PipelineInput) -> Any:
        """Edit the source according to the instruction."""
        return self.edit_at_size(request)

    def edit_at_size(self, request: PipelineInput, **options: Any) -> Any:
        """Edit the source, with an output of exactly the size of the request's image."""
        width, height = request.image.size
        images = request.images if request.edit.inputs else request.image
        return self.denoise(request, image=images, width=width, height=height, **options)


class FluxKontext(_LargeModel):
    """FLUX.1 Kontext: a flow transformer with the source in its context."""

    name = "flux-kontext"
    about = "FLUX.1 Kontext: a flow transformer that has the source in its context."
    paper = "https://arxiv.org/abs/2506.15742"
    pipeline = "FluxKontextPipeline"
    option_specs = combine_options(
        common_options("black-forest-labs/FLUX.1-Kontext-dev", size=1024),
        OFFLOAD,
        steps=integer(28, "denoising steps"),
        guidance=number(3.5, "distilled guidance towards the instruction"),
    )

    def make(self, request: PipelineInput) -> Any:
        """Edit the source at its own size; by default, the pipeline selects a preferred resolution."""
        width, height = request.image.size
        return self.edit_at_size(request, max_area=width * height, _auto_resize=False)


class Flux2Klein(_LargeModel):
    """FLUX.2 klein: a distilled flow transformer that needs only a few steps."""

    name = "flux2-klein"
    about = "FLUX.2 klein: a small flow transformer, distilled to a few steps, with the source in its context."
    paper = "https://huggingface.co/black-forest-labs/FLUX.2-klein-4B"
    pipeline = "Flux2KleinPipeline"
    option_specs = combine_options(
        common_options("black-forest-labs/FLUX.2-klein-4B", size=1024),
        OFFLOAD,
        steps=integer(4, "denoising steps"),
        guidance=number(1.0, "towards the instruction; a distilled network ignores it"),
    )


class QwenImageEdit(_LargeModel):
    """Qwen-Image-Edit: a flow transformer conditioned by a vision-language model on source and instruction."""

    name = "qwen-image-edit"
    about = "Qwen-Image-Edit: a vision-language model reads source and instruction, a flow transformer paints."
    paper = "https://arxiv.org/abs/2508.02324"
    pipeline = "QwenImageEditPipeline"
    guidance = "true_cfg_scale"
    multiple = 32
    option_specs = combine_options(
        common_options("Qwen/Qwen-Image-Edit", size=1024),
        OFFLOAD,
        steps=integer(50, "denoising steps"),
        guidance=number(4.0, "towards the instruction, away from a blank one"),
    )

    def make(self, request: PipelineInput) -> Any:
        """Edit the source; a blank negative prompt enables guidance."""
        return self.edit_at_size(request, negative_prompt=" ")


class QwenImageEditPlus(QwenImageEdit):
    """Qwen-Image-Edit-2509: the successor of Qwen-Image-Edit, which accepts several input images."""

    takes_inputs = True
    name = "qwen-image-edit-plus"
    about = "Qwen-Image-Edit-2509: the successor of Qwen-Image-Edit, by its own pipeline."
    pipeline = "QwenImageEditPlusPipeline"
    option_specs = combine_options(
        QwenImageEdit.option_specs,
        model=text("Qwen/Qwen-Image-Edit-2509", QwenImageEdit.option_specs["model"].about),
        steps=integer(40, "denoising steps"),
    )


class OmniGen(_LargeModel):
    """OmniGen: one transformer that processes the instruction and generates the image."""

    takes_inputs = True
    name = "omnigen"
    about = "OmniGen: one transformer that reads instruction and source, and paints."
    paper = "https://arxiv.org/abs/2409.11340"
    pipeline = "OmniGenPipeline"
    option_specs = combine_options(
        common_options("Shitao/OmniGen-v1-diffusers", size=1024),
        OFFLOAD,
        steps=integer(50, "denoising steps"),
        guidance=number(2.5, "towards the instruction"),
        image_guidance=number(1.6, "towards the source"),
    )

    def make(self, request: PipelineInput) -> Any:
        """Edit the source; the prompt begins with image placeholders, as in training."""
        image_count = 1 + len(request.edit.inputs)
        placeholders = "".join(f"<img><|image_{index}|></img>" for index in range(1, image_count + 1))
        return self.denoise(
            request,
            prompt=f"{placeholders} {request.prompt.text}",
            input_images=request.images,
            use_input_image_size_as_output=True,
            max_input_image_size=self.options["size"],
            img_guidance_scale=self.options["image_guidance"],
        )


sdedit = SDEdit()
lcm_img2img = LCMImg2Img()
controlnet_canny = ControlNetCanny()
text_to_image = TextToImage()
diffedit = DiffEdit()
ledits_pp = LEditsPP()
instructpix2pix = InstructPix2Pix()
flux_kontext = FluxKontext()
flux2_klein = Flux2Klein()
qwen_image_edit = QwenImageEdit()
qwen_image_edit_plus = QwenImageEditPlus()
omnigen = OmniGen()
