"""Personalized generation: the source becomes a word, by Textual Inversion or DreamBooth, and is repainted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any

from editgauge.errors import BadInputError
from editgauge.methods.diffusion.pipeline import PipelineInput
from editgauge.methods.diffusion.stable_diffusion import DEFAULT_OPTIONS, Painter, PaperMethod
from editgauge.methods.diffusion.tuning import denoising_loss, fine_tune, optimize
from editgauge.methods.options import Value, combine_options, integer, number, text
from editgauge.methods.prompts._language import expand_template, normalize_text, noun

if TYPE_CHECKING:
    from torch import Tensor

TEMPLATE = "photo.v1.txt"
"""What the source is called while it is learned."""


class _Personal(PaperMethod):
    """A word for the source, and a caption that uses it."""

    form = "token"

    def __init__(self, **options: Value) -> None:
        super().__init__(**options)
        self.token = str(self.options["token"])

    def settings(self) -> dict[str, Any]:
        """Those of every method, and what the source was called."""
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
        pupil = fine_tune(painter, latents, words, options["tuning_steps"], options["tuning_rate"], request.generator)
        return self._generated(pupil, request, latents)


def training_prompt(token: str, subject: str | None) -> str:
    """Return the prompt that names the source during training.

    >>> training_prompt("sks", "the dog"), training_prompt("*", None)
    ('a photo of sks dog', 'a photo of *')
    """
    template = (resources.files(__package__) / TEMPLATE).read_text(encoding="utf-8").strip()
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
    """Where the learning starts: at the vector of the subject's last token, or else of the word itself."""
    numbers = painter.pipe.tokenizer(subject, add_special_tokens=False).input_ids if subject else []
    vectors: Tensor = painter.pipe.text_encoder.get_input_embeddings().weight
    return vectors[numbers[-1] if numbers else token].detach()


@contextmanager
def token_embedding(painter: Painter, token: int, vector: Tensor) -> Iterator[None]:
    """Within, the token has this vector; the vocabulary itself stays as it is."""
    import torch

    def replaced(_layer: Any, inputs: tuple[Tensor, ...], out: Tensor) -> Tensor:
        return torch.where((inputs[0] == token).unsqueeze(-1), vector.to(out.dtype), out)

    hook = painter.pipe.text_encoder.get_input_embeddings().register_forward_hook(replaced)
    try:
        yield
    finally:
        hook.remove()


textual_inversion, dreambooth = TextualInversion(), DreamBooth()
