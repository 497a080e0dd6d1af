"""Download and check data sets, and read what people said about benchmarks: the verbs of `editgauge data`."""

from editgauge.analysis.feedback import feedback
from editgauge.benchmarks.datasets import info, pull, ratings, verify
from editgauge.benchmarks.pairs import pairs

__all__ = ["feedback", "info", "pairs", "pull", "ratings", "verify"]
