"""SCRFD and ArcFace: decoding, alignment, and the files that are not theirs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from stamped import stamped

from worldenv.evaluators.backbones import arcface
from worldenv.evaluators.backbones.arcface import TEMPLATE, ArcFace, Scrfd, aligned
from worldenv.evaluators.backbones.faces import Face
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import DamagedWeights, Located

PACK = Located("insightface-buffalo-l", Path("."), "1", "abc", "non-commercial")
FACES = [
    ((80.0, 100.0, 180.0, 240.0), 0.9),
    ((84.0, 104.0, 182.0, 238.0), 0.8),
    ((400.0, 40.0, 440.0, 90.0), 0.7),
    ((300.0, 300.0, 330.0, 330.0), 0.4),
]


def marks(box):
    x0, y0, x1, y1 = box
    share = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.8], [0.65, 0.8]])
    return share * [x1 - x0, y1 - y0] + [x0, y0]


class PlayedDetector:
    """Gives the answers of a detector that sees FACES in its 640 x 640 input."""

    def __init__(self):
        self.given = None

    def get_providers(self):
        return ["CPUExecutionProvider"]

    def get_inputs(self):
        return [SimpleNamespace(name="input", shape=[1, 3, "?", "?"])]

    def get_outputs(self):
        return [SimpleNamespace(name=str(k)) for k in range(9)]

    def run(self, names, inputs):
        self.given = inputs["input"]
        out = [[], [], []]
        for number, stride in enumerate(arcface.STRIDES):
            cells = 640 // stride
            score = np.zeros((cells, cells, 2), np.float32)
            box = np.zeros((cells, cells, 2, 4), np.float32)
            mark = np.zeros((cells, cells, 2, 5, 2), np.float32)
            for k, (face, sure) in enumerate(FACES):
                if k % 3 != number:
                    continue
                column = int((face[0] + face[2]) / 2 / stride)
                row = int((face[1] + face[3]) / 2 / stride)
                corner = np.array([column, row]) * stride
                score[row, column, 1] = sure
                box[row, column, 1, :2] = (corner - face[:2]) / stride
                box[row, column, 1, 2:] = (np.array(face[2:]) - corner) / stride
                mark[row, column, 1] = (marks(face) - corner) / stride
            out[0].append(score.reshape(-1, 1))
            out[1].append(box.reshape(-1, 4))
            out[2].append(mark.reshape(-1, 10))
        return [*out[0], *out[1], *out[2]]


def test_faces_are_decoded_best_first_in_the_pixels_of_the_frame(monkeypatch):
    played = PlayedDetector()
    monkeypatch.setattr(arcface, "session", lambda *arguments: played)
    frame = np.full((360, 1280, 3), 255, np.uint8)
    frame[..., 2] = 0
    (found,) = Scrfd(PACK).compute([Ask("faces", (0,))], [(frame,)])
    # Half size: 640 x 180, the rest of the square black, RGB.
    assert played.given.shape == (1, 3, 640, 640)
    assert played.given[0, :, 10, 10] == pytest.approx([127.5 / 128, 127.5 / 128, -127.5 / 128])
    assert played.given[0, :, 200, 10] == pytest.approx([-127.5 / 128] * 3)
    # The second is the first once more, the fourth too doubtful.
    assert [f.score for f in found] == pytest.approx([0.9, 0.7])
    for face, (box, _) in zip(found, (FACES[0], FACES[2]), strict=True):
        assert face.box == pytest.approx(np.array(box) * 2, abs=1e-3)
        assert face.landmarks == pytest.approx(marks(box) * 2, abs=1e-3)
    assert "CPUExecutionProvider" in Scrfd(PACK).revision
    assert Scrfd(PACK).needs(Ask("faces", (3,))) == (pixels(3),)


def test_a_face_is_turned_and_scaled_onto_the_template():
    angle, scale, shift = np.radians(25), 1.7, np.array([60.0, 90.0])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = scale * TEMPLATE @ turn.T + shift
    frame = np.zeros((400, 400, 3), np.uint8)
    for x, y in points:
        cv2.circle(frame, (round(x), round(y)), 3, (255, 255, 255), -1)
    chip = aligned(frame, points.astype(np.float32))
    assert chip.shape == (112, 112, 3)
    for x, y in TEMPLATE:
        assert chip[round(y), round(x), 0] > 128
    assert (chip[..., 0] > 128).mean() < 0.02


class PlayedRecogniser(PlayedDetector):
    def get_inputs(self):
        return [SimpleNamespace(name="face", shape=["n", 3, 112, 112])]

    def get_outputs(self):
        return [SimpleNamespace(name="vector")]

    def run(self, names, inputs):
        self.given = inputs["face"]
        mean = self.given.mean(axis=(2, 3))
        return [np.tile(mean, (1, 171))[:, :512]]


def test_every_face_gets_a_unit_vector_in_padded_batches(monkeypatch):
    played = PlayedRecogniser()
    monkeypatch.setattr(arcface, "session", lambda *arguments: played)
    frame = np.random.default_rng(0).integers(0, 256, (400, 600, 3)).astype(np.uint8)
    faces = tuple(
        Face(np.array(b, np.float32), marks(b).astype(np.float32), s) for b, s in FACES[:3]
    )
    backbone = ArcFace(PACK)
    (found,) = backbone.compute([Ask("identity", (0,))], [(frame, faces)])
    assert played.given.shape == (4, 3, 112, 112)
    assert [face for face, _ in found] == list(faces)
    assert all(np.linalg.norm(vector) == pytest.approx(1, abs=1e-5) for _, vector in found)
    assert backbone.compute([Ask("identity", (0,))], [(frame, ())]) == [()]
    assert backbone.needs(Ask("identity", (2,))) == (pixels(2), Ask("faces", (2,)))


def test_files_of_other_networks_are_refused(monkeypatch):
    monkeypatch.setattr(arcface, "session", lambda *arguments: PlayedRecogniser())
    with pytest.raises(DamagedWeights, match="gives 1 answers"):
        Scrfd(PACK)
    monkeypatch.setattr(arcface, "session", lambda *arguments: PlayedDetector())
    with pytest.raises(DamagedWeights, match="not faces of 112 pixels"):
        ArcFace(PACK)


def test_a_real_session_of_onnxruntime(tmp_path):
    """Where onnx and onnxruntime are installed: a tiny recogniser runs, a bad file is refused."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, numbers = onnx.helper, onnx.numpy_helper
    weight = np.random.default_rng(0).normal(size=(3, 512)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("GlobalAveragePool", ["face"], ["mean"]),
            helper.make_node("Flatten", ["mean"], ["flat"]),
            helper.make_node("MatMul", ["flat", "w"], ["vector"]),
        ],
        "tiny",
        [helper.make_tensor_value_info("face", 1, ["n", 3, 112, 112])],
        [helper.make_tensor_value_info("vector", 1, ["n", 512])],
        [numbers.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    def save(folder):
        (folder / arcface.RECOGNISER).write_bytes(model.SerializeToString())
        (folder / arcface.DETECTOR).write_bytes(b"no graph")

    pack = stamped(tmp_path, "insightface-buffalo-l", save)
    frame = np.random.default_rng(1).integers(0, 256, (400, 600, 3)).astype(np.uint8)
    box = FACES[0][0]
    face = Face(np.array(box, np.float32), marks(box).astype(np.float32), 0.9)
    ((_, vector),) = ArcFace(pack)._identities(frame, (face,))
    chip = (aligned(frame, face.landmarks).astype(np.float32) - 127.5) / 127.5
    expected = chip.mean(axis=(0, 1)) @ weight
    assert float(vector @ expected / np.linalg.norm(expected)) > 1 - 1e-5
    with pytest.raises(DamagedWeights, match="worldenv weights fetch insightface-buffalo-l"):
        Scrfd(pack)
