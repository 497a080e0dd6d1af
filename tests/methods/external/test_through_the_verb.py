"""Editors from elsewhere through `editgauge edit`: refusals recorded, cost counted, one at a time where it must be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from editgauge._util.images import Pixels, png_bytes
from editgauge.engine.edit import edit
from editgauge.errors import BadInputError
from tests.endpoint import Reply

if TYPE_CHECKING:
    from tests.methods.external.conftest import EditsServed

BLOCKED = Reply(400, {"error": {"code": "moderation_blocked", "message": "Not this."}})


def test_an_endpoint_that_refuses_one_edit_is_paid_for_the_others(
    edits_served: EditsServed, tmp_path: Path, make_benchmark: Callable[..., Path], photo: Pixels
) -> None:
    make_benchmark(tmp_path / "photos", edits=4, size=48, instruction=["a", "b", "refuse", "d"])
    edits_served.picture_plan = lambda prompt, seen: BLOCKED if prompt == "refuse" else png_bytes(photo)
    address, out = f"endpoint:org/tiny@{edits_served.url}", tmp_path / "out"
    made = edit(tmp_path / "photos", method=address, out=out, option=["price=0.04", "attempts=1"], quiet=True)
    assert (made.name, made.made) == ("tiny", 3)
    assert made.absences["edit-002"].startswith("refused: 400 ")
    assert made.card is not None
    assert (made.card.cost, made.card.failures) == (0.12, {"refused": 1})
    asked = len(edits_served.requests)
    edit(tmp_path / "photos", method=address, out=out, option=["price=0.05"], quiet=True)
    assert len(edits_served.requests) == asked, "what was refused is not asked, and not paid for, again"
    manifest = json.loads((out / "method.json").read_text("utf-8"))
    assert manifest["settings"]["model"] == "org/tiny"
    assert manifest["card"]["cost"] == 0.15


def test_a_key_that_is_not_accepted_stops_at_the_first_edit(
    edits_served: EditsServed, tmp_path: Path, make_benchmark: Callable[..., Path]
) -> None:
    make_benchmark(tmp_path / "photos", edits=12, size=48)
    edits_served.picture_plan = lambda prompt, seen: Reply(401, "who are you?")
    address = f"endpoint:tiny@{edits_served.url}"
    with pytest.raises(BadInputError, match="does not accept the key"):
        edit(tmp_path / "photos", method=address, out=tmp_path / "out", option=["at_once=1"], quiet=True)
    assert len(edits_served.requests) < 12


def test_a_command_sees_its_own_last_picture_in_later_turns(
    tmp_path: Path, make_benchmark: Callable[..., Path]
) -> None:
    make_benchmark(tmp_path / "turns", edits=2, size=48, follows=[None, "edit-000"], turn=[1, 2])
    out = tmp_path / "out"
    edit(tmp_path / "turns", method="copy", out=out, command="cp {source} {output}", seeds=2, quiet=True)
    assert len(list(out.glob("*.png"))) == 4
    first, second = ((out / f"edit-00{turn}__seed1.png").read_bytes() for turn in (0, 1))
    assert first == second


def test_a_method_that_can_do_one_at_a_time_is_never_asked_for_two(
    tmp_path: Path, make_benchmark: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "alone.py").write_text(
        "import threading, time\n"
        "lock = threading.Lock()\n"
        "def editor(edit, source, seed):\n"
        "    assert lock.acquire(blocking=False), 'two at once'\n"
        "    time.sleep(0.01)\n"
        "    lock.release()\n"
        "    return source\n"
        "editor.at_once = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    make_benchmark(tmp_path / "photos", edits=6, size=48)
    made = edit(tmp_path / "photos", method="python:alone:editor", out=tmp_path / "out", quiet=True)
    assert (made.made, made.absences) == (6, {})
    assert made.card is not None
    assert made.card.seconds_median is not None
    assert np.isfinite(made.card.seconds_median)
