"""Where a dataset is: a folder, or a bucket of S3, Google Cloud or Azure.

Everything goes through ``deltalake``, which reads the credentials from the usual environment variables.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.files import replacing
from usp._base.names import load_extra
from usp._base.safe_text import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "azure", "adl")
"""The schemes of object stores; what has none is a folder."""

_OPTIONS = {"s3": {"aws_conditional_put": "etag"}, "s3a": {"aws_conditional_put": "etag"}}


class DatasetError(Exception):
    """A dataset cannot be used as it is; the message says what to do."""


class NotADatasetError(DatasetError):
    """Something else is at the path of the dataset, or nothing."""


def deltalake(part: str = "") -> Any:
    """Return ``deltalake``, or a module of it; raises ``MissingExtraError`` if it is not installed."""
    return load_extra(f"deltalake{part}", "A dataset needs deltalake", "fleet")


def is_remote(place: str | os.PathLike[str]) -> bool:
    """Return whether a place is in an object store."""
    scheme, separator, _ = os.fspath(place).partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


class Store:
    """A folder, or a place in a bucket; names of files in it are relative, with slashes."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.is_remote = is_remote(root)
        given = os.fspath(root)
        self.root = given.rstrip("/") if self.is_remote else str(Path(given).absolute())
        self.options = dict(_OPTIONS.get(given.partition("://")[0], {}))

    def __str__(self) -> str:
        return self.root

    def path(self, name: str) -> str:
        """Return the whole path, or URL, of a file or a table."""
        return f"{self.root}/{name}" if self.is_remote else str(Path(self.root, name))

    def _files(self) -> Any:
        handler = deltalake(".fs").DeltaStorageHandler(self.root, self.options)
        return load_extra("pyarrow.fs", "A dataset needs pyarrow", "arrow").PyFileSystem(handler)

    def create(self, name: str) -> NewFile:
        """Begin a new file."""
        with self.words():
            if self.is_remote:
                return NewFile(self, name, self._files().open_output_stream(name))
            path = Path(self.root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            return NewFile(self, name, path.open("wb"))

    def replace(self, name: str, content: bytes) -> None:
        """Write a small file, or replace it."""
        with self.words():
            if self.is_remote:
                with self._files().open_output_stream(name) as stream:
                    stream.write(content)
                return
            with replacing(Path(self.root, name)) as file:
                file.write(content)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self.words():
            if self.is_remote:
                self._files().delete_file(name)
            else:
                Path(self.root, name).unlink(missing_ok=True)

    @contextmanager
    def reading(self, name: str) -> Iterator[Any]:
        """Yield a file that pyarrow can read."""
        with self.words():
            opened = self._files().open_input_file(name) if self.is_remote else None
            with opened or Path(self.root, name).open("rb") as file:
                yield file

    @contextmanager
    def words(self) -> Iterator[None]:
        """Turn the errors of a store into a :class:`DatasetError`."""
        try:
            yield
        except (OSError, deltalake(".exceptions").DeltaError) as error:
            if not self.is_remote and isinstance(error, OSError) and error.errno is not None:
                raise  # of this machine: what it means is known elsewhere
            raise DatasetError(f"{self.root} cannot be used: {_reason(error)}") from error


class NewFile:
    """A file that is being written. It is in the store, and on the disk, once it is closed."""

    def __init__(self, store: Store, name: str, stream: Any) -> None:
        self._store = store
        self._name = name
        self._stream = stream
        self._size = 0

    def write(self, data: Any) -> int:
        """Write bytes; return their number."""
        with self._store.words():
            self._stream.write(data)
        self._size += len(data)
        return len(data)

    def close(self) -> int:
        """Complete the file; return its size."""
        with self._store.words():
            if not self._store.is_remote:
                self._stream.flush()
                os.fsync(self._stream.fileno())
            self._stream.close()
        return self._size

    def discard(self) -> None:
        """Remove the file."""
        with suppress(DatasetError, OSError):
            self._stream.close()
            self._store.remove(self._name)


_ADVICE = (
    ("nosuchbucket", "there is no such bucket; create it first"),
    ("does not exist", "there is no such bucket or folder; create it first"),
    (
        "accessdenied",
        "access is denied; check the credentials in the environment, and their rights",
    ),
    ("forbidden", "access is denied; check the credentials in the environment, and their rights"),
    ("403", "access is denied; check the credentials in the environment, and their rights"),
    (
        "credential",
        "there are no credentials; set them in the environment, such as AWS_ACCESS_KEY_ID",
    ),
    (
        "169.254.169.254",
        "there are no credentials; set them in the environment, such as AWS_ACCESS_KEY_ID",
    ),
    ("connection refused", "the store does not respond; the same command goes on when it does"),
    ("error sending request", "the store does not respond; the same command goes on when it does"),
    ("timed out", "the store does not respond; the same command goes on when it does"),
)


def _reason(error: BaseException) -> str:
    """Return what went wrong with a store, in a few words, and what to do."""
    text = " ".join(str(error).split()) or type(error).__name__
    for sign, advice in _ADVICE:
        if sign in text.lower():
            return f"{advice} ({excerpt(text, 200)})"
    return excerpt(text)
