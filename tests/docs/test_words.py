"""Plain words: phrases that must not appear in help, messages, reports and docs, and what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTEAD = {
    r"so many(?! that)": "N, this many, at most N",
    r"so much of": "this much of",
    r"at hand": "available",
    r"told from": "estimated from, distinguished from",
    r"told apart": "distinguished",
    r"(?<!it )is told(?! (?:how|what|which|that|where|to)\b)": "is reported, is shown, is described",
    r"can(?:not)? be told": "can be determined",
    r"(?:lies|lie) in": "is in",
    r"(?:mends?|mended)": "fix, correct, repair",
    r"bears (?:the|its|a) name": "carries the name",
    r"anew": "again, start over",
    r"(?:for|by) want of": "for lack of",
    r"in the place of": "in place of",
    r"laid back": "aligned",
    r"from which on": "at least, from which",
    r"asked-for": "requested",
    r"held against": "compared with",
    r"said of": "said about",
    r"numbers are others": "has different numbers",
    r"(?:is )?of no use": "has no effect",
    r"has no use for": "does not need",
    r"who answers": "model used as judge",
    r"one door": "one loader",
    r"left to chance": "random seed",
    r"deaf to": "ignores",
    r"moves by JPEG": "sensitivity to JPEG",
    r"turned round": "inverted",
    r"as ever": "as before",
    r"may cost together": "maximum total cost",
    r"we part from": "differences from",
    r"wherever (?:it|they) lies?": "wherever it is",
    r"be it (?:in|a|by)": "even",
    r"by the letter": "as printed",
    r"stands? (?:under|below)": "is shown below, is called",
    r"it is said": "the message says",
    r"given again": "run again, used again",
    r"from \d[\d.]*(?: degrees)? on": "at least, and above",
    r"(?:what|how much) it is worth(?! on)": "how well it works",
    r"how it fares": "how well it works",
    r"is dear": "is expensive",
    r"wishes for": "recommends",
    r"unless told": "by default",
    r"the very same": "the same",
    r"for the time being": "meanwhile",
    r"scores so": "scores this way",
    r"(?:said|says?) aloud": "printed",
    r"(?:lays?|laid) [^.\n]{0,30}back over": "align with",
    r"likewise": "the same",
    r"as can be": "as possible",
    r"next to nothing": "hardly anything",
    r"its kin": "related measures",
    r"shall": "must",
    r"(?<!in )an requested": "a requested",
    r"hence(?![|\])])": "this is why",
    r"hearken|hitherto|thereof|whereof|wherein|lest": "a modern word",
    r"somebody|anybody": "someone, a person, anyone",
    r"one by one": "individually",
    r"two by two": "in pairs",
    r"behind your back": "implicitly",
    r"draws? whole": "clustered by",
    r"flatters": "is optimistic",
    r"held-back": "held-out",
    r"best-telling": "best",
    r"told by": "determined by, chosen by",
    r"by the clock": "wall time",
    r"graphics? cards?": "GPU",
    r"(?:how|and) [^.\n]{0,40}fares?": "performs",
    r"surer": "more confident",
    r"foretells?": "predict",
    r"takes? the place of": "replace",
    r"whichever plays": "any model of this role",
    r"(?:a|the|people's) likeness": "similarity",
    r"in silence": "silently",
    r"wanted picture": "target picture",
    r"two wishes": "two requests",
    r"give (?:it|the command) again": "run it again",
    r"has (?:it|them) told": "says",
    r"what (?:the model|people|no person) tells?": "reports",
    r"goes alone": "is processed individually",
    r"speaks? (?:for|against) it": "supports it, contradicts it",
    r"what becomes of": "the result of",
    r"makes? of (?:it|them)(?= \|)": "formula, result",
    r"not ours to ship": "we may not ship it",
    r"the plain way": "the baseline",
    r"nobody (?:knows|says|plays|can (?:say|tell)|looked|waits|told)|asks? nobody": "unknown, no model, no judge",
    r"whoever": "the caller, any rater",
    r"(?:kept|stands?|shown|written|drawn|put) beside": "next to, in addition to",
}
"""A phrase, as a regular expression of whole words, and plain words in its place."""
GIVEN_TO_OTHERS = ("judges/prompts/", "instructions/", "benchmarks/_text/")
"""Prompts, whose text is part of a judge's identity, and lists of words that users may write."""


def texts() -> list[Path]:
    source = ROOT / "src" / "editgauge"
    files = [path for suffix in ("py", "j2") for path in source.rglob(f"*.{suffix}")]
    ours = [path for path in files if not str(path.relative_to(source)).startswith(GIVEN_TO_OTHERS)]
    return sorted([*ours, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def prose(path: Path) -> str:
    """The text of a page; of a module only its strings and comments."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return text
    return "\n".join(re.findall(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|#.*', text))


def test_plain_words() -> None:
    """One search for all phrases: each for itself, in all texts, takes ten times as long."""
    pattern = re.compile(r"\b(?:" + "|".join(f"({phrase})" for phrase in INSTEAD) + r")\b", re.IGNORECASE)
    plain = list(INSTEAD.values())
    hits = [
        f"{path.relative_to(ROOT)}: …{match[0]}…; write instead: {plain[(match.lastindex or 1) - 1]}"
        for path in texts()
        for match in pattern.finditer(prose(path))
    ]
    assert not hits
