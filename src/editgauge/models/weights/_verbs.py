"""The verbs of `editgauge models`: list, info, pull, verify, path."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from editgauge._util.packages import GrowthCallback
from editgauge._util.progress import log_info
from editgauge.errors import FetchError
from editgauge.models.weights import _store
from editgauge.models.weights._catalog import catalog_entries
from editgauge.models.weights._store import WeightFiles, WeightInfo

DOWNLOADS_AT_ONCE = 4
"""Half of the time of a small download goes by while its client starts."""
SECONDS_BETWEEN_LINES = 5.0
MB = 1e6
ShowDownload = Callable[[str, int | None], GrowthCallback]
"""From the name of a download and its bytes, where they are known before, to what shows the bytes so far."""


def list_weights() -> list[WeightInfo]:
    """List all sets of weights: role, size, license, and whether they are on this machine.

    Example:
        $ editgauge models list
        >>> editgauge.models.list_weights()

    """
    return [_store.info(name) for name in catalog_entries()]


def info(name: str) -> WeightInfo:
    """Show what a set of weights is, where it comes from, where it is, and its license.

    Example:
        $ editgauge models info lpips-alex
        >>> editgauge.models.info("lpips-alex")

    Args:
        name: set of weights or model, such as `lpips-alex`; `editgauge models list` shows all.

    """
    return _store.info(_set_of(name))


def pull(
    name: str | Sequence[str], *, accept: str | None = None, revision: str | None = None, quiet: bool = False
) -> list[WeightFiles]:
    """Download weights and verify them; files that are already here are only verified.

    Where a profile has an alternative for weights that cannot be downloaded, the alternative is taken, and this is
    printed.

    Example:
        $ editgauge models pull lite
        >>> editgauge.models.pull("lite")

    Args:
        name: sets of weights, models, profiles such as `lite`, or repositories of the model hub.
        accept: accept this license, for weights that require it.
        revision: another commit of the model hub than the pinned one.
        quiet: print no progress or remarks.

    """
    return pull_each(_store.required_weights(_listed(name)), accept, revision, quiet=quiet)


def pull_each(
    alternatives: Sequence[Sequence[str]],
    accept: str | None = None,
    revision: str | None = None,
    *,
    quiet: bool = False,
) -> list[WeightFiles]:
    """Download, several at a time, the first set that can be had of each list of alternatives."""
    with downloads_shown(quiet=quiet) as show, ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        downloads = [pool.submit(_pull_first, name, show, accept, revision, quiet=quiet) for name in alternatives]
        try:
            return [download.result() for download in downloads]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _pull_first(
    alternatives: Sequence[str], show: ShowDownload, accept: str | None, revision: str | None, *, quiet: bool
) -> WeightFiles:
    for index, name in enumerate(alternatives, start=1):
        about = _store.info(name)
        remark = partial(_remark, name, quiet=quiet)
        remark(f"{about.source}; license {license_of(about)}")
        try:
            return _store.pull(
                name, say=remark, grown=show(name, about.bytes_to_fetch), accept=accept, revision=revision
            )
        except FetchError as failed:
            if index == len(alternatives):
                raise
            log_info(f"{failed}\n{alternatives[index]} is used instead of {name}.", quiet=quiet)
    raise ValueError("there is nothing to pull")


def _remark(name: str, words: str, *, quiet: bool) -> None:
    log_info(f"{name}: {words}", quiet=quiet)


def verify(name: str | Sequence[str]) -> list[WeightFiles]:
    """Compare every file of these weights with its recorded SHA-256.

    Example:
        $ editgauge models verify lite
        >>> editgauge.models.verify("lite")

    Args:
        name: sets of weights, models, profiles such as `lite`, or repositories of the model hub.

    """
    names = [next(filter(_store.available, element), element[0]) for element in _store.required_weights(_listed(name))]
    return [_store.verify(item) for item in names]


def path(name: str) -> Path:
    """Print the folder that holds a set of weights.

    Example:
        $ editgauge models path lpips-alex
        >>> editgauge.models.path("lpips-alex")

    Args:
        name: set of weights or model, such as `lpips-alex`; `editgauge models list` shows all.

    """
    return _store.weights_of(_set_of(name)).folder


def license_of(about: WeightInfo) -> str:
    """Return the license, with a star when it is that of the upstream project."""
    return about.license + ("*" if about.license_from == "upstream" else "")


def _set_of(name: str) -> str:
    """Resolve the name of a set of weights or of a model to one set."""
    ((weights_name, *_), *_) = _store.required_weights([name])
    return weights_name


def _listed(name: str | Sequence[str]) -> list[str]:
    return [name] if isinstance(name, str) else [*name]


@contextmanager
def downloads_shown(*, quiet: bool = False) -> Iterator[ShowDownload]:
    """Show download progress on standard error."""
    if quiet:
        yield lambda _what, _total: lambda _so_far: None
    elif sys.stderr.isatty():
        with _bars() as show:
            yield show
    else:
        yield _lines


@contextmanager
def _bars() -> Iterator[ShowDownload]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    left = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), left)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:

        def show(what: str, total: int | None) -> GrowthCallback:
            task = bars.add_task(what, total=total)
            return lambda so_far: bars.update(task, completed=min(so_far, total or so_far))

        yield show


def _lines(what: str, total: int | None) -> GrowthCallback:
    reported_at = time.monotonic()

    def grown(so_far: int) -> None:
        nonlocal reported_at
        if time.monotonic() - reported_at > SECONDS_BETWEEN_LINES:
            reported_at = time.monotonic()
            of = f" of {total / MB:.0f}" if total else ""
            sys.stderr.write(f"{what}: {min(so_far, total or so_far) / MB:.0f}{of} MB\n")
            sys.stderr.flush()

    return grown
