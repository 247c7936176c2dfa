"""The request for a document and its response, without the body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from usp._base.reason import Reason

__all__ = ["Exchange", "Hop"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One request on the way to a document, and the head of its response.

    ``sent`` are the headers of the request that hold no secrets. ``headers`` are those of a redirect;
    the last response has its own in the exchange. ``address`` is the IP address that responded, if the
    client knows it.
    """

    url: str
    status: int
    reason: str = ""
    sent: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    address: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Exchange:
    """How a document was fetched: the last request, if there were several, and its response.

    ``url`` was requested, and ``final_url`` is the URL after the ``redirects``. ``status`` is None if
    there was no response, and for a file. ``headers`` are those of the response, without cookies and
    logins. ``attempts`` is the number of requests, 0 for a document that was not fetched; ``started``
    is when the last one was sent, and ``seconds`` the time until its last byte. ``received`` is the
    number of bytes of the body as received, still compressed; ``broken`` is the reason why the body is
    incomplete, or None. ``charset`` is the encoding with which the document was decoded. ``hops`` are
    the single requests, redirects first, where the client reports them; snapshots keep them.
    ``earlier`` are the attempts before the last one: when each was sent, and its seconds.
    """

    url: str
    final_url: str
    status: int | None = 200
    headers: tuple[tuple[str, str], ...] = ()
    redirects: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    received: int = 0
    content_type: str | None = None
    content_encoding: str | None = None
    charset: str | None = None
    broken: Reason | None = None
    started: datetime | None = None
    hops: tuple[Hop, ...] = field(default=(), repr=False, compare=False)
    earlier: tuple[tuple[datetime, float], ...] = field(default=(), repr=False, compare=False)

    def header(self, name: str) -> str | None:
        """Return the value of a response header, ignoring case, or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)
