"""The protocol `editgauge`: was the edit done, did the rest stay, is it clean; from what the five papers look at.

Features of both pictures, none of which needs a judge, go into three small models that were fitted on probes: outcomes
whose truth is known. Every number says what spoke for it and what against it. `editgauge[calibration=FILE]` gives what
people's ratings make of the numbers instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from editgauge.core.errors import BadInput
from editgauge.core.evidence import Note
from editgauge.core.types import Item, Score, Scores, ScoreSpec, Unscored
from editgauge.protocols import Protocol, variant_name
from editgauge.protocols.editgauge.calibrated import by_people, product
from editgauge.protocols.editgauge.calibration import Calibration, read_calibration
from editgauge.protocols.editgauge.explanations import CLAIMS, reasons, shown
from editgauge.protocols.editgauge.features import features
from editgauge.protocols.editgauge.model import Answer, fitted
from editgauge.protocols.editgauge.view import look
from editgauge.protocols.preservation_aligned import told_frame

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception
    from editgauge.protocols.editgauge.edit_features import Values

NO_PROBES = "no probe is of this type, so nothing says how likely the edit was done; see studies or judges"
CALIBRATED = (
    "Numbers with a curve in the calibration are the share of people who say so, as ratings of other outcomes foretell "
    "it; `overall` without a curve of its own is the product of these."
)


class Own(Protocol):
    """Three answers and their product."""

    name = "editgauge"
    about = "Was the edit done, did the rest stay, is it clean? One number of the three, each with its reasons."
    paper = "EditGauge; composed of what EditVal, PixLens and EditInspector look at, fitted on probes."
    version = "2"
    deviations: tuple[str, ...] = (
        "Fitted with the models of the profile `lite` on photographs edited by classical means; with other models, or "
        "on the outcomes of generative editors, the numbers order outcomes but need not be frequencies.",
        "The edited image is resized to the source's size, and laid back over it where a common frame is certain.",
        "Of edit types without probes (alter_parts, shape, action, viewpoint) `edit` and `overall` are unscored.",
    )
    needs = ("detector", "segmenter")
    scores: tuple[ScoreSpec, ...] = (
        ScoreSpec("edit", True, (0.0, 1.0), "How likely the edit was done, where half of all edits are."),
        ScoreSpec("preservation", True, (0.0, 1.0), "Did the rest stay? 1 - the expected severity of a disturbance."),
        ScoreSpec(
            "artifact", False, (0.0, 1.0), "The expected severity of an artifact, where half of all edits have one."
        ),
        ScoreSpec("overall", True, (0.0, 1.0), "Done, kept and clean: edit x preservation x (1 - artifact)."),
    )

    def __init__(self, calibration: Calibration | None = None) -> None:
        self._calibration = calibration
        if calibration is None:
            return
        if calibration.version != Own.version:
            raise BadInput(
                f"'{calibration.file}' was made for version {calibration.version} of the protocol '{Own.name}', and "
                f"this is version {Own.version}, whose numbers are others. Run it anew, then `editgauge build "
                "calibration`."
            )
        self.name = variant_name(Own.name, {"calibration": calibration.name})
        self.version = f"{Own.version}, calibration {calibration.sha256}"
        self.deviations = (*Own.deviations, CALIBRATED)
        self.scores = tuple(_as_people_say(spec, calibration) for spec in Own.scores)

    def variant(self, options: Mapping[str, str]) -> Own:
        """`editgauge[calibration=calibration.json]`, a file that `editgauge build calibration` wrote."""
        if set(options) != {"calibration"} or not options["calibration"]:
            raise BadInput(
                f"'{variant_name(Own.name, options)}' cannot be understood. {Own.name} takes calibration=FILE, which "
                "`editgauge build calibration` writes; its path has no comma and no bracket."
            )
        return Own(read_calibration(options["calibration"]))

    def given(self, models: Mapping[str, str]) -> Own:
        """The same; a calibration is refused beside other models than its ratings were compared with."""
        made_with = self._calibration.models if self._calibration else {}
        other = [
            f"{role}: {name} then, {models[role]} now"
            for role, name in made_with.items()
            if role in models and models[role] != name
        ]
        if other:
            raise BadInput(f"The calibration of '{self.name}' is for the numbers of other models.", other)
        return self

    async def score(self, item: Item, see: Perception) -> Scores:
        """The three answers with their reasons, and their product; by people's ratings where there is a calibration."""
        found = await self._on_probes(item, see)
        return found if self._calibration is None else by_people(found, self._calibration)

    async def _on_probes(self, item: Item, see: Perception) -> Scores:
        view = await look(item, see)
        values, models = features(view), fitted().models
        done, disturbed, flawed = (models[question].answer(values[question]) for question in models)
        artifact = _artifact(flawed, values["flawed"])
        kept = Score(
            1 - disturbed.value,
            (told_frame(view.changes.alignment), *reasons(disturbed, values["disturbed"], CLAIMS["disturbed"])),
        )
        if item.edit.type not in fitted().types:
            nothing = Unscored("no_rule", NO_PROBES)
            return {"edit": nothing, "preservation": kept, "artifact": artifact, "overall": nothing}
        edit = Score(done.value, (*shown(view), *reasons(done, values["done"], CLAIMS["done"])))
        return {
            "edit": edit,
            "preservation": kept,
            "artifact": artifact,
            "overall": product(edit.value, kept.value, artifact.value),
        }


def _artifact(answer: Answer, values: Values) -> Score:
    if values["beyond"] is None:  # it has a value wherever something changed
        return Score(0.0, (Note("Nothing changed where the edit may change something: no artifact."),))
    return Score(answer.value, reasons(answer, values, CLAIMS["flawed"]))


def _as_people_say(spec: ScoreSpec, calibration: Calibration) -> ScoreSpec:
    """What the score means with a calibration; one without a curve of its own keeps its meaning."""
    curve = calibration.curves.get(spec.name)
    if curve is None:
        return spec
    asked = f" to '{curve.question}'" if curve.question else ""
    side = "good" if spec.higher_is_better else "bad"
    return replace(
        spec, about=f"The share of people who answer{asked} that it is {side}, by ratings of {curve.outcomes} outcomes."
    )


editgauge = Own()
