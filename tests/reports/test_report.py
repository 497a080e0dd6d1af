from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from markupsafe import Markup

from editgauge._util.images import Pixels, pixel_hash, write_png
from editgauge._util.text import printable
from editgauge.analysis.summary import FEW_SOURCES, MEAN_COLUMNS, mean_row, summarize
from editgauge.errors import BadInputError, BadRunError
from editgauge.evidence import Box, Note, Region, to_json
from editgauge.reports import BUILT_IN, report_sections
from editgauge.reports.context import Context
from editgauge.reports.report import MARKER, report
from editgauge.results import ImageStamp, JournalEntry, Run

if TYPE_CHECKING:
    from tests.reports.conftest import Page


NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'&amp; \u202e"
NASTY_METHOD = "<b onmouseover='alert(3)'>\"me"


def test_the_numbers_are_those_of_the_summary(scored: tuple[Path, Path], page: Page) -> None:
    tables = page.section("summary").all("details", "score")
    rendered = {
        table.all("summary")[0].full_text(): [
            [float(item.attributes["value"] or "") for item in cell.all("data")]
            for row in table.all("tbody")[0].all("tr")
            for cell in row.all("td")
        ]
        for table in tables
    }
    run = Run.open(scored[0])
    cells = {(cell.spec.name, cell.edit_type, cell.method): cell.mean for cell in summarize(run)}
    kinds = ["all", *dict.fromkeys(cell.edit_type for cell in summarize(run) if cell.edit_type != "all")]
    assert len(rendered) == 12
    for name, numbers in rendered.items():
        score = name.removeprefix("preservation: ")
        means = [cells[score, kind, method] for kind in kinds for method in run.manifest.methods]
        expected = [[v for v in (m.value, m.low, m.high) if v is not None] if m else [] for m in means]
        assert numbers == expected, score


def test_the_overview_has_a_row_for_every_method_and_marks_with_numbers(scored: tuple[Path, Path], page: Page) -> None:
    rows = page.section("overview").all("tbody")[0].all("tr")
    cells = {(c.method, c.spec.name): c.mean for c in summarize(Run.open(scored[0])) if c.edit_type == "all"}
    assert [row.all("bdi")[0].full_text() for row in rows] == ["soft", NASTY_METHOD]
    for row, method in zip(rows, ("soft", NASTY_METHOD), strict=True):
        [cell] = row.all("td")
        mean = cells[method, "ssim_outside"]
        assert mean
        assert float(cell.all("data", "mean")[0].attributes["value"] or "") == mean.value
        assert len(row.all("svg", "mark")) == 1
    assert "rest kept preservation/ssim_outside ↑ higher is better" in page.section("overview").full_text()


def test_outcomes_are_counted(page: Page) -> None:
    [basis] = page.section("overview").all("p", "basis")
    assert basis.full_text() == "12 outcomes: 10 fully scored, 0 partly scored, 2 unscored."
    assert not page.root.all("p", "warning")[:-1], "only the note for readers without JavaScript"


def test_what_is_unscored_is_shown_with_its_reasons(page: Page) -> None:
    first_cells = page.section("summary").all("tbody")[0].all("tr")[0].all("td")
    assert first_cells[1].all("span", "missing")[0].full_text() == (
        "5 unscored (not applicable: 3, missing outcome: 1, unreadable image: 1)"
    )
    text = page.section("unscored").full_text()
    for words in ("missing_outcome", "The method gave no image for this edit.", "unreadable_image", "not_applicable"):
        assert words in text
    links = [item.attributes["href"] for item in page.section("unscored").all("a")]
    assert "#edit-edit-001" in links


def test_few_source_images_are_marked(page: Page) -> None:
    assert page.section("summary").all("sup", "few")
    assert f"fewer than {FEW_SOURCES} source images" in page.section("summary").full_text()


def test_only_the_first_table_is_open_without_javascript(page: Page) -> None:
    tables = page.section("summary").all("details", "score")
    assert ["open" in table.attributes for table in tables] == [True, *[False] * 11]
    choices = [item.attributes["value"] for item in page.root.all("nav", "bar")[0].all("option")]
    assert sorted(choices, key=str) == sorted((table.attributes["data-score"] for table in tables), key=str)
    for name in ("heat_map", "methods", "edit_types"):
        rendered = [item for item in page.section(name).all("div", "of-score") if "hidden" not in item.attributes]
        assert {item.attributes["data-score"] for item in rendered} == {tables[0].attributes["data-score"]}


