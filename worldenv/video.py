"""Video through ffmpeg: lossless intra-only recording, and exact or guarded reading."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from worldenv.world import WorldEnvError

MAX_BYTES = 4 * 2**30
MAX_FRAMES = 20_000
MAX_PIXELS = 4096 * 2304
# Free bytes under which a failed write is put down to the disk, whatever the encoder says.
_FULL = 2**20

# Without a list ffmpeg would also follow playlists, which name other files and hosts.
_CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"


class InvalidVideo(WorldEnvError):
    """A file is no video that can be read whole, or it exceeds a limit."""


class StorageError(WorldEnvError):
    """Something could not be written: a full disk, a read-only folder, a name already taken."""


def ffmpeg_executable() -> str:
    """Return the ffmpeg that comes with imageio-ffmpeg."""
    import imageio_ffmpeg

    return str(imageio_ffmpeg.get_ffmpeg_exe())


class VideoWriter:
    """Writes frames as FFV1 in Matroska: RGB bit for bit, each frame alone, with checksums.

    Args:
        file: Where to write.
        size: (width, height).
        fps: Frames a second.

    Raises:
        StorageError: the file cannot be written; raised by any method.
    """

    def __init__(self, file: Path, size: tuple[int, int], fps: float) -> None:
        self._file = file
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        rate = Fraction(fps).limit_denominator(100_000)
        command = [
            *(ffmpeg_executable(), "-nostdin", "-loglevel", "error", "-y", "-threads", "1"),
            *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}"),
            *("-r", f"{rate.numerator}/{rate.denominator}", "-i", "pipe:0"),
            *("-c:v", "ffv1", "-level", "3", "-g", "1", "-slicecrc", "1", "-slices", "4"),
            *("-threads", "1", "-pix_fmt", "bgr0", "-f", "matroska", f"file:{file}"),
        ]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            # Ctrl-C is for us to answer; ffmpeg ends when its input does.
            start_new_session=True,
        )

    def write(self, frames: NDArray[np.uint8]) -> None:
        """Append frames (n, height, width, 3) uint8."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(frames).data.cast("B"))
        except OSError as error:
            self._process.wait()
            raise self._trouble() from error

    def close(self) -> None:
        """Finish the file."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError as error:
            self._process.wait()
            raise self._trouble() from error
        if self._process.wait() != 0:
            raise self._trouble()
        self._errors.seek(0)
        if self._errors.read(1):
            raise self._trouble()
        self._errors.close()

    def kill(self) -> None:
        """Stop at once and leave whatever was written."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except OSError:
                # What was still buffered has nowhere to go; that is what kill means.
                pass
        self._errors.close()

    def _trouble(self) -> StorageError:
        self._errors.seek(0)
        # The encoder puts its own address in front of what the system said.
        reason = re.sub(r"^(\[[^\]]*\]\s*)+", "", _last_line(self._errors.read()))
        if shutil.disk_usage(self._file.parent).free < _FULL:
            reason = "the disk is full"
        return StorageError(
            f"The video in {self._file.parent.parent} cannot be written: {reason}; free some space "
            "or choose another folder."
        )


def read_frames(
    file: Path, *, start: int = 0, count: int | None = None, fps: float | None = None
) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of a local video, (height, width, 3) uint8 RGB, decoding each once.

    Args:
        file: A local file in an MP4, Matroska or AVI container; rotation is applied.
        start: First frame; needs ``fps``, and a video whose frames stand alone.
        count: Number of frames, None for all.
        fps: Rate the file was written at, for ``start``.

    Raises:
        InvalidVideo: the file is empty, damaged, cut short, no video, or exceeds a limit.
    """
    _check_file(file)
    seek: tuple[str, ...] = ()
    if start:
        assert fps is not None
        # Half a frame early: time stamps in Matroska are rounded to milliseconds.
        seek = ("-ss", f"{(start - 0.5) / fps:.6f}")
    only = () if count is None else ("-frames:v", str(count))
    command = [
        *(ffmpeg_executable(), "-nostdin", "-loglevel", "error", "-xerror", "-threads", "1"),
        *("-err_detect", "crccheck+explode"),
        *("-protocol_whitelist", "file", "-format_whitelist", _CONTAINERS, *seek),
        *(
            "-i",
            f"file:{file}",
            "-map",
            "0:v:0",
            "-fps_mode",
            "passthrough",
            *only,
            "-enc_time_base",
            "1:1000000",
        ),
        *("-threads", "1", "-pix_fmt", "rgb24", "-c:v", "ppm", "-f", "image2pipe", "pipe:1"),
    ]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=2**20,
            start_new_session=True,
        )
        assert process.stdout is not None
        made = 0
        try:
            while (frame := _read_ppm(process.stdout, file)) is not None:
                made += 1
                if made > MAX_FRAMES:
                    raise InvalidVideo(f"{file} has more than {MAX_FRAMES} frames; cut it")
                yield frame
            code = process.wait()
            errors.seek(0)
            said = errors.read()
            if code != 0 or said:
                hint = "" if made else "; expected mp4, mov, mkv, webm or avi"
                raise InvalidVideo(
                    f"{file} is damaged, cut short or no video ({made} frames could be read): "
                    f"{_last_line(said)}{hint}"
                )
            if made == 0:
                raise InvalidVideo(f"{file} holds no frame")
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()


def _check_file(file: Path) -> None:
    if not file.is_file():
        raise InvalidVideo(f"{file} is no local file; give the path of an mp4 or mkv")
    size = file.stat().st_size
    if size == 0:
        raise InvalidVideo(f"{file} is empty (0 bytes)")
    if size > MAX_BYTES:
        raise InvalidVideo(f"{file} has {size} bytes; the limit is {MAX_BYTES}")


def _read_ppm(stream: IO[bytes], file: Path) -> NDArray[np.uint8] | None:
    """Return the next picture, None at the end; its header carries the size."""
    if stream.readline() != b"P6\n":
        return None
    width, height = (int(part) for part in stream.readline().split())
    stream.readline()
    if width * height > MAX_PIXELS:
        raise InvalidVideo(f"{file} is {width} x {height}; the limit is {MAX_PIXELS} pixels")
    data = stream.read(3 * width * height)
    if len(data) < 3 * width * height:
        return None
    return np.frombuffer(data, np.uint8).reshape(height, width, 3)


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else "ffmpeg stopped without saying why"
