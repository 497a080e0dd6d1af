"""The coverage ledger is well formed, claims nothing that is not there, and forgets nothing of the papers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from editgauge._public import GROUPS, VERBS
from tests.shared_data import shared_data

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "docs" / "coverage.md"
COLUMNS = ["id", "what", "where", "status"]
CLAIM = re.compile(r"`([^`]+)`")
PLAIN_STATUSES = {"ours", "recomputed", "published", "open"}
ITEM = re.compile(
    r"(?:table|fig|alg|eq|listing)[1-9]\d*"
    r"|app(?:[A-Z]|[1-9]\d*)(?:\.[1-9]\d*)?"
    r"|sec[1-9]\d*(?:\.[1-9]\d*)*"
    r"|prompt\.[a-z0-9]+(?:-[a-z0-9]+)*"
)


@dataclass(frozen=True)
class Row:
    """One line of the ledger."""

    id: str
    what: str
    where: str
    status: str

    @property
    def item(self) -> str:
        """The id without the name of the paper."""
        return self.id.partition(".")[2]


@dataclass(frozen=True)
class Inventory:
    """How much of each kind a paper has, counted by hand from its text."""

    tables: int
    figures: int
    algorithms: int
    equations: int
    appendices: str
    listings: int = 0
    prompts: str = ""

    def items(self) -> set[str]:
        """The ids that the ledger must have for this paper, without its name; `sec` rows are free."""
        numbered = {
            "table": self.tables,
            "fig": self.figures,
            "alg": self.algorithms,
            "eq": self.equations,
            "listing": self.listings,
        }
        return (
            {f"{kind}{number}" for kind, count in numbered.items() for number in range(1, count + 1)}
            | {f"app{name}" for name in self.appendices.split()}
            | {f"prompt.{name}" for name in self.prompts.split()}
        )


INVENTORY = {
    "EditVal": Inventory(
        tables=4,
        figures=20,
        algorithms=6,
        equations=1,
        listings=1,
        appendices="A B B.1 B.2 C C.1 D E F G H I J J.1 K L M N O",
        prompts="class-proposal operation-proposal class-validation human-questions detector-query instruction caption "
        "learned-token spatial-captions",
    ),
    "PixLens": Inventory(
        tables=6,
        figures=22,
        algorithms=8,
        equations=0,
        appendices="7 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8 9 10 11 12 12.1 12.2 12.3",
        prompts="edit-instruction detector-query disentanglement",
    ),
    "AugCLIP": Inventory(
        tables=14,
        figures=22,
        algorithms=1,  # the code listing of appendix B, which has no number
        equations=14,
        appendices="A A.1 A.2 A.3 A.4 B C C.1 C.2 C.3 C.4 C.5 D D.1 D.2 D.3 D.4 D.5 E E.1 E.2 E.3 E.4 E.5 E.6",
        prompts="source-caption source-attributes target-attributes in-context-examples pairwise-judge user-study "
        "attribute-importance",
    ),
    "UniBench": Inventory(
        tables=1,
        figures=4,
        algorithms=0,
        equations=0,
        appendices="",
        prompts="annotation correction caption-templates target-text position-phrase",
    ),
    "EditInspector": Inventory(
        tables=4,
        figures=23,
        algorithms=0,
        equations=0,
        appendices="A A.1 A.2 A.3 A.4 A.5 A.6 A.7 A.8 A.9 A.10 A.11 A.12 A.13 A.14 A.15",
        prompts="difference-caption-accuracy visual-consistency accuracy artifacts technical-precision all-differences "
        "main-difference feedback feedback-match difference-triplets object-match main-difference-match zoom-caption "
        "pipeline-caption negative-edit reverse-edit human-form",
    ),
}


def split_cells(line: str) -> list[str]:
    r"""The cells of a Markdown table line; `\|` is a pipe inside a cell."""
    cells = re.split(r"(?<!\\)\|", line.strip())
    return [cell.strip().replace(r"\|", "|") for cell in cells[1:-1]]


def read_tables(text: str) -> dict[str, list[list[str]]]:
    """The lines of table cells under each `##` heading."""
    tables: dict[str, list[list[str]]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:].strip()
            assert heading not in tables, f"two sections are called {heading}"
            tables[heading] = []
        elif line.lstrip().startswith("|"):
            assert heading, f"a table stands before the first section: {line}"
            tables[heading].append(split_cells(line))
    return tables


def read_rows() -> dict[str, list[Row]]:
    """The rows of every section, without head and rule."""
    tables = read_tables(LEDGER.read_text("utf-8"))
    return {paper: [Row(*cells) for cells in lines[2:]] for paper, lines in tables.items()}


KNOWN = {*GROUPS, *(name for verbs in VERBS.values() for name in verbs)}


def missing_claims(where: str, root: Path) -> list[str]:
    """What a `where` cell names that does not exist under `root`; a cell that names nothing is itself missing."""
    claims = re.findall(r"`([^`]+)`", where)
    return [claim for claim in claims if not claim_exists(claim, root)] if claims else [where]


def claim_exists(claim: str, root: Path) -> bool:
    """Whether a path of the repository, or the verb of `editgauge <verb>`, is there."""
    words = claim.split()
    if words[0] == "editgauge":
        return len(words) > 1 and words[1] in KNOWN
    path = (root / claim.partition("::")[0]).resolve()
    return path.is_relative_to(root.resolve()) and path.exists()


def test_the_ledger_has_one_section_per_paper() -> None:
    """Five papers, in one order."""
    assert list(read_tables(LEDGER.read_text("utf-8"))) == list(INVENTORY)


@pytest.mark.parametrize("paper", INVENTORY)
def test_every_section_has_one_table_of_four_columns(paper: str) -> None:
    """Head, rule, then rows of four cells."""
    head, rule, *lines = read_tables(LEDGER.read_text("utf-8"))[paper]
    assert head == COLUMNS
    assert all(re.fullmatch(r":?-+:?", cell) for cell in rule)
    assert len(rule) == len(COLUMNS)
    assert [cells for cells in lines if len(cells) != len(COLUMNS)] == []
    assert COLUMNS not in lines, "a second table in this section"


def test_no_cell_is_empty() -> None:
    """Each row says what, where and how far."""
    rows = [row for section in read_rows().values() for row in section]
    assert [row for row in rows if not (row.id and row.what and row.where and row.status)] == []


def test_ids_are_unique() -> None:
    """No thing is counted twice."""
    counts = Counter(row.id for section in read_rows().values() for row in section)
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("paper", INVENTORY)
def test_ids_are_well_formed(paper: str) -> None:
    """An id is the paper's name in small letters, a dot, and the thing."""
    prefix = paper.lower() + "."
    wrong = [row.id for row in read_rows()[paper] if not (row.id.startswith(prefix) and ITEM.fullmatch(row.item))]
    assert wrong == []


