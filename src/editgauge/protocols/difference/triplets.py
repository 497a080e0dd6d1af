"""Differences as triplets (source object, target object, action), and how far two lists of them agree.

EditInspector, section 3.2 and A.2: Model Precision (MP) is the share of the human differences that a model found,
Hallucination Rate (HR) the share of the model's differences that no human has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

Action = Literal["Add", "Remove", "Replace", "Change Attribute"]
ACTIONS: tuple[Action, ...] = get_args(Action)
Alike = Callable[[str, str], bool]
"""Are two objects the same kind of thing, attributes aside?"""


@dataclass(frozen=True, slots=True)
class Triplet:
    """One difference: what was there before, what is there now, and what was done."""

    source: str | None
    target: str | None
    action: Action

    def __str__(self) -> str:
        return f"{self.action}: {self.source or 'nothing'} → {self.target or 'nothing'}"


@dataclass(frozen=True, slots=True)
class TripletAgreement:
    """Which differences of a human and of a model are the same."""

    human: int
    model: int
    found: int
    """Differences of the human that the model has too."""
    made_up: int
    """Differences of the model that match none of the human's."""

    @property
    def precision(self) -> float | None:
        """MP, from 0 to 1; None if the human named no difference."""
        return self.found / self.human if self.human else None

    @property
    def hallucination(self) -> float | None:
        """HR, from 0 to 1; None if the model named no difference."""
        return self.made_up / self.model if self.model else None


def agreement(
    human: Sequence[Triplet], model: Sequence[Triplet], alike: Alike, *, soft: bool = False, released: bool = False
) -> TripletAgreement:
    """How far the model's differences are the human's.

    Every difference counts for one of the other side at most, and as many as possible are paired. The paper prints
    sets, and leaves open what happens when two differences of one side match the same one of the other.

    Args:
        human: the differences that a person named
        model: the differences that a model named
        alike: whether two objects count as the same
        soft: source and target may also be reversed
        released: as the released notebooks count: several may match the same one, Replace and Change Attribute are
            one action, an addition's source and a removal's target are ignored

    >>> result = agreement([Triplet(None, "dog", "Add")], [Triplet(None, "dog", "Add")], str.__eq__)
    >>> result.precision, result.hallucination
    (1.0, 0.0)
    """
    same = np.array([[_match(one, other, alike, soft, released) for other in model] for one in human], dtype=np.bool_)
    table = same.reshape(len(human), len(model))
    if released:
        hits, matched = int(table.any(axis=1).sum()), int(table.any(axis=0).sum())
    else:
        hits = matched = _most_pairs(table)
    return TripletAgreement(len(human), len(model), hits, len(model) - matched)


def compared_objects(human: Sequence[Triplet], model: Sequence[Triplet]) -> Iterator[tuple[str, str]]:
    """The pairs of objects, human's first, about which `agreement` may ask; each once."""
    pairs: dict[tuple[str, str], None] = {}
    for one in human:
        for other in model:
            if _action(one, True) == _action(other, True):
                for mine in (one.source, one.target):
                    for theirs in (other.source, other.target):
                        if mine is not None and theirs is not None:
                            pairs[mine, theirs] = None
    yield from pairs


def _most_pairs(table: NDArray[np.bool_]) -> int:
    if not table.size:
        return 0
    return int((maximum_bipartite_matching(csr_array(table.astype(np.int8))) >= 0).sum())


def _match(one: Triplet, other: Triplet, alike: Alike, soft: bool, released: bool) -> bool:
    if _action(one, released) != _action(other, released):
        return False
    ends = _same_ends(one, other, alike, released)
    return ends or (soft and _same_ends(one, Triplet(other.target, other.source, other.action), alike, released))


def _same_ends(one: Triplet, other: Triplet, alike: Alike, released: bool) -> bool:
    sources = (released and one.action == "Add") or _same(one.source, other.source, alike)
    targets = (released and one.action == "Remove") or _same(one.target, other.target, alike)
    return sources and targets


def _same(mine: str | None, theirs: str | None, alike: Alike) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return alike(mine, theirs)


def _action(triplet: Triplet, released: bool) -> Action:
    return "Replace" if released and triplet.action == "Change Attribute" else triplet.action
