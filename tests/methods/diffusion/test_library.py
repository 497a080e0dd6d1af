"""Every method, end to end on a small pipeline, loaded by the way a user's model is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import editgauge
from editgauge._util.images import Pixels, read_image
from editgauge.engine.edit import edit
from editgauge.errors import BadInputError, CannotEditError, MissingExtraError
from editgauge.methods.card import absence_reason
from editgauge.methods.diffusion._pipeline import Diffusion, common_options
from editgauge.types import Edit

TUNING = {"tuning_steps": "1"}


METHODS: dict[str, tuple[str, str, dict[str, str]]] = {
    "instructpix2pix": ("library:instructpix2pix", "instruct", {}),
    "flux-kontext": ("library:flux_kontext", "flux", {}),
    "flux2-klein": ("library:flux2_klein", "flux2", {}),
    "sdedit": ("library:sdedit", "stable", {}),
    "lcm-img2img": ("library:lcm_img2img", "lcm", {}),
    "controlnet-canny": ("library:controlnet_canny", "stable", {"controlnet": "control"}),
    "text-to-image": ("library:text_to_image", "stable", {}),
    "diffedit": ("library:diffedit", "stable", {"maps": "2"}),
    "ledits++": ("library:ledits_pp", "stable", {"steps": "3"}),
    "null-text": ("null_text:null_text", "stable", {"inner_steps": "1"}),
    "ddim-p2p": ("null_text:ddim_p2p", "stable", {}),
    "dds": ("tuning:dds", "stable", {}),
    "imagic": ("tuning:imagic", "stable", {"word_steps": "1", **TUNING}),
    "sine": ("tuning:sine", "stable", TUNING),
    "textual-inversion": ("tuning:textual_inversion", "stable", TUNING),
    "dreambooth": ("tuning:dreambooth", "stable", TUNING),
}


CALLED_ONLY = ("library:qwen_image_edit", "library:qwen_image_edit_plus", "library:omnigen")


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "diffusers-methods.md"


WITHOUT_CHANCE = {"null-text", "ddim-p2p"}


"""They invert and paint deterministically: no seed changes anything."""


WITHOUT_SOURCE = {"text-to-image"}


pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]  # diffusers with numpy 2


def of(place: str) -> Diffusion:
    module, _, name = place.partition(":")
    method: Diffusion = getattr(import_module(f"editgauge.methods.diffusion.{module}"), name)
    return method


@pytest.fixture(scope="module")
def small(saved: Any) -> Any:
    made: dict[str, Diffusion] = {}

    def open_small(name: str) -> Diffusion:
        if name not in made:
            place, kind, options = METHODS[name]
            folders = {key: str(saved(value)) if key == "controlnet" else value for key, value in options.items()}
            made[name] = of(place).variant({"model": str(saved(kind)), "size": "64", "steps": "2", **folders})
        return made[name]

    return open_small


@pytest.mark.parametrize("name", METHODS)
def test_an_outcome_follows_from_edit_source_and_seed(name: str, small: Any, source: Pixels, request_: Edit) -> None:
    method = small(name)
    outcome = method.edit(request_, source, 0)
    assert (method.name, outcome.shape, outcome.dtype) == (name, source.shape, np.uint8)
    np.testing.assert_array_equal(outcome, method.edit(request_, source, 0))
    assert np.array_equal(outcome, method.edit(request_, source, 1)) == (name in WITHOUT_CHANCE)
    reworded = replace(request_, instruction="make the cat a dog", target_caption="a photo of a dog", subject="dog")
    assert not np.array_equal(outcome, method.edit(reworded, source, 0))
    assert np.array_equal(outcome, method.edit(request_, source[::-1].copy(), 0)) == (name in WITHOUT_SOURCE)


@pytest.mark.parametrize("name", METHODS)
def test_settings_tell_everything_but_edit_and_seed(
    name: str, small: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    method = small(name)
    told = method.settings()
    assert {*method.option_specs} <= {*told}
    assert told["revision"].startswith("sha256:")
    assert told["precision"] == "float32"
    assert told["pipeline"] == type(method.pipe).__name__
    assert told["scheduler"] == type(method.pipe.scheduler).__name__
    assert str(tmp_path_factory.getbasetemp()) not in str(told), "a manifest names no machine"


@pytest.mark.parametrize("place", ["library:sdedit", "tuning:dds"])
def test_a_flagged_picture_is_an_absence_and_no_black_square(
    place: str, saved: Any, source: Pixels, request_: Edit
) -> None:
    method = of(place).variant({"model": str(saved("flagging")), "size": "64", "steps": "2"})
    with pytest.raises(CannotEditError, match="safety checker") as refusal:
        method.edit(request_, source, 0)
    assert absence_reason(str(refusal.value)) == "refused"


def test_what_is_wrong_with_options_is_told_at_once() -> None:
    with pytest.raises(BadInputError, match=r"no option 'step'; did you mean 'steps'\?") as error:
        of("library:sdedit").variant({"step": "3", "guidance": "much"})
    assert len(error.value.problems) == 2
    with pytest.raises(BadInputError, match=r"strength is at least 0 and at most 1, got '2.0'"):
        of("library:sdedit").variant({"strength": "2"})
    with pytest.raises(BadInputError, match="precision is one of '', 'float32', 'float16', 'bfloat16', got 'int8'"):
        of("library:sdedit").variant({"precision": "int8"})


def test_a_variant_keeps_what_was_chosen_before() -> None:
    method = of("tuning:imagic").variant({"eta": "0.8"}).variant({"steps": "7"})
    assert (method.options["eta"], method.options["steps"]) == (0.8, 7)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: Pixels, request_: Edit) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BadInputError, match=r"not on this machine\. Fetch it once with: hf download timbrooks"):
        of("library:instructpix2pix").edit(request_, source, 0)


def test_a_fetched_model_is_found_and_its_commit_written_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, saved: Any, source: Pixels, request_: Edit
) -> None:
    repository, commit = tmp_path / "models--someone--small", "c" * 40
    shutil.copytree(saved("stable"), repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    method = of("library:sdedit").variant({"model": "someone/small", "size": "32", "steps": "2"})
    assert (method.settings()["model"], method.settings()["revision"]) == ("someone/small", commit)
    assert method.edit(request_, source, 0).shape == source.shape
    with pytest.raises(BadInputError, match="at revision v2 is not on this machine"):
        method.variant({"revision": "v2"}).settings()


def test_a_method_costs_no_import_of_torch_until_it_edits() -> None:
    rooms = sorted({place.partition(":")[0] for place, _, _ in METHODS.values()})
    modules = ", ".join(f"editgauge.methods.diffusion.{room}" for room in rooms)
    code = f"import sys, {modules}; print(*({{'torch', 'diffusers'}} & {{*sys.modules}}))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""


def test_without_the_library_the_way_to_it_is_told(
    monkeypatch: pytest.MonkeyPatch, source: Pixels, request_: Edit
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    method = of("library:sdedit")
    for ask in (method.settings, lambda: method.edit(request_, source, 0)):
        with pytest.raises(MissingExtraError, match=r"'sdedit' needs diffusers.*pip install 'editgauge\[diffusers\]'"):
            ask()


@pytest.mark.parametrize(
    ("content", "told"), [(None, "holds no model_index.json"), ("{}", "cannot be loaded for this method")]
)
def test_a_folder_without_a_model_is_told(
    content: str | None, told: str, tmp_path: Path, source: Pixels, request_: Edit
) -> None:
    if content is not None:
        (tmp_path / "model_index.json").write_text(content)
    with pytest.raises(BadInputError, match=told):
        of("library:sdedit").variant({"model": str(tmp_path)}).edit(request_, source, 0)


def test_too_little_strength_for_a_step_is_told(small: Any, source: Pixels, request_: Edit) -> None:
    with pytest.raises(BadInputError, match="less than one of 2 steps"):
        small("sdedit").variant({"strength": "0.1"}).edit(request_, source, 0)


def test_strength_and_control_are_heard(small: Any, source: Pixels, request_: Edit) -> None:
    weak, strong = (
        small("sdedit").variant({"strength": strength, "steps": "10"}).edit(request_, source, 0)
        for strength in ("0.1", "1.0")
    )
    assert not np.array_equal(weak, strong)
    held, free = (
        small("controlnet-canny").variant({"control": control}).edit(request_, source, 0) for control in ("1", "0")
    )
    assert not np.array_equal(held, free)


@pytest.mark.parametrize("place", CALLED_ONLY)
def test_what_cannot_run_here_is_called_as_its_pipeline_wants_it(place: str, source: Pixels, request_: Edit) -> None:
    """Their processors need torchvision, which tests do without: only the form of the call is checked."""
    method = type(of(place))(size=64)
    real = signature(getattr(import_module("diffusers"), method.pipeline).__call__)
    calls: list[dict[str, Any]] = []

    def pipe(**options: Any) -> Any:
        real.bind(None, **options)
        calls.append(options)
        return SimpleNamespace(images=[np.full((64, 64, 3), 0.5, np.float32)])

    method.__dict__["pipe"] = pipe  # where the property keeps what it loaded
    assert method.edit(request_, source, 0).shape == source.shape
    assert request_.instruction in calls[0]["prompt"]


@pytest.mark.parametrize("place", [*(place for place, _, _ in METHODS.values()), *CALLED_ONLY])
def test_the_page_says_what_the_method_is(place: str) -> None:
    method = of(place)
    own = {name: option.default for name, option in method.option_specs.items() if name not in common_options("")}
    options = ", ".join(f"{name}={value if isinstance(value, str) else f'{value:g}'}" for name, value in own.items())
    paper = f"[{method.paper.rpartition('/')[2]}]({method.paper})"
    model = f"`{method.option_specs['model'].default}` at {method.option_specs['size'].default}"
    assert (
        f"| `{method.name}` | {paper} | {method.form} | {model} | {options} |" in PAGE.read_text("utf-8").splitlines()
    )


def test_a_benchmark_is_edited_and_a_second_call_continues(saved: Any, tmp_path: Path) -> None:
    order: dict[str, Any] = {
        "option": {"model": str(saved("stable")), "size": "64", "steps": "2"},
        "limit": 2,
        "quiet": True,
    }
    name = "python:editgauge.methods.diffusion.library:sdedit"
    first = edit("sample", method=name, out=tmp_path / "made", **order)
    assert (first.made, first.reused, first.absences) == (2, 0, {})
    again = edit("sample", method=name, out=tmp_path / "made", **order, seeds=2)
    assert (again.made, again.reused) == (2, 2)
    told = json.loads((tmp_path / "made" / "method.json").read_text("utf-8"))["settings"]
    assert (told["model"], told["scheduler"], told["steps"]) == ("stable", "PNDMScheduler", 2)
    pictures = [read_image(path) for path in sorted((tmp_path / "made").glob("*.png"))]
    assert len(pictures) == 4
    assert not np.array_equal(pictures[0], pictures[1]), "another seed, another picture"


def test_each_value_of_a_sweep_is_a_variant(saved: Any, tmp_path: Path) -> None:
    made = edit(
        "sample",
        method="python:editgauge.methods.diffusion.tuning:imagic",
        out=tmp_path / "made",
        option={"model": str(saved("stable")), "size": "32", "steps": "2", "word_steps": "1", "tuning_steps": "0"},
        sweep=["eta=0.8,1.1"],
        limit=1,
        quiet=True,
    )
    assert sorted(made.variants) == ["imagic[eta=0.8]", "imagic[eta=1.1]"]
    assert made.made == 2


def test_a_pipeline_is_scored_while_its_network_is_trained(
    saved: Callable[[str], Path], make_benchmark: Callable[..., Path], tmp_path: Path
) -> None:
    torch, diffusers, accelerate = (pytest.importorskip(name) for name in ("torch", "diffusers", "accelerate"))
    pipeline = diffusers.StableDiffusionInstructPix2PixPipeline.from_pretrained(saved("instruct"))
    pipeline.set_progress_bar_config(disable=True)
    accelerator = accelerate.Accelerator(cpu=True)
    network = pipeline.unet.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    network, optimizer = accelerator.prepare(network, optimizer)
    words = torch.zeros(1, 4, network.config.cross_attention_dim)
    benchmark = make_benchmark(tmp_path / "benchmark", edits=2)

    with editgauge.Monitor(benchmark, out=tmp_path / "eval", limit=2, every=2, protocol=["preservation"]) as monitor:
        for step in range(4):
            noise = torch.randn(1, 8, 8, 8)
            loss = (network(noise, torch.tensor([10]), words).sample - noise[:, :4]).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            before = [parameter.detach().clone() for parameter in network.parameters()]
            monitor.on_step_end(step, pipeline, accelerator=accelerator, num_inference_steps=2)
            assert network.training
            assert all(map(torch.equal, before, network.parameters())), "looking changes nothing"

    lines: list[dict[str, Any]] = [
        json.loads(each) for each in (tmp_path / "eval/history.jsonl").read_text().split("\n") if each
    ]
    assert [line["step"] for line in lines] == [0, 2]
    for line in lines:
        assert line["failures"] == {}
        assert line["scores"]["preservation/ssim"]["scored"] == 2
        assert line["seconds_editing"] > 0 < line["seconds_scoring"]
    first, second = (tmp_path / "eval" / f"step-{step:08d}" / "edit-000.png" for step in (0, 2))
    assert first.read_bytes() != second.read_bytes(), "the network moved in between, and so did its outcome"
