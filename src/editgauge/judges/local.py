"""A vision-language model on this machine, of any architecture that transformers knows as image-text-to-text."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge.core.errors import BadInput, EditGaugeError
from editgauge.judges.pictures import sent
from editgauge.judges.questions import Parameters, Question
from editgauge.judges.replies import Body

if TYPE_CHECKING:
    import torch

HASHED = 12
"""This many digits of the weights' hash stand in a model's name."""
SHOWN_OF_AN_ERROR = 300


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
        weights = sorted(self._folder.glob("*.safetensors"))
        if not weights:
            raise BadInput(f"'{self._folder}' holds no weights (*.safetensors); is the folder complete?")
        digest = hashlib.sha256()
        for file in [self._folder / "config.json", *weights]:
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        return f"{Path(self._name).name}@{digest.hexdigest()[:HASHED]}"

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> Body:
        """What the model says, in the shape of a chat completion; writing ends after `timeout` seconds."""
        return await asyncio.to_thread(self._write, question, parameters, timeout)

    async def close(self) -> None:
        """Lets the network go."""
        vars(self).pop("_network", None)

    def _write(self, question: Question[Any], parameters: Parameters, timeout: float) -> Body:
        with self._alone:
            import torch

            prepared = self._prepared(question, parameters)
            asked = int(prepared["input_ids"].shape[1])
            with torch.inference_mode(), torch.random.fork_rng():
                torch.manual_seed((parameters.seed or 0) + question.repetition)
                written = self._network.generate(
                    **prepared, max_new_tokens=parameters.max_tokens, max_time=timeout, **_sampling(parameters)
                )[0, asked:]
        text = self._processor.decode(written, skip_special_tokens=True)
        finish = "stop" if self._ended(written) else "length"
        return {
            "model": self.model,
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": asked, "completion_tokens": len(written)},
        }

    def _prepared(self, question: Question[Any], parameters: Parameters) -> Any:
        from PIL import Image

        content: list[dict[str, Any]] = []
        for shown in question.images:
            image = Image.fromarray(sent(shown.pixels, parameters.most_side))
            content += [{"type": "text", "text": shown.label}, {"type": "image", "image": image}]
        content.append({"type": "text", "text": question.words.text})
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
        if (Path(self._name) / "config.json").is_file():
            return Path(self._name)
        _transformers(self._name)
        hub: Any = importlib.import_module("huggingface_hub")
        try:
            return Path(hub.snapshot_download(self._name, local_files_only=True))
        except Exception as error:  # the hub's client has an error of its own for every way of not having it
            raise BadInput(
                f"There is no model at '{self._name}': neither a folder with a config.json, nor a model of the hub on "
                f"this machine. Bring it with: hf download {self._name}"
            ) from error

    @cached_property
    def _processor(self) -> Any:
        library = _transformers(self._name)
        options = {"local_files_only": True, "trust_remote_code": False}
        # The image processor that works with Pillow: answers must not depend on whether torchvision is installed.
        processor = self._loaded(library.AutoProcessor, backend="pil", **options)
        if not getattr(processor, "chat_template", None):
            raise BadInput(f"The model '{self._name}' has no chat template, so it cannot be asked questions.")
        return processor

    @cached_property
    def _network(self) -> Any:
        library = _transformers(self._name)
        import torch

        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        network, told = self._loaded(
            library.AutoModelForImageTextToText,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype="float32" if device == "cpu" else "auto",
            output_loading_info=True,
        )
        gaps = sorted(told["missing_keys"])
        if gaps:  # the library would fill them with random numbers and merely warn
            raise BadInput(f"The weights of '{self._name}' lack {len(gaps)} tensors, such as '{gaps[0]}'.")
        return network.eval().to(device)

    def _loaded(self, kind: Any, **options: Any) -> Any:
        try:
            return kind.from_pretrained(self._folder, **options)
        except Exception as error:  # a damaged file meets a parser of some other library, which may raise anything
            told = " ".join(str(error).split())[:SHOWN_OF_AN_ERROR] or type(error).__name__
            raise BadInput(f"The model '{self._name}' cannot be loaded: {told} Is the folder complete?") from error


def open_local(address: str, **options: Any) -> LocalModel:
    """The model of a folder or of an id on the hub."""
    return LocalModel(address, **options)


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
