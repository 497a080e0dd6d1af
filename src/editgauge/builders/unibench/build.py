"""The verb `build unibench`: images that make good tasks, made square, with candidates for every task.

Beside the annotations lie the square pictures (`NAME.images`), the review file (`NAME.review.json`), a report of what
was left out (`NAME.report.txt`) and, where a judge was asked, its calls (`NAME.transcripts`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain, islice
from pathlib import Path

from editgauge._util.coco import read_coco
from editgauge._util.concurrency import run_async
from editgauge._util.images import read_image, write_png
from editgauge._util.progress import log_info
from editgauge._util.text import format_count
from editgauge.builders.built import BuiltBenchmark, OmittedTask, check_places, report_beside
from editgauge.builders.judge_calls import RULES, each_of, most_calls, the_judge, transcripts_beside, written_by
from editgauge.builders.review.file import review_beside
from editgauge.builders.unibench import rule_proposals as by_rules
from editgauge.builders.unibench.judge_proposals import CORRECTIONS, PROMPTS, Drafted, draft
from editgauge.builders.unibench.proposals import candidates_of, sorted_out
from editgauge.builders.unibench.scenes import Chosen, Criteria, EditableScene, choose, make_scene
from editgauge.builders.unibench.work import ReviewWork
from editgauge.engine._judges import JudgeConfig, read_judge_config
from editgauge.errors import BadImageError, BadInputError
from editgauge.judges import NoAnswerError, open_prompt
from editgauge.options import Amount, Count, JudgeOptions, Share

MOST_TOKENS = 4096
"""A draft of ten objects is long."""
AT_ONCE = 32
"""Images that are decoded and asked about before the next are looked at."""
SIZES = 64, 4096
TRIES = 2
"""With a limit, a judge is asked about no more than that many times as many images."""
BYTES_OF_AN_OBJECT = 120
"""In a question: its name and where it is."""


def unibench(
    *,
    coco: str | Path,
    images: str | Path,
    out: str | Path,
    captions: str | Path | None = None,
    judge: str = "rules",
    size: int = 512,
    limit: Count | None = None,
    seed: int = 0,
    candidates: Count = 5,
    least_share: Share = 0.01,
    most_share: Share = 0.5,
    fewest: Count = 2,
    most_objects: Count = 12,
    least_kept: Share = 0.9,
    price: str | None = None,
    budget: Amount | None = None,
    max_tokens: Count | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
) -> BuiltBenchmark:
    """Build a UniBench from COCO annotations, with candidates for people to review.

    Run the same command again to continue after a stop: what people have reviewed is kept.

    Example:
        $ editgauge build unibench --coco instances.json --captions captions.json --images val2017 --out unibench.json
        >>> editgauge.build.unibench(coco="instances.json", images="val2017", out="unibench.json")

    Args:
        coco: COCO's instance annotations (JSON).
        images: folder with the images.
        out: file of annotations to write.
        captions: COCO's captions (JSON); then only objects that a caption mentions are edited.
        judge: source of proposals: `rules`, `openai:MODEL@URL`, `transformers:FOLDER`, or `NAME=ADDRESS`.
        size: side of the square images in pixels, from 64 to 4096.
        limit: limit to the first N images.
        seed: random seed that orders images and draws candidates.
        candidates: maximum number of candidates of each kind.
        least_share: minimum share of the image that an editable object covers.
        most_share: maximum share of the image that an editable object covers.
        fewest: minimum number of editable objects per image.
        most_objects: maximum number of annotated objects per image.
        least_kept: minimum share of an object that lies inside the square.
        max_tokens: maximum length of an answer in tokens; default 4096.
        dry_run: ask and write nothing; say what a judge can be asked at most.
        quiet: print no progress or remarks.

    """
    criteria = Criteria(least_share, most_share, fewest, most_objects, least_kept)
    if not SIZES[0] <= size <= SIZES[1] or candidates < 1 or (limit is not None and limit < 1):
        raise BadInputError(f"--size goes from {SIZES[0]} to {SIZES[1]}, --candidates and --limit are at least 1.")
    file, folder = Path(out), Path(images)
    check_places(file, folder)
    judges = JudgeOptions(
        judge=judge, price=price, budget=budget, max_tokens=max_tokens, prompts=prompts, replay=replay
    )
    jury = None if judge == RULES else read_judge_config(judges, max_tokens=MOST_TOKENS)
    annotations = read_coco(Path(coco), Path(captions) if captions else None)
    if dry_run:
        fit = sum(isinstance(item, Chosen) for item in choose(annotations, criteria, captions is not None, seed))
        fit = fit if limit is None else min(fit, TRIES * limit)
        texts = len(", ".join(annotations.classes).encode()) * 2 + criteria.most_objects * BYTES_OF_AN_OBJECT
        asking = most_calls(
            jury or JudgeConfig(), fit * (CORRECTIONS + 1), prompts=PROMPTS, text_bytes=texts, images=1, quiet=quiet
        )
        return BuiltBenchmark(file, review_beside(file), report_beside(file), asking=asking)
    by = written_by(jury, PROMPTS) if jury else by_rules.BY
    settings = {"size": size, "seed": seed, "candidates": candidates, "captions": captions is not None}
    work = ReviewWork(file, by, {**settings, **asdict(criteria)}, tuple(annotations.classes))
    waves = _waves(choose(annotations, criteria, captions is not None, seed), work, limit)

    def scene_of(selected: Chosen) -> EditableScene | OmittedTask:
        """Return the square image, or the reason why it is left out."""
        name = f"{work.pictures.name}/{selected.image.number:012d}.png"
        try:
            return make_scene(selected, read_image(folder / selected.image.file), name, size, criteria)
        except BadImageError as unreadable:
            return OmittedTask(selected.image.file, str(unreadable))

    with work.saved(f"UniBench from '{Path(coco).name}' by {by}, seed {seed}", limit, quiet):
        if jury is None:
            for selected in chain.from_iterable(waves):
                if scene := work.begin(scene_of(selected)):
                    proposed = by_rules.propose(scene, annotations, candidates, seed)
                    _add(work, Drafted(scene, *sorted_out(proposed, scene.picture, work.classes)))
        else:
            most = None if limit is None else TRIES * limit
            run_async(_by_judge(_at_most(waves, most), work, scene_of, jury, candidates))
    built = BuiltBenchmark(
        file, review_beside(file), work.report, work.images, work.candidates, work.kept, work.left_out
    )
    following = f" Next: editgauge build review {file}" if built.candidates else ""
    log_info(
        f"{format_count(built.images, 'image')} ({built.kept} kept) with "
        f"{format_count(built.candidates, 'candidate')} by {by}; "
        f"{len(built.left_out)} left out, listed in '{built.report}'.{following}",
        quiet=quiet,
    )
    return built


def _waves(selected: Iterator[Chosen | OmittedTask], work: ReviewWork, limit: int | None) -> Iterator[list[Chosen]]:
    """Images to look at, some at a time, until that many became squares."""
    fit = (element for element in map(work.unless_left_out, selected) if element is not None)
    while wave := list(islice(fit, work.wanted(limit, AT_ONCE))):
        yield [item for item in wave if not work.keep(item.image.number)]


def _at_most(waves: Iterator[list[Chosen]], most: int | None) -> Iterator[list[Chosen]]:
    """No more images than that: a judge that drafts nothing would be asked about all there are."""
    for wave in waves:
        yield wave[:most]
        most = None if most is None else most - len(wave)
        if most is not None and most <= 0:
            return


async def _by_judge(
    waves: Iterator[list[Chosen]],
    work: ReviewWork,
    scene_of: Callable[[Chosen], EditableScene | OmittedTask],
    jury: JudgeConfig,
    number: int,
) -> None:
    prompt = partial(open_prompt, folder=jury.prompts)
    async with the_judge(jury, transcripts_beside(work.file)) as judge:

        async def one(selected: Chosen) -> None:
            scene = work.begin(await asyncio.to_thread(scene_of, selected))
            if scene is None:
                return
            try:
                _add(work, await draft(scene, work.classes, judge.ask, prompt, number))
            except NoAnswerError as unable:
                why = f"the judge gave no draft ({unable.fault}): {unable.message}"
                work.leave_out(OmittedTask(selected.image.file, why))
                work.advance()

        for wave in waves:
            await each_of(judge, wave, one)


def _add(work: ReviewWork, drafted: Drafted) -> None:
    picture = drafted.scene.picture
    proposed = candidates_of(drafted.proposals, picture.file)
    if work.add(picture, proposed, (*drafted.scene.left_out, *drafted.left_out)):
        write_png(drafted.scene.pixels, work.file.parent / picture.file)
