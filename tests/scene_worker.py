"""Plays an estimator in another process: knows the scene, but not where a stretch lies in it.

Every stretch comes in a unit and a frame of its own, as from a real one. Frames carry their number
in their first pixel.
"""

import importlib.util
import os
import sys
import time

import numpy as np
from scene_worker_truth import true_depth, true_pose

spec = importlib.util.spec_from_file_location("worker", os.environ["WORKER"])
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)


def load():
    mode = sys.argv[2]
    if mode == "absent":
        raise ImportError("no module named scene")

    def estimate(frames):
        numbers = frames[:, 0, 0, 0].astype(int) + 256 * frames[:, 0, 0, 1].astype(int)
        first = int(numbers[0])
        if mode == "slow" and first:
            time.sleep(60)
        if mode == "dies" and first:
            print("out of memory", file=sys.stderr)
            os._exit(3)
        print("noise that is no answer")
        poses = np.stack([true_pose(k, mode == "still") for k in numbers])
        poses = np.linalg.inv(poses[0]) @ poses
        unit = 1.0 + (first * 7 % 5)
        poses[:, :3, 3] *= unit
        if mode == "nan":
            poses[0, 0, 0] = np.nan
        if mode == "few":
            poses = poses[1:]
        found = {"poses": poses}
        if mode != "poses":
            found["depth"] = np.stack([unit * true_depth(k) for k in numbers])
        return found

    return estimate


if __name__ == "__main__":
    worker.die_with(int(sys.argv[4]))
    worker.serve(load)
