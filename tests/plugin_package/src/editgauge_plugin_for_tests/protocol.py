from __future__ import annotations

from asyncio import gather

from editgauge import Item, Note, Perception, Protocol, Score, Scores, ScoreSpec, as_unit

from .metric import mean_color_distance


class Likeness(Protocol):
    name = "plugin-protocol"
    about = "How alike the two images look to an image embedder."
    paper = "None; for tests only."
    version = "1"
    deviations: tuple[str, ...] = ()
    scores = (
        ScoreSpec("likeness", True, (-1.0, 1.0), "Cosine of the two embeddings."),
        ScoreSpec("color", False, (0.0, 1.0), "Distance of the mean colors."),
    )

    async def score(self, item: Item, perception: Perception) -> Scores:
        before, after = await gather(perception.embed_image(item.source), perception.embed_image(item.edited))
        cosine = min(1.0, max(-1.0, float(before @ after)))
        distance = mean_color_distance(as_unit(item.source), as_unit(item.edited))
        return {"likeness": Score(cosine, (Note("Both images were embedded."),)), "color": Score(distance)}


protocol = Likeness()
