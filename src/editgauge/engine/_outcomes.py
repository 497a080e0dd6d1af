"""Folders that are filled bit by bit: a file of settings says what they were begun with, so that nothing is mixed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import cv2
import numpy as np

from editgauge._util.files import DRAFT_PREFIX, write_json, write_text
from editgauge._util.images import read_image, write_png
from editgauge._util.text import as_utf8
from editgauge.errors import BadImageError, BadInputError, CannotEditError, EditGaugeError
from editgauge.methods.card import MethodCard, absence_reason
from editgauge.methods.outcomes import OUTCOMES_FILE
from editgauge.methods.prompts import MethodPrompt

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.methods import Method
    from editgauge.methods.prompts import PromptOptions
    from editgauge.types import Edit


def claim(folder: Path, file: str, settings: dict[str, Any], what: str, made_by: str) -> None:
    """Create or reopen a folder for these settings, which are stored in `file`.

    `what` is a word for what the folder holds, such as `outcomes`; `made_by` is the command that fills such folders.
    """
    path = folder / file
    if path.is_file():
        earlier = json.loads(path.read_text("utf-8"))
        changed = list(_changed(earlier, settings))
        if changed:
            raise BadInputError(f"'{folder}' holds {what} made with other settings; choose another folder.", changed)
    elif folder.is_dir() and any(folder.iterdir()):
        raise BadInputError(f"'{folder}' is not empty and was not made by `{made_by}`; choose another folder.")
    else:
        write_json(path, settings)


def _changed(earlier: Mapping[str, Any], settings: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Yield one line for each setting that differs, nested settings included."""
    for key, new in settings.items():
        old, name = earlier.get(key), f"{within}{key}"
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changed(dict.fromkeys(new) | old, dict.fromkeys(old) | new, f"{name}.")
        elif old != new:
            yield f"{name}: {old} there, {new} asked for"


KILOBYTE = 1024


class OutcomeId(NamedTuple):
    """Which outcome."""

    id: str
    seed: int

    @property
    def name(self) -> str:
        """What its file is called, without suffix; the finder of outcomes reads the seed back.

        >>> OutcomeId("cat-black", 0).name, OutcomeId("cat-black", 2).name
        ('cat-black', 'cat-black__seed2')
        """
        return f"{self.id}__seed{self.seed}" if self.seed else self.id

    @property
    def file(self) -> str:
        """What its file is called."""
        return f"{self.name}.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLine:
    """One outcome, or why there is none."""

    id: str
    seed: int
    prompt: str
    source_prompt: str | None = None
    instruction: str | None = None
    """The original instruction, where the prompt was rewritten."""
    rewriter: str | None = None
    image_path: str | None = None
    absence: str | None = None
    seconds: float | None = None
    """How long the method took, where it was seen at work."""

    @property
    def key(self) -> OutcomeId:
        """Which outcome it is."""
        return OutcomeId(self.id, self.seed)

    def written(self) -> str:
        """Return the outcome as a line of JSON."""
        fields = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(fields, ensure_ascii=False) + "\n"


