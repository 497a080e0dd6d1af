"""Names with options in brackets, such as `editval[delta=200]`: the only parser and writer of that notation."""

from __future__ import annotations

import re
from collections.abc import Mapping

from editgauge.errors import BadInputError

_VARIANT = re.compile(r"([^\[\]]+)(?:\[([^\[\]]*)\])?")


def parse_variant(name: str) -> tuple[str, dict[str, str]]:
    """Split a name into its base and its options; an option without a value maps to an empty string.

    Raises:
        BadInputError: if the brackets do not match

    >>> parse_variant("augclip[lda,attributes=30]")
    ('augclip', {'lda': '', 'attributes': '30'})
    """
    match = _VARIANT.fullmatch(name)
    if not match:
        raise BadInputError(f"A name may have options in brackets, such as editval[delta=200]; got '{name}'.")
    base, text = match.groups()
    settings = (part.strip().partition("=") for part in (text or "").split(",") if part.strip())
    return base, {option: value for option, _, value in settings}


def format_variant(base: str, options: Mapping[str, str]) -> str:
    """Return the name of a variant, with options in alphabetical order.

    >>> format_variant("augclip", {"attributes": "30", "lda": ""})
    'augclip[attributes=30,lda]'
    """
    return f"{base}[{format_options(options)}]" if options else base


def format_options(options: Mapping[str, str]) -> str:
    """Return options as they stand in brackets.

    >>> format_options({"lda": "", "attributes": "30"})
    'attributes=30,lda'
    """
    return ",".join(f"{option}={value}" if value else option for option, value in sorted(options.items()))


def base_name(name: str) -> str:
    """Return a name without its options.

    >>> base_name("unibench[softmax]"), base_name("pixlens@released")
    ('unibench', 'pixlens@released')
    """
    return name.partition("[")[0]


def options_text(name: str) -> str:
    """Return the text in the brackets of a name; empty without options.

    >>> options_text("rubric:gedit[gpt-4o,swap]"), options_text("pixlens")
    ('gpt-4o,swap', '')
    """
    return name.partition("[")[2].removesuffix("]")


def paper_name(protocol: str) -> str:
    """Return the name of a protocol without options and without a variant such as `@released`.

    >>> paper_name("augclip@appendix[lda]")
    'augclip'
    """
    return base_name(protocol).partition("@")[0]
