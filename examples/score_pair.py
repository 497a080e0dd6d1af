"""Score one edited image and print the verdict.

python examples/score_pair.py SOURCE EDITED INSTRUCTION
"""

from __future__ import annotations

import sys

import numpy as np
import skimage.data

import editgauge


def main(arguments: list[str]) -> None:
    """Score the given pair, or a darkened photograph of a cat."""
    if arguments:
        source, edited, instruction = arguments
        result = editgauge.score(source, edited, instruction)
    else:
        cat = skimage.data.chelsea()
        darkened = np.asarray(cat * 0.25, dtype=np.uint8)
        result = editgauge.score(cat, darkened, "make the cat black")
    print(result)


if __name__ == "__main__":
    main(sys.argv[1:])
