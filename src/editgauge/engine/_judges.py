"""The judges of a run: configuration from options, opening, description for the manifest, and usage."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from editgauge._util.batching import Ask
from editgauge._util.endpoints import without_secrets
from editgauge._util.files import open_regular, write_json
from editgauge._util.progress import log_info
from editgauge.errors import BadInputError, BadRunError
from editgauge.judges import ModelJudge, Parameters, Price, Transcripts, judges, open_judge
from editgauge.judges._endpoint import ChatCompletion
from editgauge.judges._faults import RequestError
from editgauge.judges._panel import panel_name
from editgauge.judges._questions import Question
from editgauge.judges._transcripts import Call
from editgauge.judges.prompts import check_prompts
from editgauge.options import JudgeOptions
from editgauge.results.manifest import Manifest, is_run

PROMPTS, PROMPTS_FILE = "prompts", "prompts.yaml"
"""Where a run keeps the user's prompts, as a folder or as one file."""
FOLDER = "transcripts"
"""Where a run records the calls of its judges."""
_NAMED = re.compile(r"(?:(?P<name>[^=:@\[\],]+)=)?(?P<address>[^:]+:.+)", re.DOTALL)
_MODEL = re.compile(r"[^:]+:(.+?)(?:@https?://.*)?", re.DOTALL)
_RESERVED_CHARACTERS = re.compile(r"[\[\],=]+")
"""Characters that have a meaning in the name of a protocol's variant."""


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """The judges of a run by name, with their limits. No judge is contacted before `open`."""

    addresses: dict[str, str] = field(default_factory=dict)
    price: Price | None = None
    budget: float | None = None
    parameters: Parameters = field(default_factory=Parameters)
    replay: bool = False
    prompts: Path | None = None
    recorded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For a replay, the judges as a manifest describes them; they need not be available."""
    panel: str | None = None
    """Name of the panel of all judges, if they also answer together."""

    @property
    def names(self) -> tuple[str, ...]:
        """All judges, and their panel."""
        return (*self.addresses, *([self.panel] if self.panel else []))

    @property
    def max_tokens(self) -> int:
        """Maximum length of an answer."""
        return self.parameters.max_tokens

    def open(self, transcripts: Path | None, ask: Ask) -> dict[str, ModelJudge]:
        """Open the judges; calls are recorded in the transcripts folder and answered from it."""
        if not self.addresses:
            return {}
        if self.replay and transcripts is not None and not transcripts.is_dir():
            raise BadInputError(f"There are no transcripts to replay at '{transcripts}'.")
        calls = Transcripts(transcripts)
        return {name: self._judge(name, calls, ask) for name in self.addresses}

    def describe(self) -> dict[str, dict[str, Any]]:
        """Return what the manifest records about the judges.

        Raises:
            BadInputError: a judge cannot be used on this machine.

        """
        ask = Ask()
        cards = {name: judge.card for name, judge in self.open(None, ask).items()}
        ask.close()
        return {
            name: {
                "address": without_secrets(self.addresses[name]),
                "model": card.model,
                "endpoint": card.endpoint,
                "parameters": asdict(card.parameters),
                "prompts": _fingerprint(self.prompts),
            }
            for name, card in cards.items()
        }

    def _judge(self, name: str, calls: Transcripts, ask: Ask) -> ModelJudge:
        terms: dict[str, Any] = {
            "transcripts": calls,
            "price": self.price,
            "budget": self.budget,
            "replay": self.replay,
            "ask": ask,
        }
        if entry := self.recorded.get(name):
            return ModelJudge(RecordedEndpoint(entry["model"]), parameters=Parameters(**entry["parameters"]), **terms)
        return open_judge(self.addresses[name], parameters=self.parameters, **terms)

    def as_replay(self, cards: Mapping[str, Mapping[str, Any]]) -> JudgeConfig:
        """Return a configuration that answers from transcripts only, for judges as a manifest describes them."""
        return replace(self, replay=True, recorded=cards)


def read_judge_config(
    options: JudgeOptions, earlier: Mapping[str, Mapping[str, Any]] | None = None, *, max_tokens: int | None = None
) -> JudgeConfig:
    """Read the judges from a user's options.

    Args:
        options: a judge without a name is called by its model.
        earlier: judges in the manifest of an earlier run.
        max_tokens: maximum length of an answer if the options have none.

    """
    judge = options.judge or ()
    addresses = (
        dict(judge) if isinstance(judge, Mapping) else _parse_addresses([judge] if isinstance(judge, str) else judge)
    )
    if options.budget is not None and len(addresses) > 1:
        raise BadInputError("`budget` applies to one judge; run once per judge, into the same run folder.")
    if options.prompts is not None:
        check_prompts(Path(options.prompts))
    if options.quorum is not None and options.panel is None:
        raise BadInputError("`quorum` needs `panel`: median, mean or majority.")
    defaults = Parameters()
    return JudgeConfig(
        addresses=addresses,
        price=_price(options.price),
        budget=options.budget,
        parameters=Parameters(
            max_tokens=options.max_tokens or max_tokens or defaults.max_tokens,
            temperature=defaults.temperature if options.temperature is None else options.temperature,
            top_p=options.top_p,
            seed=options.judge_seed,
        ),
        replay=options.replay,
        prompts=Path(options.prompts) if options.prompts else None,
        recorded=(earlier or {}) if options.replay else {},
        panel=panel_name(options.panel, list(addresses), options.quorum) if options.panel else None,
    )


def judges_of(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Return the judges in the manifest of a run; none if there is no run yet."""
    return Manifest.load(Path(folder)).judges if is_run(folder) else {}


