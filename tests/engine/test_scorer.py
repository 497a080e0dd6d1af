"""A scorer that stays open."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import editgauge
from editgauge._util.images import Pixels, png_bytes
from editgauge.engine._judges import read_judge_config
from editgauge.engine._options import open_scoring
from editgauge.engine.scorer import MAX_CACHED_SOURCES, Scorer, SourceCache
from editgauge.errors import BadImageError, BadInputError
from editgauge.options import ModelOptions, ScorerOptions
from editgauge.protocols.rubric import prompt_name


def test_a_source_that_comes_again_is_decoded_once_and_large_ones_are_not_kept() -> None:
    small, large = (png_bytes(np.full((side, side, 3), 90, np.uint8)) for side in (64, 1200))
    sources = SourceCache()
    assert sources.load(small).pixels is sources.load(bytes(bytearray(small))).pixels
    assert sources.load(large).pixels is not sources.load(large).pixels
    first = sources.load(small).pixels
    for shade in range(MAX_CACHED_SOURCES):
        sources.load(png_bytes(np.full((32, 32, 3), shade, np.uint8)))
    assert sources.load(small).pixels is not first
    with pytest.raises(BadImageError, match="source image"):
        sources.load(b"no picture")


@pytest.mark.parametrize("models", ["lite", ModelOptions(models="lite"), None])
def test_models_are_named_as_in_score(models: str | ModelOptions | None, photo: Pixels) -> None:
    with Scorer(["preservation"], models) as scorer:
        result = scorer.score(photo, photo, "make it dark", edit_type="color")
    assert result["ssim"].value == 1


def test_a_mask_of_the_whole_image_leaves_nothing_to_keep(photo: Pixels) -> None:
    edited = photo.copy()
    edited[20:60, 20:60] = (255, 0, 0)
    with Scorer(["editgauge"]) as scorer:
        masked, unmasked = (
            scorer.score(photo, edited, "Make the cat black.", mask=mask)["kept"]
            for mask in (np.ones(photo.shape[:2], np.bool_), None)
        )
    assert (masked.value, masked.reason) == (None, "not_applicable")
    assert unmasked.value is not None


@pytest.mark.parametrize("instruction", [None, 7, ["make it red"]])
def test_an_instruction_must_be_text(instruction: Any, photo: Pixels) -> None:
    with pytest.raises(BadInputError, match="`instruction` must be text"):
        editgauge.score(photo, photo, instruction, protocol=["preservation[metrics=l1]"])


def test_control_characters_of_an_instruction_do_not_change_its_scores(photo: Pixels) -> None:
    with Scorer(["preservation"]) as scorer:
        plain, hostile = (
            scorer.score(photo, photo // 2, text) for text in ("Make it darker.", "Make\x00 it\x1b[31m darker.")
        )
    assert hostile.edit.instruction == plain.edit.instruction
    assert [score.value for score in hostile] == [score.value for score in plain]


@pytest.mark.parametrize("verb", [editgauge.score, editgauge.Scorer, editgauge.Monitor, editgauge.serve, editgauge.run])
def test_whatever_scores_takes_the_same_options(verb: Callable[..., object]) -> None:
    parameters = inspect.signature(verb).parameters
    defaults = {field.name: field.default for field in fields(ScorerOptions)}
    assert {name: parameters[name].default for name in defaults} == defaults


def test_a_scorer_words_its_protocols_by_the_prompts_as_a_run_does(tmp_path: Path) -> None:
    prompts = tmp_path / "mine"
    prompts.mkdir()
    name = prompt_name("complex-edit", "quality")
    (prompts / f"{name}.v2.txt").write_text("How good is it?")
    options = ScorerOptions(protocol=["rubric:complex-edit"], judge="openai:m@http://127.0.0.1:1/v1", prompts=prompts)
    judge_config = read_judge_config(options.judge_options)
    protocols, _, _ = open_scoring(options, judge_config)
    assert [protocol.name for protocol in Scorer.from_options(options).protocols] == [item.name for item in protocols]
    assert "mine" in protocols[0].name
