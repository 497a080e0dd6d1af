"""A rater's way by plain forms: nothing here needs a script, and nothing is lost on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import httpx
import numpy as np
import pytest
from sqlalchemy import func, select

from editgauge.studies import Study
from editgauge.studies.records import AnswerRecord, records
from editgauge.studies.store import AnswerRow, Screening

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

Online = Callable[..., str]
EDITVAL = {"applied": "3", "object_kept": "2", "context_kept": "0"}


def path_of(response: httpx.Response) -> str:
    return response.url.path


def test_a_rater_goes_from_the_link_to_the_end(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(edits=2, methods=("mine",), design="editval", raters=1)
    rater = come(online(study), study.invite()[0].token)
    assert "How well was this picture edited?" in rater.get("/").text
    assert path_of(rater.get("/next")) == "/eligibility"
    assert path_of(rater.send("/eligibility", {"adult": "yes", "sees": "yes"})) == "/qualification"
    page = rater.send("/qualification", {"attempt-number": "0", "bench": "context", "same": "low"})
    for _ in range(2):
        assert path_of(page).startswith("/pages/")
        page = rater.send(path_of(page), EDITVAL)
    assert path_of(page) == "/finished"
    assert study.status().done == 2


def test_what_is_missing_is_said_beside_the_question_and_nothing_given_is_lost(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any], photo_run: Path
) -> None:
    study = make_study(run=photo_run, design="2afc", raters=1)
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    answered = rater.send("/eligibility", {})
    assert answered.status_code == 422
    assert "Please answer this question." in answered.text
    page = rater.send("/eligibility", {"adult": "yes"})
    assert rater.send(path_of(page), {}).status_code == 422
    assert rater.send(path_of(page), {"better": "above"}).status_code == 422
    assert rater.send(path_of(page), {"better": "left", "stray": "1"}).status_code == 422
    assert study.status().done == 0


def test_saving_and_coming_back_by_another_window(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study()
    address, token = online(study), study.invite()[0].token
    first = come(address, token)
    page = first.get("/next")
    assert path_of(first.send(f"{path_of(page)}/save", {"good": "2"})) == "/"
    again = come(address, token).get("/next")
    assert path_of(again) == path_of(page)
    assert 'value="2" data-key="3" checked' in again.text
    assert study.status().done == 0


def test_handing_in_twice_and_going_back_is_harmless(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study()
    rater = come(online(study), study.invite()[0].token)
    page = rater.get("/next")
    after = {path_of(rater.send(path_of(page), {"good": "1"}, page)) for _ in range(3)}
    assert len(after) == 1
    assert study.status().done == 1
    back = rater.get(path_of(page))
    assert "You have handed in this page" in back.text
    rater.send(path_of(page), {"good": "0"}, back)
    assert study.status().done == 1
    with study.database.read() as session:
        assert session.scalar(select(func.max(AnswerRow.version))) == 2


def test_a_test_sent_twice_is_one_attempt(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(design="editval")
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    test = rater.send("/eligibility", {"adult": "yes", "sees": "yes"})
    wrong = {"attempt-number": "0", "bench": "applied", "same": "low"}
    for _ in range(2):
        told = rater.send("/qualification", wrong, test)
        assert path_of(told) == "/qualification"
    with study.database.read() as session:
        assert session.scalar(select(func.count()).where(Screening.kind == "qualification")) == 1
    again = rater.send("/qualification", {**wrong, "attempt-number": "1"}, told)
    assert "this study looks for other raters" in again.text


def test_why_an_answer_was_wrong_is_told_before_the_next_attempt(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(design="editval")
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    rater.send("/eligibility", {"adult": "yes", "sees": "yes"})
    told = rater.send("/qualification", {"attempt-number": "0", "bench": "applied", "same": "low"})
    assert "what suffered is the surroundings" in told.text
    assert "nothing was spoilt" not in told.text
    assert "1 attempt left" in told.text


def test_who_may_not_take_part_is_thanked(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(design="2afc")
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    told = rater.send("/eligibility", {"adult": "no"})
    assert "this study looks for other raters" in told.text
    assert "looks for other raters" in rater.get("/next").text


def test_leaving_forgets_the_rater_on_this_device(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study()
    rater = come(online(study), study.invite()[0].token)
    rater.get("/")
    assert "personal link" in rater.send("/leave", {}).text
    assert rater.get("/next").status_code == 401


def test_the_description_that_is_judged_stands_apart_from_the_one_that_is_corrected(
    make_study: Callable[..., Study], small_run: Callable[..., Path], online: Online, come: Callable[..., Any]
) -> None:
    run = small_run(1, ("mine",), extras={"edit-0": {"difference_caption": "A cup was added."}})
    study = make_study(run=run, design="editinspector", raters=1)
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    rater.send("/eligibility", {"adult": "yes", "english": "yes"})
    page = rater.send("/qualification", {"attempt-number": "0", "fork": "artifacts", "boat": "consistent"})
    answers = {"accuracy": "accurate", "consistent": "yes", "precise": "yes", "artifacts": "none"}

    again = rater.send(path_of(page), {**answers, "differences": "A red cup was added."})  # one answer is missing

    assert again.status_code == 422
    judged, corrected = again.text.split('id="question-differences"')
    assert '<blockquote class="quote">A cup was added.</blockquote>' in judged
    assert "A red cup was added." in corrected


def test_a_prefilled_description_and_reasons_are_asked_where_they_belong(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(edits=1, methods=("mine",), design="editinspector", raters=1)
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    rater.send("/eligibility", {"adult": "yes", "english": "yes"})
    page = rater.send("/qualification", {"attempt-number": "0", "fork": "artifacts", "boat": "consistent"})
    good = {"accuracy": "accurate", "consistent": "yes", "precise": "yes", "artifacts": "none", "differences": "It is."}
    without_reason = rater.send(path_of(page), {**good, "precise": "no"}, page)
    assert without_reason.status_code == 422
    assert "It is." in without_reason.text
    assert path_of(rater.send(path_of(page), {**good, "precise": "no", "precise_reason": "A seam."})) == "/finished"


Make = Callable[..., Study]
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
    result: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{item['id']}: {node['html'][:120]}" for item in result for node in item["nodes"][:3]]


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.fixture
def page(make_study: Make, photo_run: Path, online: Online, see: See) -> Page:
    study = make_study(run=photo_run, raters=1)
    opened = see(study.invite()[0].link(online(study)))
    opened.keyboard.press("Enter")
    opened.wait_for_url("**/pages/*")
    opened.wait_for_function("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    return opened


def pixels(frame: Locator) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """What is drawn inside of a frame, its round corners aside."""
    picture = cv2.imdecode(np.frombuffer(frame.screenshot(), np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None
    return np.asarray(picture[8:-8, 8:-8], dtype=np.float64)


def apart(one: Locator, other: Locator) -> float:
    first, second = pixels(one), pixels(other)
    height, width = (min(a, b) for a, b in zip(first.shape[:2], second.shape[:2], strict=True))
    return float(np.abs(first[:height, :width] - second[:height, :width]).mean())


def frames(page: Page) -> tuple[Locator, Locator]:
    return page.locator(".stage-source .frame"), page.locator(".stage-edited .frame")


@pytest.mark.slow
def test_space_shows_the_original_in_place_while_it_is_held(page: Page) -> None:
    source, edited = frames(page)
    assert apart(source, edited) > 1
    page.keyboard.down(" ")
    assert apart(source, edited) < 0.5
    page.keyboard.up(" ")
    assert apart(source, edited) > 1
    page.keyboard.press("f")
    assert apart(source, edited) < 0.5
    assert page.get_by_role("button", name="Flip").get_attribute("aria-pressed") == "true"


@pytest.mark.slow
def test_the_slider_shows_half_of_each(page: Page) -> None:
    source, edited = frames(page)
    before = pixels(edited)
    page.get_by_role("button", name="Slider").click()
    page.get_by_label("Slider", exact=True).last.fill("100")
    assert apart(source, edited) < 2
    page.get_by_label("Slider", exact=True).last.fill("0")
    assert np.abs(pixels(edited) - before).mean() < 2
    box = edited.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 20)
    page.mouse.up()
    assert page.get_by_label("Slider", exact=True).last.input_value() == "75"


@pytest.mark.slow
def test_the_difference_is_black_where_nothing_changed(page: Page) -> None:
    _, edited = frames(page)
    page.keyboard.press("d")
    seen = pixels(edited)
    assert seen[-20:].mean() < 1
    assert seen.max() > 60


@pytest.mark.slow
def test_zoom_and_pan_go_in_step(page: Page) -> None:
    source, edited = frames(page)
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert page.locator(".zoomed").inner_text() == "225%"
    source.focus()
    page.keyboard.press("ArrowLeft")
    where = "all => all.map((each) => getComputedStyle(each).transform)"
    moved = page.locator(".sheet img").evaluate_all(where)
    assert len(set(moved)) == 1
    box = edited.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 130)
    page.mouse.up()
    dragged = page.locator(".sheet img").evaluate_all(where)
    assert len(set(dragged)) == 1
    assert dragged != moved
    page.keyboard.press("r")
    assert page.locator(".zoomed").inner_text() == "100%"


@pytest.mark.slow
def test_help_lists_the_keys_and_keys_rest_while_it_is_open(page: Page) -> None:
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog")
    assert help_.get_by_text("see the original in place").is_visible()
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    assert not help_.is_visible()
    assert page.locator(".question input:checked").count() == 0


@pytest.mark.slow
def test_arrows_choose_and_enter_hands_in(page: Page) -> None:
    was = page.url
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(".question input:checked").get_attribute("value") == "1"
    page.keyboard.press("ArrowLeft")
    assert page.locator(".question input:checked").get_attribute("value") == "0"
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: address != was)
    page.go_back()
    page.wait_for_url(was)
    assert page.get_by_text("You have handed in this page").is_visible()
    assert page.locator(".question input:checked").get_attribute("value") == "0"


HOSTILE_TEXTS = (
    "<script>document.title = 'owned'</script>",
    '"><img src=x onerror="document.title=1">',
    "</h1></textarea></blockquote><script>alert(1)</script>",
    "{{ 7 * 7 }}{% for x in y %}",
    "' onmouseover='alert(1)' style='position:fixed",
    "<base href='https://evil.example/'><meta http-equiv='refresh' content='0;url=https://evil.example'>",
    "&lt;b&gt; &amp; %3Cscript%3E javascript:alert(1)",
    "\u202eright to left\u2066",
    "a lone surrogate \ud800",
    "a bell \x07 and a NUL \x00",
    "x" * 3000,
)
HOSTILE_DESIGN = """
title: Is it good?
about: One question.
unit: pair
instructions: Look and say.
text: "{instruction}"
questions:
  - {id: better, kind: pick_side, label: Which one?, quote: "{extras.caption}"}
  - {id: remark, kind: text, label: Why?, required: false, prefill: "{extras.caption}"}
