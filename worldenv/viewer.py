"""A window that shows frames, by tkinter and Pillow, where both and a display exist."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.world import Unsupported


def why_not() -> str | None:
    """Return why no window can be opened here, or None when one can."""
    if importlib.util.find_spec("PIL") is None:
        return "Pillow is not installed: pip install 'worldenv[view]'"
    if importlib.util.find_spec("tkinter") is None:
        return "this Python has no tkinter: install your system's python3-tk package"
    display = os.environ.get("DISPLAY", "")
    if sys.platform.startswith("linux") and not display:
        return "there is no display; use render_mode='rgb_array'"
    return _display_trouble(display)


@functools.cache
def _display_trouble(display: str) -> str | None:
    """Return why a window cannot be opened on ``display``; tried once for each."""
    try:
        import tkinter

        tkinter.Tk().destroy()
    except (ImportError, RuntimeError) as error:
        return f"tkinter does not load ({error}); use render_mode='rgb_array'"
    except tkinter.TclError as error:
        return f"no window opens on display {display!r} ({error}); use render_mode='rgb_array'"
    return None


class Viewer:
    """One window that shows frames at their own pace.

    Args:
        title: Title of the window.
        fps: Frames a second.

    Raises:
        Unsupported: tkinter, Pillow or a display is missing; the message says what to install.
    """

    def __init__(self, title: str, fps: float) -> None:
        trouble = why_not()
        if trouble is not None:
            raise Unsupported(f"render_mode='human' cannot open a window: {trouble}")
        import tkinter

        self._pause = 1.0 / fps
        self._shown_at = 0.0
        self._root: Any = tkinter.Tk()
        self._root.title(title)
        self._label: Any = tkinter.Label(self._root, borderwidth=0)
        self._label.pack()
        self._closed = False
        self._root.protocol("WM_DELETE_WINDOW", self.close)

    def show(self, frames: NDArray[np.uint8]) -> None:
        """Show frames (n, height, width, 3) one after the other; a closed window stays closed."""
        from PIL import Image, ImageTk

        for frame in frames:
            if self._closed:
                return
            wait = self._shown_at + self._pause - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            self._shown_at = time.monotonic()
            # tkinter drops a picture that only it holds.
            self._picture = ImageTk.PhotoImage(Image.fromarray(frame), master=self._root)
            self._label.configure(image=self._picture)
            self._root.update()

    def close(self) -> None:
        """Close the window; may be called twice."""
        if not self._closed:
            self._closed = True
            self._root.destroy()
