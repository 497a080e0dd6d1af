"""What do people complain about? Remarks sorted into ten kinds of issue by the words in them (EditInspector, A.7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import yaml

from editgauge.benchmarks.datasets import Remark, remarks
from editgauge.core.errors import BadInput
from editgauge.core.files import write_text
from editgauge.findings.plots.feedback import feedback_svg
from editgauge.stats.intervals import Mean, clustered_mean


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of issue, and the words that tell it."""

    label: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the remarks to one question are about."""

    question: str
    remarks: int
    kinds: Mapping[str, Mean]
    """By the label of the kind, the share of remarks that speak of it; the most frequent first."""
    unsorted: int
    """Remarks without any of the words."""


def feedback(name: str, *, data: str | Path, plot: str | Path | None = None) -> tuple[Feedback, ...]:
    """Count what people complain about in the remarks of a benchmark, by ten kinds of issue.

    Example:
        $ editgauge data feedback editinspector --data editinspector_benchmark.csv --plot issues.svg
        >>> editgauge.data.feedback("editinspector", data="editinspector_benchmark.csv")

    Args:
        name: benchmark that comes with remarks by people, such as `editinspector`.
        data: its file, or the folder it is in.
        plot: SVG file for the figure.
    """
    found = sort_remarks(list(remarks(name, data)))
    if plot is not None:
        if Path(plot).suffix != ".svg":
            raise BadInput(f"The figure is an SVG file: --plot must end with .svg, got '{plot}'.")
        write_text(Path(plot), feedback_svg({each.question: each.kinds for each in found}))
    return found


def sort_remarks(told: Sequence[Remark]) -> tuple[Feedback, ...]:
    """One for each question, with intervals that draw whole source images."""
    questions = dict.fromkeys(each.question for each in told)
    return tuple(_sorted(question, [each for each in told if each.question == question]) for question in questions)


def kinds_of(text: str) -> tuple[str, ...]:
    """The kinds of issue that a remark speaks of.

    >>> kinds_of("The bird has an odd shape and its edges are blurry.")
    ('shape', 'blur', 'edges')
    """
    return tuple(name for name, kind in kinds().items() if kind.pattern.search(text))


@cache
def kinds() -> dict[str, Kind]:
    """The ten kinds, by name."""
    text = resources.files(__package__ or "").joinpath("feedback.yaml").read_text("utf-8")
    return {name: Kind(told["label"], _pattern(told["words"])) for name, told in yaml.safe_load(text).items()}


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    told = (re.escape(word).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"\b(?:{'|'.join(told)})\b", re.IGNORECASE)


def _sorted(question: str, told: Sequence[Remark]) -> Feedback:
    found = [kinds_of(each.text) for each in told]
    sources = np.array([each.source for each in told], dtype=np.str_)
    shares = {
        kind.label: clustered_mean(np.array([float(name in each) for each in found]), sources)
        for name, kind in kinds().items()
    }
    ordered = dict(sorted(shares.items(), key=lambda pair: -pair[1].value))
    return Feedback(question, len(told), ordered, sum(not each for each in found))
