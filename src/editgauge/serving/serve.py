"""The verb `serve`: a score service over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from editgauge._util.progress import log_info
from editgauge.engine._machine import choose_worker_count, this_machine, uses_gpus, weight_bytes
from editgauge.engine.scorer import Scorer
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.options import Amount, Count, Natural, Pairs, Port, ScorerOptions, document_options

TOKENS_VARIABLE = "EDITGAUGE_SERVE_TOKENS"
"""Environment variable with tokens, separated by commas."""
SHUTDOWN_SECONDS = 30
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})


@document_options
def serve(
    *,
    host: str = "127.0.0.1",
    port: Port = 8080,
    tokens: str | Path | None = None,
    timeout: Amount = 120,
    items: Count = 128,
    processes: Natural = 0,
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
        items: maximum number of pictures that are scored at once; further requests get status 429 and may try again.
        processes: processes that score, each with the models in its memory; 0 chooses by cores and memory.
        protocol: how to score; repeat for several protocols. By default: those of the verdict, and pixel differences.
        quiet: print no remarks.

    """
    try:
        app, scoring = (import_module(f"editgauge.serving.{name}") for name in ("_app", "_scoring"))
        from editgauge._util.http import GracefulServer, server_config
    except ImportError as error:
        raise EditGaugeError(f"Serving needs `pip install 'editgauge[serve]'`; it lacks '{error.name}'.") from error
    accepted_tokens = _tokens(Path(tokens) if tokens else None)
    if host not in LOOPBACK_HOSTS and not accepted_tokens:
        raise BadInputError(
            f"Serving at {host} without tokens is open to everyone: pass `tokens`, or set {TOKENS_VARIABLE}."
        )
    options = ScorerOptions(protocol=protocol, models=models, model=model, judge=judge, prompts=prompts)
    scorer = Scorer.from_options(options)
    if scorer.remark:
        log_info(scorer.remark, quiet=quiet)
    number = _choose_processes(processes, scorer.models, judges=bool(judge))
    names = ", ".join(protocol.name for protocol in scorer.protocols)
    scorers = f"{number} processes" if number > 1 else "one process"
    log_info(f"http://{host}:{port} scores with {names} in {scorers}.", quiet=quiet)
    with ExitStack() as stack:
        work = (
            scoring.ScorerProcesses(options, scorer.models, number)
            if number > 1
            else scoring.OneScorer(stack.enter_context(scorer))
        )
        limits = app.ServiceLimits(seconds=timeout, items_at_once=items)
        served = app.make_app(work, tokens=accepted_tokens, limits=limits, lacks=scorer.remark)
        GracefulServer(server_config(served, host=host, port=port, seconds_to_finish=SHUTDOWN_SECONDS)).run()


def _choose_processes(requested: int, models: Mapping[str, str], *, judges: bool) -> int:
    """Return the number of scoring processes; GPU models stay in one, which fills its batches."""
    if not requested and uses_gpus(models):
        return 1
    weights = weight_bytes(models)
    return choose_worker_count(requested, sys.maxsize, this_machine(), judges=judges, weights=weights).processes


def _tokens(file: Path | None) -> tuple[str, ...]:
    """Read the tokens of a file or of the environment; refuse short ones, which can be guessed."""
    try:
        texts = file.read_text("utf-8").splitlines() if file else os.environ.get(TOKENS_VARIABLE, "").split(",")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"The tokens in '{file}' cannot be read: {error}.") from error
    tokens = tuple(text.strip() for text in texts if text.strip())
    if any(len(token) < 16 for token in tokens):
        raise BadInputError(
            "A token has at least 16 characters; `python -c 'import secrets; print(secrets.token_hex())'`."
        )
    if file and not tokens:
        raise BadInputError(f"'{file}' holds no token: write one per line.")
    return tokens
