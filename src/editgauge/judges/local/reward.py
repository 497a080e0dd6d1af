"""Reward models as judges: trained on people's preferences, they give numbers for an edit instead of an opinion.

Two kinds are in use. Some write their numbers, as EditScore and UnifiedReward-Edit do: they are asked like any other
local model. Others have a head that reads the number off the network's last layer, as EditReward has: their answer is
that number, in the form that a rubric asks for. Which kind a folder holds, its weights tell.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from editgauge._util.images import Pixels, resized
from editgauge.errors import BadInputError
from editgauge.judges.chat_format import Body
from editgauge.judges.faults import Trouble
from editgauge.judges.forms import Ratings
from editgauge.judges.local import LocalModel
from editgauge.judges.questions import Parameters, Question

if TYPE_CHECKING:
    import torch

HEADS = ("following", "quality")
"""What the heads of a model with several are for, in their order; one with a single head uses it for everything."""
REWARD_MARK = "<|Reward|>"
"""Where a model that knows this token is read; else at the last token."""
PIXELS = 256 * 28 * 28
"""Pixels of a picture as it is shown, because EditReward was trained with that number."""
_HEAD = re.compile(r"rm_heads?\.(?:(?P<name>[a-z_]+\d*)\.)?(?:(?P<layer>\d+)\.)?(?P<kind>weight|bias)")

Layer = dict[str, "torch.Tensor"]
"""`weight`, and `bias` where there is one."""


class RewardModel(LocalModel):
    """A reward model in a folder or in the hub's cache; see `LocalModel`."""

    def _write(self, question: Question[Any], parameters: Parameters, timeout: float) -> Body:
        if not self._heads:
            return super()._write(question, parameters, timeout)
        if not isinstance(question.form, Ratings):
            raise Trouble(f"'{self._name}' gives rewards and no answers of the form {question.form.kind}; use it with "
                          "--protocol rubric:editreward", fault="rejected", again=False)  # fmt: skip
        with self._alone:
            numbers = {name: self._reward(question, name) for name, _ in question.form.names}
        answer = {name: mean for name, (mean, _) in numbers.items()}
        spread = {f"{name}_uncertainty": log for name, (_, log) in numbers.items() if log is not None}
        text = json.dumps(answer | {name: math.exp(min(log, 50.0)) for name, log in spread.items()})
        return {
            "model": self.model,
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        }

    def _reward(self, question: Question[Any], dimension: str) -> tuple[float, float | None]:
        """The number of one dimension, and the logarithm of how unsure the model is, where it says so."""
        import torch
        from PIL import Image

        content: list[dict[str, Any]] = [
            {"type": "image", "image": Image.fromarray(_of_trained_size(shown.pixels))} for shown in question.images
        ]
        mark = self._processor.tokenizer.get_vocab().get(REWARD_MARK)
        text = question.words.text + (REWARD_MARK if mark is not None else "")
        inputs = self._inputs([*content, {"type": "text", "text": text}])
        with torch.inference_mode():
            states = self._network.model(**inputs).last_hidden_state[0].float()
        places = (inputs["input_ids"][0] == mark).nonzero() if mark is not None else []
        state = states[int(places[-1]) if len(places) else -1]
        values = _through(self._head_for(dimension), state).tolist()
        return values[0], values[1] if len(values) > 1 else None

    def _head_for(self, dimension: str) -> list[Layer]:
        names = sorted(self._heads)
        if len(names) == 1:
            return self._heads[names[0]]
        if dimension not in HEADS or HEADS.index(dimension) >= len(names):
            raise Trouble(f"'{self._name}' has heads for {', '.join(HEADS)}, and none for '{dimension}'; use it with "
                          "--protocol rubric:editreward", fault="rejected", again=False)  # fmt: skip
        return self._heads[names[HEADS.index(dimension)]]

    @cached_property
    def _heads(self) -> dict[str, list[Layer]]:
        """The layers of each head in their order, as the weights hold them; nothing for a model that writes."""
        from safetensors import safe_open

        layers_of: dict[str, dict[int, Layer]] = defaultdict(lambda: defaultdict(dict))
        for file in self.weight_files:
            with safe_open(file, framework="pt") as weights:
                for key in weights.keys():  # noqa: SIM118 - no mapping
                    parts = _HEAD.fullmatch(key)
                    if parts:
                        layer = layers_of[parts["name"] or ""][int(parts["layer"] or 0)]
                        layer[parts["kind"]] = weights.get_tensor(key).float()
        heads = {name: [layers[place] for place in sorted(layers)] for name, layers in layers_of.items()}
        if any("weight" not in layer for layers in heads.values() for layer in layers):
            raise BadInputError(f"A reward head of '{self._name}' has a bias without weights; is the folder complete?")
        return heads


def _through(layers: list[Layer], state: torch.Tensor) -> torch.Tensor:
    """What a head makes of a state: linear layers with ReLU between them."""
    import torch

    for place, layer in enumerate(layers):
        weight, bias = (None if each is None else each.to(state.device) for each in map(layer.get, ("weight", "bias")))
        if weight is None or weight.shape[1] != state.shape[0]:
            raise BadInputError(
                f"A layer of a reward head takes {weight and weight.shape[1]} numbers, got {len(state)}."
            )
        state = torch.nn.functional.linear(torch.relu(state) if place else state, weight, bias)
    return state


def _of_trained_size(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    scale = math.sqrt(PIXELS / (height * width))
    return resized(pixels, max(1, round(width * scale)), max(1, round(height * scale)))
