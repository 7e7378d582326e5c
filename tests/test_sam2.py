"""SAM 2: masks of boxes, tracks over windows, and a memory that does not grow."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
import tiny_networks
import torch
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones.detections import boxed
from worldenv.evaluators.backbones.follow import Followed, Sam2Follower
from worldenv.evaluators.backbones.sam2 import Sam2Segmenter, sam2_input, scaled_boxes
from worldenv.evaluators.plan import Ask, Thing, pixels

PHOTO = np.ascontiguousarray(data.astronaut()[:192, :256])
EMPTY = Followed((), (), -1, 0)


def boxes(*found):
    return boxed(
        np.array(found, np.float32),
        np.linspace(0.9, 0.5, len(found)).astype(np.float32),
        ["thing"] * len(found),
        PHOTO.shape[:2],
    )


ONE = boxes((20, 30, 120, 150))
TWO = boxes((20, 30, 120, 150), (160, 20, 250, 90))


@pytest.fixture(scope="module")
def located(tmp_path_factory):
    return stamped(tmp_path_factory.mktemp("w"), "sam2.1-hiera-tiny", tiny_networks.sam2_video)


@pytest.fixture(scope="module")
def segmenter(located):
    return Sam2Segmenter(located)


@pytest.fixture(scope="module")
def follower(located):
    return Sam2Follower(located)


def moving(count):
    return [np.roll(PHOTO, 3 * k, axis=1) for k in range(count)]


def test_masks_are_those_of_the_library(located, segmenter):
    from transformers import Sam2Model

    network = Sam2Model.from_pretrained(located.folder).eval()
    found = segmenter._segment(PHOTO, TWO)
    with torch.inference_mode():
        out = network(
            pixel_values=torch.from_numpy(sam2_input(PHOTO, 64)),
            input_boxes=torch.from_numpy(scaled_boxes(TWO, PHOTO.shape, 64))[None],
            multimask_output=False,
        )
        large = torch.nn.functional.interpolate(
            out.pred_masks[0], PHOTO.shape[:2], mode="bilinear", align_corners=False
        )
    theirs = sorted((large[:, 0] > 0).numpy(), key=lambda m: -m.sum())
    assert [r.track for r in found] == [1, 2]
    assert {r.score for r in found} == {r.score for r in TWO}
    for r, mask in zip(found, theirs, strict=True):
        assert np.array_equal(r.mask, mask)
    assert segmenter._segment(PHOTO, ()) == ()


def test_the_image_of_the_network_is_its_processors():
    """Its processor needs torchvision: squashed, bilinear, ImageNet statistics, as documented."""
    values = sam2_input(PHOTO, 64)
    assert values.shape == (1, 3, 64, 64)
    grey = sam2_input(np.full((9, 7, 3), 124, np.uint8), 64)[0, :, 0, 0]
    assert grey == pytest.approx([(124 / 255 - 0.485) / 0.229, (124 / 255 - 0.456) / 0.224,
                                  (124 / 255 - 0.406) / 0.225], abs=1e-5)  # fmt: skip


def test_a_window_asks_the_tracker_and_a_frame_alone_the_detector(segmenter, follower):
    thing = Thing("cup", (4, 8, 12))
    assert segmenter.needs(Ask("segment", (8,), thing)) == (Ask("follow", (8,), thing),)
    assert segmenter.needs(Ask("segment", (5,), thing)) == (
        pixels(5),
        Ask("detect", (5,), Thing("cup")),
    )
    first = (pixels(4), Ask("detect", (4,), Thing("cup")))
    assert follower.needs(Ask("follow", (4,), thing)) == first
    assert follower.needs(Ask("follow", (8,), thing))[2] == Ask("follow", (4,), thing)
    regions = segmenter.compute([Ask("segment", (4,), thing)], [(Followed(ONE, (), 0, 1),)])
    assert regions == [ONE]


def test_tracks_are_those_of_the_library_over_a_whole_clip(located, follower):
    """The library is given all frames at once; ours sees one after another and forgets."""
    import transformers

    frames = moving(20)
    network = transformers.Sam2VideoModel.from_pretrained(located.folder).eval()
    session = transformers.Sam2VideoInferenceSession(
        video=torch.from_numpy(np.concatenate([sam2_input(f, 64) for f in frames])),
        video_height=64,
        video_width=64,
        dtype=torch.float32,
    )
    place = session.obj_id_to_idx(1)
    corners = torch.from_numpy(scaled_boxes(ONE, PHOTO.shape, 64)).reshape(1, 1, 2, 2)
    labels = torch.tensor([[[2, 3]]], dtype=torch.int32)
    session.add_point_inputs(place, 0, {"point_coords": corners, "point_labels": labels})
    session.obj_with_new_inputs = [1]
    with torch.inference_mode():
        network(inference_session=session, frame_idx=0)
    now, weights = EMPTY, []
    for frame, theirs in zip(frames, network.propagate_in_video_iterator(session), strict=True):
        now = follower._follow(frame, ONE if now is EMPTY else (), now)
        large = torch.nn.functional.interpolate(
            theirs.pred_masks, PHOTO.shape[:2], mode="bilinear", align_corners=False
        )
        weights.append(weight(now))
        (region,) = now.regions
        assert np.array_equal(region.mask, (large[0, 0] > 0).numpy())
    # What is remembered no longer grows.
    assert len(set(weights[16:])) == 1
    assert len(now.tracks[0].recent) == 15
    assert sum("maskmem_features" in m for m in now.tracks[0].recent.values()) == 2


def test_the_first_masks_are_those_of_a_frame_alone(segmenter, follower):
    alone = segmenter._segment(PHOTO, TWO)
    first = follower._follow(PHOTO, TWO, EMPTY)
    for a, b in zip(alone, first.regions, strict=True):
        assert (a.mask != b.mask).mean() < 1e-3


def test_an_answer_is_not_changed_by_what_follows(follower):
    first = follower._follow(PHOTO, ONE, EMPTY)
    a = follower._follow(moving(2)[1], (), first)
    b = follower._follow(moving(2)[1], (), first)
    assert np.array_equal(a.regions[0].mask, b.regions[0].mask)
    assert first.tracks[0].recent == {}


def test_a_box_over_a_followed_thing_renews_it_and_another_starts_a_track(follower):
    first = follower._follow(PHOTO, ONE, EMPTY)
    held = follower._follow(PHOTO, (), first).regions[0]
    ys, xs = np.nonzero(held.mask)
    same = (xs.min(), ys.min(), xs.max() + 1, ys.max() + 1)
    again = follower._follow(PHOTO, boxes(same), first)
    assert [t.number for t in again.tracks] == [1]
    assert again.tracks[0].score == pytest.approx(0.9)
    entered = follower._follow(PHOTO, boxes((200, 0, 256, 30)), first)
    assert [t.number for t in entered.tracks] == [1, 2]
    assert entered.count == 2
    later = follower._follow(PHOTO, (), entered)
    assert {r.track for r in later.regions} == {1, 2}


def test_a_thing_whose_score_is_low_is_gone_but_not_forgotten(tmp_path):
    absent = stamped(
        tmp_path, "sam2.1-hiera-tiny", lambda folder: tiny_networks.sam2_video(folder, 0, -50.0)
    )
    now = Sam2Follower(absent)._follow(PHOTO, ONE, EMPTY)
    assert now.regions == ()
    later = Sam2Follower(absent)._follow(PHOTO, (), now)
    assert later.regions == ()
    assert [(t.number, t.seen) for t in later.tracks] == [(1, 0)]


def test_too_many_things_are_not_kept(follower):
    now = EMPTY
    for k in range(11):
        # Boxes that nothing fills: two new things a frame.
        now = follower._follow(PHOTO, boxes((k, 0, k + 9, 8), (k, 180, k + 9, 190)), now)
    assert now.count == 22
    assert len(now.tracks) == 20
    assert len(now.regions) <= 20


def weight(answer):
    """Return the bytes of all tensors that an answer holds."""
    seen = {}
    for track in answer.tracks:
        for memory in (track.first, *track.recent.values()):
            for tensor in memory.values():
                storage = tensor.untyped_storage()
                seen[storage.data_ptr()] = storage.nbytes()
    return sum(seen.values())


class Stand:
    """Plays the network: everything is where it was boxed, for ever."""

    def __call__(self, inference_session, frame, frame_idx):
        from types import SimpleNamespace

        inference_session.add_new_frame(frame, frame_idx)
        for place in range(inference_session.get_obj_num()):
            outputs = inference_session.output_dict_per_obj[place]
            kind = (
                "non_cond_frame_outputs" if outputs["cond_frame_outputs"] else "cond_frame_outputs"
            )
            keys = ("maskmem_features", "maskmem_pos_enc", "object_pointer", "high_res_masks")
            outputs[kind][frame_idx] = {key: torch.zeros(256) for key in keys}
        count = len(inference_session.obj_ids)
        return SimpleNamespace(
            object_ids=list(inference_session.obj_ids),
            object_score_logits=torch.ones(count, 1),
            pred_masks=torch.ones(count, 1, 4, 4),
        )


@pytest.mark.slow
def test_memory_stays_flat_over_ten_thousand_frames(located):
    """One window of 10,000 frames, the network itself played by something as light as the rest."""
    follower = Sam2Follower(located)
    follower._network, follower._side = Stand(), 16
    frame = np.zeros((16, 16, 3), np.uint8)
    found = boxed(np.array([[2, 2, 12, 12]], np.float32), np.ones(1, np.float32), ["a"], (16, 16))
    now, heaps, weights = EMPTY, [], []
    for k in range(10_000):
        if k == 9_000:
            tracemalloc.start(1)
        now = follower._follow(frame, found if k == 0 else (), now)
        if k >= 9_000 and k % 100 == 99:
            gc.collect()
            heaps.append(tracemalloc.get_traced_memory()[0])
        if k in (50, 9_999):
            weights.append((weight(now), len(now.tracks), len(now.tracks[0].recent)))
    tracemalloc.stop()
    assert now.frame == 9_999
    assert [r.track for r in now.regions] == [1]
    assert weights[0] == weights[1]
    assert heaps[-1] - heaps[0] < 50_000


def test_the_engine_holds_one_answer_of_the_tracker(located):
    from worldenv.camera import CameraPath
    from worldenv.evaluators.engine import Engine
    from worldenv.evaluators.plan import Context, Measurement, Outcome, Slot
    from worldenv.evaluators.profile import Profile
    from worldenv.world import Chunk

    follower, segmenter = Sam2Follower(located), Sam2Segmenter(located)
    follower._network, follower._side = Stand(), 16
    count = 200
    thing = Thing("cup", tuple(range(count)))

    class Boxes:
        name, revision, checksum, batch = "boxes", "1", "", 1

        def needs(self, ask):
            return (pixels(ask.frames[0]),)

        def compute(self, asks, inputs):
            first = np.array([[2, 2, 12, 12]], np.float32)
            return [boxed(first, np.ones(1, np.float32), ["cup"], (16, 16))]

    made = {"detect": Boxes, "follow": lambda: follower, "segment": lambda: segmenter}
    poses = np.repeat(np.eye(4)[None], count, axis=0)

    def measure(frame):
        ask = Ask("segment", (frame,), thing)
        found = lambda features: [Outcome(float(features[ask][0].track), 1)]  # noqa: E731
        return Measurement("r2m", (Slot("psnr"),), (ask,), found)

    context = Context(CameraPath(poses, fps=16), Profile("test", made))
    engine = Engine([measure(f) for f in range(count)], context)
    frames = np.zeros((20, 16, 16, 3), np.uint8)
    for _ in range(count // 20):
        engine.observe(Chunk(frames, poses[:20]))
        assert engine.held <= 2
    assert [(s.status, s.value) for s in engine.finish().scores] == [("ok", 1.0)] * count
    assert engine.counts["detect"] == engine.counts["follow"] == count


def test_forgetting_depends_on_the_frame_number_only(follower):
    """The 10,000th frame costs what the 20th costs: shifted numbers, same number of memories."""
    from dataclasses import replace

    now = EMPTY
    for k in range(18):
        now = follower._follow(PHOTO, ONE if k == 0 else (), now)
    far = replace(
        now,
        frame=now.frame + 10_000,
        tracks=tuple(
            replace(t, recent={f + 10_000: m for f, m in t.recent.items()}) for t in now.tracks
        ),
    )
    a, b = follower._follow(PHOTO, (), now), follower._follow(PHOTO, (), far)
    assert weight(a) == weight(b)
    assert [f + 10_000 for f in a.tracks[0].recent] == list(b.tracks[0].recent)
