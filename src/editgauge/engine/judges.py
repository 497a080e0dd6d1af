"""The judges of a run: as a user names them, opened where outcomes are scored, and recorded in the manifest."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from editgauge._util.batching import Ask
from editgauge._util.endpoints import without_secrets
from editgauge.errors import BadInputError
from editgauge.judges import ModelJudge, Parameters, Price, Transcripts, judges, open_judge
from editgauge.judges._endpoint import ChatCompletion
from editgauge.judges._faults import RequestError
from editgauge.judges._panel import panel_name
from editgauge.judges._questions import Question
from editgauge.judges.prompts import check_prompts
from editgauge.options import JudgeOptions
from editgauge.results.manifest import Manifest, is_run

PROMPTS, PROMPTS_FILE = "prompts", "prompts.yaml"
"""Where a run keeps the user's own prompts, as a folder or as one file."""
FOLDER = "transcripts"
"""Where a run keeps what its judges were asked and answered."""
_NAMED = re.compile(r"(?:(?P<name>[^=:@\[\],]+)=)?(?P<address>[^:]+:.+)", re.DOTALL)
_MODEL = re.compile(r"[^:]+:(.+?)(?:@https?://.*)?", re.DOTALL)
_NO_NAME = re.compile(r"[\[\],=]+")
"""Signs that have a meaning in the name of a protocol's variant."""


@dataclass(frozen=True, slots=True)
class Jury:
    """The judges that may be asked, by name, and their limits. No judge is asked before `opened`."""

    addresses: dict[str, str] = field(default_factory=dict)
    price: Price | None = None
    budget: float | None = None
    parameters: Parameters = field(default_factory=Parameters)
    replay: bool = False
    prompts: Path | None = None
    recorded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For a replay, what a manifest says about judges; so nothing of them need be available."""
    panel: str | None = None
    """What the panel of all of them is called, where they are to answer together too."""

    @property
    def names(self) -> tuple[str, ...]:
        """Who can be asked: each of them, and their panel."""
        return (*self.addresses, *([self.panel] if self.panel else []))

    @property
    def max_tokens(self) -> int:
        """How long an answer may become."""
        return self.parameters.max_tokens

    def opened(self, transcripts: Path | None, ask: Ask) -> dict[str, ModelJudge]:
        """The judges themselves; calls go into the folder, answers come out of it."""
        if not self.addresses:
            return {}
        if self.replay and transcripts is not None and not transcripts.is_dir():
            raise BadInputError(f"There are no transcripts to replay at '{transcripts}'.")
        calls = Transcripts(transcripts)
        return {name: self._judge(name, calls, ask) for name in self.addresses}

    def described(self) -> dict[str, dict[str, Any]]:
        """What the manifest says about them; raises `BadInputError` for a judge that cannot be asked from here."""
        ask = Ask()
        cards = {name: judge.card for name, judge in self.opened(None, ask).items()}
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
            return ModelJudge(Recorded(entry["model"]), parameters=Parameters(**entry["parameters"]), **terms)
        return open_judge(self.addresses[name], parameters=self.parameters, **terms)

    def replayed(self, cards: Mapping[str, Mapping[str, Any]]) -> Jury:
        """The same judges answering from transcripts alone, as a manifest knows them."""
        return replace(self, replay=True, recorded=cards)


def read_jury(
    options: JudgeOptions, earlier: Mapping[str, Mapping[str, Any]] | None = None, *, max_tokens: int | None = None
) -> Jury:
    """The jury that a user's options describe.

    Args:
        options: as given; a judge without a name is called by its model.
        earlier: what the manifest of an earlier run says about its judges.
        max_tokens: how long an answer may become where the options do not say.
    """
    judge = options.judge or ()
    addresses = dict(judge) if isinstance(judge, Mapping) else _named([judge] if isinstance(judge, str) else judge)
    if options.budget is not None and len(addresses) > 1:
        raise BadInputError("--budget watches over one judge; give each judge a command of its own, into the same run.")
    if options.prompts is not None:
        check_prompts(Path(options.prompts))
    if options.quorum is not None and options.panel is None:
        raise BadInputError("--quorum is for a panel; give --panel median, mean or majority too.")
    usual = Parameters()
    return Jury(
        addresses=addresses,
        price=_price(options.price),
        budget=options.budget,
        parameters=Parameters(
            max_tokens=options.max_tokens or max_tokens or usual.max_tokens,
            temperature=usual.temperature if options.temperature is None else options.temperature,
            top_p=options.top_p,
            seed=options.judge_seed,
        ),
        replay=options.replay,
        prompts=Path(options.prompts) if options.prompts else None,
        recorded=(earlier or {}) if options.replay else {},
        panel=panel_name(options.panel, list(addresses), options.quorum) if options.panel else None,
    )


def judges_of(folder: str | Path) -> dict[str, dict[str, Any]]:
    """What the manifest of a run says about its judges; nothing where there is no run yet."""
    return Manifest.load(Path(folder)).judges if is_run(folder) else {}


def transcripts_of(folder: Path) -> Path | None:
    """Where the transcripts of a run are; None where there are none yet."""
    return folder / FOLDER if (folder / FOLDER).is_dir() else None


def recorded_jury(cards: Mapping[str, Mapping[str, Any]], folder: Path) -> Jury:
    """The judges of a manifest, answering from the transcripts of its run, with the prompts that it was given."""
    prompts = next((each for each in (folder / PROMPTS_FILE, folder / PROMPTS) if each.exists()), None)
    return Jury({name: str(each["address"]) for name, each in cards.items()}, prompts=prompts).replayed(cards)


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


def _named(texts: Sequence[str]) -> dict[str, str]:
    read: dict[str, str] = {}
    for text in texts:
        match = _NAMED.fullmatch(text)
        if match is None or match["address"].partition(":")[0] not in judges:
            raise BadInputError(
                "--judge takes an address such as openai:MODEL@URL or transformers:FOLDER, or NAME=ADDRESS; "
                f"got '{without_secrets(text)}'."
            )
        name = match["name"] or judge_name(match["address"])
        if name in read:
            again = without_secrets(match["address"])
            raise BadInputError(f"--judge names '{name}' twice; give one another name: --judge other={again}")
        read[name] = match["address"]
    return read


def judge_name(address: str) -> str:
    """What a judge is called when its user does not say: its model, without folders.

    >>> judge_name("openai:qwen/qwen2.5-vl-7b@http://localhost:8000/v1")
    'qwen2.5-vl-7b'
    """
    match = _MODEL.fullmatch(address)
    model = (match[1] if match else address).rstrip("/")
    return _NO_NAME.sub("-", model.rpartition("/")[2])


def _price(text: str | None) -> Price | None:
    if text is None:
        return None
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError as error:
        raise BadInputError(
            f"--price takes what a million tokens of prompt and of completion cost, such as 2.5,10; got '{text}'."
        ) from error
    return Price(prompt, completion)


def _fingerprint(prompts: Path | None) -> str:
    """The user's own prompts by their content."""
    if prompts is None:
        return "built-in"
    files = [prompts] if prompts.is_file() else sorted(prompts.glob("*.txt"))
    return hashlib.sha256(b"".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)).hexdigest()


class Recorded:
    """The way to a model that cannot be asked.

    Args:
        model: what it is called in the transcripts
    """

    at_once = 1
    place = "transcripts"

    def __init__(self, model: str) -> None:
        self.model = model

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        """Nothing new can come."""
        del question, parameters, timeout
        raise RequestError("only what is recorded can be answered", fault="not_recorded", again=False)

    async def close(self) -> None:
        """There is nothing to let go."""
