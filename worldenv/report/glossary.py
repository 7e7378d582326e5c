"""What each metric means, for reports and explanations: one entry a published metric key."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """How a metric is read.

    Attributes:
        title: Heading.
        role: Role whose backbone measures it, empty where arithmetic alone does.
        meaning: One sentence for a reader who has not read the paper.
        formula: In plain characters.
        best: ``1`` when larger is better, ``-1`` when smaller is.
        limits: Range, as text.
    """

    title: str
    role: str
    meaning: str
    formula: str
    best: int = 1
    limits: str = "0 to 1"


GLOSSARY: dict[str, dict[str, Entry]] = {
    "worldmembench": {
        "human_identity": Entry(
            "Human identity",
            "identity",
            "Whether each face on return is the face that was there at the start.",
            "mean over t in R_k of max over r in V of clip01 cos(face(r), face(t))",
        ),
        "human_appearance": Entry(
            "Human appearance",
            "embed",
            "Whether each person on return looks like the person at the start (clothes, body).",
            "mean over t in R_k of max over r in V of clip01 cos(e(r), e(t)), e inside the mask",
        ),
        "object_appearance": Entry(
            "Object appearance",
            "embed",
            "Whether the target object on return looks as it did at the start.",
            "mean over t in R_k of max over r in V of clip01 cos(e(r), e(t)), e inside the mask",
        ),
        "object_geometry": Entry(
            "Object geometry",
            "segment",
            "Whether the target's silhouette on return has the shape it had at the start.",
            "mean over t in R_k of max over r in V of IoU(C(mask r), C(mask t)), C on 128 x 128",
        ),
        "environment_visible": Entry(
            "Environment, visible",
            "embed",
            "Whether the view on return looks like the first view.",
            "clip01 cos(e(first), e(return)), return = frame of R_k closest in orientation",
        ),
        "environment_depth": Entry(
            "Environment, depth",
            "depth",
            "Whether near and far are ordered on return as they were at the start.",
            "Spearman rho of depth on a 32 x 32 grid, first view against return view",
            limits="-1 to 1",
        ),
        "environment_reconstruction": Entry(
            "Environment, reconstruction",
            "depth",
            "Whether the surfaces seen on return lie where they lay at the start.",
            "sum over common bins of exp(-|H - G - median(H - G)|) / number of occupied bins",
        ),
        "event_start": Entry(
            "Event starts",
            "judge",
            "Whether the event visibly begins before the camera leaves.",
            "1 when at least two frames of V show concrete progress, else 0",
        ),
        "dynamic_progress": Entry(
            "Dynamic: return progress",
            "judge",
            "Whether the event went on while nobody looked.",
            "gate x mean of two answers",
        ),
        "dynamic_persistence": Entry(
            "Dynamic: persistence",
            "judge",
            "Whether what had happened stayed happened.",
            "gate x mean of two answers",
        ),
        "dynamic_final_state": Entry(
            "Dynamic: final state",
            "judge",
            "Whether the event ends in the state it should.",
            "gate x mean of two answers",
        ),
        "dynamic_causal": Entry(
            "Dynamic: causal",
            "judge",
            "Whether the change is physically sensible.",
            "gate x mean of two answers",
        ),
        "dynamic_overall": Entry(
            "Dynamic: overall",
            "judge",
            "All eight questions, zero when the event never starts.",
            "gate x mean of eight answers",
        ),
        "imaging_quality": Entry(
            "Imaging quality",
            "quality",
            "Technical quality of single frames.",
            "mean over every 4th frame of clip01(quality); MUSIQ / 100 in profile paper",
        ),
        "aesthetic_quality": Entry(
            "Aesthetic quality",
            "aesthetic",
            "How pleasing single frames are.",
            "mean over every 4th frame of clip01(aesthetic); LAION / 10 in profile paper",
        ),
        "translation_rpe": Entry(
            "Translation error",
            "pose",
            "How far the camera's steps are from those asked for.",
            "sum over t of |trans(dQ_t^-1 dQ'_t)|, target path scaled to length 1",
            best=-1,
            limits="0 and up",
        ),
        "rotation_rpe": Entry(
            "Rotation error",
            "pose",
            "How far the camera's turns are from those asked for.",
            "sum over t of angle(dR_t^T dR'_t) / sum over t of angle(dR_t)",
            best=-1,
            limits="0 and up; 1 for a camera that never turns",
        ),
    },
    "mbench": {
        "geometry": Entry(
            "Object geometry",
            "depth",
            "Whether the target's structure survives leaving and coming back.",
            "mean over fold pairs of SSIM inside the mask, return frame warped to the outgoing one",
        ),
        "texture": Entry(
            "Object texture",
            "embed",
            "Whether the target's surface stays the same over time.",
            "mean over frames of cos(f_i, mean of f)",
        ),
        "identity": Entry(
            "Human identity",
            "identity",
            "Whether each face stays the same face.",
            "mean over people of the mean cos(face, mean of all theirs), tracked over 32 frames",
        ),
        "appearance": Entry(
            "Human appearance",
            "embed",
            "Whether each person's body and clothes stay the same.",
            "mean over frames of cos(f_i, mean of f)",
        ),
        "epipolar": Entry(
            "Epipolar",
            "match",
            "Whether matched points before and after the absence obey the camera motion.",
            "exp(-E), E = mean point-to-epipolar-line distance in pixels at 504 px width",
        ),
        "reprojection": Entry(
            "Reprojection",
            "match",
            "Whether triangulated points fall where they are seen.",
            "exp(-E), E = mean reprojection distance in pixels at 504 px width",
        ),
        "lighting": Entry(
            "Lighting",
            "",
            "Whether brightness and colour cast are the same on return.",
            "exp(-D / tau), D = mean of |dL| + alpha |d(a, b)| between paired segments",
        ),
        "style": Entry(
            "Style",
            "style",
            "Whether the look of surfaces stays the same.",
            "exp(-mean Frobenius distance of paired frames' Gram matrices / tau), tau = 1",
        ),
        "state": Entry(
            "State evolution",
            "judge",
            "How far the event went on while nobody looked.",
            "(score - 1) / 4",
        ),
        "evolution_correctness_raw": Entry(
            "Evolution correctness",
            "judge",
            "Whether what changed, changed as it should.",
            "(score - 1) / 4",
        ),
        "evolution_correctness_gated": Entry(
            "Evolution correctness, gated",
            "judge",
            "The same, weighted by how far the event went on.",
            "g x s",
        ),
        "text": Entry(
            "Text following",
            "text",
            "Whether each segment shows its prompt.",
            "mean over segments of the mean cosine of their prompt and 8 frames",
            limits="-1 to 1",
        ),
        "action": Entry(
            "Action following",
            "pose",
            "Whether the camera moved the way it was asked to.",
            "mean cosine of realised and commanded twist",
            limits="-1 to 1",
        ),
    },
    "r2m": {
        "psnr": Entry(
            "PSNR",
            "",
            "Pixel agreement.",
            "10 log10(255^2 / max(MSE, 1/12))",
            limits="0 to 58.92 dB",
        ),
        "ssim": Entry(
            "SSIM", "", "Agreement of local structure.", "7 x 7 RGB SSIM", limits="-1 to 1"
        ),
        "lpips": Entry("LPIPS", "perceptual", "Perceptual distance.", "AlexNet LPIPS", best=-1),
        "dino": Entry(
            "Scene embedding",
            "embed",
            "Whether it is recognisably the same view.",
            "cos(e(i), e(j))",
            limits="-1 to 1",
        ),
        "boq": Entry(
            "Place (BoQ)",
            "place",
            "Whether it is the same place.",
            "cos(p(i), p(j))",
            limits="-1 to 1",
        ),
        "mutualvpr": Entry(
            "Place (MutualVPR)",
            "place",
            "Whether it is the same place.",
            "cos(p(i), p(j))",
            limits="-1 to 1",
        ),
        "app_persist": Entry(
            "Object appearance persists",
            "embed",
            "Whether objects are found again and look alike.",
            "mean over anchors of a = (1 + cos) / 2 on white, 0 where (a + u) / 2 < 0.5",
        ),
        "sem_persist": Entry(
            "Object semantics persist",
            "text",
            "Whether objects are found again as what they were.",
            "mean over anchors of u = mean of confidence and (1 + cos(crop, text)) / 2, as above",
        ),
        "feature_correspondence": Entry(
            "Feature correspondence",
            "match",
            "How much local structure can be matched.",
            "matches / keypoints",
        ),
        "geometric_inlier": Entry(
            "Geometric inliers",
            "match",
            "How much of the matches fits one camera motion.",
            "RANSAC inliers / matches",
        ),
        "state": Entry(
            "Persistent state",
            "judge",
            "Whether what both frames see is unchanged.",
            "1 + 4 min(1, o / 0.3) x unchanged share",
            limits="1 to 5",
        ),
    },
}

VARIANTS: dict[str, str] = {
    "whole": "all valid frames of the revisit, as the paper has it",
    "core": "frames within 15 degrees of the start whose mask is cut no more than the reference's",
    "raw": "mean over revisit pairs",
    "base": "mean over gap-matched pairs that are no revisit",
    "short": "mean over neighbouring pairs",
    "mg": "memory gain: raw - base",
    "dr": "dynamic range: short - base",
    "nmr": "memory ratio: mg / dr; 0 = no better than any pair, 1 = as good as neighbours",
}

STATUS_MEANING: dict[str, str] = {
    "ok": "measured",
    "unreliable": "measured, but the scale it rests on is too weak to compare (see detail)",
    "no_observation": "the detector found nothing to measure",
    "absent": "the target was looked for and is judged gone",
    "not_applicable": "the metric has no meaning on this path or case",
    "unavailable": "a role is missing: the profile or the source cannot provide it",
    "error": "the measurement broke; the detail says how",
}


def entry(benchmark: str, metric: str) -> Entry | None:
    """Return the entry of a metric, None for a key without one."""
    return GLOSSARY.get(benchmark, {}).get(metric)
