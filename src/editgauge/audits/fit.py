r"""Fits every model of the protocol `editgauge` with one command, and writes them into the package.

    python -m editgauge.audits.fit --museum ImagenHub_Text-Guided_IE --ratings RATINGS --judges VIE_SCORES/*.tsv \
        --masked MUSEUM_MASKED --magicbrush MAGICBRUSH --probes PROBES --work WORK

Measured features stay in WORK, so a second call only fits. `--probes` is a folder of `editgauge build probes`; it is
made there if it does not exist. The scores of every rated outcome by fits that have not seen its photograph (or neither
photograph nor method) are written to `WORK/unseen.jsonl`, from which `docs/people.py` makes its tables.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._util.batching import run_async
from editgauge._util.files import write_text
from editgauge._util.progress import log_info
from editgauge.audits._fitting import (
    REPEATS,
    FittedScores,
    as_models,
    confidence_levels,
    fit,
    out_of_fold,
    predict,
)
from editgauge.audits._measured import (
    ROLES,
    WEIGHTS,
    MeasuredOutcome,
    RatedOutcome,
    mask_guided,
    measure,
    probe_outcomes,
    read_measured,
    single_editor,
    text_guided,
    write_magicbrush,
)
from editgauge.audits.probes import probes as build_probes
from editgauge.models.profiles import choose_models, describe
from editgauge.protocols import editgauge
from editgauge.protocols.editgauge._models import FILE

DIGITS = 6


def rated_outcomes(options: argparse.Namespace) -> Iterator[RatedOutcome]:
    """Yield every outcome that is measured, without probes."""
    yield from text_guided(options.museum, options.ratings, options.judges)
    if options.masked:
        yield from mask_guided(options.museum, options.masked)
    if options.magicbrush:
        folder = options.work / "magicbrush"
        if not (folder / "edits.jsonl").is_file():
            write_magicbrush(options.magicbrush, folder)
        yield from single_editor(folder)


def measured_outcomes(options: argparse.Namespace) -> list[MeasuredOutcome]:
    """Measure what is not measured yet; return everything."""
    options.work.mkdir(parents=True, exist_ok=True)
    probes = options.probes or options.work / "probes"
    if not probes.is_dir():
        build_probes(out=probes, limit=8)
    rated, of_probes = options.work / "measured.jsonl", options.work / "probes.jsonl"
    run_async(measure(rated_outcomes(options), rated))
    run_async(measure(probe_outcomes(probes), of_probes))
    return [*read_measured(rated), *read_measured(of_probes)]


def write_unseen(
    records: Sequence[MeasuredOutcome], unfitted: Sequence[MeasuredOutcome], file: Path
) -> list[FittedScores]:
    """Write the scores of rated outcomes by fits that have not seen them; return those of unseen photographs."""
    repeats = [out_of_fold(records, unseen_methods=False, seed=seed) for seed in range(REPEATS)]
    lines = list(_lines("photograph unseen", records, repeats[0]))
    lines += _lines("photograph and method unseen", records, out_of_fold(records, unseen_methods=True))
    photos = sorted({record.photo for record in unfitted})
    for fold in range(min(REPEATS, len(photos))):
        left_out = set(photos[fold::REPEATS])
        tested = [record for record in unfitted if record.photo in left_out]
        models = as_models(fit([record for record in records if record.photo not in left_out]))
        lines += _lines("another data set", tested, predict(tested, models))
    write_text(file, "\n".join(lines) + "\n")
    return repeats


def _lines(label: str, records: Sequence[MeasuredOutcome], scores: FittedScores) -> Iterator[str]:
    columns = {name: getattr(scores, name) for name in ("edit", "success", "kept", "quality", "overall")}
    for index, record in enumerate(records):
        if record.method in WEIGHTS:
            continue
        values = {name: round(float(column[index]), DIGITS) for name, column in columns.items()}
        row = {
            "dataset": record.dataset,
            "edit": record.edit,
            "photo": record.photo,
            "method": record.method,
            "fit": label,
            "is_looked_for": record.is_looked_for,
            "labels": record.labels,
            "scores": {name: value for name, value in values.items() if np.isfinite(value)},
        }
        yield json.dumps(row)


def provenance(records: Sequence[MeasuredOutcome]) -> dict[str, Any]:
    """Return what the models were fitted on."""
    rated = [record for record in records if record.method not in WEIGHTS]
    methods = sorted({record.method for record in records})
    models = describe(choose_models("lite", {}, ROLES).models)
    return {
        "outcomes": {method: sum(record.method == method for record in records) for method in methods},
        "photographs": len({record.photo for record in records}),
        "photograph_ids": sorted({record.photo for record in rated}),
        "models": {role: card["id"] for role, card in models.items()},
        "command": "python -m editgauge.audits.fit",
    }


def main() -> None:
    """Measure, evaluate and fit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--museum", required=True, type=Path, help="ImagenHub_Text-Guided_IE with its outcomes")
    parser.add_argument("--ratings", required=True, type=Path, help="ImagenHub's tables, one per rater")
    parser.add_argument("--judges", nargs="+", required=True, type=Path, help="VIEScore's answers")
    parser.add_argument("--masked", type=Path, help="mask-guided outcomes with ratings.csv and judges.csv")
    parser.add_argument("--magicbrush", type=Path, help="edits.jsonl, images and ratings.csv; evaluated, not fitted")
    parser.add_argument("--probes", type=Path, help="folder of `editgauge build probes`")
    parser.add_argument("--work", required=True, type=Path, help="folder for measurements; a second call continues")
    options = parser.parse_args()
    everything = measured_outcomes(options)
    records = [record for record in everything if record.dataset != "magicbrush"]
    unfitted = [record for record in everything if record.dataset == "magicbrush"]
    repeats = write_unseen(records, unfitted, options.work / "unseen.jsonl")
    content = fit(records)
    content["confidence"] = confidence_levels(records, repeats)
    content["provenance"] = provenance(records)
    target = Path(str(editgauge.__file__)).parent / FILE
    write_text(target, f"{json.dumps(content, separators=(',', ':'))}\n")
    for level in content["confidence"]:
        log_info(json.dumps(level), quiet=False)


if __name__ == "__main__":
    main()
