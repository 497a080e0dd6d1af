"""The verb `build tune`: fine-tunes a vision-language model on lessons, into a folder that is a judge.

The recipe of EditInspector (A.9): one epoch, AdamW, a learning rate of 2e-4; with low-rank adapters (LoRA), which are
merged into the weights at the end. A model is taught exactly what it will be given as a judge: its own chat template
up to where it begins to write, and then the answer.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from editgauge._util.files import require_new, write_json
from editgauge._util.images import read_image
from editgauge._util.progress import log_info
from editgauge.builders.training import MESSAGES
from editgauge.errors import BadInputError, EditGaugeError, summarize_error
from editgauge.options import Count

RECORD = "tuning.json"
NOT_LEARNED = -100
"""The label that torch's cross-entropy leaves out."""
NEEDED = ("torch", "transformers", "peft", "accelerate")


@dataclass(frozen=True, slots=True)
class TuningResult:
    """Result of `tune`."""

    folder: Path
    lessons: int
    steps: int
    losses: tuple[float, ...]
    """The mean loss of the answers' tokens, step by step."""


def tune(
    *,
    data: str | Path,
    model: str | Path,
    out: str | Path,
    epochs: float = 1.0,
    learning_rate: float = 2e-4,
    lora: Count = 16,
    batch: Count = 8,
    seed: int = 0,
    quiet: bool = False,
) -> TuningResult:
    """Fine-tune a vision-language model on training data; `transformers:OUT` is then a judge.

    Example:
        $ editgauge build tune --data lessons --model llava-hf/llava-1.5-7b-hf --out inspector
        >>> editgauge.build.tune(data="lessons", model="llava-hf/llava-1.5-7b-hf", out="inspector")

    Args:
        data: folder that `editgauge build training` wrote.
        model: folder with an image-text-to-text model, or the hub id of one on this machine.
        out: folder for the tuned model; new or empty.
        epochs: number of passes over the training data.
        learning_rate: initial learning rate of AdamW; it decays linearly to zero.
        lora: rank of the LoRA adapters.
        batch: batch size.
        seed: random seed of the adapters' initial weights and of the order of the data.
        quiet: print no progress or remarks.

    """
    folder, lessons = Path(out), read_lessons(Path(data))
    require_new(folder)
    if epochs <= 0 or learning_rate <= 0 or min(lora, batch) < 1:
        raise BadInputError("`epochs` and `learning_rate` must be over 0, `lora` and `batch` at least 1.")
    library, peft, torch = (_needed(name) for name in ("transformers", "peft", "torch"))
    library.set_seed(seed)
    if quiet:
        library.utils.logging.disable_progress_bar()
    processor, network = _loaded(library, torch, str(model))
    adapters = peft.LoraConfig(r=lora, lora_alpha=2 * lora, target_modules="all-linear", task_type="CAUSAL_LM")
    network = peft.get_peft_model(network, adapters)
    losses = _trained(library, torch, processor, network, lessons=lessons, data=Path(data), out=folder,
                      num_train_epochs=epochs, learning_rate=learning_rate, gradient_accumulation_steps=batch,
                      seed=seed, disable_tqdm=quiet)  # fmt: skip
    network.merge_and_unload().save_pretrained(folder)
    processor.save_pretrained(folder)
    done = TuningResult(folder, len(lessons), len(losses), tuple(losses))
    recipe = {"data": Path(data).name, "model": str(model), "epochs": epochs, "learning_rate": learning_rate}
    recipe |= {"lora": lora, "batch": batch, "seed": seed, "peft": peft.__version__, "torch": torch.__version__}
    write_json(folder / RECORD, {**recipe, **asdict(done), "folder": folder.name})
    log_info(f"{folder}: {done.lessons} lessons in {done.steps} steps, loss {losses[0]:.3f} to {losses[-1]:.3f}. "
        f"Ask it with `judge='transformers:{folder}'`", quiet=quiet)  # fmt: skip
    return done


def read_lessons(data: Path) -> list[dict[str, Any]]:
    """Read the chat messages of a folder; raise `BadInputError` if there are none."""
    file = data / MESSAGES
    if not file.is_file():
        raise BadInputError(f"There is no {MESSAGES} in '{data}'; `editgauge build training` makes such a folder.")
    try:
        lessons = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        raise BadInputError(f"'{file}' is not as `editgauge build training` wrote it: {error}.") from error
    absent = [name for lesson in lessons for name in lesson["images"] if not (data / name).is_file()]
    if not lessons:
        raise BadInputError(f"There is no lesson in '{file}'; README.md next to it says what was left out, and why.")
    if absent:
        raise BadInputError(f"'{data}' lacks {len(absent)} pictures that its lessons show.", absent[:5])
    return lessons


