"""Two levels of remembered answers: one on a disk of this machine's own, behind it one that machines share."""

from __future__ import annotations

from typing import Protocol

from editgauge.models.cache.packing import Answer
from editgauge.models.cache.store import Store


class Answers(Protocol):
    """Somewhere that answers are kept."""

    def get(self, key: str, model: str) -> Answer | None:
        """The answer that was kept under the key, if there is one."""
        ...

    def put(self, key: str, model: str, answer: Answer) -> None:
        """Keeps it."""
        ...


class TwoLevels:
    """What is asked is looked for near first; what was found far is kept near, and what is new goes to both.

    Args:
        near: on a disk of this machine's own
        far: on a disk that machines share
    """

    def __init__(self, near: Store, far: Store) -> None:
        self._near = near
        self._far = far

    def get(self, key: str, model: str) -> Answer | None:
        """The answer that was kept under the key, here or by another machine."""
        answer = self._near.get(key, model)
        if answer is None:
            answer = self._far.get(key, model)
            if answer is not None:
                self._near.put(key, model, answer)
        return answer

    def put(self, key: str, model: str, answer: Answer) -> None:
        """Keeps it on both levels."""
        self._near.put(key, model, answer)
        self._far.put(key, model, answer)