def transcripts_of(folder: Path) -> Path | None:
    """Return the transcripts folder of a run; None if there is none yet."""
    return folder / FOLDER if (folder / FOLDER).is_dir() else None


def recorded_judge_config(cards: Mapping[str, Mapping[str, Any]], folder: Path) -> JudgeConfig:
    """Return the judges of a manifest, answering from the transcripts of its run with its prompts."""
    prompts = next((path for path in (folder / PROMPTS_FILE, folder / PROMPTS) if path.exists()), None)
    return JudgeConfig({name: str(card["address"]) for name, card in cards.items()}, prompts=prompts).as_replay(cards)


def keep_prompts(prompts: Path | None, folder: Path) -> None:
    """Store the user's own prompts with the run: they are needed to verify it from its transcripts."""
    if prompts is None:
        return
    if prompts.is_file():
        shutil.copyfile(prompts, folder / PROMPTS_FILE)
        return
    (folder / PROMPTS).mkdir(exist_ok=True)
    for file in prompts.glob("*.txt"):
        shutil.copyfile(file, folder / PROMPTS / file.name)


def _parse_addresses(texts: Sequence[str]) -> dict[str, str]:
    addresses: dict[str, str] = {}
    for text in texts:
        match = _NAMED.fullmatch(text)
        if match is None or match["address"].partition(":")[0] not in judges:
            raise BadInputError(
                "`judge` takes an address such as openai:MODEL@URL or transformers:FOLDER, or NAME=ADDRESS; "
                f"got '{without_secrets(text)}'."
            )
        name = match["name"] or judge_name(match["address"])
        if name in addresses:
            address = without_secrets(match["address"])
            raise BadInputError(f"`judge` has '{name}' twice; give one another name, such as other={address}")
        addresses[name] = match["address"]
    return addresses


def judge_name(address: str) -> str:
    """Return the default name of a judge: its model, without folders.

    >>> judge_name("openai:qwen/qwen2.5-vl-7b@http://localhost:8000/v1")
    'qwen2.5-vl-7b'
    """
    match = _MODEL.fullmatch(address)
    model = (match[1] if match else address).rstrip("/")
    return _RESERVED_CHARACTERS.sub("-", model.rpartition("/")[2])


def _price(text: str | None) -> Price | None:
    if text is None:
        return None
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError as error:
        raise BadInputError(
            f"`price` is the cost of a million prompt tokens and completion tokens, such as 2.5,10; got '{text}'."
        ) from error
    return Price(prompt, completion)


def _fingerprint(prompts: Path | None) -> str:
    """Hash the user's prompts."""
    if prompts is None:
        return "built-in"
    files = [prompts] if prompts.is_file() else sorted(prompts.glob("*.txt"))
    return hashlib.sha256(b"".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)).hexdigest()


class RecordedEndpoint:
    """Stand-in for the endpoint of a model in a replay; every call fails.

    Args:
        model: name in the transcripts.

    """

    at_once = 1
    location = "transcripts"

    def __init__(self, model: str) -> None:
        self.model = model

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        """Fail: only recorded calls can be answered."""
        del question, parameters, timeout
        raise RequestError("only what is recorded can be answered", fault="not_recorded", again=False)

    async def close(self) -> None:
        """Do nothing."""


CALLS = "*.jsonl"
USAGE_FILE = "asked.json"
"""In a run folder: the judge usage of its last command."""


