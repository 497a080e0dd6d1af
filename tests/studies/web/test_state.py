"""What must not happen: seeing what is not yours, forged forms, guessed secrets, files outside, told names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from editgauge.studies import Study
from editgauge.studies.web._guard import HEADERS, MAX_REQUEST_BYTES, Buckets, Rate, RateLimits
from editgauge.studies.web._state import KEY_FILE, Signer

Make = Callable[..., Study]
Online = Callable[..., str]
Come = Callable[..., Any]
PICTURE = re.compile(r"/pictures/[0-9a-f]+/[0-9a-f]+\.png")


@pytest.fixture
def study(make_study: Make) -> Study:
    return make_study(edits=6, methods=("zorro-method", "quux-method"), raters=2)


@pytest.fixture
def address(study: Study, online: Online) -> str:
    return online(study)


@pytest.fixture
def rater(study: Study, address: str, come: Come) -> Any:
    return come(address, study.invite()[0].token)


def test_every_answer_carries_the_headers(rater: Any, address: str) -> None:
    for path in ("/", "/next", "/nowhere", "/pages/x", "/static/study.js", "/static/../app.py", "/enter/wrong"):
        response = rater.get(path)
        assert {name: response.headers.get(name) for name in HEADERS} == HEADERS, path
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_pages_hold_no_inline_script_or_style(rater: Any) -> None:
    for path in ("/", "/next", "/finished", "/admin", "/nowhere"):
        text = rater.get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text), path


def test_no_response_names_a_method_or_the_token(study: Study, address: str, come: Come) -> None:
    token = study.invite()[0].token
    rater = come(address, token)
    page = rater.get("/next")
    while page.url.path != "/finished":
        for picture in PICTURE.findall(page.text):
            rater.get(picture)
        rater.send(f"{page.url.path}/save", {"good": "1"}, page)
        page = rater.send(page.url.path, {"good": "1"}, page)
    assert study.status().done == 12
    assert len(rater.seen) > 50
    for response in [item for seen in rater.seen for item in (*seen.history, seen)]:
        told = response.text + str(response.headers) + str(response.url)
        assert "zorro" not in told
        assert "quux" not in told
        if not response.url.path.startswith("/enter/"):
            assert token not in response.text + str(response.url)


def test_the_link_becomes_a_strict_cookie(study: Study, address: str) -> None:
    token = study.invite()[0].token
    with httpx.Client(base_url=address) as client:
        response = client.get(f"/enter/{token}")
        cookie = response.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Secure" not in cookie
        assert response.headers["Referrer-Policy"] == "no-referrer"
        behind_tls = client.get(f"/enter/{token}", headers={"X-Forwarded-Proto": "https"})
        assert "Secure" in behind_tls.headers["set-cookie"]


def test_a_wrong_link_opens_nothing_and_guessing_is_slow(study: Study, online: Online) -> None:
    address = online(study, RateLimits(guesses=Rate(3, 0.001)))
    token = study.invite()[0].token
    with httpx.Client(base_url=address) as client:
        result = [client.get(f"/enter/{'x' * 43}").status_code for _ in range(5)]
        assert result == [401, 401, 401, 429, 429]
        assert not client.cookies
        assert client.get(f"/enter/{token}").status_code == 200


def test_nobody_sees_anybody_elses_page_or_pictures(study: Study, address: str, come: Come) -> None:
    mine, other = (come(address, invitation.token) for invitation in study.invite(2))
    page = mine.get("/next")
    other_page = other.get("/next")
    number = page.url.path
    assert other.get(number).status_code == 404
    assert other.get(number).text == other.get("/pages/999999").text.replace("999999", number)
    for path in (number, f"{number}/save"):
        assert other.send(path, {"good": "1"}, other_page).status_code == 404
    pictures = PICTURE.findall(page.text)
    assert pictures
    for picture in pictures:
        assert mine.get(picture).status_code == 200
        assert mine.get(picture).headers["content-type"] == "image/png"
        assert other.get(picture).status_code == 404
        assert httpx.get(address + picture).status_code == 401
    assert study.status().done == 0


def test_pictures_of_pages_not_yet_given_cannot_be_asked_for(study: Study, rater: Any) -> None:
    page = rater.get("/next")
    shown = {path.rpartition("/")[2] for path in PICTURE.findall(page.text)}
    seal = PICTURE.findall(page.text)[0].split("/")[2]
    hidden = {path.name for path in study.images.iterdir()} - shown
    assert len(hidden) > 5
    assert {rater.get(f"/pictures/{seal}/{name}").status_code for name in hidden} == {404}


@pytest.mark.parametrize(
    "path",
    [
        "../study.yaml",
        "..%2fstudy.yaml",
        "%2e%2e%2fstudy.db",
        "..%252fstudy.yaml",
        "....//study.yaml",
        "..%5cstudy.yaml",
        "%c0%ae%c0%ae/study.yaml",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "web.key",
        "x%00.png",
    ],
)
def test_no_path_leads_out_of_the_pictures(study: Study, rater: Any, path: str) -> None:
    """Even with the right seal: it is made here with the study's own key."""
    signer = Signer.of(study.folder)
    me = str(study.rater(rater.client.cookies["editgauge_rater"]).id)
    for seal in ("0" * 40, *(signer.sign("picture", me, name) for name in (path, "../study.yaml", "web.key"))):
        response = rater.get(f"/pictures/{seal}/{path}")
        assert response.status_code == 404
    for folder in ("/static/", "/static/%2e%2e/", "/"):
        assert rater.get(f"{folder}{path}").status_code == 404


