"""American spelling in the code, its data and the docs; what people write, both ways, is read both ways."""

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
READ_BOTH_WAYS = {
    "docs/how-to/own-benchmark.md",  # an example of a mistake
    "src/editgauge/benchmarks/sample/sample.yaml",
    "src/editgauge/builders/_training_attributes.yaml",
    "src/editgauge/core/phrases.py",
    "src/editgauge/core/run/manifest.py",
    "src/editgauge/core/text.py",
    "src/editgauge/benchmarks/editinspector/issue_kinds.yaml",
    "src/editgauge/instructions/becoming.py",
    "src/editgauge/instructions/clauses.py",
    "src/editgauge/instructions/commands.py",
    "src/editgauge/instructions/grammar.py",
    "src/editgauge/instructions/things.py",
    "src/editgauge/instructions/values.py",
    "src/editgauge/instructions/words.yaml",
    "src/editgauge/judges/reading/spoken.py",
    "src/editgauge/models/vocabulary/phrases.yaml",
    "src/editgauge/protocols/augclip/rule_attributes.py",
    "src/editgauge/protocols/rubric/built_in/imgedit.yaml",
    "src/editgauge/vision/color_names.py",
}
"""Files with words of instructions and answers, which come in either spelling."""
APART = re.compile(r"[0-9}] %(?!})|%\.?\d*[dfg] %%")
"""A space between a number, also one that is filled in, and its percent sign."""
PROMPTS = "src/editgauge/judges/prompts/"
"""A version of a prompt never changes: recorded answers were given to its words."""


def test_american_spelling() -> None:
    files = [*_texts("src"), *_texts("docs"), *_texts("changelog.d"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    places: dict[str, str] = {}
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        if name not in READ_BOTH_WAYS and not name.startswith(PROMPTS):
            places |= dict.fromkeys(re.findall(r"\w+", file.read_text("utf-8").lower()), name)
    assert {word: name for word, name in places.items() if BRITISH.search(word)} == {}


def test_a_percent_sign_follows_its_number() -> None:
    """95%, not 95 %: in everything the program writes, and on the pages that are made from it."""
    strings = {name: "\n".join(map(_string, nodes_of(text))) for name, text in sources().items()}
    pages = [file for file in _texts("src") if file.suffix in {".html", ".j2", ".js"}]
    pages += [*_texts("docs/reference"), *(ROOT / "docs" / "pictures").glob("*.svg")]
    strings |= {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in pages}
    lines = [f"{name}: {line.strip()}" for name, text in strings.items() for line in text.splitlines()]
    assert [line for line in lines if APART.search(line)] == []


def _string(node: ast.AST) -> str:
    """What a string says, with a closing brace for each value that is filled in; empty for other code."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_string(each) or "}" for each in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _texts(folder: str) -> list[Path]:
    return [file for file in sorted((ROOT / folder).rglob("*")) if file.suffix in TEXTS and file.is_file()]
