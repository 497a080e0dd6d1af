"""The layout of a task on Mechanical Turk, in a browser: what is asked, and what is not, as the answers go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from editgauge.studies.design import built_in, read_design
from editgauge.studies.exchange.mturk import layout

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

VALUES = {
    "check": "",
    "hidden": "caption_right",
    "text": "Make it &lt;b&gt;red&lt;/b&gt;",
    "source": "data:,",
    "edited": "data:,",
}


@pytest.mark.parametrize("width", [1366, 390])
def test_reasons_are_asked_where_something_is_wrong(browser: Browser, width: int) -> None:
    html = layout(read_design(built_in()["editinspector"], "editinspector.yaml"))
    for name, value in {**VALUES, "prefill_differences": "The cup &amp; the spoon"}.items():
        html = html.replace(f"${{{name}}}", value)
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.route("https://**", lambda route: route.abort())  # the platform's own script
    page.set_content(html)
    reason = page.locator('fieldset[data-question="accuracy_reason"]')
    assert reason.is_hidden()
    assert reason.locator("textarea").is_disabled()
    page.get_by_label("No, but one sees what was meant").check()
    assert reason.is_visible()
    assert reason.locator("textarea").is_enabled()
    page.locator('input[name="accuracy"][value="accurate"]').check()
    assert reason.is_hidden()
    assert page.locator('fieldset[data-question="caption_right"]').is_hidden(), "the edit has no caption"
    assert page.locator('textarea[name="differences"]').input_value() == "The cup & the spoon"
    assert page.locator(".asked").inner_text() == "Make it <b>red</b>"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
