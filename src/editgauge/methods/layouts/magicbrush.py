"""MagicBrush: a turn starts from the right picture (`_inde_`, single-turn) or the method's own (`_iter_`, multi-turn).

Names as in OSU-NLP-Group/MagicBrush, evaluation/README.md: the first turn is `<id>_1` in both settings. Names with
`-output` are the data set's own, for its targets; they leave open which of the two an outcome is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from editgauge.methods.layouts import Layout

if TYPE_CHECKING:
    from editgauge.core.types import Edit

NEEDS = ("img_id", "turn")


def _turns(*forms: str, first: str | None = None) -> Callable[[Edit], Iterator[str]]:
    """Paths in a folder per image, or flat."""

    def paths(edit: Edit) -> Iterator[str]:
        image, turn = str(edit.extras["img_id"]).strip(), str(edit.extras["turn"]).strip()
        for form in ((first,) if first and turn == "1" else ()) + forms:
            name = form.format(image=image, turn=turn)
            yield f"{image}/{name}"
            yield name

    return paths


independent = Layout(
    name="magicbrush-inde",
    title="MagicBrush single-turn (_inde_)",
    about="<img_id>/<img_id>_1.png, then <img_id>_inde_<turn>.png; or without folders",
    paths=_turns("{image}_inde_{turn}", first="{image}_1"),
    needs=NEEDS,
    beside=re.compile(r".*(_iter_\d+|-input|-(mask|output)\d+)"),
)

iterative = Layout(
    name="magicbrush-iter",
    title="MagicBrush multi-turn (_iter_)",
    about="<img_id>/<img_id>_1.png, then <img_id>_iter_<turn>.png; or without folders",
    paths=_turns("{image}_iter_{turn}", first="{image}_1"),
    needs=NEEDS,
    beside=re.compile(r".*(_inde_\d+|-input|-(mask|output)\d+)"),
    chained=True,
)

output = Layout(
    name="magicbrush-output",
    title="MagicBrush -output",
    about="<img_id>/<img_id>-output<turn>.png, or without folders",
    paths=_turns("{image}-output{turn}"),
    needs=NEEDS,
    beside=re.compile(r".*(-input|-mask\d+)"),
)
