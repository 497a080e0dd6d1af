"""A pipe where a file is expected never hangs a command: it is told in one message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge._util.images import Pixels, write_png
from editgauge.results import JournalEntry

SECONDS = 120
"""A command that waits for a pipe waits for ever; one that does not takes a few seconds for all of them."""
SCRIPT = """
import json, sys
import editgauge
from editgauge.errors import EditGaugeError
for verb, words, options in json.load(sys.stdin):
    call = editgauge
    for part in verb.split("."):
        call = getattr(call, part)
    try:
        result = call(*words, **options)
        print(json.dumps(str(getattr(result, "problems", result))))
    except EditGaugeError as error:
        print(json.dumps(str(error)))
    except Exception as error:
        print(json.dumps(f"CRASH {type(error).__name__}: {error}"))
"""


def messages(*calls: tuple[str, list[Any], dict[str, Any]]) -> list[str]:
    """What each verb says; one process for all, which is stopped when it hangs."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        input=json.dumps(calls),
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def pipe(path: Path) -> Path:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.slow
def test_no_verb_waits_for_a_pipe(
    tmp_path: Path, photo: Pixels, make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    picture = tmp_path / "a.png"
    write_png(photo, picture)
    waiting = str(pipe(tmp_path / "pipe.png"))
    manifest, edits, columns, journal = (make_run(make_record(), name=name) for name in "abcd")
    pipe(manifest / "manifest.json")
    pipe(edits / "edits.jsonl")
    pipe(next((columns / "scores").glob("*.parquet")))
    pipe(journal / "scores" / "00007.jsonl")
    own = tmp_path / "own"
    pipe(own / "edits.jsonl")

    texts = messages(
        ("score", [str(picture), waiting, "Make it red."], {}),
        ("score", [str(picture), str(picture), "Make it red."], {"mask": waiting}),
        ("changes", [waiting, str(picture)], {}),
        ("see", [waiting, ["cat"]], {}),
        ("verify", [str(edits)], {"quiet": True}),
        ("verify", [str(columns)], {"quiet": True}),
        ("verify", [str(journal)], {"quiet": True}),
        ("report", [str(manifest)], {"out": str(tmp_path / "report")}),
        ("report", [str(columns)], {"out": str(tmp_path / "report")}),
        ("study.create", [str(columns)], {"out": str(tmp_path / "study"), "quiet": True}),
        ("study.create", [str(edits)], {"out": str(tmp_path / "study"), "gold": waiting, "quiet": True}),
        ("run", [str(own)], {"outcomes": ["copy=" + str(tmp_path)], "out": str(tmp_path / "run1"), "quiet": True}),
        ("agree", [str(edits)], {"ratings": str(pipe(tmp_path / "ratings.jsonl"))}),
    )

    assert len(texts) == 13
    assert [text for text in texts if not any(word in text for word in ("regular file", "is not a run folder"))] == []
