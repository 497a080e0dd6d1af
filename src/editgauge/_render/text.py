"""Format numbers, shares, reasons and paths, the same way in every report and table."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from editgauge._stats.intervals import Mean
    from editgauge._stats.resampling import Estimate
    from editgauge.types import Reason

MEANINGS: dict[Reason, str] = {
    "missing_outcome": "The method gave no image for this edit.",
    "unreadable_image": "The source or the edited image cannot be decoded.",
    "not_applicable": "The score needs a part this edit does not have, such as a mask.",
    "no_rule": "The protocol has no automatic rule for this edit type.",
    "not_understood": "The instruction could not be parsed, so it is unknown what to look for.",
    "unknown_word": "A model with a closed vocabulary does not know the word.",
    "not_detected": "An object the rule starts from was not seen.",
    "no_model": "No model plays a role the protocol needs.",
    "unreachable": "A judge gave no answer this time; the same command asks it again.",
    "refused": "A judge or a filter refused.",
    "unparsable": "An answer was not of the asked form.",
    "budget": "The budget was used up.",
    "crashed": "The protocol failed on this item; the detail says how.",
}
"""What each reason for having no score means."""

MAX_DECIMALS = 6
SHARE_TOLERANCE = 1e-9
"""Shares this close to 0 or 1 differ from them by rounding only."""
_ROOT = r"(?:file://)?(?:/|\\\\|[A-Za-z]:[\\/])"
_PART = r"""[^\s'",;:()<>/\\]+"""
_PATH = re.compile(
    rf"""(?P<quote>['"])(?P<quoted>{_ROOT}.*?)(?P=quote)(?!\w)"""
    rf"|(?<![\w.…<>/\\:])(?P<bare>{_ROOT}{_PART}(?:[/\\]+{_PART})+)"
)
"""Absolute paths, of Windows too: in quotes, or bare with at least two parts."""
_HOMES = frozenset({"home", "Users"})


def decimals_for(values: Iterable[float]) -> int:
    """Return the number of decimals that gives the typical value three digits.

    >>> decimals_for([0.91, 1.0]), decimals_for([31.2, 100.0]), decimals_for([0.0012, 0.0])
    (3, 1, 5)
    """
    sizes = sorted(abs(value) for value in values if value != 0)
    if not sizes:
        return 3
    typical = sizes[len(sizes) // 2]
    fewest = 3 if sizes[-1] <= 1 else 1
    return min(max(2 - math.floor(math.log10(typical)), fewest), MAX_DECIMALS)


def number(value: float, decimals: int) -> str:
    """Format a value; one that would round to zero keeps a digit.

    >>> number(0.1234, 3), number(-0.5, 1), number(0.00004, 3), number(0.0, 3)
    ('0.123', '−0.5', '4e−05', '0.000')
    """
    written = f"{value:.{decimals}f}"
    if value != 0 and float(written) == 0:
        written = f"{value:.0e}"
    return written.replace("-", "−")


def estimate_text(estimate: Estimate | None, limits: tuple[float, float], decimals: int | None = None) -> str:
    """Format an estimate with its interval, clipped to the limits of the score."""
    if estimate is None or estimate.value is None:
        return f"no score{f': {estimate.reason}' if estimate and estimate.reason else ''}"
    digits = decimals_for([estimate.value]) if decimals is None else decimals
    value = number(estimate.value, digits)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} {interval(max(estimate.low, limits[0]), min(estimate.high, limits[1]), digits)}"


def interval(low: float | None, high: float | None, decimals: int) -> str:
    """Format an interval in brackets; empty without one.

    >>> interval(-0.25, 0.5, 2), interval(None, None, 2)
    ('[−0.25, 0.50]', '')
    """
    return "" if low is None or high is None else f"[{number(low, decimals)}, {number(high, decimals)}]"


def spoken_interval(mean: Mean, decimals: int) -> str:
    """Format an interval for a screen reader; empty without one."""
    if mean.low is None or mean.high is None:
        return ""
    return f", 95% interval {number(mean.low, decimals)} to {number(mean.high, decimals)}"


def percent(share: float) -> str:
    """Format a share as a percentage; 0% and 100% only if exact.

    >>> percent(0.256), percent(0.0), percent(0.001), percent(0.999), percent(1.0)
    ('26%', '0%', '<1%', '>99%', '100%')
    """
    percentage = f"{share:.0%}"
    if SHARE_TOLERANCE < share < 1 - SHARE_TOLERANCE and percentage in {"0%", "100%"}:
        return "<1%" if percentage == "0%" else ">99%"
    return percentage


def shortened(text: str, longest: int) -> str:
    """Cut a text to a length, with an ellipsis.

    >>> shortened("instruct-pix2pix", 9), shortened("mine", 9)
    ('instruct…', 'mine')
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def plain(value: float) -> str:
    """Format a number without trailing zeros; infinity as ∞.

    >>> plain(100.0), plain(-0.5), plain(math.inf)
    ('100', '−0.5', '∞')
    """
    return f"{value:g}".replace("inf", "∞").replace("-", "−")


def unscored(reasons: Mapping[str, int]) -> str:
    """Say how many have no score and why, most frequent first; empty if all have one.

    >>> unscored({"unreadable_image": 1, "missing_outcome": 2}), unscored({"no_rule": 2})
    ('3 unscored (missing outcome: 2, unreadable image: 1)', '2 unscored: no rule')
    """
    if not reasons:
        return ""
    total = f"{sum(reasons.values()):,} unscored"
    if len(reasons) == 1:
        return f"{total}: {spaced(*reasons)}"
    by_count = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return f"{total} ({', '.join(f'{spaced(reason)}: {count:,}' for reason, count in by_count)})"


def meaning(reason: str) -> str:
    """Return what a reason means; empty for reasons of a newer version."""
    return {str(name): text for name, text in MEANINGS.items()}.get(reason, "")


def spaced(name: str) -> str:
    """Replace underscores by spaces.

    >>> spaced("object_addition")
    'object addition'
    """
    return name.replace("_", " ")


def without_folders(text: str) -> str:
    """Cut every absolute path to its file and folder, so that a shared report reveals no more.

    >>> without_folders("There is no image at '/home/me/photos/images/bad.png'.")
    "There is no image at '…/images/bad.png'."
    """
    return _PATH.sub(_cut, text)


def _cut(match: re.Match[str]) -> str:
    quote = match["quote"] or ""
    path = match["quoted"] or match["bare"]
    parts = [part for part in re.split(r"[/\\]+", path.removeprefix("file://")) if part and not part.endswith(":")]
    if parts and parts[0] in _HOMES:
        parts = parts[2:]  # the next folder is someone's name
    return quote + "/".join(["…", *parts[-2:]]) + quote


_WORD_BORDERS = re.compile(r"(?<=[_/-])(?=\w)|(?<=[a-z0-9])(?=[A-Z])")


def breakable(name: str) -> Markup:
    """Escape a name for HTML and let lines break between its words only.

    >>> breakable("PixArt_base-v2")
    Markup('Pix<wbr>Art_<wbr>base-<wbr>v2')
    """
    return Markup("<wbr>").join(_WORD_BORDERS.split(name))


def open_templates(package: str) -> Environment:
    """Open the templates in the folder `templates` of a package; callers add filters and globals."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    return environment
