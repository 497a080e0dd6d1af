"""Profiles, papers and the creation of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from editgauge.engine._options import open_protocols_with_models
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.models import models, profiles
from editgauge.models.catalog import MODELS, ROLE_NAMES
from editgauge.models.hub._network import Network
from editgauge.models.profiles import (
    FAMILIES,
    PAPERS,
    PROFILES,
    by_address,
    choose_for_protocols,
    choose_models,
    make_model,
    models_for,
    weights_of_profile,
)
from editgauge.models.roles import ROLES
from editgauge.models.weights import MissingWeightsError, available, catalog_entries, entry_of, required_weights
from editgauge.options import ModelOptions


@pytest.fixture
def nothing_pulled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))


def test_the_command_line_has_an_option_for_every_role() -> None:
    assert set(ROLE_NAMES) == set(ROLES)


def test_every_row_of_the_catalog_names_a_model_of_its_role() -> None:
    assert {name: make_model(name).card.role for name in MODELS} == {name: row.role for name, row in MODELS.items()}


@pytest.mark.parametrize("profile", PROFILES)
def test_every_model_of_a_profile_can_play_its_role(profile: str) -> None:
    for role, names in PROFILES[profile].items():
        for name in names:
            model = make_model(name)
            assert name.partition("[")[0] in models
            assert isinstance(model, ROLES[role])
            assert model.card.role == role
            assert model.card.license


def test_weights_of_a_profile_come_with_what_serves_in_their_place() -> None:
    assert ("efficientdet-lite2", "ssd-mobilenet-v2") in weights_of_profile("lite")
    assert ("wordnet",) in weights_of_profile("lite")
    assert required_weights(["u2netp-foreground", "u2netp"]) == [("u2netp",)]
    with pytest.raises(UnknownNameError, match="Did you mean 'lite'"):
        required_weights(["litee"])


@pytest.mark.usefixtures("nothing_pulled")
def test_what_is_not_here_is_said_with_the_command_that_brings_it() -> None:
    choice = choose_models("lite", {}, ["detector", "joint_embedder"])

    assert choice.models == {}
    assert choice.remarks == (
        "detector: efficientdet-lite2 or ssd-mobilenet-v2 is not on this machine; "
        "`editgauge models pull efficientdet-lite2` brings it.",
        "joint_embedder: the profile 'lite' has no model for it; pass `model=joint_embedder=NAME`.",
    )


def test_a_role_can_be_left_out() -> None:
    chosen = choose_models("lite", {"segmenter": "none"}, ("detector", "segmenter"))
    assert list(chosen.models) == ["detector"]
    assert not any("segmenter" in remark for remark in chosen.remarks)


def test_the_second_choice_is_taken_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "is_here", lambda model: model.card.id.startswith("SSD"))

    choice = choose_models("lite", {}, ["detector"])
    assert choice.models == {"detector": "ssd-mobilenet-v2"}
    assert choice.remarks == (
        "detector: ssd-mobilenet-v2 is taken, because efficientdet-lite2 is not on this machine.",
    )


@pytest.mark.usefixtures("nothing_pulled")
def test_a_protocol_that_cannot_do_without_a_model_is_refused_at_once() -> None:
    with pytest.raises(BadInputError, match=r"editval needs a detector\.\n.*models pull efficientdet-lite2"):
        open_protocols_with_models(["editval"], ModelOptions())


def test_a_model_that_a_protocol_can_do_without_is_no_remark_where_the_profile_has_none() -> None:
    for options in (ModelOptions(), ModelOptions(models="lite")):
        _, choice = open_protocols_with_models(["editgauge"], options)
        assert not any("joint_embedder" in remark for remark in choice.remarks)
    _, named = open_protocols_with_models(["editgauge"], ModelOptions(model={"joint_embedder": "clip-b16"}))
    assert named.models["joint_embedder"] == "clip-b16"


@pytest.mark.usefixtures("nothing_pulled")
def test_a_model_that_was_named_and_is_not_here_is_refused_by_the_service() -> None:
    from editgauge.models.perception import ModelService

    chosen, choice = open_protocols_with_models(["editval"], ModelOptions(model={"detector": "ssd-mobilenet-v2"}))
    assert [protocol.name for protocol in chosen] == ["editval"]
    with pytest.raises(MissingWeightsError, match="models pull ssd-mobilenet-v2"):
        ModelService(choice.models)


@pytest.mark.skipif(not available("lpips-alex"), reason="NOT TESTED: run `editgauge models pull lite`")
def test_scores_that_models_add_come_only_with_a_profile() -> None:
    without, _ = open_protocols_with_models(["preservation"], ModelOptions())
    with_profile, choice = open_protocols_with_models(["preservation"], ModelOptions(models="lite"))
    named, _ = open_protocols_with_models(["preservation"], ModelOptions(model={"perceptual_distance": "lpips-alex"}))

    assert not any("lpips" in spec.name for spec in without[0].scores)
    assert {"lpips-alex", "lpips-alex_outside"} <= {spec.name for spec in with_profile[0].scores}
    assert choice.models["perceptual_distance"] == "lpips-alex"
    assert "lpips-alex" in {spec.name for spec in named[0].scores}


@pytest.fixture
def all_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "is_here", lambda model: True)


@pytest.mark.usefixtures("all_here")
def test_the_profile_paper_means_each_protocols_own_paper() -> None:
    roles = {
        "editval": ["detector"],
        "pixlens": ["detector", "segmenter"],
        "pixlens@released": ["detector", "segmenter"],
        "augclip": ["joint_embedder"],
    }

    choice = choose_for_protocols("paper", {}, roles)

    assert choice.models == {
        "editval.detector": "owlvit-base[threshold=0.1]",
        "pixlens.detector": "grounding-dino-tiny[threshold=0.1]",
        "pixlens@released.detector": "grounding-dino-tiny[text_threshold=0.3,threshold=0.3]",
        "segmenter": "sam-huge",
        "joint_embedder": "clip-b16",
    }
    assert models_for("editval[delta=200]", choice.models)["detector"] == "owlvit-base[threshold=0.1]"
    assert any(source.startswith("pixlens, detector: grounding-dino-tiny[threshold=0.1]") for source in choice.sources)
    assert any(source.startswith("pixlens@released, detector: ") for source in choice.sources)


@pytest.mark.usefixtures("all_here")
def test_a_model_that_is_named_takes_the_place_of_every_papers() -> None:
    roles = {"editval": ["detector"], "pixlens": ["detector"]}

    assert choose_for_protocols("paper", {"detector": "owlv2-base"}, roles).models == {"detector": "owlv2-base"}


@pytest.mark.usefixtures("all_here")
def test_segmentation_consistency_has_a_segmenter_in_the_profile_paper() -> None:
    chosen, choice = open_protocols_with_models(["baselines"], ModelOptions(models="paper"))

    assert choice.models["semantic_segmenter"] == "segformer-b5"
    assert "sc[segformer-b5]" in {spec.name for spec in chosen[0].scores}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_says_where_its_network_comes_from(paper: str) -> None:
    assert all(model.source and len(model.source) < 200 for model in PAPERS[paper].values())


def test_thresholds_stand_in_brackets() -> None:
    detector = make_model("grounding-dino-tiny[threshold=0.25,text_threshold=0.2]")

    assert (detector.card.settings["operating_point"], detector.card.settings["text_threshold"]) == (0.25, 0.2)
    assert make_model("grounding-dino-tiny").card.settings["operating_point"] == 0.1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("owlvit-base[threshold=high]", "a number from 0 to 1, got 'high'"),
        ("owlvit-base[text_threshold=0.3]", "has no text threshold"),
        ("clip-b16[threshold=0.3]", "has no threshold"),
        ("owlvit-base[delta=0.3]", "takes threshold=NUMBER"),
    ],
)
def test_a_threshold_that_cannot_be_set_is_refused(name: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        make_model(name)


def test_lite_stays_small_to_fetch() -> None:
    def archives(profile: str) -> dict[str, int]:
        packages = [entry_of(names[0]).package for names in weights_of_profile(profile)]
        return {package.sha256: package.bytes for package in packages if package}

    assert sum(archives("lite").values()) < 250e6
    assert archives("lite").items() < archives("lite-plus").items()


def test_what_only_the_larger_profile_has_is_said() -> None:
    (remark,) = choose_models("lite", {}, ["face_reader"]).remarks
    assert remark.startswith("face_reader: the profile 'lite' has no model for it; 'lite-plus' has faces")
    assert "`editgauge models pull lite-plus`" in remark


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
