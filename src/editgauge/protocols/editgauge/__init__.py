"""The protocol `editgauge`: was the edit done, is the picture well made, did the rest stay, is it free of artifacts.

`edit` and `quality` were fitted on real edits that people rated, and on probes with known truth; `preservation` and
`artifact` on probes. None needs a judge, and every number says what spoke for it and what against it. `edit` exists
only where what was asked for was looked for or measured. `editgauge[calibration=FILE]` gives what other people's
ratings make of the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from editgauge.edit_types import UNSPECIFIED
from editgauge.errors import BadInputError
from editgauge.evidence import Note
from editgauge.instructions.parsed import edit_steps
from editgauge.protocols import Protocol, format_variant
from editgauge.protocols._rules import STEPS_DONE, steps_done_score
from editgauge.protocols.editgauge.asked import UNTOUCHED, not_judged
from editgauge.protocols.editgauge.calibrated import by_people, together
from editgauge.protocols.editgauge.calibration import Calibration, read_calibration
from editgauge.protocols.editgauge.explanations import CLAIMS, reasons, shown
from editgauge.protocols.editgauge.features import features
from editgauge.protocols.editgauge.further import JUDGED, WORDS, judge_evidence
from editgauge.protocols.editgauge.model import Prediction, fitted
from editgauge.protocols.editgauge.view import look
from editgauge.protocols.preservation_aligned import alignment_note
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception
    from editgauge.protocols.editgauge.asked import Values
    from editgauge.protocols.editgauge.features import Question
    from editgauge.protocols.editgauge.view import View

NO_TOKENS = Unscored(
    "no_model", "no image embedder with patch tokens; choose one with --model image_embedder=dinov2-s14"
)
PASSED = 0.5
REDRAWN = 0.15
"""Chance that nothing else was redrawn under which an edit of a part failed, whatever was asked for: people called 1 of
81 such outcomes done that could not be looked into."""
FURTHER: Mapping[str, ScoreSpec] = {
    "joint_embedder": ScoreSpec(
        WORDS, True, (-1.0, 1.0), "How much nearer the picture came to the requested words, by the joint embedder."
    ),
    "judge": ScoreSpec(JUDGED, True, (-1.0, 1.0), "How well the judge says the edit was done; evidence for `edit`."),
}
"""Evidence by role that `lite` has no model for; a score of its own, so that ratings can weigh it again."""
CALIBRATED = (
    "Numbers with a curve in the calibration are the share of people who say so, as ratings of other outcomes predict "
    "it; `overall` without a curve of its own is the product of these."
)


class Own(Protocol):
    """Four answers, and edit and quality in one number."""

    name = "editgauge"
    about = "Was the edit done, is the picture well made, did the rest stay, are there artifacts? Each with reasons."
    paper = "EditGauge; combines what EditVal, PixLens and EditInspector measure, fitted on human ratings and probes."
    version = "8"
    deviations: tuple[str, ...] = (
        "Fitted with the models of the profile `lite`; with other models the numbers order outcomes but need not be "
        "frequencies until `editgauge build calibration` has seen ratings.",
        "Pixels are compared at the source's size, aligned where a common frame is certain; models look at each image "
        "in its own size.",
        "`edit` is unscored where nothing that was asked for could be looked for or measured, unless nothing was "
        "edited or the whole picture was redrawn.",
    )
    needs = ("detector", "segmenter", "image_embedder")
    prefers = ("classifier", "text_reader", "joint_embedder")
    uses = ("judge",)
    scores: tuple[ScoreSpec, ...] = (
        ScoreSpec(
            "edit",
            True,
            (0.0, 1.0),
            "How likely people are to say that the edit was done, without over-editing.",
            "done",
        ),
        STEPS_DONE,
        ScoreSpec(
            "quality", True, (0.0, 1.0), "How natural and free of artifacts people would call the picture.", "quality"
        ),
        ScoreSpec(
            "preservation", True, (0.0, 1.0), "Did the rest stay? 1 - the expected severity of a disturbance.", "kept"
        ),
        ScoreSpec(
            "artifact",
            False,
            (0.0, 1.0),
            "The expected severity of an artifact, for a prior of one half.",
            "artifacts",
        ),
        ScoreSpec("overall", True, (0.0, 1.0), "Done and well made: edit and quality, weighted 4 to 1."),
    )

    def __init__(self, calibration: Calibration | None = None, models: Mapping[str, str] | None = None) -> None:
        """With people's ratings, and with the models that play roles which `lite` leaves out."""
        self._calibration, self._models = calibration, dict(models or {})
        self.judge = self._models.get("judge")
        further = [spec for role, spec in FURTHER.items() if role in self._models]
        self.scores = (*Own.scores, *further)
        if self.judge:
            self.name = format_variant(Own.name, {self.judge: ""})
        if calibration is None:
            return
        if calibration.version != Own.version:
            raise BadInputError(
                f"'{calibration.file}' was made for version {calibration.version} of the protocol '{Own.name}', and "
                f"this is version {Own.version}, which has different numbers. Run it again, then `editgauge build "
                "calibration`."
            )
        named = {"calibration": calibration.name} | ({self.judge: ""} if self.judge else {})
        self.name = format_variant(Own.name, named)
        self.version = f"{Own.version}, calibration {calibration.sha256}"
        self.deviations = (*Own.deviations, CALIBRATED)
        self.scores = tuple(_as_people_say(spec, calibration) for spec in self.scores)

    def variant(self, options: Mapping[str, str]) -> Own:
        """`editgauge[calibration=FILE]`, a file that `editgauge build calibration` wrote; or the name of a judge."""
        judges = [word for word, value in options.items() if word != "calibration" and not value]
        file = options.get("calibration")
        if len(judges) + (file is not None) != len(options) or len(judges) > 1 or file == "":
            raise BadInputError(
                f"'{format_variant(Own.name, options)}' cannot be understood. {Own.name} takes calibration=FILE, which "
                "`editgauge build calibration` writes (a path without comma and bracket), and the name of one judge."
            )
        return Own(read_calibration(file) if file else None, {"judge": judges[0]} if judges else None)

    def with_models(self, models: Mapping[str, str]) -> Own:
        """The same; a calibration is refused in combination with other models than its ratings were compared with."""
        made_with = self._calibration.models if self._calibration else {}
        other = [
            f"{role}: {name} then, {models[role]} now"
            for role, name in made_with.items()
            if role in models and models[role] != name
        ]
        if other:
            raise BadInputError(f"The calibration of '{self.name}' is for the numbers of other models.", other)
        roles = {role: models[role] for role in FURTHER if role in models}
        return Own(self._calibration, roles | ({"judge": self.judge} if self.judge else {}))

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """One for each outcome, with a judge."""
        return {self.judge: outcomes} if self.judge else {}

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """The answers with their reasons; by other people's ratings where there is a calibration."""
        scores = await self._scores(item, perception)
        return scores if self._calibration is None else by_people(scores, self._calibration)

    async def _scores(self, item: Item, perception: JudgingPerception) -> Scores:
        steps = [replace(item, edit=step) for step in edit_steps(item.edit)]
        views = [await look(step, perception) for step in steps]
        if self.judge:
            said = await judge_evidence(item, perception, self.judge)
            views = [replace(view, further=view.further.with_also(said)) for view in views]
        answered = [_answers(view) for view in views]
        judged = [_edit(view, *each) for view, each in zip(views, answered, strict=True)]
        edit = _all_steps(judged)
        answers, values = answered[0]
        return {
            "edit": edit,
            "steps_done": steps_done_score(judged),
            "quality": _quality(views[0], answers["quality"], values["quality"]),
            "preservation": Score(
                1 - answers["disturbed"].value,
                (
                    alignment_note(views[0].changes.alignment),
                    *reasons(answers["disturbed"], values["disturbed"], CLAIMS["disturbed"]),
                ),
            ),
            "artifact": _artifact(answers["flawed"], values["flawed"]),
            "overall": edit if isinstance(edit, Unscored) else together(edit.value, answers["quality"].value),
            **{
                spec.name: _further(views[0], role, spec.name) for role, spec in FURTHER.items() if role in self._models
            },
        }


