"""A package registry and a model hub on this machine, which can misbehave."""

import contextlib
import hashlib
import io
import json
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from worldenv.weights import WeightFile, WeightSet


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def wheel(members):
    """Return a zip archive of path -> bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            # Of no date, so that the same members make the same archive.
            archive.writestr(zipfile.ZipInfo(name), data)
    return packed.getvalue()


def sdist(members, links=None):
    """Return a tar.gz archive of path -> bytes, and of path -> target of symbolic links."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return packed.getvalue()


def set_of(packed, files, archive="tiny-1.0-py3-none-any.whl", **about):
    """Return a WeightSet of an archive; ``files`` is path -> (member, bytes[, pickled])."""
    listed = {
        path: WeightFile(sha256(data), len(data), member, bool(pickled))
        for path, (member, data, *pickled) in files.items()
    }
    about = {"id": "tiny", "title": "A tiny network", "licence": "MIT", "revision": "1.0"} | about
    return WeightSet(
        source="archive",
        name="tiny_pack",
        files=listed,
        archive=archive,
        sha256=sha256(packed),
        bytes=len(packed),
        **about,
    )


class Registry:
    """What a server of this module hands out, and what it was asked.

    Attributes:
        url: Its address.
        files: Path -> bytes.
        asked: (path, headers) of every request.
        breaks: How many answers break off in the middle.
        ranges: Whether it can go on in the middle of a file.
        pause: Seconds between blocks.
    """

    def __init__(self, url):
        self.url = url
        self.files = {}
        self.asked = []
        self.breaks = 0
        self.ranges = True
        self.pause = 0.0

    def put(self, entry, data):
        """Offer an archive as the page of its package lists it."""
        self.files[f"/files/{entry.archive}"] = data
        link = f'<a href="../../files/{entry.archive}#sha256=0">{entry.archive}</a>'
        self.files["/simple/tiny-pack/"] = f"<html><body>{link}</body></html>".encode()

    @property
    def index(self):
        return f"{self.url}/simple"


@contextlib.contextmanager
def served():
    """Run a Registry on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.answer(body=False)

        def do_GET(self):
            self.answer(body=True)

        def answer(self, body):
            path = self.path.split("?")[0]
            registry.asked.append((path, dict(self.headers)))
            data = registry.files.get(path)
            if data is None:
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            start, wanted = 0, self.headers.get("Range")
            if wanted and registry.ranges:
                start = int(wanted.removeprefix("bytes=").partition("-")[0])
                if start >= len(data):
                    self.send_response(416)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(data) - start))
            # What the hub's client wants to be told.
            self.send_header("X-Repo-Commit", "c" * 40)
            self.send_header("ETag", f'"{sha256(data)}"')
            kind = "application/json" if path.startswith("/api/") else "text/html"
            self.send_header("Content-Type", kind)
            self.end_headers()
            if not body:
                return
            end = len(data)
            if registry.breaks and path.startswith("/files/"):
                registry.breaks -= 1
                end = (start + len(data)) // 2
                self.close_connection = True
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for first in range(start, end, 1 << 14):
                    self.wfile.write(data[first : min(first + (1 << 14), end)])
                    self.wfile.flush()
                    time.sleep(registry.pause)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry = Registry(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def offer_repository(registry, name, revision, files):
    """Offer a repository of the model hub: path -> bytes."""
    about = {
        "_id": "0" * 24,
        "id": name,
        "modelId": name,
        "sha": "c" * 40,
        "private": False,
        "siblings": [{"rfilename": path} for path in files],
        "tags": [],
        "downloads": 0,
        "likes": 0,
    }
    tree = [
        {"type": "file", "path": path, "size": len(data), "oid": sha256(data)[:40]}
        for path, data in files.items()
    ]
    for at in (revision, "c" * 40):
        registry.files[f"/api/models/{name}/revision/{at}"] = json.dumps(about).encode()
        registry.files[f"/api/models/{name}/tree/{at}"] = json.dumps(tree).encode()
    for path, data in files.items():
        for at in (revision, "c" * 40):
            registry.files[f"/{name}/resolve/{at}/{path}"] = data
