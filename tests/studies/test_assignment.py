"""Each item goes to exactly R raters, balanced, and never twice to one; on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from editgauge.studies import NotAllowedError, RaterInfo, Study
from editgauge.studies.store import Assignment, StudyCell, StudyItem

Make = Callable[..., Study]
Enter = Callable[..., RaterInfo]
Work = Callable[..., int]


def assigned(study: Study) -> Counter[str]:
    """How many answers of each item count."""
    with study.database.read() as session:
        counted = select(StudyItem.key).join(Assignment).where(Assignment.state == "done", StudyItem.kind == "rated")
        return Counter(session.scalars(counted))


def test_every_item_gets_exactly_as_many_raters_as_wanted(
    make_study: Make, enter: Enter, work: Work, database: str | None
) -> None:
    study = make_study(database=database)
    raters = [enter(study) for _ in range(5)]
    while sum(work(study, rater, pages=2) for rater in raters):
        pass
    assert set(assigned(study).values()) == {3}
    status = study.status()
    assert (status.complete, status.items, status.done, status.requested, status.seconds_left) == (12, 12, 36, 36, 0)


def test_no_rater_gets_an_item_twice_and_too_few_raters_leave_items_open(
    make_study: Make, enter: Enter, work: Work
) -> None:
    study = make_study()
    assert work(study, enter(study)) == 12
    assert work(study, enter(study)) == 12
    assert set(assigned(study).values()) == {2}
    assert study.status().complete == 0


def test_methods_and_types_are_served_evenly_at_any_moment(make_study: Make, enter: Enter, work: Work) -> None:
    study = make_study(edits=12)
    for _ in range(4):
        work(study, enter(study), pages=6)
        with study.database.read() as session:
            taken = list(session.scalars(select(StudyCell.taken)))
        assert len(taken) == 6
        assert max(taken) - min(taken) <= 1


def test_raters_see_items_in_different_orders(make_study: Make, enter: Enter) -> None:
    study = make_study(edits=30, methods=("mine",))

    def order(rater: RaterInfo) -> list[str]:
        seen: list[str] = []
        while (page := study.next(rater)) is not None and len(seen) < 10:
            seen.append(study.page(rater, page).pictures[0].name)
            study.answer(rater, page, {"good": 1})
        return seen

    first, second = order(enter(study)), order(enter(study))
    assert first != second


def test_the_page_stays_the_same_until_it_is_handed_in(make_study: Make, enter: Enter) -> None:
    study = make_study()
    rater = enter(study)
    page = study.next(rater)
    assert page is not None
    assert study.next(rater) == page
    study.save(rater, page, {"good": 2})
    assert study.page(rater, page).questions[0].answer == 2
    study.answer(rater, page, {"good": 2})
    assert study.next(rater) != page


def test_handing_in_twice_changes_nothing(make_study: Make, enter: Enter) -> None:
    study = make_study()
    rater = enter(study)
    page = study.next(rater)
    assert page is not None
    assert study.answer(rater, page, {"good": 2}).changed
    assert not study.answer(rater, page, {"good": 2}).changed
    assert study.status().done == 1


def test_a_changed_answer_is_a_new_version(make_study: Make, enter: Enter) -> None:
    from editgauge.studies.records import records

    study = make_study()
    rater = enter(study)
    page = study.next(rater)
    assert page is not None
    for value in (0, 2):
        study.answer(rater, page, {"good": value})
    with study.database.read() as session:
        (record,) = records(session)
    assert record.answers == {"good": 2}
    assert [version.value for version in record.history] == [0, 2]


def test_an_abandoned_page_returns_and_late_answers_are_surplus_when_its_place_is_gone(
    make_study: Make, enter: Enter, work: Work, clock: Any
) -> None:
    study = make_study(edits=1, methods=("mine",), raters=1)
    slow, quick = enter(study), enter(study)
    page = study.next(slow)
    assert page is not None
    assert study.next(quick) is None
    clock.now += 601
    assert work(study, quick) == 1
    assert study.answer(slow, page, {"good": 0}).state == "surplus"
    status = study.status()
    assert (status.done, status.surplus) == (1, 1)
    study.exclude("r0002", "a test")
    assert study.status().done == 1, "the surplus answer takes the place of the void one"


def test_late_answers_count_while_their_place_is_free(make_study: Make, enter: Enter, clock: Any) -> None:
    study = make_study()
    rater = enter(study)
    page = study.next(rater)
    assert page is not None
    clock.now += 601
    assert study.expire() == 1
    assert study.answer(rater, page, {"good": 0}).state == "done"
    assert study.status().done == 1


def test_who_comes_back_may_have_the_abandoned_page_again(make_study: Make, enter: Enter, work: Work) -> None:
    study = make_study(edits=1, methods=("mine",), raters=1)
    rater = enter(study)
    page = study.next(rater)
    study.release(rater)
    assert study.next(rater) == page
    assert work(study, rater) == 1


def test_a_page_of_another_rater_is_not_shown(make_study: Make, enter: Enter) -> None:
    study = make_study()
    mine, other = enter(study), enter(study)
    page = study.next(mine)
    assert page is not None
    for ask in (study.page, lambda who, what: study.answer(who, what, {"good": 1})):
        with pytest.raises(NotAllowedError, match="not yours"):
            ask(other, page)
    with pytest.raises(NotAllowedError, match="link is not valid"):
        study.rater("guessed")


def test_sides_are_drawn_recorded_and_undone(make_study: Make, enter: Enter) -> None:
    from editgauge.studies.records import records

    study = make_study(edits=12, design="2afc", raters=2)
    rater = enter(study)
    study.answer_eligibility(rater, {"adult": "yes"})
    while (page := study.next(rater)) is not None:
        study.answer(rater, page, {"better": "left"})
    with study.database.read() as session:
        told = list(records(session))
    assert {page.flipped for page in told} == {False, True}
    assert all(page.answers["better"] == ("second" if page.flipped else "first") for page in told)


def test_nobody_gets_more_pages_than_the_design_allows(
    make_study: Make, enter: Enter, work: Work, plain_design: Path
) -> None:
    plain_design.write_text(plain_design.read_text() + "items_per_rater: 4\n")
    study = make_study()
    rater = enter(study)
    assert work(study, rater) == 4
    assert study.progress(rater).most == 4
