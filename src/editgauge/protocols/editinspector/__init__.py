"""EditInspector: five questions about an edit, put to a judge that sees both pictures, and what it finds wrong."""

from __future__ import annotations

from asyncio import gather
from collections import ChainMap, Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from editgauge.errors import BadInputError, UnscorableError
from editgauge.protocols import Protocol, variant_name
from editgauge.protocols.editinspector.inspection import EXPLAINED, PROMPTS, SHARED, Inspection, InspectionOptions
from editgauge.types import Edit, Item, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

PAPER = (
    "Yosef et al. 2025, EditInspector: A Benchmark for Evaluation of Text-Guided Image Edits, arXiv 2506.09988, "
    "sections 3.2 and 3.3.1, appendices A.5 and A.6"
)
DEVIATIONS = (
    "The prompts are our own, so a judge may answer differently from table 3.",
    "In our prompt for technical precision, yes means precise; the paper's wording is ambiguous.",
    "Each image is shown in its own size, made smaller only where the server wants it.",
    "What the judge finds wrong is asked where it answers no, as people are asked, and where people found something; "
    "both share a point where they speak of one of the ten kinds of issue (A.7), or where the judge of [grader=NAME] "
    "says so; the paper asks GPT-4o.",
    "Refusals and answers in another format are unscored.",
)
ZERO_OR_ONE = (0.0, 1.0)
ASKED = (
    ScoreSpec("edit", True, ZERO_OR_ONE, "Was the instruction carried out? The judge's yes is 1.", "done"),
    ScoreSpec("consistent", True, ZERO_OR_ONE, "Does the change fit instruction, scene and common sense?"),
    ScoreSpec("precise", True, ZERO_OR_ONE, "Is the change precise: resolution, sharpness, surfaces?", "quality"),
    ScoreSpec(
        "artifacts", False, ZERO_OR_ONE, "Did the edit leave clear artifacts outside the requested change?", "artifacts"
    ),
    ScoreSpec("caption_right", True, ZERO_OR_ONE, "Does the edit's difference caption say what changed?"),
)
WITH_PEOPLE = tuple(
    ScoreSpec(f"{SHARED}{name}", True, ZERO_OR_ONE, f"Does the judge find the same not {name} that people do?")
    for name in EXPLAINED
)
SELF_AGREEMENT = ScoreSpec("self_agreement", True, ZERO_OR_ONE, "How often two answers to one question agree.")
ORDER_AGREEMENT = ScoreSpec(
    "order_agreement", True, ZERO_OR_ONE, "The share of questions answered alike in either order of the pictures."
)


class EditInspector(Protocol):
    """One variant per judge: `editinspector[gpt-4o]`."""

    about = "Five yes-or-no questions to a judge: followed, consistent, precise, artifacts, caption; and what is wrong."
    paper = PAPER
    version = "3"
    deviations = DEVIATIONS
    needs = ("judge",)

    def __init__(self, judge: str | None = None, options: InspectionOptions = InspectionOptions()) -> None:  # noqa: B008 - frozen
        self.judge = judge
        self.grader = options.grader
        self._options = options
        words = {"repeat": str(options.repeat)} if options.repeat > 1 else {}
        words |= {"swap": ""} if options.swap else {}
        words |= {"grader": options.grader} if options.grader else {}
        self.name = variant_name("editinspector", words | ({judge: ""} if judge else {}))
        self.scores: tuple[ScoreSpec, ...] = (
            *ASKED,
            *WITH_PEOPLE,
            *([SELF_AGREEMENT] if options.repeat > 1 else []),
            *([ORDER_AGREEMENT] if options.swap else []),
        )

    def variant(self, options: Mapping[str, str]) -> EditInspector:
        """`[repeat=3]` asks everything three times and takes the majority; `[swap]` asks in both orders of pictures.

        `[grader=NAME]` lets a judge of the run decide whether feedback is that of people, instead of the rules. Another
        word is the name of the judge.
        """
        judges = [word for word in options if word not in ("repeat", "swap", "grader")]
        if len(judges) > 1 or any(options[word] for word in (*judges, "swap") if word in options):
            name = variant_name("editinspector", options)
            raise BadInputError(
                f"editinspector takes repeat=N, swap, grader=NAME and the name of one judge; got '{name}'."
            )
        repeat = _odd(options["repeat"]) if "repeat" in options else 1
        grader = options.get("grader")
        chosen = InspectionOptions(repeat, "swap" in options, None if grader == "rules" else grader)
        return EditInspector(judges[0] if judges else None, chosen)

    def with_models(self, models: Mapping[str, str]) -> EditInspector:
        """Asks the judge that was named first: in the protocol's own name, or by the run."""
        return EditInspector(self.judge or models.get("judge"), self._options)

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """All questions in every repetition and order, what is wrong, and whether people say the same."""
        if self.judge is None:
            return {}
        times = self._options.repeat + self._options.swap
        counts = Counter({self.judge: (len(PROMPTS) * times + len(EXPLAINED)) * outcomes})
        if self.grader:
            counts[self.grader] += len(EXPLAINED) * outcomes
        return counts

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """The five answers, whether what was found wrong is what people found, and how steady the judge is."""
        if self.judge is None:
            raise UnscorableError("no_model", "editinspector needs a judge; name one with --judge")
        inspection = Inspection(item, perception, self.judge, self._options)
        scores = dict(ChainMap(*await gather(*map(inspection.verdict, PROMPTS))))
        steadiness = {
            SELF_AGREEMENT.name: inspection.self_agreement(),
            ORDER_AGREEMENT.name: inspection.order_agreement(),
        }
        return scores | {spec.name: steadiness[spec.name] for spec in self.scores if spec.name in steadiness}


def _odd(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) % 2 and int(text) > 1):
        raise BadInputError(f"editinspector[repeat=N] takes an odd number of at least 3, for a majority; got '{text}'.")
    return int(text)


editinspector = EditInspector()
