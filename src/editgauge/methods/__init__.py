"""Methods: what edits images, and the outcomes they left on disk."""

from __future__ import annotations

import typing
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from editgauge._util.registry import Registry
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge._util.images import Pixels
    from editgauge.methods.options import MethodOption
    from editgauge.methods.prompts import Form, MethodPrompt
    from editgauge.types import Edit


class Method(typing.Protocol):
    """Something that edits images; inherit from it."""

    name: str
    about: str
    takes_inputs: bool = False
    """Whether it uses further images of an edit (`Edit.inputs`); without, such edits have no outcome."""
    at_once: int = 0
    """Number of edits made in parallel; 0 means one per core."""
    form: Form | None = None
    """The form of its prompt: instruction, caption and so on; None when it needs none."""
    token: str | None = None
    """The word it learns for what the source shows, for the form `token`."""
    option_specs: Mapping[str, MethodOption] = MappingProxyType({})
    """The options that `variant` takes, as `editgauge list methods NAME` tells them."""
    price: float | None = None
    """Cost of one outcome in any currency, if known."""
    warning: str = ""
    """A warning to show before outcomes are made."""

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the edited image, the same for the same seed; raise `CannotEditError` when it cannot be made."""
        ...

    def prompt(self, edit: Edit) -> MethodPrompt:
        """Return the prompt for an edit; it is recorded with the outcome."""
        from editgauge.methods._prompt_templates import DEFAULT_TOKEN
        from editgauge.methods.prompts import MethodPrompt, render

        if self.form is None:
            return MethodPrompt(edit.instruction)
        return render(edit, self.form, token=self.token or DEFAULT_TOKEN)

    def settings(self) -> dict[str, Any]:
        """Return what else determines outcomes: model, revision, scheduler, steps, guidance."""
        return {}

    def variant(self, options: Mapping[str, str]) -> Method:
        """Return a copy of the method with other options, such as `--option steps=20`."""
        raise BadInputError(f"The method '{self.name}' has no options, got {', '.join(options)}.")


BUILT_IN = {
    "careless": "editgauge.methods.reference.editors:careless",
    "classical": "editgauge.methods.reference.editors:classical",
    "controlnet-canny": "editgauge.methods.diffusion.library:controlnet_canny",
    "ddim-p2p": "editgauge.methods.diffusion.null_text:ddim_p2p",
    "dds": "editgauge.methods.diffusion.tuning:dds",
    "diffedit": "editgauge.methods.diffusion.library:diffedit",
    "dreambooth": "editgauge.methods.diffusion.tuning:dreambooth",
    "flawed": "editgauge.methods.reference.editors:flawed",
    "flux-kontext": "editgauge.methods.diffusion.library:flux_kontext",
    "flux2-klein": "editgauge.methods.diffusion.library:flux2_klein",
    "identity": "editgauge.methods.reference.editors:identity",
    "imagic": "editgauge.methods.diffusion.tuning:imagic",
    "instructpix2pix": "editgauge.methods.diffusion.library:instructpix2pix",
    "lcm-img2img": "editgauge.methods.diffusion.library:lcm_img2img",
    "ledits++": "editgauge.methods.diffusion.library:ledits_pp",
    "negligible": "editgauge.methods.reference.editors:negligible",
    "null-text": "editgauge.methods.diffusion.null_text:null_text",
    "omnigen": "editgauge.methods.diffusion.library:omnigen",
    "open-edit": "editgauge.methods.command:open_edit",
    "overdone": "editgauge.methods.reference.editors:overdone",
    "painted": "editgauge.methods.reference.editors:painted",
    "qwen-image-edit": "editgauge.methods.diffusion.library:qwen_image_edit",
    "qwen-image-edit-plus": "editgauge.methods.diffusion.library:qwen_image_edit_plus",
    "sdedit": "editgauge.methods.diffusion.library:sdedit",
    "sine": "editgauge.methods.diffusion.tuning:sine",
    "text-to-image": "editgauge.methods.diffusion.library:text_to_image",
    "textual-inversion": "editgauge.methods.diffusion.tuning:textual_inversion",
    "vqgan-clip": "editgauge.methods.command:vqgan_clip",
}

methods: Registry[Method] = Registry("method", BUILT_IN)