def test_statuses_are_of_the_closed_list() -> None:
    """A status is one word, except `impossible`, which says why."""
    rows = [row for section in read_rows().values() for row in section]
    wrong = [
        (row.id, row.status)
        for row in rows
        if row.status not in PLAIN_STATUSES and not re.fullmatch(r"impossible: \S.{9,}", row.status)
    ]
    assert wrong == []


def test_every_row_names_a_place() -> None:
    """Only what is impossible may have no place, and then says `none`."""
    rows = [row for section in read_rows().values() for row in section]
    placeless = [row.id for row in rows if not re.search(r"`[^`]+`", row.where)]
    excused = [row.id for row in rows if row.where == "none" and row.status.startswith("impossible: ")]
    assert placeless == excused


def test_what_is_ours_exists() -> None:
    """A row `ours` names only files that are there and verbs that can be called."""
    rows = [row for section in read_rows().values() for row in section]
    missing = {row.id: missing_claims(row.where, ROOT) for row in rows if row.status in {"ours", "recomputed"}}
    assert {name: claims for name, claims in missing.items() if claims} == {}


def test_what_is_ours_is_computed_by_more_than_a_test() -> None:
    """A row `ours` names a command or a module; what only a test computes from printed numbers is `recomputed`."""
    rows = [row for section in read_rows().values() for row in section]
    by_tests = [
        row.id for row in rows if row.status == "ours" and all(c.startswith("tests/") for c in CLAIM.findall(row.where))
    ]
    assert by_tests == []


def test_a_claim_is_checked_against_the_files(tmp_path: Path) -> None:
    """Paths and test names count as there only if their file is, verbs only if they can be called."""
    (tmp_path / "src/editgauge/cli").mkdir(parents=True)
    (tmp_path / "src/editgauge/cli/agree.py").touch()
    there = "`editgauge agree --by type`, `editgauge list`, `src/editgauge/cli`, `src/editgauge/cli/agree.py::agree`"
    assert missing_claims(there, tmp_path) == []
    absent = "`editgauge repair`, `docs/parity.md`, `editgauge`, `..`"
    assert missing_claims(absent, tmp_path) == ["editgauge repair", "docs/parity.md", "editgauge", ".."]
    assert missing_claims("somewhere", tmp_path) == ["somewhere"]


