"""Methods that optimize for a single image: Imagic, SINE, Textual Inversion, DreamBooth and Delta Denoising Score.

Imagic and SINE fine-tune a copy of the network on the source; Textual Inversion and DreamBooth learn a word for it; DDS
moves its latents along the difference of two denoising scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from importlib import resources
from typing import TYPE_CHECKING, Any

from editgauge.errors import BadInputError
from editgauge.methods._prompt_templates import expand_template, normalize_text, noun
from editgauge.methods.diffusion._pipeline import PipelineInput
from editgauge.methods.diffusion._stable_diffusion import DEFAULT_OPTIONS, Painter, PaperMethod, add_noise, ddim_step
from editgauge.methods.options import MethodOption, Value, combine_options, integer, number, text

if TYPE_CHECKING:
    from torch import Tensor


def denoising_loss(painter: Painter, latents: Tensor, words: Tensor, generator: Any) -> Tensor:
    """Return the denoising loss at a random timestep (DDPM, equation 14)."""
    import torch

    timestep = int(torch.randint(0, painter.training_steps, (1,), generator=generator))
    noise = painter.random_like(latents, generator)
    predicted = painter.noise(add_noise(latents, noise, painter.alpha(timestep)), timestep, words)
    return torch.nn.functional.mse_loss(predicted, noise)


def optimize(parameters: Any, loss: Callable[[], Tensor], steps: int, rate: float) -> None:
    """Minimize the loss with AdamW."""
    import torch

    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0)
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            loss().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    optimizer.zero_grad()  # they are as large as what was learned


def fine_tune(painter: Painter, latents: Tensor, words: Tensor, generator: Any, *, steps: int, rate: float) -> Painter:
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
        tuning = {"steps": options["tuning_steps"], "rate": options["tuning_rate"]}
        pupil = fine_tune(painter, latents, source, request.generator, **tuning)
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
        tuning = {"steps": options["tuning_steps"], "rate": options["tuning_rate"]}
        pupil = fine_tune(painter, latents, source, request.generator, **tuning)
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


TEMPLATE = "photo.v1.txt"
"""What the source is called while it is learned."""


class _Personal(PaperMethod):
    """A word for the source, and a caption that uses it."""

    form = "token"

    def __init__(self, **options: Value) -> None:
        super().__init__(**options)
        self.token = str(self.options["token"])

    def settings(self) -> dict[str, Any]:
        """Return the settings of every method and the training prompt."""
        return {**super().settings(), "learned_as": TEMPLATE}

    def _generated(self, painter: Painter, request: PipelineInput, like: Tensor) -> Tensor:
        noise = painter.random_like(like, request.generator)
        words, blank = painter.words(request.prompt.text), painter.words("")
        return painter.sampled(noise, words, blank, self.options["guidance"], self.options["steps"])


class TextualInversion(_Personal):
    """Learns the vector of one word; the network stays as it is."""

    name = "textual-inversion"
    about = "Textual Inversion: one word learns to mean the source, then the target caption with it is painted."
    paper = "https://arxiv.org/abs/2208.01618"
    option_specs = combine_options(
        DEFAULT_OPTIONS,
        token=text("*", "the word; a single token of the model's vocabulary"),
        tuning_steps=integer(3000, "learning steps of the word", minimum=0),
        tuning_rate=number(5e-4, "their learning rate"),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """Generate an image from the caption with the learned embedding."""
        latents, token = painter.latents(request.image), single_token(painter, self.options["token"])
        vector = initial_embedding(painter, token, request.edit.subject).clone().requires_grad_()
        photo = training_prompt(self.options["token"], None)
        with token_embedding(painter, token, vector):

            def loss() -> Tensor:
                return denoising_loss(painter, latents, painter.words(photo), request.generator)

            optimize([vector], loss, self.options["tuning_steps"], self.options["tuning_rate"])
            return self._generated(painter, request, latents)


class DreamBooth(_Personal):
    """Tunes the network until a rare word means the source."""

    name = "dreambooth"
    about = (
        "DreamBooth on one picture: the network is tuned to a rare word, then the target caption with it is painted."
    )
    paper = "https://arxiv.org/abs/2208.12242"
    option_specs = combine_options(
        DEFAULT_OPTIONS,
        token=text("sks", "the rare word"),
        tuning_steps=integer(400, "tuning steps of the network", minimum=0),
        tuning_rate=number(5e-6, "their learning rate"),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """Generate an image from the caption with the rare token, with the fine-tuned network."""
        options, latents = self.options, painter.latents(request.image)
        words = painter.words(training_prompt(options["token"], request.edit.subject))
        tuning = {"steps": options["tuning_steps"], "rate": options["tuning_rate"]}
        pupil = fine_tune(painter, latents, words, request.generator, **tuning)
        return self._generated(pupil, request, latents)


def training_prompt(token: str, subject: str | None) -> str:
    """Return the prompt that names the source during training.

    >>> training_prompt("sks", "the dog"), training_prompt("*", None)
    ('a photo of sks dog', 'a photo of *')
    """
    template = (resources.files("editgauge.methods") / "data" / TEMPLATE).read_text(encoding="utf-8").strip()
    return expand_template(template, {"subject": f"{token} {noun(normalize_text(subject))}" if subject else token})


def single_token(painter: Painter, word: str) -> int:
    """Return the id of a single-token word; only such a word can have its own embedding."""
    numbers = painter.pipe.tokenizer(word, add_special_tokens=False).input_ids
    if len(numbers) != 1:
        raise BadInputError(
            f"'{word}' is {len(numbers)} tokens to this model; pass one that is a single token, e.g. `option='token=*'`"
        )
    return int(numbers[0])


def initial_embedding(painter: Painter, token: int, subject: str | None) -> Tensor:
    """Return the initial embedding: that of the subject's last token, or of the word itself."""
    numbers = painter.pipe.tokenizer(subject, add_special_tokens=False).input_ids if subject else []
    vectors: Tensor = painter.pipe.text_encoder.get_input_embeddings().weight
    return vectors[numbers[-1] if numbers else token].detach()


@contextmanager
def token_embedding(painter: Painter, token: int, vector: Tensor) -> Iterator[None]:
    """Replace the embedding of a token within the context; the vocabulary is unchanged."""
    import torch

    def replaced(_layer: Any, inputs: tuple[Tensor, ...], out: Tensor) -> Tensor:
        return torch.where((inputs[0] == token).unsqueeze(-1), vector.to(out.dtype), out)

    hook = painter.pipe.text_encoder.get_input_embeddings().register_forward_hook(replaced)
    try:
        yield
    finally:
        hook.remove()


textual_inversion, dreambooth = TextualInversion(), DreamBooth()


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