def test_the_gallery_shows_every_edit_with_every_outcome(page: Page, report_folder: Path) -> None:
    gallery = page.gallery
    assert [edit["id"] for edit in gallery["edits"]] == [f"edit-00{number}" for number in range(6)]
    assert all([item["method"] for item in edit["outcomes"]] == ["soft", NASTY_METHOD] for edit in gallery["edits"])
    used = [
        number
        for edit in gallery["edits"]
        for item in edit["outcomes"]
        for number in (edit["source"], item["edited"], item.get("difference", edit["source"]))
    ]
    assert set(used) == set(range(len(gallery["pictures"])))
    named = {picture[size] for picture in gallery["pictures"] for size in ("small", "large") if size in picture}
    assert named == {path.name for path in (report_folder / "pictures").glob("*.jpg")}
    names = [score["name"] for score in gallery["scores"]]
    assert 10 < gallery["edits"][0]["outcomes"][0]["values"][names.index("psnr")] < 100


def test_a_picture_that_is_missing_or_unreadable_has_a_placeholder(page: Page) -> None:
    gallery = page.gallery
    missing = gallery["edits"][1]["outcomes"][1]
    damaged = gallery["edits"][3]["outcomes"][1]
    assert gallery["pictures"][missing["edited"]] == {"problem": "The method gave no image."}
    assert "is not an image" in gallery["pictures"][damaged["edited"]]["problem"]
    assert "difference" not in missing
    reasons = gallery["unscored"]
    assert {reasons[index][0] for (index,) in missing["values"]} == {"missing_outcome"}
    assert {reasons[index][0] for (index,) in damaged["values"]} == {"unreadable_image"}
    assert missing["status"] == damaged["status"] == "unscored"


def test_no_path_of_this_machine_is_told(scored: tuple[Path, Path], tmp_path: Path) -> None:
    run, second = scored
    (second / "edit-002.png").rename(second / "away.png")
    try:
        output = report(run, out=tmp_path / "report", quiet=True).read_text("utf-8")
    finally:
        (second / "away.png").rename(second / "edit-002.png")
    assert str(run.parent) not in output
    assert str(tmp_path) not in output
    assert "…/outcomes-4/edit-003.png" in output
    assert "…/outcomes-4/edit-002.png" in output


def test_an_edit_type_without_a_score_is_a_line_and_no_empty_column_or_panel(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> None:
    run = make_run(
        make_record("a", {"gain": 0.5, "loss": 0.5}, edit_type="color"),
        make_record("b", {"gain": "no_rule", "loss": 0.5}, edit_type="style"),
    )
    page = as_page(report(run, out=tmp_path / "report", quiet=True))
    gain, loss = page.section("heat_map").all("div", "of-score")
    assert [item.full_text() for item in gain.all("thead")[0].all("th")] == ["Method", "all edits", "color"]
    assert gain.all("p", "folded")[0].full_text() == "no score for: style"
    assert [item.full_text() for item in loss.all("thead")[0].all("th")] == ["Method", "all edits", "color", "style"]
    assert not loss.all("p", "folded")
    panels = {item.attributes["id"]: item for item in page.section("edit_types").all("article", "panel")}
    assert [name for name, panel in panels.items() if "hidden" in panel.attributes] == ["type-style"]
    drawn = [item.attributes["data-score"] for item in panels["type-style"].all("div", "of-score")]
    assert drawn == ["toy/loss"]
    (folded,) = page.section("edit_types").all("p", "folded")
    assert folded.full_text() == "no score for: style"


def test_a_picture_that_changed_or_went_since_is_told(
    scored: tuple[Path, Path], tmp_path: Path, photo: Pixels, as_page: Callable[[Path], Page]
) -> None:
    run, second = scored
    (second / "edit-002.png").rename(second / "away.png")
    before = (second / "edit-000.png").read_bytes()
    write_png(photo, second / "edit-000.png")
    try:
        gallery = as_page(report(run, out=tmp_path / "report", quiet=True)).gallery
    finally:
        (second / "edit-000.png").write_bytes(before)
        (second / "away.png").rename(second / "edit-002.png")
    rendered = [[gallery["pictures"][item["edited"]] for item in edit["outcomes"]] for edit in gallery["edits"]]
    assert rendered[0][1]["changed"] is True
    assert "changed" not in rendered[0][0]
    assert "There is no image" in rendered[2][1]["problem"]


def test_texts_of_the_run_are_inert(page: Page) -> None:
    assert page.gallery["edits"][1]["instruction"] == printable(NASTY)
    assert len(page.root.all("script")) == 3
    assert page.root.all("i") == []
    for element in page.root.everything():
        assert not [name for name in element.attributes if name.startswith("on") or name == "style"]
    scripts = list((resources.files("editgauge.reports") / "templates" / "script").iterdir())
    assert len(scripts) == 16
    for script in scripts:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script.read_text("utf-8")
        )


