"""Offline equals online: a recorded episode of Reference-v0 scores to the same bits."""

import json
from dataclasses import replace

import pytest

from worldenv import offline
from worldenv.bench import Settings, plan
from worldenv.stage import walk
from worldenv.worlds import load_world

SHORT = {
    "worldmembench": "worldmembench:lrlr(hold=8,leg=8)",
    "mbench": "mbench:exit_reenter(hold=8,leg=16,wait=4)",
    "r2m": "r2m:out_and_back(leg=24)",
}


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", SHORT)
def test_a_recorded_episode_scores_to_the_same_bits(benchmark, tmp_path):
    world = load_world("Reference-v0", size=(96, 72))
    episode = plan(Settings("Reference-v0"), [benchmark], 1, controls=False)[0]
    episode = replace(episode, item=replace(episode.item, script=SHORT[benchmark]))
    made = []
    _, summary = walk(
        world,
        episode,
        tmp_path / "rollout",
        profile="classic+truth",
        options={"size": [96, 72]},
        progress=lambda name, n: made.append(n),
    )
    world.close()
    assert sum(made) == world.frames_rendered, "each frame is rendered once"
    again = offline.score(tmp_path / "rollout", benchmarks=[benchmark])
    online = [score.to_dict() for score in summary.scores]
    offline_scores = [{k: getattr(row, k) for k in online[0]} for row in again.scores]
    # As text, so that every digit counts.
    assert json.dumps(offline_scores) == json.dumps(online)
    assert any(score["value"] is not None for score in online)
