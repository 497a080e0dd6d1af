"""Extension of mkdocstrings: show the shell and Python lines of an `Example:` section as code blocks."""

from __future__ import annotations

import inspect
import pkgutil
import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^Example:\n((?: {4}.*\n?)+)", re.MULTILINE)


class CodeExamples(griffe.Extension):
    """Rewrite `Example:` sections before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a function or class, with the shared options that a decorator adds."""
        if obj.docstring is None:
            return
        if any("document_options" in str(decorator.value) for decorator in getattr(obj, "decorators", [])):
            obj.docstring.value = inspect.getdoc(pkgutil.resolve_name(obj.path)) or ""
        obj.docstring.value = _EXAMPLE.sub(_as_code_blocks, obj.docstring.value)


def _as_code_blocks(section: re.Match[str]) -> str:
    lines = [line.removeprefix("    ") for line in section[1].rstrip("\n").split("\n")]
    shell = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    python = [line for line in lines if not line.startswith("$ ")]
    blocks = [("bash", shell), ("pycon", python)]
    return "".join(f"```{language}\n" + "\n".join(code) + "\n```\n\n" for language, code in blocks if code)
