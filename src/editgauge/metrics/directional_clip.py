"""Directional CLIP similarity: did the image change in the direction in which the text changed?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from editgauge.metrics._inputs import Images, Values, broadcast, split_batch, to_pixels
from editgauge.metrics._networks import load_model
from editgauge.metrics.embeddings import directional_similarity


def directional_clip(
    source: Images,
    edited: Images,
    source_text: str | Sequence[str],
    target_text: str | Sequence[str],
    *,
    model: str = "clip-b16",
) -> Values:
    """Return the directional CLIP similarity of an edit.

    cos(x' - x, t' - t), with x and x' the unit CLIP embeddings of source and edited image, t and t' those of source and
    target text. Higher is better: 1 means that the image changed exactly as the text did, 0 that it changed in an
    unrelated way. Raises `UnscorableError` when the images or the texts have the same embedding: there is no direction.
    Gal, Patashnik, Maron, Bermano, Chechik and Cohen-Or, StyleGAN-NADA, ACM Transactions on Graphics 41(4), 2022.

    Args:
        source: image of height x width x 3, or a batch.
        edited: image or images; sizes may differ.
        source_text: caption of the source image, or one per image.
        target_text: caption that the edited image should fit, or one per image.
        model: a joint embedder, as in `clip_score`.

    Returns:
        One number from -1 to 1, or an array with one number per pair of a batch.

    Example:
        >>> from editgauge import metrics
        >>> metrics.directional_clip("source.png", "edited.png", "a blue car", "a red car")  # doctest: +SKIP
        0.2104

    """
    network = load_model("joint_embedder", model)
    (sources, many_sources), (outcomes, many_outcomes) = split_batch(source), split_batch(edited)
    texts = [[text] if isinstance(text, str) else list(text) for text in (source_text, target_text)]
    images = [network.embed_images([to_pixels(image) for image in batch]) for batch in (sources, outcomes)]
    vectors = broadcast(*images, *(network.embed_texts(batch) for batch in texts))
    values = [directional_similarity(*four) for four in vectors]
    is_batch = many_sources or many_outcomes or not all(isinstance(text, str) for text in (source_text, target_text))
    return np.array(values) if is_batch else values[0]