def test_no_request_can_leave_the_page(page: Page, report_folder: Path) -> None:
    texts = [path for path in report_folder.rglob("*") if path.suffix in {".html", ".json"}]
    assert len(texts) == 3
    for path in texts:
        content = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r".{20}(?:https?:)?//.{20}", content) == []
    (policy,) = [item.attributes["content"] or "" for item in page.root.all("meta") if "http-equiv" in item.attributes]
    assert policy.startswith("default-src 'none'; ")
    for item in (page.root.all("style")[0], page.root.all("script")[0], page.root.all("script")[-1]):
        pinned = base64.b64encode(hashlib.sha256(item.text.encode()).digest()).decode()
        assert f"'sha256-{pinned}'" in policy
    assert "unsafe" not in policy


def test_evidence_goes_to_the_picture_it_is_about(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    photo: Pixels,
    as_page: Callable[[Path], Page],
) -> None:
    write_png(photo, tmp_path / "cat.png")
    stamp = ImageStamp.of(tmp_path / "cat.png", pixel_hash(photo))
    mask = photo[..., 0] < 0
    mask[10:50, 20:60] = True
    pieces = (
        Region("source", mask, "may change"),
        Box("edited", 1, 2, 31, 42, "cat", 0.876),
        Note("A <b>sentence</b>."),
    )
    evidence = tuple(to_json(piece) for piece in pieces)
    record = make_record(source_image=stamp, edited_image=stamp, evidence=evidence)
    gallery = as_page(report(make_run(record), out=tmp_path / "report", quiet=True)).gallery
    (edit,) = gallery["edits"]
    assert gallery["pictures"][edit["source"]]["frame"] == [128, 128]
    assert gallery["protocols"] == ["toy"]
    outline = {"on": "source", "outline": "M20 10L20 49L59 49L59 10Z", "label": "may change", "by": [0]}
    assert edit["marks"] == [outline]
    assert edit["outcomes"][0]["marks"] == [{"on": "edited", "box": [1, 2, 30, 40], "label": "cat 0.88", "by": [0]}]
    assert edit["outcomes"][0]["notes"] == [{"note": "A <b>sentence</b>.", "by": [0]}]


