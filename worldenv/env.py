"""WorldEnv: a world model as a Gymnasium environment, one chunk of frames a step."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from worldenv.actions import (
    CONTROLS,
    PROMPT_LENGTH,
    InvalidAction,
    Motion,
    action_space,
    read_index,
    read_twists,
)
from worldenv.camera import CameraPath, Primitive
from worldenv.case import Case, Script
from worldenv.choose import (
    InvalidOption,
    check_cases,
    read_options,
    read_seed,
    resolve_case,
    resolve_plan,
    resolve_script,
    script_of,
)
from worldenv.viewer import Viewer, why_not
from worldenv.world import (
    Chunk,
    GenerationFailed,
    PlanRequired,
    Start,
    UnknownName,
    Unsupported,
    World,
    WorldEnvError,
    WorldSpec,
    check_chunk,
    fit_path,
)
from worldenv.worlds import load_world

__all__ = [
    "CONTROLS",
    "InvalidAction",
    "InvalidOption",
    "ResetNeeded",
    "WorldEnv",
    "make_world_env",
]

RESET_OPTIONS = ("case", "plan", "script")


class ResetNeeded(WorldEnvError):
    """``step`` was called before ``reset``, or after the end of the episode."""


class WorldEnv(gym.Env[NDArray[np.uint8], Any]):
    """Walks a camera through a world; one ``step`` makes one chunk of frames.

    The observation is the last frame, (height, width, 3) uint8. ``info`` holds ``t`` (index of
    the last frame), ``n`` (new frames), ``phase`` (of the last frame, None outside a script),
    ``pose`` (commanded, (4, 4)) and ``chunk`` (every new frame with pose and truth). Reward is 0.0
    and ``terminated`` False; ``truncated`` marks the end of the plan or of ``max_frames``.

    Args:
        world: The world to walk.
        control: What an action is. ``plan``: Discrete(1), play the next chunk of the plan.
            ``primitive``: Discrete, a camera primitive held for the chunk. ``twist``: Box (6,), one
            twist a frame held for the chunk, times ``spec.max_twist``. ``path``: Box (longest
            chunk, 6), one twist a frame. ``prompt``: Text, with the camera held. None: ``plan``
            for worlds that need a plan, else ``primitive``.
        case: A Case, its id, or ``id@script``.
        cases: Several of them; each reset without options draws one.
        script: A script's name, or a Script. In control ``plan`` a case of a suite brings its own.
        plan: A path to walk, instead of a script.
        render_mode: None, ``rgb_array`` (the last frame), or ``human`` where a window can open.
        max_frames: Frames after which an episode is truncated, counted without frames held before
            a path begins; the last chunk is whole. None: a plan ends only by itself.
        chunk_in_info: Whether ``info`` holds the chunk; wrappers can read the attribute ``chunk``.

    Attributes:
        world: The world.
        world_options: Options the world was made with, where ``make_world_env`` made it.
        world_spec: ``world.spec``; ``spec`` is what Gymnasium made the environment from.
        control: See above.
        case: The case of this episode, or None.
        script: Name of the script of this episode, or None.
        path: The path of this episode as it is walked (held frames, target path, padding to
            whole chunks), or None; its phases are None on added frames.
        chunk: The newest chunk.
        t: Index of the last frame.
        episode_seed: The seed handed to ``world.reset``.
        max_frames: See above.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 16}  # noqa: RUF012

    def __init__(
        self,
        world: World,
        *,
        control: str | None = None,
        case: Case | str | None = None,
        cases: Sequence[Case | str] | None = None,
        script: Script | str | None = None,
        plan: CameraPath | NDArray[np.float64] | Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        max_frames: int | None = 481,
        chunk_in_info: bool = True,
    ) -> None:
        spec = world.spec
        if control is None:
            control = "plan" if spec.drive == "plan" else "primitive"
        if control not in CONTROLS:
            raise UnknownName("control", str(control), CONTROLS)
        if spec.drive == "plan" and control != "plan":
            raise Unsupported(
                f"{spec.name} needs the whole path before its first frame: use control='plan', "
                f"not {control!r}"
            )
        if control == "prompt" and spec.prompt != "chunk":
            raise Unsupported(f"{spec.name} takes no prompt between chunks; choose another control")
        if max_frames is not None and (
            isinstance(max_frames, bool) or not isinstance(max_frames, int) or max_frames < 2
        ):
            raise InvalidOption(
                f"max_frames must be None or a whole number >= 2, got {max_frames!r}"
            )
        if case is not None and cases is not None:
            raise InvalidOption("give case or cases, not both")
        if script is not None and plan is not None:
            raise InvalidOption("give script or plan, not both")
        check_cases(cases)
        if not isinstance(chunk_in_info, (bool, np.bool_)):
            raise InvalidOption(f"chunk_in_info must be True or False, got {chunk_in_info!r}")

        self.world = world
        self.world_options: dict[str, Any] = {}
        self.world_spec: WorldSpec = spec
        self.control: str = control
        self.max_frames = max_frames
        self.chunk_in_info = chunk_in_info
        self._case = None if case is None else resolve_case(case)
        self._cases = None if cases is None else [resolve_case(c) for c in cases]
        self._script = resolve_script(script)
        self._plan = None if plan is None else resolve_plan(plan, spec)

        width, height = spec.size
        self.observation_space = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.action_space = action_space(spec, control)
        modes = ["rgb_array"] if why_not() is not None else ["rgb_array", "human"]
        self.metadata = {"render_modes": modes, "render_fps": spec.fps}
        if render_mode not in (None, "rgb_array", "human"):
            raise UnknownName("render mode", str(render_mode), ("rgb_array", "human"))
        self.render_mode = render_mode
        self._viewer = Viewer(spec.name, spec.fps) if render_mode == "human" else None

        self.case: Case | None = None
        self.script: str | None = None
        self.path: CameraPath | None = None
        self.t = -1
        self.episode_seed = 0
        self._chunk: Chunk | None = None
        self._steps = 0
        self._last = 0
        self._prompts: tuple[tuple[int, str], ...] = ()
        self._motion = Motion(spec)
        self._over = True

    @property
    def chunk(self) -> Chunk:
        """The newest chunk.

        Raises:
            ResetNeeded: there is none yet.
        """
        if self._chunk is None:
            raise ResetNeeded("there is no chunk before reset; call reset first")
        return self._chunk

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of the world, and of the draw from ``cases``; None goes on drawing.
            options: Any of ``case``, ``plan`` and ``script``, for this episode.

        Raises:
            InvalidOption: ``seed`` is no whole number from 0, or ``options`` no dict.
            PlanRequired: control is ``plan`` and nothing says what to walk.
            UnknownName: an option, case or script does not exist.
        """
        seed, chosen = read_seed(seed), read_options(options)
        super().reset(seed=seed)
        self._over = True
        if seed is None:
            self.episode_seed = int(self.np_random.integers(2**31))
        else:
            self.episode_seed = seed
        case, script, plan = self._choose(chosen)
        target, script_name, prompts = self._target(case, script, plan)
        spec = self.world_spec
        if self.control == "plan" and target is None:
            raise PlanRequired(
                f"{spec.name} in control 'plan' needs a path: give script= (such as "
                "'worldmembench:lrlr'), case= of a suite, or plan="
            )
        path = None if target is None else fit_path(target, spec)
        start = Start() if case is None else case.start(spec)
        asked = path if self.control == "plan" else None
        chunk = self.world.reset(start, seed=self.episode_seed, plan=asked)
        check_chunk(chunk, spec, None)
        given = len(chunk.frames)
        if target is not None and given != spec.reset_frames:
            refitted = fit_path(target, spec, given)
            if spec.drive == "plan" and refitted != path:
                raise GenerationFailed(
                    f"{spec.name} returned {given} frames on reset where its spec's reset_frames "
                    f"says {spec.reset_frames}, so the plan it got no longer fits"
                )
            path = refitted
        before = 0
        if path is not None and target is not None:
            moves = np.flatnonzero((target.poses != target.poses[0]).any(axis=(1, 2)))
            before = max(0, given - (int(moves[0]) if len(moves) else len(target)))
        last = sys.maxsize if self.max_frames is None else self.max_frames + before
        if path is not None:
            if target is not None and self.max_frames is not None and len(target) > self.max_frames:
                gym.logger.warn(
                    f"the plan has {len(target)} frames but max_frames={self.max_frames} ends the "
                    "episode earlier; raise max_frames to walk it whole"
                )
            last = min(last, len(path))
        self.case, self.script, self.path = case, script_name, path
        self._prompts = tuple((0 if f == 0 else f + before, text) for f, text in prompts)
        self._chunk, self.t, self._steps, self._last = _own(chunk), given - 1, 0, last
        self._motion = Motion(spec)
        self._over = False
        return self._observe()

    def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Make the next chunk.

        Raises:
            InvalidAction: the action lies outside the action space.
            ResetNeeded: the episode has not begun or is over.
            GenerationFailed: the world returned something that is no valid chunk.
        """
        if self._over:
            raise ResetNeeded("there is no running episode; call reset before step")
        n = self.world_spec.chunk_at(self._steps)
        poses, prompt = self._asked(action, n)
        chunk = self.world.step(poses, prompt)
        self._chunk = _own(check_chunk(chunk, self.world_spec, n))
        self._steps += 1
        self.t += n
        truncated = self.t + 1 >= self._last
        self._over = truncated
        observation, info = self._observe()
        return observation, 0.0, False, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """Return the last frame for ``rgb_array``; a ``human`` window is already up to date."""
        if self.render_mode is None:
            gym.logger.warn("render() needs render_mode='rgb_array' or 'human'")
            return None
        if self.render_mode == "human":
            return None
        return np.array(self.chunk.frames[-1])

    def close(self) -> None:
        """Close the window and the world; may be called twice."""
        self._over = True
        if self._viewer is not None:
            self._viewer.close()
        self.world.close()

    def _observe(self) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        chunk = self.chunk
        phases = None if self.path is None else self.path.phases
        info: dict[str, Any] = {
            "t": self.t,
            "n": len(chunk.frames),
            "phase": None if phases is None else phases[self.t],
            "pose": np.array(chunk.poses[-1], dtype=np.float64),
        }
        if self.chunk_in_info:
            info["chunk"] = chunk
        if self._viewer is not None:
            self._viewer.show(chunk.frames)
        return np.array(chunk.frames[-1]), info

    def _choose(
        self, options: Mapping[str, Any]
    ) -> tuple[Case | None, Script | None, CameraPath | None]:
        """Return the case, script and plan of the next episode."""
        for key in options:
            if key not in RESET_OPTIONS:
                raise UnknownName("reset option", str(key), RESET_OPTIONS)
        if options.get("script") is not None and options.get("plan") is not None:
            raise InvalidOption("give script or plan in options, not both")
        chosen = self._case
        if options.get("case") is not None:
            chosen = resolve_case(options["case"])
        elif self._cases is not None:
            chosen = self._cases[int(self.np_random.integers(len(self._cases)))]
        case, brought = (None, None) if chosen is None else chosen
        if options.get("plan") is not None:
            return case, None, resolve_plan(options["plan"], self.world_spec)
        if options.get("script") is not None:
            return case, resolve_script(options["script"]), None
        if brought is not None:
            return case, brought, None
        if self._script is None and self._plan is None and self.control == "plan":
            return case, script_of(case), None
        return case, self._script, self._plan

    def _target(
        self, case: Case | None, script: Script | None, plan: CameraPath | None
    ) -> tuple[CameraPath | None, str | None, tuple[tuple[int, str], ...]]:
        """Return the target path, the script's name, and (first frame, prompt) of segments."""
        spec = self.world_spec
        if script is None:
            return plan, None, ()
        if self.control == "primitive":
            path = script.path(spec, case, self.control)
        else:
            path = script.path(spec, case)
        prompts = getattr(script, "prompts", None)
        segments = () if prompts is None or spec.prompt != "chunk" else prompts(spec, case)
        return path, script.name, tuple(segments)

    def _asked(self, action: Any, n: int) -> tuple[NDArray[np.float64], str | None]:
        """Return the poses (n, 4, 4) and the prompt that an action asks for."""
        prompt = None
        for frame, text in self._prompts:
            if frame <= self.t + 1:
                prompt = text
        if self.control == "prompt":
            if not isinstance(action, str) or len(action) > PROMPT_LENGTH:
                raise InvalidAction(f"expected a text of up to {PROMPT_LENGTH} characters")
            return self._motion.held(n), action
        if self.control in ("plan", "primitive"):
            assert isinstance(self.action_space, spaces.Discrete)
            choice = read_index(action, int(self.action_space.n))
            if self.control == "primitive":
                return self._motion.primitive(
                    Primitive[self.world_spec.primitives[choice]], n
                ), prompt
            assert self.path is not None
            return self.path.poses[self.t + 1 : self.t + 1 + n], prompt
        rows = read_twists(action, self.action_space.shape or ()) * self.world_spec.max_twist
        return self._motion.twists(rows[:n] if rows.ndim == 2 else np.tile(rows, (n, 1))), prompt


