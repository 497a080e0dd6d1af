"""The signature of a score: everything that can change a number changes it, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadInputError
from editgauge.results import Manifest, ProtocolEntry, Signature
from editgauge.results.signature import CODES, WORDS, signature_of

JUDGED = "rubric:gedit[gpt-4o,repeat=3]"
MODEL = {"name": "owlv2", "id": "google/owlv2", "revision": "1", "sha256": "ab", "license": "MIT", "settings": "t=0.1"}
JUDGE = {
    "address": "openai:gpt-4o@http://one/v1",
    "model": "gpt-4o",
    "endpoint": "http://one/v1",
    "parameters": {"temperature": 0, "max_tokens": 64},
    "prompts": "built-in",
}


def manifest(**changes: Any) -> Manifest:
    entry = ProtocolEntry(about="", paper="", version="1", deviations=(), scores=())
    fields: dict[str, Any] = {
        "benchmark": "photos",
        "edits_sha256": "0123456789",
        "edits": 4,
        "seed": 0,
        "models": {"detector": MODEL, "segmenter": MODEL},
        "methods": {"mine": "/outcomes"},
        "protocols": {"editval": entry, JUDGED: entry},
        "planned": {},
        "editgauge": "0.2.0",
        "judges": {"gpt-4o": JUDGE, "other": JUDGE},
        "roles": {"editval": ["detector"], JUDGED: []},
    }
    return Manifest(**{**fields, **changes})


texts = st.text(min_size=1, max_size=12)


@given(texts, st.dictionaries(st.sampled_from(sorted(CODES)), texts, min_size=1))
def test_a_line_gives_the_signature_back(protocol: str, fields: dict[str, str]) -> None:
    signature = Signature(protocol, fields)
    line = str(signature)
    assert "\n" not in line
    if protocol == protocol.strip() and line == line.strip():
        assert Signature.parse(line) == signature


@pytest.mark.parametrize("text", ["", "editval", "editval|v", "editval|v:1|v:2", "editval|wrong:1", "|v:1"])
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(BadInputError):
        Signature.parse(text)


SHAPING: list[tuple[str, str, dict[str, Any]]] = [
    ("editval", "benchmark", {"benchmark": "other"}),
    ("editval", "benchmark", {"edits_sha256": "1123456789"}),
    ("editval", "edits", {"edits": 3}),
    ("editval", "seed", {"seed": 1}),
    ("editval", "editgauge", {"editgauge": "0.3.0"}),
    ("editval", "models", {"models": {"detector": {**MODEL, "sha256": "ac"}, "segmenter": MODEL}}),
    ("editval", "models", {"models": {"detector": {**MODEL, "settings": "t=0.2"}, "segmenter": MODEL}}),
    ("editval", "models", {"models": {"detector": {**MODEL, "revision": "2"}, "segmenter": MODEL}}),
    ("editval", "readings", {"fields_sha256": "abc"}),
    ("editval", "shard", {"shard": "1/2"}),
    ("editval", "broken", {"broken": ["a.png"]}),
    (JUDGED, "judges", {"judges": {"gpt-4o": {**JUDGE, "model": "gpt-5"}}}),
    (JUDGED, "judges", {"judges": {"gpt-4o": {**JUDGE, "prompts": "77aa"}}}),
    (JUDGED, "judges", {"judges": {"gpt-4o": {**JUDGE, "parameters": {"temperature": 1, "max_tokens": 64}}}}),
]


@pytest.mark.parametrize(("protocol", "field", "changes"), SHAPING)
def test_what_can_change_a_number_changes_the_signature(protocol: str, field: str, changes: dict[str, Any]) -> None:
    before, after = signature_of(manifest(), protocol), signature_of(manifest(**changes), protocol)
    assert str(before) != str(after)
    [difference] = before.differences(after)
    assert difference.startswith(WORDS[field])


def test_another_version_of_the_rules_changes_the_signature() -> None:
    entry = replace(manifest().protocols["editval"], version="2")
    after = signature_of(manifest(protocols={"editval": entry}), "editval")
    assert signature_of(manifest(), "editval").differences(after) == ["the version of the protocol: '1' and '2'"]


@pytest.mark.parametrize(
    ("protocol", "changes"),
    [
        ("editval", {"models": {"detector": {**MODEL, "license": "BSD"}, "segmenter": MODEL}}),
        ("editval", {"models": {"detector": MODEL, "segmenter": {**MODEL, "sha256": "other"}}}),
        ("editval", {"judges": {}}),
        ("editval", {"methods": {"mine": "/elsewhere"}}),
        (JUDGED, {"judges": {"gpt-4o": {**JUDGE, "endpoint": "http://two/v1"}}}),
        (JUDGED, {"judges": {"gpt-4o": JUDGE, "other": {**JUDGE, "model": "else"}}}),
    ],
)
def test_what_changes_no_number_leaves_the_signature(protocol: str, changes: dict[str, Any]) -> None:
    assert signature_of(manifest(), protocol) == signature_of(manifest(**changes), protocol)


def test_a_run_signs_its_records(make_run: Callable[..., Path], make_record: Callable[..., Any]) -> None:
    from editgauge.results import Run, ScoreKey

    run = Run.open(make_run(make_record("a")))
    row = run.table.slice(0, 1).to_pylist()[0]
    key = ScoreKey(row["edit"], row["method"], row["seed"], row["protocol"])
    [record, *_] = run.records(key)
    assert record.signature == str(run.signature(key.protocol))
    assert Signature.parse(record.signature).protocol == key.protocol
