"""The models of a run: which one plays which role, and how it is created.

A model has a name, or an address: a folder or a repository of the model hub, of a family that is known here
(`owl:google/owlv2-large-patch14-ensemble`, `clip:./my-finetuned-clip`, `dino:facebook/dinov2-giant@<commit>`).

A profile lists models per role in order of preference; the first one on this machine is used, with a remark if it is
not the first of the list. `models="paper"` uses the networks of each protocol's own paper; the name of a paper, such as
`models="pixlens"`, uses them for all protocols. What a paper leaves open is our choice, and its source says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

from editgauge._util.variants import base_name, paper_name
from editgauge.errors import BadInputError, EditGaugeError, UnknownNameError
from editgauge.models import models
from editgauge.models.catalog import MODELS, attribute_of, profile_models
from editgauge.models.roles import ROLES, Model, ModelCard
from editgauge.models.weights import MissingWeightsError, available, weights_of

FAMILIES: dict[str, str] = {
    "owl": "detectors:OwlDetector",
    "grounding-dino": "detectors:GroundingDetector",
    "instance": "detectors:InstanceDetector",
    "instance-masks": "detectors:InstanceSegmenter",
    "sam": "segmenters:SamSegmenter",
    "segformer": "segmenters:ClassMapper",
    "clip": "embedders:ClipEmbedder",
    "dino": "embedders:DinoEmbedder",
    "dreamsim": "dreamsim:DreamSim",
    "captioner": "captions:HubCaptioner",
}


def make_models(names: Mapping[str, str]) -> dict[str, Model]:
    """Create a model for each role; a model named for two roles is created once.

    Args:
        names: model name of each role

    Raises:
        MissingWeightsError: weights are not on this machine; raised before the first question, not at every one
        DamagedWeightsError: weights have another content than recorded

    """
    for role in map(plain_role, names):
        if role not in ROLES:
            raise UnknownNameError("role", role, ROLES, "editgauge list models")
    models_by_name = {name: make_model(name) for name in dict.fromkeys(names.values())}
    for role, name in names.items():
        if not isinstance(models_by_name[name], ROLES[plain_role(role)]):
            meant = models_by_name[name].card.role
            raise BadInputError(f"The model '{name}' cannot play the role '{role}'; it is made for '{meant}'.")
    for name, model in models_by_name.items():
        if not is_here(model):
            weights = f"The weights of the model '{name}' are not on this machine: run `editgauge models pull {name}`."
            raise MissingWeightsError(getattr(model, "missing", weights))
        for weights in model.weights:
            weights_of(weights).check()
    return {role: models_by_name[name] for role, name in names.items()}


def describe(names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the manifest entry of each model, by role."""
    return {role: _described(names[role], model.card) for role, model in make_models(names).items()}


def _described(name: str, card: ModelCard) -> dict[str, str]:
    return {
        "name": name,
        "id": card.id,
        "revision": card.revision,
        "sha256": card.sha256,
        "license": card.license,
        "settings": ", ".join(f"{setting}={value}" for setting, value in sorted(card.settings.items())),
    }


def is_here(model: Model) -> bool:
    """Tell whether a model can run on this machine: its weights and libraries are present."""
    return bool(getattr(model, "available", True)) and all(available(name) for name in model.weights)


def plain_role(role: str) -> str:
    """Strip the paper's prefix from a role.

    >>> plain_role("pixlens.detector"), plain_role("detector")
    ('detector', 'detector')
    """
    return role.rpartition(".")[2]


def make_model(name: str) -> Model:
    """Create a model by name or address (`owl:google/owlv2-base-patch16`) without loading weights.

    Thresholds come behind it in brackets: `owlvit-base[threshold=0.2]`.
    """
    base, options = _without_options(name)
    model = _made(base)
    for option, value in options.items():
        _set_threshold(model, name, option, value)
    return model


def _made(name: str) -> Model:
    if ":" in name:
        return by_address(name)
    make = models.get(name)
    try:
        return make()
    except EditGaugeError:
        raise
    except Exception as error:
        raise BadInputError(f"The model '{name}' from {models.origin(name)} cannot be used: {error}") from error


