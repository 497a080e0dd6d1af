"""From a model's folder to a network that answers: whole, on the device that was chosen, and without code of others."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, get_args

from editgauge.errors import BadInputError, EditGaugeError, MissingExtraError, summarize_error

if TYPE_CHECKING:
    import torch

    from editgauge.models.hub.sources import Source

Precision = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


def transformers(feature: str) -> Any:
    """Import transformers; raise `MissingExtraError` in the name of `feature` when it or torch is not installed."""
    libraries = ("torch", "transformers")
    if any(importlib.util.find_spec(name) is None for name in libraries):
        raise MissingExtraError(feature, libraries, extra="torch")
    return importlib.import_module("transformers")


def usual_device() -> str:
    """A GPU where there is one that torch can use, else the processor."""
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def load(
    source: Source, kinds: Mapping[str, str], device: str, precision: Precision, **options: Any
) -> torch.nn.Module:
    """The network of a source, ready to answer.

    Args:
        source: where its files are
        kinds: for each `model_type` of config.json that will do, the class of the transformers library to build
        device: where it is to run
        precision: `int8` rounds the weights of its linear layers, on a processor only
        options: handed to `from_pretrained`

    """
    library = transformers(f"The model '{source.name}'")
    kind = str(source.config.get("model_type"))
    if kind not in kinds:
        raise BadInputError(f"'{source.name}' is of the kind '{kind}'; wanted is one of: {', '.join(sorted(kinds))}.")
    import torch

    # What is made in inference mode takes no part in gradients, and could never be explained.
    with clear_errors(source, "network"), torch.inference_mode(mode=False):
        network, report = getattr(library, kinds[kind]).from_pretrained(
            source.folder,
            local_files_only=True,
            trust_remote_code=False,
            weights_only=True,
            use_safetensors=source.weight_files[0].suffix == ".safetensors",
            dtype="float32",
            output_loading_info=True,
            **options,
        )
        _whole(source, report)
        network.eval()
        placed: torch.nn.Module = _rounded(network, device) if precision == "int8" else network.to(device)
    return placed


def load_image_processor(source: Source, **options: Any) -> Any:
    """What makes pictures ready. Always the one that works on the processor with Pillow, so that scores do not
    depend on whether torchvision happens to be installed.
    """
    library = transformers(f"The model '{source.name}'")
    with clear_errors(source, "image processor"):
        return library.AutoImageProcessor.from_pretrained(
            source.folder, backend="pil", local_files_only=True, trust_remote_code=False, **options
        )


def load_tokenizer(source: Source) -> Any:
    """What makes texts ready."""
    library = transformers(f"The model '{source.name}'")
    with clear_errors(source, "tokenizer"):
        return library.AutoTokenizer.from_pretrained(source.folder, local_files_only=True, trust_remote_code=False)


@contextmanager
def clear_errors(source: Source, part: str) -> Iterator[None]:
    """Turns whatever the library raises on a damaged folder into one sentence."""
    shows = importlib.import_module("transformers.utils.logging")
    showed = shows.is_progress_bar_enabled()
    shows.disable_progress_bar()  # ours tell what takes long; this one would cut through them
    try:
        yield
    except EditGaugeError:
        raise
    except Exception as error:  # a damaged file meets a parser of some other library, which may raise anything
        raise BadInputError(
            f"The {part} of the model '{source.name}' cannot be loaded: {summarize_error(error)} "
            "Is the folder complete? `editgauge models verify` checks what was pulled."
        ) from error
    finally:
        if showed:
            shows.enable_progress_bar()


def _whole(source: Source, report: Mapping[str, Any]) -> None:
    """Refuses a network with gaps: the library would fill them with random numbers and merely warn."""
    gaps = [*report["missing_keys"], *(str(item[0]) for item in report["mismatched_keys"])]
    if gaps:
        raise BadInputError(
            f"The weights of '{source.name}' lack {len(gaps)} of the network's tensors, such as '{sorted(gaps)[0]}'. "
            "They belong to another architecture, or the file is damaged."
        )


def _rounded(network: torch.nn.Module, device: str) -> torch.nn.Module:
    if device != "cpu":
        raise BadInputError(f"int8 runs on a CPU only, and '{device}' was requested; use float16 on a GPU.")
    import torch

    quantization: Any = torch.ao.quantization
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*deprecated.*")  # its announced successor is a package of its own
        rounded: torch.nn.Module = quantization.quantize_dynamic(
            network, {torch.nn.Linear: quantization.per_channel_dynamic_qconfig}
        )
    return rounded
