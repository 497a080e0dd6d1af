"""Building blocks of Stable Diffusion for methods implemented from their papers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image

from editgauge.methods.diffusion._pipeline import LATENT_DDIM, Diffusion, PipelineInput, common_options, refuse_flagged
from editgauge.methods.diffusion.library import STABLE_DIFFUSION
from editgauge.methods.options import combine_options, integer, number

if TYPE_CHECKING:
    from torch import Tensor

    from editgauge.methods.prompts import Form

DEFAULT_OPTIONS = combine_options(
    common_options(STABLE_DIFFUSION),
    steps=integer(50, "DDIM steps"),
    guidance=number(7.5, "towards the caption"),
)


class PaperMethod(Diffusion):
    """A method written here after its paper, on the parts of a Stable Diffusion pipeline; write `paint`."""

    pipeline = "StableDiffusionPipeline"
    scheduler = "DDIMScheduler"
    scheduler_options = LATENT_DDIM
    on_gpu = "float32"  # gradients of half precision vanish
    form: Form | None = "captions"

    def make(self, request: PipelineInput) -> Any:
        """Decode the latents from `paint`; raise `RefusedError` when the safety checker flags the image."""
        return self.painter.picture(self.paint(self.painter, request))

    @abstractmethod
    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """Compute the latents of the outcome."""

    @property
    def painter(self) -> Painter:
        """The parts."""
        return Painter(self.pipe, self.pipe.unet)

    def to_device(self, pipe: Any) -> Any:
        """Move the pipeline to its device and freeze its weights; only copies and new tensors are trained."""
        for part in (pipe.unet, pipe.vae, pipe.text_encoder):
            part.requires_grad_(False)
        return super().to_device(pipe)


@dataclass(frozen=True)
class Painter:
    """A diffusion network in its latent space."""

    pipe: Any
    unet: Any

    def words(self, texts: str | Sequence[str]) -> Tensor:
        """Texts as the network reads them; longer ones are cut."""
        return self.pipe.text_encoder(self.tokens(texts))[0]  # type: ignore[no-any-return]

    def tokens(self, texts: str | Sequence[str]) -> Tensor:
        """Texts as numbers of the vocabulary, filled up to the full length."""
        tokenizer = self.pipe.tokenizer
        texts = [texts] if isinstance(texts, str) else list(texts)
        length = tokenizer.model_max_length
        read = tokenizer(texts, padding="max_length", truncation=True, max_length=length, return_tensors="pt")
        return read.input_ids.to(self.unet.device)  # type: ignore[no-any-return]

    def latents(self, image: Image.Image) -> Tensor:
        """Encode an image into latents, deterministically."""
        vae = self.pipe.vae
        values = self.pipe.image_processor.preprocess(image).to(vae.device, vae.dtype)
        return vae.encode(values).latent_dist.mode() * vae.config.scaling_factor  # type: ignore[no-any-return]

    def picture(self, latents: Tensor) -> Any:
        """Decode latents into an image, (height, width, 3) in [0, 1]; raise `RefusedError` when it is flagged."""
        vae = self.pipe.vae
        decoded = vae.decode(latents / vae.config.scaling_factor, return_dict=False)[0]
        _, flags = self.pipe.run_safety_checker(decoded, self.unet.device, self.unet.dtype)
        refuse_flagged(flags)
        return self.pipe.image_processor.postprocess(decoded, output_type="np")[0]

    def random_like(self, latents: Tensor, generator: Any) -> Tensor:
        """Fresh noise, drawn on the processor so that every device gets the same."""
        import torch

        noise = torch.randn(latents.shape, generator=generator, dtype=torch.float32)
        return noise.to(latents.device, latents.dtype)

    def timesteps(self, steps: int) -> list[int]:
        """Return the timesteps of a sampling run, noisiest first."""
        self.pipe.scheduler.set_timesteps(steps)
        return [int(step) for step in self.pipe.scheduler.timesteps]

    def previous_timestep(self, timestep: int, steps: int) -> int:
        """Return the next, less noisy timestep of a sampling run; it is below 0 after the last one."""
        return timestep - self.training_steps // steps

    @property
    def training_steps(self) -> int:
        """Number of timesteps of the training."""
        return int(self.pipe.scheduler.config.num_train_timesteps)

    def alpha(self, timestep: int) -> Tensor:
        """Return the cumulative alpha of a timestep: the share of the image in its noisy version."""
        return self.pipe.scheduler.alphas_cumprod[max(timestep, 0)].to(self.unet.device)  # type: ignore[no-any-return]

    def noise(self, latents: Tensor, timestep: int, words: Tensor) -> Tensor:
        """Predict the noise in latents."""
        predicted: Tensor = self.unet(latents, timestep, encoder_hidden_states=words).sample
        if self.pipe.scheduler.config.prediction_type == "v_prediction":
            alpha = self.alpha(timestep)
            predicted = alpha.sqrt() * predicted + (1 - alpha).sqrt() * latents
        return predicted

    def guided(self, latents: Tensor, timestep: int, words: Tensor, blank: Tensor, guidance: float) -> Tensor:
        """Predict the noise with classifier-free guidance."""
        import torch

        both = self.noise(torch.cat([latents, latents]), timestep, torch.cat([blank, words]))
        without, with_words = both.chunk(2)
        return without + guidance * (with_words - without)

    def sampled(self, latents: Tensor, words: Tensor, blank: Tensor, guidance: float, steps: int) -> Tensor:
        """Noise turned into latents of a picture, by DDIM."""
        for timestep in self.timesteps(steps):
            noise = self.guided(latents, timestep, words, blank, guidance)
            latents = ddim_step(
                latents, noise, self.alpha(timestep), self.alpha(self.previous_timestep(timestep, steps))
            )
        return latents


def ddim_step(latents: Tensor, noise: Tensor, alpha: Tensor, next_alpha: Tensor) -> Tensor:
    """Take a deterministic DDIM step between two noise levels, in either direction (DDIM, equation 12)."""
    clean = (latents - (1 - alpha).sqrt() * noise) / alpha.sqrt()
    return add_noise(clean, noise, next_alpha)


def add_noise(clean: Tensor, noise: Tensor, alpha: Tensor) -> Tensor:
    """Add noise to clean latents."""
    return alpha.sqrt() * clean + (1 - alpha).sqrt() * noise
