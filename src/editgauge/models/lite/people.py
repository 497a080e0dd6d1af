"""Faces and body poses."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.answers import EXPRESSIONS, JOINTS, Faces, Poses
from editgauge.models.lite._runtime import (
    FromCatalog,
    imagenet_scaled,
    litert,
    native_output_silenced,
    onnx_session,
)
from editgauge.models.weights import weights_of

BOXES_AND_VECTORS, LANDMARKS = "yunet-sface", "face-landmarker"
MAX_FACE_IMAGE_SIDE = 1024
MIN_FACE_CONFIDENCE = 0.7
FACE_NMS_IOU = 0.3
MAX_FACES = 50
FACE_VECTOR_LENGTH = 128
LANDMARK_SIDE = 256
FACE_CROP_SCALE = 1.5
"""How much of the surroundings the landmarks are looked for in, as a multiple of the face's longer side."""
MIN_EXPRESSION_SIDE = 32
"""Of a face in pixels; the expression of a smaller one is not read."""
POINTS_OF_EXPRESSIONS = (
    *(0, 1, 4, 5, 6, 7, 8, 10, 13, 14, 17, 21, 33, 37, 39, 40, 46, 52, 53, 54, 55, 58, 61, 63, 65, 66, 67, 70, 78, 80),
    *(81, 82, 84, 87, 88, 91, 93, 95, 103, 105, 107, 109, 127, 132, 133, 136, 144, 145, 146, 148, 149, 150, 152, 153),
    *(154, 155, 157, 158, 159, 160, 161, 162, 163, 168, 172, 173, 176, 178, 181, 185, 191, 195, 197, 234, 246, 249),
    *(251, 263, 267, 269, 270, 276, 282, 283, 284, 285, 288, 291, 293, 295, 296, 297, 300, 308, 310, 311, 312, 314),
    *(317, 318, 321, 323, 324, 332, 334, 336, 338, 356, 361, 362, 365, 373, 374, 375, 377, 378, 379, 380, 381, 382),
    *(384, 385, 386, 387, 388, 389, 390, 397, 398, 400, 402, 405, 409, 415, 454, 466, *range(468, 478)),
)
"""Which of the 478 landmarks the third network takes, in MediaPipe's numbering."""
RIGHT_CHEEK, LEFT_CHEEK, FOREHEAD, CHIN = 234, 454, 10, 152

Points = NDArray[np.float32]