def by_address(text: str) -> Model:
    """Create the model at FAMILY:FOLDER or FAMILY:OWNER/NAME[@REVISION]."""
    family, _, location = text.partition(":")
    if family not in FAMILIES:
        raise UnknownNameError("family of models", family, FAMILIES)
    module, _, name = FAMILIES[family].partition(":")
    make = getattr(import_module(f"editgauge.models.hub.{module}"), name)
    if Path(location).expanduser().is_dir():
        return cast("Model", make(location))
    repository, _, revision = location.partition("@")
    return cast("Model", make(repository, revision or None))


def __getattr__(name: str) -> Callable[[], Model]:
    """Return the factory of a hub model by attribute name: `owlvit_base` for the catalog row `owlvit-base`."""
    row = next((row for model, row in MODELS.items() if row.is_of_hub and attribute_of(model) == name), None)
    if row is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(by_address, row.target)


THRESHOLDS = {"threshold": "operating_point", "text_threshold": "text_threshold"}
"""What may stand in the brackets, and the attribute of the model that it sets."""


def _without_options(name: str) -> tuple[str, dict[str, str]]:
    base, bracket, bracketed = name.rpartition("[")
    if not bracket or not bracketed.endswith("]"):
        return name, {}
    options = dict(part.strip().partition("=")[::2] for part in bracketed.removesuffix("]").split(","))
    if not options.keys() <= THRESHOLDS.keys():
        raise BadInputError(
            f"A model takes {' and '.join(f'{option}=NUMBER' for option in THRESHOLDS)} in brackets, got '{name}'."
        )
    return base, options


def _set_threshold(model: Model, name: str, option: str, value: str) -> None:
    attribute = THRESHOLDS[option]
    if not hasattr(model, attribute):
        raise BadInputError(f"The model '{name}' has no {option.replace('_', ' ')}.")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise BadInputError(
            f"The {option.replace('_', ' ')} of a model is a number from 0 to 1, got '{value}' in '{name}'."
        )
    setattr(model, attribute, number)


@dataclass(frozen=True, slots=True)
class PaperModel:
    """A network of a paper, and where the paper names it."""

    name: str
    """A model with its options, such as `grounding-dino-tiny[threshold=0.3]`."""
    source: str
    """What the paper or its released code says, in our words, and where."""


_LPIPS = PaperModel("lpips-alex", "LPIPS, backbone unstated; ours: AlexNet, the default of its authors")
_PIXLENS_SEGMENTER = PaperModel("sam-huge", "PixLens, section 4: SAM on the detector's boxes; ViT-H when released")
_MINILM = PaperModel("minilm", "our choice of a sentence encoder")

