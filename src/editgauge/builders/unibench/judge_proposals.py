"""Candidates by a judge: a draft for each picture, asked again while it does not fit (section 3.2 of UniBench)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from editgauge.builders.built import OmittedTask
from editgauge.builders.judge_calls import Ask, OpenPrompt
from editgauge.builders.unibench.proposals import Proposal, sorted_out
from editgauge.builders.unibench.scenes import EditableScene
from editgauge.judges import LabeledImage, NoAnswerError, Question
from editgauge.judges._questions import Structured
from editgauge.judges.prompts import RenderedPrompt

PROMPTS = ("unibench_annotation", "unibench_correction")
SLOTS = {name: f"{{{name}}}" for name in ("target", "color", "position", "anchor")}
"""What the judge is to write with braces must come through the prompt as it is."""
CORRECTIONS = 2
"""How often a draft that does not fit is asked for again; what is wrong even then is left out."""
MENDABLE = ("unparsable", "truncated")


class DraftPlace(BaseModel, extra="forbid"):
    """A position relative to an anchor."""

    anchor: str
    words: str


class DraftInstance(BaseModel, extra="forbid"):
    """What one object could become."""

    instance: str
    color: str | None = None
    classes: list[str] = []
    colors: list[str] = []
    places: list[DraftPlace] = []
    class_templates: list[str] = []
    color_templates: list[str] = []
    move_templates: list[str] = []


class DraftGenerate(BaseModel, extra="forbid"):
    """What could be added."""

    classes: list[str] = []
    places: list[DraftPlace] = []
    templates: list[str] = []


class TaskProposal(BaseModel, extra="forbid"):
    """What a judge is to answer."""

    instances: list[DraftInstance]
    generate: DraftGenerate | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Drafted:
    """What came of asking about one picture."""

    scene: EditableScene
    """With the colors that the judge sees."""
    proposals: tuple[Proposal, ...]
    left_out: tuple[OmittedTask, ...]
    """What was wrong with the last draft."""


async def draft(scene: EditableScene, classes: Sequence[str], ask: Ask, prompt: OpenPrompt, number: int) -> Drafted:
    """Ask a judge for `number` candidates of each kind; raise `NoAnswerError`."""
    first, again = (prompt(name) for name in PROMPTS)
    request = first.render(**_slots(scene, classes, number), **SLOTS)
    question = _question(request, scene)
    for correction in range(CORRECTIONS + 1):
        try:
            proposal: TaskProposal = (await ask(question)).value
        except NoAnswerError as unable:
            if unable.fault not in MENDABLE or correction == CORRECTIONS:
                raise
            written, faults = "(nothing that could be read)", [unable.message]
        else:
            corrected = _with_colors(scene, proposal)
            fit, wrong = sorted_out(_proposals(proposal, scene), corrected.picture, classes)
            wrong += tuple(_strangers(proposal, scene))
            if not wrong or correction == CORRECTIONS:
                return Drafted(corrected, fit, wrong)
            written, faults = json.dumps(proposal.model_dump(), ensure_ascii=False), [item.why for item in wrong]
        lines = "\n".join(f"- {fault}" for fault in dict.fromkeys(faults))
        question = _question(again.render(asked=request.text, draft=written, faults=lines), scene)
    raise AssertionError("the last round returns or raises")


def _question(words: RenderedPrompt, scene: EditableScene) -> Question[TaskProposal]:
    return Question(words=words, form=Structured(TaskProposal), images=(LabeledImage("The picture:", scene.pixels),))


def _slots(scene: EditableScene, classes: Sequence[str], number: int) -> dict[str, object]:
    objects = [f"{name} ({_where(scene, name)})" for name in scene.editable]
    return {
        "number": number,
        "classes": ", ".join(classes),
        "objects": "; ".join(objects),
        "present": ", ".join(sorted(scene.classes)),
        "caption": json.dumps(scene.caption or "none", ensure_ascii=False),
    }


def _where(scene: EditableScene, name: str) -> str:
    """Its class and its place, in hundredths of the picture."""
    instance = scene.instance(name)
    left, top, right, bottom = (round(100 * side / scene.picture.width) for side in instance.box)
    return f"{instance.class_}, from {left}% to {right}% across and {top}% to {bottom}% down"


def _with_colors(scene: EditableScene, proposal: TaskProposal) -> EditableScene:
    """Return the scene with the colors that the judge reports."""
    colors = {
        instance.instance: instance.color
        for instance in proposal.instances
        if instance.color and instance.color.strip()
    }
    instances = [
        item.model_copy(update={"color": colors[item.id].strip()}) if item.id in colors else item
        for item in scene.picture.instances
    ]
    return replace(scene, picture=scene.picture.model_copy(update={"instances": instances}))


def _strangers(proposal: TaskProposal, scene: EditableScene) -> Iterator[OmittedTask]:
    for instance in proposal.instances:
        if instance.instance not in scene.editable:
            yield OmittedTask(
                f"{scene.picture.file}: {instance.instance}", f"'{instance.instance}' is no object of the list"
            )


def _proposals(proposal: TaskProposal, scene: EditableScene) -> Iterator[Proposal]:
    for draft_instance in (instance for instance in proposal.instances if instance.instance in scene.editable):
        yield from (
            Proposal("change_class", draft_instance.instance, "class", word) for word in _texts(draft_instance.classes)
        )
        yield from (
            Proposal("change_class", draft_instance.instance, "template", element)
            for element in _texts(draft_instance.class_templates)
        )
        yield from (
            Proposal("change_color", draft_instance.instance, "color", word) for word in _texts(draft_instance.colors)
        )
        yield from (
            Proposal("change_color", draft_instance.instance, "template", entry)
            for entry in _texts(draft_instance.color_templates)
        )
        for position in draft_instance.places:
            yield Proposal("move", draft_instance.instance, "place", " ".join(position.words.split()), position.anchor)
        yield from (
            Proposal("move", draft_instance.instance, "template", text)
            for text in _texts(draft_instance.move_templates)
        )
    if proposal.generate:
        yield from (Proposal("generate", None, "class", word) for word in _texts(proposal.generate.classes))
        for position in proposal.generate.places:
            yield Proposal("generate", None, "place", " ".join(position.words.split()), position.anchor)
        yield from (Proposal("generate", None, "template", item) for item in _texts(proposal.generate.templates))


def _texts(words: Sequence[str]) -> list[str]:
    """Normalize blanks and drop empty texts."""
    return [" ".join(word.split()) for word in words if word.strip()]
