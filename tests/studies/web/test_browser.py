"""A rater's whole way through each design in Chromium: by mouse and by keys, on a laptop and on a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from editgauge.studies import Study
from editgauge.studies.records import AnswerRecord, records

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow

Make = Callable[..., Study]
Online = Callable[..., str]
See = Callable[..., "Page"]
SIZES = {"laptop": (1366, 900), "phone": (390, 844)}
DESIGNS: dict[str, dict[str, str | int]] = {
    "editval": {"applied": 3, "object_kept": 1, "context_kept": 0},
    "editinspector": {
        "accuracy": "reflects",
        "accuracy_reason": "It is too dark, and a bit to the left.",
        "consistent": "yes",
        "precise": "no",
        "precise_reason": "A hard edge.",
        "artifacts": "mild",
        "differences": "There is a dark patch. 1 + 1 = 2?",
    },
    "2afc": {"better": "right"},
    "attribute-importance": {"important": "tie"},
}
NUMBER = {"editval": 2, "editinspector": 2, "2afc": 2, "attribute-importance": 1}
"""Of pages that a study has."""
WAYS = [(way, size) for way in ("mouse", "keys") for size in SIZES]


def violations(page: Page) -> list[str]:
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"][:3]]


@pytest.fixture
def study_of(make_study: Make, photo_run: Path, tmp_path: Path) -> Callable[[str], Study]:
    def make(design: str) -> Study:
        attributes = tmp_path / "attributes.jsonl"
        attributes.write_text(json.dumps({"edit_id": "edit-0", "source": ["gray"], "target": ["black", "shiny"]}))
        given = {"attributes": attributes} if design == "attribute-importance" else {}
        return make_study(run=photo_run, design=design, raters=1, sample="stratified", items=NUMBER[design], **given)

    return make


def by_mouse(page: Page, question: str, value: str | int) -> None:
    box = page.locator(f"#question-{question}")
    if box.locator("textarea").count():
        box.locator("textarea").fill(str(value))
    else:
        box.locator(f'label:has(input[value="{value}"])').click()


def by_keys(page: Page, question: str, value: str | int) -> None:
    """The question whose turn it is marked; after an answer the next one has its turn."""
    assert page.locator(".is-current").get_attribute("data-question") == question
    box = page.locator(f"#question-{question}")
    if box.locator("textarea").count():
        page.keyboard.type(str(value))
        page.keyboard.press("Escape")
    else:
        page.keyboard.press(box.locator(f'input[value="{value}"]').get_attribute("data-key") or "")


def hand_in(page: Page, way: str) -> None:
    if way == "keys":
        page.keyboard.press("Enter")
    else:
        page.get_by_role("button", name="Hand in").or_(page.get_by_role("button", name="Go on")).click()


def begin(page: Page, study: Study, way: str) -> None:
    answer = by_keys if way == "keys" else by_mouse
    if way == "keys":
        page.keyboard.press("Enter")
    else:
        page.get_by_role("link", name="Begin").click()
    page.wait_for_url("**/eligibility")
    assert violations(page) == []
    for asked in study.design.eligibility:
        answer(page, asked.id, asked.accept)
    hand_in(page, way)
    if study.design.qualification:
        page.wait_for_url("**/qualification")
        assert violations(page) == []
        for item in study.design.qualification.items:
            answer(page, item.question.id, item.right[0])
        hand_in(page, way)


def told(study: Study) -> list[AnswerRecord]:
    with study.database.read() as session:
        return list(records(session))


@pytest.mark.parametrize(("way", "size"), WAYS)
@pytest.mark.parametrize("design", DESIGNS)
def test_the_whole_way(
    study_of: Callable[[str], Study], online: Online, see: See, design: str, way: str, size: str
) -> None:
    study = study_of(design)
    page = see(
        study.invite()[0].link(online(study)),
        SIZES[size],
        color_scheme="dark" if size == "phone" else "light",
        has_touch=size == "phone",
    )
    assert violations(page) == []
    begin(page, study, way)
    pages = study.status().requested
    for number in range(pages):
        page.wait_for_url("**/pages/*")
        page.wait_for_function("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if number == 0:
            hand_in(page, way)
            page.locator("#problems").wait_for()
            assert violations(page) == []
        for question, value in DESIGNS[design].items():
            (by_keys if way == "keys" else by_mouse)(page, question, value)
        was = page.url
        hand_in(page, way)
        page.wait_for_url(re.compile(f"^(?!{re.escape(was)}$)"))
    page.wait_for_url("**/finished")
    assert violations(page) == []
    answered = told(study)
    assert len(answered) == pages
    for record in answered:
        expected = dict(DESIGNS[design])
        if design == "2afc":
            expected["better"] = "first" if record.flipped else "second"
        assert record.answers == expected


def test_every_answer_is_saved_at_once_and_a_reload_shows_it(
    study_of: Callable[[str], Study], online: Online, see: See
) -> None:
    study = study_of("editinspector")
    page = see(study.invite()[0].link(online(study)))
    begin(page, study, "mouse")
    page.wait_for_url("**/pages/*")
    assert not page.locator("#question-precise_reason").is_visible()
    by_mouse(page, "precise", "no")
    page.locator("#question-precise_reason textarea").fill("A seam.")
    by_mouse(page, "artifacts", "none")
    page.get_by_text("Saved", exact=True).wait_for()
    page.reload()
    assert page.locator("#question-precise_reason textarea").input_value() == "A seam."
    assert page.locator("#question-artifacts input[value=none]").is_checked()
    by_mouse(page, "precise", "yes")
    assert not page.locator("#question-precise_reason").is_visible()
    assert study.status().done == 0


def test_an_answer_given_while_another_is_being_saved_is_saved_next(
    study_of: Callable[[str], Study], online: Online, see: See
) -> None:
    study = study_of("editval")
    page = see(study.invite()[0].link(online(study)))
    begin(page, study, "mouse")
    page.wait_for_url("**/pages/*")
    held: list[Route] = []
    page.route("**/save", lambda route: held.append(route))
    with page.expect_request("**/save"):
        by_mouse(page, "applied", 2)
    by_mouse(page, "object_kept", 1)
    with page.expect_request("**/save"):
        held[0].continue_()
    assert page.locator("#saved").inner_text() == "", "the second answer is not saved yet"
    held[1].continue_()
    page.get_by_text("Saved", exact=True).wait_for()
    page.unroute("**/save")
    page.reload()
    assert page.locator("#question-applied input[value='2']").is_checked()
    assert page.locator("#question-object_kept input[value='1']").is_checked()


def test_a_lost_connection_is_told_and_what_was_answered_is_saved_later(
    study_of: Callable[[str], Study], online: Online, see: See
) -> None:
    study = study_of("editval")
    page = see(study.invite()[0].link(online(study)))
    begin(page, study, "mouse")
    page.wait_for_url("**/pages/*")
    page.route("**/save", lambda route: route.fulfill(status=503))
    by_mouse(page, "applied", 2)
    page.get_by_text("Not saved yet; trying again").wait_for()
    page.unroute("**/save")
    page.evaluate("dispatchEvent(new Event('online'))")
    page.get_by_text("Saved", exact=True).wait_for()
    page.reload()
    assert page.locator("#question-applied input[value='2']").is_checked()


def test_a_decision_tree_leads_to_an_answer(study_of: Callable[[str], Study], online: Online, see: See) -> None:
    study = study_of("editval")
    page = see(study.invite()[0].link(online(study)))
    begin(page, study, "keys")
    page.wait_for_url("**/pages/*")
    page.keyboard.press("t")
    tree = page.locator("#question-applied .tree")
    assert tree.get_by_text("Can you see anything of the asked change?").is_visible()
    tree.get_by_text("Yes", exact=True).first.click()
    assert violations(page) == []
    tree.get_by_role("button", name="Minorly applied").click()
    assert page.locator("#question-applied input[value='1']").is_checked()
    assert page.locator(".is-current").get_attribute("data-question") == "object_kept"


def test_without_javascript_every_question_is_there_and_a_form_is_enough(
    study_of: Callable[[str], Study], online: Online, see: See
) -> None:
    study = study_of("editinspector")
    page = see(study.invite()[0].link(online(study)), java_script_enabled=False)
    page.get_by_role("link", name="Begin").click()
    for asked in study.design.eligibility:
        by_mouse(page, asked.id, asked.accept)
    page.get_by_role("button", name="Go on").click()
    assert study.design.qualification is not None
    for item in study.design.qualification.items:
        by_mouse(page, item.question.id, str(item.right[0]))
    page.get_by_role("button", name="Hand in").click()
    for question, value in DESIGNS["editinspector"].items():
        by_mouse(page, question, value)
    page.get_by_role("button", name="Hand in").click()
    assert study.status().done == 1


def test_settings_are_kept(study_of: Callable[[str], Study], online: Online, see: See) -> None:
    study = study_of("2afc")
    page = see(study.invite()[0].link(online(study)))
    before = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    page.get_by_role("button", name="Text size, width and colors").click()
    page.get_by_label("Very large").check()
    page.get_by_label("Dark").check()
    assert violations(page) == []
    page.get_by_role("button", name="Done").click()
    page.reload()
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") > 1.3 * before
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"


def test_a_link_followed_from_another_site_lets_the_rater_in(
    study_of: Callable[[str], Study], online: Online, browser: Browser
) -> None:
    """As from a mail program in the browser: a strict cookie must not be held back on the way."""
    study = study_of("2afc")
    address = online(study)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"data:text/html,<a href='{study.invite()[0].link(address)}'>the study</a>")
        page.get_by_role("link").click()
        page.wait_for_url(f"{address}/")
        assert page.get_by_role("link", name="Begin").is_visible()
        page.go_back()
        assert page.url.startswith("data:"), "the address with the secret is not in the history"
