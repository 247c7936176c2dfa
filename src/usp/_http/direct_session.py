"""The session of the client on ``requests``: on urllib3 directly, and only where a gate allows it.

It serves requests to which nothing is added. For all others, and whenever ``requests`` is patched,
there is a session of ``requests`` that connects in the same way (:func:`requests_session`).
"""

from __future__ import annotations

import contextlib
import contextvars
import http.client
import io
import os
import socket
import sys
import time
import weakref
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import requests
import requests.adapters
import requests.sessions
import requests.utils
import urllib3
import urllib3.exceptions
from requests.structures import CaseInsensitiveDict
from urllib3.util import connection as urllib3_connection

from usp._base.urls import HttpUrl, read_url
from usp._http.http1 import ResponseReader
from usp._http.identity import proxy_of, trusting
from usp._http.redirects import NoNewCookies
from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from usp.web_client.zones import AddressGate

DEADLINE: contextvars.ContextVar[float | None] = contextvars.ContextVar("DEADLINE", default=None)
"""When the response to the request that is being sent must be complete, by ``time.monotonic``."""

_PIECE = 64 * 1024  # bytes that are received at a time
_COPIED = ("headers", "auth", "proxies", "hooks", "params", "verify", "cert", "trust_env")
_NO_RETRIES = urllib3.Retry(0, read=False)
_DEFAULT_HEADERS = {"Accept": "*/*", "Connection": "keep-alive"}  # as requests sends them


# Requests as it is defined -------------------------------------------------------------------------


def _defined(base: type, module: str) -> Any:
    """Return the class that a module derives from a base, whatever its name stands for now."""
    kinds: list[Any] = base.__subclasses__()
    return next(kind for kind in kinds if kind.__module__ == module)


if TYPE_CHECKING:
    OriginalSession = requests.Session
    OriginalAdapter = requests.adapters.HTTPAdapter
else:  # a cache or a mock may be in their place, from before this module was loaded
    OriginalSession = _defined(requests.sessions.SessionRedirectMixin, "requests.sessions")
    OriginalAdapter = _defined(requests.adapters.BaseAdapter, "requests.adapters")

_METHODS = [
    (kind, name, kind.__module__, f"{kind.__name__}.{name}")
    for kind, names in {
        OriginalSession: "__init__ get request prepare_request send get_adapter",
        OriginalAdapter: "send get_connection_with_tls_context request_url build_response",
    }.items()
    for name in names.split()
]


def requests_is_patched() -> bool:
    """Return whether a class or method of ``requests`` was replaced: by a mock, a cache, a tracer."""
    sessions = requests.Session, requests.sessions.Session
    adapters = requests.sessions.HTTPAdapter, requests.adapters.HTTPAdapter
    if sessions != (OriginalSession,) * 2 or adapters != (OriginalAdapter,) * 2:
        return True
    for kind, name, module, qualified in _METHODS:
        if not _is_defined(getattr(kind, name), module, qualified):
            return True
    return False


def _is_defined(function: Any, module: str, name: str) -> bool:
    """Return whether a function is the one that its library defines under this name.

    It is recognised by what it is. If it was remembered, then as it is when this module is loaded,
    which is often inside the first test that puts another one in its place.
    """
    return (
        type(function) is FunctionType  # a mock only says so
        and function.__globals__.get("__name__") == module
        and function.__code__.co_qualname == name  # the code of a wrapper has its own name
    )


# Sessions ------------------------------------------------------------------------------------------


class DirectSession:
    """Connections of one crawl, and requests to which nothing is added."""

    def __init__(self, gate: AddressGate, concurrency: int) -> None:
        self.manager = urllib3.PoolManager(maxsize=concurrency)
        self.gate = gate
        self.made: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.is_over = False
        _connect_by(self.manager, _GatedConnection, {"session": self})
        self.is_direct = lru_cache(maxsize=1000)(_is_direct)
        self._headers: tuple[object, dict[str, str]] = ({}, {})  # given, and as they are sent

    def get(
        self, url: HttpUrl, text: str, headers: dict[str, str], timeout: Any, verify: Any
    ) -> urllib3.BaseHTTPResponse:
        """Send a request; skips what ``requests`` prepares, which is half the cost of its ``get``."""
        settings = _tls_settings(verify) if url.scheme == "https" else {}
        pool = self.manager.connection_from_host(url.host, url.port, url.scheme, settings)
        if not isinstance(timeout, urllib3.Timeout):
            connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
            timeout = urllib3.Timeout(connect=connect, read=read)
        given, merged = self._headers
        if given != headers:
            merged = dict(CaseInsensitiveDict(_DEFAULT_HEADERS, **headers).items())
            self._headers = dict(headers), merged
        return pool.urlopen(
            "GET",
            text[text.index("/", len("https://")) :].partition("#")[0],
            headers=merged,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
            decode_content=False,
            retries=_NO_RETRIES,
            timeout=timeout,
        )

    def abort(self) -> None:
        """End all connections; a thread that waits for a response gets an error, and so do new ones."""
        self.is_over = True
        for known in self.made.valuerefs():
            # Not by the methods of TLS, which are for the thread that uses them.
            with contextlib.suppress(OSError, AttributeError, TypeError):
                connection: Any = known()
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


