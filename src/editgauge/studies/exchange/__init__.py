"""Studies on other platforms: formats by name, each of which writes tasks for people there and reads their answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from editgauge.core.registry import Registry

if TYPE_CHECKING:
    from editgauge.studies.answers.records import AnswerRecord
    from editgauge.studies.study import Study

BUILT_IN = {
    "editinspector-forms": "editgauge.studies.exchange.editinspector_forms:editinspector_forms",
    "label-studio": "editgauge.studies.exchange.label_studio:label_studio",
    "mturk": "editgauge.studies.exchange.mturk:mturk",
}


class ExchangeFormat(Protocol):
    """A format of another tool."""

    def write(self, study: Study, out: Path, url: str | None = None) -> int:
        """Writes the study's open items for the other tool, with pictures under the address; says how many."""
        ...

    def read(self, study: Study, file: Path) -> list[AnswerRecord]:
        """The pages answered there; raises `BadInput` that lists everything wrong with the file."""
        ...


exchanges: Registry[ExchangeFormat] = Registry("exchange", BUILT_IN)
