"""H.264 as a stream: one picture in, the same picture as a viewer would see it out, at once."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from worldenv.video import ffmpeg_executable
from worldenv.world import GenerationFailed, WorldEnvError

__all__ = ["CodecMissing", "H264Stream"]

INTERVAL = 16
"""Pictures from one key picture to the next."""
PATIENCE = 30.0
"""Seconds after which a picture that does not come back is given up."""
_LEAST = 16


class CodecMissing(WorldEnvError):
    """This machine's ffmpeg cannot code H.264."""


class H264Stream:
    """Codes and decodes pictures one by one, without looking ahead.

    Every sixteenth picture is a key picture and the quantiser is fixed, so what a picture becomes
    depends on nothing before its key picture: a stream can go on from those few pictures.

    Args:
        size: (width, height) of the pictures.
        quantiser: 0 (almost lossless) to 51 (worst).

    Attributes:
        group: The pictures since the last key picture, as they went in, each (rows, columns) uint8
            in planar YUV 4:2:0.
    """

    def __init__(self, size: tuple[int, int], quantiser: int) -> None:
        self._width, self._height = size
        # Chroma has half the size, and the smallest block that is coded has 16 pixels a side.
        self._coded = (
            max(_LEAST, self._width + self._width % 2),
            max(_LEAST, self._height + self._height % 2),
        )
        self._quantiser = quantiser
        self._encoder: subprocess.Popen[bytes] | None = None
        self._decoder: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self.group: tuple[NDArray[np.uint8], ...] = ()

    def code(self, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return what a picture (height, width, 3) looks like after coding.

        Raises:
            CodecMissing: ffmpeg has no encoder for H.264, or keeps pictures back.
            GenerationFailed: ffmpeg stopped.
        """
        import cv2

        width, height = self._coded
        right, below = width - self._width, height - self._height
        padded = np.pad(frame, ((0, below), (0, right), (0, 0)), mode="edge")
        planes = np.asarray(cv2.cvtColor(padded, cv2.COLOR_RGB2YUV_I420), dtype=np.uint8)
        coded = self._pass(planes)
        shown = np.asarray(cv2.cvtColor(coded, cv2.COLOR_YUV2RGB_I420), dtype=np.uint8)
        return np.ascontiguousarray(shown[: self._height, : self._width])

    def restart(self, group: Sequence[NDArray[np.uint8]] = ()) -> None:
        """Begin anew, as if the pictures of ``group`` had just gone through."""
        self.close()
        if len(group) < INTERVAL:
            for planes in group:
                self._pass(planes)
        self.group = tuple(group)

    def close(self) -> None:
        """End the processes; may be called twice."""
        for process in (self._encoder, self._decoder):
            if process is None:
                continue
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if self._errors is not None:
            self._errors.close()
        self._encoder = self._decoder = self._errors = None
        self.group = ()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _pass(self, planes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if len(self.group) >= INTERVAL:
            self.group = ()
        if self._encoder is None:
            self._start()
        self.group = (*self.group, planes)
        assert self._encoder is not None and self._decoder is not None
        assert self._encoder.stdin is not None and self._decoder.stdout is not None
        try:
            self._encoder.stdin.write(planes.tobytes())
            self._encoder.stdin.flush()
        except OSError as error:
            raise self._trouble() from error
        out = bytearray()
        until = time.monotonic() + PATIENCE
        pipe = self._decoder.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while len(out) < planes.size:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise self._trouble("it keeps pictures back")
                part = os.read(pipe, planes.size - len(out))
                if not part:
                    raise self._trouble()
                out += part
        return np.frombuffer(bytes(out), np.uint8).reshape(planes.shape)

    def _start(self) -> None:
        width, height = self._coded
        self._errors = tempfile.TemporaryFile()
        ffmpeg = (ffmpeg_executable(), "-nostdin", "-loglevel", "error", "-filter_threads", "1")
        encode = [
            *ffmpeg,
            *("-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", f"{width}x{height}"),
            *("-framerate", "16", "-threads", "1", "-i", "pipe:0"),
            *("-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-threads", "1"),
            *("-qp", str(self._quantiser), "-g", str(INTERVAL), "-keyint_min", str(INTERVAL)),
            *("-sc_threshold", "0", "-bf", "0", "-flush_packets", "1", "-f", "nut", "pipe:1"),
        ]
        decode = [
            *ffmpeg,
            *("-flags", "low_delay", "-probesize", "32", "-analyzeduration", "0"),
            *("-fpsprobesize", "0", "-threads", "1", "-f", "nut", "-i", "pipe:0"),
            # More than one thread would keep a picture back in each.
            *("-c:v", "rawvideo", "-pix_fmt", "yuv420p", "-threads", "1"),
            *("-flush_packets", "1", "-f", "rawvideo", "pipe:1"),
        ]
        shared: dict[str, Any] = {
            "stdout": subprocess.PIPE,
            "stderr": self._errors,
            "start_new_session": True,
        }
        self._encoder = subprocess.Popen(encode, stdin=subprocess.PIPE, **shared)
        assert self._encoder.stdout is not None
        self._decoder = subprocess.Popen(decode, stdin=self._encoder.stdout, **shared)
        # The decoder holds it now; the encoder is to notice when the decoder ends.
        self._encoder.stdout.close()

    def _trouble(self, reason: str = "") -> WorldEnvError:
        said = ""
        if self._errors is not None:
            self._errors.seek(0)
            lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            said = lines[0].strip() if lines else ""
        self.close()
        if reason or "encoder" in said.lower():
            return CodecMissing(
                f"the fault 'compression' needs an ffmpeg that codes H.264 at once: "
                f"{reason or said}; install imageio-ffmpeg's own, or leave the fault out"
            )
        return GenerationFailed(f"ffmpeg stopped while coding H.264: {said or 'it said nothing'}")
