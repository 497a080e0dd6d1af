"""Fifty raters at once over HTTP, the server killed in the middle: no acknowledged answer is lost, none too many."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from editgauge.studies import Study
from editgauge.studies._pages import latest
from editgauge.studies.store import Assignment, StudyItem

pytestmark = pytest.mark.slow

RATERS_AT_ONCE = 50
PATIENCE = 600
Make = Callable[..., Study]


@dataclass
class Acknowledged:
    """What the server said it has: pages saved, and pages handed in, with the value."""

    saved: dict[str, int] = field(default_factory=dict)
    handed_in: dict[str, int] = field(default_factory=dict)


@contextmanager
def served(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "editgauge", "study", "serve", str(folder), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def persist(client: httpx.Client, method: str, path: str, **options: object) -> httpx.Response:
    """Asks until there is an answer: a rater whose connection is gone loads the page again."""
    deadline = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline, "the server stays away"
        try:
            response = client.request(method, path, **options)  # type: ignore[arg-type]
        except httpx.TransportError:
            time.sleep(0.05)
            continue
        if response.status_code != 429:
            return response
        time.sleep(float(response.headers["Retry-After"]))


def rate(address: str, token: str, value: int) -> Acknowledged:
    """One rater, from the link to the end: saves and hands in every page."""
    told = Acknowledged()
    with httpx.Client(base_url=address, timeout=PATIENCE, cookies={"editgauge_rater": token}) as client:
        while True:
            way = persist(client, "GET", "/next")
            path = way.headers["location"]
            if path == "/finished":
                return told
            page = persist(client, "GET", path)
            seal = page.text.partition('name="form-token" value="')[2].partition('"')[0]
            form = {"form-token": seal, "good": str(value)}
            saved = persist(client, "POST", f"{path}/save", data=form, headers={"X-Saved-By": "script"})
            if saved.status_code == 204:
                told.saved[path] = value
            handed_in = persist(client, "POST", path, data=form)
            assert handed_in.headers["location"] == "/next", handed_in.text
            told.handed_in[path] = value


def rate_through_a_kill(study: Study, tokens: list[str], kill_after: int) -> list[Acknowledged]:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with ThreadPoolExecutor(len(tokens)) as pool:
        with served(study.folder, port) as first:
            working = [pool.submit(rate, address, token, n % 3) for n, token in enumerate(tokens)]
            deadline = time.monotonic() + PATIENCE
            while study.status().done < kill_after:
                assert time.monotonic() < deadline, "nobody answers"
                assert first.poll() is None, "the server ended by itself"
                time.sleep(0.02)
            first.send_signal(signal.SIGKILL)
            first.wait()
        assert kill_after <= study.status().done < study.status().requested, "killed in the middle"
        with served(study.folder, port):
            return [item.result(PATIENCE) for item in working]


def check(study: Study, told: list[Acknowledged], raters: int) -> None:
    with study.database.read() as session:
        counted = Counter(session.scalars(select(Assignment.item_id).where(Assignment.state == "done")))
        assert {counted[item] for item in session.scalars(select(StudyItem.id))} == {raters}
        assert not session.scalars(select(Assignment).where(Assignment.state != "done")).all()
        for entry in told:
            for path, value in (entry.saved | entry.handed_in).items():
                page = int(path.rpartition("/")[2])
                assert session.get_one(Assignment, page).state == "done"
                assert latest(session, page) == {"good": value}


def test_fifty_raters_and_a_killed_server(make_study: Make, database: str | None) -> None:
    study = make_study(edits=50, methods=("mine",), raters=3, database=database)
    tokens = [invitation.token for invitation in study.invite(RATERS_AT_ONCE)]
    told = rate_through_a_kill(study, tokens, kill_after=40)
    assert sum(len(item.handed_in) for item in told) == 150
    check(study, told, raters=3)


def test_fifty_raters_many_items_and_a_killed_server(make_study: Make, database: str | None) -> None:
    study = make_study(edits=250, methods=("mine", "theirs"), raters=3, database=database)
    tokens = [invitation.token for invitation in study.invite(RATERS_AT_ONCE)]
    told = rate_through_a_kill(study, tokens, kill_after=400)
    assert sum(len(item.handed_in) for item in told) == 1500
    check(study, told, raters=3)
