"""As many yes as no: for every question and every action, so that neither gives an answer away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random

from editgauge.building.training.lessons import Lesson


def balanced(lessons: Sequence[Lesson], seed: int) -> tuple[list[Lesson], list[Lesson]]:
    """The lessons of a balanced set in their order, and those that were dropped for it.

    Of each question and action as many are kept with yes as with no, by chance; questions for a text are kept whole.
    """
    cells: dict[tuple[str, str], dict[bool, list[str]]] = defaultdict(lambda: {True: [], False: []})
    for lesson in lessons:
        if isinstance(lesson.answer, bool):
            cells[lesson.question, lesson.action][lesson.answer].append(lesson.id)
    dropped: set[str] = set()
    for (question, action), answers in cells.items():
        chance = Random(f"{seed}/{question}/{action}")  # noqa: S311
        fewer = min(map(len, answers.values()))
        for names in answers.values():
            dropped.update(chance.sample(names, len(names) - fewer))
    return [each for each in lessons if each.id not in dropped], [each for each in lessons if each.id in dropped]