def _own(chunk: Chunk) -> Chunk:
    """Return the chunk with states of its own: a world may hand out the same one for long."""
    if chunk.truth is None or "state" not in chunk.truth:
        return chunk
    states = chunk.truth["state"]
    copies = {id(state): _copied(state) for state in states}
    own = tuple(copies[id(state)] for state in states)
    return chunk._replace(truth={**chunk.truth, "state": own})


def _copied(value: Any) -> Any:
    # copy.deepcopy takes ten times as long for plain values; most are numbers, in rows.
    if isinstance(value, dict):
        return {k: _copied(v) if isinstance(v, (dict, list)) else v for k, v in value.items()}
    if isinstance(value, list):
        return [_copied(v) if isinstance(v, (dict, list)) else v for v in value]
    return value


def make_world_env(world: str, **keywords: Any) -> WorldEnv:
    """Return the environment of a world by name: the entry point of ``gym.make``.

    Args:
        world: What ``load_world`` takes.
        keywords: Keywords of ``WorldEnv``; the others are options of the world.

    Raises:
        UnknownName: neither the environment nor the world has such an option.
    """
    mine = {key: keywords.pop(key) for key in _KEYWORDS if key in keywords}
    loaded = load_world(world, **keywords)
    try:
        env = WorldEnv(loaded, **mine)
        env.world_options = keywords
        return env
    except BaseException:
        loaded.close()
        raise


_KEYWORDS = (
    "control",
    "case",
    "cases",
    "script",
    "plan",
    "render_mode",
    "max_frames",
    "chunk_in_info",
)
