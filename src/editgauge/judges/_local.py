"""A vision-language model on this machine, of any architecture that transformers knows as image-text-to-text."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import json
import math
import re
import threading
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge._util.images import Pixels, resize_image
from editgauge.errors import BadInputError, EditGaugeError, summarize_error
from editgauge.judges._endpoint import ChatCompletion
from editgauge.judges._faults import RequestError
from editgauge.judges._questions import Parameters, Question, Ratings, downscale

if TYPE_CHECKING:
    import torch

HASHED = 12
"""This many digits of the weights' hash stand in a model's name."""
CONFIG, ADAPTER = "config.json", "adapter_config.json"


class LocalModel:
    """A model in a folder that `save_pretrained` wrote, or in the model hub's own cache; nothing is downloaded.

    Args:
        name: the folder, or the id on the hub
        device: `cpu`, `cuda`, `mps`; the GPU if there is one when left out
    """

    at_once = 1
    place = "this machine"

    def __init__(self, name: str, device: str | None = None) -> None:
        self._name = name
        self._device = device
        self._alone = threading.Lock()

    @cached_property
    def model(self) -> str:
        """The folder's name with a hash of the weights, because two models may be in folders of one name."""
        digest = hashlib.sha256()
        settings = self._folder / (ADAPTER if self._is_adapter else CONFIG)
        for file in [settings, *self.weight_files]:
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        return f"{Path(self._name).name}@{digest.hexdigest()[:HASHED]}"

    @property
    def weight_files(self) -> list[Path]:
        """The files that hold its weights; an adapter's own alone."""
        files = sorted(self._folder.glob("*.safetensors"))
        if not files:
            raise BadInputError(f"'{self._folder}' holds no weights (*.safetensors); is the folder complete?")
        return files

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        """What the model says, in the shape of a chat completion; writing ends after `timeout` seconds."""
        return await asyncio.to_thread(self._write, question, parameters, timeout)

    async def close(self) -> None:
        """Lets the network go."""
        vars(self).pop("_network", None)

    def _write(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        with self._alone:
            import torch

            prepared = self._prepared(question, parameters)
            prompt_length = int(prepared["input_ids"].shape[1])
            with torch.inference_mode(), torch.random.fork_rng():
                torch.manual_seed((parameters.seed or 0) + question.repetition)
                written = self._network.generate(
                    **prepared, max_new_tokens=parameters.max_tokens, max_time=timeout, **_sampling(parameters)
                )[0, prompt_length:]
        text = self._processor.decode(written, skip_special_tokens=True)
        finish = "stop" if self._ended(written) else "length"
        return {
            "model": self.model,
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": prompt_length, "completion_tokens": len(written)},
        }

    def _prepared(self, question: Question[Any], parameters: Parameters) -> Any:
        from PIL import Image

        content: list[dict[str, Any]] = []
        for shown in question.images:
            image = Image.fromarray(downscale(shown.pixels, parameters.most_side))
            content += [{"type": "text", "text": shown.label}, {"type": "image", "image": image}]
        return self._inputs([*content, {"type": "text", "text": question.words.text}])

    def _inputs(self, content: list[dict[str, Any]]) -> Any:
        """A message as the network takes it."""
        return self._processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        ).to(self._network.device)

    def _ended(self, written: torch.Tensor) -> bool:
        """Did the model itself come to an end?"""
        ends = self._network.generation_config.eos_token_id
        return len(written) > 0 and int(written[-1]) in (ends if isinstance(ends, list) else [ends])

    @cached_property
    def _folder(self) -> Path:
        return _folder_of(self._name)

    @property
    def _is_adapter(self) -> bool:
        return (self._folder / ADAPTER).is_file()

    @cached_property
    def _base(self) -> Path:
        """Where the network itself is: an adapter names the model that it was trained on."""
        if not self._is_adapter:
            return self._folder
        name = json.loads((self._folder / ADAPTER).read_text("utf-8")).get("base_model_name_or_path")
        if not isinstance(name, str) or not name:
            raise BadInputError(f"'{self._folder / ADAPTER}' does not name the model that the adapter belongs to.")
        return _folder_of(name)

    @cached_property
    def _processor(self) -> Any:
        library = _transformers(self._name)
        options = {"local_files_only": True, "trust_remote_code": False}
        # The image processor that works with Pillow: answers must not depend on whether torchvision is installed.
        if importlib.util.find_spec("torchvision") is None and self._takes_videos(library):
            processor = self._without_videos(library, backend="pil", **options)
        else:
            processor = self._loaded(library.AutoProcessor, backend="pil", **options)
        if not getattr(processor, "chat_template", None):
            raise BadInputError(f"The model '{self._name}' has no chat template, so it cannot be asked questions.")
        return processor

    def _processor_kind(self, library: Any) -> Any:
        """The class that makes messages ready for this architecture; None where the library names none."""
        settings = json.loads((self._base / CONFIG).read_text("utf-8"))
        names = importlib.import_module("transformers.models.auto.processing_auto").PROCESSOR_MAPPING_NAMES
        name = names.get(settings.get("model_type"))
        return getattr(library, name) if name else None

    def _takes_videos(self, library: Any) -> bool:
        kind = self._processor_kind(library)
        return kind is not None and "video_processor" in kind.get_attributes()

    def _without_videos(self, library: Any, **options: Any) -> Any:
        """The processor of a model that takes videos too, for pictures alone: its part for videos needs torchvision."""
        kind = self._processor_kind(library)

        class PictureProcessor(kind):  # type: ignore[misc, valid-type]
            def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
                if argument_name == "video_processor" and argument is None:
                    return None
                return super().check_argument_for_proper_class(argument_name, argument)

        pictures = self._loaded(library.AutoImageProcessor, **options)
        del options["backend"]
        words = self._loaded(library.AutoTokenizer, **options)
        template = self._base / "chat_template.jinja"
        chat = template.read_text("utf-8") if template.is_file() else words.chat_template
        return PictureProcessor(pictures, words, None, chat_template=chat)

    @cached_property
    def _network(self) -> Any:
        library = _transformers(self._name)
        import torch

        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        network, info = self._loaded(
            library.AutoModelForImageTextToText,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype="float32" if device == "cpu" else "auto",
            output_loading_info=True,
        )
        gaps = sorted(info["missing_keys"])
        if gaps:  # the library would fill them with random numbers and merely warn
            raise BadInputError(f"The weights of '{self._name}' lack {len(gaps)} tensors, such as '{gaps[0]}'.")
        return (self._adapted(network) if self._is_adapter else network).eval().to(device)

    def _adapted(self, network: Any) -> Any:
        """The network with the adapter's weights added to its own."""
        if importlib.util.find_spec("peft") is None:
            raise EditGaugeError(f"The adapter '{self._name}' needs peft: pip install 'editgauge[train]'")
        peft: Any = importlib.import_module("peft")
        return peft.PeftModel.from_pretrained(network, self._folder, local_files_only=True).merge_and_unload()

    def _loaded(self, kind: Any, **options: Any) -> Any:
        try:
            return kind.from_pretrained(self._base, **options)
        except Exception as error:  # a damaged file meets a parser of some other library, which may raise anything
            raise BadInputError(
                f"The model '{self._name}' cannot be loaded: {summarize_error(error)} Is the folder complete?"
            ) from error


