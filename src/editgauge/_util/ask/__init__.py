"""The ask layer: what items wait for is collected, shared, and sent out in batches.

    ask = Ask()
    answer = await ask(backend, key, payload)          # networks: in batches, in a thread of their own
    answer = await ask(judge, key, payload)            # services over HTTP: some at once, never in another's way
    answer = await ask.call(function, *arguments)      # heavy pure functions: in a small pool

It needs no timers. Items run as far as they can; when none can go on, what was asked goes out, whatever else is
pending. It knows nothing of networks, pictures or judges.
"""

from __future__ import annotations

from editgauge._util.ask.ask import Ask
from editgauge._util.ask.lanes import AsyncBackend, Backend, Request

__all__ = ["Ask", "AsyncBackend", "Backend", "Request"]
