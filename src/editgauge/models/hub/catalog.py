"""The models of the hub that have a name here; the registry points at these."""

from __future__ import annotations

from functools import partial

from editgauge.models.hub.captions import Captioner
from editgauge.models.hub.clip import ClipEmbedder
from editgauge.models.hub.dino import DinoEmbedder
from editgauge.models.hub.grounding_dino import GroundingDetector
from editgauge.models.hub.instance import InstanceDetector, InstanceSegmenter
from editgauge.models.hub.owl import OwlDetector
from editgauge.models.hub.sam import SamSegmenter
from editgauge.models.hub.semantic import ClassMapper

owlvit_base = partial(OwlDetector, "google/owlvit-base-patch32")
owlvit_large = partial(OwlDetector, "google/owlvit-large-patch14")
owlv2_base = partial(OwlDetector, "google/owlv2-base-patch16-ensemble")
grounding_dino_tiny = partial(GroundingDetector, "IDEA-Research/grounding-dino-tiny")
grounding_dino_base = partial(GroundingDetector, "IDEA-Research/grounding-dino-base")
detr_r50 = partial(InstanceDetector, "facebook/detr-resnet-50", "no_timm")  # the main branch needs timm and torchvision
mask2former_swin_small = partial(InstanceDetector, "facebook/mask2former-swin-small-coco-instance")
mask2former_swin_small_masks = partial(InstanceSegmenter, "facebook/mask2former-swin-small-coco-instance")
oneformer_swin_large = partial(InstanceDetector, "shi-labs/oneformer_coco_swin_large")
oneformer_swin_large_masks = partial(InstanceSegmenter, "shi-labs/oneformer_coco_swin_large")
sam_base = partial(SamSegmenter, "facebook/sam-vit-base")
sam_huge = partial(SamSegmenter, "facebook/sam-vit-huge")
sam2_hiera_tiny = partial(SamSegmenter, "facebook/sam2.1-hiera-tiny")
sam2_large = partial(SamSegmenter, "facebook/sam2.1-hiera-large")
segformer_b5 = partial(ClassMapper, "nvidia/segformer-b5-finetuned-ade-640-640")
clip_b16 = partial(ClipEmbedder, "openai/clip-vit-base-patch16")
clip_b32 = partial(ClipEmbedder, "openai/clip-vit-base-patch32")
clip_l14 = partial(ClipEmbedder, "openai/clip-vit-large-patch14")
siglip2_base = partial(ClipEmbedder, "google/siglip2-base-patch16-224")
dino_s16 = partial(DinoEmbedder, "facebook/dino-vits16")
dino_b16 = partial(DinoEmbedder, "facebook/dino-vitb16")
dinov2_small = partial(DinoEmbedder, "facebook/dinov2-small")
dinov2_base = partial(DinoEmbedder, "facebook/dinov2-base")
dinov2_large = partial(DinoEmbedder, "facebook/dinov2-large")
dinov3_base = partial(DinoEmbedder, "facebook/dinov3-vitb16-pretrain-lvd1689m")
blip_base = partial(Captioner, "Salesforce/blip-image-captioning-base")
blip_large = partial(Captioner, "Salesforce/blip-image-captioning-large")
florence2_base = partial(Captioner, "florence-community/Florence-2-base")
