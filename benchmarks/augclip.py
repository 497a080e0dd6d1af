"""How many edits a second AugCLIP's arithmetic scores, and how much faster than the plain way: on one thread.

    OMP_NUM_THREADS=1 python benchmarks/augclip.py

The plain way fits scikit-learn's classifier to the whole vectors. Both take turns within one run and are measured by
processor time, so that other work on the machine matters little, and to both alike. Vectors are random, with the
cosines of CLIP's texts: .75 within a set of attributes, .65 across.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from editgauge.benchmarks.attributes import Attributes
from editgauge.metrics.embeddings import Floats, unit_vectors
from editgauge.protocols.augclip._hyperplane import CLASSIFIERS, TOLERANCE, Classifier, fit, relative_weights
from editgauge.protocols.augclip._ideal import (
    AugClipOptions,
    EmbeddedOutcome,
    PaperReading,
    augclip_evidence,
    fit_ideal_edit,
)

DIMENSIONS = 512
SIZES = ((10, 10), (20, 20), (30, 30))
EDITS = 20
TURNS = 7
PLAIN: dict[Classifier, Callable[[], Any]] = {
    "svm": lambda: SVC(kernel="linear", tol=TOLERANCE),
    "lda": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "logistic": lambda: LogisticRegression(tol=TOLERANCE, max_iter=1000),
}


def edit(seed: int, sources: int, targets: int) -> EmbeddedOutcome:
    random = np.random.default_rng(seed)
    common, one, other, before, after = unit_vectors(random.standard_normal((5, DIMENSIONS)))

    def cloud(own: Floats, count: int) -> Floats:
        noise = random.standard_normal((count, DIMENSIONS)) / np.sqrt(DIMENSIONS)
        return unit_vectors(np.sqrt(0.65) * common + np.sqrt(0.1) * own + np.sqrt(0.25) * noise)

    return EmbeddedOutcome(before, after, cloud(one, sources), cloud(other, targets))


def plainly(seen: EmbeddedOutcome, classifier: Classifier) -> None:
    weights = relative_weights(seen.source, seen.target).scaled()
    points = np.vstack([seen.source, seen.target])
    labels = np.repeat([-1, 1], [len(seen.source), len(seen.target)])
    loads = {} if classifier == "lda" else {"sample_weight": np.concatenate([weights.source, weights.target])}
    PLAIN[classifier]().fit(points, labels, **loads)


def quickly(seen: EmbeddedOutcome, classifier: Classifier) -> None:
    fit(seen.source, seen.target, relative_weights(seen.source, seen.target).scaled(), classifier)


def wholly(seen: EmbeddedOutcome, classifier: Classifier) -> None:
    """Compute the score with its evidence: rankings and image."""
    names = Attributes(tuple(map(str, range(len(seen.source)))), tuple(map(str, range(len(seen.target)))))
    augclip_evidence(
        "augclip",
        names,
        seen,
        fit_ideal_edit(seen, AugClipOptions(classifier=classifier), PaperReading()),
        PaperReading(),
    )


def seconds(
    edits: list[EmbeddedOutcome], work: Callable[[EmbeddedOutcome, Classifier], None], classifier: Classifier
) -> float:
    start = time.process_time()
    for each in edits:
        work(each, classifier)
    return (time.process_time() - start) / len(edits)


def main() -> None:
    table = Table("classifier", "points", "plain fit, ms", "our fit, ms", "ratio", "with evidence, edits a second")
    for classifier in CLASSIFIERS:
        for size in SIZES:
            edits = [edit(seed, *size) for seed in range(EDITS)]
            turns = [[seconds(edits, work, classifier) for work in (plainly, quickly, wholly)] for _ in range(TURNS)]
            plain, quick, whole = (statistics.median(column) for column in zip(*turns, strict=True))
            told = f"{1e3 * plain:.2f}", f"{1e3 * quick:.2f}", f"{plain / quick:.1f}", f"{1 / whole:,.0f}"
            table.add_row(classifier, str(sum(size)), *told)
    Console().print(table)


if __name__ == "__main__":
    main()
