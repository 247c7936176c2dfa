"""What a snapshot keeps of a document beside its bytes, as JSON: the exchange, or the failure.

What is read was perhaps written by a stranger: every value is checked.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from usp._base.reason import Advice, Reason, Topic
from usp._base.safe_text import printable
from usp._base.urls import without_login
from usp._crawl.orders import Failed, HostGivenUp, NoNetwork, NotRequested, Probe
from usp._formats.document import Role
from usp.objects.exchange import Exchange, Hop
from usp.objects.failure_codes import FailureCode
from usp.objects.sitemap import KINDS, AbstractPagesSitemap
from usp.web_client.abstract_client import (
    WebClientErrorResponse,
    failure_reason,
    status_of,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp._crawl.orders import FinalResult

T = TypeVar("T")

LIMIT = "limit-"
"""How the codes of failures begin that are due to a limit."""

_DIGITS = 18  # of a whole number: what a file can count, and an offset can be
_SECONDS = 10**9  # thirty years


def read_json(text: str | bytes) -> Any:
    """Return a value in JSON; raises ``ValueError`` for what no snapshot has.

    That is numbers which are not finite or have too many digits, text that is not Unicode, and
    nesting that is too deep.
    """
    try:
        text = text if isinstance(text, str) else text.decode()
        value = _DECODER.decode(text)
        if "\\ud" in text.lower():  # perhaps half a character
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _whole(text: str) -> int:
    if len(text.lstrip("-")) > _DIGITS:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    return value


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_finite, parse_constant=_refused)


def whole(value: object) -> int:
    """Return a whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{_shown(value)} is not a number from 0 on")
    return value


def seconds(value: object) -> float:
    """Return a number of seconds."""
    if type(value) not in (int, float) or not 0 <= value <= _SECONDS:  # type: ignore[operator]
        raise ValueError(f"{_shown(value)} is not a number of seconds")
    return float(value)  # type: ignore[arg-type]


def _checked(kind: type[T], what: str, value: object) -> T:
    if not isinstance(value, kind):
        raise ValueError(f"{_shown(value)} is not {what}")  # noqa: TRY004 - the file is wrong
    return value


text: Callable[[object], str] = partial(_checked, str, "a text")
flag: Callable[[object], bool] = partial(_checked, bool, "true or false")
mapping: Callable[[object], dict[str, Any]] = partial(_checked, dict, "an object")
listed: Callable[[object], list[Any]] = partial(_checked, list, "a list")


def optional(read: Callable[[object], T], value: object) -> T | None:
    """Return a value that may be missing."""
    return None if value is None else read(value)


def _shown(value: object) -> str:
    return repr(value)[:50] if isinstance(value, str | int | float | bool) else type(value).__name__


