"""The light profile with its real weights, on real photographs."""

import os
from functools import cache, partial

import cv2
import numpy as np
import pytest
from boxes_world import ToyWorld, out_and_back, play
from skimage import data

from worldenv import weights
from worldenv.camera import CameraPath
from worldenv.evaluators.backbones.regions import region
from worldenv.evaluators.engine import Engine, build_engine
from worldenv.evaluators.metrics.checks import InvalidInput
from worldenv.evaluators.plan import Ask, Context, Measurement, Outcome, Slot, Thing
from worldenv.evaluators.profile import Profile, load_profile
from worldenv.evaluators.profiles import TABLE, Setting, _loaded
from worldenv.weights import DamagedWeights, Located
from worldenv.world import Chunk

LIGHT = TABLE["light"]
# Its odometry needs intrinsics, which every source of frames with a path has.
SETTING = Setting(K=np.array([[100.0, 0, 80], [0, 100, 48], [0, 0, 1]]))


def needs(*roles):
    """Mark a test that runs backbones; without their weights it says which command brings them."""
    reasons = {reason for role in roles if (reason := LIGHT[role].lacks(SETTING))}
    short = (
        "; ".join(sorted(reasons))
        if len(roles) < 3
        else ("pip install 'worldenv[light]', then: worldenv weights fetch light")
    )
    skip = pytest.mark.skipif(bool(reasons), reason=short)
    return lambda test: pytest.mark.weights(skip(test))


@cache
def made(role):
    return LIGHT[role].make(SETTING)


def answer(role, *values, frames=(0,), subject=""):
    return made(role).compute([Ask(role, frames, subject)], [values])[0]


@cache
def photo(name):
    if name == "hopper":
        sample = pytest.importorskip("matplotlib.cbook").get_sample_data
        found = cv2.imread(str(sample("grace_hopper.jpg", asfileobj=False)))[..., ::-1]
    elif name.startswith("motorcycle"):
        found = data.stereo_motorcycle()[name.endswith("right")]
    else:
        found = getattr(data, name)()
    found = np.stack([found] * 3, axis=-1) if found.ndim == 2 else found[..., :3]
    return np.ascontiguousarray(found)


def jpeg(image, quality):
    packed = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR))


def on_grey(size, *placed):
    """Return a grey frame (width, height) with pictures at (left, top, width, height)."""
    frame = np.full((size[1], size[0], 3), 90, np.uint8)
    for image, left, top, width, height in placed:
        small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
        frame[top : top + height, left : left + width] = small
    return frame


def test_ci_has_what_the_light_profile_needs():
    if not os.environ.get("CI"):
        pytest.skip("only CI must have the weights: worldenv weights fetch light")
    assert {role: choice.lacks(SETTING) for role, choice in LIGHT.items()} == dict.fromkeys(LIGHT)


# embed


