"""The methods section of a paper, derived from the run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from editgauge._render import text as words
from editgauge._render.tables import latex_safe, markdown_safe
from editgauge._stats.intervals import BINOMIAL, LEVEL, STUDENT
from editgauge._util.text import format_count, join_words
from editgauge.analysis.significance import TEST_DESCRIPTION
from editgauge.analysis.summary import FEW_SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from editgauge.results import Run
    from editgauge.results.manifest import ProtocolEntry

HASH_DIGITS = 12
"""Digits of a hash that are printed."""


class Paragraph(NamedTuple):
    """A heading and the content below it."""

    title: str
    text: str
    points: tuple[str, ...] = ()


def paragraphs(run: Run) -> list[Paragraph]:
    """Return the methods section."""
    return [_data(run), *_protocols(run), *_models(run), _statistics(run), _software(run)]


def methods_text(run: Run) -> str:
    """Render the methods section as plain text."""
    return (
        "\n\n".join("\n".join([part.text, *(f"- {point}" for point in part.points)]) for part in paragraphs(run)) + "\n"
    )


def methods_markdown(run: Run) -> str:
    """Render the methods section as Markdown, with bold run-in headings."""
    return _typeset(run, markdown_safe, "**{}.** {}", "- {}")


def methods_latex(run: Run) -> str:
    """Render the methods section as LaTeX, with `paragraph` headings; needs no package."""
    return _typeset(run, latex_safe, r"\paragraph{{{}.}} {}", r"  \item {}", (r"\begin{itemize}", r"\end{itemize}"))


def _typeset(
    run: Run, safe: Callable[[str], str], head: str, item: str, environment: tuple[str, str] = ("", "")
) -> str:
    parts = []
    for part in paragraphs(run):
        lines = [head.format(safe(part.title), safe(part.text))]
        if part.points:
            begin, end = environment
            lines += [begin, *(item.format(safe(point)) for point in part.points), end]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"


def paper_files(run: Run) -> dict[str, bytes]:
    """Return the files of the format `paper` except tables: methods section and figures."""
    from editgauge.reports._paper_figures import write_figures

    texts = {"methods.md": methods_markdown(run), "methods.tex": methods_latex(run), "methods.txt": methods_text(run)}
    return {**{name: text.encode() for name, text in texts.items()}, **write_figures(run)}


def _data(run: Run) -> Paragraph:
    manifest = run.manifest
    edits = run.edits.values()
    sources = len({edit.get("source") for edit in edits})
    types = len({edit.get("type") for edit in edits})
    were = "method was" if len(manifest.methods) == 1 else "methods were"
    text = (
        f"We evaluated on the benchmark {manifest.benchmark} ({format_count(len(run.edits), 'edit')} of "
        f"{format_count(sources, 'source image')}, {format_count(types, 'edit type')}; SHA-256 of the edits "
        f"{manifest.edits_sha256[:HASH_DIGITS]}). {len(manifest.methods)} {were} evaluated: "
        f"{_listed(list(manifest.methods))}."
    )
    if not manifest.finished:
        text += " The run was not finished; these numbers are provisional."
    unscored = run.scores["value"].null_count
    if unscored:
        verb = "has" if unscored == 1 else "have"
        text += f" Of {run.scores.num_rows:,} scores, {unscored:,} {verb} no value; they are counted and enter no mean."
    return Paragraph("Data", text)


def _protocols(run: Run) -> Iterator[Paragraph]:
    for name, entry in run.manifest.protocols.items():
        yield Paragraph(f"Protocol {name}", _protocol(name, entry), entry.deviations)


def _protocol(name: str, entry: ProtocolEntry) -> str:
    directions = [
        f"{_listed([spec.name for spec in entry.scores if spec.higher_is_better is higher])} ({word} is better)"
        for higher, word in ((True, "higher"), (False, "lower"))
        if any(spec.higher_is_better is higher for spec in entry.scores)
    ]
    paper = entry.paper.rstrip(".") or "none"
    deviations = "It deviates as follows." if entry.deviations else "There are no known deviations."
    return (
        f"Scores are those of {name}, version {entry.version} (source: {paper}): {'; '.join(directions)}. {deviations}"
    )


def _models(run: Run) -> Iterator[Paragraph]:
    if run.manifest.models:
        points = tuple(_model(role, card) for role, card in run.manifest.models.items())
        yield Paragraph("Models", "These models were used, by role.", points)


def _model(role: str, entry: Mapping[str, str]) -> str:
    name = entry.get("id") or entry.get("name", "")
    details = [f"{words.spaced(key)} {value}" for key, value in entry.items() if key not in {"id", "name"} and value]
    return words.without_folders(f"{words.spaced(role)}: {name}" + (f" ({', '.join(details)})" if details else ""))


def _statistics(run: Run) -> Paragraph:
    return Paragraph(
        "Statistics",
        f"Means are over all edits that have the score, each counted once, with {words.percent(LEVEL)} confidence "
        f"intervals that take scores of one source image as dependent: {STUDENT}; for yes-or-no scores {BINOMIAL}. "
        f"With fewer than {FEW_SOURCES} source images an interval is marked as not reliable. {TEST_DESCRIPTION} "
        f"The random seed of the run is {run.manifest.seed}.",
    )


def _software(run: Run) -> Paragraph:
    packages = run.manifest.environment.items()
    versions = [f"{name} {number}" for name, number in packages if name not in {"editgauge", "platform"}]
    with_these = f", with {_listed(versions)}" if versions else ""
    return Paragraph("Software", f"Scores were computed with EditGauge {run.manifest.editgauge}{with_these}.")


def _listed(parts: list[str]) -> str:
    return join_words(parts) if parts else "none"
