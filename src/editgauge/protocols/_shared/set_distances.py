"""FID and KID between the source images and the edited ones: did the outcomes stay photographs of that kind?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from editgauge.core.evidence import Note
from editgauge.core.types import Item, Score, Scores, ScoreSpec, Unscored
from editgauge.metrics.distributions import FEW_FOR_FID, fid, kid
from editgauge.protocols import Part

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception

MOST = float(10**6)
SPECS = (
    ScoreSpec("fid", False, (0.0, MOST), "Fréchet distance of sources and edited images; biased upwards when few."),
    ScoreSpec("kid", False, (-MOST, MOST), "Kernel distance of the same sets; unbiased, the choice for small ones."),
)


async def part(item: Item, see: Perception) -> Part:
    """The features of both pictures."""
    before, after = await gather(see.fid_features(item.source), see.fid_features(item.edited))
    return before, after


def score_set(parts: Sequence[Part]) -> Scores:
    """Both distances. A source that several edits share counts once."""
    if len(parts) < 2:
        return dict.fromkeys(("fid", "kid"), Unscored("not_applicable", "a set needs two outcomes at least"))
    sources = np.unique(np.stack([before for before, _ in parts]), axis=0)
    edited = np.stack([after for _, after in parts])
    if len(sources) < 2:
        return dict.fromkeys(("fid", "kid"), Unscored("not_applicable", "a set needs two source images at least"))
    fewest = min(len(sources), len(edited))
    few = (Note(f"{fewest} pictures are few for FID (under {FEW_FOR_FID:,}): read KID instead."),)
    return {
        "fid": Score(fid(sources, edited), few if fewest < FEW_FOR_FID else ()),
        "kid": Score(kid(sources, edited)),
    }