@needs("embed")
def test_same_places_rank_above_different_ones():
    names = [
        *("astronaut", "chelsea", "coffee", "rocket", "camera", "coins", "moon", "brick"),
        *("grass", "gravel", "hubble_deep_field", "retina", "immunohistochemistry", "cell"),
    ]
    first, second = [], []
    for name in names:
        image = photo(name)
        height, width = image.shape[:2]
        first.append(image[: height * 3 // 4, : width * 3 // 4])
        # Less than half of either crop is in both; the second one is darker, too.
        other = image[height // 4 :, width // 4 :]
        second.append((other * 0.8).astype(np.uint8))
    first.append(photo("motorcycle_left"))
    second.append(photo("motorcycle_right"))
    net = made("embed")
    cosines = np.stack(net.vectors(first)) @ np.stack(net.vectors(second)).T
    same = np.diag(cosines)
    different = cosines[~np.eye(len(same), dtype=bool)]
    area = np.mean(same[:, None] > different[None])
    assert area >= 0.99
    assert np.mean(cosines.argmax(axis=1) == np.arange(len(same))) >= 0.9
    assert same.mean() > 0.7 and different.mean() < 0.4


@needs("embed")
def test_the_network_knows_what_its_weights_were_trained_for():
    import torch

    net = made("embed")._net
    for name, label in (("coffee", 967), ("chelsea", 285)):
        small = cv2.resize(photo(name), (224, 224), interpolation=cv2.INTER_AREA)
        x = torch.from_numpy((small.astype(np.float32) - 127) / 128).permute(2, 0, 1)[None]
        with torch.inference_mode():
            logits = net(x)[0]
        # ImageNet-1k: espresso, Egyptian cat.
        assert int(logits.argmax()) == label and logits.shape == (1000,)


@needs("embed")
def test_a_region_is_embedded_without_what_lies_around_it():
    rows, columns = np.mgrid[:400, :600]
    mask = (rows - 210) ** 2 + (columns - 300) ** 2 < 130**2
    frame = photo("coffee")
    elsewhere = np.where(mask[..., None], frame, np.roll(photo("coffee"), 77, axis=0)[::-1])
    small = region(5, "cup", mask & (rows < 82))
    regions = (region(3, "cup", mask), small)
    found = answer("embed", (frame, regions), subject=Thing("cup"))
    again = answer("embed", (elsewhere, regions), subject=Thing("cup"))
    assert list(found) == [3] and small.area < 0.002
    about, vector = found[3]
    assert about.category == "cup" and about.mask.size == 0 and vector.shape == (1280,)
    assert vector.dtype == np.float32 and np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(vector, again[3][1])
    assert answer("embed", (frame, ()), subject=Thing("cup")) == {}


# perceptual


@needs("perceptual")
def test_lpips_is_its_formula_on_the_released_arrays():
    import torch
    from torch.nn import functional

    from worldenv.evaluators.backbones.checkpoint import read_tensors

    arrays = read_tensors(weights.locate("lpips-alexnet"), "alexnet.safetensors")

    def features(image):
        x = torch.from_numpy(image.astype(np.float64)).permute(2, 0, 1)[None] / 255 * 2 - 1
        shift, scale = torch.tensor([[-0.030, -0.088, -0.188], [0.458, 0.448, 0.450]]).double()
        x = (x - shift.view(1, 3, 1, 1)) / scale.view(1, 3, 1, 1)
        for k, (stride, padding) in enumerate([(4, 2), (1, 2), (1, 1), (1, 1), (1, 1)]):
            if k in (1, 2):
                x = functional.max_pool2d(x, 3, 2)
            kernel = arrays[f"AlexNet_0/Conv_{k}/kernel"].double().permute(3, 2, 0, 1)
            bias = arrays[f"AlexNet_0/Conv_{k}/bias"].double()
            x = functional.conv2d(x, kernel, bias, stride, padding).clamp(min=0)
            yield x / (torch.sqrt((x**2).sum(dim=1, keepdim=True)) + 1e-10)

    def distance(a, b):
        total = 0.0
        for k, (fa, fb) in enumerate(zip(features(a), features(b), strict=True)):
            head = arrays[f"NetLinLayer_{k}/Conv_0/kernel"].double().view(1, -1, 1, 1)
            total += float((head * (fa - fb) ** 2).sum(dim=1).mean())
        return total

    first = photo("coffee")[100:196, 200:360]
    for second in (cv2.GaussianBlur(first, (0, 0), 2), first[:, ::-1], photo("chelsea")[:96, :160]):
        ours = answer("perceptual", *map(looked_at, (first, second)), frames=(0, 1))
        assert ours == pytest.approx(distance(first, second), rel=1e-4)
        assert ours > 0.05
    assert answer("perceptual", looked_at(first), looked_at(first), frames=(0, 1)) == 0.0


def looked_at(frame, net=None):
    return (net or made("perceptual")).compute([Ask("perceptual", (0,))], [(frame,)])[0]


@needs("perceptual")
def test_lpips_is_the_same_wherever_its_maps_lie(monkeypatch):
    from worldenv.evaluators.backbones.lpips import Lpips

    located = weights.locate("lpips-alexnet")
    frames = [cv2.resize(photo(n), (96, 80)) for n in ("coffee", "chelsea", "rocket", "astronaut")]
    one_frame = sum(part.nbytes for part in looked_at(frames[0], Lpips(located)).slot.read())
    roomy, small, none = Lpips(located), Lpips(located, disk=2 * one_frame), Lpips(located, disk=0)
    full = Lpips(located)
    found = []
    for net in (roomy, small, none, full):
        if net is full:
            monkeypatch.setattr("os.pwritev", lambda *a: (_ for _ in ()).throw(OSError(28, "full")))
        maps = [looked_at(frame, net) for frame in frames]
        kept = [entry.frame is not None for entry in maps]
        pair = [Ask("perceptual", (0, 1))]
        found.append([net.compute(pair, [(maps[0], other)])[0] for other in maps])
        assert kept == ([False] * 4 if net is roomy else [net is not small] * 2 + [True] * 2)
        # Frames of another size find no place beside these, and take the file after them.
        other = cv2.resize(frames[0], (64, 64))
        assert looked_at(other, net).frame is not None
        del maps
        assert (looked_at(other, net).slot is not None) == (net in (roomy, small))
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0][0] == 0 and min(found[0][1:]) > 0.3


@needs("perceptual")
def test_lpips_holds_no_more_than_is_in_use():
    from worldenv.evaluators.backbones.lpips import Lpips

    net = Lpips(weights.locate("lpips-alexnet"))
    frame = cv2.resize(photo("coffee"), (64, 64))
    held = [looked_at(frame, net) for _ in range(3)]
    for _ in range(20):
        held = [*held[1:], looked_at(frame, net)]
    assert net._store._places == 4


@needs("perceptual")
@pytest.mark.parametrize("size", [(31, 200), (200, 31), (31, 31)])
def test_lpips_says_which_frames_are_too_small(size):
    noise = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
    maps = looked_at(noise)
    assert answer("perceptual", maps, looked_at(noise[::-1].copy()), frames=(0, 1)) > 0
    with pytest.raises(InvalidInput, match="at least 31 x 31"):
        looked_at(noise[:30, :30])


# style


@needs("style")
def test_style_is_gram_matrices_of_the_named_layers():
    import torch
    from torch.nn import functional

    from worldenv.evaluators.backbones.checkpoint import read_tensors

    frame = cv2.resize(photo("coffee"), (336, 224), interpolation=cv2.INTER_AREA)
    grams = answer("style", frame)
    assert [gram.shape[0] for gram in grams] == [64, 128, 256, 512]
    arrays = read_tensors(weights.locate("vgg16"), "vgg16.safetensors")
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    x = torch.from_numpy(((frame / 255 - mean) / deviation).transpose(2, 0, 1)[None]).float()
    for k in range(4):
        if k in (2,):
            x = functional.max_pool2d(x, 2)
        kernel = arrays[f"VGG16_0/Conv_{k}/kernel"].permute(3, 2, 0, 1)
        bias = arrays[f"VGG16_0/Conv_{k}/bias"]
        x = functional.conv2d(x, kernel, bias, padding=1).clamp(min=0)
        if k in (1, 3):
            maps = x[0].flatten(1).double().numpy()
            expected = np.einsum("ap,bp->ab", maps, maps) / maps.size
            assert grams[k // 2] == pytest.approx(expected, rel=1e-3, abs=1e-5)
    for gram in grams:
        assert gram.dtype == np.float32 and np.allclose(gram, gram.T)

    def apart(other):
        pairs = zip(grams, answer("style", other), strict=True)
        return np.mean([np.linalg.norm(a - b) for a, b in pairs])

    # Where things are is no style; colours and contrast are.
    assert apart(frame) == 0 < apart(frame[:, ::-1]) < apart(cv2.GaussianBlur(frame, (0, 0), 3))
    assert apart(frame[:, ::-1]) < apart(photo("chelsea"))


# match and matches


@needs("match", "matches")
def test_xfeat_finds_a_known_homography():
    rng = np.random.default_rng(3)
    for name in ("coffee", "astronaut"):
        first = cv2.resize(photo(name), (640, 448))
        corners = np.array([[0, 0], [640, 0], [640, 448], [0, 448]], np.float32)
        moved = np.array([[60, 30], [620, 10], [560, 398], [20, 438]], np.float32)
        H = cv2.getPerspectiveTransform(corners, moved)
        noise = rng.normal(0, 6, first.shape)
        second = np.clip(cv2.warpPerspective(first, H, (640, 448)) * 0.7 + noise, 0, 255)
        a, b = answer("match", first), answer("match", second.astype(np.uint8))
        assert len(a.points) == 1024 and a.descriptors.shape == (1024, 64)
        assert np.linalg.norm(a.descriptors, axis=1) == pytest.approx(1, abs=1e-4)
        found = answer("matches", a, b, frames=(0, 1))
        off = cv2.perspectiveTransform(found.first[:, None], H)[:, 0] - found.second
        right = np.linalg.norm(off, axis=1) < 3
        assert found.counts == (1024, len(b.points)) and len(found.first) > 300
        assert right.mean() > 0.6 and np.abs(np.median(off, axis=0)).max() < 0.5
        fitted, inliers = cv2.findHomography(found.first, found.second, cv2.RANSAC, 3.0)
        landed = cv2.perspectiveTransform(corners[:, None], fitted)[:, 0]
        assert np.linalg.norm(landed - moved, axis=1).mean() < 6 and inliers.sum() > 200
        strange = answer("matches", a, answer("match", photo("chelsea")), frames=(0, 1))
        assert len(strange.first) < len(found.first) / 4


@needs("match", "matches")
def test_keypoints_lie_in_pixels_of_the_frame():
    # Neither side is a multiple of 32, so the network sees another size.
    first = cv2.resize(photo("coffee"), (650, 430))
    wide = np.pad(first, ((40, 24), (50, 14), (0, 0)), mode="reflect")
    a, b = answer("match", first), answer("match", wide)
    found = answer("matches", a, b, frames=(0, 1))
    off = np.median(found.second - found.first, axis=0)
    assert off == pytest.approx([50, 40], abs=0.5)
    flat = answer("match", np.full((64, 64, 3), 128, np.uint8))
    assert len(answer("matches", a, flat, frames=(0, 1)).first) == 0 or len(flat.points)


# faces and identity


@needs("faces")
def test_blazeface_finds_faces_and_their_landmarks():
    (face,) = answer("faces", photo("astronaut"))
    left, top, right, bottom = face.box
    assert abs((left + right) / 2 - 224) < 12 and abs((top + bottom) / 2 - 122) < 15
    assert 80 < right - left < 130 and 0.8 < face.score <= 1
    expected = [[204, 102], [246, 104], [222, 131], [202, 140], [244, 141]]
    assert np.abs(face.landmarks - np.array(expected)).max() < 6
    (mirrored,) = answer("faces", np.ascontiguousarray(photo("astronaut")[:, ::-1]))
    assert np.abs(511 - mirrored.landmarks[[1, 0, 2, 4, 3], 0] - face.landmarks[:, 0]).max() < 4
    for name in ("chelsea", "coffee", "rocket", "brick"):
        assert answer("faces", photo(name)) == ()


@needs("faces")
@pytest.mark.parametrize("size", [300, 150, 100])
def test_a_small_face_in_a_wide_frame_is_found_where_it_is(size):
    frame = on_grey((640, 360), (photo("astronaut"), 290, 30, size, size))
    (face,) = answer("faces", frame)
    centre = (face.box[:2] + face.box[2:]) / 2
    expected = np.array([290, 30]) + np.array([224, 122]) * size / 512
    assert np.linalg.norm(centre - expected) < 0.05 * size


@needs("faces", "identity")
def test_identity_tells_people_apart():
    astronaut, hopper = photo("astronaut"), photo("hopper")
    turn = cv2.getRotationMatrix2D((225, 110), 15, 1)
    same = [
        astronaut,
        np.ascontiguousarray(astronaut[:, ::-1]),
        cv2.resize(astronaut, (256, 256), interpolation=cv2.INTER_AREA),
        (astronaut * 0.5).astype(np.uint8),
        cv2.warpAffine(astronaut, turn, (512, 512)),
        jpeg(astronaut, 40),
    ]

    def vector(frame):
        ((face, found),) = answer("identity", frame, answer("faces", frame))
        assert face.score > 0.6 and found.dtype == np.float32
        assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
        return found

    first = vector(astronaut)
    alike = [float(first @ vector(frame)) for frame in same]
    assert alike[0] == pytest.approx(1, abs=1e-5) and min(alike) > 0.6
    other = vector(hopper)
    apart = [float(other @ vector(frame)) for frame in same]
    assert max(apart) < 0.3
    small = on_grey((640, 360), (astronaut, 290, 30, 100, 100))
    assert len(answer("faces", small)) == 1
    assert answer("identity", small, answer("faces", small)) == ()


def test_the_lifted_cosine_follows_distance():
    from worldenv.evaluators.backbones.dlib_face import SIGMA, directions, lifted

    turns = directions()
    rng = np.random.default_rng(0)
    for distance in (0.0, 0.3, 0.6, 1.0):
        for _ in range(5):
            a = rng.standard_normal(128) * 0.12
            step = rng.standard_normal(128)
            b = a + step / np.linalg.norm(step) * distance
            expected = np.exp(-(distance**2) / (2 * SIGMA**2))
            cosine = float(lifted(a, turns) @ lifted(b, turns))
            assert cosine == pytest.approx(expected, abs=0.05)
    assert np.exp(-0.36 / (2 * SIGMA**2)) == pytest.approx(0.3, abs=0.005)


# segment and detect


def people(frame, index=0, window=(), before=None):
    values = (frame,) if before is None else (frame, before)
    return answer("segment", *values, frames=(index,), subject=Thing("person", window))


@needs("segment", "detect")
def test_people_are_cut_out_and_things_are_not():
    (found,) = people(photo("astronaut"))
    assert found.category == "person" and 0.35 < found.area < 0.6 and found.cut > 0.05
    # Face and suit are hers; shuttle, flag and the corners are not.
    assert found.mask[110, 224] and found.mask[350, 150]
    assert not (found.mask[60, 420] or found.mask[40, 20] or found.mask[300, 480])
    for name in ("chelsea", "coffee", "rocket", "brick", "motorcycle_left"):
        assert people(photo(name)) == ()
    subject = Thing("person")
    need = Ask("segment", (4,), subject)
    assert made("detect").needs(Ask("detect", (4,), subject)) == (need,)
    assert answer("detect", (found,), frames=(4,), subject=subject) == (found,)


@needs("segment")
def test_people_keep_their_tracks_from_frame_to_frame():
    one, two = photo("astronaut"), photo("hopper")
    window = (2, 5, 8)

    def frame(left, right):
        return on_grey((640, 360), (one, left, 30, 330, 330), (two, right, 60, 252, 300))

    first = people(frame(10, 370), 2, window)
    assert len(first) == 2 and len({r.track for r in first}) == 2
    ask = Ask("segment", (5,), Thing("person", window))
    before = Ask("segment", (2,), Thing("person", window))
    assert before in made("segment").needs(ask)
    second = people(frame(20, 380), 5, window, first)
    here = {r.track: float(np.argwhere(r.mask)[:, 1].mean()) for r in first}
    later = {r.track: float(np.argwhere(r.mask)[:, 1].mean()) for r in second}
    assert set(here) == set(later)
    assert all(0 < later[track] - here[track] < 40 for track in here)
    (alone,) = people(on_grey((640, 360), (two, 380, 60, 252, 300)), 8, window, second)
    assert alone.track == max(here, key=here.get)
    strangers = people(frame(20, 380), 8, window, ())
    assert not {r.track for r in strangers} & set(here)


# quality


@needs("quality")
def test_brisque_rates_damage():
    rng = np.random.default_rng(0)
    for name in ("astronaut", "chelsea", "coffee", "rocket"):
        clean = photo(name)

        def noisy(k, clean=clean):
            return np.clip(clean + rng.normal(0, k, clean.shape), 0, 255).astype(np.uint8)

        for damaged in (
            [cv2.GaussianBlur(clean, (0, 0), k) for k in (1, 2, 4)],
            [noisy(k) for k in (10, 25, 50)],
            [jpeg(clean, k) for k in (50, 20, 5)],
        ):
            found = [answer("quality", frame) for frame in (clean, *damaged)]
            assert found == sorted(found, reverse=True) and found[0] - found[-1] > 0.3
            assert found[0] > 0.9 and all(0 <= value <= 1 for value in found)
    for value in (0, 128, 255):
        flat = answer("quality", np.full((64, 80, 3), value, np.uint8))
        assert 0 <= flat < 0.5


def test_the_skewed_distribution_is_fitted():
    from worldenv.evaluators.backbones.brisque import fitted

    rng = np.random.default_rng(1)
    normal = rng.normal(0, 2, (400, 500))
    alpha, mean, left, right = fitted(normal)
    assert alpha == pytest.approx(2, abs=0.05) and mean == pytest.approx(0, abs=0.03)
    assert left == pytest.approx(4, rel=0.03) and right == pytest.approx(4, rel=0.03)
    alpha, *_ = fitted(rng.laplace(0, 1, (400, 500)))
    assert alpha == pytest.approx(1, abs=0.03)
    skewed = np.where(normal < 0, normal * 0.5, normal)
    _, mean, left, right = fitted(skewed)
    assert left == pytest.approx(1, rel=0.03) and right == pytest.approx(4, rel=0.03)
    # The fit gives the density one height at zero, which this sample does not have.
    assert mean == pytest.approx(2 / np.sqrt(np.pi / 2) * 0.5, rel=0.05)
    assert all(np.isfinite(fitted(np.zeros((5, 5))))) and all(np.isfinite(fitted(np.ones((5, 5)))))


# All of it


@needs(*LIGHT)
def test_every_backbone_says_what_it_is():
    for role, choice in LIGHT.items():
        backbone = made(role)
        assert backbone.batch == 1 and backbone.revision and backbone.name
        if choice.weights:
            assert backbone.checksum == weights.locate(choice.weights[0]).checksum


@needs(*LIGHT)
@pytest.mark.parametrize("role", [role for role in LIGHT if LIGHT[role].weights])
def test_files_of_another_network_are_refused(tmp_path, role):
    """Every file of the set is replaced by that of another network of the same format."""
    if role in ("detect", "matches"):
        pytest.skip("it reads no file itself")
    located = weights.locate(LIGHT[role].weights[0])
    strange = {
        ".safetensors": weights.locate("brisque").folder / "ranges.safetensors",
        ".tflite": weights.locate("blazepose").folder / "selfie.tflite",
        ".dat": weights.locate("dlib-face").folder / "landmarks.dat",
        ".txt": weights.locate("brisque").folder / weights.STAMP,
    }
    for path in weights.table()[located.id].files:
        replacement = strange[os.path.splitext(path)[1]]
        if replacement.name == path:
            replacement = weights.locate("xfeat").folder / "xfeat.safetensors"
        for entry in located.folder.iterdir():
            (tmp_path / entry.name).write_bytes(entry.read_bytes())
        for content in (replacement.read_bytes(), b"garbage", b""):
            (tmp_path / path).write_bytes(content)
            choice = LIGHT[role]
            maker = type(made(role))
            wrong = Located(located.id, tmp_path, "1", "c", "MIT")
            with pytest.raises(DamagedWeights, match=f"worldenv weights verify {located.id}"):
                maker(wrong, **dict(choice.options))


@pytest.mark.parametrize(
    ("module", "network", "load"),
    [("lpips", "LpipsNet", "load_lpips"), ("vgg", "VggNet", "load_vgg")],
)
@pytest.mark.parametrize(
    "key", ["features.0.weight", "AlexNet_0/Conv_x/kernel", "VGG16_0/Conv_1/kernel", "bias"]
)
def test_a_tensor_of_another_network_is_told_by_its_own_name(tmp_path, module, network, load, key):
    pytest.importorskip("torch")
    from importlib import import_module

    from safetensors.numpy import save_file

    found = import_module(f"worldenv.evaluators.backbones.{module}")
    save_file({key: np.zeros(2, np.float32)}, tmp_path / "net.safetensors")
    located = Located("tiny", tmp_path, "1", "c", "MIT")
    with pytest.raises(DamagedWeights) as failure:
        getattr(found, load)(getattr(found, network)(), located, "net.safetensors")
    assert f"unexpected {key};" in str(failure.value)
    assert ".." not in str(failure.value)


def still(n):
    return CameraPath(np.tile(np.eye(4), (n, 1, 1)))


@needs(*LIGHT)
def test_answers_do_not_depend_on_how_frames_come():
    names = ("coffee", "astronaut", "chelsea", "rocket")
    frames = np.stack([cv2.resize(photo(name), (160, 96)) for name in names])
    window = tuple(range(4))
    asks = [
        *(Ask(role, (k,)) for role in ("embed", "faces", "identity") for k in window),
        *(Ask(role, (k,)) for role in ("quality", "match") for k in window),
        Ask("style", (1,)),
        *(Ask("segment", (k,), Thing("person", window)) for k in window),
        *(Ask(role, (i, 3 - i)) for role in ("perceptual", "matches", "flow") for i in (0, 1)),
    ]

    def flat(value):
        if isinstance(value, tuple | list):
            return [part for entry in value for part in flat(entry)]
        return [value if isinstance(value, str) else np.asarray(value).tobytes()]

    def run(chunk, anew=True):
        if anew:
            # Networks that have seen nothing yet: what they hold must not stand in for a look.
            _loaded.cache_clear()
        found = {}

        def keep(features):
            found.update(features)
            return [Outcome(0.0, 1)]

        measurement = Measurement("r2m", (Slot("all"),), tuple(asks), keep)
        makers = {role: partial(choice.make, SETTING) for role, choice in LIGHT.items()}
        engine = Engine([measurement], Context(still(4), Profile("light", makers)))
        for start in range(0, 4, chunk):
            part = frames[start : start + chunk]
            engine.observe(Chunk(part, np.tile(np.eye(4), (len(part), 1, 1)), None))
        assert [s.status for s in engine.finish().scores] == ["ok"]
        return {ask: flat(value) for ask, value in found.items()}

    assert run(4) == run(1) == run(4, anew=False)


@needs(*LIGHT)
def test_a_revisit_is_scored_by_light_and_truth_together():
    path = out_and_back(33)
    world = ToyWorld(size=(64, 64))
    truth = ("pose", "depth", "ids", "state")
    engine = build_engine(
        path, benchmarks=["r2m"], profile="light+truth", K=world.K, K_exactness="exact", truth=truth
    )
    _, summary = play(engine, world, path)
    used = summary.backbones
    assert (
        used["perceptual"]["name"] == "lpips-alex" and used["embed"]["name"] == "efficientnet-lite0"
    )
    assert used["match"]["name"] == "xfeat-1024" and used["segment"]["name"] == "truth-segment"
    metrics = {s.metric for s in summary.scores if s.status in ("ok", "unreliable")}
    assert {"lpips", "dino", "feature_correspondence", "psnr", "app_persist"} <= metrics
    assert not [s for s in summary.scores if s.status == "error"]
    boq = [s for s in summary.scores if s.metric == "boq"]
    assert boq and all(s.status == "unavailable" for s in boq)


def test_absent_weights_name_their_command_and_spare_the_rest(tmp_path, monkeypatch):
    monkeypatch.setenv(weights.FOLDER, str(tmp_path))
    profile = load_profile("light")
    assert profile.lacks("flow") is None and profile.lacks("psnr") is None
    for role, choice in LIGHT.items():
        if choice.weights:
            reason = profile.lacks(role)
            assert "profile light" in reason
            command = f"worldenv weights fetch {choice.weights[0]}"
            assert command in reason or "pip install 'worldenv[light]'" in reason
    assert "has no backbone" in profile.lacks("depth")


def test_a_noun_that_is_no_person_is_not_segmented():
    choice = LIGHT["segment"]
    assert choice.nouns == LIGHT["detect"].nouns == ("person",)
    profile = Profile("light", {"segment": object}, nouns={"segment": choice.nouns})
    assert profile.lacks("segment", "person") is None
    assert "knows person only" in profile.lacks("segment", "chair")
