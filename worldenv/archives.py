"""Archives of a package registry as data: found in its index, fetched whole, unpacked by path."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html.parser
import http.client
import os
import re
import ssl
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from worldenv.weights import WeightFile, sha256_of
from worldenv.world import WorldEnvError

_BLOCK = 1 << 18
_TRIES = 4
_TIMEOUT = 60.0
_PAGE_LIMIT = 32 << 20

Progress = Callable[[int], None]


class FetchFailed(WorldEnvError):
    """Weights could not be brought: no network, no room, or not what was pinned."""


def put(file: IO[bytes], block: bytes) -> None:
    """Write a block to an open file.

    Raises:
        OSError: it cannot be written; other than the system's own error, this one names the file.
    """
    try:
        file.write(block)
        file.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, file.name) from error


class Address(NamedTuple):
    """An address with the name and password that its text held.

    Attributes:
        url: Without them; safe to print.
        secret: Value of the Authorization header, empty when there is none.
    """

    url: str
    secret: str = ""


def address(url: str) -> Address:
    """Split an address into what may be printed and what may not.

    Raises:
        FetchFailed: it is neither http nor https.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = url.rpartition("@")[2]
        raise FetchFailed(f"{shown!r} is no http or https address; a local folder goes by --from.")
    place = parts.netloc.rpartition("@")[2]
    secret = ""
    if parts.username is not None:
        pair = (
            f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        )
        secret = "Basic " + base64.b64encode(pair.encode()).decode()
    return Address(urllib.parse.urlunsplit(parts._replace(netloc=place)), secret)


def index_url() -> str:
    """Return the package index that pip uses here: its variable, its configuration, its default.

    Raises:
        FetchFailed: pip is not there to say so.
    """
    chosen = os.environ.get("PIP_INDEX_URL")
    if chosen:
        return chosen
    configured = _pip("config", "get", "global.index-url").strip()
    if configured.startswith("http"):
        return configured
    default = re.search(
        r"--index-url.*?\(default\s+(https?://[^\s)]+)\)", _pip("download", "-h"), re.S
    )
    if default is None:
        raise FetchFailed("pip does not say which package index it uses; name one by --index URL.")
    return default.group(1)


def _pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


class _Links(html.parser.HTMLParser):
    """Collects the targets of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a link leads."""
        if tag == "a":
            self.targets += [value for key, value in attrs if key == "href" and value]


def find_archive(index: str, package: str, archive: str) -> Address:
    """Return the address of a file of a package, as its page in a simple index gives it.

    Raises:
        FetchFailed: the index cannot be reached, or does not list the file.
    """
    base = address(index)
    page = f"{base.url.rstrip('/')}/{re.sub(r'[-_.]+', '-', package).lower()}/"
    with _open(Address(page, base.secret)) as answer:
        text = answer.read(_PAGE_LIMIT).decode("utf-8", "replace")
        page = answer.geturl()
    links = _Links()
    links.feed(text)
    for target in links.targets:
        url = urllib.parse.urldefrag(urllib.parse.urljoin(page, target)).url
        if urllib.parse.unquote(urllib.parse.urlsplit(url).path).rpartition("/")[2] == archive:
            found = address(url)
            same = urllib.parse.urlsplit(url).netloc == urllib.parse.urlsplit(page).netloc
            return Address(found.url, found.secret or (base.secret if same else ""))
    raise FetchFailed(f"{page} lists no {archive}; name another index by --index URL.")


def download(source: Address, target: Path, sha256: str, progress: Progress) -> None:
    """Fetch a file, going on where an earlier try stopped, and check what came.

    Args:
        source: Where it is.
        target: Where it goes; a ``.part`` beside it holds what has come so far.
        sha256: What it must hash to.
        progress: Called with the number of bytes that are there.

    Raises:
        FetchFailed: it cannot be had, or is another file than the pinned one.
    """
    part = target.with_name(target.name + ".part")
    for left in range(_TRIES - 1, -1, -1):
        try:
            _go_on(source, part, progress)
            break
        except (urllib.error.HTTPError, ssl.SSLCertVerificationError) as error:
            raise FetchFailed(f"{source.url} answers: {_shown(error)}") from None
        except (
            http.client.HTTPException,
            TimeoutError,
            ConnectionError,
            urllib.error.URLError,
        ) as e:
            if not left:
                raise FetchFailed(f"{source.url} broke off: {_shown(e)}; try again.") from None
            time.sleep(0.5 * 2 ** (_TRIES - 1 - left))
    found = sha256_of(part)
    if found != sha256:
        part.unlink()
        raise FetchFailed(
            f"{source.url} is not the pinned file: its SHA-256 is {found}, expected {sha256}; it "
            "was thrown away."
        )
    part.replace(target)


