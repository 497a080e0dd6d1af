"""What a request to the score service holds, and what comes back: the whole of its documented schema."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from editgauge._util.variants import base_name
from editgauge.engine.result import ScoreResult
from editgauge.engine.scorer import EditDetails
from editgauge.errors import BadInputError
from editgauge.protocols.verdict import Verdict
from editgauge.results import ScoreRecord
from editgauge.types import ParsedStep, Position

REWARD = ("editgauge", "overall")
"""Protocol and score whose value is the reward: edit done and well made, fitted on people's ratings."""
TEXT_FIELDS = set(EditDetails.__annotations__) - {"mask", "fields"}
"""Fields of a request that are passed on as they are."""
DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,", re.ASCII)
MAX_TEXT_CHARACTERS = 20_000
"""Characters of one text."""

Text = Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)]
Base64Image = Annotated[str, Field(description="image file as base64, or a data: address of one")]


class ScoreRequest(BaseModel):
    """One edited picture to score."""

    model_config = ConfigDict(extra="forbid")

    sources: Annotated[list[Base64Image], Field(min_length=1, max_length=8, description="source image first")]
    outcome: Base64Image
    instruction: Text
    edit_type: Text | None = Field(None, description="one of `editgauge list edit-types`; read from the instruction")
    subject: Text | None = None
    from_: Text | None = Field(None, alias="from")
    to: Text | None = None
    position: Text | None = Field(None, description="left, right, above, below, on, in, next_to …")
    anchor: Text | None = None
    source_caption: Text | None = None
    target_caption: Text | None = None
    mask: Base64Image | None = Field(None, description="bright pixels may change, the rest should stay")
    evidence: bool = Field(False, description="send boxes, outlines and notes with every score")


class BatchRequest(BaseModel):
    """Several edited pictures to score at once."""

    model_config = ConfigDict(extra="forbid")

    items: Annotated[list[ScoreRequest], Field(min_length=1)]


class Reward(BaseModel):
    """A number in [0, 1] for training, or an explicit abstention: never a stand-in value."""

    value: float | None
    abstained: bool
    reason: str | None = None
    """Why there is no value, from the closed list of reasons."""


@pydantic_dataclass(frozen=True)
class VerdictAnswer(Verdict):
    """The verdict on one edited picture."""

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def sentence(self) -> str:
        """One plain line."""
        return Verdict.sentence.fget(self)  # type: ignore[attr-defined,no-any-return]


class EditAnswer(BaseModel):
    """The parsed instruction."""

    edit_type: str
    subject: str | None
    from_: str | None = Field(alias="from")
    to: str | None
    position: Position | None
    steps: list[ParsedStep]


class ScoreAnswer(BaseModel):
    """One score of one protocol."""

    protocol: str
    name: str
    value: float | None
    status: Literal["scored", "unscored"]
    reason: str | None
    higher_is_better: bool
    range: tuple[float, float]
    signature: str = Field("", description="everything that shaped the value, in one line")
    evidence: tuple[dict[str, Any], ...] = ()


class ScoreResponse(BaseModel):
    """The verdict, the reward and all scores of one edited picture."""

    verdict: VerdictAnswer
    reward: Reward
    scores: list[ScoreAnswer] = Field(description="with evidence only if the request asks for it")
    edit: EditAnswer


class Problem(BaseModel):
    """Why a request, or one item of a batch, was not scored."""

    reason: str
    detail: str


class ErrorResponse(BaseModel):
    """Body of every response that is not a success."""

    error: Problem


class BatchResult(BaseModel):
    """Result of one item of a batch: exactly one field is set."""

    result: ScoreResponse | None = None
    error: Problem | None = None


class BatchResponse(BaseModel):
    """One result for each item, in their order."""

    results: list[BatchResult]


def arguments_of(request: ScoreRequest) -> dict[str, Any]:
    """Convert the request to arguments of `Scorer.submit`; raise `BadInputError` if an image is not base64."""
    if len(request.sources) > 1:
        raise BadInputError(f"Edits of one source image are scored, got {len(request.sources)} source images.")
    return {
        "before": _image(request.sources[0], "source image"),
        "after": _image(request.outcome, "outcome"),
        "instruction": request.instruction,
        "mask": None if request.mask is None else _image(request.mask, "mask"),
        **request.model_dump(include=TEXT_FIELDS),
    }


def _image(text: str, name: str) -> bytes:
    """Decode an image file from base64 or a data URL."""
    start = DATA_URL.match(text[:100])
    try:
        return base64.b64decode(text[start.end() :] if start else text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInputError(f"The {name} is not base64: {error}. Send the bytes of an image file as base64.") from error


def response_of(result: ScoreResult, *, with_evidence: bool) -> ScoreResponse:
    """Convert a result to a response; evidence is large and included only on request."""
    edit = result.edit
    return ScoreResponse(
        verdict=VerdictAnswer(**asdict(result.verdict)),
        reward=_reward(list(result)),
        scores=[ScoreAnswer(**record.to_dict(with_evidence=with_evidence)) for record in result],
        edit=EditAnswer(
            edit_type=edit.type,
            subject=edit.subject,
            **{"from": edit.from_},
            to=edit.to,
            position=edit.position,
            steps=list(edit.reading.steps) if edit.reading else [],
        ),
    )


def _reward(scores: Sequence[ScoreRecord]) -> Reward:
    for score in scores:
        if (base_name(score.protocol), score.name) == REWARD:
            return Reward(value=score.value, abstained=score.value is None, reason=score.reason)
    return Reward(value=None, abstained=True, reason="no_rule")
