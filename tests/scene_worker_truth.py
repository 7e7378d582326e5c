"""The scene that the played estimator knows."""

import numpy as np


def true_pose(k, still=False):
    angle = 0.03 * k
    pose = np.eye(4)
    c, s = np.cos(angle), np.sin(angle)
    pose[:3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    if not still:
        pose[:3, 3] = [0.1 * k, 0.02 * np.sin(k), 0.05 * k]
    return pose


def true_depth(k):
    return np.linspace(1.0, 4.0, 6 * 8, dtype=np.float32).reshape(6, 8) + 0.01 * k
