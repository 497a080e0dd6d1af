"""The networks and thresholds of each paper, with what the paper says about them and where.

`--models paper` takes for each protocol the networks of its own paper; a paper's name, such as `--models pixlens`,
takes them for all protocols of a run. What a paper leaves open is our choice, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from editgauge._util.variants import paper_name


@dataclass(frozen=True, slots=True)
class PaperModel:
    """A network of a paper, and why it is the one."""

    name: str
    """A model with its options, such as `grounding-dino-tiny[threshold=0.3]`."""
    source: str
    """What the paper or its released code says, in our words, and where."""


_LPIPS = PaperModel("lpips-alex", "LPIPS, backbone unstated; ours: AlexNet, the default of its authors")
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
            "grounding-dino-tiny[text_threshold=0.3,threshold=0.3]",
            "PixLens, section 4: Grounding DINO with a threshold of 0.1; the released code loads Swin-T, and its own "
            "thresholds for boxes and texts, both 0.3, come before that one",
        ),
        "segmenter": PaperModel("sam-huge", "PixLens, section 4: SAM on the detector's boxes; ViT-H when released"),
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
    """The paper whose networks a protocol wants; None for a protocol of no paper.

    >>> paper_of("pixlens@released"), paper_of("unibench-detect"), paper_of("preservation")
    ('pixlens', 'unibench', None)
    """
    base = paper_name(protocol)
    paper = _OF_PROTOCOL.get(base, base)
    return paper if paper in PAPERS else None
