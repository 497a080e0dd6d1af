"""Local vision-language models and reward models as judges, loaded with transformers.

Reward models that write their scores (EditScore, UnifiedReward-Edit) are asked like any other model. Others have a head
that maps the last hidden state to a score (EditReward); the weights show which kind a folder holds.
"""

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

HASH_DIGITS = 12
"""Digits of the weight hash in the name of a model."""
CONFIG, ADAPTER = "config.json", "adapter_config.json"


class LocalModel:
    """A model in a folder written by `save_pretrained` or in the hub cache; nothing is downloaded.

    Args:
        name: folder or hub id.
        device: `cpu`, `cuda` or `mps`; a GPU by default if there is one.

    """

    at_once = 1
    location = "this machine"

    def __init__(self, name: str, device: str | None = None) -> None:
        self._name = name
        self._device = device
        self._lock = threading.Lock()

    @cached_property
    def model(self) -> str:
        """Name of the folder with a hash of the weights, which distinguishes folders of one name."""
        digest = hashlib.sha256()
        settings = self._folder / (ADAPTER if self._is_adapter else CONFIG)
        for file in [settings, *self.weight_files]:
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        return f"{Path(self._name).name}@{digest.hexdigest()[:HASH_DIGITS]}"

    @property
    def weight_files(self) -> list[Path]:
        """Weight files; for an adapter only its own."""
        files = sorted(self._folder.glob("*.safetensors"))
        if not files:
            raise BadInputError(f"'{self._folder}' has no weights (*.safetensors); is the folder complete?")
        return files

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        """Generate a reply within `timeout` seconds, in the format of a chat completion."""
        return await asyncio.to_thread(self._generate, question, parameters, timeout)

    async def close(self) -> None:
        """Release the network."""
        vars(self).pop("_network", None)

    def _generate(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        with self._lock:
            import torch

            inputs = self._prepare(question, parameters)
            prompt_length = int(inputs["input_ids"].shape[1])
            with torch.inference_mode(), torch.random.fork_rng():
                torch.manual_seed((parameters.seed or 0) + question.repetition)
                tokens = self._network.generate(
                    **inputs, max_new_tokens=parameters.max_tokens, max_time=timeout, **_sampling(parameters)
                )[0, prompt_length:]
        text = self._processor.decode(tokens, skip_special_tokens=True)
        finish = "stop" if self._is_finished(tokens) else "length"
        return {
            "model": self.model,
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": prompt_length, "completion_tokens": len(tokens)},
        }

    def _prepare(self, question: Question[Any], parameters: Parameters) -> Any:
        from PIL import Image

        content: list[dict[str, Any]] = []
        for item in question.images:
            image = Image.fromarray(downscale(item.pixels, parameters.most_side))
            content += [{"type": "text", "text": item.label}, {"type": "image", "image": image}]
        return self._tokenize([*content, {"type": "text", "text": question.words.text}])

    def _tokenize(self, content: list[dict[str, Any]]) -> Any:
        """Apply the chat template and tokenize."""
        return self._processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        ).to(self._network.device)

    def _is_finished(self, tokens: torch.Tensor) -> bool:
        """Return whether the reply ends with an end-of-sequence token."""
        ends = self._network.generation_config.eos_token_id
        return len(tokens) > 0 and int(tokens[-1]) in (ends if isinstance(ends, list) else [ends])

    @cached_property
    def _folder(self) -> Path:
        return _folder_of(self._name)

    @property
    def _is_adapter(self) -> bool:
        return (self._folder / ADAPTER).is_file()

    @cached_property
    def _base(self) -> Path:
        """Folder of the network; an adapter names the model that it was trained on."""
        if not self._is_adapter:
            return self._folder
        name = json.loads((self._folder / ADAPTER).read_text("utf-8")).get("base_model_name_or_path")
        if not isinstance(name, str) or not name:
            raise BadInputError(f"'{self._folder / ADAPTER}' does not name the base model of the adapter.")
        return _folder_of(name)

    @cached_property
    def _processor(self) -> Any:
        library = _transformers(self._name)
        options = {"local_files_only": True, "trust_remote_code": False}
        # The Pillow image processor: answers must not depend on whether torchvision is installed.
        if importlib.util.find_spec("torchvision") is None and self._takes_videos(library):
            processor = self._without_videos(library, backend="pil", **options)
        else:
            processor = self._load(library.AutoProcessor, backend="pil", **options)
        if not getattr(processor, "chat_template", None):
            raise BadInputError(f"The model '{self._name}' has no chat template and cannot answer questions.")
        return processor

    def _processor_kind(self, library: Any) -> Any:
        """Return the processor class of the architecture, or None."""
        settings = json.loads((self._base / CONFIG).read_text("utf-8"))
        names = importlib.import_module("transformers.models.auto.processing_auto").PROCESSOR_MAPPING_NAMES
        name = names.get(settings.get("model_type"))
        return getattr(library, name) if name else None

    def _takes_videos(self, library: Any) -> bool:
        kind = self._processor_kind(library)
        return kind is not None and "video_processor" in kind.get_attributes()

    def _without_videos(self, library: Any, **options: Any) -> Any:
        """Return an image-only processor of a video model, whose video part would need torchvision."""
        kind = self._processor_kind(library)

        class ImageOnlyProcessor(kind):  # type: ignore[misc, valid-type]
            def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
                if argument_name == "video_processor" and argument is None:
                    return None
                return super().check_argument_for_proper_class(argument_name, argument)

        image_processor = self._load(library.AutoImageProcessor, **options)
        del options["backend"]
        tokenizer = self._load(library.AutoTokenizer, **options)
        template = self._base / "chat_template.jinja"
        chat = template.read_text("utf-8") if template.is_file() else tokenizer.chat_template
        return ImageOnlyProcessor(image_processor, tokenizer, None, chat_template=chat)

    @cached_property
    def _network(self) -> Any:
        library = _transformers(self._name)
        import torch

        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        network, info = self._load(
            library.AutoModelForImageTextToText,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype="float32" if device == "cpu" else "auto",
            output_loading_info=True,
        )
        missing = sorted(info["missing_keys"])
        if missing:  # transformers would initialize them at random and only warn
            raise BadInputError(f"The weights of '{self._name}' lack {len(missing)} tensors, such as '{missing[0]}'.")
        return (self._merge_adapter(network) if self._is_adapter else network).eval().to(device)

    def _merge_adapter(self, network: Any) -> Any:
        """Merge the weights of the adapter into the network."""
        if importlib.util.find_spec("peft") is None:
            raise EditGaugeError(f"The adapter '{self._name}' needs peft: pip install 'editgauge[train]'")
        peft: Any = importlib.import_module("peft")
        return peft.PeftModel.from_pretrained(network, self._folder, local_files_only=True).merge_and_unload()

    def _load(self, kind: Any, **options: Any) -> Any:
        try:
            return kind.from_pretrained(self._base, **options)
        except Exception as error:  # parsers of damaged files raise arbitrary errors
            raise BadInputError(
                f"The model '{self._name}' cannot be loaded: {summarize_error(error)} Is the folder complete?"
            ) from error


