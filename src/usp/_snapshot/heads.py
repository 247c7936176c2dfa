"""The heads of recorded requests and responses: what they say of an exchange, and of the kept body."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from usp._http.encodings import is_decoded
from usp.objects.exchange import Hop

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.objects.exchange import Exchange

_CHANGED = frozenset({"content-length", "transfer-encoding"})  # true of the transfer only


def hops_of(exchange: Exchange) -> list[Hop]:
    """Return the requests of an exchange; as they must have been, if the client does not tell them."""
    known = [hop for hop in exchange.hops if isinstance(hop, Hop)]
    if known:
        return known
    status = exchange.status or 0
    return [*(Hop(url, 302) for url in exchange.redirects), Hop(exchange.final_url, status)]


def with_location(hop: Hop, target: str) -> tuple[tuple[str, str], ...]:
    has_one = any(name.lower() == "location" for name, _ in hop.headers)
    return hop.headers if has_one else (*hop.headers, ("Location", target))


def fitting(headers: Iterable[tuple[str, str]], size: int, start: bytes) -> list[tuple[str, str]]:
    """Return the headers of a response that are true of the recorded body.

    Those that were true of the transfer only get a prefix, as other crawlers do it.
    """
    length = ("Content-Length", str(size))
    kept = [*_kept((one for one in headers if not _is_same(one, length)), start)]
    return [*kept, length]


def _is_same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0].lower() == other[0].lower() and one[1].strip() == other[1]


def _kept(headers: Iterable[tuple[str, str]], start: bytes) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        lower = name.lower()
        decoded = lower == "content-encoding" and (
            is_decoded(value) or ("gzip" in value.lower() and start not in (b"\x1f\x8b", b""))
        )
        yield (f"X-Crawler-{name}" if decoded or lower in _CHANGED else name), value


def address_of(hop: Hop) -> dict[str, str]:
    """Return the header of a record with the address that responded, if it is known to be one."""
    try:
        address = ipaddress.ip_address(str(hop.address).partition("%")[0])
    except ValueError:
        return {}
    return {"WARC-IP-Address": str(address)}
