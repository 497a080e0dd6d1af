"""The section on judges: outcomes on which they differ most, with what each of them answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from editgauge.audits.side_by_side import side_by_side
from editgauge.reports.report import report
from editgauge.results import JournalEntry
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

MADE = {
    "a": {"hat": 9.0, "dog": 5.0, "sky": 4.0},
    "b": {"hat": 1.0, "dog": 5.0, "sky": 6.0},
    "median2(a+b)": {"hat": 5.0, "dog": 5.0, "sky": 5.0},
}
ENTRY = ProtocolEntry(
    about="", paper="", version="1", deviations=(), scores=(ScoreSpec("success", True, (0.0, 10.0), "", "done"),)
)
JUDGES = {name: {"model": name} for name in ("a", "b")}


def judged(make_record: Callable[..., JournalEntry], answers: dict[str, dict[str, float]]) -> list[JournalEntry]:
    return [
        make_record(
            edit,
            {"success": value},
            protocol=f"rubric:viescore[{judge}]",
            source=f"{edit}.png",
            place=index,
            evidence=({"note": f"{judge} gives success {value:g}: it is {edit}."}, {"note": "something else"}),
        )
        for judge, values in answers.items()
        for index, (edit, value) in enumerate(values.items())
    ]


def page_of(make_run: Callable[..., Path], records: list[JournalEntry], tmp_path: Path) -> str:
    protocols = {record.protocol: ENTRY for record in records}
    run = make_run(*records, protocols=protocols, judges=JUDGES, fields={"hat": {"instruction": "Add a hat."}})
    report(run, out=tmp_path / "report", quiet=True)
    return (tmp_path / "report" / "index.html").read_text("utf-8")


def test_the_outcomes_on_which_judges_differ_most_come_first_with_every_answer(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    page = page_of(make_run, judged(make_record, MADE), tmp_path)
    section = page[page.index('id="judges"') :].partition("</section>")[0]

    assert section.index("Add a hat.") < section.index(">sky<")
    assert "8 apart" in section
    assert ">dog<" not in section  # all agree on it
    assert "3 outcomes with at least two answers, 1 with equal ones" in section
    first = section[section.index("Add a hat.") : section.index(">sky<")]
    assert first.index("<b>9</b>") < first.index("<b>1</b>") < first.index("<b>5</b>")
    assert "a gives success 9: it is hat." in first
    assert "something else" not in first


def test_one_judge_has_nobody_to_differ_from(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    assert 'id="judges"' not in page_of(make_run, judged(make_record, {"a": MADE["a"]}), tmp_path)


def test_intervals_of_judges_stay_on_the_scale(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    low = {"a": {"hat": 0.0, "dog": 0.0, "sky": 9.0}, "b": {"hat": 10.0, "dog": 1.0, "sky": 10.0}}
    records = judged(make_record, low)
    run = make_run(*records, protocols={record.protocol: ENTRY for record in records}, judges=JUDGES)
    (score,) = side_by_side(run).scores
    ends = [(row.mean.low, row.mean.high) for row in score.rows if row.mean]

    assert len(ends) == 2
    assert all(low is not None and high is not None and 0 <= low <= high <= 10 for low, high in ends)