def _folder_of(name: str) -> Path:
    """Return the folder of a path or of a hub id in the local cache."""
    if any((Path(name) / file).is_file() for file in (CONFIG, ADAPTER)):
        return Path(name)
    _transformers(name)
    hub: Any = importlib.import_module("huggingface_hub")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except Exception as error:  # the hub client has many error types
        raise BadInputError(
            f"No model at '{name}': neither a folder with config.json nor a model in the local hub cache. "
            f"Download it with: hf download {name}"
        ) from error


def _sampling(parameters: Parameters) -> dict[str, Any]:
    if parameters.temperature is None:
        return {}
    if parameters.temperature == 0:
        return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    return {"do_sample": True, "temperature": parameters.temperature}


def _transformers(name: str) -> Any:
    if any(importlib.util.find_spec(module) is None for module in ("torch", "transformers")):
        raise EditGaugeError(
            f"The judge '{name}' needs torch and transformers. Install them with: pip install 'editgauge[torch]'"
        )
    return importlib.import_module("transformers")


HEADS = ("following", "quality")
"""Dimensions of the heads of a model with several, in order; a single head serves all dimensions."""
REWARD_MARKER = "<|Reward|>"
"""Position of the hidden state; the last token if the vocabulary lacks it."""
TRAINING_PIXELS = 256 * 28 * 28
"""Image size that EditReward was trained with."""
USE_RUBRIC = "use it with the protocol rubric:editreward"
_HEAD = re.compile(r"rm_heads?\.(?:(?P<name>[a-z_]+\d*)\.)?(?:(?P<layer>\d+)\.)?(?P<kind>weight|bias)")

