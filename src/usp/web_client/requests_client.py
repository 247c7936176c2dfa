"""The HTTP client on ``requests``."""

from __future__ import annotations

import copy
import logging
import re
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import requests
from urllib3 import HTTPHeaderDict

from usp._base.logs import get_logger
from usp._base.urls import BadUrl, HttpUrl, read_url, without_login
from usp._compat.names import elsewhere
from usp._http import requests_foreign
from usp._http.cookies import HopCookies
from usp._http.failures import (
    reason_of,
    redacted,
    secrets_of_params,
    secrets_of_proxies,
    turns_robots_away,
    without_params,
)
from usp._http.identity import (
    DEFAULT_CONCURRENCY,
    DEFAULT_TIMEOUT,
    Identity,
    deadline_of,
    retry_after,
)
from usp._http.redirects import REDIRECTS, BadRedirect, follow
from usp._http.requests_foreign import as_response
from usp._http.requests_responses import (
    BODY_ERRORS,
    RequestsWebClientErrorResponse,
    RequestsWebClientSuccessResponse,
    connection_error,
    excerpt_of,
    reason_phrase,
)
from usp._http.requests_sessions import DEADLINE, Session, session_for
from usp.limits import Limits
from usp.web_client.abstract_client import (
    RETRYABLE_HTTP_STATUS_CODES,
    AbstractWebClient,
    AbstractWebClientResponse,
    RequestWaiter,
)
from usp.web_client.zones import Gate, Refused, Zones

if TYPE_CHECKING:
    from collections.abc import Mapping
else:
    __getattr__ = elsewhere(__name__)

log = get_logger(__name__)

_OTHER_SCHEME = re.compile(r"(?!https?:)[A-Za-z][A-Za-z0-9+.-]{0,30}://", re.IGNORECASE)  # a mock
_OUTSIDE_A_CRAWL = Limits(document_seconds=None)


