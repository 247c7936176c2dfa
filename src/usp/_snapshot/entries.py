"""What a snapshot keeps of a document beside its bytes, as JSON: the exchange, or the failure."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from usp._base.reason import Advice, Reason, Topic
from usp._base.urls import without_login
from usp._crawl.orders import Failed, HostGivenUp, Look, NotAsked, NotFetched
from usp._formats.document import Role
from usp.objects.exchange import Exchange, Hop
from usp.objects.failure_codes import FailureCode
from usp.objects.sitemap import KINDS, AbstractPagesSitemap
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason, status_of

if TYPE_CHECKING:
    from usp._crawl.orders import Settled

LIMIT = "limit-"
"""How the codes of failures begin that are due to a limit."""


def key_of(role: Role, url: str) -> tuple[Role, str]:
    """Return what a document is found by; a login in a URL that a sitemap lists is not written."""
    return role, without_login(url)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in a snapshot: where its response is, or why there is none.

    ``at`` is the offset of the response record, and ``start`` and ``end`` are those of all its records,
    redirects and requests included. ``ended`` is whether we ended the transfer. ``refused`` is whether
    the response is not the document: an error page, or not all of it. ``glance`` is what the first look
    at a page sitemap showed. ``seen`` is when it was last found unchanged. ``before`` is the last good
    response of a document that failed later. ``here`` is where the entry itself was written. ``sum``
    is a checksum of all its records, as they stand in the file.
    """

    url: str
    role: Role
    lastmod: str | None = None
    attempts: int = 0
    exchange: Exchange | None = None
    error: dict[str, Any] | None = None
    ended: bool = False
    refused: bool = False
    glance: dict[str, Any] | None = None
    at: int | None = None
    start: int = 0
    end: int = 0
    digest: str | None = None
    seen: str | None = None
    before: Entry | None = None
    here: int = 0
    sum: int | None = None

    @property
    def key(self) -> tuple[Role, str]:
        """What the document is found by."""
        return key_of(self.role, self.url)

    def asked_as(self, url: str) -> Entry:
        """Return the entry with the URL as it is listed, which may have a login."""
        if url == self.url:
            return self
        exchange, before = self.exchange, self.before
        return replace(
            self,
            url=url,
            exchange=None if exchange is None else replace(exchange, url=url),
            before=None if before is None else before.asked_as(url),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the response was received, completely."""
        return self.at is not None and self.exchange is not None and self.exchange.broken is None

    @property
    def size(self) -> int:
        """The bytes of the body."""
        return 0 if self.exchange is None else self.exchange.received

    def to_json(self) -> str:
        """Return the entry as a line of JSON."""
        return json.dumps(_entry_values(self), ensure_ascii=True, separators=(",", ":"))


def entry_of(settled: Settled) -> Entry:
    """Return the entry of a document that was just settled, without the places of its records."""
    result = settled.result
    entry = Entry(settled.url, settled.role, settled.lastmod, settled.attempts)
    if isinstance(result, Failed):
        entry = replace(entry, exchange=result.exchange, error=_error_values(result.error))
    else:
        exchange, look = result.document.exchange, result.look
        ended = exchange.broken is not None and look.broken is None
        refused = settled.role is not Role.HOMEPAGE and _is_refused(look)
        glance = _glance(look)
        entry = replace(entry, exchange=exchange, ended=ended, refused=refused, glance=glance)
    return entry.asked_as(without_login(settled.url))


def _is_refused(look: Look) -> bool:
    """Return whether a response is not the document, or not all of it, for reasons of the server."""
    if look.refusal is not None or look.broken is not None:
        return True
    return look.unfinished is not None and not look.unfinished.code.value.startswith(LIMIT)


def read_entry(text: str | bytes) -> Entry:
    """Return the entry that a line of JSON describes; raises ``ValueError`` for anything else."""
    try:
        return _read_values(json.loads(text))
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"not an entry of a snapshot: {error!r}") from error


def failure_from(values: dict[str, Any], exchange: Exchange | None) -> Failed:
    """Return the failure of a document as it was told when it was recorded."""
    kind = _ERRORS.get(values.get("kind", ""), WebClientErrorResponse)
    reason = _read_reason(values["reason"])
    known: dict[str, Any] = {
        "status": values.get("status"),
        "retry_after": values.get("retry_after"),
        "unreachable": bool(values.get("unreachable")),
        "silent": bool(values.get("silent")),
        "blocked": bool(values.get("blocked")),
    }
    retryable = bool(values.get("retryable"))
    error = kind(str(values.get("message", "")), retryable, **known)
    if failure_reason(error) != reason:
        error = kind(reason, retryable, **known)
    return Failed(error, exchange)


def look_from(entry: Entry) -> Look | None:
    """Return what the first look at a page sitemap showed, if that was kept."""
    glance = entry.glance
    kind = _KINDS.get(glance.get("kind", "")) if glance else None
    if glance is None or kind is None or not issubclass(kind, AbstractPagesSitemap):
        return None
    namespace = glance.get("namespace")
    return Look(
        kind,
        pages=0,
        namespace=None if namespace is None else (str(namespace[0]), str(namespace[1])),
        start=bytes.fromhex(glance.get("start", "")),
    )


_KINDS = {kind.__name__: kind for kind in KINDS}


def _glance(look: Look) -> dict[str, Any] | None:
    """Return what need not be found out again: that a document is a page sitemap and nothing else."""
    plain = look.kind is not None and issubclass(look.kind, AbstractPagesSitemap)
    if not plain or look.children or look.left_out or look.unfinished or look.transfer:
        return None
    assert look.kind is not None
    return {"kind": look.kind.__name__, "namespace": look.namespace, "start": look.start.hex()}


_ERRORS: dict[str, type[WebClientErrorResponse]] = {
    "not-asked": NotAsked,
    "host-given-up": HostGivenUp,
    "not-fetched": NotFetched,
}


def _error_values(error: WebClientErrorResponse) -> dict[str, Any]:
    kind = next((name for name, one in _ERRORS.items() if type(error) is one), None)
    values = {
        "kind": kind,
        "message": error.message(),
        "reason": _reason_values(failure_reason(error)),
        "status": status_of(error),
        "retry_after": error.retry_after,
        "retryable": error.retryable(),
        "unreachable": error.unreachable,
        "silent": error.silent,
        "blocked": error.blocked,
    }
    return {name: value for name, value in values.items() if value not in (None, False)}


def _reason_values(reason: Reason) -> dict[str, Any]:
    values: dict[str, Any] = {"code": reason.code.value, "text": reason.text}
    if reason.full is not None:
        values["full"] = reason.full
    if reason.advice is not None:
        values["advice"] = [reason.advice.topic.name, reason.advice.name]
    return values


_CODES = {code.value: code for code in FailureCode}


def _read_reason(values: dict[str, Any]) -> Reason:
    advice = values.get("advice")
    try:
        code = _CODES[values["code"]]
    except KeyError:  # of a later version
        code = FailureCode.OTHER_FAILURE
    known = None if advice is None else Advice(Topic[advice[0]], str(advice[1]))
    return Reason(code, str(values["text"]), known, values.get("full"))


_PLAIN = (
    *("url", "final_url", "status", "attempts", "seconds", "received"),
    *("content_type", "content_encoding", "charset"),
)


def _exchange_values(exchange: Exchange) -> dict[str, Any]:
    values = {name: getattr(exchange, name) for name in _PLAIN}
    values["headers"] = exchange.headers
    values["redirects"] = exchange.redirects
    if exchange.broken is not None:
        values["broken"] = _reason_values(exchange.broken)
    if exchange.started is not None:
        values["started"] = exchange.started.isoformat()
    values["hops"] = [
        [hop.url, hop.status, hop.reason, hop.sent, hop.headers, hop.address]
        for hop in exchange.hops
        if isinstance(hop, Hop)
    ]
    return {name: value for name, value in values.items() if value not in (None, (), [])}


def _read_exchange(values: dict[str, Any]) -> Exchange:
    known: dict[str, Any] = {name: values.get(name) for name in _PLAIN}
    known["attempts"] = int(values.get("attempts", 0))
    known["seconds"] = float(values.get("seconds", 0.0))
    known["received"] = int(values.get("received", 0))
    started, broken = values.get("started"), values.get("broken")
    _check_text(*(known[name] for name in ("content_type", "content_encoding", "charset")))
    if not isinstance(known["url"], str) or not isinstance(known["final_url"], str):
        raise TypeError("an exchange without URLs")
    if known["status"] is not None:
        known["status"] = int(known["status"])
    return Exchange(
        **known,
        headers=_pairs(values.get("headers", ())),
        redirects=tuple(map(str, values.get("redirects", ()))),
        broken=None if broken is None else _read_reason(broken),
        started=None if started is None else datetime.fromisoformat(started),
        hops=tuple(
            Hop(url, status, reason, _shared(_pairs(sent)), _pairs(headers), *address)
            for url, status, reason, sent, headers, *address in values.get("hops", ())
        ),
    )


def _pairs(values: Any) -> tuple[tuple[str, str], ...]:
    return tuple((sys.intern(str(name)), str(value)) for name, value in values)


@lru_cache(maxsize=64)
def _shared(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return headers that are the same for nearly all requests, once for all."""
    return pairs


def _entry_values(entry: Entry) -> dict[str, Any]:
    exchange, before = entry.exchange, entry.before
    values = {
        "url": entry.url,
        "role": entry.role.value,
        "lastmod": entry.lastmod,
        "attempts": entry.attempts,
        "exchange": None if exchange is None else _exchange_values(exchange),
        "error": entry.error,
        "ended": entry.ended or None,
        "refused": entry.refused or None,
        "glance": entry.glance,
        "at": entry.at,
        "start": entry.start,
        "end": entry.end,
        "digest": entry.digest,
        "seen": entry.seen,
        "here": entry.here,
        "sum": entry.sum,
        "before": None if before is None else _entry_values(before),
    }
    return {name: value for name, value in values.items() if value is not None}


def _read_values(values: dict[str, Any]) -> Entry:
    exchange, before, at = values.get("exchange"), values.get("before"), values.get("at")
    checksum = values.get("sum")
    entry = Entry(
        url=str(values["url"]),
        role=Role(values["role"]),
        lastmod=values.get("lastmod"),
        attempts=int(values.get("attempts", 0)),
        exchange=None if exchange is None else _read_exchange(exchange),
        error=values.get("error"),
        ended=bool(values.get("ended")),
        refused=bool(values.get("refused")),
        glance=values.get("glance"),
        at=None if at is None else int(at),
        start=int(values.get("start", 0)),
        end=int(values.get("end", 0)),
        digest=values.get("digest"),
        seen=values.get("seen"),
        here=int(values.get("here", 0)),
        sum=None if checksum is None else int(checksum),
        before=None if before is None else _read_values({**before, "before": None}),
    )
    if entry.error is not None:
        failure_from(entry.error, entry.exchange)
    elif entry.at is None or entry.exchange is None:
        raise ValueError("an entry of a snapshot has neither a response nor a failure")
    else:
        look_from(entry)
    _check_text(entry.lastmod, entry.digest, entry.seen)
    return entry


def _check_text(*values: object) -> None:
    """Raise ``ValueError`` unless all values are texts or None."""
    for value in values:
        if value is not None and not isinstance(value, str):
            raise ValueError(f"an entry of a snapshot has {value!r} instead of a text")