Layer = dict[str, "torch.Tensor"]
"""`weight` and optionally `bias`."""


class RewardModel(LocalModel):
    """A reward model; see `LocalModel`."""

    def _generate(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        if not self._heads:
            return super()._generate(question, parameters, timeout)
        if not isinstance(question.form, Ratings):
            message = f"'{self._name}' gives rewards, not answers of the form {question.form.kind}; {USE_RUBRIC}"
            raise RequestError(message, fault="rejected", again=False)
        with self._lock:
            rewards = {name: self._reward(question, name) for name, _ in question.form.names}
        answer = {name: mean for name, (mean, _) in rewards.items()}
        spread = {f"{name}_uncertainty": log for name, (_, log) in rewards.items() if log is not None}
        text = json.dumps(answer | {name: math.exp(min(log, 50.0)) for name, log in spread.items()})
        return {
            "model": self.model,
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        }

    def _reward(self, question: Question[Any], dimension: str) -> tuple[float, float | None]:
        """Return the reward of a dimension and, if the head predicts it, its log uncertainty."""
        import torch
        from PIL import Image

        content: list[dict[str, Any]] = [
            {"type": "image", "image": Image.fromarray(_resize(image.pixels))} for image in question.images
        ]
        token = self._processor.tokenizer.get_vocab().get(REWARD_MARKER)
        text = question.words.text + (REWARD_MARKER if token is not None else "")
        inputs = self._tokenize([*content, {"type": "text", "text": text}])
        with torch.inference_mode():
            states = self._network.model(**inputs).last_hidden_state[0].float()
        positions = (inputs["input_ids"][0] == token).nonzero() if token is not None else []
        state = states[int(positions[-1]) if len(positions) else -1]
        values = _apply_head(self._head_for(dimension), state).tolist()
        return values[0], values[1] if len(values) > 1 else None

    def _head_for(self, dimension: str) -> list[Layer]:
        names = sorted(self._heads)
        if len(names) == 1:
            return self._heads[names[0]]
        if dimension not in HEADS or HEADS.index(dimension) >= len(names):
            message = f"'{self._name}' has heads for {', '.join(HEADS)}, not for '{dimension}'; {USE_RUBRIC}"
            raise RequestError(message, fault="rejected", again=False)
        return self._heads[names[HEADS.index(dimension)]]

    @cached_property
    def _heads(self) -> dict[str, list[Layer]]:
        """Layers of each head in order; empty for a model that writes its scores."""
        from safetensors import safe_open

        layers_of: dict[str, dict[int, Layer]] = defaultdict(lambda: defaultdict(dict))
        for file in self.weight_files:
            with safe_open(file, framework="pt") as weights:
                for key in weights.keys():  # noqa: SIM118 - no mapping
                    parts = _HEAD.fullmatch(key)
                    if parts:
                        layer = layers_of[parts["name"] or ""][int(parts["layer"] or 0)]
                        layer[parts["kind"]] = weights.get_tensor(key).float()
        heads = {name: [layers[index] for index in sorted(layers)] for name, layers in layers_of.items()}
        if any("weight" not in layer for layers in heads.values() for layer in layers):
            raise BadInputError(f"A reward head of '{self._name}' has a bias without weights; is the folder complete?")
        return heads


def _apply_head(layers: list[Layer], state: torch.Tensor) -> torch.Tensor:
    """Apply linear layers with ReLU between them."""
    import torch

    for index, layer in enumerate(layers):
        weight, bias = (None if item is None else item.to(state.device) for item in map(layer.get, ("weight", "bias")))
        if weight is None or weight.shape[1] != state.shape[0]:
            raise BadInputError(
                f"A layer of a reward head takes {weight and weight.shape[1]} numbers, got {len(state)}."
            )
        state = torch.nn.functional.linear(torch.relu(state) if index else state, weight, bias)
    return state


def _resize(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    scale = math.sqrt(TRAINING_PIXELS / (height * width))
    return resize_image(pixels, max(1, round(width * scale)), max(1, round(height * scale)))
