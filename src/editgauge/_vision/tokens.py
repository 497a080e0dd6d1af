"""Two pictures as the tokens of a vision transformer: what changed its meaning, and what stayed itself.

Tokens are rows x columns x length, one per patch of a grid over the picture (`Perception.patches`). A cosine of tokens
forgives what a pixel does not: another brush, another light, a small move.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import BoolMask

Tokens = NDArray[np.floating[Any]]
"""rows x columns x length."""
TINY = 1e-6


def semantic_change(before: Tokens, after: Tokens) -> NDArray[np.float64]:
    """How much each patch changed its meaning, rows x columns: 0 for not at all, 1 for nothing in common, up to 2.

    >>> semantic_change(np.array([[[1.0, 0], [1, 0]]]), np.array([[[2.0, 0], [0, 3]]])).tolist()
    [[0.0, 1.0]]
    """
    _check(before, after)
    return np.asarray(np.clip(1 - (_units(before) * _units(after)).sum(axis=2), 0, 2))


def focus_of_change(before: Tokens, after: Tokens) -> float:
    """How much more the most changed tenth of the patches changed than the median patch, from 0 to 2.

    High for an edit of one place, low where nothing or everything changed.

    >>> same = np.ones((4, 5, 2))
    >>> focus_of_change(same, same)
    0.0
    """
    change = np.sort(semantic_change(before, after), axis=None)
    most = change[-max(len(change) // 10, 1) :]
    return float(most.mean() - np.median(change))


def structure_distance(before: Tokens, after: Tokens, where: BoolMask | None = None) -> float:
    """How differently the parts of the two pictures relate to each other: 0 for the same layout.

    The mean squared difference of the two matrices of cosines between all patches of a picture (Tumanyan et al. 2022,
    as PnPInversion measures it). They take the keys of the deepest layer of DINO ViT-B/8; this is the same of whatever
    tokens are given, so the numbers of the two must not be compared.

    Args:
        before: tokens of the source
        after: tokens of the edited picture
        where: only patches that are true there count

    >>> picture = np.eye(4).reshape(2, 2, 4)
    >>> structure_distance(picture, picture[::-1]), structure_distance(picture, np.ones((2, 2, 4)))
    (0.0, 0.75)
    """
    _check(before, after)
    first, second = (_units(each)[_counted(where, each)] for each in (before, after))
    return float(np.mean((first @ first.T - second @ second.T) ** 2))


def same_subject(
    before: Tokens, after: Tokens, before_where: BoolMask | None = None, after_where: BoolMask | None = None
) -> float:
    """Is what is in one region the thing in the other, wherever it stands and however it is drawn? From -1 to 1.

    Every patch of each region is matched with the most alike patch of the other; the mean of those cosines, of the
    worse direction: a thing that lost half of itself still has a match for all that is left.

    Args:
        before: tokens of the source
        after: tokens of the edited picture
        before_where: the patches of the thing in the source; all when left out
        after_where: the patches of the thing in the edited picture; all when left out

    >>> thing = np.eye(4).reshape(2, 2, 4)
    >>> same_subject(thing, thing[::-1]), same_subject(thing, -thing) < 0.5
    (1.0, True)
    """
    if before.shape[2:] != after.shape[2:]:
        raise ValueError(f"tokens of one length are compared, got {before.shape} and {after.shape}")
    cosines = _units(before)[_counted(before_where, before)] @ _units(after)[_counted(after_where, after)].T
    return float(np.clip(min(cosines.max(axis=1).mean(), cosines.max(axis=0).mean()), -1, 1))


def _units(tokens: Tokens) -> NDArray[np.float64]:
    numbers = np.asarray(tokens, np.float64)
    return np.asarray(numbers / np.maximum(np.linalg.norm(numbers, axis=2, keepdims=True), TINY))


def _counted(where: BoolMask | None, tokens: Tokens) -> BoolMask:
    if where is None:
        return np.ones(tokens.shape[:2], np.bool_)
    if where.dtype != np.bool_ or where.shape != tokens.shape[:2]:
        raise ValueError(f"the mask is {where.dtype} {where.shape}, the grid of patches is bool {tokens.shape[:2]}")
    if not where.any():
        raise ValueError("nothing to compare: the mask is empty")
    return where


def _check(before: Tokens, after: Tokens) -> None:
    if before.shape != after.shape or before.ndim != 3 or not before.size:
        raise ValueError(f"two grids of tokens of one shape are compared, got {before.shape} and {after.shape}")
