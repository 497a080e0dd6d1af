"""`editval@auto_eval` and `editval@evaluate_edits` against the authors' scripts, on random boxes.

`docs/parity/editval.md` states the counts. The formulas below were written from reading `auto_eval.py` and
`evaluate_edits.py` of deep-ml-research/editval_code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge.types import Position
from tests.parity.scenes import SCENES, THRESHOLD, Seen, Sees, item_of, table_on_page, values

TYPES = ("object_addition", "object_replacement", "positional_addition", "position_replacement", "size", "alter_parts")
CLASS = "stop sign"
PHRASES = (CLASS, "cup", "wine", "wine glass", "wineglass", "red collar", "add red collar")
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


def queries(script: str, kind: str, to: str) -> tuple[str, str]:
    """The object and the class as a script asks for them."""
    if script == "auto_eval":
        return to.split(" ", maxsplit=1)[0] if kind == "positional_addition" else to, CLASS
    words = to.split(" ")
    if kind == "positional_addition":
        to = "".join(words[:-1] if words[-1] == "below" else words[:-2])
    elif kind == "alter_parts":
        to = " ".join(words[1:])
    return to, CLASS.replace(" ", "_")


def moved(script: str, to: str, before: Box, after: Box) -> bool:
    if script == "auto_eval":
        return {"left": after[0] < before[0] - 200, "right": after[0] > before[0] + 200}.get(to, False)
    left = after[0] < before[0] and after[1] < before[1]
    right = after[0] > before[0] and after[1] > before[1]
    return {"left": left, "right": right}.get(to, False)


def as_the_script(script: str, kind: str, to: str, source: Seen, edited: Seen) -> int:
    label, class_name = queries(script, kind, to)
    if kind in {"position_replacement", "size"}:
        before, after = (last_boxes(seen, (class_name,)).get(0) for seen in (source, edited))
        if before is None or after is None:
            return 0
        if kind == "size":
            was, now = before[2] * before[3], after[2] * after[3]
            return int(now > was if to == "large" else now < was)
        return int(moved(script, to, before, after))
    last = last_boxes(edited, (label, class_name))
    added, class_box = last.get(0), last.get(1)
    if kind == "object_addition":
        return int(added is not None and class_box is not None)
    if kind == "object_replacement":
        return int(added is not None and class_box is None)
    if added is None or class_box is None:
        return 0
    if kind == "alter_parts":
        inside_x = class_box[0] - class_box[2] / 2 < added[0] < class_box[0] + class_box[2] / 2
        return int(inside_x and class_box[1] - class_box[3] / 2 < added[1] < class_box[1] + class_box[3] / 2)
    by_side = {
        "below": added[1] < class_box[1],
        "top": added[1] > class_box[1],
        "left": added[0] < class_box[0],
        "right": added[0] > class_box[0],
    }
    return int(by_side[to.rsplit(" ", maxsplit=1)[-1]])


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
        for name in PHRASES
    }
    fits[CLASS.replace(" ", "_")] = np.where(draw.random(patches) < 0.9, fits[CLASS], 0.05)
    as_floats = {name: values_of_phrase.astype(np.float32) for name, values_of_phrase in fits.items()}
    return Seen(random_boxes(draw, patches, width, height), as_floats)


def counts() -> dict[str, tuple[int, ...]]:
    """For each edit type: scenes, and how often two readings differ, in the order of the page's columns."""
    draw = np.random.default_rng(0)
    table = {kind: [0] * 6 for kind in TYPES}
    for number in range(SCENES):
        kind = TYPES[number % len(TYPES)]
        width, height = (int(side) for side in draw.integers(200, 700, 2))
        edit, raw = random_edit(draw, kind)
        source, edited = random_seen(draw, width, height), random_seen(draw, width, height)
        item = item_of(edit, *(np.full((height, width, 3), shade, np.uint8) for shade in (10, 20)))
        see = Sees(item, source, edited, ("a photo of a ", "a photo of "))
        first, second = (as_the_script(script, kind, raw, source, edited) for script in ("auto_eval", "evaluate_edits"))
        ours = values("editval", item, see)["edit"]
        differences = (
            values("editval@auto_eval", item, see)["edit"] != first,
            values("editval@evaluate_edits", item, see)["edit"] != second,
            first != second,
            ours != first,
            ours != second,
        )
        table[kind] = [total + number for total, number in zip(table[kind], (1, *differences), strict=True)]
    table["all"] = [sum(column) for column in zip(*table.values(), strict=True)]
    return {kind.replace("_", " "): tuple(row) for kind, row in table.items()}


def test_the_page_states_what_random_scenes_give() -> None:
    assert counts() == table_on_page("editval.md")


def test_the_released_readings_never_differ_from_their_scripts() -> None:
    assert counts()["all"][1:3] == (0, 0)
