"""The HTTP client on ``requests``."""

from __future__ import annotations

import logging
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import requests
from urllib3 import HTTPHeaderDict

from usp._base.display import get_logger
from usp._base.names import lazy_getattr
from usp._http import direct_session, flow, identity, user_sessions
from usp._http.direct_session import DEADLINE, DirectSession, is_guarded, is_original
from usp._http.flow import Arrived, Deadline, Flow, FlowClient
from usp._http.identity import DEFAULT_TIMEOUT, OUR_NAME, RequestWaiter, Timeout
from usp._http.user_sessions import (
    BODY_ERRORS,
    RequestsWebClientErrorResponse,
    RequestsWebClientSuccessResponse,
    as_response,
    direct_response,
    excerpt_of,
    way_to,
)
from usp.options import DEFAULT_CONCURRENCY
from usp.web_client.abstract_client import (
    RETRYABLE_HTTP_STATUS_CODES,
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.limits import Limits
    from usp.web_client.zones import Zones
else:
    __getattr__ = lazy_getattr(__name__)

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


def _same_as(name: str) -> Any:
    return property(attrgetter(name), lambda self, value: setattr(self, name, value))


class RequestsWebClient(FlowClient, AbstractWebClient):
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

    # The names by which programs for ultimate-sitemap-parser 1.8.1 reach into a client.
    __USER_AGENT: str = OUR_NAME
    __HTTP_REQUEST_TIMEOUT: Timeout = DEFAULT_TIMEOUT
    __session = _same_as("_session")
    __timeout = _same_as("_timeout")
    __verify = _same_as("_verify")
    __proxies = _same_as("_proxies")
    __waiter = _same_as("_waiter")
    __max_response_data_length = _same_as("_limit")
    _errors = BODY_ERRORS

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
        identity.check_options(wait, headers, max_concurrent_requests, zones)
        self._verify = verify
        self._waiter = RequestWaiter(wait, random_wait)
        # A session of requests: the caller's, or one that a request or somebody else needs.
        self._used_session: Any = session
        self._is_given = session is not None
        self._own: DirectSession | None = None
        self._most = max_concurrent_requests
        alone = bool(wait) or self._is_given or type(self) is not RequestsWebClient
        default = 1 if alone else DEFAULT_CONCURRENCY
        self.max_concurrent_requests = max_concurrent_requests or default
        self._flow = Flow(RequestsWebClientErrorResponse, zones, user_agent, headers)
        self._auth = auth
        self._timeout = identity.checked_timeout(
            self.__HTTP_REQUEST_TIMEOUT if timeout is DEFAULT_TIMEOUT else timeout
        )
        self._proxies = identity.proxies_of(proxy, proxies)

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractWebClient:
        """Return a client for one crawl, with its own connections unless you passed a session.

        An instance of a subclass is used itself: its author may want to look at its state afterwards.
        """
        if "_flow" not in vars(self):
            return self  # a subclass that does not call our __init__
        client, used = self, self._used_session
        if type(self) is RequestsWebClient:
            client = RequestsWebClient.__new__(RequestsWebClient)
        else:
            self.close()
        crawl = self._flow.for_crawl(start_url, limits)
        own = DirectSession(crawl.gate, self.max_concurrent_requests)
        changes = vars(self) | {"_flow": crawl, "_own": own}
        if used is not None and is_original(used) and not is_guarded(used):
            changes["_is_given"] = True  # it has adapters of the caller's
        elif not self._is_given and (used is not None or direct_session.requests_is_patched()):
            changes["_used_session"] = again = direct_session.requests_session(own, used)
            if not is_original(again):  # it may not be thread-safe
                changes["max_concurrent_requests"] = self._most or 1
        vars(client).update(changes)
        return client

    @property
    def _session(self) -> Any:
        """The caller's session, or one of ``requests`` that whoever asks for it may change."""
        if self._used_session is None:
            self._used_session = direct_session.requests_session(self._connections())
        return self._used_session

    @_session.setter
    def _session(self, session: Any) -> None:
        self.close()
        self._used_session, self._is_given = session, session is not None
        self.max_concurrent_requests = self._most or 1

    def _connections(self) -> DirectSession:
        """Return our own session, created on first use outside a crawl."""
        if self._own is None:
            self._own = DirectSession(self._flow.gate, self.max_concurrent_requests)
        return self._own

    def __getstate__(self) -> dict[str, Any]:
        """Return everything except the connections; a copy opens its own."""
        state = super().__getstate__()
        return state if state.get("_is_given", True) else state | {"_used_session": None}

    @property
    def is_ours(self) -> bool:
        """Whether no code of the caller is involved: then an exception is a bug of ours."""
        return type(self) is RequestsWebClient and self._guarded

    @property
    def _guarded(self) -> bool:
        """Whether all connections are checked by the gate."""
        used = self._used_session
        return not self._is_given and (used is None or is_guarded(used))

    def close(self) -> None:
        """Close the connections, unless the session is the caller's."""
        if not self._is_given and self._used_session is not None:
            self._used_session.close()
        if self._own is not None:
            self._own.manager.clear()

    def abort(self) -> None:
        """Close the connections, also those on which a thread waits for a response."""
        self.close()
        if self._own is not None:
            self._own.abort()

    def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL; the body is received when it is read."""
        self._waiter.wait()
        if self._is_given and _OTHER_SCHEME.match(url):
            return self._get_as_it_is(url)
        try:
            self._fetch(url).send(None)
        except StopIteration as end:  # it never waits
            return self._answer(*end.value)
        raise AssertionError

    def _get_as_it_is(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL that is not HTTP: the caller's session handles it (a mock)."""
        deadline = self._flow.deadline()
        try:
            response = self._get_by_session(url, _shortened(self._timeout, deadline), {}, {})
        except BODY_ERRORS as error:
            return self._flow.failed(error, url, self._facts(), deadline, is_about_host=True)
        failure = self._flow.refused(self._head(response), [url])
        return self._answer(response, failure or Arrived((url,), (), deadline))

    def _leave(self, response: Any) -> None:
        user_sessions.remember_redirect(self._used_session, response)
        response.close()

    def _answer(
        self, response: requests.Response | None, outcome: Arrived | WebClientErrorResponse
    ) -> AbstractWebClientResponse:
        if isinstance(outcome, Arrived) and response is not None:
            session = self._used_session
            way = outcome if session is None else way_to(response, outcome, session)
            return RequestsWebClientSuccessResponse(
                response, self._limit, way=way, timeout=self._timeout
            )
        assert isinstance(outcome, WebClientErrorResponse)
        if response is not None:
            if outcome.status is not None and log.isEnabledFor(logging.DEBUG):
                log.debug("Response content: %s", excerpt_of(response))
            response.close()
        return outcome

    async def _ask(self, request: flow.Request) -> tuple[requests.Response, flow.Head]:
        url, text, deadline = request.url, request.text, request.deadline
        own = self._own or self._connections()
        timeout = _shortened(self._timeout, deadline)
        token = DEADLINE.set(deadline.at if deadline else None)
        try:
            if (
                self._used_session is not None
                or self._auth is not None
                or direct_session.requests_is_patched()
                or not own.is_direct(url.origin, tuple(self._proxies.items()))
            ):
                return self._ask_session(request, timeout)
            raw = own.get(url, text, request.headers, timeout, self._verify)
        finally:
            DEADLINE.reset(token)
        address = getattr(getattr(raw, "_original_response", None), "address", None)
        response = direct_response(raw, text)
        return response, self._head(response, address=address)

    def _ask_session(
        self, request: flow.Request, timeout: Any
    ) -> tuple[requests.Response, flow.Head]:
        """Send a request by a session of ``requests``: the caller's, or a guarded one."""
        url, text, session, guarded = request.url, request.text, self._session, self._guarded
        proxied = user_sessions.is_proxied(session, text, self._proxies, self._verify)
        addresses: list[str] | None = None
        if not proxied:
            addresses = [] if guarded else user_sessions.addresses_of(session, url)
        looked_up = self._flow.admit(url.host, addresses)
        options: dict[str, Any] = {}
        if user_sessions.is_session(session):
            options = user_sessions.options(
                session, url, request.headers, home=request.is_home, first=request.is_first
            )
        if self._auth is not None and request.is_home:
            options["auth"] = self._auth
        response = self._get_by_session(text, timeout, request.headers, options)
        address = None if proxied else user_sessions.peer_of(response)
        return response, self._head(response, None if guarded else address or looked_up, address)

    def _get_by_session(
        self, url: str, timeout: Any, headers: dict[str, str], options: dict[str, Any]
    ) -> requests.Response:
        get = self._session.get
        response = get(
            url,
            timeout=timeout,
            stream=True,
            headers=headers,
            proxies=dict(self._proxies),  # requests adds those of the environment
            verify=self._verify,
            **user_sessions.accepted(get, {"allow_redirects": False, **options}),
        )
        answer: requests.Response = as_response(response, url)
        return answer

    def _head(
        self, response: requests.Response, peer: str | None = None, address: str | None = None
    ) -> flow.Head:
        raw, headers, cookies = response.raw, response.headers, []
        if not self._is_given and isinstance(
            raw_headers := getattr(raw, "headers", 0), HTTPHeaderDict
        ):
            cookies = raw_headers.getlist("Set-Cookie")
        return flow.Head(
            response.status_code,
            str(response.reason or ""),
            headers,
            cookies,
            peer,
            isinstance(getattr(raw, "_original_response", None), direct_session.BoundedResponse),
            address,
        )

    def _facts(self) -> flow.SessionFacts:
        session, has_login = self._used_session, self._auth is not None
        name: str | None = self.__USER_AGENT or OUR_NAME
        if session is not None and user_sessions.is_session(session):
            agent = session.headers.get("User-Agent")
            if name == OUR_NAME and agent is not None and agent != _LIBRARY:
                name = None  # the session has its own
            has_login = has_login or session.auth is not None
        return flow.SessionFacts(
            user_agent=name,
            has_login=has_login,
            timeout=self._timeout,
            secrets=lambda: (
                identity.secrets_of_proxies(*self._proxies.values())
                | user_sessions.secrets_of_params(session)
            ),
        )


def _shortened(timeout: Any, deadline: Deadline | None) -> Any:
    """Return a timeout that does not reach beyond the deadline."""
    if deadline is None:
        return timeout
    left = deadline.left
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    if not isinstance(connect, int | float | None) or not isinstance(read, int | float | None):
        return timeout  # an object of the library
    shorter = min(left, connect or left), min(left, read or left)
    return shorter if isinstance(timeout, tuple) else shorter[0]
