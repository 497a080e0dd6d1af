"""DINO similarity: cosine of the embeddings of two images by a self-supervised vision transformer."""

from __future__ import annotations

from editgauge._util.images import Pixels
from editgauge.metrics._inputs import Images, Masks, Values
from editgauge.metrics._networks import compare_pairs, load_model
from editgauge.metrics.embeddings import cosine_similarity


def dino(source: Images, edited: Images, mask: Masks | None = None, *, model: str = "dinov2-s14") -> Values:
    """Return the cosine similarity of the DINO embeddings of two images.

    x.y / (|x| |y|), with x and y the class tokens of the two images. Higher is better: 1 means that the network sees
    the same content. Values of different networks cannot be compared.

    Args:
        source: image of height x width x 3, or a batch.
        edited: image or images of the same size.
        mask: pixels that count; the others are taken from the source before comparing.
        model: an image embedder: `dinov2-s14` (runs without torch), `dino-s16` and `dino-b16` (as in many papers),
            `dinov2-base`, or an address such as `dino:facebook/dino-vits8`.

    Returns:
        One number from -1 to 1, or an array with one number per pair of a batch.

    Example:
        >>> from editgauge import metrics
        >>> metrics.dino("source.png", "edited.png")  # doctest: +SKIP
        0.9312

    """
    network = load_model("image_embedder", model)

    def similarity(first: Pixels, second: Pixels) -> float:
        return cosine_similarity(*network.embed([first, second]))

    return compare_pairs(similarity, source, edited, mask)
