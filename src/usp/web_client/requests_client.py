"""The HTTP client on ``requests``."""

from __future__ import annotations

import copy
import logging
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import requests
from urllib3 import HTTPHeaderDict

from usp._base.names import elsewhere
from usp._base.safe_text import get_logger
from usp._base.urls import without_login
from usp._http import requests_foreign
from usp._http.flow import Arrived, Deadline, Flow, Head, Request
from usp._http.flow import Session as SessionFacts
from usp._http.identity import (
    DEFAULT_TIMEOUT,
    Identity,
    RequestWaiter,
    Timeout,
    check_options,
    checked_timeout,
    proxies_of,
)
from usp._http.redaction import secrets_of_params, secrets_of_proxies, without_params
from usp._http.requests_foreign import as_response
from usp._http.requests_raw_responses import DEADLINE, Answer
from usp._http.requests_responses import (
    BODY_ERRORS,
    RequestsWebClientErrorResponse,
    RequestsWebClientSuccessResponse,
    excerpt_of,
    kind_of,
)
from usp._http.requests_sessions import Session, session_for
from usp.options import DEFAULT_CONCURRENCY
from usp.web_client.abstract_client import (
    RETRYABLE_HTTP_STATUS_CODES,
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
)
from usp.web_client.zones import Refused, Zones

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from usp._http.flow import Conditions
    from usp.limits import Limits
else:
    __getattr__ = elsewhere(__name__)

__all__ = [
    "RETRYABLE_HTTP_STATUS_CODES",
    "AbstractWebClient",
    "AbstractWebClientResponse",
    "AbstractWebClientSuccessResponse",
    "RequestWaiter",
    "RequestsWebClient",
    "RequestsWebClientErrorResponse",
    "RequestsWebClientSuccessResponse",
    "WebClientErrorResponse",
]

log = get_logger(__name__)

_LIBRARY = requests.utils.default_user_agent()
_OTHER_SCHEME = re.compile(r"(?!https?:)[A-Za-z][A-Za-z0-9+.-]{0,30}://", re.IGNORECASE)  # a mock


