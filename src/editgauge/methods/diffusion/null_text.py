"""Null-text inversion with Prompt-to-Prompt, and the same without the optimization.

Prompt-to-Prompt: while the target is painted, it looks where the source looked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from editgauge.methods.diffusion._pipeline import PipelineInput
from editgauge.methods.diffusion._stable_diffusion import DEFAULT_OPTIONS, Painter, PaperMethod, ddim_step
from editgauge.methods.options import combine_options, integer, number

if TYPE_CHECKING:
    from torch import Tensor

NO_COUNTERPART = -1
"""Marks a target token without a counterpart in the source."""


def counterparts(source: Sequence[int], target: Sequence[int]) -> list[int]:
    """Return, for each token of the target, the index of its counterpart in the source, or -1.

    Tokens in common, and runs of as many tokens swapped for others, have one; what is added has none.

    >>> counterparts([1, 7, 8, 2], [1, 9, 8, 2]), counterparts([1, 8, 2], [1, 5, 6, 8, 2])
    ([0, 1, 2, 3], [0, -1, -1, 1, 2])
    """
    indices = [NO_COUNTERPART] * len(target)
    matcher = SequenceMatcher(None, list(source), list(target), autojunk=False)
    for kind, begin, end, start, stop in matcher.get_opcodes():
        if kind == "equal" or (kind == "replace" and end - begin == stop - start):
            indices[start:stop] = range(begin, end)
    return indices


def pad_counterparts(indices: Sequence[int], length: int) -> list[int]:
    """Extend counterparts to a padded sequence; padding tokens correspond by index."""
    return [*indices[:length], *range(len(indices), length)]


@dataclass
class Injection:
    """Attention of the source put into that of the target, for the first steps of a sampling.

    The batch is (source, target) twice: blank words, then the captions. Only under the captions anything is put in.
    """

    counterparts: Tensor
    """Index of the source token per target token; -1 for none."""
    cross_attention: bool = False
    """Whether cross-attention is injected at this step."""
    self_attention: bool = False
    """Whether self-attention is injected at this step."""
    max_queries: int = 1024
    """Largest layer whose self-attention is injected; finer layers carry texture, not layout."""

    def __call__(self, weights: Tensor, *, to_words: bool) -> Tensor:
        """Replace the target's attention weights (batch * heads, queries, keys) by the source's."""
        import torch

        if not (self.cross_attention if to_words else self.self_attention and weights.shape[1] <= self.max_queries):
            return weights
        by_picture = weights.reshape(4, -1, *weights.shape[1:])
        source, target = by_picture[2], by_picture[3]
        if to_words:
            taken = source[..., self.counterparts.clamp(min=0)]
            target = torch.where(self.counterparts == NO_COUNTERPART, target, taken)
        else:
            target = source
        return torch.cat([by_picture[:3], target[None]]).reshape(weights.shape)


class InjectedAttention:
    """The attention processor of a UNet that lets an injection change the weights."""

    def __init__(self, injection: Injection) -> None:
        self.injection = injection

    def __call__(
        self, attn: Any, hidden_states: Any, encoder_hidden_states: Any = None, attention_mask: Any = None
    ) -> Any:
        """Compute the attention layer; argument names are those of the library."""
        import torch

        to_words = encoder_hidden_states is not None
        context = encoder_hidden_states if to_words else hidden_states
        query, key, value = (
            attn.head_to_batch_dim(part) for part in (attn.to_q(hidden_states), attn.to_k(context), attn.to_v(context))
        )
        weights = self.injection(attn.get_attention_scores(query, key, attention_mask), to_words=to_words)
        project, dropout = attn.to_out
        return dropout(project(attn.batch_to_head_dim(torch.bmm(weights, value))))


@contextmanager
def injected_attention(unet: Any, injection: Injection) -> Iterator[None]:
    """Route the network's attention through the injection within the context."""
    before = unet.attn_processors
    unet.set_attn_processor(InjectedAttention(injection))
    try:
        yield
    finally:
        unet.set_attn_processor(before)


