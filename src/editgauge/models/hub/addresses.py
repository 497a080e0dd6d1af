"""Models by address: any folder or any repository of the model hub, of a family that is known here.

`owl:google/owlv2-large-patch14-ensemble`, `clip:./my-finetuned-clip`, `dino:facebook/dinov2-giant@<commit>`
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

from editgauge.core.errors import UnknownName
from editgauge.models.catalog import MODELS, attribute_of
from editgauge.models.interfaces import Model

FAMILIES: dict[str, str] = {
    "owl": "owl:OwlDetector",
    "grounding-dino": "grounding_dino:GroundingDetector",
    "instance": "instance:InstanceDetector",
    "instance-masks": "instance:InstanceSegmenter",
    "sam": "sam:SamSegmenter",
    "segformer": "semantic:ClassMapper",
    "clip": "clip:ClipEmbedder",
    "dino": "features.dino:DinoEmbedder",
    "dreamsim": "features.dreamsim:DreamSim",
    "captioner": "captions:HubCaptioner",
}


def is_address(text: str) -> bool:
    """Is it FAMILY:PLACE, and not a name?

    >>> is_address("owl:google/owlv2-base-patch16"), is_address("owlv2-base")
    (True, False)
    """
    return ":" in text


def by_address(text: str) -> Model:
    """The model at FAMILY:FOLDER or FAMILY:OWNER/NAME, the latter with @REVISION behind it if need be."""
    family, _, place = text.partition(":")
    if family not in FAMILIES:
        raise UnknownName("family of models", family, FAMILIES)
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
