"""The sessions of our client on ``requests``: where they connect to, and how long they wait."""

from __future__ import annotations

import socket
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

import requests
import requests.adapters
import requests.utils
import urllib3
import urllib3.exceptions
from requests.structures import CaseInsensitiveDict
from urllib3.util import connection as urllib3_connection

from usp._http.identity import is_secret
from usp._http.redirects import NoNewCookies
from usp._http.requests_raw_responses import DEADLINE, Answer, Fields, until
from usp.web_client.zones import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp._base.urls import HttpUrl
    from usp.web_client.zones import Gate

_MAX_SETTINGS = 1000
_MAX_LINES = 20
_COPIED = ("headers", "auth", "proxies", "hooks", "params", "verify", "cert", "trust_env")


if TYPE_CHECKING:
    OriginalSession = requests.Session
else:  # a cache that is installed puts a subclass in its place
    OriginalSession = next(
        kind for kind in requests.Session.__mro__ if kind.__module__ == "requests.sessions"
    )


_NAMES = ("get", "request", "send", "get_adapter")
_methods_of = attrgetter(*_NAMES)
_METHODS = _methods_of(OriginalSession)
_SEND = requests.adapters.HTTPAdapter.send  # unless a mock has put another one in its place
_EMPTY = vars(requests.Response())


def session_for(gate: Gate, concurrency: int, before: Any = None) -> Any:
    """Return a session that connects where a gate allows it, with the settings of the one ``before``.

    If ``requests.Session`` was replaced by another class (a cache, a mock), it is a session of that
    class. One whose adapters were replaced is returned as it is.
    """
    if isinstance(before, Session) and not before.is_ours:
        return before
    if requests.Session is not OriginalSession:
        return requests.Session()
    return before.again(gate) if isinstance(before, Session) else Session(gate, concurrency)