def key_of(role: Role, url: str) -> tuple[Role, str]:
    """Return what a document is found by; a login in a URL that a sitemap lists is not written."""
    return role, without_login(url)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in a snapshot: where its response is, or why there is none.

    ``offset`` is that of the response record; its records, redirects and requests included, are from
    ``start`` to ``end``, with the checksum ``crc``. ``ended`` is whether we ended the transfer.
    ``refused`` is whether the response is not the document: an error page, or not all of it. ``glance``
    is what the first look at a page sitemap showed. ``seen`` is when it was last found unchanged.
    ``last_good`` is the last good response of a document that failed later. ``entry_offset`` is where
    the entry itself was written. ``failed_as_guess`` is whether it was a known path that failed and was
    requested again once it was declared.
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
    offset: int | None = None
    start: int = 0
    end: int = 0
    digest: str | None = None
    seen: str | None = None
    last_good: Entry | None = None
    entry_offset: int = 0
    crc: int | None = None
    failed_as_guess: bool = False

    @property
    def key(self) -> tuple[Role, str]:
        """What the document is found by."""
        return key_of(self.role, self.url)

    def asked_as(self, url: str) -> Entry:
        """Return the entry with the URL as it is listed, which may have a login."""
        if url == self.url:
            return self
        exchange, good = self.exchange, self.last_good
        return replace(
            self,
            url=url,
            exchange=None if exchange is None else replace(exchange, url=url),
            last_good=None if good is None else good.asked_as(url),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the response was received, completely."""
        return (
            self.offset is not None and self.exchange is not None and self.exchange.broken is None
        )

    @property
    def size(self) -> int:
        """The bytes of the body."""
        return 0 if self.exchange is None else self.exchange.received

    def to_json(self) -> str:
        """Return the entry as a line of JSON."""
        return json.dumps(_entry_values(self), ensure_ascii=True, separators=(",", ":"))


def entry_of(settled: FinalResult) -> Entry:
    """Return the entry of a document that was just settled, without the places of its records."""
    result = settled.result
    entry = Entry(settled.url, settled.role, settled.lastmod, settled.attempts)
    entry = replace(entry, failed_as_guess=settled.failed_as_guess)
    if isinstance(result, Failed):
        entry = replace(entry, exchange=result.exchange, error=_error_values(result.error))
    else:
        exchange, look = result.document.exchange, result.probe
        ended = exchange.broken is not None and look.broken is None
        refused = settled.role is not Role.HOMEPAGE and _is_refused(look)
        glance = _glance(look)
        entry = replace(entry, exchange=exchange, ended=ended, refused=refused, glance=glance)
    return entry.asked_as(without_login(settled.url))


def _is_refused(look: Probe) -> bool:
    """Return whether a response is not the document, or not all of it, for reasons of the server."""
    if look.refusal is not None or look.broken is not None:
        return True
    return look.unfinished is not None and not look.unfinished.code.value.startswith(LIMIT)


def read_entry(line: str | bytes) -> Entry:
    """Return the entry that a line of JSON describes; raises ``ValueError`` for anything else."""
    try:
        return _read_values(read_json(line))
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"this is not an entry of a snapshot: {error}") from error


def failure_from(values: dict[str, Any], exchange: Exchange | None) -> Failed:
    """Return the failure of a document as it was told when it was recorded."""
    kind = _ERRORS.get(values.get("kind", ""), WebClientErrorResponse)
    reason = _read_reason(values["reason"])
    known: dict[str, Any] = {
        "status": values.get("status"),
        "retry_after": values.get("retry_after"),
        **{name: values.get(name, False) for name in ("unreachable", "silent", "blocked")},
    }
    retryable = values.get("retryable", False)
    error = kind(values.get("message", ""), retryable, **known)
    if failure_reason(error) != reason:
        error = kind(reason, retryable, **known)
    return Failed(error, exchange)


def look_from(entry: Entry) -> Probe | None:
    """Return what the first look at a page sitemap showed, if that was kept."""
    glance = entry.glance
    kind = _KINDS.get(glance.get("kind", "")) if glance else None
    if glance is None or kind is None or not issubclass(kind, AbstractPagesSitemap):
        return None
    namespace = glance.get("namespace")
    return Probe(
        kind,
        pages=0,
        namespace=None if namespace is None else (namespace[0], namespace[1]),
        start=bytes.fromhex(glance.get("start", "")),
    )


_KINDS = {kind.__name__: kind for kind in KINDS}


def _glance(look: Probe) -> dict[str, Any] | None:
    """Return what need not be found out again: that a document is a page sitemap and nothing else."""
    plain = look.kind is not None and issubclass(look.kind, AbstractPagesSitemap)
    if not plain or look.children or look.left_out or look.unfinished or look.transfer:
        return None
    assert look.kind is not None
    return {"kind": look.kind.__name__, "namespace": look.namespace, "start": look.start.hex()}


_ERRORS: dict[str, type[WebClientErrorResponse]] = {
    "not-asked": NotRequested,
    "host-given-up": HostGivenUp,
    "not-fetched": NoNetwork,
}


def _error_values(error: WebClientErrorResponse) -> dict[str, Any]:
    kind = next((name for name, one in _ERRORS.items() if type(error) is one), None)
    values = {
        "kind": kind,
        "message": words_of(error),
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


def _read_reason(given: object) -> Reason:
    values = mapping(given)
    code = _CODES.get(text(values["code"]), FailureCode.OTHER_FAILURE)  # one of a later version
    advice = optional(_read_advice, values.get("advice"))
    return Reason(code, text(values["text"]), advice, optional(text, values.get("full")))


def _read_advice(given: object) -> Advice | None:
    topic, name = map(text, listed(given))
    return Advice(Topic[topic], name) if topic in Topic.__members__ else None


_ERROR_VALUES: dict[str, Callable[[object], Any]] = {
    "kind": text,
    "message": text,
    "reason": lambda given: _reason_values(_read_reason(given)),
    "status": whole,
    "retry_after": seconds,
    **dict.fromkeys(("retryable", "unreachable", "silent", "blocked"), flag),
}


def _read_glance(given: object) -> dict[str, Any]:
    values = mapping(given)
    return {
        "kind": text(values["kind"]),
        "namespace": optional(_read_pair, values.get("namespace")),
        "start": text(values.get("start", "")),
    }


def _exchange_values(exchange: Exchange) -> dict[str, Any]:
    values = {name: getattr(exchange, name) for name in _EXCHANGE}
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


def _read_exchange(given: object) -> Exchange:
    return Exchange(**{"status": None, "attempts": 0, **_read_table(_EXCHANGE, given)})


def _read_table(table: dict[str, Callable[[object], Any]], given: object) -> dict[str, Any]:
    """Return the values of an object that are in a table, and nothing else that the file has there."""
    values = mapping(given)
    return {
        name: read(value) for name, read in table.items() if (value := values.get(name)) is not None
    }


def _read_hop(
    url: object,
    status: object,
    reason: object,
    sent: object,
    headers: object,
    address: object = None,
    *_: object,
) -> Hop:
    known = optional(text, address)
    fields = printable(text(reason)), _shared(_pairs(sent)), _pairs(headers)
    return Hop(printable(text(url)), whole(status), *fields, known)


def _moment(written: str) -> datetime:
    """Return a moment that can be written in any time zone."""
    moment = datetime.fromisoformat(written)
    moment.astimezone(UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _pairs(given: object) -> tuple[tuple[str, str], ...]:
    return tuple(map(_read_pair, listed(given)))


def _read_pair(given: object) -> tuple[str, str]:
    name, value = map(text, listed(given))
    return sys.intern(printable(name)), printable(value)


@lru_cache(maxsize=64)
def _shared(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return headers that are the same for nearly all requests, once for all."""
    return pairs


def _line(given: object) -> str:
    return printable(text(given))


_EXCHANGE: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(("url", "final_url"), _line),
    **dict.fromkeys(("status", "attempts", "received"), whole),
    "seconds": seconds,
    **dict.fromkeys(("content_type", "content_encoding", "charset"), text),
    "headers": _pairs,
    "redirects": lambda given: tuple(map(_line, listed(given))),
    "broken": _read_reason,
    "started": lambda given: _moment(text(given)),
    "hops": lambda given: tuple(_read_hop(*listed(hop)) for hop in listed(given)),
}

