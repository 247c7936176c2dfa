"""The flow of requests to one document, the same for all of our clients.

A :class:`FlowClient` sends each :class:`Request` without following redirects, and returns the
:class:`Head` of the response. Headers, secrets, redirects, cookies, deadlines and the meaning of
failures are decided here.
"""

from __future__ import annotations

import contextlib
import email.utils
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.client import responses
from typing import Any, ClassVar, NamedTuple, TypeAlias

from usp._base.display import printable
from usp._base.reason import Reason
from usp._base.shortage import scarce, shortage_of
from usp._base.urls import BadUrl, HttpUrl, read_url
from usp._http import identity
from usp._http.encodings import ACCEPTED, BodyDecoder
from usp._http.failures import LARGE_HEAD, had_no_connection, is_bot_wall, reason_of, too_large
from usp._http.http1 import HEAD_BYTES
from usp._http.identity import OUR_NAME, Timeout, is_harmless
from usp._http.redirects import REDIRECTS, BadRedirect, HopCookies, follow, too_many
from usp.limits import Limits
from usp.objects.exchange import Exchange, Hop
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import (
    RETRYABLE_HTTP_STATUS_CODES,
    BrokenBody,
    ResponseFacts,
    WebClientErrorResponse,
)
from usp.web_client.zones import AddressGate, Refused, Zones

Conditions: TypeAlias = "Mapping[tuple[str, str], Mapping[str, str]]"
"""Headers of conditional requests (If-None-Match, If-Modified-Since), by URL and final URL."""

_VALIDATORS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}
_OUTSIDE_A_CRAWL = Limits(document_seconds=None)
_LONGEST_REASON = 200
_SHORTEST_WAIT = 0.001  # seconds


class Deadline(NamedTuple):
    """When a response must be complete, by ``time.monotonic``, and the limit that says so."""

    at: float
    limit: str
    limits: Limits

    @property
    def reason(self) -> Reason:
        """Why a response is not complete by then."""
        return self.limits.reached(self.limit)

    @property
    def left(self) -> float:
        """The seconds until then; never 0, which means forever to some libraries."""
        return max(self.at - time.monotonic(), _SHORTEST_WAIT)


class Request(NamedTuple):
    """A request to send: ``text`` is its URL. ``is_home`` is whether its host may get secrets."""

    url: HttpUrl
    text: str
    headers: dict[str, str]
    is_home: bool
    is_first: bool
    deadline: Deadline | None


class Head(NamedTuple):
    """The status and headers of a response.

    ``peer`` is the address that responded, unless the session checks it itself; ``address`` is the same
    for the record, unless a proxy responded. ``cookies`` are those that it sets, unless the session
    keeps them. ``is_bounded`` is whether the session has limited the size of the headers.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    cookies: Sequence[str] = ()
    peer: str | None = None
    is_bounded: bool = False
    address: str | None = None

    @property
    def location(self) -> str | None:
        """Where the response leads, if it is a redirect."""
        return (self.headers.get("Location") or None) if self.status in REDIRECTS else None


class Arrived(NamedTuple):
    """The way to a document: the URLs that were requested one after another, and the requests."""

    urls: tuple[str, ...]
    hops: tuple[Hop, ...] = ()
    deadline: Deadline | None = None


class ReceivedFacts(ResponseFacts):
    """The response at the end of a way, without its body."""

    _response: Any
    _way: Arrived

    def header(self, case_insensitive_name: str) -> str | None:
        """Return a header, or None."""
        value: str | None = self._response.headers.get(case_insensitive_name)
        return value

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return all headers."""
        return tuple(self._response.headers.items())

    def redirects(self) -> tuple[str, ...]:
        """Return the URLs that redirected here."""
        return self._way.urls[:-1]

    def hops(self) -> tuple[Hop, ...]:
        """Return the requests that led here, including the last one."""
        return self._way.hops

    def url(self) -> str:
        """Return the URL after redirects."""
        return self._way.urls[-1]


