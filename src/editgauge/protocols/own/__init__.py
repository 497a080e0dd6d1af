"""The protocol `editgauge`: was the edit done, did the rest stay, is it clean; from what the five papers look at.

Features of both pictures, none of which needs a judge, go into three small models that were fitted on probes: outcomes
whose truth is known. Every number says what spoke for it and what against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.core.evidence import Note
from editgauge.core.types import Item, Score, Scores, ScoreSpec, Unscored
from editgauge.protocols import Protocol
from editgauge.protocols.own.features import features
from editgauge.protocols.own.model import Answer, fitted
from editgauge.protocols.own.telling import CLAIMS, reasons, shown
from editgauge.protocols.own.view import look
from editgauge.protocols.preservation_aligned import told_frame

if TYPE_CHECKING:
    from editgauge.perception.interfaces import Perception
    from editgauge.protocols.own.doing import Values
    from editgauge.protocols.own.view import View

NO_PROBES = "no probe is of this type, so nothing says how likely the edit was done; see studies or judges"


class Own(Protocol):
    """Three answers and their product."""

    name = "editgauge"
    about = "Was the edit done, did the rest stay, is it clean? One number of the three, each with its reasons."
    paper = "EditGauge; composed of what EditVal, PixLens and EditInspector look at, fitted on probes."
    version = "1"
    deviations: tuple[str, ...] = (
        "Fitted with the models of the profile `lite` on photographs edited by classical means; with other models, or "
        "on the outcomes of generative editors, the numbers order outcomes but need not be frequencies.",
        "The edited image is resized to the source's size, and laid back over it where a common frame is certain.",
        "Of edit types without probes (alter_parts, shape, action, viewpoint) `edit` and `overall` are unscored.",
    )
    needs = ("detector", "segmenter")
    scores = (
        ScoreSpec("edit", True, (0.0, 1.0), "How likely the edit was done, where half of all edits are."),
        ScoreSpec("preservation", True, (0.0, 1.0), "Did the rest stay? 1 - the expected severity of a disturbance."),
        ScoreSpec(
            "artifact", False, (0.0, 1.0), "The expected severity of an artifact, where half of all edits have one."
        ),
        ScoreSpec("overall", True, (0.0, 1.0), "Done, kept and clean: edit x preservation x (1 - artifact)."),
    )

    async def score(self, item: Item, see: Perception) -> Scores:
        """The three answers with their reasons, and their product."""
        view = await look(item, see)
        values, models = features(view), fitted().models
        done, disturbed, flawed = (models[question].answer(values[question]) for question in models)
        artifact = _artifact(view, flawed, values["flawed"])
        kept = Score(
            1 - disturbed.value,
            (told_frame(view.changes.alignment), *reasons(disturbed, values["disturbed"], CLAIMS["disturbed"])),
        )
        if item.edit.type not in fitted().types:
            nothing = Unscored("no_rule", NO_PROBES)
            return {"edit": nothing, "preservation": kept, "artifact": artifact, "overall": nothing}
        edit = Score(done.value, (*shown(view), *reasons(done, values["done"], CLAIMS["done"])))
        overall = edit.value * kept.value * (1 - artifact.value)
        product = f"{edit.value:.2f} done x {kept.value:.2f} kept x {1 - artifact.value:.2f} clean = {overall:.2f}."
        return {
            "edit": edit,
            "preservation": kept,
            "artifact": artifact,
            "overall": Score(overall, (Note(product),)),
        }


def _artifact(view: View, answer: Answer, values: Values) -> Score:
    if not view.changes.mask.any():
        return Score(0.0, (Note("Nothing changed, so there is no artifact."),))
    return Score(answer.value, reasons(answer, values, CLAIMS["flawed"]))


editgauge = Own()
