"""What a snapshot keeps of a document beside its bytes, as JSON: the exchange, or the failure.

A table for each kind of value names its fields and how they are read: what is read was perhaps written
by anyone, and every value is checked.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from usp._base.display import printable
from usp._base.reason import Advice, Reason, Topic
from usp._base.recrawl_policy import Rhythm
from usp._base.urls import without_login
from usp._crawl.orders import Failed, FinalResult, HostGivenUp, NoNetwork, NotRequested, Probe
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
    from usp._store import Document

T = TypeVar("T")

LIMIT = "limit-"  # how the codes of failures begin that are due to a limit
_DIGITS = 18  # of a whole number: what a file can count, and an offset can be
_SECONDS = 10**9  # thirty years


# Values ---------------------------------------------------------------------------------------------


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
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:50]} is not a number")
    return value


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_finite, parse_constant=_finite)


def whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{_shown(value)} is not a non-negative number")
    return value


def seconds(value: object) -> float:
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


def _shown(value: object) -> str:
    return repr(value)[:50] if isinstance(value, str | int | float | bool) else type(value).__name__


def _line(given: object) -> str:
    return printable(text(given))


def _moment(given: object) -> datetime:
    """Return a moment that can be written in any time zone."""
    moment = datetime.fromisoformat(text(given))
    moment.astimezone(UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _pairs(given: object) -> tuple[tuple[str, str], ...]:
    return tuple(map(_pair, listed(given)))


def _pair(given: object) -> tuple[str, str]:
    name, value = map(text, listed(given))
    return sys.intern(printable(name)), printable(value)


@lru_cache(maxsize=64)
def _shared(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return headers that are the same for nearly all requests, once for all."""
    return pairs


def read_table(table: dict[str, Callable[[object], Any]], given: object) -> dict[str, Any]:
    """Return the values of an object that are in a table, and nothing else that the file has there."""
    values = mapping(given)
    return {
        name: read(value) for name, read in table.items() if (value := values.get(name)) is not None
    }


# Entries --------------------------------------------------------------------------------------------