def _folder_of(name: str) -> Path:
    """The folder of a model or an adapter: a path, or where the hub's client keeps an id."""
    if any((Path(name) / file).is_file() for file in (CONFIG, ADAPTER)):
        return Path(name)
    _transformers(name)
    hub: Any = importlib.import_module("huggingface_hub")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except Exception as error:  # the hub's client has an error of its own for every way of not having it
        raise BadInputError(
            f"There is no model at '{name}': neither a folder with a config.json, nor a model of the hub on this "
            f"machine. Bring it with: hf download {name}"
        ) from error


def _sampling(parameters: Parameters) -> dict[str, Any]:
    if parameters.temperature is None:
        return {}
    if parameters.temperature == 0:
        return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    return {"do_sample": True, "temperature": parameters.temperature}


def _transformers(wanted: str) -> Any:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
        raise EditGaugeError(
            f"The judge '{wanted}' needs torch and transformers, which are not installed. "
            "Get them with: pip install 'editgauge[torch]'"
        )
    return importlib.import_module("transformers")


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

    def _write(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        if not self._heads:
            return super()._write(question, parameters, timeout)
        if not isinstance(question.form, Ratings):
            raise RequestError(f"'{self._name}' gives rewards and no answers of the form {question.form.kind}; use it with "
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
            raise RequestError(f"'{self._name}' has heads for {', '.join(HEADS)}, and none for '{dimension}'; use it with "
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
    return resize_image(pixels, max(1, round(width * scale)), max(1, round(height * scale)))
