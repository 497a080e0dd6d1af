"""Write a protocol and score with it.

    python examples/protocol_plugin.py

In a package of your own, an entry point makes the protocol available by name, next to the built-in ones:

    [project.entry-points."editgauge.protocols"]
    mean-color = "my_package.protocols:protocol"
"""

from __future__ import annotations

import numpy as np
import skimage.data

import editgauge


class MeanColor(editgauge.Protocol):
    """Compare the mean colors of source and edited image."""

    name = "mean-color"
    about = "Distance between the mean colors of both images."
    paper = "None; an example."
    version = "1"
    deviations = ()
    scores = (editgauge.ScoreSpec("distance", False, (0.0, 1.0), "Mean absolute difference of the mean colors."),)

    async def score(self, item: editgauge.Item, perception: editgauge.Perception) -> editgauge.Scores:
        """Return the distance, with the two colors as evidence."""
        source, edited = (
            np.asarray(image, dtype=float).mean(axis=(0, 1)) / 255 for image in (item.source, item.edited)
        )
        note = editgauge.Note(f"Mean colors: {source.round(2).tolist()} and {edited.round(2).tolist()}.")
        return {"distance": editgauge.Score(float(np.abs(source - edited).mean()), (note,))}


protocol = MeanColor()


def main() -> None:
    """Score a darkened photograph."""
    cat = skimage.data.chelsea()
    with editgauge.Scorer([protocol]) as scorer:
        print(scorer.score(cat, np.asarray(cat * 0.5, dtype=np.uint8), "make it darker"))


if __name__ == "__main__":
    main()
