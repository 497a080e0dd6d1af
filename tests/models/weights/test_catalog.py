"""The table of weights is whole, and its reader is strict."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from editgauge._util.packages import find_faults
from editgauge.errors import UnknownNameError
from editgauge.models.weights import available, catalog_entries, entry_of
from editgauge.models.weights._catalog import WeightsEntry

PACKAGED = [name for name, entry in catalog_entries().items() if entry.package]
RIGHT: dict[str, Any] = {
    "name": "net", "about": "a net", "roles": ["detector"], "license": "MIT", "license_from": "package", "hub": "we/net"
}  # fmt: skip


def test_only_strict_licenses_must_be_accepted() -> None:
    assert {name for name, entry in catalog_entries().items() if entry.accept} == {"yolo11n-seg"}
    assert {
        entry.license for entry in catalog_entries().values() if "GPL" in entry.license and not entry.accept
    } == set()


def test_what_is_named_instead_needs_only_pip() -> None:
    for entry in catalog_entries().values():
        if entry.instead:
            other = catalog_entries()[entry.instead].package
            assert other is not None
            assert other.kind != "npm"


@pytest.mark.parametrize("name", PACKAGED)
def test_what_is_on_this_machine_has_the_recorded_hashes(name: str) -> None:
    if not available(name):
        pytest.skip(f"NOT TESTED, {name} is not on this machine")
    if entry_of(name).carrier.folder.is_dir():
        assert find_faults(entry_of(name).carrier) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"license": None}, "license"),
        ({"colour": "red"}, "Extra inputs are not permitted"),
        ({"revision": "main"}, "should match pattern"),
        ({"hub": None}, "needs either a package with files, or a repository"),
        (
            {"files": [{"path": "a", "bytes": 1, "sha256": "0" * 64}]},
            "needs either a package with files, or a repository",
        ),
    ],
)
def test_a_wrong_row_is_refused(change: dict[str, Any], told: str) -> None:
    WeightsEntry(**RIGHT)
    with pytest.raises(ValidationError, match=told):
        WeightsEntry(**{**RIGHT, **change})


def test_an_unknown_name_is_guessed() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lpips-alex'"):
        entry_of("lpips-alexx")


def test_any_repository_of_the_hub_can_be_named() -> None:
    assert entry_of("openai/clip-vit-base-patch16") is catalog_entries()["clip-vit-base-patch16"]
    assert entry_of("someone/something").license == "see its card"