def test_an_unfinished_run_says_so(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> None:
    run = make_run(make_record(), finish=False, planned={"mine": {"toy": 4}}, edits=4)
    page = as_page(report(run, out=tmp_path / "report", quiet=True))
    assert (
        "This run is not finished. 25% of the planned scores are done (1 of 4)"
        in page.root.all("header")[0].full_text()
    )


def test_a_run_without_any_score_makes_a_page(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> None:
    run = make_run(make_record(scores={"gain": "refused", "loss": "refused"}))
    page = as_page(report(run, out=tmp_path / "report", quiet=True))
    assert "No outcome has a score." in page.section("overview").full_text()
    assert "no score 1 unscored: refused" in page.section("summary").full_text()
    empty = as_page(report(make_run(name="empty", finish=False), out=tmp_path / "empty-report", quiet=True))
    assert "Every outcome has every score" in empty.section("unscored").full_text()


def test_a_report_can_be_refreshed(scored: tuple[Path, Path], tmp_path: Path) -> None:
    first = report(scored[0], out=tmp_path / "report", quiet=True)
    before = first.read_bytes()
    stray = tmp_path / "report" / "pictures" / "00.jpg"
    stray.write_bytes(b"old")
    assert report(str(scored[0]), out=str(tmp_path / "report"), quiet=True) == first
    assert first.read_bytes() == before
    assert not stray.exists()
    assert (tmp_path / "report" / MARKER).is_file()


def test_other_peoples_folders_are_left_alone(scored: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "index.html").write_text("precious")
    with pytest.raises(BadInputError, match="not empty and not a report"):
        report(scored[0], out=tmp_path / "thesis", quiet=True)
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["index.html"]
    with pytest.raises(BadInputError, match="is a file"):
        report(scored[0], out=tmp_path / "thesis" / "index.html", quiet=True)
    with pytest.raises(BadInputError, match="not empty and not a report"):
        report(scored[0], out=scored[0], quiet=True)


def test_a_folder_that_is_no_run_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(BadRunError, match="not a run folder"):
        report(tmp_path, out=tmp_path / "report", quiet=True)
    assert not (tmp_path / "report").exists()


BY_NEED = {
    "agreement", "captions", "checklist", "groups", "judges", "profile", "sets",
    "side_by_side", "sweep", "trials", "turns", "variants", "verdicts",
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
    return [item.attributes["id"] for item in page.root.all("section")]


def test_the_built_in_sections_come_in_their_order_and_every_tab_has_a_link(made: Callable[[], Page]) -> None:
    page = made()
    assert sections(page) == SHOWN
    links = [item.attributes["href"] for item in page.root.all("nav")[0].all("a")]
    assert links == ["#overview", "#gallery", "#heat_map", "#methods", "#summary", "#unscored", "#measured"]


def test_a_section_of_a_third_party_is_shown_in_its_place(
    install: Callable[..., None], made: Callable[[], Page]
) -> None:
    install("cost", "silent")
    page = made()
    assert sections(page)[:4] == ["overview", "gallery", "cost", "heat_map"]
    assert "silent" not in sections(page)
    assert page.section("cost").full_text() == "What it cost 1 by <mine>"
    assert "What it cost" in page.root.all("nav")[0].full_text()


def test_a_section_that_forgets_to_mark_its_text_is_escaped(
    install: Callable[..., None], made: Callable[[], Page]
) -> None:
    install("careless")
    page = made()
    assert sections(page)[0] == "careless"
    assert page.section("careless").all("b") == []


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("clumsy", "RuntimeError: <i>oh</i>"),
        ("not_there", "could not be imported"),
        ("thief", "there is a section 'overview' already"),
    ],
)
def test_a_section_that_fails_says_so_and_spoils_nothing(
    name: str, output: str, install: Callable[..., None], made: Callable[[], Page]
) -> None:
    install(name)
    page = made()
    assert sections(page) == [*SHOWN, f"failed-{name}"]
    failed = page.section(f"failed-{name}").full_text()
    assert "from costs, could not be made" in failed
    assert output in failed


def test_every_built_in_section_is_what_it_is_called(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    context = Context(Run.open(make_run(make_record())))
    for name in BUILT_IN:
        section = report_sections.get(name)
        assert section.name == name
        assert isinstance(section.render(context), Markup) == (name in SHOWN)


@pytest.fixture
def run(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Path:
    return make_run(
        make_record("a", {"gain": 0.5, "loss": "refused"}), make_record("b", {"gain": 0.7, "loss": "refused"})
    )


def test_a_row_for_every_mean(run: Path) -> None:
    output = [dict(zip(MEAN_COLUMNS, mean_row(cell), strict=True)) for cell in Context(Run.open(run)).cells]

    gain = next(row for row in output if (row["score"], row["edit_type"]) == ("gain", "all"))
    loss = next(row for row in output if (row["score"], row["edit_type"]) == ("loss", "all"))
    assert (gain["mean"], gain["n"], gain["unscored"]) == (0.6, 2, 0)
    assert (loss["mean"], loss["n"], loss["unscored"]) == (None, 0, 2)


def test_without_the_library_the_line_to_paste_is_told(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(BadInputError, match=r"pip install 'editgauge\[wandb\]'"):
        report(run, out=tmp_path / "report", quiet=True, wandb="project")
    assert (tmp_path / "report" / "index.html").is_file()


def test_offline_logging(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = pytest.importorskip("wandb", reason="NOT TESTED: needs pip install 'editgauge[wandb]'")
    library.teardown()  # what an earlier test set up does not read the environment again
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    report(run, out=tmp_path / "report", quiet=True, wandb="project")
    assert list((tmp_path / "wandb").glob("offline-run-*/*.wandb"))