def _is_direct(origin: str, proxies: tuple[tuple[str, str], ...]) -> bool:
    """Return whether no proxy is used for a URL, and the user's ``.netrc`` has no login for it."""
    proxy = proxy_of(read_url(origin), dict(proxies))
    return not proxy and requests.utils.get_netrc_auth(origin) is None


def _tls_settings(verify: Any) -> dict[str, Any]:
    if verify is False:
        return {"cert_reqs": "CERT_NONE"}
    given = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    place = verify if isinstance(verify, str) else given or requests.utils.DEFAULT_CA_BUNDLE_PATH
    return {"ssl_context": trusting(place)}


def requests_session(own: DirectSession, before: Any = None) -> Any:
    """Return a session of ``requests`` that connects as our own, with settings of one ``before``.

    If ``requests.Session`` was replaced by another class (a cache, a mock), it is a session of that
    class. Adapters that a patch has put into new sessions stay.
    """
    session = requests.Session()
    if not is_original(session):
        return session
    session.cookies.set_policy(NoNewCookies())
    adapter = GuardedAdapter(own.manager)
    for prefix, known in list(session.adapters.items()):
        if type(known) is OriginalAdapter:
            session.mount(prefix, adapter)
    if is_original(before):
        for name in _COPIED:
            value = getattr(before, name)
            setattr(session, name, value.copy() if hasattr(value, "copy") else value)
        session.cookies.update(before.cookies)
    return session


def is_original(session: Any) -> bool:
    """Return whether this is a session of ``requests`` itself, and not of a class in its place."""
    return type(session) is OriginalSession


def is_guarded(session: Any) -> bool:
    """Return whether a session connects only where our gate allows it."""
    return is_original(session) and all(
        type(adapter) is GuardedAdapter for adapter in session.adapters.values()
    )


class GuardedAdapter(OriginalAdapter):
    """Connects where a gate allows it; a proxy may be anywhere."""

    def __init__(self, manager: urllib3.PoolManager) -> None:
        self._manager = manager
        super().__init__(pool_maxsize=manager.connection_pool_kw["maxsize"])

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Set the pools of connections to websites."""
        del args, options
        self.poolmanager = self._manager

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pools of connections to a proxy."""
        known = proxy in self.proxy_manager
        manager = super().proxy_manager_for(proxy, **options)
        if not known:
            _connect_by(manager, _DeadlineConnection, {})
        return manager


