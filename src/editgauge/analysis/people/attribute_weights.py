"""Do the weights of attributes agree with what people find important? (AugCLIP, table 7)"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from editgauge._stats.agreement import PEARSON, choice_agreement, correlate
from editgauge._stats.resampling import Estimate
from editgauge.errors import BadInputError
from editgauge.evidence import WEIGHTS_OF_ATTRIBUTES, Scatter, from_json
from editgauge.results import Run

WORTH = {"first": 1.0, "tie": 0.0, "second": -1.0}
Weights = dict[str, dict[tuple[str, str], dict[str, float]]]
"""Protocol to edit and side to attribute to weight."""


@dataclass(frozen=True, slots=True)
class ComparedAttributes:
    """One person's answer about two attributes of an edit."""

    edit: str
    first: str
    second: str
    important: str
    """`first`, `second` or `tie`."""


@dataclass(frozen=True, slots=True)
class WeightAgreement:
    """How far one protocol's weights agree with people on one side of the edits."""

    protocol: str
    side: str
    correlation: Estimate
    """Pearson's, of the difference of two weights with people's preference for the first, over pairs of attributes."""
    choices: Estimate
    """The share of pairs in which the heavier attribute is the one that most people prefer."""


def weight_agreement(run: Run, answers: Iterable[ComparedAttributes]) -> tuple[WeightAgreement, ...]:
    """Each protocol's weights compared with people's answers, for source and target attributes."""
    preferences: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for answer in answers:
        preferences[answer.edit, answer.first, answer.second].append(WORTH[answer.important])
    weights = _weights(run)
    if not weights:
        raise BadInputError(
            f"The run '{run.folder}' holds no weights of attributes. Score it with --protocol augclip and "
            "--protocol 'augclip[naive]' to compare both with people."
        )
    agreements: list[WeightAgreement] = []
    for protocol, by_edit in weights.items():
        for side in ("source", "target"):
            rows = [
                (by_edit[edit, side][first] - by_edit[edit, side][second], float(np.mean(values)), edit)
                for (edit, first, second), values in preferences.items()
                if {first, second} <= by_edit.get((edit, side), {}).keys()
            ]
            if rows:
                agreements.append(_agreement(protocol, side, rows))
    return tuple(agreements)


def _agreement(protocol: str, side: str, rows: list[tuple[float, float, str]]) -> WeightAgreement:
    lighter, liked = (np.array(column, np.float64) for column in list(zip(*rows, strict=True))[:2])
    edits = np.array([edit for *_, edit in rows], dtype=np.str_)
    decided = liked != 0
    nothing = np.zeros(int(decided.sum()))
    choices = choice_agreement(lighter[decided], nothing, liked[decided] > 0, edits[decided])
    return WeightAgreement(protocol, side, correlate(PEARSON, lighter, liked, edits), choices)


def _weights(run: Run) -> Weights:
    weights: Weights = defaultdict(dict)
    for key, _, text in run.iter_evidence():
        if WEIGHTS_OF_ATTRIBUTES not in text:
            continue
        piece = from_json(json.loads(text))
        if not isinstance(piece, Scatter):
            continue
        for point in piece.points:
            side = point.group.removesuffix(" attributes")
            weights[key.protocol].setdefault((key.edit, side), {})[point.name] = point.x
    return dict(weights)
