"""Files in a folder, or in a bucket of S3, Google Cloud or Azure.

Buckets are used through ``deltalake``, which reads credentials from the usual environment variables.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.files import replacing
from usp._base.names import load_extra
from usp._base.safe_text import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

_AWS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_AZURE = "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
SCHEMES = {
    **dict.fromkeys(("s3", "s3a"), _AWS),
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    **dict.fromkeys(("az", "azure", "adl", "abfs", "abfss"), _AZURE),
}
"""The schemes of object stores, with the usual variables of credentials; what has none is a folder."""

_OPTIONS = {"aws_conditional_put": "etag"}  # a commit must not replace another one
_PATIENCE = {"max_retries": "1000", "retry_timeout": "60s", "backoff_config.max_backoff": "2s"}
"""How long a request waits for a store that has gone away."""

_PIECE = 1 << 20
"""Bytes that are written at once: Arrow passes on what is smaller than its buffer as plain bytes."""

_ADVICE = {
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
"""What to do, by what the error of a store says."""

_MESSAGE = re.compile("<Message>([^<]*)")
_ADDRESS = re.compile(r"https?://(?!169\.254\.|metadata)\S*")
_COLOUR = re.compile(r"\x1b\[[0-9]{0,3}m")


class DatasetError(Exception):
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


class Store:
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

    def files(self, options: dict[str, str] | None = None) -> Any:
        """Return the file system of pyarrow for the files in it."""
        system = load_extra("pyarrow.fs", "A dataset needs pyarrow", "fleet")
        if not self.is_remote:
            return system.SubTreeFileSystem(self.root, system.LocalFileSystem())
        handler = deltalake(".fs").DeltaStorageHandler
        return system.PyFileSystem(handler(self.root, options or self.options))

    @contextmanager
    def reading(self, name: str, options: dict[str, str] | None = None) -> Iterator[Any]:
        """Yield a file that is read as bytes."""
        with self.words(), self.files(options).open_input_file(name) as file:
            yield file

    def replace(self, name: str, content: bytes) -> None:
        """Write a small file, or replace it."""
        if self.is_remote:
            file = NewFile(self, name)
            file.write(content)
            file.close()
            return
        with replacing(Path(self.root, name)) as local:
            local.write(content)

    @contextmanager
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
        told = _MESSAGE.search(causes[-1])
        cause = excerpt(told[1] if told else causes[-1], 200)
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


class NewFile:
    """A file that is being written. It is in the store, and on the disk, once it is closed."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        with store.words():
            if not store.is_remote:
                Path(store.path(name)).parent.mkdir(parents=True, exist_ok=True)
            self._stream = store.files().open_output_stream(name, buffer_size=2 * _PIECE)

    def write(self, data: Any) -> None:
        """Write bytes."""
        with self._store.words():
            for at in range(0, len(data), _PIECE):
                self._stream.write(data[at : at + _PIECE])

    def close(self) -> int:
        """Complete the file; return its size."""
        with self._store.words():
            size = int(self._stream.tell())
            self._stream.close()
            if not self._store.is_remote:
                with Path(self._store.path(self._name)).open("rb") as file:
                    os.fsync(file.fileno())
        return size

    def discard(self) -> None:
        """Remove the file."""
        with suppress(DatasetError, OSError), self._store.words():
            self._stream.close()
            self._store.files().delete_file(self._name)
