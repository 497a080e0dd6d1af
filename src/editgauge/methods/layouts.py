"""Layouts: where a method's outcomes lie below its folder, by the conventions in public use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import PurePosixPath
from re import Pattern
from typing import TYPE_CHECKING

from editgauge._util.registry import Registry
from editgauge.methods._layout_files import normalize_name, without_suffix

if TYPE_CHECKING:
    from editgauge.types import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A naming convention of outcome files."""

    name: str
    title: str
    about: str
    paths: Callable[[Edit], Iterable[str]]
    """Where the outcome of an edit may lie: paths below the method's folder, without suffix, the usual one first."""
    needs: tuple[str, ...] = ()
    """The extras an edit must have for `paths`."""
    ignored: Pattern[str] | None = None
    """Names, without suffix, of pictures that lie next to the outcomes and are none, such as copies of the source."""
    has_settings: bool = False
    """A file's name may end in the numbers that the method was set to: `11635_action_stand_1.5_6.5`."""
    prefixed: bool = False
    """A file's name may begin with anything and `_`: `output_modelA_23847.jpg`."""
    chained: bool = False
    """Each outcome was made from the method's own outcome of the turn before."""

    def missing_extras(self, edit: Edit) -> list[str]:
        """Return the extras that this layout needs and the edit lacks."""
        return [key for key in self.needs if edit.extras.get(key) is None or not str(edit.extras[key]).strip()]

    def expected_paths(self, edit: Edit) -> tuple[str, ...]:
        """Return the paths to try, without duplicates; empty when the edit lacks what they are built from."""
        return () if self.missing_extras(edit) else tuple(dict.fromkeys(map(normalize_name, self.paths(edit))))


LAYOUTS = {
    "plain": "editgauge.methods.layouts:plain",
    "gedit": "editgauge.methods.layouts:gedit",
    "pie_bench": "editgauge.methods.layouts:pie_bench",
    "editval": "editgauge.methods.layouts:editval",
    "pixlens": "editgauge.methods.layouts:pixlens",
    "magicbrush-inde": "editgauge.methods.layouts:magicbrush_inde",
    "magicbrush-iter": "editgauge.methods.layouts:magicbrush_iter",
    "magicbrush-output": "editgauge.methods.layouts:magicbrush_output",
    "tedbench": "editgauge.methods.layouts:tedbench",
    "imagenhub": "editgauge.methods.layouts:imagenhub",
    "imgedit": "editgauge.methods.layouts:imgedit",
    "kris": "editgauge.methods.layouts:kris",
    "rise": "editgauge.methods.layouts:rise",
    "omnicontext": "editgauge.methods.layouts:omnicontext",
    "compbench": "editgauge.methods.layouts:compbench",
    "edival": "editgauge.methods.layouts:edival",
    "hatie": "editgauge.methods.layouts:hatie",
    "edit-compass": "editgauge.methods.layouts:edit_compass",
    "imagenworld": "editgauge.methods.layouts:imagenworld",
    "rededit": "editgauge.methods.layouts:rededit",
    "texteditbench": "editgauge.methods.layouts:texteditbench",
    "uniredit": "editgauge.methods.layouts:uniredit",
    "wiseedit": "editgauge.methods.layouts:wiseedit",
}
"""In the order that decides when two find equally many outcomes: plain, then the more specific."""

layouts: Registry[Layout] = Registry("layout", LAYOUTS)


_COPY_OF_SOURCE = re.compile(r".*_SRCIMG")
METHOD = "<method>"
"""Stands for the name of the method in a path."""
ORIGINS = {
    "data_manual_production": "canva",
    "data_web-sourced_instances": "real",
    "canva": "data_manual_production",
    "real": "data_web-sourced_instances",
}
"""The folders of TextEditBench's two origins in its repository and in its README, and the other way round."""


def _extra(edit: Edit, key: str) -> str:
    return str(edit.extras[key]).strip()


