"""Would a mix of a preservation and a modification score do? The weight is chosen on one half, judged on the other.

AugCLIP, section 3.1 and figure 2, asks so of people's choices; here the better one of two outcomes is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.pairwise import Paired, paired_difference
from editgauge.analysis._evaluators import GAMMAS
from editgauge.audits.cards.measures import auroc, credit, share
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from editgauge._stats.intervals import Numbers
    from editgauge._stats.resampling import Estimate
    from editgauge.audits.cards.sheet import Places, Sheet
    from editgauge.audits.cards.values import ProbeScores


@dataclass(frozen=True, slots=True)
class Blend:
    """Two scores mixed: gamma times preservation, the rest modification, both scaled to 0 … 1."""

    preservation: str
    modification: str
    gamma: float
    """The weight that chooses best on the tuning photographs."""
    chosen: Estimate
    """Of the held-out pairs with a known better one, the share chosen rightly at that weight."""
    auroc: Estimate
    """Of `edit done` on the held-out photographs, at that weight."""
    curve: tuple[float | None, ...]
    """The held-out share at every gamma from 0 to 1 in steps of 0.05; only to be looked at."""
    ahead: Paired | None
    """Held-out pairs chosen rightly by the mix, against the better of the two alone."""


def blend(preservation: ProbeScores, modification: ProbeScores, sheet: Sheet) -> Blend:
    """Find the best mix of two scores over the probes that have both."""
    first, changed = _scaled(preservation, modification), _scaled(modification, preservation)
    tuning, held_back = sheet.choices("tuning"), sheet.choices("held_back")
    photos = sheet.photos
    heights = [_share(gamma * first + (1 - gamma) * changed, tuning) for gamma in GAMMAS]
    ranked = [(height, -index) for index, height in enumerate(heights) if height is not None]
    if not ranked:
        raise BadInputError(f"No pair of tuning probes has both {preservation.label} and {modification.label}.")
    gamma = GAMMAS[-max(ranked)[1]]
    mixed = gamma * first + (1 - gamma) * changed
    alone = first if (heights[-1] or 0) > (heights[0] or 0) else changed
    name = (preservation if alone is first else modification).label
    earned = [credit(element[held_back[:, 0]], element[held_back[:, 1]]) for element in (mixed, alone)]
    values = np.where(sheet.in_split("held_back"), mixed, np.nan)
    return Blend(
        preservation.label,
        modification.label,
        gamma,
        share(earned[0], photos[held_back[:, 0]]),
        auroc(values, sheet.done, photos),
        tuple(_share(item * first + (1 - item) * changed, held_back) for item in GAMMAS),
        paired_difference(earned[0], earned[1], photos[held_back[:, 0]], ("mix", name)),
    )


def _share(values: Numbers, pairs: Places) -> float | None:
    earned = credit(values[pairs[:, 0]], values[pairs[:, 1]])
    return float(np.nanmean(earned)) if not np.isnan(earned).all() else None


def _scaled(score: ProbeScores, other: ProbeScores) -> Numbers:
    """More is better, 0 to 1 over the probes that have both scores."""
    both = np.where(np.isnan(other.values), np.nan, score.turned)
    if np.isnan(both).all():
        raise BadInputError(f"No probe has both {score.label} and {other.label}.")
    low, high = np.nanmin(both), np.nanmax(both)
    if low == high:
        raise BadInputError(f"{score.label} is the same for all probes: it cannot be blended.")
    scaled: Numbers = (both - low) / (high - low)
    return scaled