class RequestsWebClient(AbstractWebClient):
    """Fetches with ``requests``.

    The options are those of ``AiohttpWebClient``. ``verify`` is False to skip the verification of
    certificates, or a file or folder of trusted certificate authorities. ``timeout`` is in seconds:
    one number, or a pair for connecting and for reading; None waits indefinitely. ``proxy`` is used
    for all requests, ``proxies`` by scheme, as in ``requests``. With ``wait``, requests are sent one
    at a time with a pause of so many seconds (``random_wait`` varies it). ``auth``, secret
    ``headers`` and the secrets of a session are sent to the first host only. ``zones`` are the
    networks to which the client may connect, in addition to public addresses and the network of the
    first host.

    A ``session`` of your own gets one request at a time, unless ``max_concurrent_requests`` allows
    its use from several threads.
    """

    def __init__(
        self,
        verify: bool | str = True,
        wait: float | None = None,
        random_wait: bool = False,
        session: requests.Session | None = None,
        *,
        user_agent: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        proxy: str | None = None,
        proxies: Mapping[str, str] | None = None,
        max_concurrent_requests: int | None = None,
        zones: Zones | None = None,
    ) -> None:
        check_options(wait, headers, max_concurrent_requests, zones)
        self._verify = verify
        self._waiter = RequestWaiter(wait, random_wait)
        self._given_session = session
        self._made_session: Any = None
        self._own_session = session is None
        self._most = max_concurrent_requests
        alone = bool(wait) or session is not None or type(self) is not RequestsWebClient
        default = 1 if alone else DEFAULT_CONCURRENCY
        self.max_concurrent_requests = max_concurrent_requests or default
        self._flow = Flow(
            Identity(user_agent, headers), zones, kind_of, RequestsWebClientErrorResponse
        )
        self._auth = auth
        self._timeout = checked_timeout(timeout)
        self._proxies = proxies_of(proxy, proxies)
        self._limit: int | None = None

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractWebClient:
        """Return a client for one crawl, with its own connections unless you passed a session.

        An instance of a subclass is used itself: its author may want to look at its state afterwards.
        """
        if "_given_session" not in vars(self):
            return self  # a subclass that does not call our __init__
        flow = self._flow.for_crawl(start_url, limits)
        client = copy.copy(self) if type(self) is RequestsWebClient else self
        changes: dict[str, object] = {"_flow": flow}
        if self._own_session:
            before = self._made_session
            made = session_for(flow.gate, self.max_concurrent_requests, before)
            kept = made is before and client is not self  # it has adapters of the caller's
            changes |= {"_made_session": made, "_own_session": not kept}
            if not isinstance(made, Session):  # a replaced class may not be thread-safe
                changes["max_concurrent_requests"] = self._most or 1
            if client is self and before is not None and made is not before:
                before.close()
        vars(client).update(changes)
        return client

    @property
    def _session(self) -> Any:
        """The caller's session, or one of ours, created on first use."""
        if self._given_session is not None:
            return self._given_session
        if self._made_session is None:
            self._made_session = session_for(self._flow.gate, self.max_concurrent_requests)
        return self._made_session

    def __getstate__(self) -> dict[str, Any]:
        """Return everything except the connections; a copy opens its own."""
        state = dict(vars(self))
        if "_given_session" in state:  # else it is a subclass that does not call our __init__
            state |= {"_made_session": None, "_flow": copy.copy(self._flow)}
        return state

    @property
    def is_ours(self) -> bool:
        """Whether no code of the caller is involved: then an exception is a bug of ours."""
        return type(self) is RequestsWebClient and self._guarded

    @property
    def _guarded(self) -> bool:
        """Whether the connections of the session are checked by the gate."""
        return self._own_session and isinstance(self._session, Session) and self._session.is_ours

    def set_timeout(self, timeout: Timeout) -> None:
        """Set the timeout in seconds: one number, or a pair for connecting and for reading, or None."""
        self._timeout = checked_timeout(timeout)

    def set_proxies(self, proxies: dict[str, str]) -> None:
        """Set the proxies by scheme, as in ``requests``."""
        self._proxies = proxies

    def set_conditions(self, conditions: Conditions) -> None:
        """Set the headers that ask for a document only if it has changed."""
        self._flow.conditions = conditions

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        """Limit how many bytes of a body are received."""
        self._limit = max_response_data_length

    def close(self) -> None:
        """Close the connections, unless the session is the caller's."""
        if self._own_session and self._made_session is not None:
            self._made_session.close()

    def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL; the body is received when it is read."""
        self._waiter.wait()
        if not self._own_session and _OTHER_SCHEME.match(url):
            return self._get_as_it_is(url)
        exchange = self._flow.exchange(url, self._facts())
        hops: list[requests.Response] = []
        response: requests.Response | None = None
        step = next(exchange)
        while isinstance(step, Request):
            if response is not None:
                requests_foreign.remember_redirect(self._session, response)
                response.close()
                hops.append(response)
            try:
                response, head = self._ask(step)
            except (*BODY_ERRORS, Refused) as error:
                response, step = None, exchange.throw(error)
            else:
                step = exchange.send(head)
        if hops and response is not None:
            response.history = [*hops, *response.history]
        return self._answer(response, step)

    def _get_as_it_is(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL that is not HTTP: the caller's session handles it (a mock)."""
        facts, deadline = self._facts(), self._flow.deadline()
        try:
            response = self._send(url, {}, deadline)
        except BODY_ERRORS as error:
            return self._flow.failed(error, url, facts, deadline, is_about_host=True)
        failure = self._flow.refused(Head(*_status(response), response.headers), [url])
        return self._answer(response, failure or Arrived(url, url, (), deadline))

    def _answer(
        self, response: requests.Response | None, outcome: Arrived | WebClientErrorResponse
    ) -> AbstractWebClientResponse:
        """Return the outcome of an exchange: the last response, or why there is none."""
        if isinstance(outcome, Arrived) and response is not None:
            return RequestsWebClientSuccessResponse(
                response,
                self._limit,
                deadline=outcome.deadline,
                timeout=self._timeout,
                shown=self._shown(outcome.asked),
                hops=outcome.hops,
            )
        assert isinstance(outcome, WebClientErrorResponse)
        if response is not None:
            if outcome.status is not None and log.isEnabledFor(logging.DEBUG):
                log.debug("Response content: %s", excerpt_of(response))
            response.close()
        return outcome

    def _shown(self, asked: str) -> Callable[[str], str]:
        """Return what hides the secrets of the session in the URLs of a response."""
        session = self._session
        if not getattr(session, "params", None):
            return without_login
        return lambda url: without_params(without_login(url), asked, session)

    def _ask(self, request: Request) -> tuple[requests.Response, Head]:
        """Send one request, without following redirects."""
        session, url, text = self._session, request.url, request.text
        guarded = self._guarded
        settings = requests_foreign.settings_for(session, text, self._proxies, self._verify)
        proxied = requests_foreign.is_proxied(session, text, settings)
        addresses: list[str] | None = None
        if not proxied:
            addresses = [] if guarded else requests_foreign.addresses_of(session, url)
        self._flow.admit(url.host, addresses)
        if guarded and self._auth is None and url.login is None and session.is_plain(url):
            response = self._send(text, request.headers, request.deadline, settings, plainly=True)
            address = None if proxied else requests_foreign.peer_of(response)
            return response, self._head(response, address=address)
        options: dict[str, Any] = {}
        if requests_foreign.is_session(session):
            options = requests_foreign.options(
                session,
                url,
                request.headers,
                home=request.is_home,
                first=request.is_first,
                ours=guarded,
            )
        if self._auth is not None and request.is_home:
            options["auth"] = self._auth
        response = self._send(text, request.headers, request.deadline, options)
        address = None if proxied else requests_foreign.peer_of(response)
        peer = None
        if not proxied and not guarded:
            peer = address or next(iter(addresses or ()), None)
        return response, self._head(response, peer, address)

    def _head(
        self, response: requests.Response, peer: str | None = None, address: str | None = None
    ) -> Head:
        """Return what the flow needs to know about a response."""
        cookies = _set_cookies(response) if self._own_session else []
        status, reason = _status(response)
        bounded = isinstance(getattr(response.raw, "_original_response", None), Answer)
        where = _location(response)
        return Head(status, reason, response.headers, where, cookies, peer, bounded, address)

    def _send(
        self,
        url: str,
        headers: dict[str, str],
        deadline: Deadline | None,
        options: Mapping[str, Any] = MappingProxyType({}),
        *,
        plainly: bool = False,
    ) -> requests.Response:
        """Send a request with the session; ``plainly`` if it is one of ours and adds nothing.

        The ``options`` of a plain one are the settings of its session for this URL.
        """
        timeout = _shortened(self._timeout, deadline)
        token = DEADLINE.set(deadline.at if deadline else None)
        try:
            if plainly:
                response = self._session.get_plainly(url, headers, timeout, options)
            else:
                response = self._get(url, headers, timeout, options)
        finally:
            DEADLINE.reset(token)
        return as_response(response, url)

    def _get(
        self, url: str, headers: dict[str, str], timeout: object, options: Mapping[str, Any]
    ) -> Any:
        options = {"allow_redirects": False, **options}
        if not self._guarded:
            options = requests_foreign.accepted(self._session.get, options)
        return self._session.get(
            url,
            timeout=timeout,
            stream=True,
            headers=headers,
            proxies=dict(self._proxies),  # requests adds those of the environment
            verify=self._verify,
            **options,
        )

    def _facts(self) -> SessionFacts:
        """Return what the flow needs to know about the session."""
        session, names_itself, has_login = self._session, False, self._auth is not None
        if requests_foreign.is_session(session):
            agent = session.headers.get("User-Agent")
            names_itself = agent is not None and agent != _LIBRARY
            has_login = has_login or session.auth is not None
        return SessionFacts(
            names_itself=names_itself,
            has_login=has_login,
            timeout=self._timeout,
            secrets=lambda: (
                secrets_of_proxies(*self._proxies.values()) | secrets_of_params(self._session)
            ),
        )


def _status(response: requests.Response) -> tuple[int, str]:
    return response.status_code, str(response.reason or "")


def _location(response: requests.Response) -> bytes | str | None:
    """Return the ``Location`` header as received."""
    location = response.headers.get("Location")
    try:
        return location.encode("latin-1") if location else None
    except UnicodeEncodeError:
        return location


def _set_cookies(response: requests.Response) -> list[str]:
    """Return the ``Set-Cookie`` headers of a response."""
    headers = getattr(response.raw, "headers", None)
    return headers.getlist("Set-Cookie") if isinstance(headers, HTTPHeaderDict) else []


def _shortened(timeout: Any, deadline: Deadline | None) -> Any:
    """Return a timeout that does not reach beyond the deadline."""
    if deadline is None:
        return timeout
    left = deadline.left
    if isinstance(timeout, tuple):
        return tuple([_within(part, left) for part in timeout])
    return _within(timeout, left)


def _within(timeout: Any, left: float) -> Any:
    if timeout is None:
        return left
    return min(timeout, left) if isinstance(timeout, int | float) else timeout
