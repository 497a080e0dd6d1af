"""CLIP-T, CLIP-I and directional CLIP: compare images and texts in their shared embedding space."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from editgauge.benchmarks.attributes import of_edit
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import Evidence, Heat, Note
from editgauge.methods.prompts import render
from editgauge.metrics.embeddings import Floats, Vectors, cosine_similarity, directional_similarity
from editgauge.protocols import Protocol, format_variant, named_after
from editgauge.protocols._rules import attempt
from editgauge.protocols.augclip._hyperplane import relative_weights
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge.models.perception import Perception
    from editgauge.protocols import JudgingPerception

Side = Literal["source", "target"]
OPTIONS = {
    "maps": "relevancy maps: which regions contribute to the similarity with a text",
    "weighted": "attributes weighed by eq. 6 (eq. 14) instead of evenly (eq. 13)",
}
SIDES: tuple[Side, ...] = ("source", "target")
DESCRIPTIONS = {
    "clip_t": "Does the edited image show the target text? Cosine of their embeddings.",
    "clip_i": "How alike are source and edited image? Cosine of their embeddings.",
    "clip_directional": "Did the picture change in the direction in which the text changed (eq. 1-2)?",
    "clip_directional_source_attributes": "The same with the source attributes in place of the source text.",
    "clip_directional_target_attributes": "The same with the target attributes in place of the target text.",
    "clip_directional_attributes": "The same with attributes in place of both texts.",
}
SIGNED_MAP_LABEL = "relevancy of the change of text, edited minus source: above 0 counts more than before, below 0 less"
EQUAL_WEIGHTS_NOTE = "The weights of a whole set were not positive: all attributes weigh the same."


@dataclass(frozen=True, slots=True)
class EditText:
    """A text about the source or the edited image, and its origin."""

    side: Side
    words: str
    origin: str

    @property
    def source_note(self) -> str:
        """Text and origin as a sentence.

        >>> EditText("target", "a black cat", "by hand").source_note
        'Target text: "a black cat" (by hand).'
        """
        return f'{self.side.capitalize()} text: "{self.words}" ({self.origin}).'


def edit_text(edit: Edit, side: Side) -> EditText:
    """Return the text of one image, from the caption or the edit's parts; raise `UnscorableError` without either."""
    caption = edit.source_caption if side == "source" else edit.target_caption
    if caption and caption.strip():
        return EditText(side, caption.strip(), "the edit's own caption")
    try:
        prompt = render(edit, "captions" if side == "source" else "caption")
    except BadInputError as error:
        reason = " ".join(str(error).split())
        raise UnscorableError(
            "not_applicable", f"the edit has no {side}_caption, and none can be made: {reason}"
        ) from error
    words = (prompt.source or "") if side == "source" else prompt.text
    return EditText(side, words, f"from the edit's parts, by the template {prompt.templates[-1]}")


def attribute_mean(attributes: Vectors, weights: Floats | None = None) -> Floats:
    """Return the mean of attribute vectors, weighted if there are weights (AugCLIP, eq. 13 and 14).

    >>> attribute_mean(np.eye(2), np.array([1.0, 3.0])).tolist()
    [0.5, 1.5]
    """
    if len(attributes) == 0:
        raise ValueError("no attributes: there is no mean")
    exact = np.asarray(attributes, dtype=np.float64)
    return np.asarray((exact if weights is None else exact * weights[:, np.newaxis]).mean(axis=0))


