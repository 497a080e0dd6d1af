"""UniBench's tasks without CLIP: class by detection, position by geometry, color by histogram."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.text import none_detected
from editgauge._vision.colors import color_curves, color_score, rgb_of
from editgauge._vision.geometry import DIRECTIONS, centroid, direction_score
from editgauge.errors import UnscorableError
from editgauge.evidence import Arrow, Curves
from editgauge.protocols import Protocol, SetPart
from editgauge.protocols._rules import attempt, sentence
from editgauge.protocols.unibench import mean_score
from editgauge.protocols.unibench._rules import (
    Located,
    Task,
    as_part,
    locate_anchor,
    locate_target,
    set_scores,
    set_specs,
)
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

PARTS: Mapping[str, tuple[str, ...]] = {
    "change_class": ("target",),
    "change_color": ("target",),
    "generate": ("target", "position"),
    "move": ("target", "position"),
}


class UniBenchDetect(Protocol):
    """An alternative to `unibench` without a joint embedder; its numbers are not the paper's."""

    name = "unibench-detect"
    about = "UniBench's tasks without CLIP: class found, place by geometry, color by histogram."
    paper = "The project's own rules for the tasks of UniBench (Ryu et al.)."
    version = "3"
    deviations = (
        "Not a score of the paper: CLIP similarity is replaced by detection, geometry and histograms.",
        "Change class counts what is found only where it touches the original object's place.",
        "Place: how straight the way from anchor to target goes in the asked direction, 0 at 90 degrees and more.",
        "In front of, behind and next to say nothing about a picture's plane: their place is unscored.",
    )
    needs = ("detector", "segmenter")
    scores = (
        ScoreSpec("edit", True, (0.0, 1.0), "Mean of target and position, as far as the task has them.", "done"),
        ScoreSpec("target", True, (0.0, 1.0), "Is the class found? Change color: does its color fit?"),
        ScoreSpec("position", True, (0.0, 1.0), "Is the target on the requested side of its anchor?"),
    )
    sets = set_specs("edit")

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Score target and position, and their mean."""
        task = Task(item)
        target = await locate_target(item, task, perception)
        rules = {"target": _target(item, task, target), "position": _position(item, task, target, perception)}
        parts = dict(zip(rules, await gather(*map(attempt, rules.values())), strict=True))
        return {"edit": mean_score(parts, PARTS[task.kind]), **parts}

    async def part(self, item: Item, perception: JudgingPerception) -> SetPart:
        """Return both sub-scores of one outcome, by task type."""
        return as_part(Task(item).kind, await self.score(item, perception))

    def score_set(self, parts: Sequence[SetPart]) -> Scores:
        """Aggregate as in the paper: every task type counts once."""
        return set_scores(parts, {"edit": PARTS})


async def _target(item: Item, task: Task, target: Located) -> Score | Unscored:
    """Score whether the target is detected, and its color if one is requested."""
    if task.kind != "change_color":
        return Score(float(target.is_detected), (*target.evidence, sentence(target.words)))
    if target.mask is None:
        raise UnscorableError("not_detected", f"{none_detected(target.name)} in the edited image")
    target_rgb = rgb_of(task.color)
    value = color_score(item.edited, target.mask, target_rgb)
    curves = Curves(
        f"red, green and blue of the {target.name}; dashed: of {task.color}",
        tuple(color_curves(item.edited, target.mask, target_rgb).items()),
    )
    note = sentence(f"{target.words}; its colors fit {task.color} {value:.2f}")
    return Score(value, (*target.evidence, curves, note))


async def _position(item: Item, task: Task, target: Located, perception: JudgingPerception) -> Score | Unscored:
    """Score the direction from the anchor to the target."""
    if "position" not in PARTS[task.kind]:
        return Unscored("not_applicable", f"{task.kind.replace('_', ' ')} asks for no place")
    if task.relation not in DIRECTIONS:
        return Unscored("no_rule", f"'{task.position.words}' says nothing about left, right, above or below")
    anchor = await locate_anchor(item, task, perception)
    if target.mask is None or anchor.mask is None:
        return Score(0.0, (sentence(target.words),))
    start, end = centroid(anchor.mask), centroid(target.mask)
    height, width = item.edited.shape[:2]
    value = direction_score(start, end, task.relation, float(np.hypot(height, width)))
    fit = "straight" if value > 0.9 else "roughly" if value > 0 else "not"
    arrow = Arrow("edited", *start, *end, label=f"from {anchor.name} to {target.name}")
    note = sentence(f"{target.words}, {fit} {task.position.words} the {anchor.name}")
    return Score(value, (*target.evidence, *anchor.evidence, arrow, note))


unibench_detect = UniBenchDetect()
