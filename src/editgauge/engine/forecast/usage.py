"""What models are asked while a few outcomes are scored, and how long each answer takes on this machine."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from editgauge._util.batching import Request
from editgauge._util.files import write_json
from editgauge._util.packages import cache_root
from editgauge.engine.forecast.judge_cost import CountingPerception
from editgauge.engine.judges import Jury
from editgauge.models.cache import open_store
from editgauge.models.cache.memory import Memory
from editgauge.models.cache.packing import Answer, size_of
from editgauge.models.cached_model import MOST_BYTES_ON_DISK, CachedModel, RequestGroup, is_picture
from editgauge.models.service import BYTES_IN_MEMORY

FILE = "calibration.json"
"""In the cache folder: the speed of models as measured so far."""


@dataclass(slots=True)
class QuestionWork:
    """What one model did for one kind of question."""

    asked: int = 0
    """Answers it gave; a question that several outcomes share is asked once."""
    seconds: float = 0.0
    """That all of them took, while other models worked in parallel, as in a run."""
    bytes: int = 0
    """Of answers that a run would keep on disk."""


@dataclass(frozen=True, slots=True)
class ModelEffort:
    """What one model did."""

    name: str
    identity: str
    """The model with its revision, and where it runs."""
    work: Mapping[str, QuestionWork]
    """By kind of question."""
    recalled: int
    """Questions that were answered in an earlier run."""


class TimedModel(CachedModel):
    """Notes what a model is asked and how long it takes. Keeps nothing on disk, so that no plan changes a later one."""

    def __init__(self, cached: CachedModel, memory: Memory, cache: Path | None) -> None:
        super().__init__(cached.model, memory, open_store(cache))
        self.work: dict[str, QuestionWork] = defaultdict(QuestionWork)
        self.recalled: set[str] = set()
        """What was answered in an earlier run."""
        self._mine: set[str] = set()

    def begin_anew(self, memory: Memory) -> None:
        """Forgets what was asked and answered."""
        self._memory = memory
        self.work.clear()
        self.recalled.clear()
        self._mine.clear()

    def effort(self) -> ModelEffort:
        """What it did."""
        card, device = self.card, getattr(self.model, "device", "cpu")
        identity = f"{card.id} {card.revision} {card.sha256[:12]} on {device}"
        answered = {question: work for question, work in self.work.items() if work.asked}
        return ModelEffort(self.name, identity, answered, len(self.recalled))

    def recall(self, key: str) -> Answer | None:
        """What was answered before."""
        answer = super().recall(key)
        if answer is not None and key not in self._mine:
            self.recalled.add(key)
        return answer

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """Asks the model, and looks at the clock."""
        assert isinstance(group, RequestGroup)  # noqa: S101 - the service makes no others
        work = self.work[group.question]
        self._mine |= {str(request.key) for request in requests}
        started = time.perf_counter()
        answers = super().answer(group, requests)
        work.seconds += time.perf_counter() - started
        work.asked += len(requests)
        work.bytes += sum(_kept_bytes(answer) for answer in answers)
        return answers

    def _keep(self, key: str, answer: Answer) -> None:
        self._memory.put(key, answer)


class TimingPerception(CountingPerception):
    """The models of a run, listened to; judges are asked nothing."""

    def __init__(self, models: Mapping[str, str], cache: Path | None, jury: Jury, transcripts: Path | None) -> None:
        super().__init__(models, None, jury, transcripts)
        memory = Memory(BYTES_IN_MEMORY)
        by_model = {id(cached): TimedModel(cached, memory, cache) for cached in self._models.values()}
        self.timed_models = list(by_model.values())
        self._models = {role: by_model[id(cached)] for role, cached in self._models.items()}

    def forget(self) -> None:
        """Starts over with models that have loaded their weights: only from then on times tell anything."""
        self.heard[self.inclined].clear()
        for model in self.timed_models:
            model.begin_anew(Memory(BYTES_IN_MEMORY))


def _kept_bytes(answer: Answer) -> int:
    size = size_of(answer)
    return 0 if size > MOST_BYTES_ON_DISK or is_picture(answer) else size


class ModelSpeeds:
    """Seconds for an answer, by model, revision, device and kind of question.

    Kept is the least that was measured in any plan, because other work on the machine can only add to it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_root() / FILE
        self._measured = _read(self.path)

    def add(self, efforts: Sequence[ModelEffort]) -> None:
        """Takes in what these models did, and keeps it."""
        for effort in efforts:
            for question, work in effort.work.items():
                key, each = _key(effort, question), work.seconds / work.asked
                self._measured[key] = min(each, self._measured.get(key, each))
        write_json(self.path, self._measured)

    def seconds_each(self, effort: ModelEffort, question: str) -> float:
        """Of one answer to a kind of question that was asked here."""
        return self._measured[_key(effort, question)]


def _key(effort: ModelEffort, question: str) -> str:
    return f"{question} by {effort.identity}"


def _read(path: Path) -> dict[str, float]:
    """What was measured before; a file that cannot be read is measured again."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        return {str(key): float(seconds) for key, seconds in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
