"""What a model says: without its thoughts and its control tokens; and whether it says that it will not answer."""

from __future__ import annotations

import re

SHOWN = 80
"""This much of an unreadable answer is repeated in the message about it."""
LONGEST_REFUSAL = 600
"""A refusal comes at the beginning; no more than this is looked at."""
OPENING_PHRASES = 6
"""This many regrets and introductions may stand before a refusal."""

_TOKEN = re.compile(r"<\|[A-Za-z_]{1,30}\|>")
_NOTHING = frozenset({"", "null", "none", "n/a", "na", "nil", "nothing", "undefined", "-"})

_I = r"(?:i|we)"
_APOSTROPHE = "['\u2019]"
_UNABLE = (
    rf"(?:can(?:{_APOSTROPHE}?t|not| not)|could(?:n{_APOSTROPHE}t| not)|won{_APOSTROPHE}t|will not|must decline to|"
    rf"have to decline to|(?:{_APOSTROPHE}m|am|are|{_APOSTROPHE}re) (?:currently )?(?:unable|not able|not allowed|"
    rf"not permitted|not comfortable)(?: to)?|do(?:n{_APOSTROPHE}t| not) have the (?:ability|capability|capacity) to)"
)
_ADVERBS = r"(?:(?:directly|actually|really|currently|physically|further|to) ){0,2}"
_SERVICE = (
    r"(?:help|assist|answer|comply|provide|discuss|identify|identifying|analy[sz]e|process|fulfil|fulfill|continue|"
    r"engage|do (?:that|this|so)|respond|comment|describe|judge|judging|rate|rating|score|evaluate|assess|support|"
    r"complete|perform|carry out|determine|offer|give (?:a|an|any) (?:rating|score|answer|evaluation|assessment))\b"
)
_PICTURES = r"(?:images?|pictures?|photos?|photographs?|attachments?|files?)"
_SEE = r"(?:see|view|access|open|load|look at|display|interpret|perceive|find|receive)"
_ENDS = r"(?=\s*(?:$|[.,;:!?\n(\u2014-]|here|attached|provided|that|which|in (?:this|your|our)|to|you|from|but|so|and))"
_WHICH = (
    r"(?:the|any|an|a|your|these|this|those|both|either|two|actual|provided|attached|uploaded|source|edited|original)"
)
_UNSEEN = rf"(?:{_SEE} )(?:{_WHICH} ){{0,3}}{_PICTURES}{_ENDS}"
_REFUSALS = (
    rf"{_I} ?{_UNABLE} {_ADVERBS}(?:{_SERVICE}|{_UNSEEN})",
    rf"{_I} (?:do(?:n{_APOSTROPHE}t| not)|did(?:n{_APOSTROPHE}t| not)) {_ADVERBS}{_UNSEEN}",
    rf"{_I} do(?:n{_APOSTROPHE}t| not) have (?:access to|any way to see|eyes for) (?:{_WHICH} ){{0,3}}{_PICTURES}",
    rf"(?:no|neither) {_PICTURES} (?:was|were|is|are|has been|have been|could be|can be) "
    r"(?:provided|attached|given|included|uploaded|visible to me|seen|found|shared|loaded|opened|received)",
    rf"there (?:is|are|was|were) no {_PICTURES} (?:attached|provided|included|given|uploaded|shared|visible|here)",
    rf"it (?:looks|seems|appears)(?: like| that)? (?:the |no |your |there (?:are|is) no )?{_PICTURES} "
    rf"(?:was|were|is|are|did|do|has|have|attached|provided|did not|didn{_APOSTROPHE}t)",
    rf"(?:please|could you|can you|kindly) (?:please )?(?:provide|upload|attach|share|re-?upload|send)\b[^.\n]{{0,60}}"
    rf"{_PICTURES}",
    rf"the {_PICTURES} (?:is|are|was|were) (?:missing|not (?:provided|attached|visible|included|accessible|available))",
    r"(?:this|that|the) (?:request|content|image|picture) (?:violates|goes against|is against|may violate)\b",
)
_REFUSAL = re.compile("|".join(f"(?:{each})" for each in _REFUSALS), re.IGNORECASE)
_OPENING = re.compile(
    rf"(?:(?:{_I} ?(?:{_APOSTROPHE}m|am|are) )?(?:very |so |really |terribly )?sorry|{_I} apologi[sz]e|"
    rf"(?:my )?apologies|unfortunately|regrettably|as an? [a-z -]{{0,30}}\b(?:ai|model|assistant)\b[^.,;!\n]{{0,60}}|"
    rf"for (?:the|any) (?:inconvenience|confusion)|but|however|note(?: that)?|thank you[^.,;!\n]{{0,40}}|hello|hi)"
    r"(?=[^a-z]|$)[^\w<{]{0,4}",
    re.IGNORECASE,
)


class Unreadable(ValueError):
    """An answer that is not of the asked form."""

    def __init__(self, wanted: str, text: str) -> None:
        shown = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
        super().__init__(f"wanted {wanted}, got {shown!r}")


def spoken(text: str) -> str:
    """The answer without control tokens, and without the thoughts that some models write before it.

    A thought that never ends leaves nothing. Some chat templates swallow the tag that opens a thought.

    >>> spoken("<think>Is it red? Yes.</think> no"), spoken("Is it red? Hm.</think>no"), spoken("<think>yes")
    ('no', 'no', '')
    """
    bare = _TOKEN.sub("", text).strip()
    for name in ("think", "thinking", "thought"):
        end = bare.rfind(f"</{name}>")
        if end >= 0:
            bare = bare[end + len(name) + 3 :].strip()
        if bare.startswith(f"<{name}>"):
            return ""
    opened, closed = bare.find("<answer>"), bare.find("</answer>")
    if 0 <= opened < closed and bare.count("<answer>") == 1:
        return bare[opened + len("<answer>") : closed].strip()
    return bare


def is_nothing(text: str) -> bool:
    """Is it one of the words for no thing at all?

    >>> is_nothing("None"), is_nothing("null."), is_nothing("nonesuch")
    (True, True, False)
    """
    return len(text) < SHOWN and text.strip(" \t\r\n.\"'`").lower() in _NOTHING


def is_refusal(text: str) -> bool:
    """Does it begin as models do that will not or cannot answer?

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("I cannot see any image.")
    (True, True)
    >>> is_refusal("I cannot see a difference."), is_refusal("I don't see any image artifacts.")
    (False, False)
    """
    rest = spoken(text)[:LONGEST_REFUSAL].lstrip(" \t\r\n*_#>\"'")
    regretted = False
    for _ in range(OPENING_PHRASES):
        if _REFUSAL.match(rest):
            return True
        opening = _OPENING.match(rest)
        if opening is None:
            return False
        regretted |= "sorry" in opening[0].lower() or "apolog" in opening[0].lower()
        rest = rest[opening.end() :].lstrip()
        if not rest:
            return regretted
    return _REFUSAL.match(rest) is not None
