"""Decide whether one model is better than another, with intervals clustered by source image.

python examples/compare_models.py RUN METHOD_A METHOD_B
"""

from __future__ import annotations

import sys
from pathlib import Path

import editgauge


def write_example(folder: Path) -> Path:
    """Score two reference editors on the built-in benchmark with pixel metrics only."""
    outcomes = {method: folder / "outcomes" / method for method in ("classical", "overdone")}
    for method, path in outcomes.items():
        editgauge.edit("sample", method=method, out=path, quiet=True)
    editgauge.run("sample", outcomes=outcomes, protocol=["preservation"], out=folder / "run", quiet=True)
    return folder / "run"


def main(arguments: list[str]) -> None:
    """Compare two methods of a run."""
    if len(arguments) == 3:
        run, *methods = arguments
    else:
        run, methods = write_example(Path(arguments[0] if arguments else "example")), ["classical", "overdone"]
    print(editgauge.compare(run, methods=methods))


if __name__ == "__main__":
    main(sys.argv[1:])
