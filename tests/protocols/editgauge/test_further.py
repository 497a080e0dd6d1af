"""Better models enter `editgauge` by role: used when given, missed honestly when not, weighed again by ratings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import editgauge
from editgauge._util.batching import run_async
from editgauge._util.images import ImageFile, Pixels
from editgauge.builders._calibration_fit import fit_weights
from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections, Patches, SegmentPrompt
from editgauge.models.roles import ModelCard
from editgauge.models.weights import available
from editgauge.protocols import open_protocol
from editgauge.protocols.editgauge import EditGaugeProtocol
from editgauge.protocols.editgauge._calibration import Calibration, apply_calibration, combine_overall
from editgauge.protocols.editgauge._further import JUDGED, WORDS, joint_evidence
from editgauge.types import Edit, Item, Outcome, Score
from tests.endpoint import MODEL, Served
from tests.small_clip import small_clip

WEIGHTS = ("efficientdet-lite2", "u2netp", "dinov2-s14")
needs_weights = pytest.mark.skipif(not all(available(name) for name in WEIGHTS), reason="weights are not here")


@dataclass
class OneSpace:
    """A joint embedder that knows how red a picture is: for tests only."""

    unable: str = ""
    texts: list[str] = field(default_factory=list)

    async def joint_image(self, image: Pixels) -> Any:
        if self.unable:
            raise UnscorableError("no_model", self.unable)
        red = image[..., 0].mean() / 255
        return np.array([red, np.sqrt(1 - red**2)])

    async def joint_text(self, text: str) -> Any:
        self.texts.append(text)
        return np.array([1.0, 0.0]) if "red" in text else np.array([0.0, 1.0])


def item(edited: int, **words: Any) -> Item:
    asked = {"type": "object_addition", "instruction": "Add a red gnome.", "to": "red gnome", **words}
    edit = Edit(id="e", source=ImageFile("s.png", Path("s.png")), **asked)
    source, after = np.zeros((8, 8, 3), np.uint8), np.zeros((8, 8, 3), np.uint8)
    after[..., 0] = edited
    return Item(edit=edit, outcome=Outcome(edit_id="e", method="m", image=Path("e.png")), source=source, edited=after)


def test_a_picture_that_came_nearer_to_the_words_has_evidence_for_it() -> None:
    perception: Any = OneSpace()
    none, some, much = [run_async(joint_evidence(item(level), perception)) for level in (0, 5, 200)]
    assert none.values[WORDS] == 0
    assert 0 < some.values[WORDS] < much.values[WORDS] == 1
    assert set(perception.texts) == {"a photo of red gnome"}


def test_captions_are_compared_where_there_are_both() -> None:
    perception: Any = OneSpace()
    texts = {"source_caption": "a garden", "target_caption": "a garden with a red gnome"}
    assert run_async(joint_evidence(item(200, **texts), perception)).values[WORDS] == 1
    assert perception.texts == ["a garden with a red gnome", "a garden"]


def test_without_a_joint_embedder_there_is_no_value_but_the_reason() -> None:
    perception: Any = OneSpace(unable="no model plays the role 'joint_embedder'")
    evidence = run_async(joint_evidence(item(200), perception))
    assert (dict(evidence.values), evidence.missing["joint_embedder"]) == ({}, perception.unable)


def test_a_protocol_with_more_models_says_which_evidence_it_has() -> None:
    plain = open_protocol("editgauge")
    assert plain.with_models({"detector": "efficientdet-lite2"}).scores == EditGaugeProtocol.scores
    more = plain.with_models({"joint_embedder": "clip-b16", "judge": "gpt-4o"})
    assert (more.name, more.judge) == ("editgauge[gpt-4o]", "gpt-4o")
    assert [spec.name for spec in more.scores if spec not in EditGaugeProtocol.scores] == [WORDS, JUDGED]
    assert open_protocol("editgauge[gpt-4o]").judge == "gpt-4o"


def test_ratings_weigh_the_evidence_of_a_role_by_what_it_told() -> None:
    chance = np.random.default_rng(3)
    honest, noise = chance.uniform(-1, 1, 400), chance.uniform(-1, 1, 400)
    shares = (chance.random(400) < 1 / (1 + np.exp(-2 * honest))).astype(float)
    weights = fit_weights(np.full(400, 0.5), np.stack([honest, noise, -honest], axis=1), shares)
    assert weights[0] == pytest.approx(2, abs=0.5)
    assert weights[1] < 0.3
    assert weights[2] == 0, "evidence is never turned round"


def test_a_calibration_with_weights_of_roles_moves_the_edit_and_says_so() -> None:
    parts = {"edit": Score(0.5), "success": Score(0.5), "quality": Score(0.5)}
    scores = {**parts, "overall": combine_overall(0.5, 0.5), JUDGED: Score(1.0)}
    made = apply_calibration(
        scores, Calibration("c.json", "00", EditGaugeProtocol.version, {}, {}, {JUDGED: 2.0, WORDS: 1.0})
    )
    edit, overall = made["edit"], made["overall"]
    assert isinstance(edit, Score)
    assert isinstance(overall, Score)
    assert edit.value == pytest.approx(1 / (1 + np.exp(-2)))
    assert "judged 1.00 (+2.0)" in edit.evidence[0].text  # type: ignore[union-attr]
    assert overall.value == pytest.approx(combine_overall(edit.value, 0.5).value)


class SeenByRole:
    """A detector that knows any word or only cats, and patch tokens or none: for tests only."""

    def __init__(self, after: Pixels, *, any_word: bool, tokens: bool) -> None:
        self.after, self.any_word, self.tokens = after, any_word, tokens

    def card(self, role: str) -> ModelCard:
        settings = {"operating_point": 0.3}
        return ModelCard(role=role, id=role, revision="", sha256="", license="", settings=settings)

    def knows(self, phrase: str) -> bool:
        return False

    async def detect(self, image: Pixels, *phrases: str, least: float | None = None) -> Detections:
        if not self.any_word and phrases != ("cat",):
            raise UnscorableError("unknown_word", f"no word for {phrases[0]!r}")
        if image is not self.after:
            return Detections.none()
        box = np.array([[20, 20, 60, 60]], np.float32)
        return Detections(box, np.array([0.9], np.float32), phrases, phrases)

    async def segment(self, image: Pixels, prompt: SegmentPrompt) -> Any:
        masks = np.zeros((len(prompt.boxes if prompt.boxes is not None else ()), *image.shape[:2]), np.bool_)
        masks[:, 20:60, 20:60] = True
        return masks

    async def patches(self, image: Pixels) -> Patches:
        if not self.tokens:
            raise UnscorableError("no_model", "no model plays the role 'image_embedder'")
        tokens = np.ones((16, 16, 4), np.float16)
        tokens[3:9, 3:9] = [1, -1, 1, -1] if image is self.after else 1
        return Patches(tokens, tokens[0, 0])

    async def joint_image(self, image: Pixels) -> Any:
        raise UnscorableError("no_model", "no model plays the role 'joint_embedder'")


@pytest.mark.parametrize(
    ("any_word", "tokens", "edit", "quality"),
    [
        (True, True, "answered", "answered"),
        (False, True, "unknown_word", "answered"),
        (True, False, "no_model", "no_model"),
    ],
)
def test_a_detector_and_an_embedder_are_used_when_given_and_missed_when_not(
    any_word: bool, tokens: bool, edit: str, quality: str
) -> None:
    source = np.random.default_rng(0).integers(90, 110, (96, 96, 3), dtype=np.uint8)
    after = source.copy()
    after[20:60, 20:60] = (200, 30, 30)
    request = Edit(
        id="e", source=ImageFile("s", Path("s")), type="object_addition", instruction="Add a gnome.", to="gnome"
    )
    outcome = Outcome(edit_id="e", method="m", image=Path("e.png"))
    perception: Any = SeenByRole(after, any_word=any_word, tokens=tokens)
    scores = run_async(
        EditGaugeProtocol().score(Item(edit=request, outcome=outcome, source=source, edited=after), perception)
    )
    known = {
        name: "answered" if isinstance(score, Score) else score.reason
        for name, score in scores.items()
        if name in ("edit", "quality")
    }
    assert known == {"edit": edit, "quality": quality}
    if edit == "answered":
        assert isinstance(scores["edit"], Score)
        assert scores["edit"].value >= 0.5


@pytest.fixture
def outcomes(
    tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> tuple[Path, Path]:
    words = {
        "type": ["object_addition"] * 2,
        "to": ["gnomish thingamabob"] * 2,
        "instruction": ["Add a gnomish thingamabob."] * 2,
    }
    benchmark = make_benchmark(tmp_path / "bench", edits=2, **words)
    return benchmark, make_outcomes(benchmark, tmp_path / "mine")


def edits_of(run: editgauge.Run, protocol: str) -> list[dict[str, Any]]:
    return [row for row in run.scores.to_pylist() if (row["protocol"], row["name"]) == (protocol, "edit")]


@pytest.mark.slow
@needs_weights
def test_a_word_that_nobody_knows_is_judged_once_a_role_is_played(
    outcomes: tuple[Path, Path], tmp_path: Path, served: Served
) -> None:
    benchmark, mine = outcomes
    options: dict[str, Any] = {"outcomes": {"mine": mine}, "protocol": ["editgauge"], "models": "lite", "quiet": True}
    alone = editgauge.run(benchmark, out=tmp_path / "alone", **options)
    assert {row["reason"] for row in edits_of(alone, "editgauge")} == {"unknown_word"}

    clip = editgauge.run(
        benchmark, out=tmp_path / "clip", model=[f"joint_embedder={small_clip(tmp_path / 'c')}"], **options
    )
    assert all(row["value"] is not None for row in edits_of(clip, "editgauge"))

    served.plan = lambda text, seen: '{"answer": 10}' if "gnomish" in text else "what?"
    good = editgauge.run(benchmark, out=tmp_path / "good", judge=[f"openai:{MODEL}@{served.url}"], **options)
    served.plan = lambda text, seen: '{"answer": 0}'
    bad = editgauge.run(benchmark, out=tmp_path / "bad", judge=[f"openai:{MODEL}@{served.url}"], **options)
    name = f"editgauge[{MODEL}]"
    for better, worse in zip(edits_of(good, name), edits_of(bad, name), strict=True):
        assert better["value"] > worse["value"]

    served.plan = lambda text, seen: "I cannot say."
    silent = editgauge.run(benchmark, out=tmp_path / "silent", judge=[f"openai:{MODEL}@{served.url}"], **options)
    assert {row["reason"] for row in edits_of(silent, name)} == {"unknown_word"}
