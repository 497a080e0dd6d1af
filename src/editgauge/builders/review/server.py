"""Runs the review page, for this machine alone, and opens it in the browser."""

from __future__ import annotations

import socket
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path

from editgauge._util.progress import log_info
from editgauge.builders.review.desk import Desk
from editgauge.builders.review.file import agreement, read_review
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.options import FreePort

HOST = "127.0.0.1"


def review(
    file: str | Path,
    *,
    images: str | Path | None = None,
    port: FreePort = 8010,
    browser: bool = True,
    quiet: bool = False,
) -> dict[str, dict[str, tuple[int, int]]]:
    """Accept, edit or drop proposals in the browser; at the end, print how often each reviewer accepted them.

    Every answer is saved at once. The page is served to this machine only; several people take turns under their names.
    Ctrl-C ends it.

    Example:
        $ editgauge build review unibench.json
        >>> editgauge.build.review("unibench.json")

    Args:
        file: what was built (`unibench.json`), or its review file.
        images: folder with the images, if it is not where the review file says.
        port: port to listen on; 0 takes any free one.
        browser: open the page in the browser.
        quiet: print no remarks.

    """
    desk = Desk(Path(file), Path(images) if images is not None else None)
    try:
        import uvicorn

        from editgauge._util.http import server_config
        from editgauge.builders.review.app import make_app
    except ImportError as error:
        raise EditGaugeError(f"Reviewing needs `pip install 'editgauge[study]'`; it lacks '{error.name}'.") from error
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise BadInputError(
                f"Port {port} cannot be used: {error.strerror}. Give another --port, or 0 for any."
            ) from error
        address = f"http://{HOST}:{listening.getsockname()[1]}/"
        review = desk.review
        log_info(
            f"{address} shows {len(review.candidates)} candidates, {review.reviewed} of them reviewed; answers go to "
            f"'{desk.file}'. Ctrl-C ends it.",
            quiet=quiet,
        )
        if browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        server = uvicorn.Server(server_config(make_app(desk)))
        with suppress(KeyboardInterrupt):  # the usual way to end it
            server.run(sockets=[listening])
    return agreement(read_review(desk.file))
