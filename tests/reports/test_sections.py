"""Anybody may add a section, by entry point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from markupsafe import Markup

from editgauge.reports import BUILT_IN, report_sections
from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.results import JournalEntry, Run

if TYPE_CHECKING:
    from tests.reports.conftest import Page

BY_NEED = {
    "agreement", "captions", "groups", "judges", "profile", "sets",
    "side_by_side", "sweep", "trials", "turns", "variants",
}  # fmt: skip
SHOWN = [name for name in BUILT_IN if name not in BY_NEED]
"""All but those that need something more: several options, several turns, scores of sets, what people said."""
MODULE = """
from markupsafe import Markup

class Cost:
    name, title, order = "cost", "What it cost", 15

    def render(self, context):
        return Markup("<p>{} by {}</p>").format(len(context.outcomes), context.methods[0])

class Silent(Cost):
    name = "silent"

    def render(self, context):
        return None

class Careless(Cost):
    name, order = "careless", 5

    def render(self, context):
        return "<b>not marked as safe</b>"

class Clumsy(Cost):
    name = "clumsy"

    def render(self, context):
        raise RuntimeError("<i>oh</i>")

class Thief(Cost):
    name = "overview"

cost, silent, careless, clumsy, thief = Cost(), Silent(), Careless(), Clumsy(), Thief()
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A package that brings sections by these names, as pip would leave it."""

    def put(*names: str) -> None:
        site = tmp_path / "site"
        about = site / "costs-1.0.dist-info"
        about.mkdir(parents=True)
        (site / "costs_for_tests.py").write_text(MODULE)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: costs\nVersion: 1.0\n")
        points = "".join(f"{name} = costs_for_tests:{name}\n" for name in names)
        (about / "entry_points.txt").write_text(f"[editgauge.report_sections]\n{points}")
        monkeypatch.syspath_prepend(site)
        vars(report_sections).pop("_plugins", None)

    yield put
    vars(report_sections).pop("_plugins", None)


@pytest.fixture
def made(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> Callable[[], Page]:
    run = make_run(make_record(method="<mine>"))
    return lambda: as_page(report(run, out=tmp_path / "report", quiet=True))


def sections(page: Page) -> list[str | None]:
    return [each.attributes["id"] for each in page.root.all("section")]


def test_the_built_in_sections_come_in_their_order_and_every_tab_has_a_link(made: Callable[[], Page]) -> None:
    page = made()
    assert sections(page) == SHOWN
    links = [each.attributes["href"] for each in page.root.all("nav")[0].all("a")]
    assert links == ["#overview", "#gallery", "#heat_map", "#methods", "#summary", "#unscored", "#measured"]


def test_a_section_of_a_third_party_is_shown_in_its_place(
    install: Callable[..., None], made: Callable[[], Page]
) -> None:
    install("cost", "silent")
    page = made()
    assert sections(page)[:4] == ["overview", "gallery", "cost", "heat_map"]
    assert "silent" not in sections(page)
    assert page.section("cost").said() == "What it cost 1 by <mine>"
    assert "What it cost" in page.root.all("nav")[0].said()


def test_a_section_that_forgets_to_mark_its_text_is_escaped(
    install: Callable[..., None], made: Callable[[], Page]
) -> None:
    install("careless")
    page = made()
    assert sections(page)[0] == "careless"
    assert page.section("careless").all("b") == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("clumsy", "RuntimeError: <i>oh</i>"),
        ("not_there", "could not be imported"),
        ("thief", "there is a section 'overview' already"),
    ],
)
def test_a_section_that_fails_says_so_and_spoils_nothing(
    name: str, told: str, install: Callable[..., None], made: Callable[[], Page]
) -> None:
    install(name)
    page = made()
    assert sections(page) == [*SHOWN, f"failed-{name}"]
    failed = page.section(f"failed-{name}").said()
    assert "from costs, could not be made" in failed
    assert told in failed


def test_every_built_in_section_is_what_it_is_called(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    context = Context(Run.open(make_run(make_record())))
    for name in BUILT_IN:
        section = report_sections.get(name)
        assert section.name == name
        assert isinstance(section.render(context), Markup) == (name in SHOWN)
