"""Metrics: pure functions of arrays, with a direction and a range. No model, no file, no device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge._util.registry import Registry

if TYPE_CHECKING:
    from editgauge.metrics.base import Metric

BUILT_IN = {
    "l1": "editgauge.metrics.l1:l1",
    "l2": "editgauge.metrics.l2:l2",
    "psnr": "editgauge.metrics.psnr:psnr",
    "ssim": "editgauge.metrics.ssim:ssim",
    "histogram_correlation": "editgauge.metrics.histogram_correlation:histogram_correlation",
    "edge_distance": "editgauge.metrics.edge_distance:edge_distance",
}

metrics: Registry[Metric] = Registry("metric", BUILT_IN)