class LiteFaces(FromCatalog):
    """Role `face_reader`: box, five points, embedding, 52 expressions and head angles of every face.

    YuNet (Wu et al. 2023) detects faces and SFace (Zhong et al. 2021) embeds them, both run by OpenCV; MediaPipe's face
    landmarker (Google) puts 478 points on each and turns them into 52 expressions, run by LiteRT. Nobody is identified:
    embeddings of the two images are compared with each other, and with nothing else.
    """

    role = "face_reader"
    batch = 1
    id = "YuNet, SFace, MediaPipe face landmarker"
    weights = (BOXES_AND_VECTORS, LANDMARKS)

    def _settings(self) -> dict[str, str | int | float]:
        return {"longer_side": MAX_FACE_IMAGE_SIDE, "threshold": MIN_FACE_CONFIDENCE}

    def find_faces(self, images: Sequence[Pixels]) -> list[Faces]:
        """Detect the faces in each image, most confident first."""
        return [self._faces(image) for image in images]

    def _faces(self, image: Pixels) -> Faces:
        blue_first = np.ascontiguousarray(image[..., ::-1])
        rows = self._rows(blue_first)
        vectors = [self._vector(blue_first, row) for row in rows]
        read = [self._expression(image, row) for row in rows]
        return Faces(
            boxes=np.concatenate([rows[:, :2], rows[:, :2] + rows[:, 2:4]], axis=1),
            confidences=rows[:, 14].copy(),
            points=rows[:, 4:14].reshape(-1, 5, 2).copy(),
            vectors=np.array(vectors, np.float32).reshape(-1, FACE_VECTOR_LENGTH),
            expressions=np.array([item for item, _ in read], np.float32).reshape(-1, len(EXPRESSIONS)),
            angles=np.array([element for _, element in read], np.float32).reshape(-1, 3),
        )

    def _rows(self, blue_first: Pixels) -> NDArray[np.float32]:
        """Detect faces: left, top, width, height, five points, confidence; in pixels of the image."""
        height, width = blue_first.shape[:2]
        scale = min(MAX_FACE_IMAGE_SIDE / max(height, width), 1.0)
        size = (max(round(width * scale), 1), max(round(height * scale), 1))
        small = blue_first if scale == 1 else cv2.resize(blue_first, size, interpolation=cv2.INTER_AREA)
        self._finder.setInputSize(size)
        rows = self._finder.detect(small)[1]
        if rows is None:
            return np.zeros((0, 15), np.float32)
        rows = np.asarray(rows, np.float32)
        rows[:, :14] *= np.tile([width / size[0], height / size[1]], 7).astype(np.float32)
        return rows[np.argsort(-rows[:, 14], kind="stable")]

    def _vector(self, blue_first: Pixels, row: NDArray[np.float32]) -> NDArray[np.float32]:
        vector = self._recognizer.feature(self._recognizer.alignCrop(blue_first, row)).reshape(FACE_VECTOR_LENGTH)
        return np.asarray(vector / max(np.linalg.norm(vector), 1e-6), np.float32)

    def _expression(self, image: Pixels, row: NDArray[np.float32]) -> tuple[Points, Points]:
        """Return expressions and head angles of a face; NaN where no landmarks are found."""
        nothing = np.full(len(EXPRESSIONS), np.nan, np.float32), np.full(3, np.nan, np.float32)
        if min(row[2], row[3]) < MIN_EXPRESSION_SIDE:
            return nothing
        points, is_face = self._landmarks(image, row)
        if not is_face:
            return nothing
        self._blendshapes.set_tensor(
            self._blendshapes.get_input_details()[0]["index"], points[np.newaxis, list(POINTS_OF_EXPRESSIONS), :2]
        )
        self._blendshapes.invoke()
        shares = self._blendshapes.get_tensor(self._blendshapes.get_output_details()[0]["index"])
        return np.asarray(shares, np.float32).reshape(-1), _angles(points)

    def _landmarks(self, image: Pixels, row: NDArray[np.float32]) -> tuple[Points, bool]:
        """Return the 478 landmarks with depth, in pixels of the image, and whether there is a face."""
        matrix = _upright_square(row)
        square = cv2.warpAffine(image, matrix, (LANDMARK_SIDE, LANDMARK_SIDE), flags=cv2.INTER_LINEAR)
        network = self._mesh
        network.set_tensor(network.get_input_details()[0]["index"], (square / np.float32(255))[np.newaxis])
        network.invoke()
        outputs = {detail["name"]: network.get_tensor(detail["index"]) for detail in network.get_output_details()}
        points = outputs["Identity"].reshape(-1, 3)
        back = cv2.invertAffineTransform(matrix)
        flat = points[:, :2] @ back[:, :2].T + back[:, 2]
        depth = points[:, 2:] * np.sqrt(abs(np.linalg.det(back[:, :2])))
        return np.asarray(np.concatenate([flat, depth], axis=1), np.float32), bool(outputs["Identity_1"].item() > 0)

    @cached_property
    def _finder(self) -> Any:
        path = str(weights_of(BOXES_AND_VECTORS).path("face_detection_yunet_2023mar.onnx"))
        with native_output_silenced():
            return cv2.FaceDetectorYN.create(path, "", (320, 320), MIN_FACE_CONFIDENCE, FACE_NMS_IOU, MAX_FACES)

    @cached_property
    def _recognizer(self) -> Any:
        path = str(weights_of(BOXES_AND_VECTORS).path("face_recognition_sface_2021dec.onnx"))
        with native_output_silenced():
            return cv2.FaceRecognizerSF.create(path, "")

    @cached_property
    def _mesh(self) -> Any:
        return self._part("face_landmarks_detector.tflite")

    @cached_property
    def _blendshapes(self) -> Any:
        return self._part("face_blendshapes.tflite")

    def _part(self, name: str) -> Any:
        with zipfile.ZipFile(weights_of(LANDMARKS).path("face_landmarker.task")) as archive:
            return litert(archive.read(name), self.id, self._threads)


