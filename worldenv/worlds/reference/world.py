"""ReferenceWorld: walks a camera through a 3D scene and tells the truth about every frame."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, Primitive, intrinsics
from worldenv.context import POLICIES, check_policy, read_budget, vertical_fov
from worldenv.faults import STATE_FAULTS, check_faults
from worldenv.world import (
    Chunk,
    GenerationFailed,
    Start,
    Unsupported,
    WorldSpec,
)
from worldenv.worlds.reference import REVISION
from worldenv.worlds.reference.compile import cores, default_threads, release_memory
from worldenv.worlds.reference.content_faults import CONTENT, Content, Look, begin
from worldenv.worlds.reference.event_faults import Clock, broken, start_clock
from worldenv.worlds.reference.families import (
    FAMILIES,
    SceneName,
    find_view,
    read_start,
    reimagine,
    scene_of,
)
from worldenv.worlds.reference.faults import ABSENCE, seen_in
from worldenv.worlds.reference.history import History
from worldenv.worlds.reference.lit import Lit, relight
from worldenv.worlds.reference.motion_faults import Motion, start_motion
from worldenv.worlds.reference.renderer import DETAILS, Drawn, Renderer
from worldenv.worlds.reference.scene import Scene

__all__ = ["TRUTH", "ReferenceWorld"]

TRUTH = ("pose", "depth", "ids", "state")
_TURNS = (Primitive.YAW_LEFT, Primitive.YAW_RIGHT, Primitive.PITCH_UP, Primitive.PITCH_DOWN)


@dataclass(frozen=True)
class _Episode:
    """All that changes while an episode runs, as an immutable value: a snapshot is one of these.

    Attributes:
        name: Which scene.
        view: Camera to scene at frame 0, shape (4, 4).
        frame: Index of the newest frame.
        lit: The scene as it is shown.
        content: What content faults have done, None without them.
        history: What a context policy looks back at, None for ``full``.
        first: Frame 0 and its state, for the frozen fault.
        clock: When the event is.
        motion: What leads the camera astray, None where nothing does.
        pose: The realised pose of the newest frame, in frame-0 coordinates, shape (4, 4).
        built: The scene as it was built.
        life: What the world was when the episode began; ``close`` ends it.
    """

    name: SceneName
    view: NDArray[np.float64]
    frame: int
    lit: Lit
    content: Content | None
    history: History | None
    first: tuple[Drawn, dict[str, Any]]
    clock: Clock
    motion: Motion | None
    pose: NDArray[np.float64]
    built: Scene
    life: object


class ReferenceWorld:
    """A world that remembers perfectly, unless a fault is planted.

    Attributes:
        spec: What it is.
        frames_rendered: Frames shown that were drawn for it, over all episodes.
    """

    spec: WorldSpec

    def __init__(
        self,
        *,
        size: tuple[int, int] = (256, 256),
        fov: float = 75.0,
        fps: float = 16.0,
        chunk: int = 1,
        first_chunk: int | None = None,
        supersample: int = 1,
        detail: str = "auto",
        threads: int | None = None,
        faults: Mapping[str, float] | None = None,
        absence: int = ABSENCE,
        truth: Collection[str] = TRUTH,
        family: str = "interior",
        cache: bool = True,
        context: str = "full",
        budget: Mapping[str, int] | None = None,
    ) -> None:
        """Check the options; nothing is built before ``reset``.

        Args:
            size: (width, height) in pixels, each 1 to 4096.
            fov: Horizontal field of view in degrees, 1 to 170.
            fps: Frames a second; events run in seconds.
            chunk: New frames of a step.
            first_chunk: New frames of the first step; as ``chunk`` by default.
            supersample: Samples along each side of a pixel, 1 to 8.
            detail: ``auto`` (coarse meshes where they are small), ``full`` or ``coarse``.
            threads: At most so many; None is all cores, or 1 in a child process.
            faults: Planted faults, name -> dose in [0, 1]; see ``worldenv.faults``.
            absence: Frames out of view after which content and event faults set in; scripts that
                turn faster than a degree a frame need fewer than the usual 16.
            truth: Which of ``pose``, ``depth``, ``ids`` and ``state`` chunks carry.
            family: Scene family when a start names none.
            cache: Whether built light is kept in the user's cache folder.
            context: Which of its past the world may look at: ``full``, ``sliding``, ``fov`` or
                ``none``. What no latent within it shows is re-imagined by seed when it comes
                into view again; the instance of an event is not, as events run on by time.
            budget: Latents of four frames that a limited policy may hold: any of ``sink`` (4),
                ``recent`` (4), ``retrieved`` (8) and ``current`` (4).

        Raises:
            Unsupported: a value is out of range, or there is no such truth key or family; the
                message says which.
            UnknownName: there is no such fault.
        """
        self._size = _size(size)
        _number("fov", fov, 1, 170)
        _number("fps", fps, 1e-3, 1e4)
        self._fov, self._fps = float(fov), float(fps)
        _whole("chunk", chunk, 1, 1 << 20)
        first_chunk = chunk if first_chunk is None else first_chunk
        _whole("first_chunk", first_chunk, 1, 1 << 20)
        _whole("supersample", supersample, 1, 8)
        self._supersample = supersample
        self._detail = _choice("detail", detail, DETAILS)
        if threads is not None:
            _whole("threads", threads, 1, 1 << 10)
        self._threads = threads
        _whole("absence", absence, 1, 1 << 20)
        self._absence = absence
        if isinstance(truth, str) or not isinstance(truth, Collection):
            raise Unsupported(f"truth must be a collection of names, got {truth!r}")
        for key in truth:
            _choice("truth", key, TRUTH)
        self._truth = tuple(k for k in TRUTH if k in truth)
        self._family = _choice("family", family, tuple(FAMILIES))
        if not isinstance(cache, bool):
            raise Unsupported(f"cache must be True or False, got {cache!r}")
        self._cache = cache
        self._policy, self._budget = check_policy(context), read_budget(budget)
        self._faults = self._checked(faults)
        K = intrinsics(self._size, self._fov)
        self.spec = WorldSpec(
            name="Reference",
            size=self._size,
            K=tuple((float(r[0]), float(r[1]), float(r[2])) for r in K),
            K_exactness="exact",
            fps=self._fps,
            chunk=chunk,
            first_chunk=first_chunk,
            drive="stream",
            quantum={
                p.name: 1.0 if p in _TURNS else 1.0 / 30.0
                for p in Primitive
                if p is not Primitive.STAY
            },
            image_start=False,
            prompt="none",
            pose_exactness="exact",
            truth=self._truth,
            context_policies=POLICIES,
            backend=f"worldenv {REVISION}",
            deterministic=True,
            licence="Apache-2.0",
            citation="worldenv Reference-v0: a rendered 3D world with ground truth",
        )
        self.frames_rendered = 0
        self._episode: _Episode | None = None
        self._renderer: Renderer | None = None
        self._built: tuple[SceneName, Lit] | None = None
        self._states: tuple[object, dict[str, Any]] | None = None
        self._life = object()

    @property
    def scene(self) -> Scene:
        """The scene as it is shown now.

        Raises:
            GenerationFailed: before the first reset.
        """
        episode = self._running()
        scene, content = episode.lit.scene, episode.content
        return scene if content is None else content.shown(scene, episode.frame)

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None = None) -> Chunk:
        """Begin in the scene that the start names and return frame 0.

        Args:
            start: ``scene`` is None (``seed`` picks the scene) or has ``family``, ``seed``,
                ``view``, and ``event`` or ``passing``; a prompt is ignored, the scene says what
                there is.
            seed: Of the episode, >= 0; faults draw from it.
            plan: Not needed.

        Raises:
            Unsupported: an image is given, or the scene cannot be built so.
            UnknownName: family or view is unknown.
        """
        if start.image is not None:
            raise Unsupported(
                "Reference starts from its own scenes, not from an image; name one in Start.scene"
            )
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise Unsupported(f"the seed must be an integer >= 0, got {seed!r}")
        name, view_name = read_start(start.scene, self._family, int(seed))
        scene = scene_of(name)
        view = find_view(scene, view_name)
        lit = self._prepare(name, scene)
        built = lit.scene
        content = begin(name, built, self._faults, int(seed), self._absence)
        self._wear(content, 0)
        drawn = self._draw(np.asarray(view.pose, np.float64), 0.0)
        if content is not None:
            content = content.after(0, drawn.ids)
        history = None
        if self._policy != "full":
            fov = (self._fov, vertical_fov(self._fov, self._size))
            history = History(int(seed), self._policy, self._budget, fov)
            history = history.after(0, np.asarray(view.pose), seen_in(drawn.ids))
        visible = _shows(lit.scene, drawn)
        state = self._state(lit.scene, 0.0, visible)
        clock = start_clock(int(seed), self._faults, lit.scene, self._fps, visible, self._absence)
        self._episode = _Episode(
            name,
            np.asarray(view.pose),
            0,
            lit,
            content,
            history,
            (drawn, state),
            clock,
            start_motion(int(seed), self._faults, float(view.pose[1, 3])),
            np.eye(4),
            built,
            self._life,
        )
        return self._chunk(np.eye(4)[None], np.eye(4)[None], [drawn], [state])

    def step(self, poses: np.ndarray, prompt: str | None = None) -> Chunk:
        """Draw one frame per pose (n, 4, 4), camera to world in frame-0 coordinates.

        Raises:
            GenerationFailed: before the first reset, or the poses are not rigid.
            Unsupported: a prompt is given.
        """
        episode = self._running()
        if prompt is not None:
            raise Unsupported("Reference takes no prompts; leave prompt out")
        asked = _poses(poses)
        drawn, states, realised = [], [], []
        for pose in asked:
            episode, picture, state = self._next(episode, pose)
            drawn.append(picture)
            states.append(state)
            realised.append(episode.pose)
        self._episode = episode
        return self._chunk(asked, np.stack(realised), drawn, states)

    def close(self) -> None:
        """Free scene and buffers and end what snapshots are good for; may be called twice."""
        self._forget()
        self._life = object()

    def _forget(self) -> None:
        self._episode = self._renderer = self._built = self._states = None

    def plant(self, faults: Mapping[str, float] | None) -> None:
        """Plant other faults in place of those planted, from the next reset on.

        What was built is kept: walking one scene with many faults builds it once. Snapshots taken
        before are of the world as it was, and no longer good.

        Raises:
            Unsupported: a dose lies outside [0, 1].
            UnknownName: there is no such fault.
        """
        self._faults = self._checked(faults)
        self._episode, self._life = None, object()

    def _checked(self, faults: Mapping[str, float] | None) -> dict[str, float]:
        """Return doses that can be planted beside the context policy."""
        doses = check_faults(faults, STATE_FAULTS)
        content = [fault for fault in CONTENT if doses.get(fault, 0.0) > 0]
        if self._policy != "full" and content:
            raise Unsupported(
                f"context={self._policy!r} and the fault {content[0]!r} both decide what comes "
                "back; give one of the two"
            )
        return doses

    def snapshot(self) -> object:
        """Return a token of this moment; it stays valid until ``plant`` or ``close``."""
        return self._running()

    def restore(self, token: object) -> None:
        """Go back to the moment of a token of this world.

        Raises:
            Unsupported: the token is none of this world, or from before ``plant`` or ``close``.
        """
        if not isinstance(token, _Episode) or token.life is not self._life:
            raise Unsupported(
                "restore needs a token that snapshot of this world has returned since it was made, "
                f"planted or closed, got {type(token).__name__.lstrip('_')}"
            )
        if self._renderer is None:
            self._make(token.lit)
        elif self._renderer.lit is not token.lit:
            self._renderer.show(token.lit)
        self._episode = token

    @property
    def _frozen(self) -> bool:
        return self._faults.get("frozen", 0.0) > 0

    def _running(self) -> _Episode:
        if self._episode is None:
            raise GenerationFailed("Reference has no episode yet; call reset first")
        return self._episode

    def _make(self, scene: Scene | Lit) -> Renderer:
        self._renderer = Renderer(
            scene,
            size=self._size,
            fov=self._fov,
            supersample=self._supersample,
            detail=self._detail,
            threads=default_threads() if self._threads is None else min(self._threads, cores()),
            cache=self._cache,
        )
        return self._renderer

    def _prepare(self, name: SceneName, scene: Scene) -> Lit:
        """Make the renderer show the scene as it was built; reuse the light of the last reset."""
        if self._built is not None and self._built[0] == name and self._renderer is not None:
            lit = self._built[1]
            if self._renderer.lit is not lit:
                self._renderer.show(lit)
            return lit
        # The old scene goes first: two at once would double what a process needs.
        self._forget()
        renderer = self._make(scene)
        self._built = (name, renderer.lit)
        release_memory()
        return renderer.lit

    def _draw(self, pose: NDArray[np.float64], time: float) -> Drawn:
        self.frames_rendered += 1
        return self._shown.draw(pose, time)

    def _next(
        self, episode: _Episode, pose: NDArray[np.float64]
    ) -> tuple[_Episode, Drawn, dict[str, Any]]:
        frame = episode.frame + 1
        if self._frozen:
            return replace(episode, frame=frame), *episode.first
        motion = episode.motion
        if motion is not None:
            motion, pose = motion.moved(pose)
        camera = episode.view @ pose
        clock = self._broken(episode, episode.clock.advanced())
        content, history = episode.content, episode.history
        self._wear(content, frame)
        drawn = self._draw(camera, clock.time)
        clock, drawn = self._looked_at(clock, drawn, camera)
        if content is not None:
            drawn, content = self._come_back(content, drawn, camera, frame, clock.time)
        if history is not None:
            drawn, history = self._look_back(episode, history, drawn, camera, clock.time)
        lit = self._shown.lit
        shown = lit.scene if content is None else content.shown(lit.scene, frame)
        state = self._state(shown, clock.time, _shows(lit.scene, drawn))
        episode = replace(
            episode,
            frame=frame,
            lit=lit,
            content=content,
            history=history,
            clock=clock,
            motion=motion,
            pose=pose,
        )
        return episode, drawn, state

    def _broken(self, episode: _Episode, clock: Clock) -> Clock:
        """Make another thing of what changes when it has been left, before it is seen again."""
        if clock.left and not episode.clock.left:
            dose = self._faults.get("event_break", 0.0)
            scene, changed = broken(self._shown.scene, dose, clock.seed)
            if changed:
                self._shown.swap(scene, changed)
        return clock

    def _looked_at(
        self, clock: Clock, drawn: Drawn, camera: NDArray[np.float64]
    ) -> tuple[Clock, Drawn]:
        """Tell the clock what a frame shows; draw it anew where its time has gone back."""
        seen = clock.looked_at(_shows(self._shown.scene, drawn))
        if seen.elapsed != clock.elapsed:
            drawn = self._shown.draw(camera, seen.time)
        return seen, drawn

    def _wear(self, content: Content | None, frame: int) -> None:
        """Have the renderer draw things as they have drifted by a frame."""
        wander = None if content is None else content.wander
        self._shown.wear(None if wander is None else lambda i: wander.guise(i, frame))

    def _come_back(
        self, content: Content, drawn: Drawn, camera: NDArray[np.float64], frame: int, time: float
    ) -> tuple[Drawn, Content]:
        """Do what content faults do to what has come back into view, before the frame is shown."""
        fov = (self._fov, vertical_fov(self._fov, self._size))

        def replaced(lit: Lit, ids: NDArray[np.uint16]) -> Lit | None:
            nonlocal content
            look = Look(frame, ids, camera, fov)
            after, content = content.come_back(lit, look, self._shown.threads)
            return after

        drawn = self._redraw(drawn, camera, time, replaced)
        return drawn, content.after(frame, drawn.ids)

    def _look_back(
        self,
        episode: _Episode,
        history: History,
        drawn: Drawn,
        camera: NDArray[np.float64],
        time: float,
    ) -> tuple[Drawn, History]:
        """Show what comes into view as the accessible past has it, or imagine it anew."""
        name, built, frame = episode.name, episode.built, episode.frame + 1
        decided: set[int] = set()

        def replaced(lit: Lit, ids: NDArray[np.uint16]) -> Lit | None:
            nonlocal history
            scene, changed = lit.scene, []
            for i in seen_in(ids):
                if i in decided or history.in_view_before(i):
                    continue
                decided.add(i)
                instance = built.instance(i)
                version = 0 if instance.moves else history.version(i, frame, camera)
                if version == history.in_scene(i):
                    continue
                if version == 0:
                    scene = scene.with_instance(instance)
                else:
                    seed = history.draw(i, version)
                    scene = scene.with_instance(*reimagine(name, scene, instance, seed))
                history = history.with_version(i, version)
                changed.append(i)
            return relight(lit, scene, changed, self._shown.threads) if changed else None

        drawn = self._redraw(drawn, camera, time, replaced)
        return drawn, history.after(frame, camera, seen_in(drawn.ids))

    @property
    def _shown(self) -> Renderer:
        assert self._renderer is not None
        return self._renderer

    def _redraw(
        self,
        drawn: Drawn,
        camera: NDArray[np.float64],
        time: float,
        replaced: Callable[[Lit, NDArray[np.uint16]], Lit | None],
    ) -> Drawn:
        """Draw a frame until nothing in view is replaced any more.

        Args:
            drawn: The frame as the scene stands.
            camera: Its camera pose, shape (4, 4).
            time: Of the scene's event, in seconds.
            replaced: Takes the lit scene and an id image; returns the scene with other instances,
                None where it stays.
        """
        while True:
            lit = replaced(self._shown.lit, drawn.ids)
            if lit is None:
                return drawn
            self._shown.show(lit)
            # What has changed may uncover something else that had been away.
            drawn = self._shown.draw(camera, time)

    def _state(self, scene: Scene, time: float, visible: bool) -> dict[str, Any]:
        """Return the state of a moment; moments of equal state share one dict.

        Args:
            scene: As it is shown.
            time: Of its event, in seconds.
            visible: Whether the frame shows what the event changes.
        """
        event = scene.event
        shown: dict[str, Any] | None = None
        if event is not None:
            progress = float(event.progress(time))
            shown = {"name": event.name, "progress": progress, "in_view": visible}
        if self._states is not None and self._states[0] is scene:
            old = self._states[1]
            if event is None or old["event"] == shown:
                return old
            instances = dict(old["instances"])
            moving = scene.instance(event.instance)
            instances[moving.id] = {
                **instances[moving.id],
                "pose": np.asarray(event.pose(time)).tolist(),
            }
        else:
            instances = {
                i.id: {
                    "category": i.category,
                    "variant": i.variant,
                    "pose": (
                        event.pose(time)
                        if event is not None and event.instance == i.id
                        else np.asarray(i.pose)
                    ).tolist(),
                }
                for i in scene.instances
            }
        state: dict[str, Any] = {"instances": instances, "event": shown}
        self._states = (scene, state)
        return state

    def _chunk(
        self,
        asked: NDArray[np.float64],
        realised: NDArray[np.float64],
        drawn: list[Drawn],
        states: list[dict[str, Any]],
    ) -> Chunk:
        truth: dict[str, Any] = {}
        if "pose" in self._truth:
            truth["pose"] = realised.copy()
        if "depth" in self._truth:
            truth["depth"] = np.stack([d.depth for d in drawn])
        if "ids" in self._truth:
            truth["ids"] = np.stack([d.ids for d in drawn])
        if "state" in self._truth:
            truth["state"] = tuple(states)
        return Chunk(np.stack([d.frame for d in drawn]), asked.copy(), truth or None)


def _shows(scene: Scene, drawn: Drawn) -> bool:
    """Return whether a frame shows what the scene's event changes."""
    return scene.event is not None and bool((drawn.ids == scene.event.instance).any())


