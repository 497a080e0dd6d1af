"""The truth of many probes as columns, and which of them are to be compared with which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from editgauge._stats.intervals import Labels, Numbers
from editgauge.audits.probes.probes import RIGHT, Probe, Split

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """The truth of many probes as columns, and who is to be compared with whom."""

    probes: tuple[Probe, ...]
    photos: Labels
    done: Numbers
    """1, 0, or NaN if unknown."""
    tuning: NDArray[np.bool_]
    rights: Places
    """For every probe the place of its edit's right outcome; -1 without one."""
    graded: Places
    """Pairs inside graded families, the better one first."""
    known: NDArray[np.bool_]
    """Is anything true of the probe by itself, or do people only compare it with others?"""
    preferred: Places
    """Pairs that people compared, the one that most of them prefer first."""
    agreed: Numbers
    """For each of these pairs, the share of people who do."""

    @classmethod
    def of(cls, probes: Sequence[Probe]) -> Sheet:
        """Build the sheet of probes."""
        right = {probe.edit: index for index, probe in enumerate(probes) if probe.kind == RIGHT}
        index_of = {probe.id: index for index, probe in enumerate(probes)}
        compared = [
            (index_of[probe.id], index_of[other], share)
            for probe in probes
            for other, share in probe.over.items()
            if other in index_of
        ]
        return cls(
            tuple(probes),
            np.array([probe.photo for probe in probes], dtype=np.str_),
            np.array([np.nan if probe.done is None else float(probe.done) for probe in probes]),
            np.array([probe.split == "tuning" for probe in probes], dtype=np.bool_),
            np.array([right.get(probe.edit, -1) for probe in probes], dtype=np.int64),
            _graded(probes, right),
            np.array([probe.is_known for probe in probes], dtype=np.bool_),
            np.array([(better, worse) for better, worse, _ in compared], dtype=np.int64).reshape(-1, 2),
            np.array([share for *_, share in compared], dtype=np.float64),
        )

    def in_split(self, split: Split) -> NDArray[np.bool_]:
        """Which probes belong to a half."""
        return self.tuning if split == "tuning" else ~self.tuning

    def choices(self, split: Split) -> Places:
        """Pairs that were made so that one is better, that one first: right against wrong, and graded ones."""
        wrong = np.flatnonzero((self.done == 0) & (self.rights >= 0))
        pairs: Places = np.concatenate([np.stack([self.rights[wrong], wrong], axis=1), self.graded])
        selected: Places = pairs[self.in_split(split)[pairs[:, 0]]]
        return selected


def _graded(probes: Sequence[Probe], right: Mapping[str, int]) -> Places:
    families: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for index, probe in enumerate(probes):
        if probe.family and probe.severity is not None:
            families.setdefault((probe.edit, probe.family), []).append((probe.severity, index))
    pairs = []
    for (edit, _), members in families.items():
        has_none = min(severity for severity, _ in members) > 0
        ordered = sorted([*members, *([(0.0, right[edit])] if has_none and edit in right else [])])
        pairs += [(better, worse) for (less, better), (more, worse) in combinations(ordered, 2) if less < more]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
