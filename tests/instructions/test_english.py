"""The parser's model: needed for English, kept from importing torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from editgauge.instructions import _english, _parser, explain_dependencies, parse_instruction


def test_without_the_model_nothing_is_understood_and_the_advice_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> None:
        raise _english.MissingParserError

    monkeypatch.setattr(_english, "_load", missing)
    _parser._parse_texts.cache_clear()
    parsed = parse_instruction("remove the lonely windmill")
    assert [step.type for step in parsed.steps] == ["unspecified"]
    assert not parsed.steps[0].sure
    assert "editgauge models pull en-core-web-sm" in parsed.left


def test_neither_importing_nor_parsing_imports_torch() -> None:
    code = (
        "import sys, editgauge; assert 'spacy' not in sys.modules;"
        "from editgauge.instructions import parse_instruction as parse;"
        "assert 'spacy' not in sys.modules; parse('remove the dog');"
        "assert 'torch' not in sys.modules and 'spacy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_dependencies_of_each_request_are_explained() -> None:
    text = explain_dependencies("Please remove the dog and make the car red.")
    assert "command: remove the dog" in text
    assert "command: make the car red" in text
    assert "dobj" in text
