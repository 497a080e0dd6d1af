"""`editgauge models selftest`: working models pass, broken and missing ones do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import Pixels
from editgauge.errors import UnknownNameError
from editgauge.models import BUILT_IN, selftest
from editgauge.models._selftest import CHECKS
from editgauge.models.answers import Vector
from editgauge.models.roles import ROLES, ModelCard
from editgauge.models.weights import available


class ConstantEmbedder:
    """An image embedder with the same vector for all images."""

    batch = 8
    weights: tuple[str, ...] = ()
    card = ModelCard(role="image_embedder", id="constant", revision="1", sha256="", license="MIT", input_size=(8, 8))

    def embed(self, images: Sequence[Pixels]) -> Vector:
        return np.ones((len(images), 4), np.float32)


class CrashingEmbedder(ConstantEmbedder):
    """An image embedder that raises."""

    card = ModelCard(role="image_embedder", id="crashing", revision="1", sha256="", license="MIT")

    def embed(self, images: Sequence[Pixels]) -> Vector:
        raise RuntimeError(f"no memory for {len(images)} images")


@pytest.fixture(autouse=True)
def broken_models(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (ConstantEmbedder, CrashingEmbedder):
        monkeypatch.setitem(BUILT_IN, model.__name__, f"{__name__}:{model.__name__}")


def test_every_role_has_checks() -> None:
    assert set(CHECKS) == set(ROLES)
    assert all(CHECKS.values())


@pytest.mark.parametrize("model", ["minilm", "dinov2-s14", "lpips-alex"])
def test_working_models_pass(model: str) -> None:
    if not available(model):
        pytest.skip(f"NOT TESTED: run `editgauge models pull {model}`")
    result = selftest(model)
    assert result.sound, result.checks
    assert {check.model for check in result.checks} == {model}


@pytest.mark.slow
def test_all_models_of_lite_plus_pass() -> None:
    result = selftest("lite-plus")
    assert [check for check in result.checks if check.status != "passed"] == []
    assert {"detector", "scene_classifier", "face_reader"} <= {check.role for check in result.checks}


def test_a_model_that_cannot_tell_images_apart_fails() -> None:
    (check,) = selftest("ConstantEmbedder").checks
    assert check.status == "failed"
    assert "1.000" in check.figures


def test_an_error_of_a_model_is_a_failed_check() -> None:
    (check,) = selftest("CrashingEmbedder").checks
    assert check.status == "failed"
    assert "no memory" in check.figures


def test_a_missing_model_is_not_ok(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    result = selftest("minilm")
    assert not result.sound
    (check,) = result.checks
    assert check.status == "missing"
    assert "editgauge models pull minilm" in check.figures


def test_unknown_names_are_rejected() -> None:
    with pytest.raises(UnknownNameError, match="minilm"):
        selftest("minilmm")


def test_the_command_prints_checks_and_exits_with_1_on_failure(editgauge: Callable[..., Any], tmp_path: Any) -> None:
    done = editgauge("models", "selftest", "minilm", code=1, env={"EDITGAUGE_CACHE": str(tmp_path)})
    assert "missing" in done.stdout
    assert "0 of 1 check passed" in done.stdout
