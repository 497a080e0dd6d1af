"""Amazon Mechanical Turk: the layout of a task, the input of a batch, and what a worker must bring.

Checked against Amazon's Requester UI Guide ("Create a project", "Publish a batch of HITs"), the Developer Guide's
crowd-form examples, and the API Reference (CreateHITType, QualificationRequirement). `mturk_results.py` reads answers.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from markupsafe import Markup

from editgauge._render.templates import open_templates
from editgauge._util.files import write_text
from editgauge.errors import BadInputError
from editgauge.studies.design import Design, DesignQuestion, QuestionFields
from editgauge.studies.design.answers import MAX_TEXT_CHARACTERS
from editgauge.studies.design.fields import MTurk
from editgauge.studies.exchange import ExchangeFormat
from editgauge.studies.exchange.mturk_results import quoted_csv, read_results
from editgauge.studies.exchange.tasks import (
    ExportedTask,
    image_base_url,
    item_texts,
    new_folder,
    open_tasks,
)
from editgauge.studies.study import Study

APPROVED_SHARE, APPROVED_COUNT = "000000000000000000L0", "00000000000000000040"
"""Amazon's names for the percentage of a worker's assignments, and the number of HITs, that were approved."""
DAY = 86400


def write_batch(study: Study, out: Path, url: str | None) -> int:
    """Write the open items as `layout.html`, `input.csv` and `hit.json`, one HIT each; return the number of HITs."""
    terms = study.design.mturk
    if terms is None:
        raise BadInputError("The design does not say what a HIT pays: give it 'mturk: {reward: 0.15}' (US dollars).")
    address = image_base_url(url, "Mechanical Turk")
    tasks = open_tasks(study)
    folder = new_folder(out)
    rows = [_row(study.design, task, address) for task in tasks]
    write_text(folder / "layout.html", layout(study.design))
    write_text(folder / "input.csv", quoted_csv(list(rows[0]), rows))
    hit = properties(study.design, terms, study.manifest.raters)
    write_text(folder / "hit.json", json.dumps(hit, indent=2, ensure_ascii=False) + "\n")
    return len(tasks)


def layout(design: Design) -> str:
    """Render the workers' page with placeholders for the columns of `input.csv`."""
    environment = open_templates(__package__ or "")
    environment.filters["literal"] = literal
    return environment.get_template("mturk.html.j2").render(
        design=design,
        whens={question.id: _when(question) for question in design.all_questions.values()},
        quote=lambda question: f"${{quote_{question.id}}}" if getattr(question, "quote", None) else "",
        prefill=lambda question: f"${{prefill_{question.id}}}" if question.prefill else "",
        longest=MAX_TEXT_CHARACTERS,
    )


def _when(question: QuestionFields) -> Markup:
    conditions = question.when if isinstance(question, DesignQuestion) else {}
    return literal(json.dumps({name: [str(value) for value in values] for name, values in conditions.items()}))


def literal(text: str) -> Markup:
    """Words that a page shows as they are: the platform fills in `${…}`, and knows no signs beyond the basic plane.

    >>> literal('say "5 ${n}"')
    Markup('say &quot;5 &#36;{n}&quot;')
    """
    escaped = html.escape(text).replace("$", "&#36;").replace("\r", "&#13;").replace("\n", "&#10;")
    return Markup(escaped.encode("ascii", "xmlcharrefreplace").decode())  # noqa: S704 - escaped above


def _row(design: Design, task: ExportedTask, address: str) -> dict[str, str]:
    page = task.page
    row = {"item": task.name, "flipped": "yes" if task.flipped else "no", "check": task.check or ""}
    row |= {"hidden": " ".join(task.not_asked), "text": literal(page.text)}
    row |= {picture.role: address + picture.name for picture in page.pictures}
    if page.left is not None and page.right is not None:
        row |= {"left": literal(page.left), "right": literal(page.right)}
    return row | {name: literal(words) for name, words in item_texts(design, page).items()}


def properties(design: Design, terms: MTurk, raters: int) -> dict[str, Any]:
    """Return the project's properties under the names of CreateHIT, so that a script can pass them on."""
    needs = ((APPROVED_SHARE, terms.approval_above), (APPROVED_COUNT, terms.hits_above))
    return {
        "Title": design.title,
        "Description": design.about,
        "Keywords": "image, picture, comparison, rating",
        "Reward": f"{terms.reward:.2f}",
        "MaxAssignments": raters,
        "AssignmentDurationInSeconds": 60 * terms.minutes,
        "AutoApprovalDelayInSeconds": DAY * terms.approve_after_days,
        "LifetimeInSeconds": DAY * terms.active_days,
        "QualificationRequirements": [
            {"QualificationTypeId": kind, "Comparator": "GreaterThan", "IntegerValues": [least]}
            for kind, least in needs
            if least is not None
        ],
    }


mturk = ExchangeFormat(write_batch, read_results)
