"""Metrics of edited images, each callable on its own.

    >>> import numpy as np
    >>> from editgauge import metrics
    >>> source = np.zeros((32, 32, 3), np.uint8)
    >>> round(metrics.psnr(source, source + 51), 2)
    13.98

Images are paths, bytes of a file, PIL images, or arrays and torch tensors (height x width x 3 or 3 x height x width,
uint8 or floating-point numbers in [0, 1]). A batch (a list, or an array or tensor of four dimensions) gives an array
of values. Metrics that need a network load it on first use; `editgauge models pull NAME` fetches its weights.

========================  ==========================================  ================
function                  measures                                    better
========================  ==========================================  ================
`l1`, `l2`, `psnr`        difference of pixels                        lower (psnr: higher)
`ssim`                    structural similarity                       higher
`edge_distance`           change of edges                             lower
`histogram_correlation`   similarity of colors                        higher
`lpips`                   perceptual distance                         lower
`dino`                    similarity of image embeddings              higher
`structure_distance`      change of layout                            lower
`clip_score`              agreement of image and text                 higher
`directional_clip`        agreement of image change and text change   higher
`fid`, `kid`              distance of two sets of images              lower
========================  ==========================================  ================
"""

from __future__ import annotations

from editgauge._util.registry import Registry
from editgauge.metrics.base import Metric, MetricInfo, metric
from editgauge.metrics.clip_score import clip_score
from editgauge.metrics.dino import dino
from editgauge.metrics.directional_clip import directional_clip
from editgauge.metrics.edge_distance import edge_distance
from editgauge.metrics.fid import fid
from editgauge.metrics.histogram_correlation import histogram_correlation
from editgauge.metrics.kid import kid
from editgauge.metrics.l1 import l1
from editgauge.metrics.l2 import l2
from editgauge.metrics.lpips import lpips
from editgauge.metrics.psnr import psnr
from editgauge.metrics.ssim import ssim
from editgauge.metrics.structure_distance import structure_distance

BUILT_IN = {
    "l1": "editgauge.metrics.l1:l1",
    "l2": "editgauge.metrics.l2:l2",
    "psnr": "editgauge.metrics.psnr:psnr",
    "ssim": "editgauge.metrics.ssim:ssim",
    "histogram_correlation": "editgauge.metrics.histogram_correlation:histogram_correlation",
    "edge_distance": "editgauge.metrics.edge_distance:edge_distance",
}

metrics: Registry[Metric] = Registry("metric", BUILT_IN)
"""Metrics that compare the pixels of two images, including those of plug-ins."""

__all__ = [
    "Metric",
    "MetricInfo",
    "clip_score",
    "dino",
    "directional_clip",
    "edge_distance",
    "fid",
    "histogram_correlation",
    "kid",
    "l1",
    "l2",
    "lpips",
    "metric",
    "metrics",
    "psnr",
    "ssim",
    "structure_distance",
]
