"""Every constant of the three protocols in one versioned table, each with its source."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from worldenv.world import UnknownName

CONSTANTS_VERSION = "2"
"""Part of every score row; changes whenever a value below does."""


class Constant(NamedTuple):
    """A number that a score depends on.

    Attributes:
        value: The number.
        source: ``paper`` (printed there), ``code`` (read in the authors' code or data) or ``ours``
            (the sources are silent or break).
        meaning: What it does, with its unit.
    """

    value: float
    source: Literal["paper", "code", "ours"]
    meaning: str


_P: Final = "paper"
_C: Final = "code"
_O: Final = "ours"

TABLE: dict[str, Constant] = {
    # Images
    "psnr.mse_floor": Constant(1 / 12, _O, "mean squared error floor: rounding noise of uint8"),
    "ssim.window": Constant(7, _P, "side of the uniform window, pixels"),
    # WorldMemBench
    "worldmembench.stride": Constant(4, _O, "sampling of V and R_k, frames"),
    "worldmembench.min_area": Constant(0.002, _O, "smallest valid mask, share of the frame"),
    "worldmembench.core_angle": Constant(15, _O, "core: largest angle from the start, degrees"),
    "worldmembench.core_cut": Constant(0.005, _O, "core: more of the outline cut than in V"),
    "worldmembench.core_turned": Constant(1, _O, "core: camera rotation undone where K is known"),
    "worldmembench.canvas": Constant(128, _O, "Eq. 5: side of the common canvas, pixels"),
    "worldmembench.depth_grid": Constant(32, _O, "Spearman grid, points a side"),
    "worldmembench.bin_degrees": Constant(1, _O, "Eq. 6: angular bin, degrees"),
    "worldmembench.min_bins": Constant(100, _O, "Eq. 6: fewest common bins"),
    "worldmembench.return_angle": Constant(30, _P, "departure and return threshold, degrees"),
    "worldmembench.rpe_stride": Constant(10, _O, "stride of the jitter-robust RPE, frames"),
    "worldmembench.quality_stride": Constant(4, _P, "sampling of the quality metrics, frames"),
    "worldmembench.judge_stride": Constant(8, _P, "frames that the judge sees, beside the last"),
    "worldmembench.progress_start": Constant(0.01, _O, "event progress that counts as started"),
    # R2M
    "r2m.gap_ratio": Constant(0.2, _P, "smallest gap of a revisit, share of T"),
    "r2m.gap_min": Constant(10, _P, "smallest gap of a revisit, frames"),
    "r2m.percentile": Constant(95, _P, "step percentile behind the thresholds"),
    "r2m.step_factor": Constant(2, _P, "threshold over the step percentile"),
    "r2m.position_min": Constant(0.1, _P, "lower bound of tau_pos, metres"),
    "r2m.position_max": Constant(1.0, _P, "upper bound of tau_pos, metres"),
    "r2m.rotation_min": Constant(1.0, _P, "lower bound of tau_rot, degrees"),
    "r2m.rotation_max": Constant(5.0, _P, "upper bound of tau_rot, degrees"),
    "r2m.tolerance_ratio": Constant(0.3, _P, "gap tolerance of baselines, share of the gap"),
    "r2m.tolerance_min": Constant(10, _P, "gap tolerance of baselines, frames"),
    "r2m.exclusion_min": Constant(10, _P, "exclusion radius eta, frames"),
    "r2m.exclusion_divisor": Constant(20, _P, "exclusion radius eta, T over this"),
    "r2m.short_min": Constant(2, _P, "smallest short gap, frames"),
    "r2m.short_max": Constant(6, _P, "largest short gap of a short video, frames"),
    "r2m.short_ratio": Constant(0.02, _P, "largest short gap, share of T"),
    "r2m.short_count_min": Constant(20, _P, "fewest short pairs"),
    "r2m.short_count_max": Constant(100, _P, "most short pairs"),
    "r2m.code_pairs": Constant(100, _C, "most revisit pairs of the released code"),
    "r2m.code_seed": Constant(42, _C, "seed of the released code"),
    "r2m.se3_draws": Constant(20, _O, "baselines a revisit of the se3 rule"),
    "r2m.epsilon": Constant(1e-8, _P, "added to DR; smaller DR is dropped"),
    "r2m.reliable": Constant(0.1, _O, "DR under this share of the scale is unreliable"),
    "r2m.high_nmr": Constant(0.8, _O, "NMR from which retention counts as high"),
    "r2m.anchors": Constant(10, _P, "object anchors a frame"),
    "r2m.candidates": Constant(5, _P, "candidates an anchor"),
    "r2m.object_area": Constant(0.002, _P, "smallest object mask, share of the frame"),
    "r2m.object_appearance": Constant(0.5, _P, "weight of the appearance in the match score"),
    "r2m.object_match": Constant(0.5, _P, "smallest accepted match score"),
    "r2m.covisible_min": Constant(0.05, _O, "co-visible share under which state is 1"),
    "r2m.covisible_full": Constant(0.3, _O, "co-visible share from which state may be 5"),
    "r2m.covisible_grid": Constant(48, _O, "grid of the co-visibility test, points a side"),
    "r2m.scale.psnr": Constant(4.5, _P, "median MG / NMR of the published table, dB"),
    "r2m.scale.ssim": Constant(0.13, _P, "median MG / NMR of the published table"),
    "r2m.scale.lpips": Constant(0.25, _P, "median MG / NMR of the published table"),
    "r2m.scale.dino": Constant(0.32, _P, "median MG / NMR of the published table"),
    "r2m.scale.boq": Constant(0.41, _P, "median MG / NMR of the published table"),
    "r2m.scale.mutualvpr": Constant(0.22, _P, "median MG / NMR of the published table"),
    "r2m.scale.app_persist": Constant(0.17, _P, "median MG / NMR of the published table"),
    "r2m.scale.sem_persist": Constant(0.05, _P, "median MG / NMR of the published table"),
    "r2m.scale.feature_correspondence": Constant(0.38, _P, "median MG / NMR of the table"),
    "r2m.scale.geometric_inlier": Constant(0.16, _P, "median MG / NMR of the published table"),
    "r2m.scale.state": Constant(1.6, _P, "median MG / NMR of the published table"),
    # MBench
    "mbench.stride": Constant(4, _O, "sampling of outgoing frames for fold pairs, frames"),
    "mbench.pairs": Constant(32, _O, "most fold pairs"),
    "mbench.segment": Constant(8, _O, "lighting segment, frames"),
    "mbench.lighting_alpha": Constant(1, _O, "weight of the colour shift"),
    "mbench.lighting_tau": Constant(10, _O, "temperature, units of L in 0..100"),
    "mbench.style_tau": Constant(1, _O, "temperature, mean Frobenius distance of Grams"),
    "mbench.text_frames": Constant(8, _O, "frames a text segment"),
    "mbench.identity_frames": Constant(32, _P, "uniform frames that faces are looked for in"),
    "mbench.identity_match": Constant(0.15, _P, "smallest similarity of a face to its track"),
    "mbench.neighbour_gap": Constant(8, _O, "straddling pairs without return: fewest frames"),
    "mbench.min_area": Constant(0.002, _O, "smallest valid mask, share of the frame"),
    "mbench.pair_angle": Constant(5, _O, "straddling pairs: largest angle, degrees"),
    "mbench.pair_path": Constant(0.1, _O, "straddling pairs: largest distance, share of the path"),
    "mbench.pair_depth": Constant(0.01, _O, "distance or baseline, share of median depth"),
    "mbench.pair_baseline": Constant(0.01, _O, "baseline without depth, share of the target path"),
    "mbench.pixel_width": Constant(504, _O, "width at which pixel errors are measured"),
    "mbench.min_matches": Constant(8, _O, "fewest verified matches of a pair"),
    "mbench.judge_stride": Constant(8, _O, "frames that the judge sees, beside the last"),
    "mbench.still": Constant(1e-3, _O, "twist norm under which a camera counts as still"),
    # Backbones
    "entities.glances": Constant(4, _O, "frames of a return that a second detector looks at"),
    "faces.inside": Constant(0.5, _O, "share of a face's box inside its person's box"),
    "sift.features": Constant(1024, _P, "keypoints a frame"),
    "sift.ratio": Constant(0.8, _O, "second-nearest ratio"),
    "ransac.pixels": Constant(3.0, _P, "inlier distance, pixels"),
    "ransac.confidence": Constant(0.99, _P, "confidence"),
    "ransac.min_matches": Constant(8, _P, "fewest matches"),
    # Odometry without weights
    "odometry.points": Constant(300, _O, "corners that are followed"),
    "odometry.apart": Constant(50, _O, "distance of corners, frame width over this"),
    "odometry.window": Constant(21, _O, "side of the window that is followed, pixels"),
    "odometry.reverse": Constant(0.5, _O, "largest error of following forth and back, pixels"),
    "odometry.noise": Constant(0.25, _O, "standard deviation of a followed corner, pixels"),
    "odometry.outlier": Constant(8, _O, "residual at which a corner is dropped, over the noise"),
    "odometry.least": Constant(12, _O, "fewest corners; with fewer the pose is repeated"),
    "odometry.agree": Constant(0.3, _O, "fewest corners that agree on one motion, share"),
    "odometry.iterations": Constant(12, _O, "most steps of a fit"),
    "odometry.depth_spread": Constant(4.0, _O, "spread of an unknown inverse depth, share of it"),
    "odometry.start": Constant(0.05, _O, "first step that is tried each way, share of the depth"),
    "odometry.parallax": Constant(1.0, _O, "median parallax from which depths are learned, pixels"),
    "odometry.known": Constant(0.3, _O, "spread at which a depth counts as known, share of it"),
    "odometry.gain": Constant(0.4, _O, "share by which moving must explain more than turning"),
    "odometry.least_gain": Constant(15, _O, "robust squares by which it must explain more"),
    "odometry.lost": Constant(0.1, _O, "share of lost frames from which poses are unreliable"),
    "odometry.memory": Constant(0.95, _O, "share of what is known of a depth kept a frame"),
    "detect.box": Constant(0.25, _P, "smallest confidence of a box"),
    "detect.text": Constant(0.20, _P, "smallest confidence that a word names it"),
    "detect.overlap": Constant(0.60, _P, "overlap (IoU) from which the weaker box is dropped"),
    "detect.most": Constant(20, _O, "most boxes of a noun in a frame"),
    "detect.second": Constant(0.15, _O, "smallest confidence of a second look"),
    "follow.overlap": Constant(0.5, _O, "overlap (IoU) from which a box is of a followed thing"),
    "superpoint.points": Constant(1024, _P, "most keypoints a frame"),
    "superpoint.score": Constant(5e-4, _P, "smallest score of a keypoint"),
    "lightglue.score": Constant(0.1, _P, "smallest score of a match"),
    # Statistics
    "stats.bootstrap": Constant(1000, _P, "bootstrap draws"),
    "stats.confidence": Constant(0.95, _P, "confidence of intervals"),
}


def constant(name: str) -> float:
    """Return a constant by name.

    Raises:
        UnknownName: the table has no such entry.
    """
    if name not in TABLE:
        raise UnknownName("constant", name, TABLE)
    return TABLE[name].value


def whole(name: str) -> int:
    """Return a constant that is a count or a length, as int."""
    return int(constant(name))
