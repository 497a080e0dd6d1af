"""A process that scores for the service: questions as pickles on standard input, answers on standard output.

Started as `python -m editgauge.serving._worker`; it ends when its input does.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from typing import BinaryIO

from editgauge.engine._scoring import crash
from editgauge.engine._worker import PIPE_ERRORS, MessageWriter, open_pipes
from editgauge.engine.scorer import Scorer
from editgauge.errors import EditGaugeError
from editgauge.options import ScorerOptions
from editgauge.serving._schema import ScoreRequest
from editgauge.serving._scoring import STOP, OneScorer

Message = tuple[int, ScoreRequest | str] | None


async def _serve(options: ScorerOptions, questions: BinaryIO, answers: BinaryIO) -> None:
    messages, loop = asyncio.Queue[Message](), asyncio.get_running_loop()
    tasks: dict[int, asyncio.Task[None]] = {}
    send = MessageWriter(answers).send

    def listen() -> None:
        message: Message
        while True:
            try:
                message = pickle.load(questions)  # noqa: S301 - written by the service
            except PIPE_ERRORS:
                message = None
            loop.call_soon_threadsafe(messages.put_nowait, message)
            if message is None:
                return

    async def answer(number: int, question: ScoreRequest | str) -> None:
        content: object
        try:
            content = await (scoring.warm_up() if isinstance(question, str) else scoring.score(question))
        except EditGaugeError as error:
            content = EditGaugeError(str(error))  # errors of other classes cannot all be pickled
        except Exception as error:
            content = RuntimeError(crash(error).detail)
        send(number, content)

    threading.Thread(target=listen, daemon=True).start()
    with Scorer.from_options(options) as scorer:
        scoring = OneScorer(scorer)
        while (message := await messages.get()) is not None:
            number, question = message
            if question == STOP:
                if number in tasks:
                    tasks[number].cancel()
                continue
            tasks[number] = loop.create_task(answer(number, question))
            tasks[number].add_done_callback(lambda _, number=number: tasks.pop(number))  # type: ignore[misc]
        if tasks:
            os._exit(1)  # there is no receiver for the scores


def main() -> None:
    """Score until standard input ends."""
    questions, answers = open_pipes()
    try:
        options: ScorerOptions = pickle.load(questions)  # noqa: S301 - written by the service
        asyncio.run(_serve(options, questions, answers))
    except PIPE_ERRORS:
        os._exit(1)


if __name__ == "__main__":
    main()
