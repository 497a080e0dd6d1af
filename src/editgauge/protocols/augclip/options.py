"""The variants of AugCLIP: how attributes are weighed and parted, how they should be, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from editgauge.errors import BadInputError
from editgauge.protocols import variant_name
from editgauge.protocols.augclip.hyperplane import Classifier
from editgauge.protocols.augclip.judge_attributes import Length, Wanted

Weighting = Literal["relative", "unweighted", "naive"]
Origin = Literal["edit", "rules", "judge"]
LENGTHS: tuple[Length, ...] = get_args(Length)
NUMBERS = (10, 20, 30)
"""Those of table 10."""
EXCLUSIVE = (("unweighted", "naive"), ("lda", "logistic"), LENGTHS, ("rules", "judge"), ("lda", "naive"), ("lda", "c"))
VALUED = ("number", "judge", "c")
PLAIN = ("unweighted", "naive", "lda", "logistic", *LENGTHS, "rules", "judge")
KNOWN = tuple(dict.fromkeys((*PLAIN, *VALUED)))


@dataclass(frozen=True, slots=True)
class AugClipOptions:
    """One choice of each."""

    weighting: Weighting = "relative"
    classifier: Classifier = "svm"
    c: float = 1.0
    wanted: Wanted = field(default_factory=Wanted)
    origin: Origin = "edit"
    judge: str = ""
    """Which judge is asked, where one is."""


def read_options(name: str, texts: Mapping[str, str]) -> AugClipOptions:
    """The options in the brackets of `augclip[…]`; all that is wrong with them is said at once."""
    problems = [f"there is no option '{option}'" for option in texts if option not in KNOWN]
    problems += [f"'{option}' takes no value" for option, value in texts.items() if value and option not in VALUED]
    problems += [f"'{one}' and '{other}' exclude each other" for one, other in EXCLUSIVE if {one, other} <= set(texts)]
    number, c = texts.get("number"), texts.get("c")
    if number is not None and number not in map(str, NUMBERS):
        problems.append(f"'number' is one of {', '.join(map(str, NUMBERS))}, got '{number}'")
    if c is not None and not _positive(c):
        problems.append(f"'c' takes a number over 0, got '{c}'")
    if problems:
        raise BadInputError(
            f"'{variant_name(name, texts)}' cannot be understood. {name} takes unweighted or naive; lda or logistic; "
            "c=NUMBER; short or long; number=10|20|30; rules or judge=NAME.",
            problems,
        )
    length: Length | None = next((each for each in LENGTHS if each in texts), None)
    return AugClipOptions(
        weighting="unweighted" if {"unweighted", "lda"} & set(texts) else "naive" if "naive" in texts else "relative",
        classifier="lda" if "lda" in texts else "logistic" if "logistic" in texts else "svm",
        c=float(c) if c else 1.0,
        wanted=Wanted(length, int(number) if number else None),
        origin="rules" if "rules" in texts else "judge" if "judge" in texts else "edit",
        judge=texts.get("judge", ""),
    )


def _positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False
