"""Ask a vision-language model with a rubric of your own.

    python examples/judge_with_rubric.py openai:MODEL@URL [SOURCE EDITED INSTRUCTION]

Any endpoint that speaks the chat completions protocol will do, for instance a local
`openai:qwen2.5vl:7b@http://localhost:11434/v1`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import skimage.data

import editgauge

RUBRIC = """\
name: catalog
about: Is the product still the product, and does the picture show what was ordered?
questions:
  - name: product
    shows: [source, outcome]
    range: [1, 5]
    asks: |
      The request was: {instruction}
    dimensions:
      - {name: same_product, asks: "Is it the same product? 1 another one, 5 the same."}
      - {name: as_requested, asks: "Was the request carried out? 1 not at all, 5 fully."}
scores:
  - name: total
    about: The lower of both.
    range: [1, 5]
    is: {min: [same_product, as_requested]}
"""


def main(arguments: list[str]) -> None:
    """Judge the given pair, or a recolored cup."""
    judge, *pair = arguments
    cup = skimage.data.coffee()
    source, edited, instruction = pair or (cup, np.ascontiguousarray(cup[..., ::-1]), "make the cup blue")
    with tempfile.TemporaryDirectory() as folder:
        rubric = Path(folder) / "catalog.yaml"
        rubric.write_text(RUBRIC)
        result = editgauge.score(source, edited, instruction, protocol=[f"rubric:{rubric}"], judge=judge)
    print(result)


if __name__ == "__main__":
    main(sys.argv[1:])
