"""Tables of `see`, `understand` and `disentangle`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import new_table, show
from editgauge.disentanglement._page import table_rows
from editgauge.types import Reading, Step

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.disentanglement._scores import Disentanglement, EditScoreComparison
    from editgauge.engine.see import Area, SeenFace, SeenPicture


def show_sight(sight: SeenPicture) -> None:
    """What was seen, most confident first; then what was not, what cannot be determined, and by which models."""
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
    for pose in sight.poses or ():
        show(Text(f"person: {pose.confidence:.2f} at {_corners(pose.box)}, {len(pose.joints)} joints seen"))
    for name, things in (("text", sight.text), ("faces", sight.faces), ("people", sight.poses)):
        if things == ():
            show(Text(f"no {name}"))
    for phrase in sight.not_seen:
        show(Text(f"not seen: {phrase}"))
    for phrase, why in sight.cannot_tell.items():
        show(Text(f"cannot tell: {phrase}: {why}"))
    for role, card in sight.models.items():
        show(Text(f"{role}: {card['name']} ({card['license']})", style="dim"))
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


def reading_text(reading: Reading) -> str:
    """The steps, one a line, and what was not understood."""
    lines = [f"{number}. {_step(step)}" for number, step in enumerate(reading.steps, start=1)]
    if reading.left:
        lines.append(f"Not understood: {reading.left}")
    return "\n".join([*lines, f"Read by: {reading.how}"])


def step_lines(reading: Reading) -> str:
    """The steps in one line."""
    left = f"; not understood: {reading.left}" if reading.left else ""
    return "; then ".join(_step(step) for step in reading.steps) + left


def _step(step: Step) -> str:
    place = step.position
    where = f"{place.relation} {place.anchor or 'side of the picture'}" if place else None
    parts = {
        "subject": step.subject,
        "from": step.from_,
        "to": step.to,
        "position": where,
        "count": step.count,
        "attributes": ", ".join(step.attributes) or None,
    }
    named = "; ".join(f"{name}: {value}" for name, value in parts.items() if value is not None)
    return f"{step.type}{' (' + named + ')' if named else ''}{'' if step.sure else ', not sure'}"


def show_disentanglement(models: Sequence[Disentanglement], beside: Sequence[EditScoreComparison]) -> None:
    """A row per score, a column per model; rows in gray are computed as released."""
    table = new_table("disentanglement: value and 95% interval, drawn by attribute")
    table.add_column("score", no_wrap=True)
    for model in models:
        table.add_column(model.model, justify="right", no_wrap=True)
    for group in table_rows(models):
        arrow = "↑" if group.higher_is_better else "↓"
        table.add_row(Text(f"{group.title} {arrow}", style="bold"), *("" for _ in models))
        for row in group.rows:
            style = "dim" if row.is_released else ""
            table.add_row(
                Text(f"  {row.name}", style=style), *(Text(_with_interval(its), style=style) for its in row.estimates)
            )
    show(table)
    ours = models[0].classified[0]
    show(Text(f"Unrelated latents: error 2, agreement 0, balanced accuracy {1 / len(ours.kinds):.2f}.", style="dim"))
    for each in beside:
        correlation = "too few to correlate" if each.pearson is None else f"Pearson's r {each.pearson:+.3f}"
        show(Text(f"{each.score} and {each.protocol} on {each.benchmark}: {correlation}, n {len(each.models)}"))


def _with_interval(its: Estimate) -> str:
    if its.value is None:
        return "cannot tell"
    interval = "" if its.low is None or its.high is None else f"  {its.low:.3f} … {its.high:.3f}"
    return f"{its.value:.3f}{interval}"
