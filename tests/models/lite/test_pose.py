"""Body poses: people found with their joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import skimage.data

from editgauge._util.concurrency import run_async
from editgauge._util.images import Pixels
from editgauge.evidence import Arrow, Box
from editgauge.models._cache import pack, unpack
from editgauge.models.answers import JOINTS, Poses
from editgauge.models.lite.people import RtmPose
from editgauge.models.perception import ModelService
from editgauge.models.roles import PoseReader
from editgauge.models.weights import available

pytestmark = pytest.mark.skipif(not available("rtmpose-s"), reason="NOT TESTED: run `editgauge models pull lite-plus`")
photographs: Any = skimage.data
READER = RtmPose()


@pytest.fixture(scope="module")
def astronaut() -> Pixels:
    picture: Pixels = photographs.astronaut()
    return picture


@pytest.fixture(scope="module")
def poses(astronaut: Pixels) -> Poses:
    return READER.find_poses([astronaut])[0]


def joint(poses: Poses, name: str) -> Any:
    return poses.joints[0, JOINTS.index(name)]


def test_a_person_is_found_with_joints_where_they_are(poses: Poses) -> None:
    assert len(poses) == 1
    assert poses.confidences[0] > 0.8
    np.testing.assert_allclose(joint(poses, "nose"), [224, 126], atol=10)
    np.testing.assert_allclose(joint(poses, "right eye"), [205, 105], atol=10)
    np.testing.assert_allclose(joint(poses, "left eye"), [242, 105], atol=10)
    assert joint(poses, "right shoulder")[0] < joint(poses, "neck")[0] < joint(poses, "left shoulder")[0]
    assert not poses.visible[0, JOINTS.index("left ankle")]  # below the edge of the picture


def test_joints_follow_a_person_who_is_mirrored_and_smaller(astronaut: Pixels, poses: Poses) -> None:
    mirrored = np.ascontiguousarray(astronaut[::2, ::-2])
    found = READER.find_poses([mirrored])[0]
    for name, other in (("nose", "nose"), ("left shoulder", "right shoulder"), ("right elbow", "left elbow")):
        x, y = joint(poses, name)
        np.testing.assert_allclose(joint(found, other), [255 - x / 2, y / 2], atol=8)


def test_a_picture_without_people_has_none() -> None:
    nobody = READER.find_poses([photographs.coffee()])[0]
    assert (len(nobody), nobody.joints.shape, nobody.evidence("source")) == (0, (0, 26, 2), ())


def test_the_service_answers_and_packs_poses(astronaut: Pixels, poses: Poses) -> None:
    with ModelService({"pose_reader": "rtmpose-s"}) as see:
        seen = run_async(see.poses(astronaut))
    assert isinstance(READER, PoseReader)
    np.testing.assert_array_equal(seen.joints, poses.joints)
    again = unpack("key", pack("key", seen))
    np.testing.assert_array_equal(again.joint_confidences, poses.joint_confidences)  # type: ignore[union-attr]
    pieces = seen.evidence("edited")
    assert [piece.label for piece in pieces if isinstance(piece, Box)] == ["person"]
    assert sum(isinstance(piece, Arrow) for piece in pieces) >= 5
