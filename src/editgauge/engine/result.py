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
MOST_BOXES = 8
"""Boxes drawn on one picture."""
LONGER_SIDE = 360
"""Pixels of a picture in a notebook."""
FRAME = "display:inline-block;margin:0 12px 8px 0;text-align:center"


class ScoreResult:
    """The scores of one edited image and the verdict they add up to.

    `result["edit"]` is one score, `result.verdict` the verdict, and iterating gives every score.

    Attributes:
        verdict: was the edit done, was the rest kept, are there artifacts, and how certain that is.
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
        """The score of this name, or of `PROTOCOL/NAME`; of several protocols, our own `editgauge` comes first."""
        matches = self._named(name)
        own = [each for each in matches if base_name(each.protocol) == OWN_PROTOCOL]
        if len(matches) > 1 and len(own) != 1:
            full = ", ".join(f"'{each.protocol}/{each.name}'" for each in matches)
            raise KeyError(f"Several protocols have a score '{name}': {full}.")
        if not matches:
            known = ", ".join(dict.fromkeys(each.name for each in self))
            raise KeyError(f"There is no score '{name}'; there are {known}.")
        return own[0] if len(matches) > 1 else matches[0]

    def _named(self, name: str) -> list[ScoreRecord]:
        return [each for each in self if name in {each.name, f"{each.protocol}/{each.name}"}]

    @property
    def headlines(self) -> list[ScoreRecord]:
        """The few scores that determine the verdict; all scores if there are none of those."""
        steps = self.edit.reading.steps if self.edit.reading else ()
        names = HEADLINES if len(steps) > 1 else HEADLINES - {"steps_done"}
        main = [each for each in self if each.name in names and each.reason != "not_applicable"]
        answers = [each for each in main if each.reason != NO_RULE]
        if not any(
            each.name == "edit" for each in answers
        ):  # that no protocol has a rule is the answer then, said once
            answers = [*[each for each in main if each.name == "edit"][-1:], *answers]
        return answers or list(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the verdict, how the instruction was read, and every score with its evidence."""
        from editgauge.results.edits import parsed_to_json

        return {
            "verdict": {**asdict(self.verdict), "sentence": self.verdict.sentence},
            "reading": parsed_to_json(self.edit.reading) if self.edit.reading else None,
            "scores": [each.to_dict() for each in self],
        }

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with a row per score; needs `pip install pandas`."""
        from editgauge.results.tables import data_frame

        columns = ("protocol", "name", "value", "reason", "higher_is_better", "range", "note")
        return data_frame({column: [getattr(each, column) for each in self] for column in columns})

    def __repr__(self) -> str:
        shown = self.headlines
        width = max((len(f"{each.protocol}/{each.name}") for each in shown), default=0)
        rows = [f"  {f'{each.protocol}/{each.name}':<{width}}  {each}" for each in shown]
        more = len(self) - len(shown)
        return "\n".join([self.verdict.sentence, *rows, *([f"  and {more} more in .to_frame()"] if more else [])])

    def _repr_html_(self) -> str:
        """Both pictures with the evidence drawn on them, the verdict, and the main scores."""
        from markupsafe import Markup

        rows = ((f"{each.protocol}/{each.name}", str(each), _folded(each.note)) for each in self.headlines)
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

        scale = LONGER_SIDE / max(pixels.shape[:2])
        small = resize_image(pixels, round(pixels.shape[1] * scale), round(pixels.shape[0] * scale))
        encoded = io.BytesIO()
        Image.fromarray(draw(small, self._boxes(side, scale), at_least=LONGER_SIDE)).save(encoded, "JPEG", quality=88)
        address = f"data:image/jpeg;base64,{base64.b64encode(encoded.getvalue()).decode()}"
        form = Markup('<figure style="{}"><img src="{}" alt="{}"><figcaption>{}</figcaption></figure>')
        return form.format(FRAME, address, caption, caption)

    def _boxes(self, side: Side, scale: float) -> list[Evidence]:
        """What the scores of the edit itself detected on one of the pictures, each label once."""
        from editgauge.evidence import Box

        boxes: dict[str, Evidence] = {}
        for each in self:
            for piece in each.evidence if each.name == "edit" else ():
                if isinstance(piece, Box) and piece.on == side:
                    box = replace(
                        piece,
                        left=piece.left * scale,
                        top=piece.top * scale,
                        right=piece.right * scale,
                        bottom=piece.bottom * scale,
                    )
                    boxes.setdefault(piece.label, box)
        return list(boxes.values())[:MOST_BOXES]


def _folded(note: str) -> str:
    """The first sentence; a longer note opens on a click."""
    from markupsafe import Markup

    first, stop, rest = note.partition(". ")
    return Markup("<details><summary>{}</summary>{}</details>").format(first + stop.strip(), rest) if rest else note
