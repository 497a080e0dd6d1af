"""A small CLIP of the real architecture with random weights, saved as a user would find one on disk.

It shows that a protocol calls a network correctly; its answers are meaningless.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

transformers: Any = import_module("transformers")  # mostly untyped

WORDS = ("a", "red", "blue", "cat", "dog", "cup", "hat", "grass", "on", "with", "small", "black", "photo", "of")
LAYER = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
MAX_TOKENS = 20


def small_clip(folder: Path) -> str:
    """Write the model into a folder and return its address."""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # small vocabularies lack the numbers that configurations name
    names = ("!", *WORDS, "<unk>", "<|startoftext|>", "<|endoftext|>")
    first, last = len(names) - 2, len(names) - 1
    special = {"pad_token_id": 0, "bos_token_id": first, "eos_token_id": last}
    text = {**LAYER, **special, "vocab_size": len(names), "max_position_embeddings": MAX_TOKENS}
    vision = {**LAYER, "image_size": 32, "patch_size": 8}
    torch.manual_seed(1)
    network = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=24))
    random = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for values in network.parameters():
            if values.ndim > 1:  # as initialized, small networks hardly tell one picture from another
                values.normal_(0, 0.4 / values[0].numel() ** 0.25, generator=random)
    network.eval().save_pretrained(folder)
    square = {"height": 32, "width": 32}
    transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=square).save_pretrained(folder)
    _tokenizer(names).save_pretrained(folder)
    return f"clip:{folder}"


def _tokenizer(names: tuple[str, ...]) -> Any:
    begin, end = names[-2:]
    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(names)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, len(names) - 2), (end, len(names) - 1)]
    )
    marks = {"pad_token": "!", "unk_token": "<unk>", "bos_token": begin, "eos_token": end}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=MAX_TOKENS, **marks)
