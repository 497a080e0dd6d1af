"""The report of a builder: what it made, what it left out, and why, in plain lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from editgauge.building.unibench.selection import OmittedTask
from editgauge.core.files import write_text


def report_beside(out: Path) -> Path:
    """Where the report of what is built lies."""
    return out.with_name(f"{out.stem}.report.txt")


def write_report(file: Path, made: str, left_out: Sequence[OmittedTask]) -> None:
    """Writes what was made, then every reason with its count, then everything that was left out."""
    reasons = Counter(each.why for each in left_out)
    lines = [made, "", f"Left out: {len(left_out)}." if left_out else "Nothing was left out."]
    lines += [f"  {count:>5}  {why}" for why, count in reasons.most_common()]
    lines += ["", *(f"{each.what}: {each.why}" for each in left_out)] if left_out else []
    write_text(file, "\n".join(lines) + "\n")
