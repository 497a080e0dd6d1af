"""Metrics: pure functions of arrays, with a direction and a range. No model, no file, no device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.core.registry import Registry

if TYPE_CHECKING:
    from editgauge.metrics.base import Metric

BUILT_IN = {
    "l1": "editgauge.metrics.pixels:l1",
    "l2": "editgauge.metrics.pixels:l2",
    "psnr": "editgauge.metrics.pixels:psnr",
    "ssim": "editgauge.metrics.pixels:ssim",
    "histogram_correlation": "editgauge.metrics.histogram_correlation:histogram_correlation",
    "edge_distance": "editgauge.metrics.edge_distance:edge_distance",
}

metrics: Registry[Metric] = Registry("metric", BUILT_IN)
