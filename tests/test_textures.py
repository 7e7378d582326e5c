import subprocess
import sys

import numpy as np
import pytest

from worldenv.worlds.reference import pictures, skins, textures

assert pictures and skins

WORDS = {
    "plain": ("#aa7744",),
    "plaster": ("#aa7744",),
    "concrete": ("#aa7744",),
    "wallpaper": ("#aa7744", "#223344", "leaves"),
    "brick": ("#aa7744", "#bbbbbb"),
    "wood": ("#aa7744",),
    "planks": ("#aa7744",),
    "panelling": ("#aa7744",),
    "parquet": ("#aa7744",),
    "tiles": ("#aa7744", "#223344", "inlay"),
    "ceiling": ("#eeeeee", "tiles"),
    "fabric": ("#aa7744", "#223344", "plaid"),
    "leather": ("#aa7744",),
    "metal": ("#aa7744",),
    "enamel": ("#aa7744",),
    "ceramic": ("#aa7744", "#223344", "waves"),
    "leaf": ("#2f6b2a", "#9bb56a"),
    "rug": ("medallion",),
    "dial": ("#ffffff", "#000000"),
    "screen": ("desktop",),
    "ball": ("#ff0000", "#ffffff", "gores"),
    "skin": ("#c99b76",),
    "face": ("#c99b76", "#221100", "#aa5544", "beard"),
    "eye": ("#335577",),
    "ice": ("#bfe0ee",),
    "water": ("#4f7482",),
    "hair": ("#332211", "curly"),
}
TILING = (
    "plaster",
    "wallpaper",
    "brick",
    "planks",
    "parquet",
    "tiles",
    "fabric",
    "metal",
    "enamel",
)


@pytest.mark.parametrize("name", sorted(textures.PAINTERS))
def test_every_painter_draws_a_square_power_of_two(name):
    image = textures.draw(name, 3, WORDS.get(name, ()))
    size = len(image)
    assert image.shape == (size, size, 3) and image.dtype == np.uint8
    assert 64 <= size <= 512 and size & (size - 1) == 0
    assert not image.flags.writeable
    other = textures.draw(name, 4, WORDS.get(name, ()))
    assert name in ("eye", "dial", "ball", "wheel") or (image != other).any()


@pytest.mark.parametrize("name", TILING)
def test_surfaces_tile(name):
    """The step over the border is no larger than the largest steps inside."""
    image = textures.draw(name, 1, WORDS[name]).astype(float).mean(axis=-1)
    inside = max(abs(np.diff(image, axis=0)).mean(axis=1).max(), 1.0)
    assert abs(image[0] - image[-1]).mean() <= inside * 1.05 + 1


def test_paint_on_metal_runs_no_way():
    """A row of brushed metal is like itself along u; paint is as even along u as along v."""

    def steps(name):
        image = textures.draw(name, 1, ("#aa7744",)).astype(float).mean(axis=-1)
        return abs(np.diff(image, axis=0)).mean() / abs(np.diff(image, axis=1)).mean()

    assert steps("metal") > 3
    assert 0.8 < steps("enamel") < 1.25


def test_keys_name_their_content():
    kit = textures.Kit(5)
    first = kit.material("brick", "#aa7744", "#bbbbbb", seed=7)
    second = textures.Kit(99).material("brick", "#aa7744", "#bbbbbb", seed=7)
    assert first.texture == second.texture == "brick/7/#aa7744/#bbbbbb"
    assert np.array_equal(
        kit.textures[first.texture], textures.draw("brick", 7, ("#aa7744", "#bbbbbb"))
    )


def test_noise_is_within_its_range_and_repeats():
    values = textures.noise(np.random.default_rng(1), 64, 5, 9)
    assert values.shape == (64, 64) and values.min() >= 0 and values.max() <= 1
    assert np.array_equal(values, textures.noise(np.random.default_rng(1), 64, 5, 9))


def test_another_process_draws_the_same():
    code = (
        "import zlib; from worldenv.worlds.reference import textures, pictures;"
        "print(zlib.crc32(textures.draw('landscape', 2, ()).tobytes()))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**__import__("os").environ, "PYTHONHASHSEED": str(h)},
        ).stdout
        for h in (1, 2)
    }
    assert len(seen) == 1


def test_a_painter_cannot_take_the_name_of_another():
    def wood(rng):
        return np.zeros((8, 8, 3))

    kept = textures.PAINTERS["wood"]
    with pytest.raises(ValueError, match="has a painter 'wood' already"):
        textures.painter(wood)
    assert textures.PAINTERS["wood"] is kept
