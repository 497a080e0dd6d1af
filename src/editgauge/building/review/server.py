"""Runs the review page, for this machine alone, and opens it in the browser."""

from __future__ import annotations

import socket
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path

from editgauge.building.review.desk import Desk
from editgauge.core.errors import BadInput, EditGaugeError
from editgauge.core.progress import say

HOST = "127.0.0.1"


def review(
    file: str | Path, images: str | Path | None = None, port: int = 8010, browser: bool = True, quiet: bool = False
) -> None:
    """Shows what a builder proposed, for people to accept, edit or drop; runs until it is stopped.

    Every answer is saved at once. The page is for this machine alone; several people take turns under their names.

    Args:
        file: what was built (`unibench.json`), or its review file.
        images: the folder of the pictures, when it is not where the review file says.
        port: the port to listen at; 0 takes any that is free.
        browser: open the page in the browser.
        quiet: no remarks.
    """
    desk = Desk(Path(file), Path(images) if images is not None else None)
    try:
        import uvicorn

        from editgauge.building.review.app import make_app
    except ImportError as error:
        raise EditGaugeError(f"Reviewing needs `pip install 'editgauge[study]'`; it lacks '{error.name}'.") from error
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise BadInput(
                f"Port {port} cannot be used: {error.strerror}. Give another --port, or 0 for any."
            ) from error
        address = f"http://{HOST}:{listening.getsockname()[1]}/"
        told = desk.review
        say(
            f"{address} shows {len(told.candidates)} candidates, {told.reviewed} of them reviewed; answers go to "
            f"'{desk.file}'. Ctrl-C ends it.",
            quiet=quiet,
        )
        if browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        server = uvicorn.Server(uvicorn.Config(make_app(desk), access_log=False, log_level="warning"))
        with suppress(KeyboardInterrupt):  # the usual way to end it
            server.run(sockets=[listening])
