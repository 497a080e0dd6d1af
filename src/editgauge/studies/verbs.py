"""The verbs of `editgauge study`, with the same words; `create` has a file of its own."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.core.errors import BadInput, EditGaugeError, UnknownName
from editgauge.core.run import Run
from editgauge.studies.analysis.status import Status
from editgauge.studies.answers.exporting import write_export
from editgauge.studies.answers.files import read_answers
from editgauge.studies.answers.importing import Imported, import_records
from editgauge.studies.exchange.formats import exchanges
from editgauge.studies.raters import Invitation
from editgauge.studies.study import Study

if TYPE_CHECKING:
    from editgauge.findings.agree import Agreement
    from editgauge.findings.people.attribute_weights import WeightAgreement
    from editgauge.findings.people.study import StudyFindings

LOCAL = "http://127.0.0.1:8000"


def invite(study: str | Path, count: int = 1, url: str = LOCAL, label: str | None = None) -> list[Invitation]:
    """Makes raters, and gives their personal links, which cannot be told again.

    Args:
        study: the study folder.
        count: how many raters.
        url: the address where the study is served, which the links begin with.
        label: what the owner calls them; the only personal data that is kept.
    """
    if count < 1:
        raise BadInput(f"Invite at least one rater, got {count}.")
    if not url.startswith(("http://", "https://")):
        raise BadInput(f"The address must begin with http:// or https://, got '{url}'.")
    with Study.open(study) as opened:
        return opened.invite(count, label)


def status(study: str | Path) -> Status:
    """Says how far a study is: items, raters, exclusions, and when it will be done.

    Args:
        study: the study folder.
    """
    with Study.open(study) as opened:
        return opened.status()


def export(
    study: str | Path,
    out: str | Path = "ratings.jsonl",
    form: str | None = None,
    question: str | None = None,
    rater: str | None = None,
    url: str | None = None,
) -> int:
    """Writes what people said; says how many lines.

    Args:
        study: the study folder.
        out: the file, .jsonl or .csv; for the format of another tool, a folder.
        form: `ratings` or `choices`, which `editgauge agree` reads; `answers`, everything; or the format of another
            tool. Without it, ratings of outcomes, choices of pairs, answers about attributes.
        question: only this question.
        rater: only this rater, by name or label.
        url: where raters of another tool find the study's folder `images`; its formats are folders, not files.
    """
    with Study.open(study) as opened:
        return write_export(opened, Path(out), form, question, rater, url)


def import_(study: str | Path, file: str | Path, form: str = "answers") -> Imported:
    """Takes answers into a study: all of a file or none. The same file again changes nothing.

    Args:
        study: the study folder.
        file: the file with the answers.
        form: `answers`, as `export` writes them (.jsonl or .csv); or the format of another tool.
    """
    with Study.open(study) as opened:
        if form == "answers":
            pages = read_answers(Path(file), opened.design)
        elif form in exchanges:
            pages = exchanges.get(form).read(opened, Path(file))
        else:
            raise UnknownName("form of import", form, ["answers", *exchanges])
        with opened.database.write() as session:
            return import_records(session, opened.design, pages, opened.clock())


def exclude(study: str | Path, rater: str, reason: str) -> int:
    """Voids all answers of a rater and opens their items again; says how many answers. `include` takes it back.

    Args:
        study: the study folder.
        rater: the rater's name or label.
        reason: why; it is logged.
    """
    with Study.open(study) as opened:
        return opened.exclude(rater, reason)


def include(study: str | Path, rater: str, reason: str = "") -> tuple[int, int]:
    """Takes an exclusion back; says how many answers count again, and how many are surplus now.

    Args:
        study: the study folder.
        rater: the rater's name or label.
        reason: why; it is logged.
    """
    with Study.open(study) as opened:
        return opened.include(rater, reason)


def forget(study: str | Path, rater: str, answers: bool = False) -> None:
    """Deletes what a study knows of a person: label, link, and what was said before the first page.

    Args:
        study: the study folder.
        rater: the rater's name or label.
        answers: deletes the answers too, and opens their items again.
    """
    with Study.open(study) as opened:
        opened.forget(rater, answers=answers)


def serve(study: str | Path, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serves a study to raters until it is stopped.

    Args:
        study: the study folder.
        host: the address to listen at; 127.0.0.1 is this machine alone.
        port: the port to listen at.
    """
    try:
        web = import_module("editgauge.studies.web")
    except ImportError as error:
        raise EditGaugeError(
            f"Serving a study needs `pip install 'editgauge[study]'`; it lacks '{error.name}'."
        ) from error
    with Study.open(study) as opened:
        web.serve(opened, host, port)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a study says."""

    status: Status
    findings: StudyFindings | None
    """Levels per method and edit type or strengths of methods, and how far raters agree; None for attributes."""
    agreement: Agreement | None
    """How far the run's automatic scores agree with the raters; None for attributes, which rate no outcome."""
    page: Path | None
    """The page that was written, if one was asked for."""
    weights: tuple[WeightAgreement, ...] = ()
    """For a study about attributes: how far the run's weights of attributes agree with the raters."""


def analyse(study: str | Path, run: str | Path | None = None, out: str | Path | None = None) -> Analysis:
    """Says what the raters of a study said, how far they agree, and how far the scores of the run agree with them.

    A study about attributes rates no outcome: there the weights that AugCLIP gives them are compared with the answers.

    Args:
        study: the study folder.
        run: the run folder, if it is not where the study was made from.
        out: a folder to write `study.html` into: the same as a page with plots.
    """
    # with all their statistics, which no other verb needs
    from editgauge.findings.agree import agree
    from editgauge.findings.people.attribute_weights import weight_agreement
    from editgauge.studies.analysis.findings import compared_attributes, findings
    from editgauge.studies.analysis.page import write_page

    with Study.open(study) as opened:
        if opened.design.unit == "attributes":
            if out is not None:
                raise BadInput("A study about attributes has no page; leave out --out.")
            answers, its_run = compared_attributes(opened), Run.open(Path(run or opened.manifest.run))
            return Analysis(opened.status(), None, None, None, weight_agreement(its_run, answers))
    with Study.open(study) as opened, tempfile.TemporaryDirectory() as place:
        found, status = findings(opened), opened.status()
        file = Path(place) / "told.jsonl"
        write_export(opened, file, None, None, None)
        is_rated = opened.design.unit == "outcome"
        told = agree(run or opened.manifest.run, file if is_rated else None, None if is_rated else file)
    page = write_page(found, status, told, Path(out)) if out is not None else None
    return Analysis(status, found, told, page)
