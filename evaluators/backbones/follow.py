"""Role follow: SAM 2.1 as a tracker that sees one frame after another and forgets what is old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.detections import box_of, overlaps
from worldenv.evaluators.backbones.pretrained import load_pretrained
from worldenv.evaluators.backbones.regions import Region, region
from worldenv.evaluators.backbones.sam2 import alone, sam2_input, scaled_boxes, sized
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.plan import Ask, Thing, pixels
from worldenv.weights import Located

Image = NDArray[np.uint8]
Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class Track:
    """What is remembered of one thing.

    Attributes:
        number: Its number in the window.
        category: What it was detected as.
        score: Confidence of the detector when it was last boxed.
        started: Frame of the window, counted from 0, at which it was boxed.
        seen: Latest frame of the window at which it was there.
        first: The network's memory of the frame at which it was boxed.
        recent: Frame -> memory of the latest frames.
    """

    number: int
    category: str
    score: float
    started: int
    seen: int
    first: Mapping[str, Any]
    recent: Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True)
class Followed:
    """Answer of ``follow``.

    Attributes:
        regions: What is there now, largest first.
        tracks: What is remembered.
        frame: Frame of the window, counted from 0.
        count: Things numbered so far.
    """

    regions: tuple[Region, ...]
    tracks: tuple[Track, ...]
    frame: int
    count: int


class Sam2Follower:
    """Answers ``follow``, asked frame after frame of a Thing's window.

    Every frame is propagated from the memory of the frames before; what ``detect`` boxes and no
    followed thing covers becomes a new track, so that a thing that enters later is found too. A
    thing whose object score is not above 0 is gone from that frame, and may come back. The memory
    is bounded: the frame at which a thing was boxed, the latest frames that the network can
    attend to, and at most as many things as a detector may return.
    """

    batch = 1

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load it.

        Args:
            located: Weights of a ``Sam2VideoModel``.
            device: Where it runs, in float32; the network itself keeps its memory in bfloat16.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self.name = f"{located.id}-follow"
        self.revision = located.revision
        self.checksum = located.checksum
        self._device = device
        self._network = load_pretrained("Sam2VideoModel", located, device)
        config = self._network.config
        self._side = int(config.image_size)
        self._spatial = int(config.num_maskmem) - 1
        self._pointers = int(config.max_object_pointers_in_encoder) - 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame, its boxes, and the same ask of the frame before."""
        frame, thing = ask.frames[0], ask.subject
        plain = (pixels(frame), Ask("detect", (frame,), alone(ask)))
        before = thing.before(frame) if isinstance(thing, Thing) else None
        return plain if before is None else (*plain, Ask("follow", (before,), thing))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Follow in every frame; the answer about the frame before is left as it was."""
        empty = Followed((), (), -1, 0)
        return [
            self._follow(*(values if len(values) == 3 else (*values, empty))) for values in inputs
        ]

    def _follow(self, frame: Image, detected: Sequence[Region], before: Followed) -> Followed:
        import torch

        now = before.frame + 1
        if not detected and not before.tracks:
            return Followed((), (), now, before.count)
        with torch.inference_mode():
            values = torch.from_numpy(sam2_input(frame, self._side)[0]).to(self._device)
            session = self._session(now, before.tracks)
            masks = self._run(session, values, now, frame.shape) if before.tracks else {}
            kept = [
                _older(t, session, now, masks, self._spatial, self._pointers) for t in before.tracks
            ]
            fresh, kept = _unclaimed(detected, masks, kept)
            if fresh:
                # It shares what the encoder saw.
                cache, session = session.cache, self._session(now, ())
                session.cache = cache
                for number, box in enumerate(fresh, start=before.count + 1):
                    corners = scaled_boxes([box], frame.shape, self._side).reshape(1, 1, 2, 2)
                    self._prompt(session, now, number, torch.from_numpy(corners))
                masks |= self._run(session, values, now, frame.shape)
                for number, box in enumerate(fresh, start=before.count + 1):
                    memory = _memory(session, number, "cond_frame_outputs", now)
                    kept.append(Track(number, box.category, box.score, now, now, memory, {}))
        # Of too many things, those are forgotten that have been gone for longest.
        kept = sorted(kept, key=lambda t: (-t.seen, t.number))[: whole("detect.most")]
        regions = [
            region(t.number, t.category, masks[t.number], t.score)
            for t in kept
            if t.number in masks
        ]
        regions.sort(key=lambda r: (-r.area, r.track))
        kept.sort(key=lambda t: t.number)
        return Followed(tuple(regions), tuple(kept), now, before.count + len(fresh))

    def _session(self, now: int, tracks: Sequence[Track]) -> Any:
        """Return a session of the library that remembers exactly what the tracks hold."""
        import torch
        import transformers

        session = transformers.Sam2VideoInferenceSession(
            video_height=self._side,
            video_width=self._side,
            inference_device=self._device,
            inference_state_device=self._device,
            video_storage_device=self._device,
            dtype=torch.float32,
        )
        for track in tracks:
            outputs = session.output_dict_per_obj[session.obj_id_to_idx(track.number)]
            outputs["cond_frame_outputs"][track.started] = track.first
            outputs["non_cond_frame_outputs"].update(track.recent)
        return session

    def _prompt(self, session: Any, now: int, number: int, corners: Any) -> None:
        import torch

        # The network's own labels for the two corners of a box.
        labels = torch.tensor([[[2, 3]]], dtype=torch.int32, device=self._device)
        prompt = {"point_coords": corners.to(self._device), "point_labels": labels}
        session.add_point_inputs(session.obj_id_to_idx(number), now, prompt)
        session.obj_with_new_inputs.append(number)

    def _run(self, session: Any, values: Any, now: int, shape: tuple[int, ...]) -> dict[int, Masks]:
        """Return number -> mask of every thing of a session that is there now."""
        out = self._network(inference_session=session, frame=values, frame_idx=now)
        there = out.object_score_logits.flatten() > 0
        masks = sized(out.pred_masks[:, 0], shape)
        return {
            number: mask
            for number, mask, present in zip(out.object_ids, masks, there.tolist(), strict=True)
            if present and mask.any()
        }


def _memory(session: Any, number: int, kind: str, now: int) -> dict[str, Any]:
    """Return what later frames attend to, without the masks themselves."""
    found = session.output_dict_per_obj[session.obj_id_to_idx(number)][kind][now]
    return {key: found[key] for key in ("maskmem_features", "maskmem_pos_enc", "object_pointer")}


def _older(
    track: Track, session: Any, now: int, masks: Mapping[int, Masks], spatial: int, pointers: int
) -> Track:
    """Return a track one frame later, with what lies too far back forgotten."""
    recent = {}
    for frame, memory in {
        **track.recent,
        now: _memory(session, track.number, "non_cond_frame_outputs", now),
    }.items():
        if now - frame < spatial:
            recent[frame] = memory
        elif now - frame < pointers:
            recent[frame] = {"object_pointer": memory["object_pointer"]}
    seen = now if track.number in masks else track.seen
    return replace(track, recent=recent, seen=seen)


def _unclaimed(
    detected: Sequence[Region], masks: Mapping[int, Masks], tracks: Sequence[Track]
) -> tuple[list[Region], list[Track]]:
    """Return boxes that no followed thing fills, and the tracks with their latest confidence."""
    tracks = list(tracks)
    numbers = [t.number for t in tracks if t.number in masks]
    if not detected or not numbers:
        return list(detected), tracks
    boxes = np.array([box_of(r.mask) for r in detected], np.float32)
    held = np.array([box_of(masks[n]) for n in numbers], np.float32)
    share = overlaps(boxes, held)
    claimed, taken = set(), set()
    for flat in np.argsort(-share, axis=None, kind="stable").tolist():
        row, column = divmod(flat, len(numbers))
        if share[row, column] < constant("follow.overlap"):
            break
        if column not in taken and row not in claimed:
            taken.add(column)
            place = next(k for k, t in enumerate(tracks) if t.number == numbers[column])
            tracks[place] = replace(tracks[place], score=detected[row].score)
        # A second box over the same thing opens no second track.
        claimed.add(row)
    return [r for k, r in enumerate(detected) if k not in claimed], tracks