def _go_on(source: Address, part: Path, progress: Progress) -> None:
    """Append what is missing of a file; starts anew where the server cannot go on."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        answer = _open(source, headers)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        # Nothing is left to send: it is whole, or it is another file; its hash will tell.
        progress(have)
        return
    with answer:
        goes_on = answer.status == 206 and str(answer.headers.get("Content-Range", "")).startswith(
            f"bytes {have}-"
        )
        length = answer.headers.get("Content-Length")
        got = 0
        with part.open("ab" if goes_on else "wb") as file:
            if goes_on:
                progress(have)
            while block := answer.read(_BLOCK):
                put(file, block)
                got += len(block)
                progress(len(block))
        if length is not None and got < int(length):
            raise http.client.IncompleteRead(b"", int(length) - got)


def _open(source: Address, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
    request = urllib.request.Request(
        source.url, headers={"User-Agent": "worldenv", **(headers or {})}
    )
    if source.secret:
        # Not sent on to where a redirect leads.
        request.add_unredirected_header("Authorization", source.secret)
    bundle = os.environ.get("PIP_CERT") or os.environ.get("REQUESTS_CA_BUNDLE") or None
    try:
        context = ssl.create_default_context(cafile=bundle)
    except OSError:
        raise FetchFailed(f"the certificates {bundle} cannot be read.") from None
    try:
        answer: http.client.HTTPResponse = urllib.request.urlopen(
            request, timeout=_TIMEOUT, context=context
        )
    except urllib.error.HTTPError as error:
        if headers:
            raise
        raise FetchFailed(f"{source.url} answers: {_shown(error)}") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise error.reason from None
        if headers:
            raise
        raise FetchFailed(f"{source.url} cannot be reached: {_shown(error)}") from None
    return answer


def _shown(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    code = getattr(error, "code", "")
    return f"{code} {reason or error or type(error).__name__}".strip()


def unpack(archive: Path, files: Mapping[str, WeightFile], folder: Path) -> None:
    """Copy the listed members of a zip or tar archive to their paths, and nothing else.

    Args:
        archive: Wheel or source archive; its own hash was checked before.
        files: Path in ``folder`` -> member; every member must be a plain file of the pinned hash.
        folder: Where they go.

    Raises:
        FetchFailed: a member is absent, no plain file, or of another content.
    """
    wanted = {file.member or path: path for path, file in files.items()}
    try:
        with _members(archive, set(wanted)) as members:
            for name, stream in members:
                path = wanted.pop(name)
                _copy(stream, folder / path, files[path], f"{archive.name}: {name}")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise FetchFailed(f"{archive} cannot be unpacked: {error}") from None
    if wanted:
        raise FetchFailed(f"{archive.name} has no file {', '.join(sorted(wanted))}")


@contextlib.contextmanager
def _members(archive: Path, wanted: set[str]) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """Open an archive and yield its wanted plain files, each once, by exact name."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            names = sorted(wanted & set(packed.namelist()))
            yield ((name, packed.open(name)) for name in names)
        return
    with tarfile.open(archive, "r:*") as tape:
        yield _of_tape(tape, set(wanted))


def _of_tape(tape: tarfile.TarFile, wanted: set[str]) -> Iterator[tuple[str, IO[bytes]]]:
    for member in tape:
        stream = tape.extractfile(member) if member.name in wanted and member.isreg() else None
        if stream is not None:
            wanted.discard(member.name)
            yield member.name, stream


def _copy(stream: IO[bytes], target: Path, file: WeightFile, shown: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with stream, target.open("wb") as out:
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > file.bytes:
                # A member that goes on and on must not fill the disk.
                raise FetchFailed(f"{shown} is larger than the {file.bytes} bytes it should have")
            digest.update(block)
            put(out, block)
    if digest.hexdigest() != file.sha256:
        raise FetchFailed(f"{shown} has SHA-256 {digest.hexdigest()}, expected {file.sha256}")