def _trained(
    library: Any,
    torch: Any,
    processor: Any,
    network: Any,
    *,
    lessons: Sequence[Mapping[str, Any]],
    data: Path,
    out: Path,
    **recipe: Any,
) -> list[float]:
    """Train on one lesson at a time, because images differ in size; return the losses of the steps."""
    ends = network.generation_config.eos_token_id
    end = ends[0] if isinstance(ends, list) else ends
    on_gpu = torch.cuda.is_available()

    class Lessons(torch.utils.data.Dataset):  # type: ignore[misc]
        """Lessons prepared on access: all images together would not fit into memory."""

        def __len__(self) -> int:
            return len(lessons)

        def __getitem__(self, index: int) -> dict[str, Any]:
            return _prepared(processor, torch, lessons[index], data, end)

    arguments = library.TrainingArguments(
        output_dir=str(out),
        per_device_train_batch_size=1,
        optim="adamw_torch",
        bf16=on_gpu,
        gradient_checkpointing=on_gpu,
        use_cpu=not on_gpu,
        dataloader_pin_memory=on_gpu,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        remove_unused_columns=False,
        label_names=["labels"],
        **recipe,
    )
    trainer = library.Trainer(network, arguments, train_dataset=Lessons(), data_collator=lambda batch: batch[0])
    if recipe["disable_tqdm"]:
        trainer.remove_callback(library.PrinterCallback)
    trainer.train()
    return [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]


def _prepared(processor: Any, torch: Any, lesson: Mapping[str, Any], data: Path, end: int) -> dict[str, Any]:
    """Tokenize question and answer; only the answer is trained on."""
    question, answer = lesson["messages"]
    messages = [{**question, "content": list(_with_pictures(question["content"], lesson["images"], data))}]
    ready = processor.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    text = answer["content"][0]["text"]
    written = processor.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    written = torch.cat([written, torch.tensor([[end]])], dim=1)
    prompt, inputs = ready["input_ids"], dict(ready)
    for name, filling in (("input_ids", written), ("attention_mask", torch.ones_like(written))):
        inputs[name] = torch.cat([ready[name], filling.to(ready[name].dtype)], dim=1)
    for name in ("token_type_ids", "mm_token_type_ids"):
        if name in inputs:
            inputs[name] = torch.cat([ready[name], torch.zeros_like(written)], dim=1)
    inputs["labels"] = torch.cat([torch.full_like(prompt, NOT_LEARNED), written], dim=1)
    return inputs


def _with_pictures(content: Sequence[Mapping[str, Any]], names: Sequence[str], data: Path) -> Iterator[dict[str, Any]]:
    from PIL import Image

    pictures = (Image.fromarray(read_image(data / name)) for name in names)
    for part in content:
        yield {**part, "image": next(pictures)} if part["type"] == "image" else dict(part)


def _loaded(library: Any, torch: Any, name: str) -> tuple[Any, Any]:
    """Load processor and network; raise `BadInputError` on failure."""
    options = {"local_files_only": True, "trust_remote_code": False}
    precision = torch.bfloat16 if torch.cuda.is_available() else torch.float32
    try:
        processor = library.AutoProcessor.from_pretrained(name, backend="pil", **options)
        network = library.AutoModelForImageTextToText.from_pretrained(name, dtype=precision, **options)
    except (OSError, ValueError, KeyError) as error:
        raise BadInputError(
            f"The model '{name}' cannot be loaded: {summarize_error(error)} It must be a "
            f"folder, or on this machine: hf download {name}"
        ) from error
    if not getattr(processor, "chat_template", None):
        raise BadInputError(f"The model '{name}' has no chat template, so it cannot be asked questions.")
    return processor, network


def _needed(name: str) -> Any:
    lacking = [item for item in NEEDED if importlib.util.find_spec(item) is None]
    if lacking:
        raise EditGaugeError(f"Fine-tuning needs {', '.join(lacking)}. Get it with: pip install 'editgauge[train]'")
    return importlib.import_module(name)