class SessionFacts(NamedTuple):
    """What a flow needs to know about the session that sends."""

    user_agent: str | None = OUR_NAME  # unless the client was given one; None if it has its own
    has_login: bool = False  # it, or the client, logs in by itself at home
    timeout: object = None  # seconds: one number, or one to connect and one to read
    secrets: Callable[[], set[str]] = set  # not to be seen in a message


@dataclass(eq=False, repr=False)
class Flow:
    """The requests of one client, alone or in a crawl; may be used from several threads.

    ``error`` is the class of its failures. Of ``headers``, those that may be secret are sent to the
    ``home`` host only: that of the start, or else the first one requested. If that was by HTTPS, they
    are not sent without it.
    """

    error: type[WebClientErrorResponse] = WebClientErrorResponse
    zones: Zones | None = None
    user_agent: str | None = None
    headers: Mapping[str, str] | None = None
    limits: Limits = _OUTSIDE_A_CRAWL
    began: float | None = None  # the crawl
    home: HttpUrl | None = None
    conditions: Conditions = field(default_factory=dict)
    gate: AddressGate = field(init=False)
    _sent: tuple[dict[str, str], tuple[tuple[str, str], ...]] = field(default=({}, ()), init=False)

    def __post_init__(self) -> None:
        self.headers = dict(self.headers or {})
        self.gate = AddressGate(self.zones)

    def for_crawl(self, start_url: str, limits: Limits) -> Flow:
        """Return the flow of a crawl that begins now, at ``start_url``."""
        flow = replace(self, limits=limits, began=time.monotonic(), home=None, conditions={})
        with contextlib.suppress(BadUrl):
            flow.begin(read_url(start_url))
        return flow

    def begin(self, start: HttpUrl) -> None:
        """Remember where the first request leads to, unless that is known."""
        self.gate.begin(start.host)
        if self.home is None:
            self.home = replace(start, rest="/", login=None)

    def deadline(self) -> Deadline | None:
        """Return when the response to a request that is sent now must be complete."""
        limits, ends = self.limits, []
        for name, begin in (("document_seconds", time.monotonic()), ("seconds", self.began)):
            seconds = getattr(limits, name)
            if begin is not None and seconds is not None:
                ends.append(Deadline(begin + seconds, name, limits))
        return min(ends, default=None)

    def admit(self, host: str, addresses: Sequence[str] | None) -> str | None:
        """Return the first address of a host; raises :class:`Refused` if one of them is not allowed.

        None means that they are not known: a proxy looks them up, or a session that is not ours.
        """
        if addresses is None:
            self.gate.admit_name(host)
        for address in addresses or ():
            self.gate.admit(host, address)
        return addresses[0] if addresses else None

    def request(
        self,
        target: HttpUrl,
        texts: list[str],
        session: SessionFacts,
        cookies: HopCookies | None,
        deadline: Deadline | None,
    ) -> Request:
        """Return the request to send next, without secrets for other hosts."""
        is_home = self.home is not None and self.home.may_share(target)
        headers = {"Accept-Encoding": ACCEPTED}
        name = session.user_agent if self.user_agent is None else self.user_agent or OUR_NAME
        if name is not None:
            headers["User-Agent"] = name
        if scarce():  # a connection that is kept for later is missing elsewhere now
            headers["Connection"] = "close"
        if self.headers:
            mine = self.headers.items()
            headers |= {name: value for name, value in mine if is_home or is_harmless(name)}
        if target.login is not None and not (is_home and session.has_login):
            headers["Authorization"] = target.login.header()
        cookie = cookies.header(target) if cookies is not None else None
        if self.conditions:
            headers.update(self.conditions.get((texts[0], texts[-1]), ()))
        if cookie is not None:
            own = headers.get("Cookie")
            headers["Cookie"] = f"{own}; {cookie}" if own else cookie
        return Request(target, texts[-1], headers, is_home, len(texts) == 1, deadline)

    def hop(self, request: Request, head: Head) -> Hop:
        """Return what is kept of a request and its response, without secrets."""
        headers, sent = self._sent  # nearly all requests have the same
        if headers != request.headers:
            headers = request.headers
            sent = tuple((name, value) for name, value in headers.items() if is_harmless(name))
            self._sent = headers, sent
        # Where it leads is the URL of the next one, without what the session adds to it.
        kept: tuple[tuple[str, str], ...] = ()
        if head.location is not None:
            safe = identity.safe_headers(head.headers.items())
            kept = tuple((name, value) for name, value in safe if name.lower() != "location")
        reason = head.reason[:_LONGEST_REASON]
        if not reason.isprintable():
            reason = printable(reason)
        return Hop(request.text, head.status, sys.intern(reason), sent, kept, head.address)

    def refused(
        self, head: Head, texts: Sequence[str], passed: Sequence[Hop] = ()
    ) -> WebClientErrorResponse | None:
        """Return the failure for an error status, or None; ``texts`` are the URLs requested."""
        sizes = (len(f"{name}: {value}\r\n") for name, value in head.headers.items())
        is_large = not head.is_bounded and sum(sizes) > HEAD_BYTES
        if not is_large and (head.location or 200 <= head.status < 300):  # noqa: PLR2004
            return None
        exchange = Exchange(
            texts[0], texts[-1], head.status, redirects=tuple(texts[:-1]), hops=tuple(passed)
        )
        if is_large:
            return self.error(LARGE_HEAD, retryable=False, exchange=exchange)
        return self.error(
            f"{head.status} {phrase(head.status, head.reason)}".strip(),
            retryable=head.status in RETRYABLE_HTTP_STATUS_CODES,
            status=head.status,
            retry_after=retry_after(head.headers.get("Retry-After")),
            blocked=is_bot_wall(head.status, head.headers),
            exchange=replace(exchange, headers=tuple(head.headers.items())),
        )

    def failed(
        self,
        error: Exception,
        url: str,
        session: SessionFacts,
        deadline: Deadline | None,
        *,
        is_about_host: bool,
    ) -> WebClientErrorResponse:
        """Return the failure for an exception; ``is_about_host`` is whether it is the first host's."""
        if deadline is not None and time.monotonic() >= deadline.at:
            return self.error(deadline.reason, retryable=False, silent=is_about_host)
        secrets = session.secrets()
        reason = identity.without_secrets(reason_of(error, url, session.timeout), secrets)
        shortage, code = shortage_of(error), reason.code
        is_ours = shortage is not None or code is FailureCode.PROXY_ERROR
        is_about_host = is_about_host and not is_ours
        is_late, is_closed = code is FailureCode.READ_TIMEOUT, code is FailureCode.CONNECTION_CLOSED
        failure = self.error(
            reason,
            retryable=shortage is not None or is_late or is_closed,
            unreachable=is_about_host and had_no_connection(error, code),
            silent=is_about_host and is_late,
            shortage=shortage,
        )
        quote = getattr(failure, "quote", None)
        # What is said about a URL may have parts of a password in it.
        if quote and not isinstance(error, ValueError) and reason.code is not FailureCode.BAD_URL:
            quote(identity.redacted(str(error), secrets))
        return failure