def _imagenhub(edit: Edit) -> Iterator[str]:
    """Yield the path for a uid, which is a file name such as `sample_100081_1.jpg`."""
    yield without_suffix(_extra(edit, "uid"))
    yield _extra(edit, "uid")


def _gedit(edit: Edit) -> Iterator[str]:
    path = "/".join(_extra(edit, key) for key in ("task", "language", "key"))
    yield f"fullset/{path}"
    yield path


def _pie_bench(edit: Edit) -> Iterator[str]:
    path = without_suffix(_extra(edit, "image_path").replace("\\", "/").removeprefix("./"))
    yield path
    yield f"annotation_images/{path.removeprefix('annotation_images/')}"


def _editval(edit: Edit) -> Iterator[str]:
    """Yield the README's `<to>.png`, then the human study's `<id>_<type>_<to>.png` in the same folder.

    The latter may end in the method's settings (`Layout.has_settings`).
    """
    to, number = _extra(edit, "to"), _extra(edit, "image_id")
    types = dict.fromkeys((edit.type, edit.type.replace("_", "-")))
    numbers = dict.fromkeys((number, number.zfill(12), number.lstrip("0")))
    spellings = dict.fromkeys((to, to.replace(" ", "_"), to.replace("_", " ")))
    ways = list(product(types, numbers, spellings))
    yield from (f"{kind}/{image}/{spelled}" for kind, image, spelled in ways)
    yield from (f"{kind}/{image}/{image}_{kind}_{spelled}" for kind, image, spelled in ways)


def _tedbench(edit: Edit) -> Iterator[str]:
    """Yield `cat.jpeg-A_photo_of_a_hat.png`: the source keeps its suffix, the text loses its final period."""
    image, text = _extra(edit, "image"), _extra(edit, "target_text")
    for source, prompt in product((image, without_suffix(image)), (text.rstrip("."), text)):
        yield f"{source}-{prompt.replace(' ', '_')}"
        yield f"{source}-{prompt}"


def _pixlens(edit: Edit) -> Iterator[str]:
    """Yield `EditVal/<image>/<prompt>` for the prompts of an edit, as the file names spell them."""
    number = _extra(edit, "image_id")
    prompts = edit.extras["prompts"]
    for prompt, image in product(
        [prompts] if isinstance(prompts, str) else prompts, dict.fromkeys((number.zfill(12), number))
    ):
        name = prompt.replace("?", "QQ").replace('"', "_")
        yield from (f"EditVal/{image}/{name}", f"{image}/{name}")


def _texteditbench(edit: Edit) -> Iterator[str]:
    """Yield `<origin>/<topic>/<number>_edited` with both names that an origin has had."""
    origin, topic, number = (_extra(edit, key) for key in ("@grandparent", "@parent", "@folder"))
    for name in dict.fromkeys((origin, ORIGINS.get(origin, origin))):
        yield f"{name}/{topic}/{number}_edited"


def _turns(*forms: str, first: str | None = None) -> Callable[[Edit], Iterator[str]]:
    """Paths of MagicBrush, in a folder per image or flat; the first turn may have a name of its own."""

    def paths(edit: Edit) -> Iterator[str]:
        image, turn = _extra(edit, "img_id"), _extra(edit, "turn")
        for form in ((first,) if first and turn == "1" else ()) + forms:
            name = form.format(image=image, turn=turn)
            yield f"{image}/{name}"
            yield name

    return paths


def _filled(*forms: str) -> Callable[[Edit], Iterator[str]]:
    """Paths made of an edit's extras."""

    def paths(edit: Edit) -> Iterator[str]:
        parts = {name: without_suffix(str(value).strip()) for name, value in edit.extras.items()}
        yield from (form.format_map(parts) for form in forms)

    return paths


plain = Layout(name="plain", title="plain", about="<edit id>.png", paths=lambda edit: (edit.id,))

