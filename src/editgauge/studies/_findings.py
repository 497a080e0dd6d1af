"""From the answers of a study to what they say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import select

from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.raters import answer_matrix, krippendorff, panel
from editgauge.analysis.feedback import Feedback, sort_remarks
from editgauge.analysis.preferences import pairwise
from editgauge.analysis.ratings import PreferredOutcome
from editgauge.analysis.study import (
    AnswerLevel,
    ComparedAttributes,
    CountedQuestion,
    LevelAnswer,
    QuestionFindings,
    SideFindings,
    StudyFindings,
    question_findings,
)
from editgauge.benchmarks.datasets import Remark
from editgauge.errors import BadInputError
from editgauge.studies.design import DesignQuestion
from editgauge.studies.records import AnswerRecord, rating_of, records
from editgauge.studies.store import Rater, StudyItem
from editgauge.studies.study import Study

NUMERIC_KINDS = ("choice", "scale", "yes_no")
CHOICE_INDEX = {"first": 0, "tie": 1, "second": 2}


def findings(study: Study) -> StudyFindings:
    """Analyze the ratings of a study; raise `BadInputError` when it says nothing about methods."""
    design = study.design
    with study.database.read() as session:
        pages = [page for page in records(session) if page.counts]
        sources = {row[0]: row[1]["source"] for row in session.execute(select(StudyItem.key, StudyItem.content))}
        labels = {row[0]: row[1] for row in session.execute(select(Rater.name, Rater.label)) if row[1]}
    if not pages:
        raise BadInputError(
            f"There are no answers yet. `editgauge study status {study.folder}` shows how far the study is."
        )
    counted = [value for value in design.questions if value.kind in NUMERIC_KINDS and design.unit == "outcome"]
    questions = [_question(study, item, pages, sources) for item in counted]
    return StudyFindings(
        title=design.title,
        answers=len(pages),
        questions=tuple(question for question in questions if question),
        sides=tuple(side for element in design.sided if (side := _side(element, pages, sources))),
        reasons=_reasons(design.questions, pages, sources),
        not_counted=tuple(entry.id for entry in design.questions if entry not in (*counted, *design.sided)),
        labels=labels,
    )


def _compared(page: AnswerRecord, answer: str) -> ComparedAttributes:
    first, second = (str(item["attribute"]) for item in page.compared)
    return ComparedAttributes(page.edit, first, second, answer)


def compared_attributes(study: Study) -> list[ComparedAttributes]:
    """Return the answers of an attribute study; raise `BadInputError` when there are none."""
    questions = [item.id for item in study.design.sided]
    with study.database.read() as session:
        pages = [page for page in records(session) if page.counts]
    compared = [
        _compared(page, str(page.answers[name])) for page in pages for name in questions if name in page.answers
    ]
    if not compared:
        raise BadInputError(
            f"There are no answers yet. `editgauge study status {study.folder}` shows how far the study is."
        )
    return compared


def _question(
    study: Study, question: DesignQuestion, pages: Sequence[AnswerRecord], sources: dict[str, str]
) -> QuestionFindings | None:
    numbered = [(option, rating_of(study.design, question.id, option.value)) for option in question.choices]
    if all(value is not None for _, value in numbered):
        numbered.sort(key=lambda pair: pair[1] or 0.0)
    counted_question = CountedQuestion(
        question.id, question.label, tuple(AnswerLevel(option.label, value) for option, value in numbered)
    )
    level_index = {option.value: index for index, (option, _) in enumerate(numbered)}
    answers = [
        LevelAnswer(page.item, _method(page), page.edit_type, sources[page.item], page.rater, level_index[answer])
        for page in pages
        if (answer := page.answers.get(question.id)) is not None and not isinstance(answer, list)
    ]
    return question_findings(counted_question, answers) if answers else None


def _reasons(
    questions: Sequence[DesignQuestion], pages: Sequence[AnswerRecord], sources: dict[str, str]
) -> tuple[Feedback, ...]:
    """Sort remarks that are asked for only after another answer; other texts may be about anything."""
    texts = [question.id for question in questions if question.kind == "text" and question.when]
    texts_by_question = ((name, page.answers.get(name), sources[page.item]) for name in texts for page in pages)
    return sort_remarks(
        [Remark(name, text, source) for name, text, source in texts_by_question if isinstance(text, str)]
    )


def _method(page: AnswerRecord) -> str:
    (compared,) = page.compared
    return str(compared["method"])


def _side(question: DesignQuestion, pages: Sequence[AnswerRecord], sources: dict[str, str]) -> SideFindings | None:
    answered = [page for page in pages if question.id in page.answers]
    if not answered:
        return None
    choices = [_choice(page, page.answers[question.id]) for page in answered]
    where = [sources[page.item] for page in answered]
    matrix, rows = _matrix(answered, question.id, sources)
    return SideFindings(
        question.id,
        question.label,
        pairwise(choices, where),
        panel(matrix, rows),
        krippendorff(matrix, "nominal", rows),
        _left(answered, question.id, sources),
        _left_by_rater(answered, question.id, sources),
    )


def _choice(page: AnswerRecord, answer: Any) -> PreferredOutcome:
    first, second = page.compared
    return PreferredOutcome(page.edit, first["method"], second["method"], answer, page.rater)


def _matrix(pages: Sequence[AnswerRecord], question: str, sources: dict[str, str]) -> tuple[Numbers, Labels]:
    raters = list(dict.fromkeys(page.rater for page in pages))
    matrix = answer_matrix(
        ((page.item, page.rater, CHOICE_INDEX[str(page.answers[question])]) for page in pages), raters
    )
    items = dict.fromkeys(page.item for page in pages)
    return matrix, np.array([sources[item] for item in items], dtype=np.str_)


def _left(pages: Sequence[AnswerRecord], question: str, sources: dict[str, str]) -> Mean | None:
    decided = [page for page in pages if page.answers[question] != "tie"]
    if not decided:
        return None
    left = [float((page.answers[question] == "second") == page.flipped) for page in decided]
    return clustered_mean(np.array(left), np.array([sources[page.item] for page in decided], dtype=np.str_))


def _left_by_rater(pages: Sequence[AnswerRecord], question: str, sources: dict[str, str]) -> dict[str, Mean]:
    by_rater: dict[str, list[AnswerRecord]] = defaultdict(list)
    for page in pages:
        by_rater[page.rater].append(page)
    shares = {rater: _left(its_own, question, sources) for rater, its_own in sorted(by_rater.items())}
    return {rater: mean for rater, mean in shares.items() if mean}
