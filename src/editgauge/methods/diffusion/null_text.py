"""Null-text inversion with Prompt-to-Prompt, and the same without the optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.methods.diffusion.attention import Injection, counterparts, looking, padded
from editgauge.methods.diffusion.pipeline import PipelineInput
from editgauge.methods.diffusion.stable_diffusion import USUAL, Painter, PaperMethod, moved
from editgauge.methods.options import number, offers, whole

if TYPE_CHECKING:
    from torch import Tensor

if TYPE_CHECKING:
    from torch import Tensor


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
        """The target, painted next to the source."""
        source, target = painter.words(request.prompt.source or ""), painter.words(request.prompt.text)
        way = inverted(painter, painter.latents(request.image), source, self.options["steps"])
        blanks = learned_blanks(painter, way, source, self.options["guidance"], self.inner_steps)
        return self._side_by_side(painter, way[-1], source, target, blanks, _places(painter, request))

    @property
    def inner_steps(self) -> int:
        """How often the blank words of a step are improved."""
        return int(self.options["inner_steps"])

    def _side_by_side(
        self, painter: Painter, noise: Tensor, source: Tensor, target: Tensor, blanks: list[Tensor], places: Tensor
    ) -> Tensor:
        import torch

        steps = self.options["steps"]
        injection = Injection(places)
        pair, captions = torch.cat([noise, noise]), torch.cat([source, target])
        with looking(painter.unet, injection):
            for place, timestep in enumerate(painter.timesteps(steps)):
                injection.cross = place < self.options["cross"] * steps
                injection.own = place < self.options["own"] * steps
                blank = blanks[place].expand(2, -1, -1)
                seen = painter.guided(pair, timestep, captions, blank, self.options["guidance"])
                pair = moved(pair, seen, painter.kept(timestep), painter.kept(painter.before(timestep, steps)))
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
    painter: Painter, way: list[Tensor], words: Tensor, guidance: float, inner_steps: int
) -> list[Tensor]:
    """Blank words for every step, under which guided sampling goes back the way the inversion came.

    Learning rate and early stop are those of the paper's code: the rate falls to half, the tolerance grows.
    """
    import torch

    steps = len(way) - 1
    blank, latents, learned = painter.words(""), way[-1], []
    for place, timestep in enumerate(painter.timesteps(steps)):
        here, there = painter.kept(timestep), painter.kept(painter.before(timestep, steps))
        goal, with_words = way[steps - place - 1], painter.noise(latents, timestep, words)
        with torch.enable_grad():
            blank = blank.detach().clone().requires_grad_()
            optimizer = torch.optim.Adam([blank], lr=1e-2 * (1 - place / (2 * steps)))
            for _ in range(inner_steps):
                without = painter.noise(latents, timestep, blank)
                noise = without + guidance * (with_words - without)
                loss = torch.nn.functional.mse_loss(moved(latents, noise, here, there), goal)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                if loss.item() < 1e-5 + place * 2e-5:
                    break
        learned.append(blank.detach())
        latents = moved(latents, painter.guided(latents, timestep, words, learned[-1], guidance), here, there)
    return learned


def _places(painter: Painter, request: PipelineInput) -> Tensor:
    import torch

    tokenizer = painter.pipe.tokenizer
    source, target = (
        tokenizer(text, truncation=True, max_length=tokenizer.model_max_length).input_ids
        for text in (request.prompt.source or "", request.prompt.text)
    )
    return torch.tensor(padded(counterparts(source, target), tokenizer.model_max_length), device=painter.unet.device)


null_text, ddim_p2p = NullText(), DDIMPromptToPrompt()


def inverted(painter: Painter, latents: Tensor, words: Tensor, steps: int) -> list[Tensor]:
    """The way from a picture to its noise: the latents themselves, then those of every timestep upwards.

    Sampling backwards assumes that the noise seen before a step is that seen after it; the error falls with the number
    of steps. No guidance is used, for with it the assumption fails (Null-text inversion, section 3.2).
    """
    way = [latents]
    for timestep in reversed(painter.timesteps(steps)):
        here, there = painter.kept(painter.before(timestep, steps)), painter.kept(timestep)
        noise = painter.noise(way[-1], timestep, words)
        way.append(moved(way[-1], noise, here, there))
    return way
