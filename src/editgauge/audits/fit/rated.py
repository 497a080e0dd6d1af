"""Outcomes that people rated, with the features of the protocol `editgauge`, kept in a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from editgauge._util.images import read_image
from editgauge._util.progress import progress
from editgauge.analysis.ratings import read_ratings
from editgauge.audits.fit.features import ROLES
from editgauge.audits.people.ground import mean_ratings
from editgauge.benchmarks import open_benchmark
from editgauge.engine._scoring import build_item as make_item
from editgauge.methods.layouts.discover import expand
from editgauge.methods.outcomes import FoundOutcomes, find_outcomes
from editgauge.models.cache import cache_dir
from editgauge.models.profiles import choose_models
from editgauge.models.service import ModelService
from editgauge.protocols.editgauge.asked import not_judged
from editgauge.protocols.editgauge.features import features
from editgauge.protocols.editgauge.view import look
from editgauge.types import Edit, Outcome

SOURCE, REFERENCE, PROBES = "the source", "the reference", "probes"
WEIGHTS = {SOURCE: 0.3, REFERENCE: 0.3, PROBES: 0.2}
"""How much one outcome counts that no person rated."""


@dataclass(frozen=True, slots=True)
class Rated:
    """An outcome with its features and what people said about it."""

    edit: str
    photo: str
    method: str
    done: float | None
    """The mean rating from 0 to 1, or the known truth."""
    quality: float | None
    answered: bool
    """Was what was asked for looked for? `edit` is also given where nothing was edited or all was redrawn."""
    values: Mapping[str, Mapping[str, float | None]]

    @property
    def weight(self) -> float:
        """How much it counts in a fit."""
        return WEIGHTS.get(self.method, 1.0)


async def measure(benchmark: str, data: str | None, outcomes: Sequence[str], ratings: str, out: Path) -> None:
    """Appends what is not in the file yet."""
    edits = open_benchmark(benchmark, Path(data) if data else None).edits
    places = [text.split("=", 1) for text in expand(outcomes)]
    outcomes_of = [find_outcomes(name, Path(where), edits) for name, where in places]
    answers = mean_ratings(read_ratings(Path(ratings)))
    known = {(item.edit, item.method) for item in read_rated(out)} if out.is_file() else set()
    todo = [
        element for element in _outcomes(edits, outcomes_of, answers) if (element[0].id, element[1].method) not in known
    ]
    with (
        ModelService(choose_models("lite", {}, ROLES).models, cache_dir()) as see,
        progress("measuring", len(todo), quiet=False) as advance,
        out.open("a", encoding="utf-8") as lines,
    ):
        for edit, outcome in todo:
            assert outcome.image is not None  # noqa: S101 - only outcomes with a picture are listed
            view = await look(make_item(edit, outcome, read_image(edit.source.path), read_image(outcome.image)), see)
            said = _said(answers, edit.id, outcome.method)
            values = features(view)
            record = Rated(
                edit=edit.id,
                photo=edit.origin,
                method=outcome.method,
                done={SOURCE: 0.0, REFERENCE: 1.0}.get(outcome.method, said.get("done")),
                quality=said.get("quality"),
                answered=not_judged(view) is None and len(edit.reading.steps if edit.reading else ()) <= 1,
                values={str(question): value for question, value in values.items()},
            )
            lines.write(f"{json.dumps(asdict(record))}\n")
            lines.flush()
            advance()


def _outcomes(
    edits: Sequence[Edit], outcomes: Sequence[FoundOutcomes], answers: Mapping[tuple[str, str], Any]
) -> Iterator[tuple[Edit, Outcome]]:
    by_edit: dict[str, list[Outcome]] = {}
    for these in outcomes:
        for outcome in these.outcomes:
            if outcome.image is not None and _said(answers, outcome.edit_id, outcome.method):
                by_edit.setdefault(outcome.edit_id, []).append(outcome)
    for edit in edits:
        yield edit, Outcome(edit_id=edit.id, method=SOURCE, image=edit.source.path)
        if edit.reference is not None:
            yield edit, Outcome(edit_id=edit.id, method=REFERENCE, image=edit.reference.path)
        for outcome in by_edit.get(edit.id, ()):
            yield edit, outcome


def _said(answers: Mapping[tuple[str, str], dict[str, float]], edit: str, method: str) -> dict[str, float]:
    """The mean ratings of an outcome; those of a file that is about one editor do not name it."""
    if method in WEIGHTS:
        return {}
    return answers.get((edit, method)) or answers.get((edit, ""), {})


def read_rated(file: Path) -> list[Rated]:
    """What was measured."""
    return [Rated(**json.loads(line)) for line in file.read_text("utf-8").splitlines()]
