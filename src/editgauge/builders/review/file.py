"""The review file: proposed candidates and the decisions of reviewers about them.

Every reviewer's last word is kept. A candidate stays unless more reviewers drop it than keep it; between equals, the
later one decides. Among those who keep it, the latest edit gives its words.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from editgauge._util.fields import Text
from editgauge._util.files import read_text, write_text
from editgauge._util.masks import BoolMask, bounding_box
from editgauge.benchmarks._unibench_annotations import Instance, Side, StrictFields, run_lengths
from editgauge.errors import BadInputError

ENDING = ".review.json"
Status = Literal["proposed", "accepted", "edited", "dropped"]
Kind = Literal["unibench", "editval"]
FieldName = Literal["class", "color", "place", "template", "suits", "operation"]
MAX_VALUE_LENGTH = 500
Value = Annotated[str, Field(min_length=1, max_length=MAX_VALUE_LENGTH, pattern=r"\S")]


class Decision(StrictFields):
    """One reviewer's last word on a candidate."""

    by: Text
    status: Literal["accepted", "edited", "dropped"]
    value: Value | None = None
    """What it was changed to."""
    anchor: Text | None = None
    at: Text
    """The moment, in UTC."""


class ReviewCandidate(StrictFields):
    """A proposed candidate with the decisions of reviewers."""

    id: Text
    group: Text
    """The image (UniBench) or the class (EditVal) it belongs to."""
    task: Text
    """The type of task or edit."""
    instance: Text | None = None
    field: FieldName
    proposed: Value
    proposed_anchor: Text | None = None
    value: Value
    """What counts now."""
    anchor: Text | None = None
    """Of a place: the instance it is relative to."""
    status: Status = "proposed"
    by: Text | None = None
    """The reviewer whose word counts."""
    decisions: list[Decision] = Field(default_factory=list)
    added_by: Text | None = None
    """The reviewer who thought of it; None for what was proposed by a judge or by rules."""

    @property
    def is_kept(self) -> bool:
        """Does it belong to the benchmark as things stand?"""
        return self.status != "dropped"


class ReviewPicture(StrictFields):
    """A picture and the objects in it."""

    file: Text
    """Its path within the folder of images, with forward slashes."""
    width: Side
    height: Side
    number: int | None = None
    """Its MS-COCO number."""
    captions: list[Text] = Field(default_factory=list)
    license: str = ""
    instances: list[Instance] = Field(default_factory=list)


def instance_of(name: str, class_: str, mask: BoolMask, color: str | None = None) -> Instance:
    """Create an object of an image from its mask."""
    box = [float(side) for side in bounding_box(mask)]
    return Instance(id=name, class_=class_, color=color, box=box, mask=run_lengths(mask))


class CandidateGroup(StrictFields):
    """Candidates that are looked at together."""

    name: Text
    pictures: Annotated[list[ReviewPicture], Field(min_length=1)]
    uncropped: ReviewPicture | None = None
    """The picture as it was before a reviewer cropped it."""


class ColorCorrection(StrictFields):
    """A reviewer's word on the color of an object, which was measured wrongly."""

    group: Text
    instance: Text
    was: Text | None = None
    color: Text | None = None
    """None where the object has no color that can be named."""
    by: Text
    at: Text


class Omission(StrictFields):
    """An omitted image, object or candidate, with the reason."""

    what: Text
    why: Text


class Review(StrictFields):
    """A file of candidates under review."""

    format: Literal["editgauge-review/1"]
    kind: Kind
    by: Text
    """Who proposed the candidates."""
    images: str
    """The folder of the pictures, seen from this file."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The options that decide what is proposed."""
    classes: list[Text]
    """The class list that targets come from."""
    groups: list[CandidateGroup]
    candidates: list[ReviewCandidate]
    left_out: list[Omission] = Field(default_factory=list)
    corrections: list[ColorCorrection] = Field(default_factory=list)

    def of_group(self, name: str) -> list[ReviewCandidate]:
        """Return the candidates of a group."""
        return [candidate for candidate in self.candidates if candidate.group == name]

    def by_group(self) -> dict[str, list[ReviewCandidate]]:
        """Return all candidates by group, in one pass."""
        candidates: dict[str, list[ReviewCandidate]] = {group.name: [] for group in self.groups}
        for candidate in self.candidates:
            candidates.setdefault(candidate.group, []).append(candidate)
        return candidates

    def group(self, name: str) -> CandidateGroup | None:
        """Return the group of a name."""
        return next((item for item in self.groups if item.name == name), None)

    @property
    def reviewed(self) -> int:
        """How many candidates someone has decided on."""
        return sum(candidate.status != "proposed" for candidate in self.candidates)

    def with_candidate(self, changed: ReviewCandidate) -> Review:
        """Return the review with one candidate replaced."""
        candidates = [changed if candidate.id == changed.id else candidate for candidate in self.candidates]
        return self.model_copy(update={"candidates": candidates})

    def with_group(self, changed: CandidateGroup) -> Review:
        """Return the review with one group replaced."""
        groups = [changed if item.name == changed.name else item for item in self.groups]
        return self.model_copy(update={"groups": groups})


