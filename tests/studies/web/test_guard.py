"""What a client may take of the server: time, connections, odd numbers and signs; and what ending a session ends."""

from __future__ import annotations

import socket
import stat
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from editgauge._util import http
from editgauge.studies import Study
from editgauge.studies.web._app import PASSWORD, make_app
from editgauge.studies.web._state import OWNER_COOKIE

Make = Callable[..., Study]
Online = Callable[..., str]
DIGITS = "9" * 5_000


def raw(address: str) -> socket.socket:
    index = urlsplit(address)
    return socket.create_connection((str(index.hostname), index.port or 80), timeout=30)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", b"GET"])
def test_headers_that_never_end_end_the_connection(
    sent: bytes, make_study: Make, online: Online, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "SECONDS_FOR_HEADERS", 0.1)
    with raw(online(make_study())) as connection:
        connection.sendall(sent)
        assert connection.recv(1000) == b""  # closed by the server; without a limit, this would wait for ever


def test_a_second_request_on_a_connection_has_the_same_limit(
    make_study: Make, online: Online, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "SECONDS_FOR_HEADERS", 0.1)
    with raw(online(make_study())) as connection:
        connection.sendall(b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        first = connection.recv(100_000)
        connection.sendall(b"GET / HT")
        while more := connection.recv(100_000):
            first += more
    assert first.count(b"HTTP/1.1") == 1


def test_a_form_that_never_ends_is_refused(make_study: Make, online: Online, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "SECONDS_FOR_A_BODY", 0.1)
    monkeypatch.setenv(PASSWORD, "sesame")
    with raw(online(make_study())) as connection:
        connection.sendall(
            b"POST /admin/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            b"Content-Length: 100\r\n\r\npassword="
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_headers_that_are_too_long_are_refused(make_study: Make, online: Online) -> None:
    answer = httpx.get(online(make_study()), headers={"X-Long": "x" * 100_000})

    assert answer.status_code in (400, 431)


def test_odd_numbers_and_signs_are_the_clients_mistake(
    make_study: Make, online: Online, come: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, "sesame")
    study = make_study()
    address = online(study)
    rater = come(address, study.invite()[0].token)
    page = rater.get("/next")
    path = page.url.path
    codes = {
        "page number": rater.get(f"/pages/{DIGITS}").status_code,
        "page number of 64 bits": rater.get(f"/pages/{2**63}").status_code,
        "negative page": rater.get("/pages/-1").status_code,
        "level": rater.send(path, {"good": DIGITS}, page).status_code,
        "two signs": rater.send(path, {"good": "--5"}, page).status_code,
        "null": rater.send(path, {"good": "1\0"}, page).status_code,
        "session": httpx.get(f"{address}/admin", cookies={OWNER_COOKIE: f"a.{DIGITS}.b"}).status_code,
        "half a sign": httpx.post(
            f"{address}{path}",
            content=b"good=%ED%A0%80",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            cookies=rater.client.cookies,
        ).status_code,
    }
    assert codes.pop("session") == 200  # the page that asks for the password
    assert {name: code for name, code in codes.items() if not 400 <= code < 500} == {}


def test_a_length_of_thousands_of_digits_is_refused(make_study: Make, online: Online) -> None:
    with raw(online(make_study())) as connection:
        connection.sendall(f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {DIGITS}\r\n\r\n".encode())
        assert connection.recv(1000).startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))


def test_signing_out_ends_the_session_everywhere_and_for_good(
    make_study: Make, online: Online, visit: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, "sesame")
    study = make_study()
    first, second = online(study), online(study)
    owner = visit(first)
    owner.get("/admin")
    owner.send("/admin/login", {"password": "sesame"})
    copied = {OWNER_COOKIE: owner.client.cookies[OWNER_COOKIE]}
    assert "How far the study is" in httpx.get(f"{first}/admin", cookies=copied).text

    owner.send("/admin/logout", {})

    for address in (first, second, online(study)):  # also a server that starts afterwards
        assert "How far the study is" not in httpx.get(f"{address}/admin", cookies=copied).text


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
def test_who_comes_through_a_proxy_is_not_at_this_machine(header: str, make_study: Make, online: Online) -> None:
    address = online(make_study())

    assert httpx.get(f"{address}/admin").status_code == 200
    assert httpx.get(f"{address}/admin", headers={header: "127.0.0.1"}).status_code == 404


def test_forwarded_addresses_count_from_trusted_proxies_alone(make_study: Make) -> None:
    app = make_app(make_study())

    assert not http.server_config(app).proxy_headers
    assert http.server_config(app, trusted_proxy="10.0.0.7").forwarded_allow_ips == "10.0.0.7"


def test_the_database_is_its_owners_alone(make_study: Make) -> None:
    study = make_study()

    for file in study.folder.glob("study.db*"):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name
