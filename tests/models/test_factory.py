from __future__ import annotations

from pathlib import Path

import pytest

from editgauge.errors import UnknownNameError
from editgauge.models._factory import FAMILIES, by_address, make_model
from editgauge.models.catalog import MODELS
from editgauge.models.hub._network import Network
from editgauge.models.roles import ROLES
from editgauge.models.weights import catalog_entries

NAMED = [name for name, row in MODELS.items() if row.is_of_hub]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_addressed(family: str, tmp_path: Path) -> None:
    model = by_address(f"{family}:someone/their-model@v2")
    assert isinstance(model, Network)
    assert (model.source.name, model.source.revision) == ("someone/their-model", "v2")
    assert isinstance(model, ROLES[model.role])
    (tmp_path / "a@b").mkdir()
    local = by_address(f"{family}:{tmp_path / 'a@b'}")
    assert isinstance(local, Network)
    assert (local.source.name, local.source.revision) == (str(tmp_path / "a@b"), None)


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"no family of models called 'owls'.*'owl'"):
        by_address("owls:google/owlvit-base-patch32")


@pytest.mark.parametrize("name", NAMED)
def test_every_name_plays_its_role_and_knows_its_license(name: str) -> None:
    model = make_model(name)
    assert isinstance(model, Network)
    assert isinstance(model, ROLES[model.role])
    assert model.card.role == model.role
    assert model.card.id == model.source.name


def test_the_catalog_lists_what_has_a_name() -> None:
    listed = {entry.hub for entry in catalog_entries().values()}
    missing = {name for name in NAMED if make_model(name).card.id not in listed}
    assert missing <= {"segformer-b5"}
