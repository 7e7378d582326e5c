"""Every registered model: its spec, its stand-in, and what it says without weights."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from worldenv.camera import CameraPath
from worldenv.catalogue import entries
from worldenv.conformance import CHECKS, Subject, run_check
from worldenv.env import WorldEnv
from worldenv.recipe import load_recipe, recipe_names
from worldenv.world import Start, UnknownName, Unsupported, WeightsNotFound, WorldSpec, fit_path
from worldenv.worlds import WORLDS, load_world, world_module
from worldenv.worlds.models import with_context
from worldenv.worlds.models.model import ModelWorld

MODELS = {n: m.MODEL for n in WORLDS if hasattr(m := world_module(n), "MODEL")}
TINY = {"stand_in": True, "size": (32, 24), "family": "plain"}
NAMES = sorted(MODELS)


def long_path(model, steps=4):
    """A path within the model's own primitives: a step of each of two, and back."""
    subject = Subject(lambda: load_world(model.id, **TINY))
    try:
        return subject.there_and_back(max(2, steps // 2))
    finally:
        subject.world.close()


def test_every_id_of_the_papers_is_registered():
    wanted = """WorldPlay WorldPlayWan MatrixGame2 MatrixGame3 MatrixGame35 SanaWM SanaWMStreaming
    Yume Yume15 LingBotWorld LingBotWorldFast LingBotWorld2 Evoke DreamXWorld DreamXWorldCam
    DreamXWorldMemo Lyra2 InfiniteWorld WonderWorld SelfForcing LongLive LongLive2 Helios
    CausalForcing MemFlow CosmosPredict25 LongCatVideo SkyReelsV2""".split()
    assert set(wanted) == set(MODELS)
    assert set(WORLDS) - set(MODELS) == {"Reference", "Remote", "Panorama", "Recorded", "Distorted"}
    assert all(f"{name}-v0" in gym.registry for name in WORLDS)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_says_what_it_is(name):
    model = MODELS[name]
    spec = model.spec
    assert model.id == name
    assert spec.licence and spec.citation and spec.name and model.title
    assert WorldSpec.from_dict(spec.to_dict()) == spec
    made = load_world(f"{name}-v0").spec
    assert made == replace(model.spec_of({}), weights_revision=made.weights_revision)
    assert tuple(model.context) == spec.context_policies
    assert (model.control == "captions") <= (spec.pose_exactness == "nominal")
    assert spec.pose_exactness != "exact" or model.control == "poses"


@pytest.mark.parametrize("name", NAMES)
def test_without_weights_reset_says_what_it_takes(name):
    world = load_world(name)
    model = MODELS[name]
    plan = fit_path(CameraPath(np.eye(4)[None].repeat(9, 0), fps=model.spec.fps), model.spec)
    env = WorldEnv(world, control="plan", plan=plan, case="worldmembench/object/001")
    with pytest.raises(WeightsNotFound) as caught:
        env.reset(seed=0)
    env.close()
    text = str(caught.value)
    assert "\n" not in text
    if model.local:
        # tests/test_diffusion_loading.py asks for the rest.
        assert model.title in text
        return
    assert "stand_in=True" in text
    if name in recipe_names():
        recipe = load_recipe(name)
        assert recipe.licence.rstrip(".") in text
        assert all(weights.hub in text for weights in recipe.weights)
        assert "GPU" in text and f"worldenv setup {name}" in text


def test_every_model_but_one_has_a_recipe():
    # DreamX-World-Memo has been described only: neither code nor weights are public.
    assert set(MODELS) - set(recipe_names()) == {"DreamXWorldMemo"}


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_starts_the_factory_of_its_module(name):
    if name not in recipe_names() or MODELS[name].local:
        return
    module, _, factory = load_recipe(name).adapter.partition(":")
    assert WORLDS[name] == f"{module}:make"
    assert callable(getattr(world_module(name), factory))


@pytest.mark.parametrize("name", NAMES)
def test_a_stand_in_shows_the_decoded_control(name):
    model = MODELS[name]
    world = load_world(name, **TINY)
    assert isinstance(world, ModelWorld)
    assert world.spec.stand_in and "stand-in" in world.spec.name
    path = long_path(model)
    env = WorldEnv(world, control="plan", plan=path, max_frames=None)
    env.reset(seed=3)
    chunks = [env.chunk]
    truncated = False
    while not truncated:
        truncated = env.step(0)[3]
        chunks.append(env.chunk)
    commanded = np.concatenate([chunk.poses for chunk in chunks])
    assert np.array_equal(commanded, np.concatenate([c.truth["pose"] for c in chunks]))
    expected = model.decode(model.compile(CameraPath(env.path.poses, fps=model.spec.fps))).poses
    assert np.allclose(commanded, expected, atol=1e-9)
    # The same scene along the decoded path, without any model.
    plain = load_world("Reference-v0", size=(32, 24), fov=world._world._fov, family="plain")
    frames = [plain.reset(Start(), seed=3, plan=None).frames]
    frames.append(plain.step(commanded[1:]).frames)
    assert np.array_equal(np.concatenate(frames), np.concatenate([c.frames for c in chunks]))
    env.close()
    plain.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_stand_in_keeps_the_contract(name):
    subject = Subject(lambda: load_world(name, **TINY), frames=1)
    # Speed and seeds are Reference-v0's, and tested there.
    for check in set(CHECKS) - {"speed", "seeds"}:
        finding = run_check(check, subject)
        assert finding.state != "problem", finding
    subject.world.close()


@pytest.mark.parametrize("name", [n for n in NAMES if MODELS[n].spec.drive != "plan"])
def test_control_does_not_depend_on_what_comes_later(name):
    model = MODELS[name]
    spec = model.spec
    path = CameraPath(long_path(model, 6).poses, fps=spec.fps)
    whole = model.decode(model.compile(path)).poses
    at = spec.reset_frames
    for step in range(4):
        at += spec.chunk_at(step)
        if at > len(path):
            break
        part = model.decode(model.compile(path[:at])).poses
        assert np.allclose(part, whole[:at], atol=1e-9), f"step {step}"


@pytest.mark.parametrize("name", NAMES)
def test_context_policies_are_switches_of_the_model(name):
    model = MODELS[name]
    for policy, switches in model.context.items():
        assert set(switches) <= set(model.options)
        assert with_context(model, policy, {}) == dict(switches)
        world = load_world(name, context=policy, **TINY)
        assert world.options == dict(switches)
        world.close()
    with pytest.raises(Unsupported, match="no context policy"):
        load_world(name, context="everything")


def test_context_and_a_contradicting_option_are_refused():
    for name, model in MODELS.items():
        for policy, switches in model.context.items():
            for key, value in switches.items():
                other = next(v for v in (0, 1, 2, "x") if v != value)
                with pytest.raises(Unsupported, match="drop one of the two"):
                    load_world(name, context=policy, **{key: other})


def test_unknown_options_name_the_known_ones():
    for name in MODELS:
        with pytest.raises(UnknownName, match="option of"):
            load_world(name, not_an_option=1)
    with pytest.raises(Unsupported, match="stand_in must be True or False"):
        load_world("WorldPlay", stand_in="yes")


@pytest.mark.parametrize(
    "options", [{"size": 5}, {"size": [64]}, {"context": [1]}, {"context": {}}, {"truth": 3}]
)
def test_options_of_another_type_are_refused(options):
    with pytest.raises((Unsupported, UnknownName), match=next(iter(options))):
        load_world("MatrixGame2", stand_in=True, **options)


def test_a_stand_in_cannot_start_from_a_picture():
    world = load_world("MatrixGame2", **TINY)
    with pytest.raises(Unsupported, match="cannot start from an image"):
        world.reset(Start(image=np.zeros((4, 4, 3), np.uint8)), seed=0, plan=None)


def test_the_list_of_worlds_has_them_all():
    found = {entry.id: entry for entry in entries()}
    assert set(found) == {f"{name}-v0" for name in WORLDS}
    assert found["Reference-v0"].readiness == "ready"
    assert found["Remote-v0"].readiness.startswith("needs ")
    assert found["WorldPlay-v0"].readiness == "worldenv setup WorldPlay"
    assert found["DreamXWorldMemo-v0"].readiness == "no public weights"
    for name, model in MODELS.items():
        assert found[f"{name}-v0"].licence == model.spec.licence


def test_the_page_of_worlds_is_up_to_date():
    folder = Path(__file__).parents[1] / "docs"
    spec = importlib.util.spec_from_file_location("make_tables", folder / "make_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (folder / "worlds.md").read_text("utf-8") == module.worlds_page(), (
        "run 'python docs/make_tables.py'"
    )