class ClipFamily(Protocol):
    """CLIP scores; their names carry the encoder's name."""

    about = "CLIP-T, CLIP-I and directional CLIP, also with attributes; relevancy maps with [maps]."
    paper = "Kim et al. 2024, AugCLIP, section 5, eq. 13-14 and appendix D, arXiv 2410.11374"
    version = "2"
    deviations: tuple[str, ...] = (
        "Where an edit has no caption, the text is made from its parts by the prompt templates of methods; "
        "the evidence says which text was used.",
        "Weights of eq. 14 are mean cosines, positive and scaled to the mean 1, as in `augclip`.",
        "A picture, or a text, that did not change has no direction: unscored.",
    )
    needs = ("joint_embedder",)

    def __init__(self, options: Collection[str] = (), encoder: str = "") -> None:
        self._options = frozenset(options)
        self._encoder = encoder
        self.name = format_variant("clip-family", dict.fromkeys(self._options, ""))
        self._rules: dict[str, Callable[[Item, Perception], Awaitable[Score]]] = {
            "clip_t": self._clip_t,
            "clip_i": _clip_i,
            "clip_directional": self._directional,
            "clip_directional_source_attributes": lambda item, perception: self._augmented(
                item, perception, {"source"}
            ),
            "clip_directional_target_attributes": lambda item, perception: self._augmented(
                item, perception, {"target"}
            ),
            "clip_directional_attributes": lambda item, perception: self._augmented(
                item, perception, {"source", "target"}
            ),
        }
        self.scores = tuple(
            ScoreSpec(named_after(rule, encoder), True, (-1.0, 1.0), DESCRIPTIONS[rule]) for rule in self._rules
        )

    def variant(self, options: Mapping[str, str]) -> ClipFamily:
        """Return `clip-family[maps]`, `clip-family[weighted]`, or both."""
        faults = [f"there is no option '{option}'" for option in options if option not in OPTIONS]
        faults += [f"'{option}' takes no value, got '{value}'" for option, value in options.items() if value]
        if faults:
            available = "; ".join(f"{option} ({meaning})" for option, meaning in OPTIONS.items())
            raise BadInputError(
                f"'{format_variant('clip-family', options)}' cannot be understood. It takes {available}.", faults
            )
        return ClipFamily(tuple(options), self._encoder)

    def with_models(self, models: Mapping[str, str]) -> ClipFamily:
        """Return the protocol with the encoder's name in its scores."""
        return ClipFamily(self._options, models.get("joint_embedder", ""))

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Score each rule independently."""
        answers = await gather(*(attempt(rule(item, perception)) for rule in self._rules.values()))
        return {spec.name: score for spec, score in zip(self.scores, answers, strict=True)}

    async def _clip_t(self, item: Item, perception: Perception) -> Score:
        text = edit_text(item.edit, "target")
        image_vector, text_vector = await gather(perception.joint_image(item.edited), perception.joint_text(text.words))
        evidence: list[Evidence] = [Note(text.source_note)]
        if "maps" in self._options:
            relevancy = await perception.explain(item.edited, text_vector)
            evidence.append(Heat("edited", _normalize(relevancy), f'relevancy of "{text.words}"'))
        return Score(cosine_similarity(image_vector, text_vector), tuple(evidence))

    async def _directional(self, item: Item, perception: Perception) -> Score:
        texts = [edit_text(item.edit, side) for side in SIDES]
        image_vectors, (before, after) = await gather(
            _embed_images(item, perception), gather(*(perception.joint_text(text.words) for text in texts))
        )
        value = directional_similarity(*image_vectors, before, after)
        evidence: list[Evidence] = [Note(text.source_note) for text in texts]
        if "maps" in self._options:
            change = np.asarray(after - before)
            source_map, edited_map = await gather(
                perception.explain(item.source, change), perception.explain(item.edited, change)
            )
            evidence.append(Heat("edited", _normalize(edited_map - source_map), SIGNED_MAP_LABEL, signed=True))
        return Score(value, tuple(evidence))

    async def _augmented(self, item: Item, perception: Perception, by_attributes: Collection[Side]) -> Score:
        attributes = of_edit(item.edit)
        phrases: dict[Side, tuple[str, ...]] = {"source": attributes.source, "target": attributes.target}
        image_vectors, embedded = await gather(_embed_images(item, perception), _embed_phrases(phrases, perception))
        weights, notes = self._weights(embedded)
        ends: list[Vectors] = []
        for side in SIDES:
            if side in by_attributes:
                ends.append(attribute_mean(embedded[side], weights[side]))
            else:
                text = edit_text(item.edit, side)
                notes.append(Note(text.source_note))
                ends.append(await perception.joint_text(text.words))
        if attributes.by:
            notes.append(Note(f"Attributes by {attributes.by}."))
        return Score(directional_similarity(*image_vectors, *ends), tuple(notes))

    def _weights(self, embedded: Mapping[Side, Vectors]) -> tuple[dict[Side, Floats | None], list[Note]]:
        if "weighted" not in self._options:
            return {"source": None, "target": None}, []
        weights = relative_weights(embedded["source"], embedded["target"]).scaled()
        return {"source": weights.source, "target": weights.target}, [
            Note(EQUAL_WEIGHTS_NOTE)
        ] if weights.abandoned else []


async def _clip_i(item: Item, perception: Perception) -> Score:
    return Score(cosine_similarity(*await _embed_images(item, perception)))


async def _embed_images(item: Item, perception: Perception) -> tuple[Vectors, Vectors]:
    source, edited = await gather(perception.joint_image(item.source), perception.joint_image(item.edited))
    return source, edited


async def _embed_phrases(phrases: Mapping[Side, tuple[str, ...]], perception: Perception) -> dict[Side, Vectors]:
    """Embed the phrases of each side, one row per phrase."""
    rows = await gather(*(gather(*map(perception.joint_text, side_phrases)) for side_phrases in phrases.values()))
    return {side: np.stack(vectors) for side, vectors in zip(phrases, rows, strict=True)}


def _normalize(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale a map to an absolute maximum of 1."""
    maximum = np.abs(values).max()
    return values / maximum if maximum > 0 else values


clip_family = ClipFamily()