def test_a_picture_that_is_a_link_to_elsewhere_is_not_served(study: Study, rater: Any) -> None:
    picture = PICTURE.findall(rater.get("/next").text)[0]
    file = study.images / picture.rpartition("/")[2]
    file.unlink()
    file.symlink_to(study.folder / "study.yaml")
    assert rater.get(picture).status_code == 404


def test_forged_forms_change_nothing(study: Study, rater: Any, address: str) -> None:
    page = rater.get("/next")
    token = re.findall(r'name="form-token" value="(\w+)"', page.text)[0]
    other = Study.open(study.folder)
    right = {"good": "1", "form-token": token}
    post = rater.client.post
    path = page.url.path
    assert post(path, data={"good": "1"}).status_code == 403
    assert post(path, data={**right, "form-token": token[::-1]}).status_code == 403
    assert post(path, data=right, headers={"Origin": "https://evil.example"}).status_code == 403
    assert post(path, data=right, headers={"Origin": "null"}).status_code == 403
    assert post(path, data=right, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert rater.client.get(path, params=right).status_code == 200
    assert other.status().done == 0
    assert post(path, data=right, headers={"Origin": address}).status_code == 200
    assert other.status().done == 1
    other.close()


def test_a_form_of_another_rater_is_forged_too(study: Study, address: str, come: Come) -> None:
    mine, other = (come(address, invitation.token) for invitation in study.invite(2))
    page = mine.get("/next")
    foreign = other.get("/next")
    assert mine.send(page.url.path, {"good": "1"}, foreign).status_code == 403


def test_large_strange_and_torn_requests_are_refused(rater: Any) -> None:
    path = rater.get("/next").url.path
    post = rater.client.post
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert post(path, content=b"good=" + b"1" * MAX_REQUEST_BYTES, headers=form).status_code == 413
    assert post(path, content=iter([b"1" * 100_000] * 4), headers=form).status_code == 413
    assert post(path, files={"good": b"1"}).status_code == 415
    assert post(path, json={"good": 1}).status_code == 415
    assert post(path, content=b"good=%ff", headers=form).status_code == 400
    assert post(path, content=b"&".join(b"a=1" for _ in range(600)), headers=form).status_code == 400
    assert rater.client.put(path).status_code == 405


def test_a_fault_shows_no_trace(study: Study, rater: Any) -> None:
    del study.manifest.__dict__["raters"]
    response = rater.get("/admin")
    assert response.status_code == 500
    assert "Traceback" not in response.text
    assert "attribute" not in response.text.lower()
    assert {name: response.headers.get(name) for name in HEADERS} == HEADERS


def test_who_asks_too_often_has_to_wait(study: Study, online: Online, come: Come) -> None:
    address = online(study, RateLimits(rater=Rate(5, 0.5)))
    first, second = (come(address, invitation.token) for invitation in study.invite(2))
    result = [first.get("/") for _ in range(8)]
    assert {response.status_code for response in result[:5]} == {200}
    assert result[-1].status_code == 429
    assert int(result[-1].headers["Retry-After"]) >= 1
    assert second.get("/").status_code == 200
    crowded = online(study, RateLimits(address=Rate(3, 0.1)))
    assert [httpx.get(crowded + "/").status_code for _ in range(5)] == [200, 200, 200, 429, 429]


def test_a_bucket_fills_with_time_and_is_forgotten_when_full(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    buckets = Buckets(Rate(2, 0.5), lambda: now[0])
    assert [buckets.wait("a") for _ in range(3)] == [0, 0, 2]
    now[0] = 2
    assert buckets.wait("a") == 0
    monkeypatch.setattr("editgauge.studies.web._guard.MAX_CLIENTS", 10)
    for number in range(11):
        now[0] += 10
        buckets.wait(f"{number}")
    assert len(buckets._levels) < 10


def test_the_key_stays_and_is_its_owners_alone(tmp_path: Path) -> None:
    first = Signer.of(tmp_path).sign("form", "a")
    assert Signer.of(tmp_path).verify(first, "form", "a")
    assert not Signer.of(tmp_path).verify(first, "form", "b")
    assert not Signer.of(tmp_path).verify("é", "form", "a")
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


@pytest.mark.parametrize("path", ["/pages/1", "/pages/0", "/pages/-1", "/pages/99999999999999", "/finished", "/x"])
def test_errors_name_no_method_either(study: Study, rater: Any, path: str) -> None:
    for response in (rater.get(path), rater.client.post(path, data={"good": "zorro"}), rater.client.delete(path)):
        assert "zorro" not in response.text
        assert "quux" not in response.text + str(response.headers)


def test_images_do_not_tell_in_which_order_they_were_made(study: Study, rater: Any) -> None:
    """Images are written method by method: a time of writing would tell them apart."""
    responses = [rater.get(picture) for picture in PICTURE.findall(rater.get("/next").text)]
    assert len(responses) > 1
    assert len({response.headers.get("last-modified") for response in responses}) == 1
    assert len({path.stat().st_mtime for path in study.images.iterdir()}) == 1
