"""A report as a tree.

- `scored`: a run of two methods on six edits, one outcome missing and one unreadable; and where the second method lies.
- `as_page(path)`: a page, parsed; `page`: that of `scored`, in `report_folder`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from editgauge.engine.run import run as score_all
from editgauge.reports.report import report

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'&amp; \u202e"
NASTY_METHOD = "<b onmouseover='alert(3)'>\"me"
VOID = {"meta", "link", "img", "input", "br", "line", "circle", "path"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)

    @property
    def elements(self) -> list[Element]:
        return [item for item in self.inside if isinstance(item, Element)]

    @property
    def text(self) -> str:
        return "".join(item for item in self.inside if isinstance(item, str))

    def all(self, tag: str, name: str = "") -> list[Element]:
        """Every element of that tag, and of that class if one is named, in the order of the page."""
        mine = self.tag == tag and (not name or name in (self.attributes.get("class") or "").split())
        return [
            *([self] if mine else []),
            *(results for element in self.elements for results in element.all(tag, name)),
        ]

    def everything(self) -> list[Element]:
        return [self, *(results for element in self.elements for results in element.everything())]

    def full_text(self) -> str:
        """The words, as one would read them aloud."""
        return " ".join(" ".join(item if isinstance(item, str) else item.full_text() for item in self.inside).split())


class Page(HTMLParser):
    """A page as a tree, as far as these tests need it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.root = Element("page")
        self.open = [self.root]
        self.feed(path.read_text("utf-8"))
        assert self.open == [self.root], "an element is never closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "wbr":  # a place where a line may break is no part of the text
            return
        self.open[-1].inside.append(made := Element(tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1].inside
        if inside and isinstance(inside[-1], str):
            inside[-1] += data
        else:
            inside.append(data)

    def section(self, name: str) -> Element:
        return next(element for element in self.root.all("section") if element.attributes["id"] == name)

    @property
    def gallery(self) -> dict[str, Any]:
        (data,) = [element for element in self.root.all("script") if element.attributes.get("id") == "gallery-data"]
        read: dict[str, Any] = json.loads(data.text)
        return read


@pytest.fixture(scope="session")
def scored(
    tmp_path_factory: pytest.TempPathFactory,
    make_benchmark: Callable[..., Path],
    make_outcomes: Callable[..., Path],
) -> tuple[Path, Path]:
    """A run of two methods on six edits, one outcome missing and one unreadable; and the folder of the second method.

    All tests share it: one that changes a file puts it back.
    """
    tmp_path = tmp_path_factory.mktemp("scored")
    texts = ["<i>Make it black.</i>", NASTY, "Remove it.", "نص عربي", "As a drawing.", "Again."]
    benchmark = make_benchmark(tmp_path / "benchmark", edits=6, instruction=texts)
    first, second = (make_outcomes(benchmark, tmp_path / f"outcomes-{number}", number) for number in (1, 4))
    (second / "edit-001.png").unlink()
    (second / "edit-003.png").write_bytes(b"not an image")
    score_all(
        benchmark,
        outcomes={"soft": first, NASTY_METHOD: second},
        out=tmp_path / "run",
        protocol="preservation",
        processes=1,
        quiet=True,
    )
    return tmp_path / "run", second


@pytest.fixture(scope="session")
def report_folder(scored: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(scored[0], out=tmp_path_factory.mktemp("page") / "report", quiet=True).parent


@pytest.fixture(scope="session")
def page(report_folder: Path) -> Page:
    return Page(report_folder / "index.html")


@pytest.fixture
def as_page() -> Callable[[Path], Page]:
    return Page
