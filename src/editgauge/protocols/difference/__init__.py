"""The protocol `difference-captions`: differences that a model reports, against people's (EditInspector)."""

from __future__ import annotations

from asyncio import gather
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import Note
from editgauge.protocols import Protocol, SetPart, format_variant
from editgauge.protocols._rules import attempt, attempt_all
from editgauge.protocols._watermark import NOTE as WATERMARK_NOTE
from editgauge.protocols._watermark import without_watermark
from editgauge.protocols.difference._caption_metrics import SETS, WORDING, set_scores, wording_scores
from editgauge.protocols.difference._model_captions import (
    MAX_TRIPLETS,
    ModelDifferences,
    ask_common_difference,
    ask_same_difference,
    find_human_captions,
    human_captions,
    max_human_captions,
    report_by_judged_pipeline,
    report_by_pipeline,
    report_directly,
    triplets_by_judge,
)
from editgauge.protocols.difference._triplets import (
    Triplet,
    TripletAgreement,
    agreement,
    ask_embedder,
    ask_judge,
    first_change,
    match_objects,
    read_triplets,
)
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

MAX_DIFFERENCES = 1000.0
"""More differences than anyone lists."""
TRIPLET_SPECS = (
    ScoreSpec("mp", True, (0.0, 1.0), "Share of people's differences that the model reported (Model Precision)."),
    ScoreSpec("hr", False, (0.0, 1.0), "Share of the model's differences not reported by people (Hallucination Rate)."),
    ScoreSpec("soft_mp", True, (0.0, 1.0), "As mp; source and target may be reversed."),
    ScoreSpec("soft_hr", False, (0.0, 1.0), "As hr; source and target may be reversed."),
)
SPECS = (
    ScoreSpec("main_matched", True, (0.0, 1.0), "Share of people whose main difference is the model's."),
    *TRIPLET_SPECS,
    ScoreSpec(
        "differences", True, (0.0, MAX_DIFFERENCES), "How many differences the model reported; people report about six."
    ),
    *WORDING,
)
OBJECTS = ScoreSpec("objects", True, (0.0, 1e6), "How many objects are detected in the edited image; not a verdict.")
OPTIONS = {
    "pipeline": "captions at three zooms around the mask, then one call without pictures",
    "pipeline=judge": "the same, with captions by the judge instead of a captioner",
    "grader=NAME": "a judge of the run reads triplets and compares them; the rules do without it",
}
GRADER_ADVICE = "a judge may, as [grader=NAME]"
GRADER, RULES = "grader", "rules"
"""Who reads triplets and compares them with people's; never the examined judge, unless it is named."""
REPORTERS: dict[str | None, Callable[[Item, JudgingPerception, str], Awaitable[ModelDifferences]]] = {
    None: report_directly,
    "": report_by_pipeline,
    "judge": report_by_judged_pipeline,
}
"""Who reports the differences, by the option `pipeline`."""
QUESTION_COUNTS = {None: 2, "": 1, "judge": 1 + 2 * 3}
"""Number of questions: all differences and the main one, or one caption and those of its zooms."""
OBJECT_PAIRS = 4 * MAX_TRIPLETS**2
"""Per person's caption and model's: sources and targets of every two differences."""


