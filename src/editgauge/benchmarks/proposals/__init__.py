"""Edits proposed for any photograph, from what is seen in it; each with a recipe for its right outcome."""

from __future__ import annotations

from editgauge.benchmarks.proposals.propose import propose
from editgauge.benchmarks.proposals.scene import Photograph, Sight, Thing, look_at, understood

__all__ = ["Photograph", "Sight", "Thing", "look_at", "propose", "understood"]