def _upright_square(row: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the affine map from the image to a square around a face with level eyes."""
    left, top, width, height = row[:4].tolist()
    right_eye, left_eye = row[4:6], row[6:8]
    across, down = (left_eye - right_eye).tolist()
    middle = (left + width / 2, top + height / 2)
    scale = LANDMARK_SIDE / (FACE_CROP_SCALE * max(width, height, 1))
    angle = float(np.degrees(np.arctan2(down, across)))
    matrix = np.asarray(cv2.getRotationMatrix2D(middle, angle, scale), np.float64)
    matrix[:, 2] += LANDMARK_SIDE / 2 - np.array(middle, np.float64)
    return matrix


def _angles(points: Points) -> Points:
    """Return yaw to the person's left, pitch upward and roll to the left, in degrees."""
    across = points[LEFT_CHEEK] - points[RIGHT_CHEEK]
    upward = points[FOREHEAD] - points[CHIN]
    turned = np.degrees(np.arctan2(across[2], np.hypot(across[0], across[1])))
    raised = np.degrees(np.arctan2(upward[2], np.hypot(upward[0], upward[1])))
    tilted = np.degrees(np.arctan2(across[1], across[0]))
    return np.array([turned, raised, tilted], np.float32)


PEOPLE_FILE = "yolox_tiny_8xb8-300e_humanart-6f3252f9.onnx"
JOINTS_FILE = "rtmpose-s_simcc-body7_pt-body7-halpe26_700e-256x192-7f134165_20230605.onnx"
PEOPLE_SIDE = 416
PADDING_VALUE = 114
"""What the square around an image is filled with."""
MIN_PERSON_CONFIDENCE = 0.5
POSE_WIDTH, POSE_HEIGHT = 192, 256
"""Of what the second network sees."""
PERSON_CROP_SCALE = 1.25
BINS_PER_PIXEL = 2.0
MAX_PEOPLE = 30

Boxes = NDArray[np.float32]


class RtmPose(FromCatalog):
    """Role `pose_reader`: people with 26 joints; 0.1 s per image plus 0.03 s per person.

    YOLOX (Ge et al. 2021, trained on Human-Art) detects people; RTMPose (Jiang et al. 2023) has one row of bins per
    axis and joint (SimCC), two bins per pixel. Both are the files of OpenMMLab, run by onnxruntime. The steps around
    them follow the papers: a person is cropped with a quarter more around the box, at the network's aspect ratio.
    """

    role = "pose_reader"
    batch = 1
    id = "YOLOX-tiny, RTMPose-s"
    weights = ("rtmpose-s",)

    def _settings(self) -> dict[str, str | int | float]:
        return {"joints": len(JOINTS), "threshold": MIN_PERSON_CONFIDENCE}

    def find_poses(self, images: Sequence[Pixels]) -> list[Poses]:
        """Detect the people in each image, most confident first."""
        return [self._poses(image) for image in images]

    def _poses(self, image: Pixels) -> Poses:
        boxes, confidences = self._people(image)
        joints = [self._joints(image, box) for box in boxes]
        return Poses(
            boxes=boxes,
            confidences=confidences,
            joints=np.array([positions for positions, _ in joints], np.float32).reshape(-1, len(JOINTS), 2),
            joint_confidences=np.array([sure for _, sure in joints], np.float32).reshape(-1, len(JOINTS)),
        )

    def _people(self, image: Pixels) -> tuple[Boxes, NDArray[np.float32]]:
        height, width = image.shape[:2]
        scale = PEOPLE_SIDE / max(height, width)
        size = max(round(width * scale), 1), max(round(height * scale), 1)
        mode = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        square = np.full((PEOPLE_SIDE, PEOPLE_SIDE, 3), PADDING_VALUE, np.float32)
        square[: size[1], : size[0]] = cv2.resize(image, size, interpolation=mode)
        planes = np.ascontiguousarray(square[..., ::-1].transpose(2, 0, 1)[np.newaxis])  # blue first
        rows, classes = (output[0] for output in self._person_detector.run(None, {"input": planes}))
        rows = rows[(classes == 0) & (rows[:, 4] >= MIN_PERSON_CONFIDENCE)]
        rows = rows[np.argsort(-rows[:, 4], kind="stable")][:MAX_PEOPLE]
        limits = np.array([width, height, width, height], np.float32)
        boxes = np.clip(rows[:, :4] * limits / np.tile(size, 2), 0, limits)
        return np.asarray(boxes, np.float32).reshape(-1, 4), np.asarray(rows[:, 4], np.float32)

    def _joints(self, image: Pixels, box: Boxes) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return joint positions in pixels of the image, and the lower confidence of both axes."""
        matrix = _person_upright(box)
        crop = np.asarray(cv2.warpAffine(image, matrix, (POSE_WIDTH, POSE_HEIGHT), flags=cv2.INTER_LINEAR), np.uint8)
        across, down = (output[0] for output in self._joint_finder.run(None, {"input": imagenet_scaled(crop)}))
        positions = np.stack([across.argmax(axis=1), down.argmax(axis=1)], axis=1) / BINS_PER_PIXEL
        back = cv2.invertAffineTransform(matrix)
        sure = np.minimum(across.max(axis=1), down.max(axis=1))
        return np.asarray(positions @ back[:, :2].T + back[:, 2], np.float32), np.asarray(
            np.clip(sure, 0, 1), np.float32
        )

    @cached_property
    def _person_detector(self) -> Any:
        return onnx_session(self._file(PEOPLE_FILE), self.id, self._threads)

    @cached_property
    def _joint_finder(self) -> Any:
        return onnx_session(self._file(JOINTS_FILE), self.id, self._threads)


def _person_upright(box: Boxes) -> NDArray[np.float64]:
    """Return the affine map from the image to the network's input around a box."""
    left, top, right, bottom = (float(side) for side in box)
    width, height = max(right - left, 1.0), max(bottom - top, 1.0)
    scale = 1 / (PERSON_CROP_SCALE * max(width / POSE_WIDTH, height / POSE_HEIGHT))
    x, y = (left + right) / 2, (top + bottom) / 2
    return np.array([[scale, 0, POSE_WIDTH / 2 - scale * x], [0, scale, POSE_HEIGHT / 2 - scale * y]], np.float64)
