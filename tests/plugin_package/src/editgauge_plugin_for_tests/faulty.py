from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from editgauge import Box, Item, Note, Perception, Protocol, Score, Scores, ScoreSpec, UnscorableError


class Faulty(Protocol):
    """Does what the edit's `subject` says, which is what plug-ins should not do; a score of 1 otherwise."""

    name = "faulty"
    about = "Breaks in every way a protocol can."
    paper = "None; for tests only."
    version = "1"
    deviations: tuple[str, ...] = ()
    scores = (ScoreSpec("first", True, (0.0, 1.0)), ScoreSpec("second", True, (0.0, 1.0)))

    async def score(self, item: Item, perception: Perception) -> Scores:
        given: Any = {"first": Score(1.0), "second": Score(1.0)}
        match item.edit.subject:
            case "raises":
                raise RuntimeError("no such luck")
            case "raises-surrogates":
                raise RuntimeError("a name that is not text: \udce9")
            case "cannot-tell":
                raise UnscorableError("not_detected", "no cat was seen")
            case "asks-a-model":
                await perception.embed_image(item.source)
            case "nan":
                given["first"] = Score(float("nan"))
            case "forgets":
                del given["first"]
            case "out-of-range":
                given["first"] = Score(1.5)
            case "gives-none":
                given = None
            case "gives-a-number":
                given["first"] = 0.5
            case "numpy":
                half: Any = np.float32(0.5)
                given["first"] = Score(half, (Box("source", half, half, half, half, confidence=half),))
            case "evidence-no-json":
                given["first"] = Score(1.0, (Note(object()),))  # type: ignore[arg-type]
            case "writes-on-the-picture":
                item.source[:] = 0
            case "prints":
                print("printed by a plug-in", flush=True)  # noqa: T201
                os.write(1, b"written to descriptor 1 by a plug-in\n")
                sys.stdout.flush()
            case "raises-once":
                if _first_time(item):
                    raise RuntimeError("no such luck, this time")
            case "exits":
                os._exit(7)
            case "exits-once":
                if _first_time(item):
                    os._exit(7)
            case "sleeps":
                time.sleep(60)
            case "slow":
                time.sleep(0.05)
        scores: Scores = given
        return scores


def _first_time(item: Item) -> bool:
    """Remembered beside the picture, because the process may not live to remember."""
    mark = item.edit.source.path.with_suffix(".was-here")
    new = not mark.exists()
    mark.touch()
    return new


class Misnamed(Faulty):
    name = "another-name"


faulty = Faulty()
misnamed = Misnamed()
