"""Perception: answers, caching and batches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from editgauge._util.images import Pixels, pixel_hash
from editgauge.errors import BadInputError, UnknownNameError, UnscorableError
from editgauge.models import BUILT_IN
from editgauge.models.answers import ClassMap, Detections, Features, SegmentPrompt, Vector
from editgauge.models.perception import ModelService, Perception
from editgauge.models.profiles import describe
from editgauge.models.roles import ModelCard
from editgauge.models.weights import MissingWeightsError

Result = TypeVar("Result")
ASKED: list[tuple[str, str, int]] = []
"""Model, method and size of every batch that reached a model of this file."""


class Fake:
    """A model without weights, for the tests of this file only."""

    role: ClassVar[str]
    revision = "1"
    input_size: tuple[int, int] | None = (8, 8)
    settings: ClassVar[dict[str, str | int | float]] = {}
    weights: tuple[str, ...] = ()
    batch = 4

    @property
    def card(self) -> ModelCard:
        return ModelCard(
            role=self.role,
            id=type(self).__name__,
            revision=self.revision,
            sha256="0" * 64,
            license="for tests only",
            input_size=self.input_size,
            settings=self.settings,
        )

    def note(self, method: str, batch: Sequence[object]) -> None:
        ASKED.append((type(self).__name__, method, len(batch)))


class Brightness(Fake):
    """Finds, for every word, the brightest pixel: its confidence is how bright that is, and how short the word."""

    role = "detector"
    vocabulary: tuple[str, ...] | None = ("person", "tv", "zebra")
    operating_point = 0.3
    synonyms: ClassVar[dict[str, str]] = {"man": "person", "woman": "person"}

    def word_for(self, phrase: str) -> str:
        word = self.synonyms.get(phrase, phrase)
        if self.vocabulary and word not in self.vocabulary:
            raise UnscorableError("unknown_word", f"'{phrase}'")
        return word

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        self.note("look", images)
        return [{"gray": image.mean(axis=2)} for image in images]

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        self.note("find", questions)
        return [self._found(kept["gray"], words) for kept, words in questions]

    def _found(self, gray: NDArray[Any], words: tuple[str, ...]) -> Detections:
        sure = np.array([gray.max() / 255 / len(word) for word in words], np.float32)
        y, x = divmod(int(gray.argmax()), gray.shape[1])
        order = np.argsort(-sure, kind="stable")
        named = tuple(words[place] for place in order)
        boxes = np.array([[x, y, x + 1, y + 1]] * len(words), np.float32)
        return Detections(boxes, sure[order], named, named)


class OpenBrightness(Brightness):
    vocabulary = None
    words_are_independent = True


class StricterBrightness(Brightness):
    """The same network with another operating point, as its settings say."""

    settings: ClassVar[dict[str, str | int | float]] = {"operating_point": 0.1}
    operating_point = 0.1

    @property
    def card(self) -> ModelCard:
        return replace(super().card, id="Brightness")


class Filler(Fake):
    role = "segmenter"

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        self.note("look", images)
        return [{"size": np.array(image.shape[:2])} for image in images]

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        self.note("cut", questions)
        return [self._masks(kept["size"], prompt) for kept, prompt in questions]

    def _masks(self, size: NDArray[Any], prompt: SegmentPrompt) -> NDArray[np.bool_]:
        boxes = np.zeros((0, 4)) if prompt.boxes is None else prompt.boxes
        masks = np.zeros((len(boxes), *size), np.bool_)
        for mask, (left, top, right, bottom) in zip(masks, boxes.astype(int), strict=True):
            mask[top:bottom, left:right] = True
        return masks


class AsItIs(Fake):
    """Takes pictures as they are, so that only those of one shape fit into one batch."""

    role = "image_embedder"
    input_size = None

    def embed(self, images: Sequence[Pixels]) -> Vector:
        self.note("embed", images)
        return np.asarray(np.stack(list(images)).mean(axis=(1, 2)), np.float32)


class Two(Fake):
    """Plays two roles."""

    role = "joint_embedder"

    def embed_images(self, images: Sequence[Pixels]) -> Vector:
        self.note("embed_images", images)
        return np.stack([_direction(image.mean(axis=(0, 1))) for image in images])

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        self.note("embed_texts", texts)
        return np.stack([_direction(np.array([len(text), text.count("a"), 1.0])) for text in texts])

    def explain(self, questions: Sequence[tuple[Pixels, Vector]]) -> list[NDArray[np.float32]]:
        self.note("explain", questions)
        return [np.asarray((image / 255 @ towards), np.float32) for image, towards in questions]

    def caption(self, images: Sequence[Pixels]) -> list[str]:
        self.note("caption", images)
        return [f"a picture of {image.shape[1]} x {image.shape[0]}" for image in images]


class Others(Fake):
    role = "perceptual_distance"

    def compare(self, pairs: Sequence[tuple[Pixels, Pixels]]) -> list[float]:
        self.note("compare", pairs)
        return [float(np.abs(before.astype(float) - after).mean()) for before, after in pairs]

    def label(self, images: Sequence[Pixels]) -> list[ClassMap]:
        self.note("label", images)
        return [ClassMap((image[..., 0] > 127).astype(np.uint8), ("dark", "bright")) for image in images]


class Letters(Fake):
    role = "text_similarity"

    def embed(self, texts: Sequence[str]) -> Vector:
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)


class Unfetched(AsItIs):
    available = False


FAKES = (Brightness, OpenBrightness, StricterBrightness, Filler, AsItIs, Two, Others, Letters, Unfetched)


@pytest.fixture(autouse=True)
def room_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", "1e9")


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str, int]]]:
    for fake in FAKES:
        monkeypatch.setitem(BUILT_IN, fake.__name__, f"{__name__}:{fake.__name__}")
    ASKED.clear()
    yield ASKED
    ASKED.clear()


@pytest.fixture
def pictures(photo: Pixels) -> list[Pixels]:
    """Twelve different pictures of 64 x 64."""
    pieces = [photo[4 * number :][:64, :64].copy() for number in range(12)]
    for piece in pieces:
        piece.setflags(write=False)
    return pieces


def _direction(vector: NDArray[Any]) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def ask_all(questions: Sequence[Awaitable[Result]]) -> list[Result]:
    async def together() -> list[Result]:
        return list(await asyncio.gather(*questions))

    return asyncio.run(together())


def seen(found: Detections) -> list[tuple[str, str, float]]:
    return list(zip(found.phrases, found.words, found.confidences.round(4).tolist(), strict=True))


def batches(model: type[Fake], method: str) -> list[int]:
    return [size for name, called, size in ASKED if (name, called) == (model.__name__, method)]


def test_each_picture_is_looked_at_once_whatever_is_asked_about_it(pictures: list[Pixels]) -> None:
    see = ModelService({"detector": "Brightness"})
    phrases = ("zebra", "tv", "person")
    ask_all([see.detect(picture.copy(), phrase) for picture in pictures for phrase in phrases])
    assert batches(Brightness, "look") == [4, 4, 4]
    assert sum(batches(Brightness, "find")) == 36


def test_words_that_do_not_influence_each_other_are_shared_between_questions(pictures: list[Pixels]) -> None:
    see = ModelService({"detector": "OpenBrightness"})
    one, two, three = ask_all([see.detect(pictures[0], *asked) for asked in (("a", "b"), ("b",), ("b", "c", "b"))])
    assert sum(batches(OpenBrightness, "find")) == 3, "a, b and c, each once"
    assert seen(one.of("b")) == seen(two) == seen(three.of("b"))


def test_words_that_may_influence_each_other_are_one_question_in_any_order(pictures: list[Pixels]) -> None:
    see = ModelService({"detector": "Brightness"})
    one, two = ask_all([see.detect(pictures[0], *asked) for asked in (("zebra", "tv"), ("tv", "zebra", "tv"))])
    assert batches(Brightness, "find") == [1]
    assert seen(one) == seen(two)


def test_answers_come_back_under_the_phrases_as_asked(pictures: list[Pixels]) -> None:
    see = ModelService({"detector": "Brightness"})
    (found,) = ask_all([see.detect(pictures[0], "man", "woman", "tv", least=0)])
    assert {(phrase, word) for phrase, word, _ in seen(found)} == {("man", "person"), ("woman", "person"), ("tv", "tv")}
    assert found.confidences.tolist() == sorted(found.confidences.tolist(), reverse=True)
    assert "man (seen as person)" in str(found.of("man").evidence("source"))


def test_an_unknown_word_is_no_answer_and_asks_nothing(pictures: list[Pixels]) -> None:
    see = ModelService({"detector": "Brightness"})
    with pytest.raises(UnscorableError, match="unknown_word: 'unicorn'"):
        ask_all([see.detect(pictures[0], "tv", "unicorn")])
    assert ASKED == []


def test_another_threshold_costs_nothing(pictures: list[Pixels], tmp_path: Path) -> None:
    bright = np.full_like(pictures[0], 255)
    see = ModelService({"detector": "Brightness"}, tmp_path)
    (usual, all_of_them, sure) = (
        ask_all([see.detect(bright, "person", "tv", least=least)])[0] for least in (None, 0.0, 0.9)
    )
    assert [len(each) for each in (usual, all_of_them, sure)] == [1, 2, 0], "0.5 for tv, 0.17 for person"
    stricter = ModelService({"detector": "StricterBrightness"}, tmp_path)
    assert len(ask_all([stricter.detect(bright, "person", "tv")])[0]) == 2
    assert len(ASKED) == 2, "one look and one question in all"


def test_everything_in_the_vocabulary(pictures: list[Pixels]) -> None:
    see = ModelService({"detector": "Brightness"})
    (found,) = ask_all([see.detect_all(pictures[0], least=0)])
    assert set(found.phrases) == {"person", "tv", "zebra"}
    with pytest.raises(UnscorableError, match="no list of words"):
        ask_all([ModelService({"detector": "OpenBrightness"}).detect_all(pictures[0])])


def test_objects_with_outlines(pictures: list[Pixels]) -> None:
    see = ModelService({"detector": "Brightness", "segmenter": "Filler"})
    found, nothing = ask_all(
        [see.instances(pictures[0], "tv", least=0), see.instances(pictures[0], "zebra", least=1)],
    )
    assert found.masks.shape == (1, 64, 64)
    assert found.masks.sum() == 1
    assert nothing.masks.shape == (0, 64, 64)
    assert not nothing.together.any()
    assert batches(Filler, "cut") == [1], "nobody is asked to cut out nothing"


def test_a_thing_is_outlined_once_whoever_asks_and_with_what_else(pictures: list[Pixels]) -> None:
    see = ModelService({"segmenter": "Filler"})
    small, large = [0, 0, 3, 3], [0, 0, 5, 5]
    both, one = ask_all(
        [
            see.segment(pictures[0], SegmentPrompt(boxes=np.array(boxes, np.float32)))
            for boxes in ([small, large], [large])
        ]
    )
    assert [int(mask.sum()) for mask in (*both, *one)] == [9, 25, 25]
    assert batches(Filler, "cut") == [2]


def test_masks_of_other_prompts_are_other_answers(pictures: list[Pixels]) -> None:
    see = ModelService({"segmenter": "Filler"})
    prompts = [SegmentPrompt(boxes=np.array([[0, 0, side, side]], np.float32)) for side in (3, 5, 3)]
    masks = ask_all([see.segment(pictures[0], prompt) for prompt in prompts])
    assert [mask.sum() for mask in masks] == [9, 25, 9]
    assert batches(Filler, "cut") == [2]
    assert batches(Filler, "look") == [1]


def test_only_pictures_of_one_shape_share_a_batch_where_the_model_takes_them_as_they_are(photo: Pixels) -> None:
    see = ModelService({"image_embedder": "AsItIs"})
    pieces = [photo[number : number + 20 + number % 2, :32] for number in range(6)]
    vectors = ask_all([see.embed_image(piece) for piece in pieces])
    assert batches(AsItIs, "embed") == [3, 3], "two shapes"
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)


def test_every_other_question(pictures: list[Pixels]) -> None:
    roles = {"joint_embedder": "Two", "captioner": "Two", "perceptual_distance": "Others", "text_similarity": "Letters"}
    see: Perception = ModelService({**roles, "semantic_segmenter": "Others", "fid_features": "AsItIs"})
    one, two = pictures[:2]

    async def scene() -> None:
        text, image = await asyncio.gather(see.joint_text("a cat"), see.joint_image(one))
        assert text == pytest.approx(_direction(np.array([5.0, 2.0, 1.0])))
        assert image == pytest.approx(_direction(one.mean(axis=(0, 1))))
        assert (await see.explain(one, text)).shape == (64, 64)
        assert not np.allclose(await see.explain(one, text), await see.explain(one, image))
        assert await see.caption(one) == "a picture of 64 x 64"
        assert await see.distance(one, two) == pytest.approx(np.abs(one.astype(float) - two).mean())
        assert await see.distance(one, one) == 0.0
        assert ((await see.classes(one)).mask("bright") == (one[..., 0] > 127)).all()
        assert await see.fid_features(one) == pytest.approx(one.mean(axis=(0, 1)), rel=1e-5)
        assert await see.similarity("abc", "cab") == pytest.approx(1)
        assert await see.similarity("a", "b") == 0
        with pytest.raises(UnscorableError, match="has no direction"):
            await see.similarity("a", "xyz")

    asyncio.run(scene())
    assert see.card("captioner").id == "Two"


def test_an_answer_cannot_be_written_on(pictures: list[Pixels], tmp_path: Path) -> None:
    """Others are given the same one, now or from the disk."""
    for _ in range(2):
        see = ModelService({"detector": "Brightness", "image_embedder": "AsItIs", "fid_features": "AsItIs"}, tmp_path)
        (features,) = ask_all([see.fid_features(pictures[0])])
        with pytest.raises(ValueError, match="read-only"):
            features[0] = 7


def test_a_second_run_asks_no_model_and_says_the_same(pictures: list[Pixels], tmp_path: Path) -> None:
    roles = {"detector": "OpenBrightness", "segmenter": "Filler", "joint_embedder": "Two", "captioner": "Two"}
    roles |= {"perceptual_distance": "Others", "semantic_segmenter": "Others", "image_embedder": "AsItIs"}

    def everything() -> list[Any]:
        see, told = ModelService(roles, tmp_path), []
        for picture in pictures:
            found = ask_all([see.instances(picture, "a", "bcd", least=0)])[0]
            told += [seen(found.detections), found.masks.tolist(), ask_all([see.embed_image(picture)])[0].tolist()]
            told += ask_all([see.caption(picture)]) + ask_all([see.distance(picture, pictures[0])])
            told += [ask_all([see.classes(picture)])[0].labels.tolist(), ask_all([see.joint_text("x")])[0].tolist()]
        return told

    first = everything()
    assert len(ASKED) > 0
    ASKED.clear()
    assert everything() == first
    assert ASKED == []


@pytest.mark.parametrize("change", [{"revision": "2"}, {"settings": {"layer": 3}}, {"input_size": (9, 9)}])
def test_another_revision_or_setting_is_another_model(
    change: dict[str, Any], pictures: list[Pixels], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        ask_all([ModelService({"detector": "Brightness"}, tmp_path).detect(pictures[0], "tv")])
        for name, value in change.items():
            monkeypatch.setattr(Brightness, name, value)
    assert batches(Brightness, "look") == [1, 1]


def test_what_is_large_is_kept_in_memory_only(
    pictures: list[Pixels], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("editgauge.models._cache.MAX_BYTES_ON_DISK", 10_000)
    for phrase in ("a", "b"):
        see = ModelService({"detector": "OpenBrightness"}, tmp_path)
        for _ in range(2):
            ask_all([see.detect(pictures[0], phrase)])
    assert batches(OpenBrightness, "look") == [1, 1], "once per service: 33 kB do not go to the disk"
    assert batches(OpenBrightness, "find") == [1, 1]


def test_a_model_that_fails_on_one_picture_answers_the_others(
    pictures: list[Pixels], monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Brightness.look

    def picky(self: Brightness, images: Sequence[Pixels]) -> list[Features]:
        if any(pixel_hash(image) == pixel_hash(pictures[2]) for image in images):
            raise RuntimeError("I do not like this picture")
        return look(self, images)

    monkeypatch.setattr(Brightness, "look", picky)
    see = ModelService({"detector": "Brightness"})

    async def scene() -> list[Any]:
        return await asyncio.gather(*(see.detect(each, "tv") for each in pictures[:4]), return_exceptions=True)

    kinds = [type(each) for each in asyncio.run(scene())]
    assert kinds == [Detections, Detections, RuntimeError, Detections]


def test_a_role_that_nobody_plays(pictures: list[Pixels]) -> None:
    with pytest.raises(UnscorableError, match="no model plays the role 'captioner'; pass `model=captioner=NAME`"):
        ask_all([ModelService({}).caption(pictures[0])])


@pytest.mark.parametrize(
    ("chosen", "kind", "told"),
    [
        ({"painter": "AsItIs"}, UnknownNameError, "no role called 'painter'"),
        (
            {"detector": "AsItIs"},
            BadInputError,
            "'AsItIs' cannot play the role 'detector'; it is made for 'image_embedder'",
        ),
        ({"image_embedder": "Unfetched"}, MissingWeightsError, "run `editgauge models pull Unfetched`"),
    ],
)
def test_models_that_cannot_be_used_are_refused_before_anything_is_asked(
    chosen: dict[str, str], kind: type[Exception], told: str
) -> None:
    for refuse in (ModelService, describe):
        use: Callable[[dict[str, str]], object] = refuse
        with pytest.raises(kind, match=told):
            use(chosen)


def test_what_the_manifest_keeps_of_a_model() -> None:
    assert describe({"detector": "StricterBrightness"}) == {
        "detector": {
            "name": "StricterBrightness",
            "id": "Brightness",
            "revision": "1",
            "sha256": "0" * 64,
            "license": "for tests only",
            "settings": "operating_point=0.1",
        }
    }


torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TOLERANCE = 1e-5
FOLDER: list[Path] = []


def small_vit() -> object:
    """A ViT of the real architecture with random weights, which mean nothing."""
    from editgauge.models.hub.embedders import DinoEmbedder

    return DinoEmbedder(FOLDER[0], device="cpu")


@pytest.fixture(scope="module", autouse=True)
def weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("vit")
    torch.manual_seed(3)
    shape = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96}
    config = transformers.ViTConfig(**shape, image_size=64, patch_size=8)
    network = transformers.ViTModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for values in network.parameters():
            values.mul_(1 if values.ndim < 2 else 5)  # as initialized, a small network hardly tells pictures apart
    network.save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(folder)
    FOLDER.append(folder)
    yield
    FOLDER.clear()


@pytest.mark.slow
@pytest.mark.parametrize("batch", [3, 8])
def test_likeness_is_the_same_in_any_batch(batch: int, photo: Pixels, monkeypatch: pytest.MonkeyPatch) -> None:
    from editgauge.models.hub.embedders import DinoEmbedder

    monkeypatch.setitem(BUILT_IN, "small-vit", f"{__name__}:small_vit")
    pictures = [photo[4 * number :, : 60 + number] for number in range(11)]

    def scores(size: int, order: list[int]) -> dict[tuple[int, int], float]:
        monkeypatch.setattr(DinoEmbedder, "batch", size)

        async def all_pairs() -> dict[int, np.ndarray]:
            with ModelService({"image_embedder": "small-vit"}) as see:
                found = await asyncio.gather(*(see.embed_image(pictures[place]) for place in order))
                return dict(zip(order, found, strict=True))

        vectors = asyncio.run(all_pairs())
        return {(one, two): float(vectors[one] @ vectors[two]) for one in order for two in order}

    alone = scores(1, list(range(11)))
    together = scores(batch, [*range(10, -1, -1)])
    assert together == {pair: pytest.approx(score, abs=TOLERANCE) for pair, score in alone.items()}
    assert len({round(score, 3) for score in alone.values()}) > 20, "the network does tell pictures apart"
