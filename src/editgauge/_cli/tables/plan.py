"""The table of `editgauge plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import new_table, show

if TYPE_CHECKING:
    from editgauge.engine.forecast.forecast import Forecast

MINUTE, HOUR, DAY = 60, 3600, 86_400
IS_FREE = 0.9
"""A machine that gives us this much of its cores does nothing else that matters."""


def show_forecast(forecast: Forecast) -> None:
    """What each model must do, then everything together."""
    if not forecast.outcomes:
        show(Text(f"Nothing is left to do: all {forecast.done:,} outcomes on {forecast.benchmark} are scored."))
        return
    if forecast.models:
        title = f"what models will be asked, for {forecast.outcomes:,} outcomes on {forecast.benchmark}"
        columns = ["forwards", "ms each at best", "time at best"]
        table = new_table(title, ["model", "question"], columns, wrap_text=False, wrap_numbers=False)
        for work in forecast.models:
            each = f"{1000 * work.seconds_each:,.1f}"
            table.add_row(work.model, work.question, f"{work.forwards:,}", each, duration(work.seconds))
        show(table)
    done = f", {forecast.done:,} are scored already" if forecast.done else ""
    rows = {
        "outcomes": f"{forecast.outcomes:,} of {forecast.source_images:,} source images{done}",
        "answers remembered": f"{forecast.recalled:,}",
        "decoding and metrics": f"{duration(forecast.own_seconds)} of one core",
        "all work": f"{duration(forecast.cpu_seconds)} of one core",
        "time": _time(forecast),
        "memory": size(forecast.memory),
        "disk": f"{size(forecast.run_bytes)} run, {size(forecast.cache_bytes)} answers of models",
    }
    for name, asking in forecast.judges.items():
        rows[f"judge {name}"] = ", ".join(_asking(what, value) for what, value in asking.items())
    table = new_table()
    table.add_column("what", no_wrap=True)
    table.add_column("how much")
    for what, how_much in rows.items():
        table.add_row(what, how_much)
    show(table)
    unknown = [name for name, asking in forecast.judges.items() if "seconds" not in asking]
    judges = f"; the time of {', '.join(unknown)} is not in it: give --call-seconds" if unknown else ""
    scored = f"{forecast.sampled} outcome{'s' if forecast.sampled > 1 else ''} scored now"
    show(Text(f"Estimated from {scored}{judges}. A larger sample is more precise: --sources N.", style="dim"))


def _time(forecast: Forecast) -> str:
    """As busy as the machine is now, and what it would be alone where that makes a difference."""
    processes = f"{forecast.processes} process{'es' if forecast.processes > 1 else ''}"
    parts = [f"{duration(forecast.seconds)} with {processes}, {duration(forecast.start_seconds)} of it to start"]
    if forecast.free_cores < IS_FREE * forecast.cores:
        parts.append(f"as busy as the machine is now ({forecast.free_cores:.1f} of {forecast.cores} cores are free)")
        parts.append(f"{duration(forecast.seconds_alone)} if it had nothing else to do")
    return "; ".join(parts)


def _asking(what: str, value: object) -> str:
    return f"time {duration(value)}" if what == "seconds" and isinstance(value, float) else f"{what} {value}"


def duration(seconds: float) -> str:
    """Seconds in words that one can plan with.

    >>> duration(5), duration(200), duration(10_000), duration(500_000)
    ('5.0 s', '3.3 min', '2.8 h', '5.8 days')
    """
    for unit, word in ((DAY, "days"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= unit:
            return f"{seconds / unit:,.1f} {word}"
    return f"{seconds:.1f} s"


def size(count: int) -> str:
    """Bytes in words.

    >>> size(900), size(2_500_000), size(3_200_000_000)
    ('900 bytes', '2.5 MB', '3.2 GB')
    """
    for unit, word in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:,.1f} {word}"
    return f"{count} bytes"
