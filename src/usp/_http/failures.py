"""Why a request failed, in words for people: the same words for every client, without secrets.

The libraries wrap what happened in their own exceptions, one inside another, and print all of them.
What people need to know is in the innermost ones.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.client import BadStatusLine

from usp._base.reason import Reason, Topic, advised
from usp._base.shortage import causes
from usp._base.urls import BadUrl, read_url, url_parts
from usp._http import http1
from usp.objects.failure_codes import FailureCode

_MOST_WORDS = 300
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL")
_PROXY = {"ProxyError", "InvalidProxyURL", "ClientProxyConnectionError", "ClientHttpProxyError"}

_LARGE_HEAD = re.compile("got more than [0-9]+ headers|Too many headers")
LARGE_HEAD = Reason(FailureCode.BAD_HEADERS, http1.LARGE_HEAD)
_CLOSED = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
_HUNG_UP = (*_CLOSED, ssl.SSLEOFError, ssl.SSLZeroReturnError)

# By the names of classes, of which one suffices; the first that fits. The libraries of other clients
# need not be installed.
_IN_BODY = {
    FailureCode.BODY_TIMEOUT: "TimeoutError Timeout ReadTimeoutError",
    FailureCode.BAD_CHUNK: "InvalidChunkLength",
    FailureCode.BAD_CONTENT_ENCODING: "DecodeError ContentDecodingError",
    FailureCode.BODY_CUT_OFF: "ProtocolError IncompleteRead ClientPayloadError RemoteDisconnected"
    " ServerDisconnectedError ConnectionError ChunkedEncodingError",
}
_BEFORE = {
    FailureCode.NO_SUCH_HOST: "NameResolutionError ClientConnectorDNSError",
    FailureCode.CONNECT_TIMEOUT: "ConnectTimeout ConnectTimeoutError ConnectionTimeoutError",
    FailureCode.READ_TIMEOUT: "TimeoutError Timeout ReadTimeoutError",
    FailureCode.BODY_CUT_OFF: "IncompleteRead ClientPayloadError ChunkedEncodingError",
    FailureCode.BAD_CONTENT_ENCODING: "ContentDecodingError",
    FailureCode.LIMIT_REDIRECTS: "TooManyRedirects",
    FailureCode.BAD_HEADERS: "LineTooLong",
    FailureCode.NOT_HTTP: "BadStatusLine UnknownProtocol BadHttpMessage InvalidHeader",
    FailureCode.BAD_URL: "LocationValueError InvalidURL InvalidSchema MissingSchema UnicodeError",
    FailureCode.TLS_ERROR: "SSLError",
    FailureCode.CONNECTION_CLOSED: "ServerDisconnectedError ProtocolError",
    FailureCode.UNREACHABLE: "ClientConnectorError ConnectionError",  # nothing else is known
}
_WORDS = {  # where the message of the code does not say enough
    FailureCode.BODY_TIMEOUT: "no more data from {host}{within_read}",
    FailureCode.NO_SUCH_HOST: "no such host: {host}",
    FailureCode.CONNECT_TIMEOUT: "no connection to {target}{within_connect}",
    FailureCode.READ_TIMEOUT: "no response from {host}{within_read}",
    FailureCode.BAD_HEADERS: "a header line is too long",
    FailureCode.CONNECTION_CLOSED: "{host} closed the connection without a response",
    FailureCode.NOT_HTTP: "{target} does not speak HTTP",
    FailureCode.BAD_URL: "it is not a valid URL",
}


def reason_of(
    error: BaseException, url: str, timeout: object = None, *, in_body: bool = False
) -> Reason:
    """Return why a request failed, or reading its body.

    ``timeout`` is that of the request: one number, or a pair for connecting and for reading.
    """
    found = list(causes(error))
    names = {name for one in found for name in _names_of(one)}
    target = _Target(url, timeout, in_body=in_body)
    proxied = target.goes_through(found)
    reason = _words(found, names, target)
    if reason is None or _has_spoken(error):
        reason = Reason(reason.code if reason else FailureCode.CLIENT_ERROR, _own_words(found))
    if proxied or names & _PROXY:
        code = FailureCode.PROXY_ERROR
        return replace(reason, code=code, text=f"{code.message}: {reason.text}")
    return reason


_NO_CONNECTION = {
    FailureCode.NO_SUCH_HOST,
    FailureCode.CONNECT_TIMEOUT,
    FailureCode.CONNECTION_REFUSED,
}


def had_no_connection(error: BaseException, code: FailureCode) -> bool:
    """Return whether nothing could be sent, so that other requests to the host would fail, too.

    What raises a ``ConnectionError`` without a cause may do so for one URL: mocks and adapters do.
    """
    names = {name for one in causes(error) for name in _names_of(one)}
    is_known = bool(names & {"ConnectTimeoutError", "ClientConnectorError"})
    return code in _NO_CONNECTION or (code is FailureCode.UNREACHABLE and is_known)


def _is_cut(error: BaseException) -> bool:
    """Return whether ``http.client`` has read half of a status line."""
    line = str(getattr(error, "line", "")).upper()
    begun = line.startswith("HTTP/") or (line != "" and "HTTP/".startswith(line))
    return isinstance(error, BadStatusLine) and begun and not line.endswith("\n")


def too_large(limit: int | None) -> Reason:
    """Return the reason that a body has more bytes than its client may receive."""
    text = f"more than {limit} bytes; the rest was not received"
    return Reason(FailureCode.LIMIT_DOCUMENT_BYTES, text)


def _has_spoken(error: BaseException) -> bool:
    """Return whether an exception of ``requests`` was raised by other code, with its own message."""
    plain = len(error.args) == 1 and isinstance(error.args[0], str) and error.args[0].strip()
    names = set(_names_of(error))
    return bool(plain) and "RequestException" in names and "ValueError" not in names


def _names_of(error: BaseException) -> Iterator[str]:
    return (kind.__name__ for kind in type(error).__mro__)


class _Target:
    def __init__(self, url: str, timeout: object, *, in_body: bool) -> None:
        self.in_body = in_body
        self.connect, self.read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
        self.without_tls = ""
        try:
            there = read_url(url)
        except BadUrl:
            self.scheme, self.host, self.port = "", url_parts(url).hostname or url, 0
            return
        self.scheme, self.host, self.port = there.scheme, there.host, there.port
        # A robots.txt is requested on behalf of the website.
        rest = "/" if there.rest == "/robots.txt" else there.rest.partition("#")[0]
        self.without_tls = f"http://{there.site}{rest}"

    def goes_through(self, found: list[BaseException]) -> bool:
        """Return whether the connection was to a proxy; then the failure is about the proxy."""
        for one in found:
            connection = getattr(one, "conn", one)
            host, port = getattr(connection, "host", None), getattr(connection, "port", None)
            if isinstance(host, str) and isinstance(port, int):
                name = host.strip("[]").lower()
                proxied = (name, port) != (self.host.lower(), self.port)
                if proxied:
                    self.scheme, self.host, self.port = "", name, port
                return proxied
        return False

    def reason(self, code: FailureCode) -> Reason:
        """Return a reason in the words for its code."""
        words = _WORDS.get(code, code.message).format(
            host=self.netloc,
            target=self,
            within_connect=_within(self.connect),
            within_read=_within(self.read),
        )
        return Reason(code, words)

    @property
    def netloc(self) -> str:
        """The host as written in a URL."""
        return self.host if ":" not in self.host else f"[{self.host}]"

    def __str__(self) -> str:
        return f"{self.netloc}:{self.port}"


def _words(found: list[BaseException], names: set[str], target: _Target) -> Reason | None:
    for reader in (_of_lookup, _of_tls, _of_connection, _of_tunnel, _of_response):
        for one in found:
            if said := reader(one, target):
                return said
    for code, fitting in (_IN_BODY if target.in_body else _BEFORE).items():
        if not names.isdisjoint(fitting.split()):
            return target.reason(code)
    return None


def _of_lookup(error: BaseException, target: _Target) -> Reason | None:
    if not isinstance(error, socket.gaierror):
        return None
    again = error.errno == getattr(socket, "EAI_AGAIN", None)
    more = " (the name could not be looked up; is the network up?)" if again else ""
    return Reason(FailureCode.NO_SUCH_HOST, f"no such host: {target.host}{more}")


def _of_tls(error: BaseException, target: _Target) -> Reason | None:
    """Return the reason for an error of TLS; the exceptions around it do not have it."""
    why = getattr(error, "verify_message", None)
    if isinstance(error, ssl.SSLCertVerificationError) and why:
        text = f"the certificate of {target.host} is not trusted: {why}"
        return advised(FailureCode.UNTRUSTED_CERTIFICATE, text, Topic.TRUST)
    if isinstance(error, _HUNG_UP) or getattr(error, "errno", None) == errno.ECONNRESET:
        in_body = target.in_body
        return target.reason(FailureCode.BODY_CUT_OFF if in_body else FailureCode.CONNECTION_CLOSED)
    code = getattr(error, "reason", None)
    if not isinstance(error, ssl.SSLError) or not isinstance(code, str):
        return None
    if code in _NOT_TLS:
        text = f"{target} does not speak TLS"
        return advised(FailureCode.TLS_ERROR, text, Topic.TRY_HTTP, target.without_tls)
    text = f"no secure connection to {target}: {code.replace('_', ' ').lower()}"
    return Reason(FailureCode.TLS_ERROR, text)


def _of_response(error: BaseException, target: _Target) -> Reason | None:
    if isinstance(error, http1.BadResponse):  # of our own sessions
        is_other = error.code is FailureCode.NOT_HTTP
        return target.reason(error.code) if is_other else Reason(error.code, error.text)
    if not target.in_body and _LARGE_HEAD.search(str(error)):  # for which no library has a class
        return LARGE_HEAD
    return target.reason(FailureCode.CONNECTION_CLOSED) if _is_cut(error) else None


def _of_connection(error: BaseException, target: _Target) -> Reason | None:
    if isinstance(error, ConnectionRefusedError):
        text = f"connection refused by {target}"
        if target.scheme != "https":
            return Reason(FailureCode.CONNECTION_REFUSED, text)
        return advised(FailureCode.CONNECTION_REFUSED, text, Topic.TRY_HTTP, target.without_tls)
    if not isinstance(error, OSError) or isinstance(error, ssl.SSLError):
        return None
    if error.errno not in _NO_WAY:
        return None
    text = f"cannot connect to {target}: {os.strerror(error.errno or 0).lower()}"
    return Reason(FailureCode.UNREACHABLE, text)


def _of_tunnel(error: BaseException, target: _Target) -> Reason | None:
    """Return the reason if a proxy did not lead to the website: what it responded."""
    del target
    if "ClientHttpProxyError" in _names_of(error):
        responded = f"{getattr(error, 'status', '')} {getattr(error, 'message', '')}"
    elif isinstance(error, OSError) and str(error).startswith(_TUNNEL):
        responded = str(error).removeprefix(_TUNNEL)
    else:
        return None
    words = " ".join(responded.split())[:_MOST_WORDS]
    return Reason(FailureCode.PROXY_ERROR, f"it responded {words}")


_TUNNEL = "Tunnel connection failed: "  # as http.client says it
_NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}
_NO_WAY |= {errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOBUFS}


def _within(seconds: object) -> str:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return " in time"
    return f" within {seconds:.3g} seconds" if seconds != 1 else " within 1 second"


def _own_words(found: list[BaseException]) -> str:
    """Return the message of the outermost exception that has a readable one."""
    for one in found:
        texts = [text for text in one.args if isinstance(text, str) and text.strip()]
        said = str(one) if len(one.args) == 1 and texts else ": ".join(texts[:2])
        if said and "object at 0x" not in said:
            return " ".join(said.split())[:_MOST_WORDS]
    return type(found[0]).__name__


# Bot walls, recognised by their headers ------------------------------------------------------------

_ERRORS, _FORBIDDEN = 400, 403
_GUARDED = frozenset({_FORBIDDEN, 406, 429, 503})

_GUARDS = {  # header: a part of its value, or None for any value
    "x-datadome": None,
    "x-iinfo": None,  # Imperva
    "x-amzn-waf-action": None,
    "x-sucuri-block": None,
    "x-kpsdk-ct": None,  # Kasada
    "server": "datadome",
}
_GUARD_PREFIX = "x-px-"  # PerimeterX


def is_bot_wall(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether an error is meant to block robots, whatever the URL."""
    lowered = {name.lower(): value.lower() for name, value in headers.items()}
    is_challenge = status >= _ERRORS and "challenge" in lowered.get("cf-mitigated", "")
    if status == _FORBIDDEN or is_challenge:
        return True
    return status in _GUARDED and any(
        name.startswith(_GUARD_PREFIX) or (name in _GUARDS and (_GUARDS[name] or "") in value)
        for name, value in lowered.items()
    )
