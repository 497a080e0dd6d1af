"""Null-text inversion with Prompt-to-Prompt, and the same without the optimization.

Prompt-to-Prompt: while the target is painted, it looks where the source looked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from editgauge.methods.diffusion.pipeline import PipelineInput
from editgauge.methods.diffusion.stable_diffusion import USUAL, Painter, PaperMethod, moved
from editgauge.methods.options import number, offers, whole

if TYPE_CHECKING:
    from torch import Tensor

NONE = -1
"""A word of the target that the source has no counterpart for."""


def counterparts(source: Sequence[int], target: Sequence[int]) -> list[int]:
    """For each token of the target, the place of its counterpart in the source, or -1.

    Tokens in common, and runs of as many tokens swapped for others, have one; what is added has none.

    >>> counterparts([1, 7, 8, 2], [1, 9, 8, 2]), counterparts([1, 8, 2], [1, 5, 6, 8, 2])
    ([0, 1, 2, 3], [0, -1, -1, 1, 2])
    """
    indices = [NONE] * len(target)
    matcher = SequenceMatcher(None, list(source), list(target), autojunk=False)
    for kind, begin, end, start, stop in matcher.get_opcodes():
        if kind == "equal" or (kind == "replace" and end - begin == stop - start):
            indices[start:stop] = range(begin, end)
    return indices


def padded(indices: Sequence[int], length: int) -> list[int]:
    """Counterparts of a whole line: what fills it up after the words corresponds place by place."""
    return [*indices[:length], *range(len(indices), length)]


@dataclass
class Injection:
    """Attention of the source put into that of the target, for the first steps of a sampling.

    The batch is (source, target) twice: blank words, then the captions. Only under the captions anything is put in.
    """

    places: Tensor
    """Counterparts by place; -1 for none."""
    cross: bool = False
    """Whether attention to words is put in at this step."""
    own: bool = False
    """Whether attention between places of the picture is."""
    largest: int = 1024
    """The most places of a layer whose own attention is put in: finer ones carry texture, not layout."""

    def __call__(self, weights: Tensor, *, to_words: bool) -> Tensor:
        """Replace the target's attention weights (batch * heads, queries, keys) by the source's."""
        import torch

        if not (self.cross if to_words else self.own and weights.shape[1] <= self.largest):
            return weights
        by_picture = weights.reshape(4, -1, *weights.shape[1:])
        source, target = by_picture[2], by_picture[3]
        if to_words:
            taken = source[..., self.places.clamp(min=0)]
            target = torch.where(self.places == NONE, target, taken)
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
    """Within, the network's attention goes through the injection; afterwards it is as before."""
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
    known = offers(
        USUAL,
        inner_steps=whole(10, "optimization steps of the blank words at every step", least=0),
        cross=number(0.8, "share of the steps in which attention to words is the source's", most=1.0),
        own=number(0.5, "share of the steps in which attention within the picture is the source's", most=1.0),
    )

    def paint(self, painter: Painter, request: PipelineInput) -> Tensor:
        """Sample the target next to the source."""
        source, target = painter.words(request.prompt.source or ""), painter.words(request.prompt.text)
        trajectory = inverted(painter, painter.latents(request.image), source, self.options["steps"])
        blanks = learned_blanks(painter, trajectory, source, self.options["guidance"], self.inner_steps)
        return self._side_by_side(painter, trajectory[-1], source, target, blanks, _places(painter, request))

    @property
    def inner_steps(self) -> int:
        """How often the blank words of a step are improved."""
        return int(self.options["inner_steps"])

    def _side_by_side(
        self,
        painter: Painter,
        noise: Tensor,
        source: Tensor,
        target: Tensor,
        blanks: list[Tensor],
        counterpart_indices: Tensor,
    ) -> Tensor:
        import torch

        steps = self.options["steps"]
        injection = Injection(counterpart_indices)
        pair, captions = torch.cat([noise, noise]), torch.cat([source, target])
        with injected_attention(painter.unet, injection):
            for index, timestep in enumerate(painter.timesteps(steps)):
                injection.cross = index < self.options["cross"] * steps
                injection.own = index < self.options["own"] * steps
                blank = blanks[index].expand(2, -1, -1)
                noise_estimate = painter.guided(pair, timestep, captions, blank, self.options["guidance"])
                pair = moved(
                    pair, noise_estimate, painter.kept(timestep), painter.kept(painter.before(timestep, steps))
                )
        return pair[1:]


class DDIMPromptToPrompt(NullText):
    """Prompt-to-Prompt on plain DDIM inversion: what null-text inversion is compared with."""

    name = "ddim-p2p"
    about = "Prompt-to-Prompt on plain DDIM inversion: null-text inversion without its optimization."
    paper = "https://arxiv.org/abs/2208.01626"
    known = offers({name: option for name, option in NullText.known.items() if name != "inner_steps"})

    @property
    def inner_steps(self) -> int:
        """None."""
        return 0


def learned_blanks(
    painter: Painter, trajectory: list[Tensor], words: Tensor, guidance: float, inner_steps: int
) -> list[Tensor]:
    """Blank words for every step, under which guided sampling goes back the way the inversion came.

    Learning rate and early stop are those of the paper's code: the rate falls to half, the tolerance grows.
    """
    import torch

    steps = len(trajectory) - 1
    blank, latents, learned = painter.words(""), trajectory[-1], []
    for index, timestep in enumerate(painter.timesteps(steps)):
        alpha, previous_alpha = painter.kept(timestep), painter.kept(painter.before(timestep, steps))
        goal, with_words = trajectory[steps - index - 1], painter.noise(latents, timestep, words)
        with torch.enable_grad():
            blank = blank.detach().clone().requires_grad_()
            optimizer = torch.optim.Adam([blank], lr=1e-2 * (1 - index / (2 * steps)))
            for _ in range(inner_steps):
                without = painter.noise(latents, timestep, blank)
                noise = without + guidance * (with_words - without)
                loss = torch.nn.functional.mse_loss(moved(latents, noise, alpha, previous_alpha), goal)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                if loss.item() < 1e-5 + index * 2e-5:
                    break
        learned.append(blank.detach())
        latents = moved(latents, painter.guided(latents, timestep, words, learned[-1], guidance), alpha, previous_alpha)
    return learned


def _places(painter: Painter, request: PipelineInput) -> Tensor:
    import torch

    tokenizer = painter.pipe.tokenizer
    source, target = (
        tokenizer(text, truncation=True, max_length=tokenizer.model_max_length).input_ids
        for text in (request.prompt.source or "", request.prompt.text)
    )
    return torch.tensor(padded(counterparts(source, target), tokenizer.model_max_length), device=painter.unet.device)


def inverted(painter: Painter, latents: Tensor, words: Tensor, steps: int) -> list[Tensor]:
    """Invert latents by DDIM; return the trajectory from the clean latents to the noise.

    Sampling backwards assumes that the noise seen before a step is that seen after it; the error falls with the number
    of steps. No guidance is used, for with it the assumption fails (Null-text inversion, section 3.2).
    """
    trajectory = [latents]
    for timestep in reversed(painter.timesteps(steps)):
        previous_alpha, alpha = painter.kept(painter.before(timestep, steps)), painter.kept(timestep)
        noise = painter.noise(trajectory[-1], timestep, words)
        trajectory.append(moved(trajectory[-1], noise, previous_alpha, alpha))
    return trajectory


null_text, ddim_p2p = NullText(), DDIMPromptToPrompt()