class DifferenceCaptions(Protocol):
    """Captions of all differences and of the main one, compared with people's.

    Args:
        options: options by name, see `OPTIONS`
        released: count as the released notebooks do
        models: model names by role, with the judge's name under `judge`

    """

    about = "Does a model report the same differences as people? Main difference, MP and HR of triplets, n-gram scores."
    paper = "Yosef et al. 2025, EditInspector: A Benchmark for Evaluation of Text-Guided Image Edits, arXiv 2506.09988"
    sets = SETS

    def __init__(
        self,
        options: Mapping[str, str] | None = None,
        *,
        released: bool = False,
        models: Mapping[str, str] | None = None,
    ) -> None:
        self._options, self._released, self._models = dict(options or {}), released, dict(models or {})
        self.judge = self._models.get("judge")
        self._judge = self.judge or "judge"
        self.grader = self._options.get(GRADER)
        base = "difference-captions@released" if released else "difference-captions"
        self.name = format_variant(base, self._options | ({self._judge: ""} if "judge" in self._models else {}))
        captioner = ("captioner",) if self._options.get("pipeline") == "" else ()
        self.needs = ("judge", *captioner, *(() if self.grader else ("text_similarity",)))
        self.prefers = ("detector",) if "pipeline" in self._options else ()
        self.uses = ("detector",)
        self.scores = (*SPECS, *([OBJECTS] if "detector" in self._models else []))
        self.version = "4" if released else "3"
        self.deviations = DEVIATIONS + (RELEASED_DEVIATIONS if released else ())
        self._report = REPORTERS[self._options.get("pipeline")]

    def variant(self, options: Mapping[str, str]) -> Protocol:
        """Return a variant by options (`pipeline`, `grader=NAME`) or judge: any other word names one."""
        texts = {f"{name}={value}" if value else name: name for name, value in options.items()}
        selected = {name: options[name] for option, name in texts.items() if option in OPTIONS or name == GRADER}
        judges = [option for option, name in texts.items() if option not in OPTIONS and name != GRADER]
        if len(judges) > 1 or any("=" in option for option in judges) or RULES in judges or selected.get(GRADER) == "":
            available = [f"{name}: {means}" for name, means in OPTIONS.items()]
            option_texts = ", ".join(texts)
            raise BadInputError(
                f"'{self.name}' takes the name of one judge, and these options; got [{option_texts}].", available
            )
        if selected.get(GRADER) == RULES:
            del selected[GRADER]
        models = {**self._models, **({"judge": judges[0]} if judges else {})}
        return DifferenceCaptions(selected, released=self._released, models=models)

    def with_models(self, models: Mapping[str, str]) -> Protocol:
        """Return the protocol with the judge that was named first, by the variant or by the run."""
        return DifferenceCaptions(self._options, released=self._released, models={**models, **self._models})

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Score the reported differences alone and against people's captions."""
        item = without_watermark(item) if self._released else item
        answer = await self._report(item, perception, self._judge)
        evidence = (
            Note(f"Told: {answer.caption or 'no difference'}"),
            Note(f"Main: {answer.main or 'none'}"),
            *([Note(f"Metadata: {answer.metadata}")] if answer.metadata else []),
            *([Note(f"Zooms around {answer.region_origin}.")] if answer.region_origin else []),
        )
        main, triplets, wording = await gather(
            attempt(self._main_matched(item, answer, perception)),
            attempt_all(self._triplets(item, answer, perception), [spec.name for spec in TRIPLET_SPECS]),
            wording_scores(item, answer),
        )
        count = Score(float(min(len(answer.differences), MAX_DIFFERENCES)), evidence)
        objects = {"objects": await attempt(_objects(item, perception))} if OBJECTS in self.scores else {}
        return {"main_matched": main, **triplets, "differences": count, **wording, **objects}

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """Return the questions for the captions, and with a grader those for comparisons."""
        counts = Counter({self._judge: QUESTION_COUNTS[self._options.get("pipeline")] * outcomes})
        people = max_human_captions(edit)
        if self.grader and people:
            main_questions = 2 if self._released else people
            counts[self.grader] += (main_questions + people + 1 + people * OBJECT_PAIRS) * outcomes
        return counts

    async def part(self, item: Item, perception: JudgingPerception) -> SetPart:
        """Return the number of differences, the caption, and people's captions."""
        item = without_watermark(item) if self._released else item
        answer = await self._report(item, perception, self._judge)
        people = find_human_captions(item.edit, item.outcome)
        return (
            np.array([len(answer.differences)]),
            np.array([answer.caption]),
            np.array(people, dtype=np.str_),
        )

    def score_set(self, parts: Sequence[SetPart]) -> Scores:
        """Return Avg. Diff, No Diffs and CIDEr."""
        return set_scores(parts)

    async def _main_matched(
        self, item: Item, answer: ModelDifferences, perception: JudgingPerception
    ) -> Score | Unscored:
        captions = human_captions(item.edit, item.outcome)
        main = answer.main
        if main is None:
            return Score(0.0, (Note("The model saw no difference."),))
        if self._released and self.grader:
            common = await perception.ask(ask_common_difference(captions), role=self.grader)
            people = [common.value]
        else:
            people = [first_change(caption) for caption in captions]
        compared = await gather(*(self._is_same(sentence, main, answer, perception) for sentence in people))
        decisions = [(same, text) for same, text in zip(compared, people, strict=True) if same is not None]
        if not decisions:
            raise UnscorableError(
                "unparsable", f"the rules read no difference in what people say, such as '{people[0]}'"
            )
        notes = (f"{'matched' if same else 'not matched'}: {text}" for same, text in decisions)
        return Score(fmean(same for same, _ in decisions), tuple(map(Note, notes)))

    async def _is_same(
        self, human: str, main: str, answer: ModelDifferences, perception: JudgingPerception
    ) -> bool | None:
        """Compare two main differences by the grader or by rules; None if the rules cannot parse the person's."""
        if self.grader:
            return (await perception.ask(ask_same_difference(human, main, perception), role=self.grader)).value
        human_triplet = read_triplets(human)[:1]
        model_triplet = (answer.triplet,) if answer.triplet else read_triplets(main)[:1]
        if not model_triplet:
            raise UnscorableError("unparsable", f"the rules read no difference in '{main}'; {GRADER_ADVICE}")
        strict, _ = await self._agreements(human_triplet, model_triplet, perception)
        return strict.matched_count > 0 if human_triplet else None

    async def _read(self, caption: str, perception: JudgingPerception) -> tuple[Triplet, ...]:
        if self.grader:
            return await triplets_by_judge(caption, perception, self.grader)
        return read_triplets(caption)

    async def _of_model(self, answer: ModelDifferences, perception: JudgingPerception) -> tuple[Triplet, ...]:
        if answer.triplet:
            return (answer.triplet,)
        triplets = await self._read(answer.caption, perception)
        if answer.caption and not triplets and not self.grader:
            raise UnscorableError("unparsable", f"the rules read no difference in '{answer.caption}'; {GRADER_ADVICE}")
        return triplets

    async def _triplets(
        self, item: Item, answer: ModelDifferences, perception: JudgingPerception
    ) -> dict[str, Score | Unscored]:
        captions = human_captions(item.edit, item.outcome)
        model = await self._of_model(answer, perception)
        people = await gather(*(self._read(caption, perception) for caption in captions))
        agreements = await gather(*(self._agreements(human, model, perception) for human in people))
        strict, soft = zip(*agreements, strict=True)
        evidence = (
            *(Note(f"People: {triplet}") for triplet in people[0]),
            *(Note(f"Model: {triplet}") for triplet in model),
        )
        return {
            "mp": _mean([result.precision for result in strict], "people", evidence),
            "hr": _mean([result.hallucination for result in strict], "the model", evidence),
            "soft_mp": _mean([result.precision for result in soft], "people"),
            "soft_hr": _mean([result.hallucination for result in soft], "the model"),
        }

    async def _agreements(
        self, human: Sequence[Triplet], model: Sequence[Triplet], perception: JudgingPerception
    ) -> tuple[TripletAgreement, TripletAgreement]:
        """Return strict and soft agreement."""
        opinion = ask_judge(perception, self.grader) if self.grader else ask_embedder(perception)
        is_same = await match_objects(human, model, opinion, released=self._released)
        strict = agreement(human, model, is_same, released=self._released)
        return strict, agreement(human, model, is_same, soft=True, released=self._released)


