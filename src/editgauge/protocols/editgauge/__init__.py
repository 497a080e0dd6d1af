"""The protocol `editgauge`: was the edit done, was the rest kept, and is the image well made?

Every score is fitted on real edits that people rated (`kept` on the answers of two judges) and needs no judge itself.
Each lists what speaks for and against it. `edit` exists only where the request was looked for or measured.
`editgauge[calibration=FILE]` maps the scores to what other people's ratings make of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge._vision.disturbances import Disturbance, measure_disturbance
from editgauge.edit_types import UNSPECIFIED
from editgauge.errors import BadInputError
from editgauge.evidence import Note
from editgauge.instructions.parsed import edit_steps
from editgauge.protocols import Protocol, format_variant
from editgauge.protocols._rules import STEPS_DONE, steps_done_score
from editgauge.protocols.editgauge._calibration import Calibration, apply_calibration, combine_overall, read_calibration
from editgauge.protocols.editgauge._explanations import reasons, request_evidence
from editgauge.protocols.editgauge._further import JUDGED, WORDS, judge_evidence
from editgauge.protocols.editgauge._models import features, fitted
from editgauge.protocols.editgauge._request import MAX_UNTOUCHED_CHANGE, explain_missing_request
from editgauge.protocols.editgauge._view import build_view
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.masks import BoolMask
    from editgauge.protocols import JudgingPerception
    from editgauge.protocols.editgauge._calibration import CalibrationCurve
    from editgauge.protocols.editgauge._models import Model
    from editgauge.protocols.editgauge._request import Values
    from editgauge.protocols.editgauge._view import View

NO_TOKENS = Unscored("no_model", "no image embedder with patch tokens; pass `model=image_embedder=dinov2-s14`")
PASS_MARK = 0.5
MIN_LARGE_OBJECT, MAX_LARGE_OBJECT = 0.25, 0.95
"""Share of the image that an object to edit covers, from which and up to which only the rest is compared."""
FALLBACK_NO = 0.1
FALLBACK_YES = 0.9
"""Probabilities of success between which the fallback gives no answer."""
FURTHER: Mapping[str, ScoreSpec] = {
    "joint_embedder": ScoreSpec(
        WORDS, True, (-1.0, 1.0), "How much nearer the image came to the requested words, by the joint embedder."
    ),
    "judge": ScoreSpec(JUDGED, True, (-1.0, 1.0), "How well the judge says the edit was done; evidence for `edit`."),
}
"""Evidence by role that `lite` has no model for; a score of its own, so that ratings can weigh it again."""
CALIBRATED = (
    "Scores with a curve in the calibration are the share of people who say so, as ratings of other outcomes predict "
    "it; `overall` without a curve of its own combines these."
)


class EditGaugeProtocol(Protocol):
    """Answers three questions about an outcome, and combines them."""

    name = "editgauge"
    about = "Was the edit done, was the rest kept, is the image well made? Each with reasons."
    paper = "EditGauge; combines what EditVal, PixLens and EditInspector measure, fitted on human ratings."
    version = "10"
    deviations: tuple[str, ...] = (
        "Fitted with the models of the profile `lite`; with other models the scores order outcomes but need not be "
        "frequencies until `editgauge build calibration` has seen ratings.",
        "Pixels are compared at the source's size, aligned where the frame moved slightly; models look at each image "
        "in its own size.",
        "`edit` is unscored where the request could be neither looked for nor measured, unless nothing was edited.",
        "`success` of such outcomes comes from where and how much the image changed, and is unscored unless it is "
        "below 0.1 or above 0.9.",
    )
    needs = ("detector", "segmenter", "image_embedder")
    prefers = ("classifier", "text_reader", "joint_embedder", "scene_classifier")
    uses = ("judge",)
    scores: tuple[ScoreSpec, ...] = (
        ScoreSpec("edit", True, (0.0, 1.0), "Probability that the requested change is there.", "done"),
        STEPS_DONE,
        ScoreSpec("kept", True, (0.0, 1.0), "How well everything but the edit was kept; 1 if untouched.", "kept"),
        ScoreSpec("quality", True, (0.0, 1.0), "How natural and free of artifacts people find the image.", "quality"),
        ScoreSpec("success", True, (0.0, 1.0), "Probability that people call the edit done, without over-editing."),
        ScoreSpec("overall", True, (0.0, 1.0), "Success and quality combined, a weighted geometric mean."),
    )

    def __init__(self, calibration: Calibration | None = None, models: Mapping[str, str] | None = None) -> None:
        """Create the protocol, with people's ratings and with models of roles that `lite` leaves out."""
        self._calibration, self._models = calibration, dict(models or {})
        self.judge = self._models.get("judge")
        further = [spec for role, spec in FURTHER.items() if role in self._models]
        self.scores = (*EditGaugeProtocol.scores, *further)
        base = EditGaugeProtocol
        if self.judge:
            self.name = format_variant(base.name, {self.judge: ""})
        if calibration is None:
            return
        if calibration.version != base.version:
            raise BadInputError(
                f"'{calibration.file}' was made for version {calibration.version} of the protocol '{base.name}', and "
                f"this is version {base.version}, which has different scores. Run it again, then `editgauge build "
                "calibration`."
            )
        options = {"calibration": calibration.name} | ({self.judge: ""} if self.judge else {})
        self.name = format_variant(base.name, options)
        self.version = f"{base.version}, calibration {calibration.sha256}"
        self.deviations = (*base.deviations, CALIBRATED)
        self.scores = tuple(_calibrated_spec(spec, calibration.curves.get(spec.name)) for spec in self.scores)

    def variant(self, options: Mapping[str, str]) -> EditGaugeProtocol:
        """Return `editgauge[calibration=FILE]`, with a file of `editgauge build calibration`, or one with a judge."""
        judges = [word for word, value in options.items() if word != "calibration" and not value]
        file = options.get("calibration")
        if len(judges) + (file is not None) != len(options) or len(judges) > 1 or file == "":
            raise BadInputError(
                f"'{format_variant(EditGaugeProtocol.name, options)}' cannot be understood. {EditGaugeProtocol.name} "
                "takes calibration=FILE, which `editgauge build calibration` writes (a path without comma and "
                "bracket), and the name of one judge."
            )
        return EditGaugeProtocol(read_calibration(file) if file else None, {"judge": judges[0]} if judges else None)

    def with_models(self, models: Mapping[str, str]) -> EditGaugeProtocol:
        """Return the protocol for these models; refuse a calibration that was made with other ones."""
        calibrated = self._calibration.models if self._calibration else {}
        differing = [
            f"{role}: {name} then, {models[role]} now"
            for role, name in calibrated.items()
            if role in models and models[role] != name
        ]
        if differing:
            raise BadInputError(f"The calibration of '{self.name}' is for the scores of other models.", differing)
        roles = {role: models[role] for role in FURTHER if role in models}
        return EditGaugeProtocol(self._calibration, roles | ({"judge": self.judge} if self.judge else {}))

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """Return one question per outcome, with a judge."""
        del edit
        return {self.judge: outcomes} if self.judge else {}

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Return the scores with their reasons, calibrated where there is a calibration."""
        scores = await self._scores(item, perception)
        return scores if self._calibration is None else apply_calibration(scores, self._calibration)

    async def _scores(self, item: Item, perception: JudgingPerception) -> Scores:
        views = [await build_view(replace(item, edit=step), perception) for step in edit_steps(item.edit)]
        if self.judge:
            answer = await judge_evidence(item, perception, self.judge)
            views = [replace(view, further=view.further.with_also(answer)) for view in views]
        values = [features(view) for view in views]
        edits = [_score_edit(view, step) for view, step in zip(views, values, strict=True)]
        success = _combine_steps([_score_success(view, step) for view, step in zip(views, values, strict=True)])
        quality = _score_quality(views[0], values[0])
        return {
            "edit": _combine_steps(edits),
            "steps_done": steps_done_score(edits),
            "kept": _score_kept(views),
            "quality": quality,
            "success": success,
            "overall": _score_overall(success, quality),
            **{
                spec.name: _further_score(views[0], role, spec.name)
                for role, spec in FURTHER.items()
                if role in self._models
            },
        }


def _further_score(view: View, role: str, name: str) -> Score | Unscored:
    value = view.further.values.get(name)
    return Unscored("no_model", view.further.missing.get(role, role)) if value is None else Score(value)


def _is_untouched(view: View) -> bool:
    return view.tokens["greatest_changed"] < MAX_UNTOUCHED_CHANGE


def _score_edit(view: View, values: Mapping[Model, Values]) -> Score | Unscored:
    """Score whether the requested change is there, whatever else happened."""
    missing = explain_missing_request(view)
    if not view.tokens:
        return missing or NO_TOKENS
    answer = fitted().linear["edit"].predict(values["edit"])
    if missing:
        if not _is_untouched(view) or view.disturbance.severity > 0:
            return missing
        note = Note(f"Nothing was edited: no part of the image shows anything new. Not looked for: {missing.detail}.")
        return Score(answer.value, (note, *request_evidence(view)))
    claim = "the requested change is there"
    return Score(answer.value, (*request_evidence(view), *reasons(answer, values["edit"], claim)))


def _score_success(view: View, values: Mapping[Model, Values]) -> Score | Unscored:
    """Score whether people would call the edit done without over-editing."""
    missing = explain_missing_request(view)
    if not view.tokens:
        return missing or NO_TOKENS
    models = fitted()
    if missing is None:
        request = models.linear["success"].predict(values["success"])
        claim = "the requested change is there"
        if not view.is_local:
            return Score(request.value, reasons(request, values["success"], claim))
        contained = models.linear["contained"].predict(values["contained"])
        value = request.value * contained.value
        note = Note(
            f"Requested change {request.value:.2f} times nothing else redrawn {contained.value:.2f}: {value:.2f}."
        )
        effects = reasons(contained, values["contained"], "nothing else was redrawn")
        return Score(value, (note, *reasons(request, values["success"], claim), *effects))
    if view.edit.type == UNSPECIFIED or not view.is_local:
        return missing
    fallback = models.fallback.predict(values["fallback"])
    if FALLBACK_NO <= fallback.value <= FALLBACK_YES:
        return missing
    note = Note(
        f"From where and how much the image changed, people would call it done with probability {fallback.value:.2f}. "
        f"The requested object itself was not looked for: {missing.detail}."
    )
    return Score(fallback.value, (note, *reasons(fallback, values["fallback"], "people call the edit done")))


def _score_kept(views: Sequence[View]) -> Score | Unscored:
    """Score how well everything but the edit was kept."""
    inputs = kept_inputs(views)
    if isinstance(inputs, Unscored):
        return inputs
    values, disturbance = inputs
    answer = fitted().kept(values, disturbance.severities())
    notes = [Note(sentence) for sentence in disturbance.sentences]
    return Score(answer.value, (*notes, *reasons(answer, values, "everything but the edit was kept")))


def kept_inputs(views: Sequence[View]) -> tuple[Values, Disturbance] | Unscored:
    """Return what `kept` is computed from, one view per step; or why there is no answer."""
    view = views[0]
    if not view.tokens or view.change is None:
        return NO_TOKENS
    if view.mask is not None and view.mask.all():
        return Unscored("not_applicable", "the mask covers the whole image, so nothing has to stay")
    if any(step.roles.everywhere for step in views):
        return Unscored("not_applicable", "an edit of this type may change the whole image")
    behind = next((step for step in views if step.roles.behind), None)
    if behind is not None and not behind.has_subject and view.mask is None:
        return Unscored("not_detected", "the subject before the background was not detected in the source")
    preserved = _preserved_region(view, behind)
    if preserved is None:
        return {name: view.tokens[name] for name in ("mean_changed", "unmatched", "median_changed")}, view.disturbance
    values: Values = {"mean_changed": _mean_change(view, preserved), "unmatched": None, "median_changed": None}
    return values, measure_disturbance(view.source, view.edited, view.changes.alignment, ~preserved)


def _preserved_region(view: View, behind: View | None) -> BoolMask | None:
    """Return the pixels that must stay; None for most of the image, whose statistics a small object hardly moves.

    These are the pixels outside a mask, the subject of a new background, or those around a large object to edit.
    """
    if view.mask is not None and view.mask.any():
        return ~view.mask
    if behind is not None:
        return behind.pairs["stays"].before[0].mask
    outlined = view.outlined
    if outlined is None or not MIN_LARGE_OBJECT <= outlined.mean() <= MAX_LARGE_OBJECT:
        return None
    return ~outlined


def _mean_change(view: View, preserved: BoolMask) -> float:
    """Return the mean change of the patches that lie mostly in a region."""
    assert view.change is not None  # noqa: S101 - checked by the caller
    rows, columns = view.change.shape
    shares = cv2.resize(preserved.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    patches = view.change[shares >= min(0.5, float(shares.max()))]
    return float(patches.mean())


def _combine_steps(steps: Sequence[Score | Unscored]) -> Score | Unscored:
    """Return the lowest step; an unscored step makes the result unscored unless another one failed."""
    scored = [step for step in steps if isinstance(step, Score)]
    unscored = next((step for step in steps if isinstance(step, Unscored)), None)
    worst = min(scored, key=lambda step: step.value, default=None)
    if worst is None or (unscored is not None and worst.value >= PASS_MARK):
        return unscored or NO_TOKENS
    return worst


def _score_quality(view: View, values: Mapping[Model, Values]) -> Score | Unscored:
    if not view.tokens:
        return NO_TOKENS
    answer = fitted().quality(values["quality"], view.region_token, view.disturbance.severities())
    return Score(answer.value, reasons(answer, values["quality"], "the image is well made"))


def _score_overall(success: Score | Unscored, quality: Score | Unscored) -> Score | Unscored:
    if isinstance(success, Unscored):
        return success
    return quality if isinstance(quality, Unscored) else combine_overall(success.value, quality.value)


def _calibrated_spec(spec: ScoreSpec, curve: CalibrationCurve | None) -> ScoreSpec:
    """Return what the score means with a calibration; one without a curve of its own keeps its meaning."""
    if curve is None:
        return spec
    question = f" to '{curve.question}'" if curve.question else ""
    side = "good" if spec.higher_is_better else "bad"
    return replace(
        spec,
        about=f"The share of people who answer{question} that it is {side}, by ratings of {curve.outcomes} outcomes.",
    )


editgauge = EditGaugeProtocol()