def test_an_escaped_pipe_stays_in_its_cell() -> None:
    """Formulas may have bars."""
    assert split_cells(r"| a | \|dot\| | `b` | open |") == ["a", "|dot|", "`b`", "open"]


@pytest.mark.parametrize("paper", INVENTORY)
def test_no_row_is_forgotten(paper: str) -> None:
    """The ledger has what the paper has, and nothing more, except for the free `sec` rows."""
    items = {row.item for row in read_rows()[paper] if not row.item.startswith("sec")}
    wanted = INVENTORY[paper].items()
    assert {"forgotten": sorted(wanted - items), "unknown": sorted(items - wanted)} == {"forgotten": [], "unknown": []}


NUMBERS = r"[ ]*\(?(\d{1,2}(?!\d)(?:(?:,[ ]and[ ]|,[ ]|[ ]and[ ]|[ ]to[ ])\d{1,2}(?!\d))*)"
MENTIONS = {
    "table": re.compile(r"\b(?:tables?|tabs?)\b\.?" + NUMBERS, re.IGNORECASE),
    "fig": re.compile(r"\b(?:figures?|figs?)\b\.?" + NUMBERS, re.IGNORECASE),
    "alg": re.compile(r"\balgorithms?\b" + NUMBERS, re.IGNORECASE),
}
APPENDIX_MENTION = re.compile(r"\bAppendi(?:x|ces) ([A-Z](?:\.\d+)?)\b")
EQUATION_NUMBER = re.compile(r"\((\d{1,2})\)[\s$]*$", re.MULTILINE)
# Mentions that mean a table or figure of another work, as in {"EditVal": {"table7"}}. None of the five texts has one.
OF_OTHER_WORKS: dict[str, set[str]] = {}


def spread(numbers: str) -> set[int]:
    """The numbers of a list such as "2, 3, and 4" or a range such as "15 to 18"."""
    result = {int(number) for number in re.findall(r"\d+", numbers)}
    for first, last in re.findall(r"(\d+) to (\d+)", numbers):
        result |= set(range(int(first), int(last) + 1))
    return result


def mentioned(text: str, kind: str) -> set[str]:
    """Every table, figure or algorithm that a text speaks of."""
    return {f"{kind}{number}" for numbers in MENTIONS[kind].findall(text) for number in spread(numbers)}


@pytest.fixture
def papers() -> Path:
    """The folder with the papers as text, beside the shared data."""
    folder = shared_data().parent / "papers"
    if not folder.is_dir():
        pytest.skip(f"{folder} does not exist: the ledger was NOT compared with the texts of the papers")
    return folder


def test_lists_and_ranges_of_numbers_are_read() -> None:
    """The ways in which the five papers write several numbers."""
    text = "Figures 2, 3, and 4; Figs. 15 to 18; Fig. 6, 7. Fig 8(b) and Fig. 9; (Figures 20, 22)"
    assert mentioned(text, "fig") == {f"fig{n}" for n in (2, 3, 4, 15, 16, 17, 18, 6, 7, 8, 9, 20, 22)}
    text = "Table. (1), Tab. 2, table 3; put 4 cups on the table in 2023"
    assert mentioned(text, "table") == {"table1", "table2", "table3"}


@pytest.mark.parametrize("paper", INVENTORY)
def test_every_mention_in_the_paper_has_a_row(paper: str, papers: Path) -> None:
    """What a paper's text calls a table, figure, algorithm or appendix is in the ledger."""
    text = (papers / f"{paper.lower()}.txt").read_text("utf-8")
    named = {item for kind in MENTIONS for item in mentioned(text, kind)}
    named |= {f"app{name}" for name in APPENDIX_MENTION.findall(text)}
    rows = {row.item for row in read_rows()[paper]}
    assert named - rows - OF_OTHER_WORKS.get(paper, set()) == set()


@pytest.mark.parametrize("paper", INVENTORY)
def test_every_table_figure_and_equation_is_in_the_paper(paper: str, papers: Path) -> None:
    """The inventory was not counted too high: each number stands in the text."""
    text = (papers / f"{paper.lower()}.txt").read_text("utf-8")
    wanted = INVENTORY[paper]
    for kind, count in (("table", wanted.tables), ("fig", wanted.figures)):
        assert {f"{kind}{number}" for number in range(1, count + 1)} - mentioned(text, kind) == set()
    assert {int(number) for number in EQUATION_NUMBER.findall(text)} == set(range(1, wanted.equations + 1))
