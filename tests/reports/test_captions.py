"""The section on difference captions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from editgauge.core.run import Record
from editgauge.core.run.manifest import ProtocolEntry
from editgauge.core.types import ScoreSpec
from editgauge.reports.page import report

NAME = "difference-captions[gpt]"
SCORES = tuple(ScoreSpec(name, True, (0.0, 100.0)) for name in ("mp", "hr", "objects"))
ENTRY = ProtocolEntry(about="", paper="", version="1", deviations=(), scores=SCORES)


def test_captions_are_drawn_by_the_number_of_objects(
    make_run: Callable[..., Path], make_record: Callable[..., Record], tmp_path: Path
) -> None:
    records = [
        make_record(f"e{n}", {"mp": n / 20, "hr": 0.5, "objects": float(n)}, protocol=NAME, source=f"{n}.png", place=n)
        for n in range(20)
    ]
    report(make_run(*records, protocols={NAME: ENTRY}), out=tmp_path / "report", quiet=True)
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    section = page[page.index('id="captions"') :]
    assert f"Difference captions of {NAME} for mine" in section


def test_other_runs_have_no_such_section(
    make_run: Callable[..., Path], make_record: Callable[..., Record], tmp_path: Path
) -> None:
    report(make_run(make_record()), out=tmp_path / "report", quiet=True)
    assert 'id="captions"' not in (tmp_path / "report" / "index.html").read_text("utf-8")