fast_seconds: 0
"""
METHODS = ("zorro<script>alert('m')</script>", "quux'\"--")
SECRETS = ("zorro", "quux", "edit-", "flipped", "gold", "pictures/mine")


@pytest.mark.slow
def test_hostile_texts_are_shown_as_text_and_nothing_reveals_a_method(
    make_study: Make, small_run: Callable[..., Path], online: Online, see: See, tmp_path: Path
) -> None:
    names = [f"edit-{number}" for number in range(len(HOSTILE_TEXTS))]
    fields = {name: {"instruction": text} for name, text in zip(names, HOSTILE_TEXTS, strict=True)}
    extras = {name: {"caption": text} for name, text in zip(names, HOSTILE_TEXTS, strict=True)}
    design = tmp_path / "hostile.yaml"
    design.write_text(HOSTILE_DESIGN, encoding="utf-8")
    run = small_run(len(names), METHODS, fields=fields, extras=extras)
    study = make_study(run=run, design=str(design), raters=1)
    page = see(study.invite()[0].link(online(study)))
    bodies: list[str] = []
    page.on("response", lambda response: bodies.append(f"{response.url} {response.all_headers()}"))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.get_by_role("link", name="Begin").click()
    shown: list[str] = []
    for _ in names:
        page.wait_for_url("**/pages/*")
        page.wait_for_load_state("networkidle")
        shown.append(page.locator("h1").inner_text())
        assert page.title().startswith("Page ")
        assert page.locator("script:not([src])").count() == 0
        assert page.locator("h1 *, blockquote *").count() == 0, "no markup of a text becomes an element"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        bodies.append(page.content())
        bodies.append(page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])"))
        url = page.url
        by_mouse(page, "better", "left")
        page.locator("#question-remark textarea").fill("ok")
        page.get_by_role("button", name="Hand in").click()
        page.wait_for_url(re.compile(f"^(?!{re.escape(url)}$)"))
    page.wait_for_url("**/finished")
    assert study.status().done == len(names)
    visible = {" ".join(text.split()) for text in shown}
    for text in HOSTILE_TEXTS[:7]:
        assert " ".join(text.split()) in visible
    for body in bodies:
        assert not [secret for secret in SECRETS if secret in body]