class Session(OriginalSession):
    """Our own session; it does not follow redirects, or read their bodies."""

    def __init__(self, gate: Gate, concurrency: int) -> None:
        super().__init__()
        self._concurrency = concurrency
        self._settings: dict[tuple[object, ...], Any] = {}
        self._logins: dict[str, bool] = {}
        self._judged: tuple[object, bool] = ({}, False)  # headers, and whether one is secret
        self._merged: tuple[object, object, dict[str, str]] = ({}, {}, {})  # both, and the result
        self.cookies.set_policy(NoNewCookies())
        self._adapter = _Adapter(gate, concurrency)
        self.mount("http://", self._adapter)
        self.mount("https://", self._adapter)

    @property
    def is_ours(self) -> bool:
        """Whether the adapters of the session are still ours."""
        return set(self.adapters.values()) == {self._adapter}

    def again(self, gate: Gate) -> Session:
        """Return a session with the same settings and its own connections."""
        session = type(self)(gate, self._concurrency)
        for name in _COPIED:
            value = getattr(self, name)
            setattr(session, name, value.copy() if hasattr(value, "copy") else value)
        session.cookies.update(self.cookies)
        return session

    def is_plain(self, url: HttpUrl) -> bool:
        """Return whether the session adds nothing to a request: no settings, no replaced methods."""
        return not (
            self.auth
            or self.params
            or self.cert
            or self.cookies
            or any(self.hooks.values())
            or self._has_secrets()
            or (self.trust_env and self._has_login(url))
            or not vars(self).keys().isdisjoint(_NAMES)
            or _methods_of(type(self)) != _METHODS
            or requests.adapters.HTTPAdapter.send is not _SEND
        )

    def _has_secrets(self) -> bool:
        """Return whether a header of the session is not for every host."""
        own = _contents(self.headers)
        if self._judged[0] != own:
            self._judged = dict(own), any(map(is_secret, self.headers))
        return self._judged[1]

    def _has_login(self, url: HttpUrl) -> bool:
        """Return whether the user's file of logins (``.netrc``) knows a host."""
        known = self._logins.get(url.site)
        if known is None:
            known = self._logins[url.site] = requests.utils.get_netrc_auth(url.origin) is not None
        return known

    def get_plainly(
        self, url: str, headers: Mapping[str, str], timeout: Any, settings: Mapping[str, Any]
    ) -> requests.Response:
        """Send a request to which nothing is added: quicker than ``get``, which takes half the time.

        ``settings`` are those of :meth:`merge_environment_settings`.
        """
        request = requests.PreparedRequest()
        request.method, request.url, request.hooks = "GET", url, {}
        # Nobody looks at the request on its way: urllib3 copies a dictionary more easily.
        request.headers = cast("Any", self._all_headers(headers))
        return self._adapter.send(request, timeout=timeout, **settings)

    def _all_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a request, including those of the session; cached."""
        own = _contents(self.headers)
        before, given, merged = self._merged
        if before != own or given != headers:
            joined = CaseInsensitiveDict(cast("Mapping[str, str]", self.headers), **headers)
            merged = dict(joined.items())
            self._merged = dict(own), dict(headers), merged
        return merged

    def get_redirect_target(self, resp: Any) -> str | None:  # noqa: ARG002
        """Return None: redirects are followed by the client."""
        return None

    def merge_environment_settings(
        self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any
    ) -> Any:
        """Return the settings for a URL, which depend on its scheme and host only.

        They are cached: looking for proxies in the environment takes longer than a small response.
        """
        scheme, _, host = f"{url}//".split("/", 3)[:3]
        given = tuple(sorted(proxies.items())) if proxies else ()
        key = (scheme, host, given, stream, verify, cert)
        settings = self._settings.get(key)
        if settings is None:
            settings = super().merge_environment_settings(url, dict(given), stream, verify, cert)
            if len(self._settings) >= _MAX_SETTINGS:
                self._settings.clear()
            self._settings[key] = settings
        return dict(settings)


class _Adapter(requests.adapters.HTTPAdapter):
    """Connects where a gate allows it; a proxy may be anywhere."""

    def __init__(self, gate: Gate, concurrency: int) -> None:
        self._gate = gate
        # Weak: urllib3 closes the connections of a pool when nothing refers to it any more.
        self._pools: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
        super().__init__(pool_maxsize=concurrency)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pools of connections to websites."""
        super().init_poolmanager(*args, **options)
        _connect_by(self.poolmanager, _Guarded, {"gate": self._gate})

    def get_connection_with_tls_context(
        self, request: Any, verify: Any, proxies: Any = None, cert: Any = None
    ) -> Any:
        """Return the pool of connections for a request; found by its host if there is no proxy."""
        if proxies:
            return super().get_connection_with_tls_context(request, verify, proxies, cert)
        key = (*request.url.split("/", 3)[:3], verify, cert)
        pool = self._pools.get(key)
        if pool is None or pool.pool is None:  # closed, to make room for others
            pool = super().get_connection_with_tls_context(request, verify, proxies, cert)
            if len(self._pools) >= _MAX_SETTINGS:
                self._pools.clear()
            self._pools[key] = pool
        return pool

    def request_url(self, request: Any, proxies: Any) -> str:
        """Return the request target: path and query, if there is no proxy."""
        parts = request.url.partition("#")[0].split("/", 3)
        if proxies or len(parts) < 4 or parts[3].startswith("/"):  # noqa: PLR2004
            return super().request_url(request, proxies)
        return f"/{parts[3]}"

    def build_response(self, req: Any, resp: Any) -> requests.Response:
        """Return a response without cookies: they are read from the headers, if there are any."""
        response = requests.Response.__new__(requests.Response)  # an empty one makes a jar for them
        vars(response).update(
            _EMPTY,
            history=[],
            status_code=resp.status,
            headers=_Headers(resp),
            raw=resp,
            reason=resp.reason,
            url=req.url,
            request=req,
            connection=self,
        )
        return response

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pools of connections to a proxy."""
        known = proxy in self.proxy_manager
        manager = super().proxy_manager_for(proxy, **options)
        if not known:
            _connect_by(manager, _Patient, {})
        return manager


class _Headers(CaseInsensitiveDict[str]):
    """The headers of a response; those of one name are joined."""

    def __init__(self, response: urllib3.HTTPResponse) -> None:
        message = getattr(getattr(response, "_original_response", None), "msg", None)
        if isinstance(message, Fields):
            self._store = message.merged()
        else:
            fields = response.headers.itermerged()
            self._store = {name.lower(): (name, value) for name, value in fields}

    def get(self, name: str, default: Any = None) -> Any:
        """Return a header; most that are asked for are not there."""
        return self._store.get(name.lower(), (name, default))[1]

    def items(self) -> Any:
        """Return names and values, without looking each name up again."""
        return self._store.values()


def _contents(headers: Any) -> Any:
    """Return what the headers of a session hold, in a form that is quickly compared."""
    return getattr(headers, "_store", headers)


def _connect_by(manager: Any, kind: type, facts: dict[str, object]) -> None:
    """Let the pools of a manager make connections of a kind."""
    manager.pool_classes_by_scheme = {
        scheme: type(
            pool.__name__,
            (pool,),
            {"ConnectionCls": type(pool.ConnectionCls.__name__, (kind, pool.ConnectionCls), facts)},
        )
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }


# Connections ----------------------------------------------------------------------------------------


class _Patient:
    """A connection that waits for a response until the deadline."""

    response_class = Answer
    _buffer: list[bytes]  # of http.client: the lines of a request that are not sent yet
    _lines: dict[tuple[object, ...], bytes]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lines = {}  # headers as they are sent: nearly all requests have the same

    def putheader(self, *header: Any) -> None:
        """Add a header to the request; it is checked and encoded the first time."""
        line = self._lines.get(header)
        if line is not None:
            self._buffer.append(line)
            return
        super().putheader(*header)  # type: ignore[misc]
        if len(self._lines) < _MAX_LINES and self._buffer:
            self._lines[header] = self._buffer[-1]


class _Guarded(_Patient):
    """A connection that looks up its host itself, and connects only where the gate allows it."""

    gate: Gate
    port: int
    timeout: Any
    source_address: Any
    socket_options: Any
    _dns_host: str

    def _new_conn(self) -> socket.socket:
        host = self._dns_host.strip("[]")
        addresses = self._admitted(host)
        for at, address in enumerate(addresses, 1):
            try:
                sock = urllib3_connection.create_connection(
                    (address, self.port),
                    self._patience(),
                    source_address=self.source_address,
                    socket_options=self.socket_options,
                )
            except OSError as error:
                if at == len(addresses):
                    raise self._failure(host, error) from error
                continue
            try:
                self.gate.connected(host, sock.getpeername()[0])
            except BaseException:
                sock.close()
                raise
            sys.audit("http.client.connect", self, host, self.port)
            return sock
        raise self._failure(host, OSError("it has no address"))

    def _admitted(self, host: str) -> list[str]:
        """Return the addresses of a host that the gate admits."""
        try:
            host.encode("idna")
            found = socket.getaddrinfo(
                host, self.port, urllib3_connection.allowed_gai_family(), socket.SOCK_STREAM
            )
        except UnicodeError:
            raise urllib3.exceptions.LocationParseError(
                f"'{host}', label empty or too long"
            ) from None
        except socket.gaierror as error:
            raise self._no_connection(f"Failed to resolve '{host}' ({error})") from error
        addresses: list[str] = []
        refusal: Refused | None = None
        for address in dict.fromkeys(str(info[4][0]) for info in found):
            try:
                self.gate.admit(host, address)
            except Refused as error:
                refusal = refusal or error
            else:
                addresses.append(address)
        if refusal is not None and not addresses:
            raise refusal
        return addresses

    def _patience(self) -> Any:
        deadline = DEADLINE.get()
        known = self.timeout is None or isinstance(self.timeout, int | float)
        return until(deadline, self.timeout) if deadline is not None and known else self.timeout

    def _failure(self, host: str, error: OSError) -> Exception:
        if isinstance(error, TimeoutError):
            message = f"Connection to {host} timed out. (connect timeout={self.timeout})"
            return urllib3.exceptions.ConnectTimeoutError(self, message)
        return self._no_connection(f"Failed to establish a new connection: {error}")

    def _no_connection(self, message: str) -> Exception:
        return urllib3.exceptions.NewConnectionError(self, message)  # type: ignore[arg-type]
