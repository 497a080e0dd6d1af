"""The table of `editgauge see`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.cli.tables.common import new_table, show

if TYPE_CHECKING:
    from editgauge.look.see import Area, SeenFace, Sight


def show_sight(sight: Sight) -> None:
    """What was seen, surest first; then what was not, what cannot be told, and by which models."""
    if sight.seen:
        table = new_table()
        for column in ("phrase", "seen as", "confidence", "box (left top right bottom)", "covers", "class"):
            table.add_column(column, justify="right" if column in {"confidence", "covers"} else "left", no_wrap=True)
        for one in sight.seen:
            covers = "" if one.share is None else f"{one.share:.1%}"
            box = _corners(one.box)
            table.add_row(one.phrase, one.word, f"{one.confidence:.2f}", box, covers, _classes(one.classes, 1))
        show(table)
    if sight.classes:
        show(Text(f"the whole picture: {_classes(sight.classes, 3)}"))
    for phrase, probability in sight.named.items():
        show(Text(f"by the classifier: {phrase} {probability:.2f}"))
    for line in sight.text or ():
        show(Text(f"text: “{line.text}” {line.confidence:.2f} at {_corners(line.box)}"))
    for face in sight.faces or ():
        show(Text(f"face: {face.confidence:.2f} at {_corners(face.box)}{_expression(face)}"))
    for name, things in (("text", sight.text), ("faces", sight.faces)):
        if things == ():
            show(Text(f"no {name}"))
    for phrase in sight.not_seen:
        show(Text(f"not seen: {phrase}"))
    for phrase, why in sight.cannot_tell.items():
        show(Text(f"cannot tell: {phrase}: {why}"))
    for role, card in sight.models.items():
        show(Text(f"{role}: {card['name']} ({card['licence']})", style="dim"))
    for remark in sight.remarks:
        show(Text(remark, style="dim"))


def _classes(classes: dict[str, float], count: int) -> str:
    return ", ".join(f"{name} {share:.2f}" for name, share in list(classes.items())[:count])


def _corners(box: Area) -> str:
    return " ".join(f"{side:.0f}" for side in box)


def _expression(face: SeenFace) -> str:
    shares = {"smile": face.smile, "open mouth": face.open_mouth, "closed eyes": face.closed_eyes}
    words = [f"{name} {share:.2f}" for name, share in shares.items() if share is not None]
    turned = [] if face.turned is None else [f"turned {face.turned:.0f}°"]
    return "".join(f", {each}" for each in (*words, *turned))
