"""CLIP score: does an image show what a text says?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from editgauge.metrics._inputs import Images, Values, broadcast, split_batch, to_pixels
from editgauge.metrics._networks import load_model
from editgauge.metrics.embeddings import cosine_similarity


def clip_score(image: Images, text: str | Sequence[str], *, model: str = "clip-b16") -> Values:
    """Return the cosine similarity of the CLIP embeddings of an image and a text (CLIP-T).

    x.t / (|x| |t|), with x the embedding of the image and t that of the text. Higher is better; photographs and their
    captions are around 0.3. Values of different networks cannot be compared. `torchmetrics.multimodal.CLIPScore`
    multiplies the same number by 100 and sets negative values to 0.
    Hessel, Holtzman, Forbes, Le Bras and Choi, CLIPScore, EMNLP 2021 (there: 2.5 times the positive part).

    Args:
        image: image of height x width x 3, or a batch.
        text: one text for all images, or one text per image.
        model: a joint embedder: `clip-b16`, `clip-b32`, `clip-l14`, `siglip2-base`, or an address such as
            `clip:openai/clip-vit-large-patch14-336`.

    Returns:
        One number from -1 to 1, or an array with one number per image of a batch.

    Example:
        >>> from editgauge import metrics
        >>> metrics.clip_score("edited.png", "a red car in front of a house")  # doctest: +SKIP
        0.2871

    """
    network = load_model("joint_embedder", model)
    images, is_batch = split_batch(image)
    texts = [text] if isinstance(text, str) else list(text)
    pairs = broadcast(network.embed_images([to_pixels(element) for element in images]), network.embed_texts(texts))
    values = [cosine_similarity(*pair) for pair in pairs]
    return np.array(values) if is_batch or not isinstance(text, str) else values[0]