def _further(view: View, role: str, name: str) -> Score | Unscored:
    value = view.further.values.get(name)
    return Unscored("no_model", view.further.missing.get(role, role)) if value is None else Score(value)


Answers = tuple[Mapping["Question", Prediction], Mapping["Question", "Values"]]
"""By question, and the features that they rest on."""


def _answers(view: View) -> Answers:
    values, models = features(view), fitted().models
    return {question: models[question].answer(values[question]) for question in models}, values


def _edit(view: View, answers: Mapping[Question, Prediction], values: Mapping[Question, Values]) -> Score | Unscored:
    """What was asked for is there, and nothing else was redrawn.

    If it cannot be determined what is there, the answer is still known if nothing was edited or all was redrawn.
    """
    if not view.redrawn:
        return not_judged(view) or NO_TOKENS
    asked, contained = answers["asked"], answers["contained"]
    local = not (view.roles.everywhere or view.roles.behind)
    value = asked.value * contained.value if local else asked.value
    pieces = (*shown(view), *reasons(asked, values["asked"], CLAIMS["asked"]))
    unscored = not_judged(view)
    if unscored:
        plain = _plainly_not_done(view, contained.value if local and view.edit.type != UNSPECIFIED else 1.0)
        if plain is None:
            return unscored
        pieces = (Note(f"{plain} The requested thing itself was not looked for: {unscored.detail}."), *pieces)
    if not local:
        return Score(value, pieces)
    product = (
        f"Probability that the requested change is there {asked.value:.2f}, times probability that nothing else was "
        f"redrawn {contained.value:.2f}: {value:.2f}."
    )
    return Score(value, (Note(product), *pieces, *reasons(contained, values["contained"], CLAIMS["contained"])))


