"""`editval@released` against the authors' script, on random boxes: `docs/parity/editval.md` states the counts.

The formulas below were written from reading `auto_eval.py` of deep-ml-research/editval_code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge.types import Position
from tests.parity.scenes import SCENES, THRESHOLD, Seen, Sees, item_of, table_on_page, values

TYPES = ("object_addition", "object_replacement", "positional_addition", "position_replacement", "size", "alter_parts")
CLASS = "dog"
SIDES = {"left": "to left", "right": "to right", "above": "on top", "below": "below"}
Box = tuple[float, ...]


def last_boxes(seen: Seen, phrases: tuple[str, ...]) -> dict[int, Box]:
    """The last box of each label: a patch has the label that it fits best."""
    fits = np.stack([seen.fits[phrase] for phrase in phrases], axis=1)
    labels, best = fits.argmax(axis=1), fits.max(axis=1)
    last: dict[int, Box] = {}
    for box, label, sure in zip(seen.boxes.tolist(), labels.tolist(), best.tolist(), strict=True):
        if sure >= THRESHOLD:
            last[label] = tuple(round(side, 2) for side in box)
    return last


def as_the_script(kind: str, to: str, source: Seen, edited: Seen) -> int:
    if kind in {"position_replacement", "size"}:
        before, after = (last_boxes(seen, (CLASS,)).get(0) for seen in (source, edited))
        if before is None or after is None:
            return 0
        if kind == "size":
            was, now = before[2] * before[3], after[2] * after[3]
            return int(now > was if to == "large" else now < was)
        moved = after[0] - before[0]
        return int({"left": moved < -200, "right": moved > 200}.get(to, False))
    last = last_boxes(edited, (to.split(" ")[0] if kind == "positional_addition" else to, CLASS))
    added, kept = last.get(0), last.get(1)
    if kind == "object_addition":
        return int(added is not None and kept is not None)
    if kind == "object_replacement":
        return int(added is not None and kept is None)
    if added is None or kept is None:
        return 0
    if kind == "alter_parts":
        inside_x = kept[0] - kept[2] / 2 < added[0] < kept[0] + kept[2] / 2
        return int(inside_x and kept[1] - kept[3] / 2 < added[1] < kept[1] + kept[3] / 2)
    side = to.split(" ")[-1]
    by_side = {
        "below": added[1] < kept[1],
        "top": added[1] > kept[1],
        "left": added[0] < kept[0],
        "right": added[0] > kept[0],
    }
    return int(by_side[side])


def random_boxes(draw: np.random.Generator, count: int, width: int, height: int) -> NDArray[np.float32]:
    corners = draw.uniform(0, (width, height), (2, count, 2))
    return np.concatenate([corners.min(axis=0), corners.max(axis=0)], axis=1).astype(np.float32)


def random_edit(draw: np.random.Generator, kind: str) -> tuple[dict[str, Any], str]:
    """The edit, and its `to` as EditVal's file spells it."""
    edit: dict[str, Any] = {"type": kind, "subject": CLASS}
    if kind == "size":
        edit["to"] = raw = str(draw.choice(["small", "large"]))
    elif kind == "position_replacement":
        edit["to"] = raw = str(draw.choice(["left", "right", "center"]))
        edit["position"] = Position(raw)  # type: ignore[arg-type]
    elif kind == "positional_addition":
        edit["to"] = str(draw.choice(["cup", "wine glass"]))
        relation = str(draw.choice(list(SIDES)))
        edit["position"] = Position(relation, CLASS)  # type: ignore[arg-type]
        raw = f"{edit['to']} {SIDES[relation]}"
    elif kind == "alter_parts":
        edit["to"], raw = "red collar", "add red collar"
    else:
        edit["to"] = raw = "cup"
    return edit | {"extras": {"to": raw}}, raw


def random_seen(draw: np.random.Generator, width: int, height: int) -> Seen:
    patches = 4
    fits = {
        name: np.where(draw.random(patches) < draw.choice([0.0, 0.3, 0.7]), draw.uniform(0.1, 0.9, patches), 0.05)
        for name in (CLASS, "cup", "wine", "wine glass", "red collar", "add red collar")
    }
    return Seen(
        random_boxes(draw, patches, width, height), {name: its.astype(np.float32) for name, its in fits.items()}
    )


def counts() -> dict[str, tuple[int, int, int]]:
    """For each edit type: scenes, verdicts of `editval@released` that differ from the script's, and of `editval`."""
    draw = np.random.default_rng(0)
    table = {kind: [0, 0, 0] for kind in TYPES}
    for number in range(SCENES):
        kind = TYPES[number % len(TYPES)]
        width, height = (int(side) for side in draw.integers(200, 700, 2))
        edit, raw = random_edit(draw, kind)
        source, edited = random_seen(draw, width, height), random_seen(draw, width, height)
        item = item_of(edit, *(np.full((height, width, 3), shade, np.uint8) for shade in (10, 20)))
        see = Sees(item, source, edited, ("a photo of a ", "a photo of "))
        expected = as_the_script(kind, raw, source, edited)
        table[kind][0] += 1
        table[kind][1] += values("editval@released", item, see)["edit"] != expected
        table[kind][2] += values("editval", item, see)["edit"] != expected
    table["all"] = [sum(column) for column in zip(*table.values(), strict=True)]
    return {kind.replace("_", " "): (row[0], row[1], row[2]) for kind, row in table.items()}


def test_the_page_states_what_random_scenes_give() -> None:
    assert counts() == table_on_page("editval.md")


def test_the_released_reading_never_differs_from_the_script() -> None:
    assert counts()["all"][1] == 0
