"""Check American spelling in code, data and docs; text of users is accepted in either spelling."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.source_trees import nodes_of, sources

ROOT = Path(__file__).parents[1]
TEXTS = {".css", ".html", ".j2", ".js", ".json", ".md", ".py", ".toml", ".txt", ".yaml"}
BRITISH = re.compile(
    r"colour|behaviour|neighbour|favour|honour|licence|centre(?!al)|catalogue|artefact|judgement|misspelt|learnt"
    r"|labell(?:ed(?!by)|ing)|fulfil(?!l)|\banalys(?:e|es|ed|ing)\b"
    r"|(?:recogn|optim|normal|summar|initial|serial|minim|maxim|general|special|visual|organ|standard|categor|character"
    r"|emphas|util|synchron|anonym|personal)is(?:e|es|ed|er|ers|ing|ation|ations)(?![a-z])"
)
"""Forms that have an American one, anywhere in a word in small letters, such as `mean_colour`."""
BOTH_SPELLINGS = {
    "docs/how-to/own-benchmark.md",  # an example of a mistake
    "src/editgauge/_util/phrases.py",
    "src/editgauge/_util/text.py",
    "src/editgauge/_vision/colors.py",
    "src/editgauge/benchmarks/data/issue_kinds.yaml",
    "src/editgauge/benchmarks/data/sample.yaml",
    "src/editgauge/builders/_training_attributes.yaml",
    "src/editgauge/instructions/_phrases.py",
    "src/editgauge/instructions/_predicates.py",
    "src/editgauge/instructions/_rules.py",
    "src/editgauge/instructions/_steps.py",
    "src/editgauge/instructions/words.yaml",
    "src/editgauge/judges/_parsing.py",
    "src/editgauge/models/vocabulary/phrases.yaml",
    "src/editgauge/protocols/augclip/_attributes.py",
    "src/editgauge/protocols/rubric/built_in/imgedit.yaml",
    "src/editgauge/results/manifest.py",
}
"""Files with words of instructions and answers, which come in either spelling."""
SPACE_BEFORE_PERCENT = re.compile(r"[0-9}] %(?!})|%\.?\d*[dfg] %%")
"""A space between a number, also one that is filled in, and its percent sign."""
PROMPTS = "src/editgauge/judges/prompts/"
"""A version of a prompt never changes: recorded answers were given to its words."""


def test_american_spelling() -> None:
    files = [*_texts("src"), *_texts("docs"), *_texts("changelog.d"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    files_by_word: dict[str, str] = {}
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        if name not in BOTH_SPELLINGS and not name.startswith(PROMPTS):
            files_by_word |= dict.fromkeys(re.findall(r"\w+", file.read_text("utf-8").lower()), name)
    assert {word: name for word, name in files_by_word.items() if BRITISH.search(word)} == {}


def test_a_percent_sign_follows_its_number() -> None:
    """95%, not 95 %: in everything the program writes, and on the pages that are made from it."""
    strings = {name: "\n".join(map(_string, nodes_of(text))) for name, text in sources().items()}
    pages = [file for file in _texts("src") if file.suffix in {".html", ".j2", ".js"}]
    pages += [*_texts("docs/reference"), *(ROOT / "docs" / "pictures").glob("*.svg")]
    strings |= {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in pages}
    lines = [f"{name}: {line.strip()}" for name, text in strings.items() for line in text.splitlines()]
    assert [line for line in lines if SPACE_BEFORE_PERCENT.search(line)] == []


def _string(node: ast.AST) -> str:
    """Return the text of a string, with a closing brace for each value filled in; empty for other code."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_string(value) or "}" for value in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _texts(folder: str) -> list[Path]:
    return [file for file in sorted((ROOT / folder).rglob("*")) if file.suffix in TEXTS and file.is_file()]