class FlowClient:
    """What our clients have in common; each adds how one request is sent."""

    _flow: Flow
    _proxies: Mapping[str, str]
    _timeout: Any
    _limit: int | None = None
    _errors: ClassVar[tuple[type[Exception], ...]]  # of its library
    _facts: Callable[[], SessionFacts]
    _ask: Callable[[Request], Coroutine[Any, Any, tuple[Any, Head]]]  # follows no redirects
    _leave: Callable[[Any], None]  # lets go of a response that redirects

    async def _fetch(self, url: str) -> tuple[Any, Arrived | WebClientErrorResponse]:
        """Return the last response for a URL, if there is one, and the outcome."""
        flow, response = self._flow, None
        cookies: HopCookies | None = None
        hops: list[Hop] = []
        try:
            start = target = read_url(url)
            flow.begin(start)
            text = start.text()
            texts = [url if url == text else text]  # of what was asked for, one after another
            session, deadline = self._facts(), flow.deadline()
            while True:
                request = flow.request(target, texts, session, cookies, deadline)
                try:
                    response, head = await self._ask(request)
                except self._errors as error:
                    # A redirect may have led to another host: then this is not about the first one.
                    about = target.site == start.site
                    failed = flow.failed(error, texts[-1], session, deadline, is_about_host=about)
                    return None, failed
                if head.peer is not None:
                    flow.gate.connected(target.host, head.peer)
                hops.append(flow.hop(request, head))
                failure = flow.refused(head, texts, hops)
                if failure is not None or head.location is None:
                    return response, failure or Arrived(tuple(texts), tuple(hops), deadline)
                cookies = cookies or HopCookies()
                cookies.take(target, head.cookies)
                target = follow(target, head.location, flow.limits)
                texts.append(target.text())
                if flow.limits.redirects is not None and len(hops) > flow.limits.redirects:
                    raise too_many(texts, flow.limits)
                self._leave(response)
                response = None
        except BadUrl as error:
            return response, flow.error(Reason(FailureCode.BAD_URL, str(error)), retryable=False)
        except (BadRedirect, Refused) as error:
            return response, flow.error(error.reason, retryable=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything except our connections; a copy opens its own."""
        state = dict(vars(self))
        if "_flow" in state:  # else it is a subclass that does not call our __init__
            state |= {"_own": None, "_flow": replace(self._flow)}
        return state

    def set_timeout(self, timeout: Timeout) -> None:
        """Set the timeout in seconds: one number, or a pair for connecting and for reading, or None."""
        self._timeout = identity.checked_timeout(timeout)

    def set_proxies(self, proxies: dict[str, str]) -> None:
        """Set the proxies by scheme, as in ``requests``."""
        self._proxies = proxies

    def set_conditions(self, conditions: Conditions) -> None:
        """Set the headers that ask for a document only if it has changed."""
        self._flow.conditions = conditions

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        """Limit how many bytes of a body are received."""
        self._limit = max_response_data_length


def phrase(status: int, reason: str) -> str:
    """Return the reason phrase of a status, or the standard one if there is none."""
    return printable(reason[:_LONGEST_REASON]) if reason else responses.get(status, "")


def retry_after(header: str | None) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks to wait, given as seconds or as a date."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        date = email.utils.parsedate_to_datetime(text)
        return max(0.0, date.timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def conditions_of(
    last: Iterable[tuple[str, str, Callable[[str], str | None]]],
) -> dict[tuple[str, str], dict[str, str]]:
    """Return what asks for documents only if they have changed, by URL, final URL and headers."""
    found = {}
    for url, final_url, header in last:
        headers = {
            sent: value
            for name, sent in _VALIDATORS.items()
            if (value := header(name)) and value.isascii() and value.isprintable()
        }
        with contextlib.suppress(BadUrl):
            if headers:
                found[read_url(url).text(), read_url(final_url).text()] = headers
    return found


class BodyReader:
    """A body while it is received: decodes what is fed, up to a limit and a deadline."""

    def __init__(
        self, content_encoding: str | None, limit: int | None, deadline: Deadline | None
    ) -> None:
        self._decoder = BodyDecoder(content_encoding) if content_encoding else None
        self._limit = self._room = limit
        self._deadline = deadline

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what has been decoded; raises :class:`BrokenBody` if it is too large, or too late."""
        pieces = (data,) if self._decoder is None else self._decoder.feed(data)
        for piece in self._bounded(pieces):
            yield piece
            self._check_time()
        self._check_time()

    def close(self) -> Iterator[bytes]:
        """Yield what is left; raises :class:`BrokenBody` if the end is missing."""
        return self._bounded(() if self._decoder is None else self._decoder.close())

    def failure(self, error: Exception, url: str, timeout: object) -> BrokenBody:
        """Return the error for an exception while the body was received."""
        self._check_time()
        return BrokenBody(reason_of(error, url, timeout, in_body=True))

    def _bounded(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            if self._room is not None and len(piece) > self._room:
                yield piece[: self._room]
                raise BrokenBody(too_large(self._limit))
            self._room = None if self._room is None else self._room - len(piece)
            yield piece

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline.at:
            raise BrokenBody(self._deadline.reason)
