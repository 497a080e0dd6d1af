"""What a user gives to `plan`, completed by what a run says about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from editgauge.benchmarks import benchmarks
from editgauge.core.errors import BadInput
from editgauge.core.run.manifest import Manifest, is_run
from editgauge.engine.plan.shards import WHOLE, Shard, read_shard


@dataclass(frozen=True, slots=True)
class ForecastRequest:
    """What is to be planned. Either the benchmark is itself a run folder, or `out` may be one."""

    out: Path
    benchmark: str | Path
    outcomes: Mapping[str, str | Path] | Sequence[str]
    protocol: Sequence[str]
    model: Mapping[str, str] | Sequence[str]
    judge: str | Mapping[str, str] | Sequence[str]
    max_tokens: int | None
    shard: Shard
    limit: int | None
    data: str | Path | None
    images: str | Path | None
    seed: int = 0

    def completed(self, *, has_models: bool) -> ForecastRequest:
        """What is not given, as the run has it; its models only where no profile is asked for."""
        folder = Path(self.benchmark) if is_run(self.benchmark) else self.out
        run = Manifest.load(folder)
        tokens = (judge["parameters"]["max_tokens"] for judge in run.judges.values())
        return replace(
            self,
            out=folder,
            benchmark=_known_benchmark(run, folder) if is_run(self.benchmark) else self.benchmark,
            outcomes=self.outcomes or run.methods,
            protocol=self.protocol or list(run.protocols),
            model=self.model or ({} if has_models else {role: judge["name"] for role, judge in run.models.items()}),
            judge=self.judge or {name: judge["address"] for name, judge in run.judges.items()},
            max_tokens=next(tokens, None) if self.max_tokens is None else self.max_tokens,
            seed=run.seed,
            shard=read_shard(run.shard or None) if self.shard == WHOLE else self.shard,
            limit=run.edits if self.limit is None else self.limit,
            data=self.data or run.places.get("data"),
            images=self.images or run.places.get("images"),
        )


def _known_benchmark(run: Manifest, folder: Path) -> str:
    """The run's benchmark by its name, or where the run found it."""
    name = run.places.get("benchmark", run.benchmark)
    if not Path(name).exists() and name.partition("[")[0] not in benchmarks:
        raise BadInput(
            f"'{folder}' was run on '{name}', which is neither the name of a benchmark nor a folder here. "
            f"Give the benchmark's folder: editgauge plan FOLDER --out {folder}, with the run's "
            "outcomes, protocols and models."
        )
    return name
