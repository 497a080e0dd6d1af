"""Protocols: each scores outcomes as one paper describes, with models, judges and metrics."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from editgauge._util.registry import Registry
from editgauge._util.variants import format_options
from editgauge._util.variants import format_variant as format_variant
from editgauge._util.variants import parse_variant as parse_variant
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from editgauge.judges._interfaces import Judging
    from editgauge.models.perception import Perception
    from editgauge.types import Edit, Item, Scores, ScoreSpec

    class JudgingPerception(Perception, Judging, typing.Protocol):
        """Models and judges that a protocol may query while it scores."""


SetPart = tuple["NDArray[Any]", ...]


class Protocol(typing.Protocol):
    """Base class of protocols. Changing the meaning of a score requires a new `version`."""

    name: str
    about: str
    paper: str
    version: str
    deviations: tuple[str, ...]
    scores: tuple[ScoreSpec, ...]
    needs: tuple[str, ...] = ()
    """Roles of models that it cannot do without; `judge` is one of them."""
    judge: str | None = None
    """Name of its judge; None without one."""
    grader: str | None = None
    """Name of the judge that compares answers with people's; None if rules do."""
    prefers: tuple[str, ...] = ()
    """Roles that add evidence to its scores, if the profile has a model."""
    uses: tuple[str, ...] = ()
    """Roles that add scores, if the profile has a model."""
    takes_inputs: bool = False
    """Whether it can score edits with several source images (`Item.inputs`); if not, they are `not_applicable`."""
    sets: tuple[ScoreSpec, ...] = ()
    """Scores of sets of outcomes, such as FID."""

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Return a score, or the reason why there is none, for every name in `scores`."""
        ...

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:  # noqa: ARG002 - a default
        """Return an upper bound of the number of questions for that many outcomes of an edit, by judge.

        It bounds the cost of a run, so it must hold for any answers, for a judge alone or in a panel; without repair
        questions.
        """
        return {}

    async def part(self, item: Item, perception: JudgingPerception) -> SetPart:  # noqa: ARG002 - a default
        """Return what the scores of a set need from one outcome."""
        return ()

    def score_set(self, parts: Sequence[SetPart]) -> Scores:  # noqa: ARG002 - a default
        """Return a score for every name in `sets`, from all outcomes of a method or of one edit type."""
        return {}

    def variant(self, options: Mapping[str, str]) -> Protocol:
        """Return the protocol with other options, such as `editval[delta=200]`; its name contains them."""
        raise BadInputError(f"The protocol '{self.name}' has no options, got [{format_options(options)}].")

    def with_models(self, models: Mapping[str, str]) -> Protocol:  # noqa: ARG002 - a default
        """Return the protocol for these models by role: scores of a model carry its name.

        A protocol that needs or uses a `judge` gets one judge at a time, under the role `judge`. Its name contains that
        judge, as in `editinspector[gpt-4o]`, and it asks by that name: `await perception.ask(question, role="gpt-4o")`.
        """
        return self

    def worded(self, wording: str, prompts: Collection[str]) -> Protocol:  # noqa: ARG002 - a default
        """Return the protocol with the user's own prompts; its name contains the wording if scores depend on it.

        Args:
            wording: name of the user's prompts
            prompts: names of the available prompts
        """
        return self


BUILT_IN = {
    "artifacts": "editgauge.protocols.artifacts:artifacts",
    "artifacts@released": "editgauge.protocols.artifacts:artifacts_as_released",
    "augclip": "editgauge.protocols.augclip:augclip",
    "augclip@appendix": "editgauge.protocols.augclip:augclip_as_in_the_appendix",
    "augclip@literal": "editgauge.protocols.augclip:augclip_literal",
    "augclip@sum": "editgauge.protocols.augclip:augclip_by_sums",
    "baselines": "editgauge.protocols.baselines:baselines",
    "clip-family": "editgauge.protocols.clip_family:clip_family",
    "counts": "editgauge.protocols.counts:counts",
    "difference-captions": "editgauge.protocols.difference:difference_captions",
    "difference-captions@released": "editgauge.protocols.difference:as_released",
    "drift": "editgauge.protocols.drift:drift",
    "editgauge": "editgauge.protocols.editgauge:editgauge",
    "editinspector": "editgauge.protocols.editinspector:editinspector",
    "editinspector@released": "editgauge.protocols.editinspector:editinspector_as_released",
    "editval": "editgauge.protocols.editval:editval",
    "editval@appendix": "editgauge.protocols.editval:as_in_appendix",
    "editval@auto_eval": "editgauge.protocols.editval:as_auto_eval",
    "editval@evaluate_edits": "editgauge.protocols.editval:as_evaluate_edits",
    "editval@released": "editgauge.protocols.editval:as_released",
    "local-clip": "editgauge.protocols.local_clip:local_clip",
    "people": "editgauge.protocols.people:people",
    "pixlens": "editgauge.protocols.pixlens:pixlens",
    "pixlens@released": "editgauge.protocols.pixlens:pixlens_as_released",
    "preservation": "editgauge.protocols.preservation:preservation",
    "preservation-aligned": "editgauge.protocols.preservation:preservation_aligned",
    "reference": "editgauge.protocols.reference:reference",
    "structure": "editgauge.protocols.structure:structure",
    "structure@released": "editgauge.protocols.structure:structure_as_released",
    "text": "editgauge.protocols.text:text",
    "unibench": "editgauge.protocols.unibench:unibench",
    "unibench-detect": "editgauge.protocols.unibench.detect:unibench_detect",
}

protocols: Registry[Protocol] = Registry("protocol", BUILT_IN)


def open_protocol(name: str | Protocol) -> Protocol:
    """Return a protocol by name: `editval`, `editval[delta=200]`, `rubric:viescore` or `rubric:mine.yaml`.

    Every protocol has the option `mask_watermark`, which paints over the corner mark of DALL·E in both images. A
    protocol object is returned as it is, so that `Scorer([MyProtocol()])` needs no entry point.
    """
    if not isinstance(name, str):
        return name
    base, options = parse_variant(name)
    if "mask_watermark" in options:
        from editgauge.protocols._watermark import WatermarkMasked

        del options["mask_watermark"]
        return WatermarkMasked(open_protocol(format_variant(base, options)))
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


def named_after(score: str, model: str | None) -> str:
    """Return the name of a score that depends on a model: numbers of two models do not compare.

    >>> named_after("clip_t", "clip-b16"), named_after("clip_t", "")
    ('clip_t[clip-b16]', 'clip_t')
    """
    return f"{score}[{model}]" if model else score