def decided(candidate: ReviewCandidate, decision: Decision) -> ReviewCandidate:
    """Return the candidate with a decision, which replaces the reviewer's earlier one."""
    decisions = [item for item in candidate.decisions if item.by != decision.by]
    return _settled(candidate, [*decisions, decision])


def withdrawn(candidate: ReviewCandidate, reviewer: str) -> ReviewCandidate:
    """Return the candidate without the reviewer's decision."""
    return _settled(candidate, [decision for decision in candidate.decisions if decision.by != reviewer])


def _settled(candidate: ReviewCandidate, decisions: Sequence[Decision]) -> ReviewCandidate:
    drops = [decision for decision in decisions if decision.status == "dropped"]
    keeps = [item for item in decisions if item.status != "dropped"]
    words: dict[str, Any] = {"value": candidate.proposed, "anchor": candidate.proposed_anchor, "status": "proposed"}
    if not decisions:
        return candidate.model_copy(update={**words, "by": None, "decisions": []})
    is_dropped = len(drops) > len(keeps) or (len(drops) == len(keeps) and decisions[-1].status == "dropped")
    edits = [keep for keep in keeps if keep.status == "edited"]
    if is_dropped:
        last = drops[-1]
        words |= {"status": "dropped"}
    elif edits:
        last = edits[-1]
        words |= {"status": "edited", "value": last.value, "anchor": last.anchor}
    else:
        last = keeps[-1]
        words |= {"status": "accepted"}
    return candidate.model_copy(update={**words, "by": last.by, "decisions": list(decisions)})


def agreement(review: Review) -> dict[str, dict[str, tuple[int, int]]]:
    """Return, by type and reviewer, how many candidates were accepted as proposed, and of how many (EditVal's table 2).

    Operations of EditVal have rows of their own: the paper's figures are of classes.
    """
    verdicts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for candidate in review.candidates:
        row = f"{candidate.task}, operations" if candidate.field == "operation" else candidate.task
        for decision in (item for item in candidate.decisions if item.by != candidate.added_by):
            verdicts[row][decision.by].append(decision.status == "accepted")
    return {
        row: {reviewer: (sum(taken), len(taken)) for reviewer, taken in reviewers.items()}
        for row, reviewers in sorted(verdicts.items())
    }


def review_path(out: Path) -> Path:
    """Return the path of the review file of a build.

    >>> review_path(Path("unibench.json")).name
    'unibench.review.json'
    """
    return out if out.name.endswith(ENDING) else out.with_name(f"{out.name.removesuffix('.json')}{ENDING}")


def benchmark_path(review: Path) -> Path:
    """Return the path of the file that is built from a review."""
    return review.with_name(f"{review.name.removesuffix(ENDING)}.json")


def read_review(file: Path) -> Review:
    """Read a review; raise `BadInputError` with all faults."""
    try:
        return Review.model_validate(json.loads(read_text(file)))
    except FileNotFoundError as error:
        raise BadInputError(
            f"There is no review file at '{file}'. `editgauge build unibench` and `editgauge build editval` write one "
            "next to what they build."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"'{file}' cannot be read: {error}.") from error
    except json.JSONDecodeError as error:
        raise BadInputError(f"'{file}' is not valid JSON: {error}.") from error
    except ValidationError as error:
        raise BadInputError(f"'{file}' is no review file:", list(_problems(error))) from error


def _problems(error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False):
        yield f"{'.'.join(map(str, item['loc']))}: {item['msg']}"


def write_review(review: Review, file: Path) -> None:
    """Write a review atomically."""
    value = review.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    write_text(file, one_per_line(value))


def one_per_line(value: Mapping[str, Any]) -> str:
    """Serialize a mapping as JSON with one line per list item, for readable diffs.

    >>> print(one_per_line({"format": "x/1", "images": [{"file": "a"}, {"file": "b"}]}), end="")
    {
     "format": "x/1",
     "images": [
      {"file": "a"},
      {"file": "b"}
     ]
    }
    """
    return "{\n" + ",\n".join(f" {_json(key)}: {_part(part)}" for key, part in value.items()) + "\n}\n"


def _part(part: Any) -> str:
    if isinstance(part, list) and part and isinstance(part[0], dict):
        return "[\n" + ",\n".join(f"  {_json(item)}" for item in part) + "\n ]"
    return _json(part)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
