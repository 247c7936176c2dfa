"""Our own session for the client on ``requests``: on urllib3 directly, and only where a gate allows it.

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
from functools import lru_cache
from operator import attrgetter
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

from usp._http.http1 import ParsedHead, ResponseReader
from usp._http.identity import proxies_of_environment, proxy_for, trusting
from usp._http.redirects import NoNewCookies
from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp._base.urls import HttpUrl
    from usp.web_client.zones import AddressGate

DEADLINE: contextvars.ContextVar[float | None] = contextvars.ContextVar("DEADLINE", default=None)
"""When the response to the request that is being sent must be complete, by ``time.monotonic``."""

_PIECE = 64 * 1024  # bytes that are received at a time
_COPIED = ("headers", "auth", "proxies", "hooks", "params", "verify", "cert", "trust_env")
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

_CLASSES = attrgetter("Session", "sessions.Session", "sessions.HTTPAdapter", "adapters.HTTPAdapter")
_METHODS = {
    OriginalSession: ("__init__", "get", "request", "prepare_request", "send", "get_adapter"),
    OriginalAdapter: ("send", "get_connection_with_tls_context", "request_url", "build_response"),
}
_of_session, _of_adapter = (attrgetter(*names) for names in _METHODS.values())
_unpatched: list[object] = []  # what was found where nothing was patched


def requests_is_patched() -> bool:
    """Return whether a class or method of ``requests`` was replaced: by a mock, a cache, a tracer."""
    found = [*_CLASSES(requests), _of_session(OriginalSession), _of_adapter(OriginalAdapter)]
    if found == _unpatched:
        return False
    classes = [OriginalSession, OriginalSession, OriginalAdapter, OriginalAdapter]
    if found[: len(classes)] != classes or not all(
        _is_defined(getattr(kind, name), kind.__module__, f"{kind.__name__}.{name}")
        for kind, names in _METHODS.items()
        for name in names
    ):
        return True
    _unpatched[:] = found
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


class OwnSession:
    """Connections of one crawl, and requests to which nothing is added."""

    def __init__(self, gate: AddressGate, concurrency: int) -> None:
        self.adapter = GuardedAdapter(gate, concurrency)
        self._is_direct = lru_cache(maxsize=1000)(_is_direct)
        self._headers: tuple[object, dict[str, str]] = ({}, {})  # given, and as they are sent

    def is_direct(self, url: HttpUrl, proxies: Mapping[str, str]) -> bool:
        """Return whether no proxy is used for a URL, and the user's ``.netrc`` has no login for it."""
        return self._is_direct(url.scheme, url.site, url.host, tuple(proxies.items()))

    def get(
        self, url: HttpUrl, text: str, headers: dict[str, str], timeout: Any, verify: Any
    ) -> urllib3.BaseHTTPResponse:
        """Send a request; skips what ``requests`` prepares, which is half the cost of its ``get``."""
        settings = _tls_settings(verify) if url.scheme == "https" else {}
        manager = self.adapter.poolmanager
        pool = manager.connection_from_host(url.host, url.port, url.scheme, settings)
        connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
        is_made = isinstance(timeout, urllib3.Timeout)
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
            retries=self.adapter.max_retries,
            timeout=timeout if is_made else urllib3.Timeout(connect=connect, read=read),
        )


def _is_direct(scheme: str, site: str, host: str, proxies: tuple[tuple[str, str], ...]) -> bool:
    origin = f"{scheme}://{site}"
    found = {**proxies_of_environment(origin, dict(proxies).get("no_proxy")), **dict(proxies)}
    proxied = proxy_for(scheme, host, found)
    return not proxied and requests.utils.get_netrc_auth(origin) is None


def _tls_settings(verify: Any) -> dict[str, Any]:
    """Return whom a connection trusts, as an option of urllib3."""
    if verify is False:
        return {"cert_reqs": "CERT_NONE"}
    given = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    place = verify if isinstance(verify, str) else given or requests.utils.DEFAULT_CA_BUNDLE_PATH
    return {"ssl_context": trusting(place)}


def requests_session(adapter: GuardedAdapter, before: Any = None) -> Any:
    """Return a session of ``requests`` that connects by an adapter, with settings of one ``before``.

    If ``requests.Session`` was replaced by another class (a cache, a mock), it is a session of that
    class. Adapters that a patch has put into new sessions stay.
    """
    session = requests.Session()
    if not is_original(session):
        return session
    session.cookies.set_policy(NoNewCookies())
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

    poolmanager: urllib3.PoolManager

    def __init__(self, gate: AddressGate, concurrency: int) -> None:
        self._gate = gate
        super().__init__(pool_maxsize=concurrency)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pools of connections to websites."""
        super().init_poolmanager(*args, **options)
        _connect_by(self.poolmanager, _GatedConnection, {"gate": self._gate})

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pools of connections to a proxy."""
        known = proxy in self.proxy_manager
        manager = super().proxy_manager_for(proxy, **options)
        if not known:
            _connect_by(manager, _DeadlineConnection, {})
        return manager


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


# Responses as they come from the socket ------------------------------------------------------------


