"""Typed metadata of the public benchmarks: what each is for, under which license, and where it can be had."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from editgauge.errors import UnknownNameError

Task = Literal[
    "editing",  # one instruction or caption, one source image
    "multi-turn editing",
    "multi-image editing",
    "reasoning",  # edits that need knowledge or reasoning
    "text in images",
    "faces",
    "subject-driven generation",
    "human ratings",  # edits whose outcomes people rated
]


class BenchmarkHome(BaseModel):
    """Where a benchmark can be pulled from: a dataset of the model hub, or a Git repository."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hub: str = ""
    """Id of the dataset."""
    git: str = ""
    """`OWNER/NAME` on GitHub."""
    revision: str = Field(default="", pattern=r"^([0-9a-f]{40})?$")
    """The pinned commit; empty where none is pinned, and the newest is recorded instead."""
    path: str = ""
    """Folder of the files that the reader needs."""
    unpack: bool = False
    """Whether its archives are unpacked."""

    @model_validator(mode="after")
    def _one_home(self) -> BenchmarkHome:
        if bool(self.hub) == bool(self.git):
            raise ValueError("give either 'hub' or 'git'")
        if self.git and not self.revision:
            raise ValueError("a Git repository needs its pinned 'revision'")
        return self

    @property
    def url(self) -> str:
        """The page of the dataset or repository."""
        return f"https://huggingface.co/datasets/{self.hub}" if self.hub else f"https://github.com/{self.git}"


class BenchmarkMetadata(BaseModel):
    """Metadata of a public benchmark."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    task: Task
    license: str
    languages: tuple[str, ...] = ("en",)
    """ISO 639-1 codes of the instructions."""
    citation: str = Field(pattern=r"^(arXiv \d{4}\.\d{4,5}|doi .+)$")
    date: str = Field(pattern=r"^\d{4}-\d{2}$")
    """Month in which the paper or the data came out first."""
    splits: tuple[str, ...] = ()
    edits: int | None = None
    """How many edits the authors count."""
    headline: str
    """The figure by which the authors compare methods."""
    home: BenchmarkHome | None = None
    """Where `editgauge data pull` gets it; None where it has no public home that can be pulled."""
    page: str = ""
    """Where to get it otherwise."""
    verified: str = "no"
    """Whether the reader was run on files published by the authors."""


@cache
def benchmark_metadata() -> dict[str, BenchmarkMetadata]:
    """Return the metadata of all public benchmarks by name."""
    text = (resources.files("editgauge.benchmarks") / "data" / "metadata.yaml").read_text("utf-8")
    return {name: BenchmarkMetadata.model_validate(fields) for name, fields in yaml.safe_load(text).items()}


def find_metadata(name: str) -> BenchmarkMetadata:
    """Return the metadata of a benchmark; raise `UnknownNameError` if there is none."""
    if name not in benchmark_metadata():
        raise UnknownNameError("public benchmark", name, benchmark_metadata())
    return benchmark_metadata()[name]


def metadata_table() -> str:
    """Return the Markdown table of all public benchmarks for the documentation."""
    columns = (
        "name",
        "task",
        "edits",
        "languages",
        "license",
        "since",
        "headline",
        "home",
        "revision",
        "real files read",
    )
    rows = []
    for name, entry in benchmark_metadata().items():
        home = f"[{entry.home.hub or entry.home.git}]({entry.home.url})" if entry.home else entry.page
        rows.append(
            (
                f"`{name}`",
                entry.task,
                f"{entry.edits:,}" if entry.edits else "",
                ", ".join(entry.languages),
                entry.license,
                f"{entry.date}, {entry.citation}",
                entry.headline,
                home,
                f"`{entry.home.revision[:8]}`" if entry.home and entry.home.revision else "",
                entry.verified,
            )
        )
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
