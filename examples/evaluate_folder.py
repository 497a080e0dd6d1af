"""Evaluate a folder of outcomes on a benchmark and write an HTML report.

python examples/evaluate_folder.py BENCHMARK OUTCOMES OUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import skimage.data
from PIL import Image

import editgauge


def write_example(folder: Path) -> tuple[Path, Path]:
    """Write a benchmark of two edits and the outcomes of a method that blurs too much."""
    benchmark, outcomes = folder / "benchmark", folder / "outcomes"
    benchmark.mkdir(parents=True, exist_ok=True)
    outcomes.mkdir(exist_ok=True)
    edits = []
    for name, subject in (("chelsea", "cat"), ("coffee", "cup")):
        photo = getattr(skimage.data, name)()
        Image.fromarray(photo).save(benchmark / f"{name}.png")
        edits.append(
            {"id": f"{name}-dark", "source": f"{name}.png", "type": "color", "subject": subject, "to": "black"}
        )
        edits[-1]["instruction"] = f"make the {subject} black"
        Image.fromarray(np.asarray(photo * 0.3, dtype=np.uint8)).save(outcomes / f"{name}-dark.png")
    (benchmark / "edits.jsonl").write_text("".join(json.dumps(edit) + "\n" for edit in edits))
    return benchmark, outcomes


def main(arguments: list[str]) -> None:
    """Run the default protocols and write the report."""
    if len(arguments) == 3:
        benchmark, outcomes, out = map(Path, arguments)
    else:
        out = Path(arguments[0] if arguments else "example")
        benchmark, outcomes = write_example(out)
    run = editgauge.run(str(benchmark), outcomes={"mine": outcomes}, out=out / "run", quiet=True)
    print(run)
    editgauge.report(out / "run", out=out / "report")
    print(f"Open {out / 'report' / 'index.html'} in a browser.")


if __name__ == "__main__":
    main(sys.argv[1:])
