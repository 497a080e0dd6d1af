"""Studies on other platforms: formats by name, each of which writes tasks for people there and reads their answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge._util.registry import Registry

if TYPE_CHECKING:
    from editgauge.studies.records import AnswerRecord
    from editgauge.studies.study import Study

BUILT_IN = {
    "editinspector-forms": "editgauge.studies.exchange.editinspector_forms:editinspector_forms",
    "label-studio": "editgauge.studies.exchange.label_studio:label_studio",
    "mturk": "editgauge.studies.exchange.mturk:mturk",
    "spreadsheet": "editgauge.studies.exchange.spreadsheet:spreadsheet",
}


@dataclass(frozen=True, slots=True)
class ExchangeFormat:
    """A format of another tool."""

    write: Callable[[Study, Path, str | None], int]
    """Writes the study's open items into a folder, with pictures under an address; says how many."""
    read: Callable[[Study, Path], list[AnswerRecord]]
    """The pages answered there; raises `BadInputError` that lists everything wrong with the file."""


exchanges: Registry[ExchangeFormat] = Registry("exchange", BUILT_IN)
