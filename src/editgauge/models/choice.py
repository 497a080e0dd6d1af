"""The models of a run: which one plays which role."""

from __future__ import annotations

from collections.abc import Mapping

from editgauge.core.errors import BadInput, EditGaugeError, UnknownName
from editgauge.models import models
from editgauge.models.hub.addresses import by_address, is_address
from editgauge.models.interfaces import ROLES, Card, Model
from editgauge.models.weights import MissingWeights, available


def make_models(chosen: Mapping[str, str]) -> dict[str, Model]:
    """A model for each role. A model that was named for two roles is made once, and plays both.

    Raises `MissingWeights` for one whose weights are not on this machine: better now than at every single question.
    """
    for role in chosen:
        if role not in ROLES:
            raise UnknownName("role", role, ROLES, "editgauge list models")
    made = {name: make_model(name) for name in dict.fromkeys(chosen.values())}
    for role, name in chosen.items():
        if not isinstance(made[name], ROLES[role]):
            meant = made[name].card.role
            raise BadInput(f"The model '{name}' cannot play the role '{role}'; it is made for '{meant}'.")
    for name, model in made.items():
        if not is_here(model):
            raise MissingWeights(
                f"The weights of the model '{name}' are not on this machine: run `editgauge models pull {name}`."
            )
    return {role: made[name] for role, name in chosen.items()}


def describe(chosen: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What the manifest keeps of each model, by role."""
    return {role: _described(chosen[role], model.card) for role, model in make_models(chosen).items()}


def _described(name: str, card: Card) -> dict[str, str]:
    return {
        "name": name,
        "id": card.id,
        "revision": card.revision,
        "sha256": card.sha256,
        "licence": card.licence,
        "settings": ", ".join(f"{setting}={value}" for setting, value in sorted(card.settings.items())),
    }


def is_here(model: Model) -> bool:
    """Can it be asked on this machine: are its weights here, and what runs them?"""
    return bool(getattr(model, "available", True)) and all(available(name) for name in model.weights)


def make_model(name: str) -> Model:
    """The model of a name, or at an address such as `owl:google/owlv2-base-patch16`; loads nothing yet."""
    if is_address(name):
        return by_address(name)
    make = models.get(name)
    try:
        return make()
    except EditGaugeError:
        raise
    except Exception as error:
        raise BadInput(f"The model '{name}' from {models.origin(name)} cannot be used: {error}") from error
