"""Files that are written completely or not at all, in a folder or in a bucket of an object store.

And pipes, which are opened without waiting for somebody who writes to them.

Buckets are used through ``deltalake``, which reads credentials from the usual environment variables.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import queue
import re
import secrets
import select
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TextIO, TypeVar

from usp._base.display import excerpt
from usp._base.names import load_extra
from usp.exceptions import SitemapException

T = TypeVar("T")

_LONGEST = 80  # characters of the name that are kept in that of the new file
_ENDING = re.compile(r"[0-9a-f]{12}\.part")
_MODE = 0o666  # minus the user's umask, as for any new file


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing; it is moved into place when the block ends without an exception.

    Until then it has another name in the same folder, and what was at ``path`` stays. Anything but
    an ordinary file, such as a pipe or ``/dev/null``, is written to as it is.
    """
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as file:
            yield file
        return
    with NewFile(path) as file:
        yield file.stream
        file.take_place()


class NewFile(contextlib.AbstractContextManager["NewFile"]):
    """A file that has not been moved into place yet; a block that ends without that removes it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))  # a link stays a link
        if self.path.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a folder: name a file in it")
        self._temporary = self.path.with_name(
            f".{self.path.name[:_LONGEST]}.{secrets.token_hex(6)}.part"
        )
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(self._temporary, flags, _MODE)
        except FileNotFoundError as error:
            if self.path.parent.is_dir():
                raise
            raise FileNotFoundError(
                f"there is no folder {str(self.path.parent)!r}; create it first"
            ) from error
        self.stream: IO[bytes] = os.fdopen(descriptor, "wb")
        self._keep_mode(descriptor)

    def _keep_mode(self, descriptor: int) -> None:
        with contextlib.suppress(OSError, AttributeError):  # there is none, or it is Windows
            before = self.path.stat()
            os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
            os.chown(descriptor, before.st_uid, before.st_gid)

    def so_far(self) -> Path:
        """Return where the file is until it is moved into place, with all that was written."""
        self.stream.flush()
        return self._temporary

    @staticmethod
    def unfinished(path: str | os.PathLike[str]) -> list[Path]:
        """Return the new files for a path that have not been moved into place."""
        target = Path(os.path.realpath(path))
        begins = f".{target.name[:_LONGEST]}."
        with contextlib.suppress(OSError):
            return [
                file
                for file in target.parent.iterdir()
                if file.name.startswith(begins) and _ENDING.fullmatch(file.name[len(begins) :])
            ]
        return []

    def take_place(self, path: Path | None = None) -> None:
        """Move the file into place, or to another ``path``, once its bytes are on disk."""
        self.stream.flush()
        os.fsync(self.stream.fileno())
        self.stream.close()
        target = path or self.path
        self._temporary.replace(target)
        with contextlib.suppress(
            OSError
        ):  # where it is possible, its name survives a power failure
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def remove(self) -> None:
        """Remove the file, unless it has been moved into place."""
        with contextlib.suppress(OSError):
            self.stream.close()
        self._temporary.unlink(missing_ok=True)

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        self.remove()
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(self.path)  # the disk is full: which one?


def lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed, or its process ends; raises ``OSError`` if it is locked."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl  # noqa: PLC0415

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock beside a file; raises ``BlockingIOError`` if somebody else does."""
    beside = path.with_name(f".{path.name[:_LONGEST]}.lock")
    with beside.open("ab") as file:
        try:
            lock(file)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                yield  # no locks on this file system
                return
            raise BlockingIOError(error.errno, f"{str(path)!r} is in use") from error
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows keeps it, which locks nothing
                beside.unlink()


def open_pipe(path: Path) -> IO[bytes]:
    """Open a pipe without waiting for somebody who writes to it."""
    if os.name == "nt":
        return path.open("rb")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")


def is_ready(file: IO[bytes], seconds: float | None) -> bool:
    """Return whether something can be read in time; True if that cannot be known."""
    if os.name == "nt":  # only sockets can be waited for
        return True
    try:
        # What is in the buffer of a file is read at once: a chunk is larger than any buffer.
        return bool(select.select([file], [], [], seconds)[0])
    except (io.UnsupportedOperation, TypeError, ValueError):  # not a file of the system
        return True


# Stores of datasets --------------------------------------------------------------------------------

_AWS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_AZURE = "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
SCHEMES = {
    **dict.fromkeys(("s3", "s3a"), _AWS),
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    **dict.fromkeys(("az", "azure", "adl", "abfs", "abfss"), _AZURE),
}
"""The schemes of object stores, with the usual variables of credentials; what has none is a folder."""