_ENTRY: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(("url", "lastmod", "digest", "seen"), text),
    "role": lambda given: Role(text(given)),
    **dict.fromkeys(("attempts", "at", "start", "end", "here", "sum"), whole),
    "exchange": _read_exchange,
    "error": lambda given: _read_table(_ERROR_VALUES, given),
    **dict.fromkeys(("ended", "refused", "failed_as_guess"), flag),
    "glance": _read_glance,
    "before": lambda given: _read_values({**mapping(given), "before": None}),
}
_ATTRIBUTES = {"at": "offset", "here": "entry_offset", "sum": "crc", "before": "last_good"}
"""What is called otherwise in a file, where it is shorter."""


def _entry_values(entry: Entry) -> dict[str, Any]:
    values = {name: getattr(entry, _ATTRIBUTES.get(name, name)) for name in _ENTRY}
    values["role"] = entry.role.value
    if entry.exchange is not None:
        values["exchange"] = _exchange_values(entry.exchange)
    if entry.last_good is not None:
        values["before"] = _entry_values(entry.last_good)
    return {name: one for name, one in values.items() if one is not None and one is not False}


def _read_values(given: object) -> Entry:
    values = _read_table(_ENTRY, given)
    entry = Entry(**{_ATTRIBUTES.get(name, name): value for name, value in values.items()})
    if entry.error is not None:
        failure_from(entry.error, entry.exchange)
    elif entry.offset is None or entry.exchange is None:
        raise ValueError("it has neither a response nor a failure")
    else:
        look_from(entry)
    return entry