class OutcomeList:
    """The list in a folder. A line that a kill or a full disk cut in two is left out, and its outcome made again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / OUTCOMES_FILE
        self._lines = {line.key: line for line in _read(self._path) if _is_true(line, folder)}
        for draft in folder.glob(f"{DRAFT_PREFIX}*"):
            draft.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[OutcomeLine]:
        return iter(self._lines.values())

    def get(self, key: OutcomeId) -> OutcomeLine | None:
        """Return the line of an outcome, or None."""
        return self._lines.get(key)

    def add(self, line: OutcomeLine) -> None:
        """Append one line to the file."""
        self._lines[line.key] = line
        try:
            with self._path.open("ab", buffering=0) as file:
                written = line.written().encode()
                if file.write(written) != len(written):
                    raise OSError(None, "the disk is full")
        except OSError as error:
            raise BadInputError(
                f"'{self._path}' cannot be written: {error.strerror or error}. Make room there."
            ) from error

    def write(self, order: Iterable[str] = ()) -> None:
        """Rewrite the list, sorted by this order of edits and by seed."""
        positions = {edit_id: position for position, edit_id in enumerate(order)}
        lines = sorted(self, key=lambda line: (positions.get(line.id, len(positions)), line.seed))
        write_text(self._path, "".join(line.written() for line in lines))


def _read(path: Path) -> Iterator[OutcomeLine]:
    if not path.is_file():
        return
    for text in path.read_text("utf-8", "replace").split("\n"):
        try:
            entry: Any = json.loads(text)
            yield OutcomeLine(**entry)
        except (ValueError, TypeError):
            continue


def _is_true(line: OutcomeLine, folder: Path) -> bool:
    """Whether the picture it names is there; an absence needs none."""
    return line.absence is not None or (folder / (line.image_path or line.key.file)).is_file()


def card_of(lines: Iterable[OutcomeLine], price: float | None, earlier: Mapping[str, Any]) -> MethodCard:
    """Return the card of all outcomes in a folder, given the price of one; memory is the peak of any line."""
    entries = list(lines)
    seconds = [line.seconds for line in entries if line.seconds is not None and line.absence is None]
    outcomes = sum(line.absence is None for line in entries)
    return MethodCard(
        outcomes=outcomes,
        failures=dict(
            Counter(absence_reason(line.absence) for line in entries if line.absence is not None).most_common()
        ),
        seconds_mean=round(fmean(seconds), 4) if seconds else None,
        seconds_median=round(median(seconds), 4) if seconds else None,
        peak_memory=_most(earlier.get("peak_memory"), _peak_memory()),
        peak_gpu_memory=_most(earlier.get("peak_gpu_memory"), _peak_gpu_memory()),
        cost=None if price is None else round(price * outcomes, 6),
    )


def _most(*values: int | None) -> int | None:
    return max((value for value in values if value), default=None)


def _peak_memory() -> int | None:
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    unit = 1 if sys.platform == "darwin" else KILOBYTE
    return unit * max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _peak_gpu_memory() -> int | None:
    """Asked of torch only if the method brought it in."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return int(torch.cuda.max_memory_allocated())


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
    """Split jobs into those that are already done and those that remain.

    A refusal stays: a filter would refuse again. Other absences deserve another try. A picture without a line was
    written just before a kill: it is whole, and gets its line.
    """
    finished: list[Job] = []
    left: list[Job] = []
    for job in jobs:
        line = listed.get(job.key)
        if line is not None and line.absence is not None:
            (finished if absence_reason(line.absence) == "refused" else left).append(job)
        elif not (folder / job.key.file).is_file():
            left.append(job)
        else:
            finished.append(job)
            if line is None:
                listed.add(words.line(job, image_path=job.key.file))
    return finished, left


class JobPrompts:
    """What a method is asked, job by job, and the templates that were needed for it."""

    def __init__(self, method: Method, wording: PromptOptions) -> None:
        self._method = method
        self._wording = wording
        self.templates: set[str] = set()

    def tell(self, edit: Edit) -> tuple[Edit, MethodPrompt]:
        """Return the edit as the method receives it, and its prompt."""
        prompted = self._wording.tell(self._method, edit)
        self.templates.update(prompted.templates)
        return prompted.edit, prompted.prompt

    def line(self, job: Job, **what: Any) -> OutcomeLine:
        """Return the line of an outcome; an edit without a prompt keeps the benchmark's instruction."""
        try:
            _, prompt = self.tell(job.edit)
        except BadInputError:
            prompt = MethodPrompt(job.edit.instruction)
        return OutcomeLine(
            id=job.edit.id,
            seed=job.seed,
            prompt=prompt.text,
            source_prompt=prompt.source,
            instruction=job.edit.instruction if prompt.rewriter else None,
            rewriter=prompt.rewriter,
            **what,
        )


def make_all(
    method: Method, jobs: Sequence[Job], folder: Path, words: JobPrompts, done: Callable[[OutcomeLine], None]
) -> None:
    """Make the outcomes turn by turn and call `done` after each is written; one failure does not stop the others."""
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
    """Group the jobs by turn: from the second on, the source is the method's previous outcome."""
    by_turn: dict[int, list[Job]] = {}
    for job in jobs:
        by_turn.setdefault(job.edit.turn if job.edit.follows else 1, []).append(job)
    return [by_turn[turn] for turn in sorted(by_turn)]


def _make(method: Method, job: Job, folder: Path, words: JobPrompts) -> OutcomeLine:
    """Write the outcome and return its line; a failure is recorded as its reason.

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
    """Run the method and return the image and the seconds it took."""
    try:
        prompt, _ = words.tell(job.edit)
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
