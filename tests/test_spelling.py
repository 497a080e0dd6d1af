"""American spelling in the code, its data and the docs; what people write, both ways, is read both ways."""

from __future__ import annotations

import re
from pathlib import Path

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
    "src/editgauge/building/training/attributes.yaml",
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


def _texts(folder: str) -> list[Path]:
    return [file for file in sorted((ROOT / folder).rglob("*")) if file.suffix in TEXTS and file.is_file()]