PAPERS: dict[str, dict[str, PaperModel]] = {
    "editval": {
        "detector": PaperModel(
            "owlvit-base[threshold=0.1]",
            "EditVal, section 3.2.2 and appendix C: rules on what OWL-ViT sees; base-patch32 at 0.1 when released",
        ),
        "image_embedder": PaperModel(
            "dino-b16", "EditVal, section 4.3: cosine of DINO's [CLS] embeddings; ViT-B/16 in the public script"
        ),
        "fid_features": PaperModel("inception-fid", "EditVal, section 4.3: FID between source and edited images"),
        "joint_embedder": PaperModel("clip-b16", "EditVal, section 3.2.2: CLIP, size unstated; ours: ViT-B/16"),
    },
    "pixlens": {
        "detector": PaperModel(
            "grounding-dino-tiny[threshold=0.1]",
            "PixLens, section 4: Grounding DINO with a threshold of 0.1, size unstated; the released code loads Swin-T",
        ),
        "segmenter": _PIXLENS_SEGMENTER,
    },
    "pixlens@released": {
        "detector": PaperModel(
            "grounding-dino-tiny[text_threshold=0.3,threshold=0.3]",
            "PixLens's released code: Swin-T, whose own thresholds for boxes and texts, both 0.3, override the "
            "paper's 0.1",
        ),
        "segmenter": _PIXLENS_SEGMENTER,
    },
    "augclip": {
        "joint_embedder": PaperModel("clip-b16", "AugCLIP, section 5, implementation details: CLIP ViT-B/16"),
        "image_embedder": PaperModel("dino-b16", "AugCLIP, section 5: DINO similarity, size unstated; ours: ViT-B/16"),
        "perceptual_distance": _LPIPS,
        "semantic_segmenter": PaperModel(
            "segformer-b5",
            "AugCLIP, section 5: segmentation consistency, network unstated; ours: SegFormer-B5 of ADE20K",
        ),
        "detector": PaperModel("owlvit-base", "AugCLIP names no detector; ours: EditVal's"),
        "segmenter": PaperModel("sam-huge", "AugCLIP names no segmenter; ours: PixLens's"),
        "text_similarity": _MINILM,
    },
    "unibench": {
        "detector": PaperModel(
            "mask2former-swin-small",
            "UniBench, section 3.3: a pretrained instance segmentation network, unnamed; ours: Mask2Former of COCO",
        ),
        "segmenter": PaperModel("mask2former-swin-small-masks", "UniBench, section 3.3: the same network's outlines"),
        "joint_embedder": PaperModel("clip-b32", "UniBench, section 3.3: CLIP, size unstated; ours: ViT-B/32"),
        "perceptual_distance": _LPIPS,
    },
    "editinspector": {
        "detector": PaperModel(
            "owlvit-base",
            "EditInspector, section 4.2: Detic, an open vocabulary of which there is no port here; ours: OWL-ViT",
        ),
        "segmenter": PaperModel("sam-huge", "EditInspector, section 4.2: Detic's outlines; ours: SAM ViT-H"),
        "captioner": PaperModel(
            "blip-large", "EditInspector, section 4.1: Gemini writes captions; ours without it: BLIP"
        ),
        "text_similarity": _MINILM,
    },
}

_OF_PROTOCOL = {
    "artifacts": "editinspector",
    "baselines": "augclip",
    "clip-family": "augclip",
    "difference-captions": "editinspector",
    "unibench-detect": "unibench",
}
"""Protocols that are not called like their paper."""


def paper_of(protocol: str) -> str | None:
    """Return the paper of a protocol, or its released code where that has other models; None if it belongs to none.

    >>> paper_of("editval@released"), paper_of("pixlens@released"), paper_of("preservation")
    ('editval', 'pixlens@released', None)
    """
    if base_name(protocol) in PAPERS:
        return base_name(protocol)
    base = paper_name(protocol)
    paper = _OF_PROTOCOL.get(base, base)
    return paper if paper in PAPERS else None


PROFILES: dict[str, dict[str, tuple[str, ...]]] = {
    profile: profile_models(profile) for profile in ("lite", "lite-plus", "paper", "best")
}
"""`lite` is under 250 MB to fetch and runs without torch; a test holds it to that."""
PROFILES |= {paper: {role: (model.name,) for role, model in its.items()} for paper, its in PAPERS.items()}
PAPER = "paper"
"""The profile that means each protocol's own paper."""
NO_MODEL = "none"
"""Named for a role, it has no model, whatever the profile says."""
EXTRA_WEIGHTS = (("wordnet",), ("en-core-web-sm",))
"""Weights that no role names: a closed vocabulary finds synonyms in WordNet, and instructions are parsed with spaCy."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The models of a run by role, with remarks for the user."""

    models: dict[str, str]
    remarks: tuple[str, ...]
    sources: tuple[str, ...] = ()
    """For the networks of a paper: what the paper says about each, and where."""


def choose_models(profile: str, overrides: Mapping[str, str], roles: Iterable[str]) -> ModelChoice:
    """Choose a model per role: the override, or the profile's first that is on this machine.

    A role whose model is named `none` is left out.
    """
    listed = models_of(profile)
    models: dict[str, str] = {}
    remarks: list[str] = []
    sources: list[str] = []
    for role in overrides:
        if role not in ROLES:
            raise UnknownNameError("role", role, ROLES, "editgauge list models")
    left_out = {role for role, name in overrides.items() if name == NO_MODEL}
    for role in dict.fromkeys(role for role in [*roles, *overrides] if role not in left_out):
        candidates = listed.get(role, ())
        model = overrides.get(role) or next((name for name in candidates if is_here(make_model(name))), None)
        if model:
            models[role] = model
        if role not in overrides and role in PAPERS.get(profile, {}):
            sources.append(f"{profile}, {role}: {candidates[0]}. {PAPERS[profile][role].source}.")
        if model and role not in overrides and model != candidates[0]:
            remarks.append(f"{role}: {model} is taken, because {candidates[0]} is not on this machine.")
        elif candidates and not model:
            remarks.append(f"{role}: {' or '.join(candidates)} is not on this machine; {_how_to_get(candidates[0])}.")
        elif not model:
            remarks.append(f"{role}: the profile '{profile}' has no model for it; {_who_has(role, profile)}.")
    return ModelChoice(models, tuple(remarks), tuple(sources))


