"""The verb `serve`: a score service over HTTP."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from editgauge.core.errors import BadInput, EditGaugeError
from editgauge.core.options import Amount, Count, JudgeOptions, ModelOptions, Pairs, Port
from editgauge.core.progress import say
from editgauge.look.scorer import Scorer

TOKENS = "EDITGAUGE_SERVE_TOKENS"
"""Environment variable with tokens, separated by commas."""
SECONDS_TO_FINISH = 30
LOCAL = frozenset({"127.0.0.1", "::1", "localhost"})


def serve(
    *,
    host: str = "127.0.0.1",
    port: Port = 8080,
    tokens: str | Path | None = None,
    timeout: Amount = 120,
    items: Count = 128,
    protocol: Sequence[str] = (),
    models: str | None = None,
    model: Pairs = (),
    judge: str | Pairs = (),
    prompts: str | Path | None = None,
    quiet: bool = False,
) -> None:
    """Serve scores over HTTP until you stop it.

    Models are loaded once, and questions of all requests share their batches. `POST /v1/score` takes a source image, an
    outcome and an instruction, and returns the verdict, a reward in [0, 1] or an explicit abstention, and all scores;
    `/v1/batch` takes several. `/docs` describes both, `/healthz`, `/readyz` and `/metrics` are for operators.

    Example:
        $ editgauge serve --port 8080
        >>> editgauge.client("http://127.0.0.1:8080").score("before.png", "after.png", "make the cat black")

    Args:
        host: address to listen on; 127.0.0.1 is reachable from this machine only.
        port: port to listen on.
        tokens: file with one token per line; clients send one as `Authorization: Bearer TOKEN`. Without it the
            environment variable EDITGAUGE_SERVE_TOKENS is read. Needed for other hosts than 127.0.0.1.
        timeout: maximum number of seconds for one request.
        items: maximum number of pictures that are scored at once; further requests are told to try again.
        protocol: how to score; repeat for several protocols. By default: edit done, rest kept, artifacts.
        quiet: print no remarks.
    """
    try:
        app = import_module("editgauge.serving.app")
        from editgauge.core.http import GracefulServer, server_config
    except ImportError as error:
        raise EditGaugeError(f"Serving needs `pip install 'editgauge[serve]'`; it lacks '{error.name}'.") from error
    known = _tokens(Path(tokens) if tokens else None)
    if host not in LOCAL and not known:
        raise BadInput(f"Serving at {host} without tokens lets anybody in: give --tokens FILE, or set {TOKENS}.")
    chosen = ModelOptions(models=models, model=model)
    with Scorer(protocol, chosen, JudgeOptions(judge=judge, prompts=prompts)) as scorer:
        if scorer.remark:
            say(scorer.remark, quiet=quiet)
        say(f"http://{host}:{port} scores with {', '.join(each.name for each in scorer.protocols)}.", quiet=quiet)
        limits = app.ServiceLimits(seconds=timeout, items_at_once=items)
        served = app.make_app(scorer, tokens=known, limits=limits)
        GracefulServer(server_config(served, host=host, port=port, seconds_to_finish=SECONDS_TO_FINISH)).run()


def _tokens(file: Path | None) -> tuple[str, ...]:
    """The tokens of a file, or of the environment; too short ones are refused, for they can be guessed."""
    try:
        texts = file.read_text("utf-8").splitlines() if file else os.environ.get(TOKENS, "").split(",")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The tokens in '{file}' cannot be read: {error}.") from error
    tokens = tuple(text.strip() for text in texts if text.strip())
    if any(len(token) < 16 for token in tokens):
        raise BadInput("A token has at least 16 characters; `python -c 'import secrets; print(secrets.token_hex())'`.")
    if file and not tokens:
        raise BadInput(f"'{file}' holds no token: write one per line.")
    return tokens
