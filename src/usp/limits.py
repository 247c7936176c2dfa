"""The limits of a crawl: how much of the network, this machine and your time it may use."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from usp._base.reason import Reason, Topic, advised
from usp.objects.failure_codes import FailureCode

__all__ = ["Limits"]

_MIB = 1024 * 1024
_GIB = 1024 * _MIB
_URLS = 4096  # of the greatest length, in one index

PROTOCOL_URLS, PROTOCOL_BYTES = 50_000, 50 * _MIB
"""What one sitemap may have, according to the protocol: URLs, and bytes without compression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a crawl; ``None`` removes one.

    What was found before a limit is reached is kept, and the rest is reported as missing.
    """

    document_bytes: int | None = 100 * _MIB
    """Bytes of one document as received; the protocol allows 50 MiB."""

    unpacked_bytes: int | None = 256 * _MIB
    """Bytes of one document after decompression."""

    ratio: float | None = 250
    """Compression ratio of a document, checked beyond 16 MiB."""

    depth: int | None = 11
    """Levels of nested sitemaps that are followed."""

    sitemaps: int | None = 100_000
    """Sitemaps in one tree."""

    neighbours: int | None = 50
    """Other hosts whose sitemaps are looked for with ``use_neighbours``."""

    pages: int | None = None
    """Pages in one tree; if it is set, every page is counted as it arrives."""

    redirects: int | None = 20
    """Redirects on the way to one document."""

    url_length: int | None = 8 * 1024
    """Characters of one URL: of a sitemap, a page, an xml:base or a redirect target. The URLs that one
    index declares may have 4,096 times as many in total, those of a tree twice that."""

    spool_bytes: int | None = 20 * _GIB
    """Bytes of documents that are kept in the temporary file of one tree."""

    document_seconds: float | None = 600
    """Seconds for one document, from the request to its last byte, parsed as far as the crawl
    needs it."""

    lowest_rate: float | None = 100
    """Bytes per second; a transfer that is slower over half a minute is abandoned."""

    seconds: float | None = 24 * 3600
    """Seconds for the whole crawl, parsing included; a stream may parse for one more second, a site of
    usp crawl for the same time again."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            whole = "int" in str(field.type)
            kind = "integer" if whole else "number"
            number = isinstance(value, int if whole else int | float)
            if isinstance(value, bool) or not number or not value >= 0:
                raise ValueError(
                    f"limit {field.name!r} must be a non-negative {kind} or None, not {value!r}"
                )

    def too_long(self, url: str) -> bool:
        """Return whether a URL is longer than allowed."""
        return self.url_length is not None and len(url) > self.url_length

    @property
    def url_text(self) -> float:
        """How many characters the URLs of one index may have in total; those of a tree, twice that.

        A few bytes on the wire make a long URL: compressed, or relative to a long base.
        """
        return math.inf if self.url_length is None else _URLS * self.url_length

    def reached(self, name: str) -> Reason:
        """Return the reason that a limit is reached, which says how to raise it."""
        value = getattr(self, name)
        number = f"{value:,}" if isinstance(value, int) else f"{value or 0:g}"
        text = f"the limit {name}={number} is reached"
        return advised(FailureCode.of_limit(name), text, Topic.RAISE_LIMIT, name)


class LimitReached(Exception):  # noqa: N818 - says what happened
    """A limit ended a document early; what was received until then is kept."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


DEFAULT = Limits()
