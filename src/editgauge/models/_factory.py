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
from editgauge.models.interfaces import ROLES, Model, ModelCard
from editgauge.models.weights import MissingWeightsError, available, weights_of

FAMILIES: dict[str, str] = {
    "owl": "owl:OwlDetector",
    "grounding-dino": "grounding_dino:GroundingDetector",
    "instance": "instance:InstanceDetector",
    "instance-masks": "instance:InstanceSegmenter",
    "sam": "sam:SamSegmenter",
    "segformer": "semantic:ClassMapper",
    "clip": "clip:ClipEmbedder",
    "dino": "dino:DinoEmbedder",
    "dreamsim": "dreamsim:DreamSim",
    "captioner": "captions:HubCaptioner",
}


def make_models(chosen: Mapping[str, str]) -> dict[str, Model]:
    """A model for each role. A model that was named for two roles is made once, and plays both.

    Raises `MissingWeightsError` for weights that are not on this machine and `DamagedWeights` for those with another content
    than recorded: better now than at every single question.
    """
    for role in map(plain_role, chosen):
        if role not in ROLES:
            raise UnknownNameError("role", role, ROLES, "editgauge list models")
    made = {name: make_model(name) for name in dict.fromkeys(chosen.values())}
    for role, name in chosen.items():
        if not isinstance(made[name], ROLES[plain_role(role)]):
            meant = made[name].card.role
            raise BadInputError(f"The model '{name}' cannot play the role '{role}'; it is made for '{meant}'.")
    for name, model in made.items():
        if not is_here(model):
            weights = f"The weights of the model '{name}' are not on this machine: run `editgauge models pull {name}`."
            raise MissingWeightsError(getattr(model, "missing", weights))
        for weights in model.weights:
            weights_of(weights).check()
    return {role: made[name] for role, name in chosen.items()}


def describe(chosen: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What the manifest keeps of each model, by role."""
    return {role: _described(chosen[role], model.card) for role, model in make_models(chosen).items()}


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
    """Can it be asked on this machine: are its weights here, and what runs them?"""
    return bool(getattr(model, "available", True)) and all(available(name) for name in model.weights)


def plain_role(role: str) -> str:
    """The role of a model that is asked by the protocols of one paper only.

    >>> plain_role("pixlens.detector"), plain_role("detector")
    ('detector', 'detector')
    """
    return role.rpartition(".")[2]


def make_model(name: str) -> Model:
    """The model of a name, or at an address such as `owl:google/owlv2-base-patch16`; loads nothing yet.

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
    """The model at FAMILY:FOLDER or FAMILY:OWNER/NAME, the latter with @REVISION behind it if need be."""
    family, _, place = text.partition(":")
    if family not in FAMILIES:
        raise UnknownNameError("family of models", family, FAMILIES)
    module, _, name = FAMILIES[family].partition(":")
    make = getattr(import_module(f"editgauge.models.hub.{module}"), name)
    if Path(place).expanduser().is_dir():
        return cast("Model", make(place))
    repository, _, revision = place.partition("@")
    return cast("Model", make(repository, revision or None))


def __getattr__(name: str) -> Callable[[], Model]:
    """What makes a model of the hub that has a name here: `owlvit_base` for the row `owlvit-base` of the catalog."""
    row = next((row for model, row in MODELS.items() if row.is_of_hub and attribute_of(model) == name), None)
    if row is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(by_address, row.place)


THRESHOLDS = {"threshold": "operating_point", "text_threshold": "text_threshold"}
"""What may stand in the brackets, and the attribute of the model that it sets."""


def _without_options(name: str) -> tuple[str, dict[str, str]]:
    base, bracket, rest = name.rpartition("[")
    if not bracket or not rest.endswith("]"):
        return name, {}
    options = dict(part.strip().partition("=")[::2] for part in rest.removesuffix("]").split(","))
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