gedit = Layout(  # stepfun-ai/Step1X-Edit, GEdit-Bench/generate_image_example.py
    name="gedit",
    title="GEdit",
    about="fullset/<task>/<language>/<key>.png, with or without fullset/",
    paths=_gedit,
    needs=("key", "task", "language"),
    ignored=_COPY_OF_SOURCE,
)

pie_bench = Layout(  # cure-lab/PnPInversion, evaluation/evaluate.py
    name="pie_bench",
    title="PIE-Bench",
    about="<image_path>, with or without annotation_images/",
    paths=_pie_bench,
    needs=("image_path",),
)

editval = Layout(  # deep-ml-research/editval_code, README.md and Human Evaluation/Readme.md
    name="editval",
    title="EditVal",
    about="<edit_type>/<image id>/<to>.png, or <image id>_<edit_type>_<to>_<settings>.png in the same place",
    paths=_editval,
    needs=("image_id", "to"),
    ignored=re.compile(r".*_unedited"),
    has_settings=True,
)

pixlens = Layout(  # thesstefan/pixlens, pixlens/evaluation/preprocessing_pipeline.py
    name="pixlens",
    title="PixLens",
    about="EditVal/<image id>/<prompt>.png, with or without EditVal/; prompts from PixLens's own EditVal_edits.csv",
    paths=_pixlens,
    needs=("image_id", "prompts"),
)

# OSU-NLP-Group/MagicBrush, evaluation/README.md: a turn starts from the right picture (`_inde_`) or from the method's
# own (`_iter_`), and the first is `<id>_1` in both. Names with `-output`, of the data set's targets, leave that open.

magicbrush_inde = Layout(
    name="magicbrush-inde",
    title="MagicBrush single-turn (_inde_)",
    about="<img_id>/<img_id>_1.png, then <img_id>_inde_<turn>.png; or without folders",
    paths=_turns("{image}_inde_{turn}", first="{image}_1"),
    needs=("img_id", "turn"),
    ignored=re.compile(r".*(_iter_\d+|-input|-(mask|output)\d+)"),
)

magicbrush_iter = Layout(
    name="magicbrush-iter",
    title="MagicBrush multi-turn (_iter_)",
    about="<img_id>/<img_id>_1.png, then <img_id>_iter_<turn>.png; or without folders",
    paths=_turns("{image}_iter_{turn}", first="{image}_1"),
    needs=("img_id", "turn"),
    ignored=re.compile(r".*(_inde_\d+|-input|-(mask|output)\d+)"),
    chained=True,
)

magicbrush_output = Layout(
    name="magicbrush-output",
    title="MagicBrush -output",
    about="<img_id>/<img_id>-output<turn>.png, or without folders",
    paths=_turns("{image}-output{turn}"),
    needs=("img_id", "turn"),
    ignored=re.compile(r".*(-input|-mask\d+)"),
)

tedbench = Layout(  # imagic-editing/imagic-editing.github.io, tedbench/imagic
    name="tedbench",
    title="TEdBench",
    about="<source>-<Prompt_with_underscores>.png",
    paths=_tedbench,
    needs=("image", "target_text"),
)

imagenhub = Layout(  # TIGER-AI-Lab/ImagenHub, src/imagen_hub/benchmark/text_guided_ie.py
    name="imagenhub",
    title="ImagenHub",
    about="<uid>, which is a file name such as sample_100081_1.jpg",
    paths=_imagenhub,
    needs=("uid",),
)

imgedit = Layout(  # PKU-YuanGroup/ImgEdit, Benchmark/Basic/basic_bench.py
    name="imgedit", title="ImgEdit", about="<key>.png", paths=_filled("{key}"), needs=("key",), ignored=_COPY_OF_SOURCE
)

kris = Layout(  # mercurystraw/Kris_Bench, README.md
    name="kris",
    title="KRIS-Bench",
    about="<category>/<id>.jpg",
    paths=_filled("{category}/{key}"),
    needs=("category", "key"),
)

