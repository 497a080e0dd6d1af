"""Options that several verbs share: types, limits and help texts.

A verb takes them as keyword arguments (`editgauge.run("sample", outcomes=…, models="lite", judge="openai:gpt-4o")`) and
passes them on as one of these classes. The command line and the reference take the help texts from here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar


class NumberRange(NamedTuple):
    """Smallest and largest value of a number, inclusive."""

    low: float
    high: float | None = None


Count = Annotated[int, NumberRange(1)]
"""One or more."""
Natural = Annotated[int, NumberRange(0)]
"""Zero or more."""
Amount = Annotated[float, NumberRange(0)]
"""Zero or more, such as seconds or money."""
Share = Annotated[float, NumberRange(0, 1)]
"""From 0 to 1."""
Port = Annotated[int, NumberRange(1, 65535)]
"""A port to listen on."""
FreePort = Annotated[int, NumberRange(0, 65535)]
"""A port to listen on; 0 takes any free one."""

Pairs = Mapping[str, str] | Sequence[str]
"""Names with values: `{"detector": "owlv2-base"}` or `["detector=owlv2-base"]`."""
Paths = Mapping[str, str | Path] | Sequence[str]
"""Names with paths: `{"mine": "outcomes/"}` or `["mine=outcomes/"]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """Files of a benchmark, and how many of its edits are used.

    Attributes:
        data: folder or file with the benchmark's public files, for benchmarks that are not shipped.
        images: folder with the source images, if they are elsewhere, such as a COCO folder.
        limit: limit to the first N edits.
        skip_broken: go on without broken records of the benchmark; the manifest lists them.

    """

    data: str | Path | None = None
    images: str | Path | None = None
    limit: Count | None = None
    skip_broken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which neural networks look at the images.

    Attributes:
        models: model profile: lite, lite-plus, paper or best.
        model: use another model for a role, as `ROLE=NAME`; `ROLE=none` leaves the role out. On the command line
            `--detector NAME` is short for `--model detector=NAME`, and so on for every role.

    """

    models: str | None = None
    model: Pairs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """Which language models are used as judges, and within which limits.

    Attributes:
        judge: model used as judge: `openai:MODEL@URL`, `transformers:FOLDER`, or `NAME=ADDRESS` to name it.
        price: price of a million tokens, as `PROMPT,COMPLETION` such as `2.5,10`.
        budget: maximum total cost of all calls; needs a price.
        max_tokens: maximum length of an answer in tokens.
        prompts: folder with prompts, or one YAML file, instead of the built-in ones.
        replay: ask no judge; take the answers from the transcripts of an earlier run.
        panel: combine the answers of all judges as well: median, mean or majority.
        quorum: minimum number of judges of a panel that must answer; default: more than half.
        temperature: sampling temperature of the judges; default 0.
        top_p: share of the probability mass that judges sample from.
        judge_seed: random seed for endpoints that take one; repetitions count up from it.

    """

    judge: str | Pairs | None = ()
    price: str | None = None
    budget: Amount | None = None
    max_tokens: Count | None = None
    prompts: str | Path | None = None
    replay: bool = False
    panel: str | None = None
    quorum: Count | None = None
    temperature: Amount | None = None
    top_p: Share | None = None
    judge_seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOptions:
    """Protocols, models and judges to score with: the options of `score`, `Scorer`, `Monitor`, `serve` and `run`.

    Attributes:
        protocol: names of protocols; by default those that say whether the edit was done, the rest kept, and the image
            free of artifacts.
        models: model profile.
        model: models for single roles, as `{"detector": "owlv2-base"}`.
        judge: language models used as judges.
        prompts: folder or file with prompts for the judges.

    """

    protocol: Sequence[str] = ()
    models: str | ModelOptions | None = None
    model: Pairs = ()
    judge: str | Pairs | JudgeOptions | None = ()
    prompts: str | Path | None = None

    @property
    def model_options(self) -> ModelOptions:
        """The models as one value."""
        return (
            self.models if isinstance(self.models, ModelOptions) else ModelOptions(models=self.models, model=self.model)
        )

    @property
    def judge_options(self) -> JudgeOptions:
        """The judges as one value."""
        if isinstance(self.judge, JudgeOptions):
            return self.judge
        return JudgeOptions(judge=self.judge, prompts=self.prompts)


_Options = TypeVar("_Options", DataOptions, ModelOptions, JudgeOptions)


def select_options(options: type[_Options], values: Mapping[str, Any]) -> _Options:
    """Build an options class from the keyword arguments of a verb."""
    return options(**{field.name: values[field.name] for field in fields(options) if field.name in values})


_Function = TypeVar("_Function", bound=Callable[..., Any])


def document_options(function: _Function) -> _Function:
    """Add the shared options that a verb takes to the `Args:` of its docstring, so that `help()` shows all of them."""
    text = inspect.cleandoc(function.__doc__ or "")
    before, heading, after = text.partition("\nArgs:\n")
    entries, blank, remainder = after.partition("\n\n")
    described = set(re.findall(r"^    (\w+):", entries, re.MULTILINE))
    missing = [name for name in inspect.signature(function).parameters if name not in described]
    shared = {name: entry for options in (DataOptions, ModelOptions, JudgeOptions) for name, entry in _entries(options)}
    lines = [entries.rstrip("\n"), *(shared[name] for name in missing if name in shared)]
    function.__doc__ = before + (heading or "\n\nArgs:\n") + "\n".join(filter(None, lines)) + blank + remainder
    return function


def _entries(options: type) -> list[tuple[str, str]]:
    """Return the names of options with their lines of the class docstring."""
    attributes = inspect.cleandoc(options.__doc__ or "").partition("Attributes:\n")[2]
    entries = re.split(r"^(?=    \S)", attributes, flags=re.MULTILINE)[1:]
    return [(entry.split(":", maxsplit=1)[0].strip(), entry.rstrip()) for entry in entries]
