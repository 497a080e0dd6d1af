"""Editors that follow an instruction: InstructPix2Pix, FLUX Kontext and klein, Qwen-Image-Edit, OmniGen."""

from __future__ import annotations

from typing import Any

from editgauge.errors import BadInputError
from editgauge.methods.diffusion.pipeline import Diffusion, PipelineInput, common_options
from editgauge.methods.options import combine_options, integer, number, text


class InstructPix2Pix(Diffusion):
    """Follows the instruction with two guidances, one towards the words and one towards the source."""

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
        """Edit the source as the instruction says."""
        return self.denoise(request, image=request.image, image_guidance_scale=self.options["image_guidance"])


class _Large(Diffusion):
    """A network of many billion weights."""

    on_gpu = "bfloat16"
    multiple = 16
    by_area = True

    def to_device(self, pipe: Any) -> Any:
        """On its device; with `offload` only the part that is at work."""
        if self.options["offload"] == "no":
            return pipe.to(self.device)
        if self.device == "cpu":
            raise BadInputError("offload=yes moves the parts that rest away from a GPU, and the device is cpu.")
        pipe.enable_model_cpu_offload(device=self.device)
        return pipe

    def make(self, request: PipelineInput) -> Any:
        """Edit the source as the instruction says."""
        return self.follow(request)

    def follow(self, request: PipelineInput, **options: Any) -> Any:
        """Edit the source at exactly the size of this request."""
        width, height = request.image.size
        images = request.images if request.edit.inputs else request.image
        return self.denoise(request, image=images, width=width, height=height, **options)


OFFLOAD = {"offload": text("no", "keep only the part that is at work on the GPU", "no", "yes")}


class FluxKontext(_Large):
    """Follows the instruction with the source in the network's context."""

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
        """Edit the source at the requested size; by default the pipeline would choose another one."""
        width, height = request.image.size
        return self.follow(request, max_area=width * height, _auto_resize=False)


class Flux2Klein(_Large):
    """Follows the instruction in a few steps, read by a language model."""

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


class QwenImageEdit(_Large):
    """Follows the instruction, read together with the source by a vision-language model."""

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
        """Edit the source; an empty negative prompt turns guidance on."""
        return self.follow(request, negative_prompt=" ")


class QwenImageEditPlus(QwenImageEdit):
    """The successor, whose pipeline reads several pictures."""

    takes_inputs = True
    name = "qwen-image-edit-plus"
    about = "Qwen-Image-Edit-2509: the successor of Qwen-Image-Edit, by its own pipeline."
    pipeline = "QwenImageEditPlusPipeline"
    option_specs = combine_options(
        QwenImageEdit.option_specs,
        model=text("Qwen/Qwen-Image-Edit-2509", QwenImageEdit.option_specs["model"].about),
        steps=integer(40, "denoising steps"),
    )


class OmniGen(_Large):
    """Follows the instruction as one language model that reads and paints."""

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
        """Edit the source; image placeholders are inserted into the prompt as in training."""
        marks = "".join(f"<img><|image_{number}|></img>" for number in range(1, len(request.edit.inputs) + 2))
        return self.denoise(
            request,
            prompt=f"{marks} {request.prompt.text}",
            input_images=request.images,
            use_input_image_size_as_output=True,
            max_input_image_size=self.options["size"],
            img_guidance_scale=self.options["image_guidance"],
        )


instructpix2pix, omnigen = InstructPix2Pix(), OmniGen()
flux_kontext, flux2_klein = FluxKontext(), Flux2Klein()
qwen_image_edit, qwen_image_edit_plus = QwenImageEdit(), QwenImageEditPlus()
