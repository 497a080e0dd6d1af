"""One row per model: its role, where it is made, and the profiles that take it. Everything else follows from here.

The registry (`editgauge.models`), the profiles, the roles that the command line offers and the roles of weights are all
read from this table. Weights have rows of their own in `weights/weights.yaml`: where they come from, hashes, licenses.
"""

from __future__ import annotations

from typing import NamedTuple

PACKAGE = "editgauge.models"


class ModelRow(NamedTuple):
    """Role, implementation and profiles of one model."""

    role: str
    target: str
    """Its class below `editgauge.models`, such as `lite.embedders:AugNet`; or FAMILY:REPOSITORY of the model hub."""
    profiles: tuple[str, ...] = ()
    """The profiles that take it for its role; of several models in one profile the first of this table is preferred."""

    @property
    def is_of_hub(self) -> bool:
        """Whether it is a repository of the model hub."""
        return "/" in self.target


MODELS: dict[str, ModelRow] = {
    "efficientdet-lite2": ModelRow("detector", "lite.detectors:EfficientDetLite2", ("lite",)),
    "ssd-mobilenet-v2": ModelRow("detector", "lite.detectors:SsdMobileNetV2", ("lite",)),
    "u2netp": ModelRow("segmenter", "lite.segmenters:U2NetBoxes", ("lite",)),
    "deeplab-v3": ModelRow("semantic_segmenter", "lite.segmenters:DeepLabV3", ("lite",)),
    "dinov2-s14": ModelRow("image_embedder", "lite.embedders:DinoV2Small", ("lite",)),
    "augnet": ModelRow("image_embedder", "lite.embedders:AugNet", ("lite",)),
    "efficientnet-lite2": ModelRow("classifier", "lite.classifiers:EfficientNetLite2", ("lite",)),
    "efficientnet-lite3": ModelRow("classifier", "lite.classifiers:EfficientNetLite3", ("lite",)),
    "pp-ocr": ModelRow("text_reader", "lite.text:PpOcr", ("lite",)),
    "lpips-alex": ModelRow("perceptual_distance", "lite.lpips:LpipsAlex", ("lite", "paper")),
    "minilm": ModelRow("text_similarity", "lite.embedders:MiniLm", ("lite", "paper", "best")),
    "places365": ModelRow("scene_classifier", "lite.classifiers:Places365", ("lite-plus",)),
    "faces": ModelRow("face_reader", "lite.people:LiteFaces", ("lite-plus",)),
    "rtmpose-s": ModelRow("pose_reader", "lite.people:RtmPose", ("lite-plus",)),
    "inception-fid": ModelRow("fid_features", "lite.embedders:InceptionFid", ("lite-plus", "paper", "best")),
    "efficientdet-lite0": ModelRow("detector", "lite.detectors:EfficientDetLite0"),
    "inception-fid-192": ModelRow("fid_features", "lite.embedders:inception_fid_192"),
    "inception-fid-64": ModelRow("fid_features", "lite.embedders:inception_fid_64"),
    "inception-fid-768": ModelRow("fid_features", "lite.embedders:inception_fid_768"),
    "lpips-vgg": ModelRow("perceptual_distance", "lite.lpips:LpipsVgg", ("best",)),
    "migan": ModelRow("inpainter", "lite.migan:MiGan"),
    "sam2-tiny": ModelRow("segmenter", "lite.segmenters:Sam2Tiny"),
    "tesseract": ModelRow("text_reader", "lite.text:Tesseract"),
    "u2netp-foreground": ModelRow("semantic_segmenter", "lite.segmenters:U2NetForeground"),
    # Of the model hub. The main branch of DETR needs timm and torchvision.
    "blip-base": ModelRow("captioner", "captioner:Salesforce/blip-image-captioning-base"),
    "blip-large": ModelRow("captioner", "captioner:Salesforce/blip-image-captioning-large", ("paper",)),
    "clip-b16": ModelRow("joint_embedder", "clip:openai/clip-vit-base-patch16", ("paper",)),
    "clip-b32": ModelRow("joint_embedder", "clip:openai/clip-vit-base-patch32"),
    "clip-l14": ModelRow("joint_embedder", "clip:openai/clip-vit-large-patch14"),
    "detr-r50": ModelRow("detector", "instance:facebook/detr-resnet-50@no_timm"),
    "dino-b16": ModelRow("image_embedder", "dino:facebook/dino-vitb16", ("paper",)),
    "dino-s16": ModelRow("image_embedder", "dino:facebook/dino-vits16"),
    "dinov2-base": ModelRow("image_embedder", "dino:facebook/dinov2-base"),
    "dinov2-large": ModelRow("image_embedder", "dino:facebook/dinov2-large", ("best",)),
    "dinov2-small": ModelRow("image_embedder", "dino:facebook/dinov2-small"),
    "dinov3-base": ModelRow("image_embedder", "dino:facebook/dinov3-vitb16-pretrain-lvd1689m"),
    "florence2-base": ModelRow("captioner", "captioner:florence-community/Florence-2-base", ("best",)),
    "grounding-dino-base": ModelRow("detector", "grounding-dino:IDEA-Research/grounding-dino-base"),
    "grounding-dino-tiny": ModelRow("detector", "grounding-dino:IDEA-Research/grounding-dino-tiny"),
    "mask2former-swin-small": ModelRow("detector", "instance:facebook/mask2former-swin-small-coco-instance"),
    "mask2former-swin-small-masks": ModelRow(
        "segmenter", "instance-masks:facebook/mask2former-swin-small-coco-instance"
    ),
    "oneformer-swin-large": ModelRow("detector", "instance:shi-labs/oneformer_coco_swin_large"),
    "oneformer-swin-large-masks": ModelRow("segmenter", "instance-masks:shi-labs/oneformer_coco_swin_large"),
    "owlv2-base": ModelRow("detector", "owl:google/owlv2-base-patch16-ensemble", ("best",)),
    "owlvit-base": ModelRow("detector", "owl:google/owlvit-base-patch32", ("paper",)),
    "owlvit-large": ModelRow("detector", "owl:google/owlvit-large-patch14"),
    "sam-base": ModelRow("segmenter", "sam:facebook/sam-vit-base"),
    "sam-huge": ModelRow("segmenter", "sam:facebook/sam-vit-huge", ("paper",)),
    "sam2-hiera-tiny": ModelRow("segmenter", "sam:facebook/sam2.1-hiera-tiny"),
    "sam2-large": ModelRow("segmenter", "sam:facebook/sam2.1-hiera-large", ("best",)),
    "segformer-b5": ModelRow(
        "semantic_segmenter", "segformer:nvidia/segformer-b5-finetuned-ade-640-640", ("paper", "best")
    ),
    "siglip2-base": ModelRow("joint_embedder", "clip:google/siglip2-base-patch16-224", ("best",)),
}
ROLE_NAMES = tuple(dict.fromkeys(row.role for row in MODELS.values()))
BASE_PROFILES = {"lite-plus": "lite"}
"""Profiles that have all models of a smaller one, and more."""


def import_paths() -> dict[str, str]:
    """Return the import path of each model's factory, by name."""
    return {
        name: f"{PACKAGE}.profiles:{attribute_of(name)}" if row.is_of_hub else f"{PACKAGE}.{row.target}"
        for name, row in MODELS.items()
    }


def attribute_of(name: str) -> str:
    """Convert a model name to a Python identifier.

    >>> attribute_of("clip-b16")
    'clip_b16'
    """
    return name.replace("-", "_")


def profile_models(profile: str) -> dict[str, tuple[str, ...]]:
    """Return the models of a profile by role, in order of preference.

    >>> profile_models("lite")["detector"]
    ('efficientdet-lite2', 'ssd-mobilenet-v2')
    """
    profiles = {profile, BASE_PROFILES.get(profile)}
    models: dict[str, tuple[str, ...]] = {}
    for name, row in MODELS.items():
        if profiles & set(row.profiles):
            models[row.role] = (*models.get(row.role, ()), name)
    return models
