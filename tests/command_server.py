"""Run the installed command without its start-up time: a process that has imported it forks for every call.

`serve()` starts the process once per session. It runs no threads, so forking is safe, and changes to the working
directory, the environment or modules end with the fork.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

PRELOADED = (
    "editgauge._cli",
    "editgauge.benchmarks.folder",
    "editgauge.engine.run",
    "editgauge.engine.verify",
    "editgauge.analysis.compare",
    "editgauge.reports.report",
    "rich.table",
    "scipy.stats",
)


class CommandServer:
    """Run the command in forks of one process."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests, self._answers = requests, answers

    def __call__(self, words: list[str], cwd: Path | str | None = None) -> subprocess.CompletedProcess[str]:
        """Return what the command printed and its exit code."""
        with tempfile.TemporaryDirectory() as folder:
            stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
            request = {"words": words, "cwd": str(cwd or Path.cwd()), "env": dict(os.environ)}
            self._requests.write(json.dumps({**request, "stdout": str(stdout), "stderr": str(stderr)}) + "\n")
            self._requests.flush()
            code = int(self._answers.readline())
            return subprocess.CompletedProcess(words, code, stdout.read_text("utf-8"), stderr.read_text("utf-8"))


@contextmanager
def serve() -> Iterator[CommandServer]:
    """Yield a server that ends with the context."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdin
        assert process.stdout
        yield CommandServer(process.stdin, process.stdout)
        process.stdin.close()


def _main() -> None:
    for name in PRELOADED:
        __import__(name)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run_command(json.loads(line))
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def _run_command(request: Mapping[str, Any]) -> None:
    """Run the command in this process and exit."""
    for number, path in ((0, os.devnull), (1, request["stdout"]), (2, request["stderr"])):
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode, encoding="utf-8") for number, mode in enumerate("rww"))
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = ["editgauge", *request["words"]]
    from editgauge._cli import main

    code: Any = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    _main()
