"""The verbs of `editgauge study`, with the same words; `create` has a file of its own."""

from __future__ import annotations

import socket
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge._util.files import write_text
from editgauge.errors import BadInputError, EditGaugeError, UnknownNameError
from editgauge.options import Count, Port
from editgauge.results import Run
from editgauge.studies._export import read_answers, write_export
from editgauge.studies.exchange import exchanges
from editgauge.studies.raters import Invitation
from editgauge.studies.records import ImportSummary, import_records
from editgauge.studies.study import Study, StudyStatus

if TYPE_CHECKING:
    from editgauge.analysis.agree import Agreement
    from editgauge.analysis.study import StudyFindings, WeightAgreement

DEFAULT_URL = "http://127.0.0.1:8000"
URL_FILE = "address.txt"
"""File of a study folder: where the study was served last."""


def invite(
    study: str | Path, *, count: Count = 1, url: str | None = None, label: str | None = None
) -> list[Invitation]:
    """Create raters and print their personal links, which are shown only once.

    Example:
        $ editgauge study invite study --count 5 --url https://lab.example
        >>> editgauge.study.invite("study", count=5, url="https://lab.example")

    Args:
        study: study folder.
        count: number of raters.
        url: address of the server, which the links begin with; default: where `editgauge study serve` served this
            study last, else http://127.0.0.1:8000.
        label: your name for these raters; the only personal data that is kept.

    """
    if count < 1:
        raise BadInputError(f"Invite at least one rater, got {count}.")
    url = url or served_url(study)
    if not url.startswith(("http://", "https://")):
        raise BadInputError(f"The address must begin with http:// or https://, got '{url}'.")
    with Study.open(study) as opened:
        return opened.invite(count, label)


def status(study: str | Path) -> StudyStatus:
    """Show the progress of a study: items, raters, exclusions, and when it will be done.

    Example:
        $ editgauge study status study
        >>> editgauge.study.status("study")

    Args:
        study: study folder.

    """
    with Study.open(study) as opened:
        return opened.status()


def export(
    study: str | Path,
    *,
    out: str | Path = "ratings.jsonl",
    form: str | None = None,
    question: str | None = None,
    rater: str | None = None,
    url: str | None = None,
) -> int:
    """Export the answers of a study, in the format that `editgauge agree` reads.

    Example:
        $ editgauge study export study --out ratings.jsonl
        $ editgauge study export study --form answers --out answers.csv
        $ editgauge study export study --form mturk --out batch --url https://lab.example/images
        >>> editgauge.study.export("study", out="ratings.jsonl")

    Args:
        study: study folder.
        out: file to write, .jsonl or .csv; for mturk and label-studio a folder.
        form: `ratings` or `choices` (for `editgauge agree`), answers (everything), `spreadsheet` (a template to fill
            in), or another tool's format. Default: ratings of outcomes, choices of pairs, answers about attributes.
        question: only this question.
        rater: only this rater, by name or label.
        url: for another tool: address where its raters find the study's folder `images`.

    """
    with Study.open(study) as opened:
        return write_export(opened, Path(out), form, question=question, rater=rater, url=url)


def import_(study: str | Path, file: str | Path, *, form: str = "answers") -> ImportSummary:
    """Import answers into a study: all of a file or none. Importing the same file again changes nothing.

    Example:
        $ editgauge study import study answers.csv
        >>> editgauge.study.import_("study", "answers.csv")

    Args:
        study: study folder.
        file: file with the answers.
        form: `answers`, as `editgauge study export` writes them; `spreadsheet`; or another tool's format.

    """
    with Study.open(study) as opened:
        if form == "answers":
            pages = read_answers(Path(file), opened.design)
        elif form in exchanges:
            pages = exchanges.get(form).read(opened, Path(file))
        else:
            raise UnknownNameError("form of import", form, ["answers", *exchanges])
        with opened.database.write() as session:
            return import_records(session, opened.design, pages, opened.clock())


def exclude(study: str | Path, rater: str, *, reason: str) -> int:
    """Void all answers of a rater and open their items again; `include` undoes it.

    Example:
        $ editgauge study exclude study r0003 --reason "answered at random"
        >>> editgauge.study.exclude("study", "r0003", reason="answered at random")

    Args:
        study: study folder.
        rater: rater, by name (r0001) or label.
        reason: reason, which is logged.

    """
    with Study.open(study) as opened:
        return opened.exclude(rater, reason)


def include(study: str | Path, rater: str, *, reason: str = "") -> tuple[int, int]:
    """Undo an exclusion: answers count again unless another rater has replaced them.

    Example:
        $ editgauge study include study r0003
        >>> editgauge.study.include("study", "r0003")

    Args:
        study: study folder.
        rater: rater, by name (r0001) or label.
        reason: reason, which is logged.

    """
    with Study.open(study) as opened:
        return opened.include(rater, reason)


