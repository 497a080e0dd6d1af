"""Edits proposed for any photograph, from what is seen in it; each with a recipe for its right outcome."""

from __future__ import annotations

from editgauge.benchmarks.proposals.propose import propose
from editgauge.benchmarks.proposals.scene import CutThing, FaintDetection, Photograph, look_at, understood

__all__ = ["CutThing", "FaintDetection", "Photograph", "look_at", "propose", "understood"]
