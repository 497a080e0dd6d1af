"""The verb `score`: one source image, one instruction, one edited image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from editgauge._util.images import ImageLike
from editgauge.engine.result import ScoreResult
from editgauge.engine.scorer import Scorer
from editgauge.options import Pairs, ScorerOptions, document_options


@document_options
def score(
    before: ImageLike,
    after: ImageLike,
    instruction: str,
    *,
    edit_type: str | None = None,
    subject: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    position: str | None = None,
    anchor: str | None = None,
    mask: ImageLike | None = None,
    source_caption: str | None = None,
    fields: str | Path | None = None,
    protocol: Sequence[str] = (),
    models: str | None = None,
    model: Pairs = (),
    judge: str | Pairs = (),
    prompts: str | Path | None = None,
) -> ScoreResult:
    """Score one edited image.

    The verdict comes first: was the edit done, was the rest kept, is it well made, and how certain that is. What the
    edit asks for is read from the instruction, unless `edit_type` and its fields are given. In Python an image is
    a path, a PIL image, or an array of height x width x 3 (uint8, or floats from 0 to 1).

    Example:
        $ editgauge score before.png after.png "make the cat black"
        >>> result = editgauge.score("before.png", "after.png", "make the cat black")
        >>> result.verdict.sentence, result["edit"].value

    Args:
        before: source image.
        after: edited image.
        instruction: what the edit asks for.
        edit_type: one of `editgauge list edit-types`; by default read from the instruction.
        subject: the object the edit is about.
        from_: what it was before.
        to: what it should be afterwards.
        position: where it should be, such as left, above, on or next to.
        anchor: the object that `position` is relative to.
        mask: image whose bright pixels may change; the rest should stay. In Python also an array of bool.
        source_caption: what the source image shows; pronouns of the instruction are resolved from it.
        fields: file with parsed instructions, from `editgauge parse --file`.
        protocol: how to score; repeat for several protocols. By default: those of the verdict, and pixel differences.

    """
    options = ScorerOptions(protocol=protocol, models=models, model=model, judge=judge, prompts=prompts)
    with Scorer.from_options(options) as scorer:
        return scorer.score(
            before,
            after,
            instruction,
            edit_type=edit_type,
            subject=subject,
            from_=from_,
            to=to,
            position=position,
            anchor=anchor,
            mask=mask,
            source_caption=source_caption,
            fields=fields,
        )