def _connect_by(manager: Any, kind: type, facts: dict[str, object]) -> None:
    kinds = manager.pool_classes_by_scheme = dict(manager.pool_classes_by_scheme)
    for scheme, pool in kinds.items():
        connection = type(pool.ConnectionCls.__name__, (kind, pool.ConnectionCls), facts)
        kinds[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": connection})


# Responses as they come from the socket ------------------------------------------------------------


def until(deadline: float | None, patience: float | None) -> float | None:
    """Return the seconds to wait at most."""
    if deadline is None:
        return patience
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left if patience is None else min(left, patience)


class BoundedResponse(io.BufferedIOBase):
    """A response while it is received; reading it yields the body without chunks."""

    def __init__(self, sock: socket.socket, *_: int, method: str = "GET", **__: object) -> None:
        self.address: str | None = None  # of the server, or of its proxy
        with contextlib.suppress(OSError, IndexError, TypeError):
            self.address = str(sock.getpeername()[0])
        self._method = method  # urllib3 looks at it
        self._sock = sock
        self._file: Any = sock.makefile("rb", buffering=0)  # keeps a socket open that is closed
        self._patience = sock.gettimeout()
        self._deadline = DEADLINE.get()
        self._reader = ResponseReader(has_body=self._method != "HEAD")
        self._held = b""  # of the body
        self.will_close = True

    def begin(self) -> None:
        """Read the head."""
        reader = self._reader
        while reader.head is None:
            data = self._receive(_PIECE)
            if not data:
                raise http.client.RemoteDisconnected(FailureCode.CONNECTION_CLOSED.message)
            self._held = reader.feed(data)
        head = reader.head
        self.version = 10 * head.version[0] + head.version[1]
        self.status = self.code = head.status
        self.reason = head.reason
        self.headers = self.msg = _Fields()
        self.msg.fields = head.fields
        self.will_close = not head.is_persistent or reader.has_excess

    def _read_status(self) -> tuple[str, int, str]:
        """Read the head of a proxy's response to CONNECT."""
        self.begin()
        self.fp = io.BytesIO()  # http.client reads the rest of the head from it
        return f"HTTP/{self.version / 10}", self.status, self.reason

    def read1(self, size: int | None = -1, /) -> bytes:
        """Return what has arrived of the body, at most ``size`` bytes; empty at its end."""
        wanted = size if size is not None and size >= 0 else _PIECE
        reader = self._reader
        while not self._held and not reader.is_over:
            if reader.error is not None:
                raise reader.error
            if data := self._receive(max(wanted, 1)):
                self._held = reader.feed(data)
            else:
                reader.end()
        piece, self._held = self._held[:wanted], self._held[wanted:]
        if reader.is_over and not self._held:
            self.close()
        return piece

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most ``size`` bytes of the body, or what is left of it."""
        if size is not None and size >= 0:
            return self.read1(size)
        return b"".join(iter(self.read1, b""))

    def _receive(self, size: int) -> bytes:
        """Return what has arrived, before the deadline of the request."""
        if self._deadline is not None:
            wait = until(self._deadline, self._patience)
            if wait != self._sock.gettimeout():
                self._sock.settimeout(wait)
        if hasattr(self._sock, "recv"):
            return self._sock.recv(size)
        return self._file.read(size) or b""  # of what a program has put in place of a socket

    def isclosed(self) -> bool:
        """Return whether the connection was let go, after the last byte or before."""
        return bool(self._file.closed)

    def close(self) -> None:
        """Let go of the connection."""
        if self._reader.has_excess and not self.will_close and not self._file.closed:
            # What is left on it would be taken for the next response: nothing more is read from it.
            with contextlib.suppress(OSError, AttributeError):
                self._sock.shutdown(socket.SHUT_RDWR)
        self._file.close()
        super().close()


class _Fields(http.client.HTTPMessage):
    """The headers of a response, read-only; values of the same name are joined, except for cookies."""

    fields: list[tuple[str, Any]]

    def items(self) -> list[tuple[str, Any]]:
        """Return names and values; there is nothing in them to decode."""
        return self.fields


# Connections ---------------------------------------------------------------------------------------


class _DeadlineConnection:
    """A connection that waits for a response until the deadline."""

    response_class = BoundedResponse

    def getresponse(self) -> Any:
        """Return the response; whether its body is complete is known where it is received."""
        response = super().getresponse()  # type: ignore[misc]
        response.enforce_content_length = False
        return response


def _is_patched(method: Any) -> bool:
    function = urllib3_connection.create_connection
    return not (
        _is_defined(
            getattr(method, "__func__", None), "urllib3.connection", "HTTPConnection._new_conn"
        )
        and _is_defined(function, "urllib3.util.connection", "create_connection")
    )


class _GatedConnection(_DeadlineConnection):
    """A connection that looks up its host itself, and connects only where the gate allows it."""

    session: DirectSession
    port: int
    timeout: Any
    _dns_host: str

    def connect(self) -> None:
        """Connect, unless all connections are to end."""
        super().connect()  # type: ignore[misc]
        self.session.made[id(self)] = self
        if self.session.is_over:
            raise ConnectionAbortedError

    def _new_conn(self) -> socket.socket:
        host = self._dns_host.strip("[]")
        make: Any = super()._new_conn  # type: ignore[misc]
        # If it is somebody else's, the address is known only afterwards.
        sock: socket.socket = make() if _is_patched(make) else self._connect(host)
        try:
            self.session.gate.connected(host, sock.getpeername()[0])
        except BaseException:
            sock.close()
            raise
        return sock

    def _connect(self, host: str) -> socket.socket:
        family = urllib3_connection.allowed_gai_family()
        this: Any = self
        try:
            found = socket.getaddrinfo(host, self.port, family, socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise urllib3.exceptions.NameResolutionError(host, this, error) from error
        failure = OSError("it has no address")
        for address in self.session.gate.admitted(
            host, dict.fromkeys(str(info[4][0]) for info in found)
        ):
            try:
                sock = urllib3_connection.create_connection(
                    (address, self.port),
                    until(DEADLINE.get(), self.timeout),
                    source_address=this.source_address,
                    socket_options=this.socket_options,
                )
            except OSError as error:
                failure = error
            else:
                sys.audit("http.client.connect", self, host, self.port)
                return sock
        if isinstance(failure, TimeoutError):
            message = f"Connection to {host} timed out. (connect timeout={self.timeout})"
            raise urllib3.exceptions.ConnectTimeoutError(self, message) from failure
        message = f"Failed to establish a new connection: {failure}"
        raise urllib3.exceptions.NewConnectionError(this, message) from failure
