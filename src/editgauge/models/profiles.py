"""Profiles: which model plays which role. A name per role overrides them; no choice is silent.

For each role a profile lists real models in order of preference; the first that is on this machine is taken, and it is
said when that is not the first of the list. A score is named after what was really asked, not after what was hoped for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from editgauge.core.errors import UnknownName
from editgauge.models.choice import is_here, make_model
from editgauge.models.interfaces import ROLES
from editgauge.models.weights import available

PROFILES: dict[str, dict[str, tuple[str, ...]]] = {
    "lite": {
        "detector": ("efficientdet-lite2", "ssd-mobilenet-v2"),
        "segmenter": ("u2netp",),
        "semantic_segmenter": ("deeplab-v3",),
        "image_embedder": ("dinov2-s14", "augnet"),
        "classifier": ("efficientnet-lite2", "efficientnet-lite3"),
        "fid_features": ("inception-fid",),
        "perceptual_distance": ("lpips-alex",),
        "text_similarity": ("minilm",),
    },
    "paper": {
        "detector": ("owlvit-base",),
        "segmenter": ("sam-huge",),
        "joint_embedder": ("clip-b16",),
        "image_embedder": ("dino-b16",),
        "fid_features": ("inception-fid",),
        "perceptual_distance": ("lpips-alex",),
        "captioner": ("blip-large",),
        "text_similarity": ("minilm",),
    },
    "best": {
        "detector": ("owlv2-base",),
        "segmenter": ("sam2-large",),
        "semantic_segmenter": ("segformer-b5",),
        "joint_embedder": ("siglip2-base",),
        "image_embedder": ("dinov2-large",),
        "fid_features": ("inception-fid",),
        "perceptual_distance": ("lpips-vgg",),
        "captioner": ("florence2-base",),
        "text_similarity": ("minilm",),
    },
}
LEFT_OUT = "none"
"""Named for a role, it has no model, whatever the profile says."""
ALONGSIDE = ("wordnet",)
"""Weights that no role names: a closed vocabulary finds synonyms by them."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The models of a run by role, and what is to be said about them."""

    models: dict[str, str]
    remarks: tuple[str, ...]


def choose_models(profile: str, overrides: Mapping[str, str], roles: Iterable[str]) -> Choice:
    """A model for each of the roles: the one that was named, or the profile's first that is on this machine.

    A role whose model is named `none` is left out.
    """
    listed = models_of(profile)
    models: dict[str, str] = {}
    remarks: list[str] = []
    for role in overrides:
        if role not in ROLES:
            raise UnknownName("role", role, ROLES, "editgauge list models")
    left_out = {role for role, name in overrides.items() if name == LEFT_OUT}
    for role in dict.fromkeys(role for role in [*roles, *overrides] if role not in left_out):
        wanted = listed.get(role, ())
        here = overrides.get(role) or next((name for name in wanted if is_here(make_model(name))), None)
        if here:
            models[role] = here
        if here and role not in overrides and here != wanted[0]:
            remarks.append(f"{role}: {here} is taken, because {wanted[0]} is not on this machine.")
        elif wanted and not here:
            remarks.append(f"{role}: {' or '.join(wanted)} is not on this machine; {_how_to_get(wanted[0])}.")
        elif not here:
            remarks.append(f"{role}: the profile '{profile}' has no model for it; name one with --model {role}=NAME.")
    return Choice(models, tuple(remarks))


def _how_to_get(name: str) -> str:
    if all(available(weights) for weights in make_model(name).weights):
        return "its weights are, but what runs them is not: pip install 'editgauge[torch]'"
    return f"`editgauge models pull {name}` brings it"


def models_of(profile: str) -> dict[str, tuple[str, ...]]:
    """The profile's models by role, in order of preference."""
    if profile not in PROFILES:
        raise UnknownName("profile", profile, PROFILES)
    return PROFILES[profile]


def weights_of_profile(profile: str) -> list[tuple[str, ...]]:
    """The sets of weights a profile wants, each with those that serve in its place."""
    wanted = [tuple(_only(name) for name in names) for names in models_of(profile).values()]
    return list(dict.fromkeys([*wanted, ALONGSIDE]))


def weights_of_model(name: str) -> str:
    """The set of weights that a model needs."""
    return _only(name)


def _only(name: str) -> str:
    (weights,) = make_model(name).weights
    return weights
