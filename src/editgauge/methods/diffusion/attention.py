"""Prompt-to-Prompt: while the target is painted, it looks where the source looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

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
    places = [NONE] * len(target)
    matcher = SequenceMatcher(None, list(source), list(target), autojunk=False)
    for kind, begin, end, there, until in matcher.get_opcodes():
        if kind == "equal" or (kind == "replace" and end - begin == until - there):
            places[there:until] = range(begin, end)
    return places


def padded(places: Sequence[int], length: int) -> list[int]:
    """Counterparts of a whole line: what fills it up after the words corresponds place by place."""
    return [*places[:length], *range(len(places), length)]


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
        """The attention weights, (batch x heads, places, words or places), with the source's put in."""
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


class Looking:
    """The attention processor of a UNet that lets an injection change the weights."""

    def __init__(self, injection: Injection) -> None:
        self.injection = injection

    def __call__(
        self, attn: Any, hidden_states: Any, encoder_hidden_states: Any = None, attention_mask: Any = None
    ) -> Any:
        """The layer's answer; the names of the arguments are the library's."""
        import torch

        to_words = encoder_hidden_states is not None
        seen = encoder_hidden_states if to_words else hidden_states
        query, key, value = (
            attn.head_to_batch_dim(part) for part in (attn.to_q(hidden_states), attn.to_k(seen), attn.to_v(seen))
        )
        weights = self.injection(attn.get_attention_scores(query, key, attention_mask), to_words=to_words)
        project, dropout = attn.to_out
        return dropout(project(attn.batch_to_head_dim(torch.bmm(weights, value))))


@contextmanager
def looking(unet: Any, injection: Injection) -> Iterator[None]:
    """Within, the network's attention goes through the injection; afterwards it is as before."""
    before = unet.attn_processors
    unet.set_attn_processor(Looking(injection))
    try:
        yield
    finally:
        unet.set_attn_processor(before)
