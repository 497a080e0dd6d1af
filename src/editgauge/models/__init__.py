"""Perception: what neural networks see, behind small interfaces. Protocols know the interfaces, never a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from editgauge.core.registry import Registry

if TYPE_CHECKING:
    from editgauge.models.interfaces import Model

_LITE = "editgauge.models.lite"
_NAMED = "editgauge.models.hub.catalog"

BUILT_IN: dict[str, str] = {
    "augnet": f"{_LITE}.augnet:AugNet",
    "dinov2-s14": f"{_LITE}.dinov2:DinoV2Small",
    "deeplab-v3": f"{_LITE}.deeplab:DeepLabV3",
    "efficientdet-lite0": f"{_LITE}.efficientdet:EfficientDetLite0",
    "efficientdet-lite2": f"{_LITE}.efficientdet:EfficientDetLite2",
    "efficientnet-lite2": f"{_LITE}.efficientnet:EfficientNetLite2",
    "efficientnet-lite3": f"{_LITE}.efficientnet:EfficientNetLite3",
    "faces": f"{_LITE}.people.faces:LiteFaces",
    "inception-fid": f"{_LITE}.inception:InceptionFid",
    "inception-fid-192": f"{_LITE}.inception:inception_fid_192",
    "inception-fid-64": f"{_LITE}.inception:inception_fid_64",
    "inception-fid-768": f"{_LITE}.inception:inception_fid_768",
    "lpips-alex": f"{_LITE}.lpips:LpipsAlex",
    "lpips-vgg": f"{_LITE}.lpips:LpipsVgg",
    "migan": f"{_LITE}.migan:MiGan",
    "minilm": f"{_LITE}.minilm:MiniLm",
    "pp-ocr": f"{_LITE}.ppocr:PpOcr",
    "rtmpose-s": f"{_LITE}.people.pose:RtmPose",
    "sam2-tiny": f"{_LITE}.sam2:Sam2Tiny",
    "ssd-mobilenet-v2": f"{_LITE}.ssd:SsdMobileNetV2",
    "u2netp": f"{_LITE}.u2net:U2NetBoxes",
    "u2netp-foreground": f"{_LITE}.u2net:U2NetForeground",
    "blip-base": f"{_NAMED}:blip_base",
    "blip-large": f"{_NAMED}:blip_large",
    "clip-b16": f"{_NAMED}:clip_b16",
    "clip-b32": f"{_NAMED}:clip_b32",
    "clip-l14": f"{_NAMED}:clip_l14",
    "detr-r50": f"{_NAMED}:detr_r50",
    "dino-b16": f"{_NAMED}:dino_b16",
    "dino-s16": f"{_NAMED}:dino_s16",
    "dinov2-base": f"{_NAMED}:dinov2_base",
    "dinov2-large": f"{_NAMED}:dinov2_large",
    "dinov2-small": f"{_NAMED}:dinov2_small",
    "dinov3-base": f"{_NAMED}:dinov3_base",
    "florence2-base": f"{_NAMED}:florence2_base",
    "grounding-dino-base": f"{_NAMED}:grounding_dino_base",
    "grounding-dino-tiny": f"{_NAMED}:grounding_dino_tiny",
    "mask2former-swin-small": f"{_NAMED}:mask2former_swin_small",
    "mask2former-swin-small-masks": f"{_NAMED}:mask2former_swin_small_masks",
    "oneformer-swin-large": f"{_NAMED}:oneformer_swin_large",
    "oneformer-swin-large-masks": f"{_NAMED}:oneformer_swin_large_masks",
    "owlv2-base": f"{_NAMED}:owlv2_base",
    "owlvit-base": f"{_NAMED}:owlvit_base",
    "owlvit-large": f"{_NAMED}:owlvit_large",
    "sam-base": f"{_NAMED}:sam_base",
    "sam-huge": f"{_NAMED}:sam_huge",
    "sam2-hiera-tiny": f"{_NAMED}:sam2_hiera_tiny",
    "sam2-large": f"{_NAMED}:sam2_large",
    "segformer-b5": f"{_NAMED}:segformer_b5",
    "siglip2-base": f"{_NAMED}:siglip2_base",
}

models: Registry[Callable[[], Model]] = Registry("model", BUILT_IN)

_VERBS = frozenset({"info", "list_weights", "path", "pull", "verify"})
_WEIGHTS = frozenset({"available", "weights_of"})


def __getattr__(name: str) -> Any:
    """The verbs of `editgauge models` and the looks at weights, loaded when first used."""
    if name not in _VERBS | _WEIGHTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from editgauge.models import weights
    from editgauge.models.weights import verbs

    return getattr(verbs if name in _VERBS else weights, name)
