"""Scores that were computed outside the run, such as a judge's published answers, as evaluators among its scores.

A file has the form of ratings: `rater` names the evaluator, `question` the score. More is better, except where a
reader of published files says otherwise.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from editgauge.core.errors import BadInput
from editgauge.core.types import ScoreSpec
from editgauge.findings.evaluators.evaluators import Scored
from editgauge.findings.people.matching import OutcomeKey, ScoredOutcomes, match
from editgauge.findings.people.ratings import published_answers, read_ratings


def external_scores(files: Iterable[Path], known: ScoredOutcomes) -> list[Scored]:
    """One evaluator per `rater` and `question` of the files; each must have one value per outcome."""
    values: dict[tuple[str, str], dict[OutcomeKey, float]] = defaultdict(dict)
    lower_is_better: set[str] = set()
    for file in files:
        answers = published_answers(file) or ()
        lower_is_better |= {str(one["question"]) for one in answers if one.get("higher_is_better") is False}
        for (key,), rating in match(read_ratings(file), known.seeds).found:
            score = f"external[{rating.rater or file.stem}]", rating.question or "score"
            if key in values[score]:
                raise BadInput(f"'{file}' has two values of {'/'.join(score)} for edit '{key.edit}', '{key.method}'.")
            values[score][key] = rating.value
    return [
        Scored(protocol, ScoreSpec(name, name not in lower_is_better, (-math.inf, math.inf)), its_values)
        for (protocol, name), its_values in values.items()
    ]
