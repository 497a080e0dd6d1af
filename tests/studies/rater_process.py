"""Raters in processes of their own, which may be killed: each prints a page once the study has acknowledged it.

python rater_process.py STUDY VALUE TOKEN...
"""

from __future__ import annotations

import os
import sys

from editgauge.studies import Study


def rate(folder: str, token: str, value: int) -> None:
    study = Study.open(folder)
    rater = study.rater(token)
    while (page := study.next(rater)) is not None:
        study.answer(rater, page, {"good": value})
        os.write(1, b"%d\n" % page)  # so short a write is never torn


def main(folder: str, value: int, tokens: list[str]) -> int:
    """One process per token, forked here so that the imports cost once."""
    children = []
    for token in tokens:
        child = os.fork()
        if child == 0:
            try:
                rate(folder, token, value)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        children.append(child)
    return sum(os.waitpid(child, 0)[1] != 0 for child in children)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
