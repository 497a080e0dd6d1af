"""Faces and poses on photographs."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.batching import run_async
from editgauge._util.images import Pixels
from editgauge.evidence import Arrow, Box
from editgauge.models._cache import pack, unpack
from editgauge.models.answers import EXPRESSIONS, JOINTS, Faces, Poses
from editgauge.models.lite.people import POINTS_OF_EXPRESSIONS, LiteFaces, RtmPose
from editgauge.models.perception import ModelService
from editgauge.models.roles import FaceReader, PoseReader
from editgauge.models.weights import available

pytestmark = pytest.mark.skipif(
    not all(map(available, ("yunet-sface", "face-landmarker", "rtmpose-s"))),
    reason="NOT TESTED: run `editgauge models pull lite-plus`",
)
photographs: Any = skimage.data
READER = LiteFaces()


@pytest.fixture(scope="module")
def astronaut() -> Pixels:
    picture: Pixels = photographs.astronaut()
    return picture


@pytest.fixture(scope="module")
def face(astronaut: Pixels) -> Faces:
    return READER.find_faces([astronaut])[0]


def test_a_face_is_found_with_its_points(face: Faces) -> None:
    assert len(face) == 1
    np.testing.assert_allclose(face.boxes[0], [178, 63, 268, 176], atol=6)
    right_eye, left_eye, nose, right_corner, left_corner = face.points[0]
    assert right_eye[0] < nose[0] < left_eye[0]
    assert right_corner[1] > nose[1] < left_corner[1]
    assert face.confidences[0] > 0.9


def test_expressions_are_read(face: Faces) -> None:
    assert face.smile[0] > 0.7  # Eileen Collins smiles in her portrait
    assert face.open_mouth[0] < 0.3
    assert face.closed_eyes[0] < 0.3
    assert abs(face.angles[0][0]) < 10
    assert len(EXPRESSIONS) == face.expressions.shape[1] == 52
    assert len(POINTS_OF_EXPRESSIONS) == 146


def test_a_face_stays_itself_when_the_picture_changes(astronaut: Pixels, face: Faces) -> None:
    mirrored = np.ascontiguousarray(astronaut[:, ::-1])
    dark = (astronaut * 0.5).astype(np.uint8)
    turn = cv2.getRotationMatrix2D((224, 120), 20, 0.8)
    turned = np.asarray(cv2.warpAffine(astronaut, turn, (512, 512)), np.uint8)
    for changed in (mirrored, dark, turned):
        result = READER.find_faces([changed])[0]
        assert face.similarity(result).max() > 0.6
        assert result.smile[0] > 0.6
    assert READER.find_faces([turned])[0].angles[0][2] == pytest.approx(face.angles[0][2] - 20, abs=5)


def test_another_face_is_not_alike(astronaut: Pixels, face: Faces) -> None:
    covered = astronaut.copy()
    covered[100:150, 180:265] = cv2.blur(covered[100:150, 180:265], (41, 41))  # eyes, nose and mouth are gone
    other = READER.find_faces([covered])[0]
    assert len(other) == 0 or face.similarity(other).max() < 0.6


def test_a_picture_without_faces_has_none_and_a_tiny_face_no_expression(astronaut: Pixels) -> None:
    coffee = READER.find_faces([photographs.coffee()])[0]
    assert (len(coffee), coffee.smile.shape, coffee.similarity(coffee).shape) == (0, (0,), (0, 0))
    small = cv2.resize(astronaut, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    tiny = READER.find_faces([np.asarray(small, np.uint8)])[0]
    assert len(tiny) == 1
    assert np.isnan(tiny.smile).all()


def test_the_service_answers_and_packs_faces(astronaut: Pixels, face: Faces) -> None:
    with ModelService({"face_reader": "faces"}) as see:
        seen = run_async(see.faces(astronaut))
    assert isinstance(READER, FaceReader)
    np.testing.assert_array_equal(seen.boxes, face.boxes)
    again = unpack("key", pack("key", seen))
    np.testing.assert_array_equal(again.expressions, face.expressions)  # type: ignore[union-attr]
    assert [item.label for item in seen.evidence("edited") if isinstance(item, Box)] == ["face"]


POSE_READER = RtmPose()


@pytest.fixture(scope="module")
def poses(astronaut: Pixels) -> Poses:
    return POSE_READER.find_poses([astronaut])[0]


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
    result = POSE_READER.find_poses([mirrored])[0]
    for name, other in (("nose", "nose"), ("left shoulder", "right shoulder"), ("right elbow", "left elbow")):
        x, y = joint(poses, name)
        np.testing.assert_allclose(joint(result, other), [255 - x / 2, y / 2], atol=8)


def test_a_picture_without_people_has_none() -> None:
    nobody = POSE_READER.find_poses([photographs.coffee()])[0]
    assert (len(nobody), nobody.joints.shape, nobody.evidence("source")) == (0, (0, 26, 2), ())


def test_the_service_answers_and_packs_poses(astronaut: Pixels, poses: Poses) -> None:
    with ModelService({"pose_reader": "rtmpose-s"}) as see:
        seen = run_async(see.poses(astronaut))
    assert isinstance(POSE_READER, PoseReader)
    np.testing.assert_array_equal(seen.joints, poses.joints)
    again = unpack("key", pack("key", seen))
    np.testing.assert_array_equal(again.joint_confidences, poses.joint_confidences)  # type: ignore[union-attr]
    pieces = seen.evidence("edited")
    assert [piece.label for piece in pieces if isinstance(piece, Box)] == ["person"]
    assert sum(isinstance(piece, Arrow) for piece in pieces) >= 5
