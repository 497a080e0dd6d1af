"""Result of `score`: the scores and the verdict of one edited image, with text and notebook display."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from editgauge._util.variants import base_name
from editgauge.protocols.verdict import HEADLINES, NO_RULE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from markupsafe import Markup

    from editgauge._util.images import Pixels
    from editgauge.evidence import Evidence, Side
    from editgauge.protocols.verdict import Verdict
    from editgauge.results import ScoreRecord
    from editgauge.types import Item

OWN_PROTOCOL = "editgauge"
"""Protocol that wins when a score name without a protocol matches several."""
MAX_BOXES = 8
"""Boxes drawn on one image."""
PREVIEW_PIXELS = 360
"""Longer side of an image in a notebook."""
FIGURE_STYLE = "display:inline-block;margin:0 12px 8px 0;text-align:center"


class ScoreResult:
    """The scores of one edited image and the verdict they add up to.

    `result["edit"]` is one score, `result.verdict` the verdict, and iterating gives every score.

    Attributes:
        verdict: Whether the edit was done, the rest preserved and the result well made, and how certain that is.
        edit: The edit, as parsed from the instruction.
        source: Pixels of the source image, height x width x 3, uint8.
        edited: Pixels of the edited image in the size of the source.
        remark: Protocols that were left out, and what they need.

    """

    def __init__(self, scores: Sequence[ScoreRecord], item: Item, verdict: Verdict, remark: str = "") -> None:
        self.verdict = verdict
        self.edit = item.edit
        self.source: Pixels = item.source
        self.edited: Pixels = item.edited
        self.remark = remark
        self._scores = tuple(scores)

    def __iter__(self) -> Iterator[ScoreRecord]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._find(name))

    def __getitem__(self, name: str) -> ScoreRecord:
        """Return a score by `NAME` or `PROTOCOL/NAME`.

        A plain name that several protocols use refers to the score of `editgauge`.

        Raises:
            KeyError: No score has the name, or several have and none is preferred.

        """
        matches = self._find(name)
        if not matches:
            names = ", ".join(dict.fromkeys(score.name for score in self))
            raise KeyError(f"There is no score '{name}'; there are {names}.")
        if len(matches) == 1:
            return matches[0]
        preferred = [score for score in matches if base_name(score.protocol) == OWN_PROTOCOL]
        if len(preferred) != 1:
            full_names = ", ".join(f"'{score.protocol}/{score.name}'" for score in matches)
            raise KeyError(f"Several protocols have a score '{name}': {full_names}.")
        return preferred[0]

    def _find(self, name: str) -> list[ScoreRecord]:
        return [score for score in self if name in {score.name, f"{score.protocol}/{score.name}"}]

    @property
    def headlines(self) -> list[ScoreRecord]:
        """The scores that determine the verdict, or all scores if none of them is present."""
        steps = self.edit.reading.steps if self.edit.reading else ()
        names = HEADLINES if len(steps) > 1 else HEADLINES - {"steps_done"}
        candidates = [score for score in self if score.name in names and score.reason != "not_applicable"]
        headlines = [score for score in candidates if score.reason != NO_RULE]
        if not any(score.name == "edit" for score in headlines):
            # No protocol has a rule for the edit: report that once instead of once per protocol.
            without_rule = [score for score in candidates if score.name == "edit"]
            headlines = without_rule[-1:] + headlines
        return headlines or list(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict, the parsed instruction and every score with its evidence as plain values for JSON."""
        from editgauge.results.edits import parsed_to_json

        return {
            "verdict": {**asdict(self.verdict), "sentence": self.verdict.sentence},
            "reading": parsed_to_json(self.edit.reading) if self.edit.reading else None,
            "scores": [score.to_dict() for score in self],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with a row per score; needs `pip install pandas`."""
        from editgauge.results.tables import data_frame

        columns = ("protocol", "name", "value", "reason", "higher_is_better", "range", "note")
        return data_frame({column: [getattr(score, column) for score in self] for column in columns})

    def __repr__(self) -> str:
        headlines = self.headlines
        names = [f"{score.protocol}/{score.name}" for score in headlines]
        width = max(map(len, names), default=0)
        lines = [self.verdict.sentence]
        lines += [f"  {name:<{width}}  {score}" for name, score in zip(names, headlines, strict=True)]
        if hidden := len(self) - len(headlines):
            lines.append(f"  and {hidden} more in .to_frame()")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return both images with the evidence drawn on them, the verdict, and the main scores."""
        from markupsafe import Markup

        rows = ((f"{score.protocol}/{score.name}", str(score), _fold_note(score.note)) for score in self.headlines)
        cell = Markup('<td style="text-align:left">{}</td>')
        return Markup("<div><p><b>{}</b></p>{}{}<table>{}</table></div>").format(
            self.verdict.sentence,
            self._figure("source", self.source, "Source"),
            self._figure("edited", self.edited, self.edit.instruction or "Edited"),
            Markup().join(Markup("<tr>{}</tr>").format(Markup().join(map(cell.format, row))) for row in rows),
        )

    def _figure(self, side: Side, pixels: Pixels, caption: str) -> Markup:
        from markupsafe import Markup
        from PIL import Image

        from editgauge._util.drawing import draw
        from editgauge._util.images import resize_image

        scale = PREVIEW_PIXELS / max(pixels.shape[:2])
        preview = resize_image(pixels, round(pixels.shape[1] * scale), round(pixels.shape[0] * scale))
        annotated = draw(preview, self._boxes(side, scale), at_least=PREVIEW_PIXELS)
        jpeg = io.BytesIO()
        Image.fromarray(annotated).save(jpeg, "JPEG", quality=88)
        url = f"data:image/jpeg;base64,{base64.b64encode(jpeg.getvalue()).decode()}"
        figure = Markup('<figure style="{}"><img src="{}" alt="{}"><figcaption>{}</figcaption></figure>')
        return figure.format(FIGURE_STYLE, url, caption, caption)

    def _boxes(self, side: Side, scale: float) -> list[Evidence]:
        """Return the detected boxes on one image in preview pixels, one per label."""
        from editgauge.evidence import Box

        boxes: dict[str, Evidence] = {}
        for evidence in (evidence for score in self if score.name == "edit" for evidence in score.evidence):
            if isinstance(evidence, Box) and evidence.on == side and evidence.label not in boxes:
                boxes[evidence.label] = replace(
                    evidence,
                    left=evidence.left * scale,
                    top=evidence.top * scale,
                    right=evidence.right * scale,
                    bottom=evidence.bottom * scale,
                )
        return list(boxes.values())[:MAX_BOXES]


def _fold_note(note: str) -> str:
    """Return the note as HTML that shows its first sentence and hides the rest until it is clicked."""
    from markupsafe import Markup

    summary, period, details = note.partition(". ")
    if not details:
        return note
    return Markup("<details><summary>{}</summary>{}</details>").format(summary + period.strip(), details)
