"""A model behind an endpoint for image edits: what is sent, what comes back, and all that can go wrong on the way."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from editgauge._util.images import Pixels, png_bytes
from editgauge._util.masks import Rectangle
from editgauge.engine.edit import edit
from editgauge.errors import BadInputError, CannotEditError
from editgauge.methods.card import RefusedError
from editgauge.methods.endpoint import ImageEndpoint, open_image_endpoint
from editgauge.types import Edit
from tests.endpoint import Reply

if TYPE_CHECKING:
    from tests.methods.conftest import EditsServed

MakeEdit = Callable[..., Edit]


QUICK = {"timeout": "5", "attempts": "3", "longest_wait": "0.05"}


BLOCKED = {"error": {"code": "moderation_blocked", "type": "image_generation_user_error", "message": "Not this."}}


def endpoint(served: EditsServed, **options: str) -> ImageEndpoint:
    return ImageEndpoint("tiny-editor", served.url, {**QUICK, **options})


@pytest.fixture
def negative(photo: Pixels) -> bytes:
    return png_bytes(np.asarray(255 - photo, dtype=np.uint8))


def test_picture_and_words_go_out_and_the_edited_picture_comes_back(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, negative: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITGAUGE_EDITOR_KEY", "sesame")
    edits_served.picture_plan = lambda prompt, seen: negative
    edited = endpoint(edits_served, size="128x128").edit(make_edit(), photo, 3)
    assert (edited == 255 - photo).all()
    (sent,) = edits_served.requests
    assert sent["path"] == "/v1/images/edits"
    texts = {name: sent[name].decode() for name in ("model", "prompt", "n", "size")}
    assert texts == {"model": "tiny-editor", "prompt": "make the cat black", "n": "1", "size": "128x128"}
    assert (np.asarray(Image.open(BytesIO(sent["image"]))) == photo).all()
    assert edits_served.keys == ["Bearer sesame"]
    assert "seed" not in sent


def test_a_picture_at_an_address_is_fetched_without_the_key(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, negative: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITGAUGE_EDITOR_KEY", "sesame")
    edits_served.pictures["/made.png"] = negative
    address = edits_served.url.removesuffix("/v1") + "/made.png"
    edits_served.picture_plan = lambda prompt, seen: Reply(content={"data": [{"url": address}]})
    assert (endpoint(edits_served).edit(make_edit(), photo, 0) == 255 - photo).all()
    assert edits_served.keys == ["Bearer sesame", None]


def test_a_picture_on_another_host_is_not_fetched_unless_allowed(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, negative: bytes
) -> None:
    address = edits_served.url.removesuffix("/v1").replace("127.0.0.1", "localhost") + "/made.png"
    assert "localhost" in address
    edits_served.pictures["/made.png"] = negative
    edits_served.picture_plan = lambda prompt, seen: Reply(content={"data": [{"url": address}]})

    with pytest.raises(CannotEditError, match=r"on another host \('localhost'\), which is not fetched.*picture_hosts"):
        endpoint(edits_served).edit(make_edit(), photo, 0)
    assert len(edits_served.keys) == 1
    allowed = endpoint(edits_served, picture_hosts="localhost, cdn.example")
    assert (allowed.edit(make_edit(), photo, 0) == 255 - photo).all()


def test_seed_mask_and_fields_of_its_own_are_sent_when_asked_for(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, negative: bytes
) -> None:
    edits_served.picture_plan = lambda prompt, seen: negative
    method = endpoint(edits_served, mask="yes", send_seed="yes", **{"field.guidance_scale": "4"})
    method.edit(make_edit(mask=Rectangle(10, 20, 30, 40)), photo, 7)
    (sent,) = edits_served.requests
    assert (sent["seed"], sent["guidance_scale"]) == (b"7", b"4")
    alpha = np.asarray(Image.open(BytesIO(sent["mask"])))[..., 3]
    assert (alpha == 0).sum() == Rectangle(10, 20, 30, 40).render(128, 128).sum()
    with pytest.raises(CannotEditError, match="has no mask"):
        method.edit(make_edit(), photo, 7)


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(400, BLOCKED),
        Reply(403, {"error": {"code": "content_policy_violation", "message": "Not this."}}),
        Reply(200, BLOCKED),
    ],
)
def test_a_refusal_is_an_absence_and_is_not_asked_again(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, refusal: Reply
) -> None:
    edits_served.picture_plan = lambda prompt, seen: refusal
    with pytest.raises(RefusedError, match=r"^refused: .*Not this"):
        endpoint(edits_served).edit(make_edit(), photo, 0)
    assert len(edits_served.requests) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.01"}),
        Reply(503, "busy"),
        Reply(200, "<html>a gateway's page</html>"),
        Reply(200, {"data": []}),
        Reply(200, {"data": [{"b64_json": "not base64!"}]}),
        Reply(200, {"data": [{"url": "file:///etc/passwd"}]}),
        Reply(200, {"data": "x"}),
        Reply(200, b"\xff\xfe"),
        Reply(200, {"data": [{}]}, cut=5),
        Reply(cut=-1),
    ],
)
def test_what_passes_is_asked_again(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, negative: bytes, trouble: Reply
) -> None:
    edits_served.picture_plan = lambda prompt, seen: negative if seen else trouble
    assert (endpoint(edits_served).edit(make_edit(), photo, 0) == 255 - photo).all()
    assert len(edits_served.requests) == 2


def test_what_does_not_pass_is_an_absence_in_the_end(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels
) -> None:
    edits_served.picture_plan = lambda prompt, seen: Reply(500, "broken")
    with pytest.raises(CannotEditError, match="unreachable: after 3 tries: 500 broken"):
        endpoint(edits_served).edit(make_edit(), photo, 0)
    assert len(edits_served.requests) == 3


def test_one_that_wants_to_be_left_alone_for_long_is_given_up(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels
) -> None:
    edits_served.picture_plan = lambda prompt, seen: Reply(429, "full", {"Retry-After": "3600"})
    with pytest.raises(CannotEditError, match="unreachable: after 1 try: 429 full"):
        endpoint(edits_served).edit(make_edit(), photo, 0)


def test_a_silent_endpoint_is_left_after_its_time(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels
) -> None:
    edits_served.picture_plan = lambda prompt, seen: Reply(hang=0.5)
    with pytest.raises(CannotEditError, match=r"unreachable: after 1 try: no answer within 0\.05 seconds"):
        endpoint(edits_served, timeout="0.05", attempts="1").edit(make_edit(), photo, 0)


def test_bytes_that_are_no_picture_are_an_absence(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels
) -> None:
    edits_served.picture_plan = lambda prompt, seen: b"no picture"
    with pytest.raises(CannotEditError, match="crashed: the endpoint sent 10 bytes that are no picture"):
        endpoint(edits_served).edit(make_edit(), photo, 0)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(401, {"error": "bad key"}), "does not accept the key"),
        (Reply(404, "none"), "does it end in /v1"),
        (Reply(429, {"error": {"code": "insufficient_quota"}}), "has nothing left"),
    ],
)
def test_what_a_user_must_mend_ends_everything(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, reply: Reply, told: str
) -> None:
    edits_served.picture_plan = lambda prompt, seen: reply
    with pytest.raises(BadInputError, match=told):
        endpoint(edits_served).edit(make_edit(), photo, 0)


def test_a_request_turned_down_costs_no_other_edit(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels
) -> None:
    edits_served.picture_plan = lambda prompt, seen: Reply(400, {"error": {"message": "size is too odd"}})
    with pytest.raises(CannotEditError, match=r"crashed: the endpoint turned the request down: 400 .*too odd"):
        endpoint(edits_served).edit(make_edit(), photo, 0)


def test_the_key_is_never_shown(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sesame")
    edits_served.picture_plan = lambda prompt, seen: Reply(400, "the key sesame is known")
    method = endpoint(edits_served, key="MY_KEY")
    with pytest.raises(CannotEditError) as caught:
        method.edit(make_edit(), photo, 0)
    assert "sesame" not in str(caught.value) + repr(method.settings())


def test_an_address_needs_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadInputError, match="OPENAI_API_KEY_FILE names; neither is set"):
        open_image_endpoint("gpt-image-1")
    with pytest.raises(BadInputError, match="NO_SUCH_KEY_FILE names; neither is set"):
        open_image_endpoint("tiny@http://127.0.0.1:1/v1").variant({"key": "NO_SUCH_KEY"})


@pytest.mark.parametrize("address", ["", "tiny@http:/127.0.0.1/v1"])
def test_a_bad_address_says_how_it_is_written(address: str) -> None:
    with pytest.raises(BadInputError, match="endpoint:MODEL@URL"):
        open_image_endpoint(address)


def test_all_bad_options_are_told_at_once() -> None:
    method = open_image_endpoint("org/tiny:1b@http://127.0.0.1:1/v1")
    assert method.name == "tiny-1b"
    with pytest.raises(BadInputError) as caught:
        method.variant({"sise": "1", "timeout": "soon", "mask": "maybe"})
    assert caught.value.problems == (
        "no option 'sise'; did you mean 'size'?",
        "timeout is a number, got 'soon'",
        "mask is yes or no, got 'maybe'",
    )


def test_settings_tell_that_no_seed_is_sent() -> None:
    told: dict[str, Any] = open_image_endpoint("tiny@http://name:word@127.0.0.1:1/v1?x=secret").settings()
    assert told["endpoint"] == "http://127.0.0.1:1/v1"
    assert "not sent" in told["seed"]


def test_base64_with_a_data_address_is_read(
    edits_served: EditsServed, make_edit: MakeEdit, photo: Pixels, negative: bytes
) -> None:
    text = "data:image/png;base64," + base64.b64encode(negative).decode()
    edits_served.picture_plan = lambda prompt, seen: Reply(content={"data": [{"b64_json": text}]})
    assert (endpoint(edits_served).edit(make_edit(), photo, 0) == 255 - photo).all()


def test_an_endpoint_that_refuses_one_edit_is_paid_for_the_others(
    edits_served: EditsServed, tmp_path: Path, make_benchmark: Callable[..., Path], photo: Pixels
) -> None:
    make_benchmark(tmp_path / "photos", edits=4, size=48, instruction=["a", "b", "refuse", "d"])
    edits_served.picture_plan = lambda prompt, seen: Reply(400, BLOCKED) if prompt == "refuse" else png_bytes(photo)
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
