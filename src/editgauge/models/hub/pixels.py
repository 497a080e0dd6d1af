"""Makes pictures ready where the library's own way needs torchvision: SAM 2 and DINOv3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    import torch

    from editgauge.core.images import Pixels

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def squeezed(images: Sequence[Pixels], settings: Mapping[str, Any], white: float = 1.0) -> torch.Tensor:
    """The pictures at the network's size whatever their shape, as n x 3 x height x width, normalized.

    Args:
        images: the pictures
        settings: preprocessor_config.json
        white: the value of a white pixel before the normalization; 255 for code that forgets to divide
    """
    import torch

    size = (int(settings["size"]["width"]), int(settings["size"]["height"]))
    resample = Image.Resampling(settings.get("resample", Image.Resampling.BILINEAR))
    mean, std = (np.array(settings.get(f"image_{name}", usual), np.float32) for name, usual in USUAL)
    ready = [
        (np.asarray(Image.fromarray(image).resize(size, resample), np.float32) * (white / 255) - mean) / std
        for image in images
    ]
    return torch.from_numpy(np.stack(ready).transpose(0, 3, 1, 2).copy())


USUAL = (("mean", IMAGENET_MEAN), ("std", IMAGENET_STD))