def key_of(role: Role, url: str) -> tuple[Role, str]:
    """Return what a document is found by; a login in a URL that a sitemap lists is not written."""
    return role, without_login(url)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in a snapshot: where its response is, or why there is none.

    ``offset`` is that of the response record; its records, redirects and requests included, are from
    ``start`` to ``end``, with the checksum ``crc``. ``ended`` is whether we ended the transfer.
    ``refused`` is whether the response is not the document: an error page, or not all of it. ``probe``
    is what the first look at a page sitemap showed. ``seen`` is when it was last found unchanged.
    ``last_good`` is the last good response of a document that failed later. ``entry_offset`` is where
    the entry itself was written. ``failed_as_guess`` is whether it was a known path that failed and was
    requested again once it was declared. ``rhythm`` is how often it changes, and when it is due again.
    """

    url: str
    role: Role
    lastmod: str | None = None
    attempts: int = 0
    exchange: Exchange | None = None
    error: WebClientErrorResponse | None = None
    ended: bool = False
    refused: bool = False
    probe: Probe | None = None
    offset: int | None = None
    start: int = 0
    end: int = 0
    digest: str | None = None
    seen: str | None = None
    last_good: Entry | None = None
    entry_offset: int = 0
    crc: int | None = None
    failed_as_guess: bool = False
    rhythm: Rhythm | None = None

    @property
    def key(self) -> tuple[Role, str]:
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

    def moved(self, by: int) -> Entry:
        offset, good = self.offset, self.last_good
        return replace(
            self,
            start=self.start + by,
            end=self.end + by,
            offset=None if offset is None else offset + by,
            last_good=None if good is None else good.moved(by),
        )

    @property
    def is_whole(self) -> bool:
        return (
            self.offset is not None and self.exchange is not None and self.exchange.broken is None
        )

    @property
    def is_document(self) -> bool:
        """Whether the response is the document; with a last good one, it has lost what that had."""
        return self.error is None and not self.refused and not self.ended

    @property
    def failed_with(self) -> int | None:
        """The status with which it failed, if it did and there was one."""
        return None if self.error is None else status_of(self.error)

    def to_json(self) -> str:
        return json.dumps(self, default=_values, ensure_ascii=True, separators=(",", ":"))


def entry_of(final: FinalResult) -> tuple[Entry, Document | None]:
    """Return the entry of a document whose fetch has ended, without places, and the document."""
    result, document = final.result, None
    given = final.url, final.role, final.lastmod, final.attempts, result.exchange
    entry = Entry(*given, failed_as_guess=final.failed_as_guess)
    if isinstance(result, Failed):
        entry = replace(entry, error=result.error)
    else:
        look, document = result.probe, result.document
        ended = result.exchange.broken is not None and look.broken is None
        # For reasons of the server, and not of a limit.
        is_cut = look.unfinished is not None and not look.unfinished.code.value.startswith(LIMIT)
        refused = look.refusal is not None or look.broken is not None or is_cut
        refused = refused and final.role is not Role.HOMEPAGE
        entry = replace(entry, ended=ended, refused=refused, probe=_plain_probe(look))
    return entry.asked_as(without_login(final.url)), document


def _plain_probe(look: Probe) -> Probe | None:
    """Return what need not be found out again: that a document is a page sitemap and nothing else."""
    plain = look.kind is not None and issubclass(look.kind, AbstractPagesSitemap)
    plain = plain and not (look.is_doubtful or look.hosts or look.children or look.left_out)
    if not plain or look.unfinished or look.transfer:
        return None
    return Probe(look.kind, pages=0, namespace=look.namespace, start=look.start)


def _values(value: object) -> Any:  # noqa: C901, PLR0911 - one for each kind
    match value:
        case Entry():
            return _present(value, _ENTRY)
        case Exchange():
            hops = tuple(hop for hop in value.hops if isinstance(hop, Hop))
            return _present(value, _EXCHANGE, hops=hops)
        case WebClientErrorResponse():
            kind = next((name for name, one in _ERRORS.items() if type(value) is one), None)
            said = {"message": words_of(value), "reason": failure_reason(value)}
            status, retryable = status_of(value), value.retryable()
            return _present(value, _ERROR, kind=kind, status=status, retryable=retryable, **said)
        case Probe(kind=kind):
            name = None if kind is None else kind.__name__
            return {"kind": name, "namespace": value.namespace, "start": value.start.hex()}
        case Reason():
            return _present(value, _REASON)
        case Rhythm():
            return astuple(value)
        case Advice():
            return [value.topic.name, value.name]
        case Hop():
            return [getattr(value, one.name) for one in fields(value)]
        case datetime():
            return value.isoformat()
        case Role() | FailureCode():
            return value.value
    raise TypeError(f"a snapshot has no {type(value).__name__}")


def _present(value: object, table: Iterable[str], **known: Any) -> dict[str, Any]:
    """Return the fields of a value that a reader would not assume without them."""
    found = {name: getattr(value, _ATTRIBUTES.get(name, name), None) for name in table} | known
    return {
        name: one
        for name, one in found.items()
        if one is not None and one is not False and one != ()
    }


def read_entry(line: str | bytes) -> Entry:
    """Return the entry that a line of JSON describes; raises ``ValueError`` for anything else."""
    try:
        return _read_entry(read_json(line))
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"this is not an entry of a snapshot: {error}") from error


def _read_entry(given: object) -> Entry:
    values = read_table(_ENTRY, given)
    entry = Entry(**{_ATTRIBUTES.get(name, name): value for name, value in values.items()})
    if entry.error is None and (entry.offset is None or entry.exchange is None):
        raise ValueError("it has neither a response nor a failure")
    return entry


def _read_hop(given: object) -> Hop:
    values: Any = (read(value) for read, value in zip(_HOP, listed(given), strict=False))
    return Hop(*values)


def _read_error(given: object) -> WebClientErrorResponse:
    """Return the error of a document as it was recorded."""
    values = read_table(_ERROR, given)
    kind = _ERRORS.get(values.pop("kind", ""), WebClientErrorResponse)
    message, reason = values.pop("message", ""), values.pop("reason")
    retryable = values.pop("retryable", False)
    error = kind(message, retryable, **values)
    return error if failure_reason(error) == reason else kind(reason, retryable, **values)


def _read_reason(given: object) -> Reason:
    return Reason(**read_table(_REASON, given))


def _read_advice(given: object) -> Advice | None:
    topic, name = map(text, listed(given))
    return Advice(Topic[topic], name) if topic in Topic.__members__ else None


def _read_rhythm(given: object) -> Rhythm:
    *times, changed_at, failures = listed(given)
    interval, due, first_seen, checked_at = map(float, times)
    changed = None if changed_at is None else float(changed_at)
    return Rhythm(interval, due, first_seen, checked_at, changed, whole(failures))


def _read_probe(given: object) -> Probe | None:
    values = read_table(_PROBE, given)
    kind = _PAGE_KINDS.get(values.pop("kind"))
    return None if kind is None else Probe(kind, pages=0, **values)


_PAGE_KINDS = {kind.__name__: kind for kind in KINDS if issubclass(kind, AbstractPagesSitemap)}
_CODES = {code.value: code for code in FailureCode}
_ERRORS: dict[str, type[WebClientErrorResponse]] = {
    "not-asked": NotRequested,
    "host-given-up": HostGivenUp,
    "not-fetched": NoNetwork,
}

_HOP: tuple[Callable[[object], Any], ...] = (
    *(_line, whole, _line, lambda given: _shared(_pairs(given)), _pairs),
    lambda given: None if given is None else text(given),
)
_PROBE = {"kind": text, "namespace": _pair, "start": lambda given: bytes.fromhex(text(given))}
_REASON: dict[str, Callable[[object], Any]] = {
    "code": lambda given: _CODES.get(text(given), FailureCode.OTHER_FAILURE),  # of a later version
    **dict.fromkeys(("text", "full"), text),
    "advice": _read_advice,
}
_UNSENT = {"status": None, "attempts": 0}
_ERROR: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(("kind", "message"), text),
    "reason": _read_reason,
    "status": whole,
    "retry_after": seconds,
    **dict.fromkeys(("retryable", "unreachable", "silent", "blocked"), flag),
}
_EXCHANGE: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(("url", "final_url"), _line),
    **dict.fromkeys(("status", "attempts", "received"), whole),
    "seconds": seconds,
    **dict.fromkeys(("content_type", "content_encoding", "charset"), text),
    "headers": _pairs,
    "redirects": lambda given: tuple(map(_line, listed(given))),
    "broken": _read_reason,
    "started": _moment,
    "hops": lambda given: tuple(map(_read_hop, listed(given))),
    "earlier": lambda given: tuple(
        (_moment(when), seconds(took)) for when, took in map(listed, listed(given))
    ),
}
_ENTRY: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(("url", "lastmod", "digest", "seen"), text),
    "role": lambda given: Role(text(given)),
    **dict.fromkeys(("attempts", "at", "start", "end", "here", "sum"), whole),
    "exchange": lambda given: Exchange(**_UNSENT | read_table(_EXCHANGE, given)),
    "error": _read_error,
    **dict.fromkeys(("ended", "refused", "failed_as_guess"), flag),
    "glance": _read_probe,
    "before": lambda given: _read_entry({**mapping(given), "before": None}),
    "rhythm": _read_rhythm,
}
_ATTRIBUTES = {
    "at": "offset",
    "here": "entry_offset",
    "sum": "crc",
    "before": "last_good",
    "glance": "probe",
}
"""What is called otherwise in a file, where it is shorter."""