def choose_for_protocols(profile: str, overrides: Mapping[str, str], roles: Mapping[str, Sequence[str]]) -> ModelChoice:
    """Choose models for all protocols of a run; the profile `paper` uses each protocol's paper.

    A role that two papers fill differently is there once for each, as `pixlens.detector`.

    Args:
        profile: a name of a profile
        overrides: models named by role
        roles: the roles that each protocol asks for

    """
    if profile != PAPER:
        return choose_models(profile, overrides, [role for its in roles.values() for role in its])
    roles_by_paper: dict[str, list[str]] = {}
    for protocol, its in roles.items():
        roles_by_paper.setdefault(paper_of(protocol) or PAPER, []).extend(its)
    choices = {
        paper: choose_models(paper, overrides, [role for role in its if role in {*models_of(paper), *overrides}])
        for paper, its in roles_by_paper.items()
    }
    names: dict[str, dict[str, str]] = {}
    for paper, choice in choices.items():
        for role, name in choice.models.items():
            names.setdefault(role, {})[paper] = name
    models = {
        (role if len(set(by_paper.values())) == 1 else f"{paper}.{role}"): name
        for role, by_paper in names.items()
        for paper, name in by_paper.items()
    }
    remarks = dict.fromkeys(remark for choice in choices.values() for remark in choice.remarks)
    sources = dict.fromkeys(source for choice in choices.values() for source in choice.sources)
    return ModelChoice(models, tuple(remarks), tuple(sources))


def models_for(protocol: str, models: Mapping[str, str]) -> dict[str, str]:
    """Return the models of one protocol by role, without paper prefixes.

    >>> models_for("pixlens", {"pixlens.detector": "dino", "editval.detector": "owl", "segmenter": "sam"})
    {'segmenter': 'sam', 'detector': 'dino'}
    """
    start = f"{paper_of(protocol) or PAPER}."
    plain = {role: name for role, name in models.items() if "." not in role}
    return plain | {role.removeprefix(start): name for role, name in models.items() if role.startswith(start)}


def _how_to_get(name: str) -> str:
    if all(available(weights) for weights in make_model(name).weights):
        return "its weights are, but what runs them is not: pip install 'editgauge[torch]'"
    return f"`editgauge models pull {name.partition('[')[0]}` brings it"


def _who_has(role: str, profile: str) -> str:
    larger = f"{profile}-plus"
    if role in PROFILES.get(larger, {}):
        return f"'{larger}' has {PROFILES[larger][role][0]} (`editgauge models pull {larger}`)"
    return f"pass `model={role}=NAME`"


def models_of(profile: str) -> dict[str, tuple[str, ...]]:
    """Return the models of a profile by role, in order of preference."""
    if profile not in PROFILES:
        raise UnknownNameError("profile", profile, PROFILES)
    return PROFILES[profile]


def weights_of_profile(profile: str) -> list[tuple[str, ...]]:
    """Return the sets of weights of a profile, each with its alternatives."""
    required = [alternative for names in models_of(profile).values() for alternative in _with_alternatives(names)]
    return list(dict.fromkeys([*required, *EXTRA_WEIGHTS]))


def weights_of_model(name: str) -> list[tuple[str, ...]]:
    """Return the sets of weights that a model needs."""
    return [(weights,) for weights in make_model(name).weights]


def _with_alternatives(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the sets of the first model; a single set may be replaced by those of the other models."""
    first, *alternatives = (make_model(name).weights for name in names)
    if len(first) != 1:
        return [(weights,) for weights in first]
    return [(*first, *(weights for other in alternatives if len(other) == 1 for weights in other))]
