"""The verbs and joints of difference captions, as patterns. A verb's group says what kind of change it tells."""

from __future__ import annotations

import re

SENTENCE = re.compile(r"(?<=[.!?;])\s*(?=[A-Z\"'“])|(?<=[.!?;])\s+|\n+")
FRAME = re.compile(
    r"^(?:(?:the |a )?(?:main |only |key |biggest |most notable |first |second |other )?(?:difference|change)s?"
    r"(?: between [^,]*?)? (?:is|are|was)(?: that)?,? |"
    r"(?:in|on) (?:the )?(?:first|second|other|new|original|edited|resulting) (?:image|picture|photo)[,:]? |"
    r"(?:also|additionally|furthermore|moreover|finally|overall|then|however),? )+"
)
_MANNER = r"(?:(?:also|now|all|then|a bit|a little|more|been|being|mostly|\w+ly) )*"
_BE = r"(?:was|were|is|are|be|has been|have been|had been|has|have|had|got|gets?|being)"
_ADDED = r"added|inserted|introduced|included|attached|superimposed|placed|put|drawn|brought in"
_REMOVED = (
    r"removed|erased|deleted|eliminated|taken (?:away|out|off)|gone|missing|absent|lost|cut (?:off|out)|"
    r"no longer (?:visible|present|there|seen)|not (?:visible|present|there|seen)(?: anymore)?"
)
_REPLACED = r"replaced|swapped|substituted|exchanged"
_CHANGED = r"changed|transformed|turned|converted|altered|modified|edited|morphed|switched|adjusted|made|given"
_STAY = r"un\w+|red|sleeping|seen|shown|based|used|located|situated|visible|supposed|left"
"""They tell how something is, not what became of it."""
_BENT = (
    rf"(?!(?:{_STAY})\b)[a-z]+ed|(?:torn|cut|bent|shrunk|split|spread|lit|bigger|smaller|larger|darker|lighter|brighter|"
    r"thicker|thinner|wider|shorter|longer|taller|blurry|different)"
)
HELD = r"holding|wearing|carrying|holds|wears|has|have|contains?|features?"
_OWN = r"(?:(?<=\bwith )|(?<=\bhad )|(?<=\bhas ))(?P<own>(?:his|her|its|their|a|an|the|some|more) (?:\S+ ){1,4}?)"
"""Whose tongue is removed in 'a dog with its tongue removed', and in 'the dog had its tongue removed'."""
VERB = re.compile(
    rf"\b(?P<now>{_BE} (?:\w+ly )?now(?: (?:seen|shown))?|now(?= (?:{HELD}|\w+s|\w+ing)\b))\b|"
    rf"(?<=\bby )(?:(?P<adding>adding|inserting)|(?P<removing>removing|erasing|deleting))\b|"
    rf"\b(?P<lacks>no longer has|no longer have|loses|lacks)\b|"
    rf"(?:\b{_BE} {_MANNER}|(?<=\band )(?={_REPLACED})|{_OWN})"
    rf"(?:(?P<added>{_ADDED})|(?P<removed>{_REMOVED})|(?P<replaced>{_REPLACED})|(?P<changed>{_CHANGED}))\b|"
    rf"\b(?!being\b){_BE} {_MANNER}(?P<bent>{_BENT})\b|"
    r"\b(?:(?P<came>appear(?:s|ed)?(?! (?:to|as|like|more|less|\w+er)\b)|showed up|comes? into view)|"
    r"(?P<went>disappear(?:s|ed)?|vanish(?:es|ed)?)|"
    r"(?P<became>bec[ao]mes?|turns? into|turned(?: into)?|chang(?:ed|es)(?= (?:in)?to )|switched|appear(?:s|ed)?)|"
    r"(?P<took>replaced(?! (?:with|by)\b)|replaces|t(?:ook|akes) the place of)|"
    r"(?P<moved>changed|changes|shifted|shifts|moved|moves|extends|merged|blends))\b"
)
BARE = re.compile(r"^(?:(?P<added>added)|(?P<removed>removed|erased)) (?P<what>.+)$")
HEADLINE = re.compile(rf"^((?:(?!\b{_BE}\b).)*?) ({_ADDED}|{_REMOVED}|{_REPLACED})\b")
"""'Hat added to the dog' leaves the auxiliary out; a sentence that has one says something else."""
MISSPELLED = re.compile(rf"\bwhere (?={_MANNER}(?:{_ADDED}|{_REMOVED}|{_REPLACED}|{_CHANGED})\b)")
JOINT = re.compile(r",? (?:and|but|while|whereas|as well as|so that)(?: also)? |; |, (?:with )?| with ")
RELATIVE = re.compile(
    r"\b(?:that|which|who|whose \w+|where|as)"
    r"(?: (?:the|a|an|his|her|its|their|it|they|he|she|also|previously|originally|initially|once)"
    rf"(?: (?!{_BE}\b)[^\s,]+){{0,3}})?\s*$"
)
"""Ends so what stands before a verb that belongs to a thing, not to the sentence."""
WITH = re.compile(r"^\s*(?:with|by|for|to|into)\s+")
FROM_TO = re.compile(r"^\s*(?:in \w+ )?from (.+?) (?:in)?to (.+)$")
TO = re.compile(r"^\s*(?:in \w+ )?(?:in)?to (?:be |become |have |look like |show )?(.+)$")
ADDITION = re.compile(r"\baddition of (.+)$")
ATTRIBUTE_OF = re.compile(
    r"^(?:the |a |an |its |their )?(?:\w+ ){0,3}?(?:colou?r|shape|size|texture|pattern|design|position|tone|appearance|"
    r"material|style|structure|brightness|shade|shading|orientation|expression)s?"
    r"(?: and \w+)? of (.+)$"
)
