"""How a batch survives: halved when memory is short, taken apart when one of its requests is at fault."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from editgauge.core.ask.backends import Backend, Request

Answer = tuple[Any, BaseException | None]
"""What was answered, or what was raised instead."""


class Batches:
    """Runs the batches of one backend, and remembers how large they may be."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.most = max(1, backend.batch)
        """This many requests fit into memory, as far as is known."""

    def run(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """One answer or one error per request; nothing is raised."""
        if len(requests) > self.most:
            return self.run(group, requests[: self.most]) + self.run(group, requests[self.most :])
        try:
            answers = self._backend.answer(group, requests)
            if len(answers) != len(requests):
                raise ValueError(f"{len(requests)} requests were given {len(answers)} answers")
            return [(answer, None) for answer in answers]
        except Exception as error:
            if len(requests) == 1:
                return [(None, error)]
            if is_out_of_memory(error):
                self.most = len(requests) // 2
            smaller = self.most if is_out_of_memory(error) else 1
        # Outside the handler: the error's frames would keep the failed batch in memory.
        parts = (requests[start : start + smaller] for start in range(0, len(requests), smaller))
        return [answer for part in parts for answer in self.run(group, part)]


def is_out_of_memory(error: BaseException) -> bool:
    """Was memory short? Libraries have errors of their own for it, which are known by name or by what they say."""
    named = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)
    said = isinstance(error, RuntimeError) and "out of memory" in str(error).lower()
    return isinstance(error, MemoryError) or named or said
