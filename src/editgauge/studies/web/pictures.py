"""Pictures of the study's own folder, for those raters on whose pages they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse

from editgauge.studies.study import RaterInfo
from editgauge.studies.web.rendering import size_of
from editgauge.studies.web.state import State, state_of
from editgauge.studies.web.visitors import Who

NAME = re.compile(r"[0-9a-f]{40}\.(png|jpg|jpeg|webp|gif)")
KINDS = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp", "gif": "image/gif"}
KEEP = "private, max-age=604800, immutable"
router = APIRouter()


@dataclass(frozen=True, slots=True)
class ServedPicture:
    """A picture as a page shows it."""

    address: str
    width: int
    height: int


def shown(state: State, rater: RaterInfo, name: str) -> ServedPicture:
    """A picture for one rater: its address is signed, so that raters can fetch only pictures of their own pages."""
    seal = state.seals.seal("picture", str(rater.id), name)
    return ServedPicture(f"/pictures/{seal}/{name}", *size_of(state.study.images / name))


@router.get("/pictures/{seal}/{name}")
def picture(request: Request, who: Who, seal: str, name: str) -> FileResponse:
    """One picture, if it stands on a page of the rater."""
    state = state_of(request)
    match = NAME.fullmatch(name)
    if match is None or not state.seals.holds(seal, "picture", str(who.rater.id), name):
        raise HTTPException(404, "There is no such picture.")
    path = state.study.images / name
    if path.is_symlink() or not path.is_file():
        raise HTTPException(404, "There is no such picture.")
    return FileResponse(path, media_type=KINDS[match[1]], headers={"Cache-Control": KEEP})