def _mean(fractions: Sequence[float | None], reporter: str, evidence: tuple[Note, ...] = ()) -> Score | Unscored:
    values = [fraction for fraction in fractions if fraction is not None]
    if not values:
        return Unscored("not_applicable", f"no difference reported by {reporter}", evidence)
    return Score(fmean(values), evidence)


async def _objects(item: Item, perception: JudgingPerception) -> Score:
    return Score(float(len((await perception.detect_all(item.edited)).confidences)))


DEVIATIONS = (
    "Prompts are our own; answers have a fixed format, so that 'no difference' is never parsed from prose.",
    "Differences are parsed and compared by rules, or by the judge of [grader=NAME]; the paper uses GPT-4 and GPT-4o.",
    "Differences are matched one to one, as many as possible; the paper does not specify duplicates.",
    "Each person's caption is compared separately, and scores are averaged; the paper does not say which it used.",
    "HR without any prediction is unscored, not 0.",
    "Objects whose nouns are the same or synonyms in WordNet match without a call.",
)
RELEASED_DEVIATIONS = (
    "As the released notebooks count: several differences may match the same one, Replace equals Change Attribute, an "
    "addition's source and a removal's target are ignored.",
    "As there, objects without a related noun are different, and the grader decides about the others; without a "
    "grader, sentence embeddings do.",
    "As there, the grader takes people's main difference from all captions together; without a grader it is the first "
    "change of each caption.",
    WATERMARK_NOTE,
)

difference_captions = DifferenceCaptions()
as_released = DifferenceCaptions(released=True)
