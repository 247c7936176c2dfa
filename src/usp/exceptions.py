"""The exceptions of the library.

::

    Exception
    ├── SitemapException              a caller's mistake, such as a homepage that is not an HTTP URL
    │   ├── SitemapXMLParsingException
    │   └── SnapshotError             a file that is not a snapshot, or that cannot be written
    ├── LocalShortageError            this machine is out of descriptors, memory or disk; an ``OSError``
    ├── GunzipException               data passed to ``helpers.gunzip`` is not gzip
    └── StripURLToHomepageException   a URL passed to ``helpers.strip_url_to_homepage`` has no host

What a website sends never raises: it becomes an ``InvalidSitemap`` or a ``Problem`` in the tree.
"""

from __future__ import annotations

import errno
from typing import ClassVar

__all__ = [
    "GunzipException",
    "LocalShortageError",
    "SitemapException",
    "SitemapXMLParsingException",
    "SnapshotError",
    "StripURLToHomepageException",
]


class SitemapException(Exception):  # noqa: N818 - the name existing programs catch
    """A call that makes no sense, for instance because its URL is not an HTTP URL."""


class SitemapXMLParsingException(SitemapException):
    """An XML document that cannot be read as a sitemap."""


class SnapshotError(SitemapException):
    """A file that cannot be read as a snapshot, or a snapshot that cannot be written."""


class LocalShortageError(OSError):
    """This machine has run out of descriptors, memory or disk; the message says what to do.

    ``errno`` is one of :attr:`ADVICE`.
    """

    ADVICE: ClassVar[dict[int, str]] = {
        errno.EMFILE: "too many open files in this process: raise its limit (ulimit -n)"
        " or fetch less at a time",
        errno.ENFILE: "too many open files on this machine: close other programs"
        " or fetch less at a time",
        errno.ENOMEM: "out of memory: fetch less at a time, or lower the limits",
        errno.ENOBUFS: "out of memory for network buffers: fetch less at a time",
        errno.ENOSPC: "no space left on the disk: free some (temporary files go where TMPDIR says)",
        errno.EDQUOT: "the disk quota is used up: free some of it"
        " (temporary files go where TMPDIR says)",
    }

    def __init__(self, code: int) -> None:
        super().__init__(code, self.ADVICE[code])

    def __str__(self) -> str:
        return self.ADVICE[self.args[0]]

    def __reduce__(self) -> tuple[type[LocalShortageError], tuple[int]]:
        return type(self), (self.args[0],)

    @property
    def may_pass(self) -> bool:
        """Whether waiting may help: descriptors come back, a full disk does not empty itself."""
        return self.errno not in {errno.ENOSPC, errno.EDQUOT}


class GunzipException(Exception):  # noqa: N818 - the name existing programs catch
    """Data that is not gzip, or is larger than allowed."""


class StripURLToHomepageException(Exception):  # noqa: N818 - the name existing programs catch
    """A URL from which no homepage can be derived."""
