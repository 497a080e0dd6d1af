"""Making outcomes: which are wanted, which are there, and the method at work on the rest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from editgauge._util.images import read_image, write_png
from editgauge._util.text import as_utf8
from editgauge.engine.edit.outcome_list import OutcomeId, OutcomeLine, OutcomeList
from editgauge.errors import BadImageError, BadInputError, CannotEditError, EditGaugeError
from editgauge.methods.absence import why

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.methods import Method
    from editgauge.methods.prompt_choice import PromptOptions
    from editgauge.types import Edit


@dataclass(frozen=True, slots=True)
class Job:
    """One outcome to be made."""

    edit: Edit
    seed: int

    @property
    def key(self) -> OutcomeId:
        """Which outcome it will be."""
        return OutcomeId(self.edit.id, self.seed)


def jobs_of(edits: Iterable[Edit], seeds: Sequence[int]) -> list[Job]:
    """One for every edit and seed; two that would share a file are an error."""
    jobs = [Job(edit, seed) for edit in edits for seed in seeds]
    taken: dict[str, OutcomeId] = {}
    for job in jobs:
        other = taken.setdefault(job.key.file.casefold(), job.key)
        if other != job.key:
            raise BadInputError(
                f"The edit '{other.id}' with seed {other.seed} and '{job.key.id}' with seed {job.key.seed} would both "
                f"be written to '{job.key.file}'; rename an edit, or leave that seed out."
            )
    return jobs


def split(jobs: Iterable[Job], folder: Path, listed: OutcomeList, words: JobPrompts) -> tuple[list[Job], list[Job]]:
    """What is there already, and what is left to make.

    A refusal stays: a filter would refuse again. Other absences deserve another try. A picture without a line was
    written just before a kill: it is whole, and gets its line.
    """
    kept: list[Job] = []
    left: list[Job] = []
    for job in jobs:
        line = listed.get(job.key)
        if line is not None and line.absence is not None:
            (kept if why(line.absence) == "refused" else left).append(job)
        elif not (folder / job.key.file).is_file():
            left.append(job)
        else:
            kept.append(job)
            if line is None:
                listed.add(words.line(job, image_path=job.key.file))
    return kept, left


class JobPrompts:
    """What a method is asked, job by job, and the templates that were needed for it."""

    def __init__(self, method: Method, wording: PromptOptions) -> None:
        self._method = method
        self._wording = wording
        self.templates: set[str] = set()

    def tell(self, edit: Edit) -> tuple[Edit, str, str | None]:
        """The edit as the method is handed it, and its prompt with that of the source."""
        prompt = self._wording.tell(self._method, edit)
        self.templates.update(prompt.templates)
        return prompt.edit, prompt.prompt.text, prompt.prompt.source

    def line(self, job: Job, **what: Any) -> OutcomeLine:
        """The line of an outcome; an edit that cannot be put into words has the words of its benchmark."""
        try:
            _, prompt, source = self.tell(job.edit)
        except BadInputError:
            prompt, source = job.edit.instruction, None
        return OutcomeLine(id=job.edit.id, seed=job.seed, prompt=prompt, source_prompt=source, **what)


def make_all(
    method: Method, jobs: Sequence[Job], folder: Path, words: JobPrompts, done: Callable[[OutcomeLine], None]
) -> None:
    """Makes them turn by turn; `done` is called with each as soon as it is on disk. One that fails costs no other."""
    workers = method.at_once if method.at_once > 0 else os.cpu_count() or 1
    with _threads_of_opencv(1 if workers > 1 else None):
        pool = ThreadPoolExecutor(workers)
        try:
            for turn in _turns(jobs):
                for made in as_completed([pool.submit(_make, method, job, folder, words) for job in turn]):
                    done(made.result())
        finally:
            pool.shutdown(cancel_futures=True)


def _turns(jobs: Iterable[Job]) -> list[list[Job]]:
    """The jobs by turn: from the second on, the source is what the method itself made of the turn before."""
    by_turn: dict[int, list[Job]] = {}
    for job in jobs:
        by_turn.setdefault(job.edit.turn if job.edit.follows else 1, []).append(job)
    return [by_turn[turn] for turn in sorted(by_turn)]


def _make(method: Method, job: Job, folder: Path, words: JobPrompts) -> OutcomeLine:
    """Writes the outcome, or gives the reason why there is none.

    What a user can fix once for all edits, such as a missing key or weights, goes up and ends the work.
    """
    try:
        result, seconds = _edited(method, job, folder, words)
        pixels = _picture(result)
    except (CannotEditError, BadImageError) as reason:
        return words.line(job, absence=as_utf8(str(reason)))
    except EditGaugeError:
        raise
    except Exception as error:
        return words.line(job, absence=as_utf8(f"crashed: {type(error).__name__}: {error}"))
    write_png(pixels, folder / job.key.file)
    return words.line(job, image_path=job.key.file, seconds=round(seconds, 4))


def _edited(method: Method, job: Job, folder: Path, words: JobPrompts) -> tuple[Any, float]:
    """What the method gives, and the seconds it took."""
    try:
        prompt, _, _ = words.tell(job.edit)
    except BadInputError as error:
        raise CannotEditError(str(error)) from error
    if job.edit.inputs and not method.takes_inputs:
        raise CannotEditError(f"the edit has {len(job.edit.inputs) + 1} source pictures, and the method takes one")
    source = _source(job, folder)
    began = time.perf_counter()
    return method.edit(prompt, source, job.seed), time.perf_counter() - began


def _source(job: Job, folder: Path) -> Pixels:
    if job.edit.follows is None:
        return read_image(job.edit.source.path)
    before = folder / OutcomeId(job.edit.follows, job.seed).file
    if not before.is_file():
        raise CannotEditError(f"the outcome of the turn before, '{job.edit.follows}', is missing")
    return read_image(before)


def _picture(result: Any) -> Pixels:
    is_array = isinstance(result, np.ndarray)
    if is_array and result.dtype == np.uint8 and result.ndim == 3 and result.shape[2] == 3 and result.size:
        return np.asarray(result)
    what = f"{result.dtype} {result.shape}" if is_array else type(result).__name__
    raise CannotEditError(f"crashed: the method gave {what} instead of uint8 (height, width, 3)")


@contextmanager
def _threads_of_opencv(count: int | None) -> Iterator[None]:
    """Edits that run side by side get a thread each; afterwards the caller finds OpenCV as it was."""
    before = cv2.getNumThreads()
    if count is not None:
        cv2.setNumThreads(count)
    try:
        yield
    finally:
        cv2.setNumThreads(before)
