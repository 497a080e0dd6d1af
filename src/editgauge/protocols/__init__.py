"""Protocols: one paper's way to score outcomes each. They ask perception and compute with metrics."""

from __future__ import annotations

import re
import typing
from typing import TYPE_CHECKING, Any

from editgauge._util.registry import Registry
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from editgauge.judges._interfaces import Judging
    from editgauge.models.interfaces import Perception
    from editgauge.types import Edit, Item, Scores, ScoreSpec

    class JudgingPerception(Perception, Judging, typing.Protocol):
        """What a protocol may ask while it scores: models that see, and judges that answer questions."""


Part = tuple["NDArray[Any]", ...]


class Protocol(typing.Protocol):
    """A way to score outcomes; inherit from it. Changing the meaning of a score requires a new `version`."""

    name: str
    about: str
    paper: str
    version: str
    deviations: tuple[str, ...]
    scores: tuple[ScoreSpec, ...]
    needs: tuple[str, ...] = ()
    """The roles of models without which it can score nothing; `judge` is one of them."""
    judge: str | None = None
    """The judge that it asks, by name; None if it has none or needs none."""
    grader: str | None = None
    """The judge that compares answers with what people say, by name; None where rules do."""
    prefers: tuple[str, ...] = ()
    """The roles that add evidence to its scores: asked where the profile has a model, done without otherwise."""
    uses: tuple[str, ...] = ()
    """The roles that add scores where a model plays them."""
    takes_inputs: bool = False
    """Can it score edits with further source pictures (`Item.inputs`)? The others get `not_applicable` for them."""
    sets: tuple[ScoreSpec, ...] = ()
    """Scores of whole sets of outcomes, such as FID."""

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """A score, or the reason why there is none, for every name in `scores`."""
        ...

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """How many different questions judges can be asked about that many outcomes of an edit, by judge.

        It bounds what a run costs, so it must hold whatever the judges answer, the judge alone or in a panel; without
        repair questions.
        """
        return {}

    async def part(self, item: Item, perception: JudgingPerception) -> Part:
        """What the scores of a set need from one outcome."""
        return ()

    def score_set(self, parts: Sequence[Part]) -> Scores:
        """A score for every name in `sets`, of all outcomes of a method or of one edit type."""
        return {}

    def variant(self, options: Mapping[str, str]) -> Protocol:
        """The protocol with other options, such as `editval[delta=200]`; its name contains them."""
        raise BadInputError(f"The protocol '{self.name}' has no options, got [{_written(options)}].")

    def with_models(self, models: Mapping[str, str]) -> Protocol:
        """The protocol as it is with these models by role: a score made by a model carries its name.

        A protocol that needs or uses a `judge` is given one judge at a time, under the role `judge`; it names itself
        after it, as `editinspector[gpt-4o]`, and asks it by that name: `await perception.ask(question, role="gpt-4o")`.
        """
        return self

    def worded(self, wording: str, prompts: Collection[str]) -> Protocol:
        """The protocol with the user's own prompts; one whose scores depend on the wording names itself after it.

        Args:
            wording: what the user's prompts are called
            prompts: the names of those that there are

        """
        return self


BUILT_IN = {
    "artifacts": "editgauge.protocols.artifacts:artifacts",
    "artifacts@released": "editgauge.protocols.artifacts:artifacts_as_released",
    "augclip": "editgauge.protocols.augclip:augclip",
    "augclip@appendix": "editgauge.protocols.augclip:augclip_as_in_the_appendix",
    "augclip@sum": "editgauge.protocols.augclip:augclip_by_sums",
    "baselines": "editgauge.protocols.baselines:baselines",
    "clip-family": "editgauge.protocols.clip_family:clip_family",
    "counts": "editgauge.protocols.counts:counts",
    "difference-captions": "editgauge.protocols.difference:difference_captions",
    "difference-captions@released": "editgauge.protocols.difference:as_released",
    "drift": "editgauge.protocols.drift:drift",
    "editgauge": "editgauge.protocols.editgauge:editgauge",
    "editinspector": "editgauge.protocols.editinspector:editinspector",
    "editval": "editgauge.protocols.editval:editval",
    "editval@released": "editgauge.protocols.editval:as_released",
    "local-clip": "editgauge.protocols.local_clip:local_clip",
    "people": "editgauge.protocols.people:people",
    "pixlens": "editgauge.protocols.pixlens:pixlens",
    "pixlens@released": "editgauge.protocols.pixlens:pixlens_as_released",
    "preservation": "editgauge.protocols.preservation:preservation",
    "preservation-aligned": "editgauge.protocols.preservation_aligned:preservation_aligned",
    "reference": "editgauge.protocols.reference:reference",
    "structure": "editgauge.protocols.structure:structure",
    "structure@released": "editgauge.protocols.structure:structure_as_released",
    "text": "editgauge.protocols.text:text",
    "unibench": "editgauge.protocols.unibench:unibench",
    "unibench-detect": "editgauge.protocols.unibench.detect:unibench_detect",
}

protocols: Registry[Protocol] = Registry("protocol", BUILT_IN)

_VARIANT = re.compile(r"([^\[\]]+)(?:\[([^\[\]]*)\])?")


def open_protocol(name: str | Protocol) -> Protocol:
    """Return the protocol of a name such as `editval`, `editval[delta=200]` or `rubric:mine.yaml`.

    A protocol object is returned as it is, so that `Scorer([MyProtocol()])` needs no entry point.
    """
    if not isinstance(name, str):
        return name
    base, options = read_variant(name)
    if base.startswith("rubric:"):
        from editgauge.protocols.rubric import open_rubric_protocol

        rubric = open_rubric_protocol(base)
        return rubric.variant(options) if options else rubric
    protocol = protocols.get(base)
    if protocol.name != base:
        raise BadInputError(
            f"The protocol '{base}' from {protocols.origin(base)} calls itself '{protocol.name}'. "
            "Its `name` and its entry point must be the same."
        )
    return protocol.variant(options) if options else protocol


def read_variant(name: str) -> tuple[str, dict[str, str]]:
    """A protocol's name and its options.

    >>> read_variant("augclip[lda,attributes=30]")
    ('augclip', {'lda': '', 'attributes': '30'})
    """
    match = _VARIANT.fullmatch(name)
    if not match:
        raise BadInputError(
            f"--protocol takes a name with options in brackets, such as editval[delta=200]; got '{name}'."
        )
    base, text = match.groups()
    settings = (part.strip().partition("=") for part in (text or "").split(",") if part.strip())
    return base, {option: value for option, _, value in settings}


def variant_name(base: str, options: Mapping[str, str]) -> str:
    """The name of a variant, the same whatever the order in which its options were given.

    >>> variant_name("augclip", {"attributes": "30", "lda": ""})
    'augclip[attributes=30,lda]'
    """
    return f"{base}[{_written(options)}]" if options else base


def named_after(score: str, model: str | None) -> str:
    """The name of a score that a model makes: numbers of two models never compare.

    >>> named_after("clip_t", "clip-b16"), named_after("clip_t", "")
    ('clip_t[clip-b16]', 'clip_t')
    """
    return f"{score}[{model}]" if model else score


def _written(options: Mapping[str, str]) -> str:
    return ",".join(f"{option}={value}" if value else option for option, value in sorted(options.items()))