class RequestsWebClient(AbstractWebClient):
    """Fetches with ``requests``.

    ``wait`` seconds are kept between requests (``random_wait`` varies them), one at a time then. A
    ``session`` of your own is used for one request at a time too, unless ``max_concurrent_requests``
    says that it may be used from several threads. ``auth`` and secret ``headers`` are sent to the
    host that is asked first, and to no other; so are the secrets of a session. ``zones`` say where
    the client may connect to, beside public addresses and the network in which it begins.
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
        max_concurrent_requests: int | None = None,
        zones: Zones | None = None,
    ) -> None:
        self._verify = verify
        self._waiter = RequestWaiter(wait, random_wait)
        self._given_session = session
        self._made_session: Any = None
        self._own_session = session is None
        self._most = max_concurrent_requests
        alone = bool(wait) or session is not None or type(self) is not RequestsWebClient
        default = 1 if alone else DEFAULT_CONCURRENCY
        self.max_concurrent_requests = max_concurrent_requests or default
        self._zones = zones
        self._gate = Gate(zones)
        self._identity = Identity(user_agent, headers)
        self._auth = auth
        self._timeout: float | tuple[float, float] | None = DEFAULT_TIMEOUT
        self._proxies: dict[str, str] = {}
        self._limit: int | None = None
        self._limits = _OUTSIDE_A_CRAWL
        self._began: float | None = None  # the crawl

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractWebClient:
        """Give a client for one crawl: with connections of its own, unless the session is yours.

        A subclass may keep a state that its author looks at afterwards: it is made ready itself.
        """
        if "_given_session" not in vars(self):
            return self  # a subclass that has nothing of ours
        gate = Gate(self._zones, start_url)
        client = copy.copy(self) if type(self) is RequestsWebClient else self
        changes: dict[str, object] = {
            "_identity": self._identity.at(start_url),
            "_gate": gate,
            "_limits": limits,
            "_began": time.monotonic(),
        }
        if self._own_session:
            before = self._made_session
            made = session_for(gate, self.max_concurrent_requests, before)
            kept = made is before and client is not self  # it has adapters of the caller's
            changes |= {"_made_session": made, "_own_session": not kept}
            if not isinstance(made, Session):  # whoever has replaced the class promised no threads
                changes["max_concurrent_requests"] = self._most or 1
            if client is self and before is not None and made is not before:
                before.close()
        vars(client).update(changes)
        return client

    @property
    def _session(self) -> Any:
        """The caller's session, or one of ours that is made when it is needed."""
        if self._given_session is not None:
            return self._given_session
        if self._made_session is None:
            self._made_session = session_for(self._gate, self.max_concurrent_requests)
        return self._made_session

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but connections, which a copy makes for itself."""
        state = dict(vars(self))
        state.pop("_gate", None)
        if "_made_session" in state:
            state["_made_session"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_zones" in state:
            self._gate = Gate(self._zones)

    @property
    def is_ours(self) -> bool:
        """Whether nothing of the caller's is asked: then an exception is a mistake of ours."""
        return type(self) is RequestsWebClient and self._guarded

    @property
    def _guarded(self) -> bool:
        """Whether the connections of the session ask the gate themselves."""
        return self._own_session and isinstance(self._session, Session) and self._session.is_ours

    def set_timeout(self, timeout: float | tuple[float, float] | None) -> None:
        """Set the seconds to wait: one number, or one to connect and one to read; None is for ever."""
        self._timeout = timeout

    def set_proxies(self, proxies: dict[str, str]) -> None:
        """Set proxies by scheme, as ``requests`` takes them."""
        self._proxies = proxies

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
        deadline = deadline_of(self._limits, self._began)
        try:
            if not self._own_session and _OTHER_SCHEME.match(url):
                return self._answer(self._send(url, {}, deadline), url, deadline)
            start = read_url(url)
            self._gate.begin(url)
            return self._follow(start, deadline)
        except BadUrl as error:
            return RequestsWebClientErrorResponse(str(error), retryable=False)
        except BODY_ERRORS as error:
            return self._failure(error, url, deadline, asked=True)

    def _follow(
        self, start: HttpUrl, deadline: tuple[float, str] | None
    ) -> AbstractWebClientResponse:
        """Fetch a URL, and what it redirects to: each host is told only what it may know."""
        target = start
        cookies = HopCookies()
        hops: list[requests.Response] = []
        while True:
            try:
                response = self._ask(target, cookies, deadline, first=not hops)
            except Refused as error:
                return RequestsWebClientErrorResponse(str(error), retryable=False)
            except (*BODY_ERRORS, TimeoutError) as error:
                # A redirect may have led to another host: nothing is said about the one asked then.
                asked = target.site == start.site
                return self._failure(error, target.text(), deadline, asked=asked)
            location = _location(response)
            if location is None:
                break
            requests_foreign.remember_redirect(self._session, response)
            response.close()
            hops.append(response)
            if self._limits.redirects is not None and len(hops) > self._limits.redirects:
                message = self._limits.reached("redirects")
                return RequestsWebClientErrorResponse(message, retryable=False)
            try:
                target = follow(target, location, self._limits)
            except BadRedirect as error:
                return RequestsWebClientErrorResponse(str(error), retryable=False)
        if hops:
            response.history = [*hops, *response.history]
        return self._answer(response, start.text(), deadline)

    def _answer(
        self, response: requests.Response, asked: str, deadline: tuple[float, str] | None
    ) -> AbstractWebClientResponse:
        """Return what the last answer means."""
        if 200 <= response.status_code < 300:  # noqa: PLR2004
            session = self._session
            return RequestsWebClientSuccessResponse(
                response,
                self._limit,
                deadline=deadline,
                timeout=self._timeout,
                shown=lambda url: without_params(without_login(url), asked, session),
            )
        if log.isEnabledFor(logging.DEBUG):
            log.debug("Response content: %s", excerpt_of(response))
        response.close()
        return RequestsWebClientErrorResponse(
            f"{response.status_code} {reason_phrase(response)}",
            retryable=response.status_code in RETRYABLE_HTTP_STATUS_CODES,
            status=response.status_code,
            retry_after=retry_after(response.headers.get("Retry-After")),
            blocked=turns_robots_away(response.status_code, response.headers),
        )

    def _ask(
        self,
        target: HttpUrl,
        cookies: HopCookies,
        deadline: tuple[float, str] | None,
        *,
        first: bool,
    ) -> requests.Response:
        """Ask for one URL, without following where it leads."""
        session, home = self._session, self._identity.is_home(target)
        url = target.text()
        proxied = requests_foreign.is_proxied(session, url, self._proxies, self._verify)
        addresses: list[str] = []
        if proxied:
            self._gate.admit_name(target.host)
        elif not self._guarded:
            addresses = requests_foreign.look_up(session, target, self._gate)
        headers = self._headers(target, cookies)
        options: dict[str, Any] = {}
        if requests_foreign.is_session(session):
            options = requests_foreign.options(
                session, target, headers, home=home, first=first, ours=self._guarded
            )
        if self._auth is not None and home:
            options["auth"] = self._auth
        response = self._send(url, headers, deadline, options)
        if not self._guarded:
            requests_foreign.check_head(response)
        if not proxied and not self._guarded:
            requests_foreign.check_peer(response, target.host, self._gate, addresses)
        if self._own_session:
            cookies.take(target, _set_cookies(response))
        return response

    def _send(
        self,
        url: str,
        headers: dict[str, str],
        deadline: tuple[float, str] | None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> requests.Response:
        """Send a request by the session."""
        options = {"allow_redirects": False, **options}
        if not self._guarded:
            options = requests_foreign.accepted(self._session.get, options)
        token = DEADLINE.set(deadline[0] if deadline else None)
        try:
            response = self._session.get(
                url,
                timeout=_shortened(self._timeout, deadline),
                stream=True,
                headers=headers,
                proxies=dict(self._proxies),  # requests adds those of the environment
                verify=self._verify,
                **options,
            )
        finally:
            DEADLINE.reset(token)
        return as_response(response, url)

    def _headers(self, target: HttpUrl, cookies: HopCookies) -> dict[str, str]:
        """Return the headers of one request."""
        named = self._session_names_itself()
        headers = self._identity.headers(target, names_itself=named)
        if target.login is not None:
            headers["Authorization"] = target.login.header()
        cookie = cookies.header(target)
        if cookie is not None:
            own = headers.get("Cookie")
            headers["Cookie"] = f"{own}; {cookie}" if own else cookie
        return headers

    def _failure(
        self, error: Exception, url: str, deadline: tuple[float, str] | None, *, asked: bool
    ) -> RequestsWebClientErrorResponse:
        """Return what an exception means; ``asked`` is whether it is about the host that was asked."""
        if deadline is not None and time.monotonic() >= deadline[0]:
            return RequestsWebClientErrorResponse(deadline[1], retryable=False, silent=asked)
        secrets = secrets_of_proxies(*self._proxies.values()) | secrets_of_params(self._session)
        reason = redacted(reason_of(error, url, self._timeout), secrets)
        if isinstance(error, requests.RequestException):
            return connection_error(error, reason, asked=asked)
        return RequestsWebClientErrorResponse(reason, retryable=False)

    def _session_names_itself(self) -> bool:
        if not requests_foreign.is_session(self._session):
            return False
        agent = self._session.headers.get("User-Agent")
        return agent is not None and agent != requests.utils.default_user_agent()


def _location(response: requests.Response) -> bytes | str | None:
    """Give where an answer leads, if it does."""
    if response.status_code not in REDIRECTS:
        return None
    location = response.headers.get("Location")
    try:
        return location.encode("latin-1") if location else None  # as it came
    except UnicodeEncodeError:
        return location


def _set_cookies(response: requests.Response) -> list[str]:
    """Return the cookies that an answer sets, each as it is written."""
    headers = getattr(response.raw, "headers", None)
    return headers.getlist("Set-Cookie") if isinstance(headers, HTTPHeaderDict) else []


def _shortened(timeout: Any, deadline: tuple[float, str] | None) -> Any:
    """Give a timeout that does not reach beyond the deadline."""
    if deadline is None:
        return timeout
    if isinstance(timeout, tuple):
        return tuple(_shortened(part, deadline) for part in timeout)
    left = max(deadline[0] - time.monotonic(), 0.001)
    if timeout is None:
        return left
    return min(timeout, left) if isinstance(timeout, int | float) else timeout
