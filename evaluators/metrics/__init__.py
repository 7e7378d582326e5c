"""Metrics as pure functions of arrays."""

from worldenv.evaluators.metrics.appearance import (
    centroid_consistency,
    cosine,
    lab_mean,
    lighting_consistency,
)
from worldenv.evaluators.metrics.checks import InvalidInput
from worldenv.evaluators.metrics.depth import depth_spearman, spherical_reconstruction
from worldenv.evaluators.metrics.identity import identity_consistency, track_identities
from worldenv.evaluators.metrics.image import psnr, ssim, ssim_map
from worldenv.evaluators.metrics.match import Correspondence, Keypoints, correspondence
from worldenv.evaluators.metrics.motion import epipolar_consistency, twist_alignment
from worldenv.evaluators.metrics.objects import object_identity
from worldenv.evaluators.metrics.shape import silhouette_iou
from worldenv.evaluators.metrics.style import gram_distance, style_consistency

__all__ = [
    "Correspondence",
    "InvalidInput",
    "Keypoints",
    "centroid_consistency",
    "correspondence",
    "cosine",
    "depth_spearman",
    "epipolar_consistency",
    "gram_distance",
    "identity_consistency",
    "lab_mean",
    "lighting_consistency",
    "object_identity",
    "psnr",
    "silhouette_iou",
    "spherical_reconstruction",
    "ssim",
    "ssim_map",
    "style_consistency",
    "track_identities",
    "twist_alignment",
]
