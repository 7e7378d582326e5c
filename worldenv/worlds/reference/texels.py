"""Packs a scene's textures into one pool of sRGB mipmaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.world import Unsupported
from worldenv.worlds.reference.compile import kernel

LEVELS = 13
"""Most mipmaps of a texture, whose side is then 4096."""


def _linear_of(code: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the linear values of sRGB codes, both in [0, 1]."""
    linear = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear, dtype=np.float32)


def _srgb_of_linear(entries: int) -> NDArray[np.uint8]:
    linear = np.arange(entries) / (entries - 1.0)
    code = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return (code * 255 + 0.5).astype(np.uint8)


LINEAR = _linear_of(np.arange(256) / 255.0)
"""Linear value in [0, 1] of each sRGB code, shape (256,) (IEC 61966-2-1)."""

FINE_LINEAR = _linear_of(np.minimum((np.arange(2048) + 0.5) / 8.0, 255.0) / 255.0)
"""Linear value of sRGB codes in eighths of a code, taken in the middle, shape (2048,)."""

ENCODE = _srgb_of_linear(8192)
"""sRGB code of linear values, evenly spaced over [0, 1], shape (8192,)."""


class Texels(NamedTuple):
    """All textures in one array, each with its mipmaps down to one texel.

    Attributes:
        texels: Shape (n,) uint32, red in the lowest byte.
        offset: Shape (textures, LEVELS) int64, where each level starts.
        side: Shape (textures,) int64, side of level 0, a power of two.
        levels: Shape (textures,) int64, number of levels.
    """

    texels: NDArray[np.uint32]
    offset: NDArray[np.int64]
    side: NDArray[np.int64]
    levels: NDArray[np.int64]


@kernel
def _fill(image, out, offset, side, linear, encode):  # type: ignore[no-untyped-def]
    top = encode.size - 1
    for y in range(side):
        for x in range(side):
            out[offset + y * side + x] = (
                np.uint32(image[y, x, 0])
                | (np.uint32(image[y, x, 1]) << np.uint32(8))
                | (np.uint32(image[y, x, 2]) << np.uint32(16))
            )
    last = offset
    while side > 1:
        half = side // 2
        following = last + side * side
        for y in range(half):
            for x in range(half):
                packed = np.uint32(0)
                for c in range(3):
                    shift = np.uint32(8 * c)
                    total = np.float32(0.0)
                    for i in range(2):
                        for j in range(2):
                            t = out[last + (2 * y + i) * side + 2 * x + j]
                            total += linear[(t >> shift) & np.uint32(255)]
                    code = encode[int(total * np.float32(0.25 * top) + np.float32(0.5))]
                    packed |= np.uint32(code) << shift
                out[following + y * half + x] = packed
        last = following
        side = half


class Pool:
    """Textures in one growing array; an image once added keeps its number.

    Args:
        finest: Largest side kept; of larger images the finest mipmaps are left out.

    Attributes:
        texels: The arrays that the kernels read.
        number: Name -> row of ``texels.offset`` and the others.
    """

    def __init__(self, finest: int = 1 << (LEVELS - 1)) -> None:
        self._finest = finest
        self.texels = Texels(
            np.zeros(0, np.uint32),
            np.zeros((0, LEVELS), np.int64),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
        )
        self.number: dict[str, int] = {}
        self._images: dict[str, NDArray[np.uint8]] = {}
        self._used = 0

    def add(self, textures: dict[str, NDArray[np.uint8]]) -> None:
        """Add the textures that are not there yet.

        Args:
            textures: Square uint8 sRGB images (n, n, 3) whose side is a power of two.

        Raises:
            Unsupported: an image has another shape.
        """
        # Another scene may use a name for another image.
        new = {k: textures[k] for k in sorted(textures) if self._images.get(k) is not textures[k]}
        if not new:
            return
        for name, image in new.items():
            n = image.shape[0]
            if (
                image.dtype != np.uint8
                or image.shape != (n, n, 3)
                or n & (n - 1)
                or not 1 <= n <= 1 << (LEVELS - 1)
            ):
                raise Unsupported(
                    f"texture {name!r} is {image.dtype} {image.shape}; expected uint8 (n, n, 3) "
                    f"with n a power of two up to {1 << (LEVELS - 1)}"
                )
        offset, side, levels = [], [], []
        at = self._used
        for image in new.values():
            n = min(image.shape[0], self._finest)
            row = np.zeros(LEVELS, np.int64)
            for level in range(n.bit_length()):
                row[level] = at
                at += (n >> level) ** 2
            offset.append(row)
            side.append(n)
            levels.append(n.bit_length())
        old = self.texels
        texels = old.texels
        if at > len(texels):
            # Memory that is set aside but never written costs nothing.
            texels = np.empty(at + at // 2 + (1 << 20), np.uint32)
            texels[: self._used] = old.texels[: self._used]
        for k, ((name, image), row) in enumerate(zip(new.items(), offset, strict=True)):
            self.number[name] = len(old.side) + k
            self._images[name] = image
            n = image.shape[0]
            if n <= self._finest:
                _fill(np.ascontiguousarray(image), texels, row[0], n, LINEAR, ENCODE)
                continue
            whole = np.empty((4 * n * n - 1) // 3, np.uint32)
            _fill(np.ascontiguousarray(image), whole, 0, n, LINEAR, ENCODE)
            kept = (4 * self._finest**2 - 1) // 3
            texels[row[0] : row[0] + kept] = whole[len(whole) - kept :]
        self._used = at
        self.texels = Texels(
            texels,
            np.concatenate([old.offset, np.array(offset, np.int64)]),
            np.concatenate([old.side, np.array(side, np.int64)]),
            np.concatenate([old.levels, np.array(levels, np.int64)]),
        )
