"""The owner's page: behind a password, or for this machine alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from editgauge.studies import Study
from editgauge.studies.web._app import PASSWORD
from editgauge.studies.web._guard import Rate, RateLimits

Make = Callable[..., Study]
Online = Callable[..., str]


@pytest.fixture
def guarded(make_study: Make, online: Online, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(PASSWORD, "open sésame")
    return online(make_study(), RateLimits(guesses=Rate(3, 0.001)))


def test_without_a_password_only_this_machine_sees_it(make_study: Make, online: Online) -> None:
    address = online(make_study())
    assert "How far the study is" in httpx.get(f"{address}/admin").text
    for headers in (
        {"X-Forwarded-For": "203.0.113.7"},
        {"Host": "lab.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": ""},
    ):
        assert httpx.get(f"{address}/admin", headers=headers).status_code == 404
    assert httpx.post(f"{address}/admin/login", data={"password": ""}).status_code == 404


def test_it_shows_progress_exclusions_and_no_secret(
    make_study: Make, online: Online, enter: Callable[..., Any], work: Callable[..., int]
) -> None:
    study = make_study(edits=2, methods=("mine",), raters=2)
    rater = enter(study)
    work(study, rater)
    study.exclude(rater.name, "asleep <b>at</b> the wheel")
    (invitation,) = study.invite(1, "Anna")
    text = httpx.get(f"{online(study)}/admin").text
    assert "asleep &lt;b&gt;at&lt;/b&gt; the wheel" in text
    assert "Anna" in text
    assert "excluded" in text
    assert invitation.token not in text


def test_the_password_opens_it_and_signing_out_closes_it(guarded: str, visit: Callable[[str], Any]) -> None:
    owner = visit(guarded)
    assert "Password" in owner.get("/admin").text
    wrong = owner.send("/admin/login", {"password": "open"})
    assert wrong.status_code == 403
    assert "How far the study is" not in wrong.text
    opened = owner.send("/admin/login", {"password": "open sésame"})
    assert "How far the study is" in opened.text
    assert "Password" in owner.send("/admin/logout", {}).text
    assert "How far the study is" not in owner.get("/admin").text


def test_wrong_passwords_make_even_the_right_one_wait(guarded: str, visit: Callable[[str], Any]) -> None:
    owner = visit(guarded)
    owner.get("/admin")
    result = [owner.send("/admin/login", {"password": word}).status_code for word in ("a", "b", "c")]
    assert result == [403, 403, 403]
    owner.get("/admin")
    assert owner.send("/admin/login", {"password": "open sésame"}).status_code == 429


@pytest.mark.parametrize("cookie", ["", "a.b.c", "a.99999999999.", "a.99999999999.0000", "....", "a"])
def test_a_made_up_cookie_opens_nothing(guarded: str, cookie: str) -> None:
    response = httpx.get(f"{guarded}/admin", headers={"Cookie": f"editgauge_owner={cookie}"})
    assert "How far the study is" not in response.text


def test_logging_in_needs_a_form_of_ours(guarded: str) -> None:
    assert httpx.post(f"{guarded}/admin/login", data={"password": "open sésame"}).status_code == 403