def until(deadline: float, patience: float | None) -> float:
    """Return the seconds to wait at most."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left if patience is None else min(left, patience)


class BoundedResponse(io.BufferedIOBase):
    """A response while it is received; reading it yields the body without chunks."""

    def __init__(
        self,
        sock: socket.socket,
        debuglevel: int = 0,
        method: str | None = None,
        url: object = None,
    ) -> None:
        del debuglevel, url
        self.address: str | None = None  # of the server, or of its proxy
        with contextlib.suppress(OSError, IndexError, TypeError):
            self.address = str(sock.getpeername()[0])
        self._method = method or "GET"  # urllib3 looks at it
        self._sock = sock
        self._file: Any = sock.makefile("rb", buffering=0)  # keeps a socket open that is closed
        self._patience = sock.gettimeout()
        self._deadline = DEADLINE.get()
        self._reader = ResponseReader(has_body=self._method != "HEAD")
        self._held = b""  # of the body
        self.will_close = True

    def begin(self) -> None:
        """Read the head."""
        head = self._receive_head()
        self.version = 10 * head.version[0] + head.version[1]
        self.status = self.code = head.status
        self.reason = head.reason
        self.headers = self.msg = _Fields(head)
        self.will_close = not head.is_persistent or self._is_spoilt

    def _receive_head(self) -> ParsedHead:
        reader = self._reader
        while reader.head is None:
            data = self._receive(_PIECE)
            if not data:
                raise http.client.RemoteDisconnected(FailureCode.CONNECTION_CLOSED.message)
            self._held = reader.feed(data)
        return reader.head

    def _read_status(self) -> tuple[str, int, str]:
        """Read the head of a proxy's response to CONNECT."""
        head = self._receive_head()
        self.fp = io.BytesIO()  # http.client reads the rest of the head from it
        return f"HTTP/{head.version[0]}.{head.version[1]}", head.status, head.reason

    @property
    def _is_spoilt(self) -> bool:
        """Whether more has arrived than the response."""
        return self._reader.is_over and not self._reader.is_reusable

    def read1(self, size: int | None = -1, /) -> bytes:
        """Return what has arrived of the body, at most ``size`` bytes; empty at its end."""
        wanted = size if size is not None and size >= 0 else _PIECE
        held = self._held or self._next(wanted)
        if len(held) > wanted:
            self._held = held[wanted:]
            return held[:wanted]
        self._held = b""
        if self._reader.is_over:
            self._release()
        return held

    def read(self, size: int | None = -1, /) -> bytes:
        """Return ``size`` bytes of the body, or what is left of it."""
        pieces, left = [], size if size is not None and size >= 0 else None
        while left is None or left > 0:
            piece = self.read1(-1 if left is None else left)
            if not piece:
                break
            pieces.append(piece)
            left = None if left is None else left - len(piece)
        return b"".join(pieces)

    def readable(self) -> bool:
        """Return True."""
        return True

    def _next(self, size: int) -> bytes:
        """Receive more of the body."""
        reader, body = self._reader, b""
        while not body and not reader.is_over:
            if reader.error is not None:
                raise reader.error
            data = self._receive(max(size, 1))
            if data:
                body = reader.feed(data)
            else:
                reader.end()
        return body

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
        self._release()
        super().close()

    def _release(self) -> None:
        if self._file.closed:
            return
        if self._is_spoilt and not self.will_close:
            # What is left on it would be taken for the next response: nothing more is read from it.
            with contextlib.suppress(OSError, AttributeError):
                self._sock.shutdown(socket.SHUT_RDWR)
        self._file.close()


class _Fields(http.client.HTTPMessage):
    """The headers of a response, read-only; values of the same name are joined, except for cookies."""

    def __init__(self, head: ParsedHead) -> None:
        super().__init__()
        self._head = head

    def items(self) -> list[tuple[str, Any]]:
        """Return names and values; there is nothing in them to decode."""
        return self._head.joined()


# Connections ---------------------------------------------------------------------------------------


class _DeadlineConnection:
    """A connection that waits for a response until the deadline."""

    response_class = BoundedResponse

    def getresponse(self) -> Any:
        """Return the response; whether its body is complete is known where it is received."""
        response = super().getresponse()  # type: ignore[misc]
        response.enforce_content_length = False
        return response


class _GatedConnection(_DeadlineConnection):
    """A connection that looks up its host itself, and connects only where the gate allows it."""

    gate: AddressGate
    port: int
    timeout: Any
    source_address: Any
    socket_options: Any
    _dns_host: str

    def _new_conn(self) -> socket.socket:
        host = self._dns_host.strip("[]")
        if self._is_patched():  # the address is known only afterwards
            return self._checked(host, super()._new_conn())  # type: ignore[misc]
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
            sock = self._checked(host, sock)
            sys.audit("http.client.connect", self, host, self.port)
            return sock
        raise self._failure(host, OSError("it has no address"))

    def _is_patched(self) -> bool:
        """Return whether connections are made by somebody else's function."""
        method = getattr(super()._new_conn, "__func__", None)  # type: ignore[misc]
        function = urllib3_connection.create_connection
        return not (
            _is_defined(method, "urllib3.connection", "HTTPConnection._new_conn")
            and _is_defined(function, "urllib3.util.connection", "create_connection")
        )

    def _checked(self, host: str, sock: socket.socket) -> socket.socket:
        """Return a new connection if the gate admits its other end."""
        try:
            self.gate.connected(host, sock.getpeername()[0])
        except BaseException:
            sock.close()
            raise
        return sock

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
        return self.gate.admitted(host, dict.fromkeys(str(info[4][0]) for info in found))

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