def _size(size: Any) -> tuple[int, int]:
    row = isinstance(size, (list, tuple)) or (isinstance(size, np.ndarray) and size.ndim == 1)
    if not row or len(size) != 2:
        raise Unsupported(f"size must be (width, height), as in size=[320,180], got {size!r}")
    width, height = size
    _whole("width", width, 1, 4096)
    _whole("height", height, 1, 4096)
    return int(width), int(height)


def _number(name: str, value: Any, low: float, high: float) -> None:
    # Compared before it is converted: a whole number may be too large for a float.
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not low <= value <= high:
        raise Unsupported(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or not low <= value <= high
    ):
        raise Unsupported(f"{name} must be a whole number from {low} to {high}, got {value!r}")


def _choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise Unsupported(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return str(value)


def _poses(poses: Any) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(poses):
            raise ValueError
        asked = np.asarray(poses, dtype=np.float64)
    except (TypeError, ValueError):
        raise GenerationFailed(
            "Reference was asked for poses that are no array of numbers; expected (n, 4, 4), n >= 1"
        ) from None
    if asked.ndim != 3 or asked.shape[1:] != (4, 4) or len(asked) < 1:
        raise GenerationFailed(
            f"Reference was asked for poses of shape {asked.shape}; expected (n, 4, 4), n >= 1"
        )
    turn = asked[:, :3, :3]
    rigid = (
        np.isfinite(asked).all()
        and abs(np.swapaxes(turn, 1, 2) @ turn - np.eye(3)).max() < 1e-3
        and abs(asked[:, 3] - [0, 0, 0, 1]).max() < 1e-6
        and (np.linalg.det(turn) > 0).all()
    )
    if not rigid:
        raise GenerationFailed(
            "Reference was asked for poses that are not rigid; expected [[R, t], [0, 0, 0, 1]] "
            "with finite values and det R = 1"
        )
    return asked