rise = Layout(  # PhoenixZ810/RISEBench, gpt_eval.py
    name="rise",
    title="RISEBench",
    about="images/<category>/<index>.png, with or without images/",
    paths=_filled("images/{category}/{index}", "{category}/{index}"),
    needs=("category", "index"),
)

omnicontext = Layout(  # VectorSpaceLab/OmniGen2, omnicontext/inference.py
    name="omnicontext",
    title="OmniContext",
    about="fullset/<task_type>/<key>.png, with or without fullset/",
    paths=_filled("fullset/{task_type}/{key}", "{task_type}/{key}"),
    needs=("key", "task_type"),
)

compbench = Layout(  # comp-bench/CompBench, eval_all.py
    name="compbench",
    title="CompBench",
    about="<task>/<image_path>",
    paths=_filled("{task}/{image_path}", "{image_path}"),
    needs=("task", "image_path"),
)

edival = Layout(  # TianyuCodings/EdiVal, eval.py
    name="edival",
    title="EdiVal",
    about="multipass/<image_index>_input_raw_turn_<turn>.png, with or without multipass/",
    paths=_filled("multipass/{image_index}_input_raw_turn_{turn}", "{image_index}_input_raw_turn_{turn}"),
    needs=("image_index", "turn"),
    ignored=re.compile(r"\d+_input_raw"),
    chained=True,
)

edit_compass = Layout(  # bxhsort/Edit-Compass-and-EditReward-Compass, Edit-Compass/gen_image.py
    name="edit-compass",
    title="Edit-Compass",
    about="<part>/<task>/<save_id>.png, with or without en/",
    paths=_filled("{part}/{task}/{save_id}", "en/{part}/{task}/{save_id}"),
    needs=("part", "task", "save_id"),
)

imagenworld = Layout(  # TIGER-AI-Lab/ImagenWorld, inference/open-source/open_generate_ouput.py
    name="imagenworld",
    title="ImagenWorld",
    about="<task>/<entry>/model_output/<method>.png",
    paths=_filled(f"{{@parent}}/{{@folder}}/model_output/{METHOD}", f"{{@folder}}/model_output/{METHOD}"),
    needs=("@folder", "@parent", "task", "topic"),
    ignored=re.compile(r".*"),
)

rededit = Layout(  # FireRedTeam/FireRed-Image-Edit, rededit_bench/redbench_infer.py
    name="rededit",
    title="REDEdit-Bench",
    about="<task>/<source's name>.png",
    paths=lambda edit: (f"{_extra(edit, 'task')}/{PurePosixPath(without_suffix(_extra(edit, 'source'))).name}",),
    needs=("task", "source", "a_to_b_instructions"),
)

texteditbench = Layout(  # CSU-JPG/TextEditBench, evaluation/gpt_eval.py
    name="texteditbench",
    title="TextEditBench",
    about="<origin>/<topic>/<number>_edited.jpg",
    paths=_texteditbench,
    needs=("@grandparent", "@parent", "@folder"),
)

uniredit = Layout(  # Maplebb/UniREditBench, eval/gpt_eval_uniredit.py
    name="uniredit",
    title="UniREditBench",
    about="<name>/<idx>.png",
    paths=_filled("{name}/{idx}"),
    needs=("name", "idx"),
)

wiseedit = Layout(  # beepkh/WiseEdit, README.md
    name="wiseedit",
    title="WiseEdit",
    about="<subset>/en/<idx>.png",
    paths=_filled("{@folder}/en/{idx}", "{@folder}/{idx}"),
    needs=("@folder", "idx"),
)

hatie = Layout(  # SuhoRyu/HATIE, README.md
    name="hatie",
    title="HATIE",
    about="<any prefix>_<query id>.jpg",
    paths=_filled("{id}"),
    needs=("id", "target"),
    prefixed=True,
)