_OPTIONS = {"aws_conditional_put": "etag"}  # a commit must not replace another one
# How long a request waits for a store that has gone away.
_PATIENCE = {"max_retries": "1000", "retry_timeout": "60s", "backoff_config.max_backoff": "2s"}
_CUT_OFF = "response body"  # in errors of responses that have begun: such requests are not repeated
_ATTEMPTS = 4

# Bytes that are written at once: Arrow passes on what is smaller than its buffer as plain bytes.
_PIECE = 1 << 20

_ADVICE = {  # what to do, by what the error of a store says
    re.compile(sign, re.IGNORECASE): advice
    for sign, advice in {
        r"169\.254\.|metadata\.google|credential|account must be": (
            "there are no credentials; set them in the environment, such as {variables}"
        ),
        "nosuchbucket|containernotfound|(?:bucket|container) does not exist": (
            "there is no such bucket; create it first"
        ),
        "denied|forbidden|unauthorized|invalidaccesskey|signature|expired": (
            "access is denied; check the credentials in the environment, and their rights"
        ),
        "scheme is not allowed": (
            "this endpoint is not encrypted; AWS_ALLOW_HTTP=true allows that"
        ),
        "region": "the region may be wrong; set AWS_REGION",
        "sending request|timed out|connection|response body|unavailable|server error": (
            "the store does not respond; run the same command again when it does: it goes on from"
            " there"
        ),
    }.items()
}

_MESSAGE = re.compile("<Message>([^<]*)")
_ADDRESS = re.compile(r"https?://(?!169\.254\.|metadata)\S*")
_COLOUR = re.compile(r"\x1b\[[0-9]{0,3}m")


class DatasetError(SitemapException):
    """A dataset cannot be used as it is; the message says what to do."""


class NotADatasetError(DatasetError):
    """Something else is at the path of the dataset, or nothing."""


class NoSuchFileError(DatasetError):
    """A file is not in its store."""


def deltalake(part: str = "") -> Any:
    """Return ``deltalake``, or a module of it; raises ``MissingExtraError`` if it is not installed."""
    return load_extra(f"deltalake{part}", "A dataset needs deltalake", "fleet")


def is_remote(place: str) -> bool:
    """Return whether a place is in an object store."""
    scheme, separator, _ = place.partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