def _plainly_not_done(view: View, contained: float) -> str | None:
    """Why the edit was not done, or not without over-editing, whatever was asked for."""
    if view.redrawn["greatest_changed"] < UNTOUCHED:
        return "Nothing was edited: no part of the picture shows anything new."
    if contained < REDRAWN:
        return f"The whole picture was redrawn: the probability that nothing else changed is {contained:.2f}."
    return None


def _all_steps(steps: Sequence[Score | Unscored]) -> Score | Unscored:
    """Done when every step is: the least of them. A step that cannot be judged matters unless another one failed."""
    scores = [step for step in steps if isinstance(step, Score)]
    unscored = next((step for step in steps if isinstance(step, Unscored)), None)
    worst = min(scores, key=lambda step: step.value, default=None)
    if worst is None or (unscored is not None and worst.value >= PASSED):
        return unscored or NO_TOKENS
    return worst


def _quality(view: View, answer: Prediction, values: Values) -> Score | Unscored:
    return Score(answer.value, reasons(answer, values, CLAIMS["quality"])) if view.redrawn else NO_TOKENS


def _artifact(answer: Prediction, values: Values) -> Score:
    if values["beyond"] is None:  # it has a value wherever something changed
        return Score(0.0, (Note("Nothing changed where the edit may change something: no artifact."),))
    return Score(answer.value, reasons(answer, values, CLAIMS["flawed"]))


def _as_people_say(spec: ScoreSpec, calibration: Calibration) -> ScoreSpec:
    """What the score means with a calibration; one without a curve of its own keeps its meaning."""
    curve = calibration.curves.get(spec.name)
    if curve is None:
        return spec
    question = f" to '{curve.question}'" if curve.question else ""
    side = "good" if spec.higher_is_better else "bad"
    return replace(
        spec,
        about=f"The share of people who answer{question} that it is {side}, by ratings of {curve.outcomes} outcomes.",
    )


editgauge = Own()