@dataclass(frozen=True, slots=True)
class JudgeUsage:
    """Calls, tokens and cost of one judge."""

    model: str
    questions: int
    calls: int
    """Sent to the model by this command; other answers were recorded, or shared by equal questions."""
    failed: int
    """Calls without a readable answer."""
    held_back: int
    """Questions not asked because the budget was used up."""
    prompt_tokens: int
    completion_tokens: int
    not_counted: int
    """Calls for which the endpoint reported no tokens."""
    cost: float | None
    """None if the price is unknown."""
    repairs: int = 0
    """Calls, among `calls`, that asked to repair an unreadable answer."""

    def sentence(self, name: str) -> str:
        """Summarize for the user."""
        tokens = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        cached = self.questions - (self.calls - self.repairs) - self.held_back
        parts = [
            f"{self.calls:,} calls" + (f" ({self.failed:,} without an answer)" if self.failed else ""),
            *([f"{self.repairs:,} of them to repair an unreadable answer"] if self.repairs else []),
            f"{cached:,} of {self.questions:,} questions answered before",
            *([f"{self.held_back:,} not asked because of the budget"] if self.held_back else []),
            tokens + (f" (unknown for {self.not_counted:,} calls)" if self.not_counted else ""),
            *([f"cost {self.cost:.4g}"] if self.cost is not None else []),
        ]
        return f"judge {name}: {', '.join(parts)}"


def write_question_counts(folder: Path | None, questions: Mapping[str, int]) -> None:
    """Write how many questions this process asked each model, for `count_judge_usage`."""
    if folder is not None:
        write_json(folder / f"{os.getpid()}.json", questions)


@contextmanager
def count_judge_usage(
    run: Path, judges: Mapping[str, Mapping[str, Any]], *, priced: bool, quiet: bool
) -> Iterator[Path | None]:
    """Yield a folder for `write_question_counts`; afterwards report the usage of each judge and store it in the run.

    Args:
        run: run folder.
        judges: judges of the manifest.
        priced: whether the price of a token is known.
        quiet: do not report.

    """
    (run / USAGE_FILE).unlink(missing_ok=True)
    if not judges:
        yield None
        return
    before = frozenset(file.name for file in (run / FOLDER).glob(CALLS))
    with TemporaryDirectory(prefix="editgauge-") as counts:
        yield Path(counts)
        questions: Counter[str] = Counter()
        for file in Path(counts).glob("*.json"):
            questions.update(json.loads(file.read_text("utf-8")))
    calls = list(_calls(file for file in (run / FOLDER).glob(CALLS) if file.name not in before))
    names: dict[str, list[str]] = {}
    for name, judge in judges.items():
        names.setdefault(judge["model"], []).append(name)
    usage = {
        " and ".join(judges_of_model): _usage_of(model, questions, calls, priced=priced)
        for model, judges_of_model in names.items()
    }
    write_json(run / USAGE_FILE, {name: asdict(judge_usage) for name, judge_usage in usage.items()})
    for name, judge_usage in usage.items():
        log_info(judge_usage.sentence(name), quiet=quiet)


def _calls(files: Iterable[Path]) -> Iterator[Call]:
    for file in files:
        with open_regular(file) as lines:
            complete = (line for line in lines if line.endswith(b"\n"))  # a killed process may have torn its last line
            yield from map(Call.from_line, complete)


def _usage_of(model: str, questions: Mapping[str, int], calls: Sequence[Call], *, priced: bool) -> JudgeUsage:
    mine = [call for call in calls if call.question["model"] == model]
    repairs = [call for call in mine if "repairs" in call.question]
    sent = [call for call in mine if call.latency or call.fault != "budget"]
    return JudgeUsage(
        model=model,
        questions=max(
            questions.get(model, 0), len(mine) - len(repairs)
        ),  # a process that was killed left its calls, and no tally
        calls=len(sent),
        failed=sum(call.fault is not None for call in sent),
        repairs=len(repairs),
        held_back=len(mine) - len(sent),
        prompt_tokens=sum(call.prompt_tokens or 0 for call in mine),
        completion_tokens=sum(call.completion_tokens or 0 for call in mine),
        not_counted=sum(call.body is not None and call.prompt_tokens is None for call in mine),
        cost=sum(call.cost for call in mine) if priced else None,
    )


def read_judge_usage(folder: Path) -> dict[str, JudgeUsage]:
    """Return the usage of the last command by judge; empty without judges."""
    path = folder / USAGE_FILE
    if not path.is_file():
        return {}
    try:
        return {name: JudgeUsage(**stored) for name, stored in json.loads(path.read_text("utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}.") from error