class NullText(PaperMethod):
    """Learns blank words under which guidance leads back to the source, then swaps the caption."""

    name = "null-text"
    about = "Null-text inversion with Prompt-to-Prompt: blank words learned per step, attention of the source kept."
    paper = "https://arxiv.org/abs/2211.09794"
    option_specs = combine_options(
        DEFAULT_OPTIONS,
        inner_steps=integer(10, "optimization steps of the blank words at every step", minimum=0),
        cross=number(0.8, "share of the steps in which attention to words is the source's", maximum=1.0),
        own=number(0.5, "share of the steps in which attention within the picture is the source's", maximum=1.0),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """Sample the target next to the source."""
        import torch

        source, target = painter.words(request.prompt.source or ""), painter.words(request.prompt.text)
        trajectory = invert(painter, painter.latents(request.image), source, self.options["steps"])
        blanks = optimize_null_embeddings(painter, trajectory, source, self.options["guidance"], self.inner_steps)
        injection = Injection(_counterpart_tensor(painter, request))
        return self._side_by_side(painter, trajectory[-1], torch.cat([source, target]), blanks, injection)

    @property
    def inner_steps(self) -> int:
        """Optimization steps of the null embedding per sampling step."""
        return int(self.options["inner_steps"])

    def _side_by_side(
        self, painter: Painter, noise: Tensor, captions: Tensor, blanks: list[Tensor], injection: Injection
    ) -> Tensor:
        """Sample source and target together, from the same noise."""
        import torch

        steps = self.options["steps"]
        pair = torch.cat([noise, noise])
        with injected_attention(painter.unet, injection):
            for index, timestep in enumerate(painter.timesteps(steps)):
                injection.cross_attention = index < self.options["cross"] * steps
                injection.self_attention = index < self.options["own"] * steps
                blank = blanks[index].expand(2, -1, -1)
                noise_estimate = painter.guided(pair, timestep, captions, blank, self.options["guidance"])
                pair = ddim_step(
                    pair,
                    noise_estimate,
                    painter.alpha(timestep),
                    painter.alpha(painter.previous_timestep(timestep, steps)),
                )
        return pair[1:]


class DDIMPromptToPrompt(NullText):
    """Prompt-to-Prompt on plain DDIM inversion: what null-text inversion is compared with."""

    name = "ddim-p2p"
    about = "Prompt-to-Prompt on plain DDIM inversion: null-text inversion without its optimization."
    paper = "https://arxiv.org/abs/2208.01626"
    option_specs = combine_options(
        {name: option for name, option in NullText.option_specs.items() if name != "inner_steps"}
    )

    @property
    def inner_steps(self) -> int:
        """Zero: the null embeddings are not optimized."""
        return 0


def optimize_null_embeddings(
    painter: Painter, trajectory: list[Tensor], words: Tensor, guidance: float, inner_steps: int
) -> list[Tensor]:
    """Optimize a null embedding per step, under which guided sampling retraces the inversion.

    Learning rate and early stop are those of the paper's code: the rate falls to half, the tolerance grows.
    """
    import torch

    steps = len(trajectory) - 1
    blank, latents, learned = painter.words(""), trajectory[-1], []
    for index, timestep in enumerate(painter.timesteps(steps)):
        alpha, previous_alpha = painter.alpha(timestep), painter.alpha(painter.previous_timestep(timestep, steps))
        goal, with_words = trajectory[steps - index - 1], painter.noise(latents, timestep, words)
        with torch.enable_grad():
            blank = blank.detach().clone().requires_grad_()
            optimizer = torch.optim.Adam([blank], lr=1e-2 * (1 - index / (2 * steps)))
            for _ in range(inner_steps):
                without = painter.noise(latents, timestep, blank)
                noise = without + guidance * (with_words - without)
                loss = torch.nn.functional.mse_loss(ddim_step(latents, noise, alpha, previous_alpha), goal)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                if loss.item() < 1e-5 + index * 2e-5:
                    break
        learned.append(blank.detach())
        latents = ddim_step(
            latents, painter.guided(latents, timestep, words, learned[-1], guidance), alpha, previous_alpha
        )
    return learned


def _counterpart_tensor(painter: Painter, request: PipelineInput) -> Tensor:
    import torch

    tokenizer = painter.pipe.tokenizer
    source, target = (
        tokenizer(text, truncation=True, max_length=tokenizer.model_max_length).input_ids
        for text in (request.prompt.source or "", request.prompt.text)
    )
    return torch.tensor(
        pad_counterparts(counterparts(source, target), tokenizer.model_max_length), device=painter.unet.device
    )


def invert(painter: Painter, latents: Tensor, words: Tensor, steps: int) -> list[Tensor]:
    """Invert latents by DDIM; return the trajectory from the clean latents to the noise.

    Sampling backwards assumes that the noise seen before a step is that seen after it; the error falls with the number
    of steps. No guidance is used, for with it the assumption fails (Null-text inversion, section 3.2).
    """
    trajectory = [latents]
    for timestep in reversed(painter.timesteps(steps)):
        previous_alpha, alpha = painter.alpha(painter.previous_timestep(timestep, steps)), painter.alpha(timestep)
        noise = painter.noise(trajectory[-1], timestep, words)
        trajectory.append(ddim_step(trajectory[-1], noise, previous_alpha, alpha))
    return trajectory


null_text, ddim_p2p = NullText(), DDIMPromptToPrompt()