class FileStore:
    """A folder, or a place in a bucket; names of files in it are relative, with slashes.

    ``first_options`` are for the first request: it fails soon if the store does not respond.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        given = os.fspath(root)
        scheme, separator, rest = given.partition("://")
        scheme = scheme.lower()
        self.is_remote = is_remote(given)
        if self.is_remote:
            self.root = f"{scheme}://{rest.strip('/')}"
            if not rest.strip("/"):
                raise NotADatasetError(f"{given} names no bucket; write {scheme}://BUCKET/NAME")
        elif separator and scheme != "file":
            known = ", ".join(f"{name}://" for name in SCHEMES)
            raise NotADatasetError(
                f"{given}: datasets cannot be at {scheme}://; choose a folder, or one of {known}"
            )
        else:
            self.root = str(Path(rest if separator else given).absolute())
        self.first_options: dict[str, str] = dict(_OPTIONS) if self.is_remote else {}
        self.options = self.first_options | (_PATIENCE if self.is_remote else {})

    def __str__(self) -> str:
        return self.root

    def path(self, name: str) -> str:
        """Return the whole path, or URL, of a file or a table."""
        return f"{self.root}/{name}" if self.is_remote else str(Path(self.root, name))

    def files(self, options: dict[str, str] | None = None, below: str = "") -> Any:
        """Return the file system of pyarrow for the files in it, or in a folder of it."""
        system = load_extra("pyarrow.fs", "A dataset needs pyarrow", "fleet")
        root = self.path(below) if below else self.root
        if not self.is_remote:
            return system.SubTreeFileSystem(root, system.LocalFileSystem())
        handler = deltalake(".fs").DeltaStorageHandler
        return system.PyFileSystem(handler(root, options or self.options))

    @contextlib.contextmanager
    def reading(self, name: str, options: dict[str, str] | None = None) -> Iterator[Any]:
        """Yield a file that is read as bytes."""
        with self.words(), self.files(options).open_input_file(name) as file:
            yield file

    def replace(self, name: str, content: bytes) -> None:
        """Write a small file, or replace it."""
        if self.is_remote:
            file = StoredFile(self, name)
            file.write(content)
            file.close()
            return
        with replacing(Path(self.root, name)) as local:
            local.write(content)

    def repeated(self, operation: Callable[[], T]) -> T:
        """Return what an operation returns; repeat it if the store has cut off a response."""
        for _ in range(1, _ATTEMPTS):
            try:
                return operation()
            except (OSError, deltalake(".exceptions").DeltaError) as error:
                if not self.is_remote or _CUT_OFF not in str(error):
                    raise
        return operation()

    @contextlib.contextmanager
    def words(self) -> Iterator[None]:
        """Turn the errors of a store, and of damaged files in it, into a :class:`DatasetError`."""
        damaged = load_extra("pyarrow", "A dataset needs pyarrow", "fleet").ArrowInvalid
        try:
            yield
        except (OSError, deltalake(".exceptions").DeltaError, damaged) as error:
            if not self.is_remote and isinstance(error, OSError) and error.errno is not None:
                raise  # of this machine: what it means is known elsewhere
            if isinstance(error, FileNotFoundError):
                raise NoSuchFileError(f"{self.root} lacks a file: {_causes(error)[0]}") from error
            raise DatasetError(f"cannot use {self.root}: {self._reason(error)}") from error

    def _reason(self, error: BaseException) -> str:
        """Return what went wrong, in a few words, and what to do."""
        causes = _causes(error)
        found = _MESSAGE.search(causes[-1])
        cause = excerpt(found[1] if found else causes[-1], 200)
        # Names of buckets and files are not what is said about them.
        text = _ADDRESS.sub("", " ".join(causes))
        for sign, advice in _ADVICE.items() if self.is_remote else ():
            if sign.search(text):
                variables = SCHEMES[self.root.partition(":")[0]]
                return f"{advice.format(variables=variables)} ({cause})"
        return excerpt(": ".join(causes), 400)


def _causes(error: BaseException) -> list[str]:
    """Return the message of an error, then that of its cause, and so on, without colours."""
    text = _COLOUR.sub("", str(error)) or type(error).__name__
    return [" ".join(cause.split()) for cause in text.split("↳")]


class InterruptibleThread:
    """Calls functions in another thread, one after another, and waits for each.

    A library that waits for a network holds up Ctrl-C in the thread that calls it, perhaps for minutes.
    ``patience`` is how many seconds a call may take; then ``queue.Empty`` is raised.
    """

    def __init__(self) -> None:
        self.patience: float | None = None
        self._call: tuple[threading.Lock, list[tuple[Any, BaseException | None]]] | None = None

    def __call__(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns."""
        running, outcome = threading.Lock(), list[tuple[Any, BaseException | None]]()
        running.acquire()

        def run() -> None:
            try:
                outcome.append((function(*arguments), None))
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                outcome.append((None, error))
            running.release()

        self._call = running, outcome
        threading.Thread(target=run, name="usp-aside", daemon=True).start()
        result: T = self.rest()
        return result

    def rest(self) -> Any:
        """Return what the last function returns if waiting for it was interrupted, else None.

        An interrupt of this wait, at whatever moment, loses nothing.
        """
        if self._call is None:
            return None
        running, outcome = self._call
        patience = -1 if self.patience is None else self.patience
        if not outcome and not running.acquire(timeout=patience):
            raise queue.Empty
        self._call = None
        ((value, error),) = outcome
        if error is not None:
            raise error
        return value


class StoredFile:
    """A file that is being written. It is in the store, and on the disk, once it is closed.

    What goes into a bucket waits in a temporary file: it can be sent again.
    """

    def __init__(self, store: FileStore, name: str) -> None:
        self._store = store
        self._name = name
        self._stream: IO[bytes]
        if store.is_remote:
            self._stream = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is complete
        else:
            path = Path(store.path(name))
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("wb")

    def write(self, data: Any) -> None:
        """Write bytes."""
        self._stream.write(data)

    def close(self) -> int:
        """Complete the file; return its size."""
        with self._store.words(), self._stream:
            self._stream.flush()
            if self._store.is_remote:
                self._store.repeated(self._send)
            else:
                os.fsync(self._stream.fileno())
            return self._stream.tell()

    def _send(self) -> None:
        self._stream.seek(0)
        with self._store.files().open_output_stream(self._name, buffer_size=2 * _PIECE) as sent:
            while piece := self._stream.read(_PIECE):
                sent.write(piece)

    def discard(self) -> None:
        """Remove the file."""
        with contextlib.suppress(OSError):
            self._stream.close()  # fails on a full disk, and the file is there nevertheless
        with contextlib.suppress(DatasetError, OSError), self._store.words():
            self._store.files().delete_file(self._name)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix that sets the format of a file, in lower case.

    .gz only compresses it, which Parquet does itself.
    """
    name = Path(path).name.lower()
    return Path(name if name.endswith(".parquet.gz") else name.removesuffix(".gz")).suffix


def is_pipe(stream: TextIO) -> bool:
    """Return whether somebody reads what is written to a stream while it is written."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