def forget(study: str | Path, rater: str, *, answers: bool = False) -> None:
    """Delete the personal data of a rater: label, link, and the answers to the questions before the first page.

    Example:
        $ editgauge study forget study r0003
        >>> editgauge.study.forget("study", "r0003")

    Args:
        study: study folder.
        rater: rater, by name (r0001) or label.
        answers: delete the ratings too; their items open again.

    """
    with Study.open(study) as opened:
        opened.forget(rater, answers=answers)


def served_url(study: str | Path) -> str:
    """Return the URL where a study was last served, or the default one."""
    file = Path(study) / URL_FILE
    return file.read_text("utf-8").strip() if file.is_file() else DEFAULT_URL


def _reachable(host: str) -> str:
    """Return a URL that a browser can open; a wildcard address becomes the machine's name."""
    return socket.gethostname() if host in {"0.0.0.0", "::"} else f"[{host}]" if ":" in host else host  # noqa: S104


def serve(study: str | Path, *, host: str = "127.0.0.1", port: Port = 8000, trusted_proxy: str | None = None) -> None:
    """Serve a study to raters until you stop it.

    Example:
        $ editgauge study serve study --host 0.0.0.0 --port 8000
        >>> editgauge.study.serve("study")

    Args:
        study: study folder.
        host: address to listen on; 127.0.0.1 is reachable from this machine only.
        port: port to listen on.
        trusted_proxy: address of a proxy in front of the server whose `X-Forwarded-For` and `X-Forwarded-Proto` are
            believed, such as 127.0.0.1; without one, none are believed. Several are joined with commas.

    """
    try:
        web = import_module("editgauge.studies.web")
    except ImportError as error:
        raise EditGaugeError(
            f"Serving a study needs `pip install 'editgauge[study]'`; it lacks '{error.name}'."
        ) from error
    with Study.open(study) as opened:
        write_text(Path(study) / URL_FILE, f"http://{_reachable(host)}:{port}")
        web.serve(opened, host, port, trusted_proxy)


@dataclass(frozen=True, slots=True)
class StudyAnalysis:
    """Results of a study."""

    status: StudyStatus
    findings: StudyFindings | None
    """Levels per method and edit type or strengths of methods, and how far raters agree; None for attributes."""
    agreement: Agreement | None
    """How far the run's automatic scores agree with the raters; None for attributes, which rate no outcome."""
    page: Path | None
    """The page that was written, if one was asked for."""
    weights: tuple[WeightAgreement, ...] = ()
    """For a study about attributes: how far the run's weights of attributes agree with the raters."""
    forms: Path | None = None
    """The page of filled forms, if one was asked for."""


def analyze(
    study: str | Path, *, run: str | Path | None = None, out: str | Path | None = None, forms: Count | None = None
) -> StudyAnalysis:
    """Analyze a study: what raters answered, how well they agree, and how well the run's scores agree with them.

    A study about attributes rates no outcome: there the weights that AugCLIP gives them are compared with the answers.

    Example:
        $ editgauge study analyze study --out analysis
        >>> editgauge.study.analyze("study", out="analysis")

    Args:
        study: study folder.
        run: run folder, if it is not where the study was created from.
        out: folder to write `study.html` into, a page with plots.
        forms: number of items whose filled forms, with pictures and every rater's answers, go into `forms.html` next to
            it.

    """
    # with all their statistics, which no other verb needs
    from editgauge.analysis.agree import agree
    from editgauge.analysis.study import weight_agreement
    from editgauge.studies._analysis_page import write_forms, write_page
    from editgauge.studies._findings import compared_attributes, findings

    if forms is not None and out is None:
        raise BadInputError("`forms` writes a page; pass a folder for it as `out`.")
    with Study.open(study) as opened, tempfile.TemporaryDirectory() as scratch:
        its_run = run or opened.manifest.run
        if opened.design.unit == "attributes":
            if out is not None:
                raise BadInputError("A study about attributes has no page; leave out `out`.")
            answers = compared_attributes(opened)
            return StudyAnalysis(opened.status(), None, None, None, weight_agreement(Run.open(Path(its_run)), answers))
        study_findings, status = findings(opened), opened.status()
        file = Path(scratch) / "answers.jsonl"
        write_export(opened, file)
        is_rated = opened.design.unit == "outcome"
        agreement = agree(its_run, ratings=file if is_rated else None, choices=None if is_rated else file)
        filled = write_forms(opened, Path(out), forms) if out is not None and forms is not None else None
    page = write_page(study_findings, status, agreement, Path(out)) if out is not None else None
    return StudyAnalysis(status, study_findings, agreement, page, forms=filled)
