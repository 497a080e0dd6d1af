"""Download and check data sets, and read what people said about benchmarks: the verbs of `editgauge data`."""

from editgauge.benchmarks.datasets import info, pull, ratings, verify
from editgauge.findings.people.feedback import feedback

__all__ = ["feedback", "info", "pull", "ratings", "verify"]
