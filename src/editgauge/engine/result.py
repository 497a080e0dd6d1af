"""What `score` returns: the scores of one edited image, which print and show themselves."""

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
"""Its score is meant where a name without a protocol fits several."""
MAX_BOXES = 8
"""Boxes drawn on one picture."""
PREVIEW_PIXELS = 360
"""Pixels of a picture in a notebook."""
FRAME = "display:inline-block;margin:0 12px 8px 0;text-align:center"


class ScoreResult:
    """The scores of one edited image and the verdict they add up to.

    `result["edit"]` is one score, `result.verdict` the verdict, and iterating gives every score.

    Attributes:
        verdict: was the edit done, was the rest kept, is it well made, and how certain that is.
        edit: the edit, as it was read from the instruction.
        source: pixels of the source image, height x width x 3, uint8.
        edited: pixels of the edited image in the size of the source.
        remark: which protocols were left out, and what they need.

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
        return isinstance(name, str) and bool(self._named(name))

    def __getitem__(self, name: str) -> ScoreRecord:
        """Return the score of this name, or of `PROTOCOL/NAME`; `editgauge` wins over other protocols."""
        matches = self._named(name)
        preferred = [score for score in matches if base_name(score.protocol) == OWN_PROTOCOL]
        if len(matches) > 1 and len(preferred) != 1:
            full = ", ".join(f"'{score.protocol}/{score.name}'" for score in matches)
            raise KeyError(f"Several protocols have a score '{name}': {full}.")
        if not matches:
            names = ", ".join(dict.fromkeys(score.name for score in self))
            raise KeyError(f"There is no score '{name}'; there are {names}.")
        return preferred[0] if len(matches) > 1 else matches[0]

    def _named(self, name: str) -> list[ScoreRecord]:
        return [score for score in self if name in {score.name, f"{score.protocol}/{score.name}"}]

    @property
    def headlines(self) -> list[ScoreRecord]:
        """The few scores that determine the verdict; all scores if there are none of those."""
        steps = self.edit.reading.steps if self.edit.reading else ()
        names = HEADLINES if len(steps) > 1 else HEADLINES - {"steps_done"}
        main = [score for score in self if score.name in names and score.reason != "not_applicable"]
        answers = [score for score in main if score.reason != NO_RULE]
        if not any(
            score.name == "edit" for score in answers
        ):  # that no protocol has a rule is the answer then, said once
            answers = [*[score for score in main if score.name == "edit"][-1:], *answers]
        return answers or list(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the verdict, how the instruction was read, and every score with its evidence."""
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
        width = max((len(f"{score.protocol}/{score.name}") for score in headlines), default=0)
        rows = [f"  {f'{score.protocol}/{score.name}':<{width}}  {score}" for score in headlines]
        more = len(self) - len(headlines)
        return "\n".join([self.verdict.sentence, *rows, *([f"  and {more} more in .to_frame()"] if more else [])])

    def _repr_html_(self) -> str:
        """Both pictures with the evidence drawn on them, the verdict, and the main scores."""
        from markupsafe import Markup

        rows = ((f"{score.protocol}/{score.name}", str(score), _folded(score.note)) for score in self.headlines)
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
        small = resize_image(pixels, round(pixels.shape[1] * scale), round(pixels.shape[0] * scale))
        encoded = io.BytesIO()
        Image.fromarray(draw(small, self._boxes(side, scale), at_least=PREVIEW_PIXELS)).save(
            encoded, "JPEG", quality=88
        )
        address = f"data:image/jpeg;base64,{base64.b64encode(encoded.getvalue()).decode()}"
        form = Markup('<figure style="{}"><img src="{}" alt="{}"><figcaption>{}</figcaption></figure>')
        return form.format(FRAME, address, caption, caption)

    def _boxes(self, side: Side, scale: float) -> list[Evidence]:
        """Return the detections on one image, one per label."""
        from editgauge.evidence import Box

        boxes: dict[str, Evidence] = {}
        for score in self:
            for piece in score.evidence if score.name == "edit" else ():
                if isinstance(piece, Box) and piece.on == side:
                    box = replace(
                        piece,
                        left=piece.left * scale,
                        top=piece.top * scale,
                        right=piece.right * scale,
                        bottom=piece.bottom * scale,
                    )
                    boxes.setdefault(piece.label, box)
        return list(boxes.values())[:MAX_BOXES]


def _folded(note: str) -> str:
    """Return the first sentence; a longer note opens on a click."""
    from markupsafe import Markup

    first, stop, remainder = note.partition(". ")
    return (
        Markup("<details><summary>{}</summary>{}</details>").format(first + stop.strip(), remainder)
        if remainder
        else note
    )
