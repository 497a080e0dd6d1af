"""CLIP-T, CLIP-I and directional CLIP: pictures and texts compared in the space that they share."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge.benchmarks.attributes import of_edit
from editgauge.errors import BadInputError
from editgauge.evidence import Evidence, Heat, Note
from editgauge.protocols import Protocol, named_after, variant_name
from editgauge.protocols._rules import attempt
from editgauge.protocols._text_image import Floats, Side, Vectors, attribute_mean, cosine, directional, edit_text
from editgauge.protocols.augclip._hyperplane import relative_weights
from editgauge.types import Item, Score, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception
    from editgauge.protocols import JudgingPerception

OPTIONS = {
    "maps": "relevancy maps: which regions contribute to the similarity with a text",
    "weighted": "attributes weighed by eq. 6 (eq. 14) instead of evenly (eq. 13)",
}
SIDES: tuple[Side, ...] = ("source", "target")
ABOUT = {
    "clip_t": "Does the edited image show the target text? Cosine of their embeddings.",
    "clip_i": "How alike are source and edited image? Cosine of their embeddings.",
    "clip_directional": "Did the picture change in the direction in which the text changed (eq. 1-2)?",
    "clip_directional_source_attributes": "The same with the source attributes in place of the source text.",
    "clip_directional_target_attributes": "The same with the target attributes in place of the target text.",
    "clip_directional_attributes": "The same with attributes in place of both texts.",
}
SIGNED = "relevancy of the change of text, edited minus source: above 0 counts more than before, below 0 less"
ALIKE = "The weights of a whole set were not positive: all attributes weigh the same."


class ClipFamily(Protocol):
    """Every score carries the encoder's name: the same formula means another number with another CLIP."""

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
        self.name = variant_name("clip-family", dict.fromkeys(self._options, ""))
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
            ScoreSpec(named_after(rule, encoder), True, (-1.0, 1.0), ABOUT[rule]) for rule in self._rules
        )

    def variant(self, options: Mapping[str, str]) -> ClipFamily:
        """`clip-family[maps]`, `clip-family[weighted]`, or both."""
        wrong = [f"there is no option '{option}'" for option in options if option not in OPTIONS]
        wrong += [f"'{option}' takes no value, got '{value}'" for option, value in options.items() if value]
        if wrong:
            known = "; ".join(f"{option} ({meaning})" for option, meaning in OPTIONS.items())
            raise BadInputError(
                f"'{variant_name('clip-family', options)}' cannot be understood. It takes {known}.", wrong
            )
        return ClipFamily(tuple(options), self._encoder)

    def with_models(self, models: Mapping[str, str]) -> ClipFamily:
        """With the encoder's name in the name of every score."""
        return ClipFamily(self._options, models.get("joint_embedder", ""))

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Every rule on its own: what one cannot tell leaves the others alone."""
        answers = await gather(*(attempt(rule(item, perception)) for rule in self._rules.values()))
        return {spec.name: score for spec, score in zip(self.scores, answers, strict=True)}

    async def _clip_t(self, item: Item, perception: Perception) -> Score:
        text = edit_text(item.edit, "target")
        picture, words = await gather(perception.joint_image(item.edited), perception.joint_text(text.words))
        evidence: list[Evidence] = [Note(text.source_note)]
        if "maps" in self._options:
            seen = await perception.explain(item.edited, words)
            evidence.append(Heat("edited", _to_one(seen), f'relevancy of "{text.words}"'))
        return Score(cosine(picture, words), tuple(evidence))

    async def _directional(self, item: Item, perception: Perception) -> Score:
        texts = [edit_text(item.edit, side) for side in SIDES]
        pictures, (before, after) = await gather(
            _pictures(item, perception), gather(*(perception.joint_text(text.words) for text in texts))
        )
        value = directional(*pictures, before, after)
        evidence: list[Evidence] = [Note(text.source_note) for text in texts]
        if "maps" in self._options:
            change = np.asarray(after - before)
            was, seen = await gather(perception.explain(item.source, change), perception.explain(item.edited, change))
            evidence.append(Heat("edited", _to_one(seen - was), SIGNED, signed=True))
        return Score(value, tuple(evidence))

    async def _augmented(self, item: Item, perception: Perception, by_attributes: Collection[Side]) -> Score:
        attributes = of_edit(item.edit)
        phrases: dict[Side, tuple[str, ...]] = {"source": attributes.source, "target": attributes.target}
        pictures, named = await gather(_pictures(item, perception), _embedded(phrases, perception))
        weights, notes = self._weights(named)
        ends: list[Vectors] = []
        for side in SIDES:
            if side in by_attributes:
                ends.append(attribute_mean(named[side], weights[side]))
            else:
                text = edit_text(item.edit, side)
                notes.append(Note(text.source_note))
                ends.append(await perception.joint_text(text.words))
        if attributes.by:
            notes.append(Note(f"Attributes by {attributes.by}."))
        return Score(directional(*pictures, *ends), tuple(notes))

    def _weights(self, named: Mapping[Side, Vectors]) -> tuple[dict[Side, Floats | None], list[Note]]:
        if "weighted" not in self._options:
            return {"source": None, "target": None}, []
        weights = relative_weights(named["source"], named["target"]).scaled()
        return {"source": weights.source, "target": weights.target}, [Note(ALIKE)] if weights.abandoned else []


async def _clip_i(item: Item, perception: Perception) -> Score:
    return Score(cosine(*await _pictures(item, perception)))


async def _pictures(item: Item, perception: Perception) -> tuple[Vectors, Vectors]:
    source, edited = await gather(perception.joint_image(item.source), perception.joint_image(item.edited))
    return source, edited


async def _embedded(phrases: Mapping[Side, tuple[str, ...]], perception: Perception) -> dict[Side, Vectors]:
    """One row per phrase."""
    rows = await gather(*(gather(*map(perception.joint_text, each)) for each in phrases.values()))
    return {side: np.stack(vectors) for side, vectors in zip(phrases, rows, strict=True)}


def _to_one(shares: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same map with 1 as the largest number, whatever its sign, so that it can be shown."""
    most = np.abs(shares).max()
    return shares / most if most > 0 else shares


clip_family = ClipFamily()
