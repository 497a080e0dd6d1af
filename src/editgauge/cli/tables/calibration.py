"""The table of `build calibration` for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.cli.tables.common import new_table, show

if TYPE_CHECKING:
    from editgauge.building.calibration.build import BuiltCalibration, Calibrated
    from editgauge.stats.intervals import Mean

SHOWN_AT = (0.25, 0.5, 0.75)


def show_calibration(built: BuiltCalibration) -> None:
    """How far off every score was and is, what the curves make of some numbers, and how to use them."""
    for each in built.scores:
        show(Text(_told(each)))
        table = new_table()
        for column in ("on source images left out", "before", "after", "change"):
            table.add_column(column, justify="left" if column.startswith("on") else "right", no_wrap=True)
        before, after = each.left_out.before, each.left_out.after
        table.add_row("expected error", f"{before.expected_error:.3f}", f"{after.expected_error:.3f}", "")
        for name, one, other, change in (
            ("Brier score", before.brier, after.brier, each.left_out.brier_change),
            ("log loss", before.log_loss, after.log_loss, each.left_out.log_loss_change),
        ):
            table.add_row(name, _interval(one), _interval(other), _interval(change, "+"))
        show(table)
        show(Text(_made(each)))
    show(Text(f"{built.file} and {built.plot} are written. Use it with --protocol '{built.protocol}'."))


def _told(each: Calibrated) -> str:
    raters = f" of {each.raters} raters" if each.raters else ""
    asked = f" to '{each.question}'" if each.question else ""
    form = "a line in log-odds" if each.curve.low == each.curve.high else "a bent curve"
    left = f"; {each.unscored} rated outcomes have no score" if each.unscored else ""
    many = f"{each.answers} answers{raters}{asked} on {each.outcomes} outcomes of {each.sources} source images"
    return f"editgauge/{each.score}: {form} from {many}{left}."


def _made(each: Calibrated) -> str:
    """What becomes of some numbers; the curve's points hold them all."""
    parts = []
    for point in each.curve.points:
        if point.value in SHOWN_AT:
            ends = "" if point.low is None else f" ({point.low:.2f} … {point.high:.2f})"
            parts.append(f"{point.value:g} becomes {point.calibrated:.2f}{ends}")
    return f"{'; '.join(parts)}."


def _interval(mean: Mean, sign: str = "") -> str:
    if mean.low is None or mean.high is None:
        return f"{mean.value:{sign}.3f}"
    return f"{mean.value:{sign}.3f} ({mean.low:{sign}.3f} … {mean.high:{sign}.3f})"
