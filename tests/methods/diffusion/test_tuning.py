"""What the papers' methods must do on any network, trained or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from editgauge._util.images import Pixels
from editgauge.errors import BadInputError
from editgauge.methods.diffusion._stable_diffusion import Painter, PaperMethod
from editgauge.methods.diffusion.null_text import (
    null_text,
)
from editgauge.methods.diffusion.tuning import dds, dreambooth, imagic, sine, single_token, textual_inversion
from editgauge.types import Edit

pytestmark = pytest.mark.slow

torch: Any = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed")

CAPTION = "a photo of a red cat"


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def painter(saved: Any) -> Painter:
    return null_text.variant({"model": str(saved("stable"))}).painter


@pytest.fixture
def latents(painter: Painter, source: Pixels) -> Any:
    return painter.latents(Image.fromarray(source).resize((32, 32)))


def small(method: PaperMethod, saved: Any, **options: object) -> PaperMethod:
    told = {"model": str(saved("stable")), "size": "32", "steps": 2, **options}
    return method.variant({name: str(value) for name, value in told.items()})


def test_dds_moves_nothing_when_both_captions_agree(saved: Any, source: Pixels, request_: Edit) -> None:
    same = replace(request_, target_caption=request_.source_caption)
    method = small(dds, saved)
    still = method.edit(same, source, 0)
    np.testing.assert_array_equal(still, method.edit(same, source, 5))
    assert not np.array_equal(still, method.edit(request_, source, 0))


def test_imagic_goes_from_source_to_target_with_eta(saved: Any, source: Pixels, request_: Edit) -> None:
    at = {
        eta: small(imagic, saved, eta=eta, word_steps=3, word_rate=0.3, tuning_steps=0).edit(request_, source, 0)
        for eta in (0.0, 0.5, 1.0)
    }
    untaught = small(imagic, saved, eta=1.0, word_steps=0, tuning_steps=0)
    assert not np.array_equal(at[0.0], at[1.0])
    apart = [float(np.abs(at[eta].astype(float) - at[1.0]).mean()) for eta in (0.0, 0.5, 1.0)]
    assert apart == sorted(apart, reverse=True)
    still = small(imagic, saved, eta=0.3, word_steps=0, tuning_steps=0).edit(request_, source, 0)
    np.testing.assert_array_equal(still, untaught.edit(request_, source, 0), "nothing learned, nothing between")


def test_sine_without_a_share_for_the_source_hears_the_target_only(saved: Any, source: Pixels, request_: Edit) -> None:
    alone = small(sine, saved, source_share=0, tuning_steps=0).edit(request_, source, 0)
    late = small(sine, saved, source_share=0.6, until=1.0, tuning_steps=0).edit(request_, source, 0)
    heard = small(sine, saved, source_share=0.6, until=0.0, tuning_steps=0).edit(request_, source, 0)
    np.testing.assert_array_equal(alone, late)
    assert not np.array_equal(alone, heard)


@pytest.mark.parametrize("method", [imagic, sine, dreambooth, textual_inversion], ids=lambda method: method.name)
def test_tuning_leaves_the_model_as_it_was(method: PaperMethod, saved: Any, source: Pixels, request_: Edit) -> None:
    tuned, untuned = (
        small(method, saved, tuning_steps=steps, tuning_rate=0.01, **({"word_steps": 0} if method is imagic else {}))
        for steps in (2, 0)
    )
    parts = [tuned.pipe.unet, tuned.pipe.text_encoder]
    before = [{name: value.clone() for name, value in part.state_dict().items()} for part in parts]
    outcome = tuned.edit(request_, source, 0)
    for part, kept in zip(parts, before, strict=True):
        assert all(torch.equal(value, kept[name]) for name, value in part.state_dict().items())
    assert not np.array_equal(outcome, untuned.edit(request_, source, 0)), "what was learned is heard"


def test_a_learned_word_is_one_token(painter: Painter) -> None:
    assert single_token(painter, "*") == painter.pipe.tokenizer.convert_tokens_to_ids("*</w>")
    with pytest.raises(BadInputError, match="'newword' is 7 tokens"):
        single_token(painter, "newword")


def test_the_prompt_of_a_learned_word_holds_it(request_: Edit) -> None:
    assert "*" in textual_inversion.prompt(request_).text
    assert "sks" in dreambooth.prompt(request_).text
    assert "toy" in dreambooth.variant({"token": "toy"}).prompt(request_).text
