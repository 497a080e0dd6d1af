"""The models of a run: which one plays which role, by its name or by its address.

An address is a folder or a repository of the model hub, of a family that is known here:
`owl:google/owlv2-large-patch14-ensemble`, `clip:./my-finetuned-clip`, `dino:facebook/dinov2-giant@<commit>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

from editgauge.errors import BadInputError, EditGaugeError, UnknownNameError
from editgauge.models import models
from editgauge.models.catalog import MODELS, attribute_of
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
