"""The HTTP client on ``requests``."""

from __future__ import annotations

import logging
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
import requests.adapters
import urllib3.exceptions
import urllib3.response

from usp.web_client.abstract_client import (
    RETRYABLE_HTTP_STATUS_CODES,
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    BrokenBody,
    RequestWaiter,
    WebClientErrorResponse,
)
from usp.web_client.identity import (
    DEFAULT_CONCURRENCY,
    DEFAULT_TIMEOUT,
    Identity,
    host_of,
    message_of,
    retry_after,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

log = logging.getLogger(__name__)

_CHUNK = 128 * 1024
_KEPT_PACKED = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_BODY_ERRORS = (
    urllib3.exceptions.HTTPError,
    requests.RequestException,
    HTTPException,
    OSError,
    ValueError,
)


class RequestsWebClientSuccessResponse(AbstractWebClientSuccessResponse):
    """A 2xx answer; its body is received while it is read."""

    def __init__(
        self,
        requests_response: requests.Response,
        max_response_data_length: int | None = None,
    ) -> None:
        self._response = requests_response
        self._limit = max_response_data_length
        self._data: bytes | None = None

    def status_code(self) -> int:
        """Give the status."""
        return int(self._response.status_code)

    def status_message(self) -> str:
        """Give the reason beside the status, or the standard one."""
        return _reason(self._response)

    def header(self, case_insensitive_name: str) -> str | None:
        """Give a header, or None."""
        return self._response.headers.get(case_insensitive_name)

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Give all headers."""
        return tuple(self._response.headers.items())

    def redirects(self) -> tuple[str, ...]:
        """Give the addresses that led here."""
        return tuple(response.url for response in self._response.history)

    def url(self) -> str:
        """Give the address after redirects."""
        return self._response.url

    def raw_data(self) -> bytes:
        """Give the body, HTTP's compression removed, up to the limit; the same each time."""
        if self._data is None:
            self._data = self._receive()
        return self._data

    def _receive(self) -> bytes:
        data = bytearray()
        try:
            for chunk in self._response.iter_content(_CHUNK):
                data += chunk
                if self._limit is not None and len(data) >= self._limit:
                    break
        except _BODY_ERRORS as error:
            log.warning("%s: the body broke off: %s", self.url(), error)
        return bytes(data if self._limit is None else data[: self._limit])

    def body(self) -> Iterator[bytes]:
        """Give the body as it comes, gzip and deflate left packed; stops at the limit."""
        overridden = type(self).raw_data is not RequestsWebClientSuccessResponse.raw_data
        if overridden or self._data is not None:
            yield self.raw_data()  # a subclass has its own data; what was read is read
            return
        room = self._limit
        for data in self._pieces():
            if room is not None and len(data) > room:
                yield data[:room]
                raise BrokenBody(f"more than {self._limit} bytes; the rest was not received")
            if room is not None:
                room -= len(data)
            yield data

    def _pieces(self) -> Iterator[bytes]:
        raw = self._response.raw
        consumed = getattr(self._response, "_content", False) is not False
        try:
            if consumed or not isinstance(raw, urllib3.response.HTTPResponse):
                yield self._response.content  # a session that caches has read it already
                return
            encoding = (self.header("Content-Encoding") or "").lower()
            decode = not _KEPT_PACKED.issuperset(part.strip() for part in encoding.split(","))
            # read1 gives what has come; urllib3 before 2.0 has only read, which fills the chunk.
            read = getattr(raw, "read1", raw.read)
            while data := read(_CHUNK, decode_content=decode):
                yield data
        except _BODY_ERRORS as error:
            raise BrokenBody(message_of(error)) from error

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


class RequestsWebClientErrorResponse(WebClientErrorResponse):
    """An answer of no use, or none."""

    def __init__(
        self,
        message: str,
        retryable: bool,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        unreachable: bool = False,
        silent: bool = False,
    ) -> None:
        super().__init__(message, retryable)
        self.silent = silent
        self.status = status
        self.retry_after = retry_after
        self.unreachable = unreachable


class RequestsWebClient(AbstractWebClient):
    """Fetches with ``requests``.

    ``wait`` seconds are kept between requests (``random_wait`` varies them), one at a time then. A
    ``session`` of your own is used for one request at a time too, unless ``max_concurrent_requests``
    says that it may be used from several threads. ``auth`` and secret ``headers`` are sent to the
    host that is asked first, and to no other.
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
    ) -> None:
        self._verify = verify
        self._waiter = RequestWaiter(wait, random_wait)
        self._own_session = session is None
        alone = bool(wait) or session is not None or type(self) is not RequestsWebClient
        default = 1 if alone else DEFAULT_CONCURRENCY
        self.max_concurrent_requests = max_concurrent_requests or default
        self._session = session or _session(self.max_concurrent_requests)
        self._identity = Identity(user_agent, headers)
        self._auth = auth
        self._timeout: float | tuple[float, float] | None = DEFAULT_TIMEOUT
        self._proxies: dict[str, str] = {}
        self._limit: int | None = None

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
        if self._own_session:
            self._session.close()

    def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL; the body is received when it is read."""
        self._waiter.wait()
        try:
            response = self._session.get(
                url,
                timeout=self._timeout,
                stream=True,
                headers=self._identity.headers(url, names_itself=self._session_names_itself()),
                proxies=dict(self._proxies),  # requests adds those of the environment
                verify=self._verify,
                auth=self._auth if self._identity.is_home(url) else None,
            )
        except requests.RequestException as error:
            return _connection_error(error, url)
        except (urllib3.exceptions.HTTPError, ValueError, HTTPException, OSError) as error:
            return RequestsWebClientErrorResponse(message_of(error), retryable=False)
        if 200 <= response.status_code < 300:  # noqa: PLR2004
            return RequestsWebClientSuccessResponse(response, self._limit)
        response.close()
        return RequestsWebClientErrorResponse(
            f"{response.status_code} {_reason(response)}",
            retryable=response.status_code in RETRYABLE_HTTP_STATUS_CODES,
            status=response.status_code,
            retry_after=retry_after(response.headers.get("Retry-After")),
        )

    def _session_names_itself(self) -> bool:
        agent = self._session.headers.get("User-Agent")
        return agent is not None and agent != requests.utils.default_user_agent()


class _Session(requests.Session):
    """Asks the environment about proxies once a host: that takes longer than a small answer."""

    def __init__(self) -> None:
        super().__init__()
        self._settings: dict[tuple[object, ...], Any] = {}

    def merge_environment_settings(
        self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any
    ) -> Any:
        """Give the settings for a URL, which depend on its scheme and host only."""
        parts = urlsplit(url)
        given = tuple(sorted((proxies or {}).items()))
        key = (parts.scheme, parts.netloc, given, stream, verify, cert)
        settings = self._settings.get(key)
        if settings is None:
            settings = super().merge_environment_settings(url, dict(given), stream, verify, cert)
            if len(self._settings) >= _MAX_SETTINGS:
                self._settings.clear()
            self._settings[key] = settings
        return dict(settings)


_MAX_SETTINGS = 1000


def _session(concurrency: int) -> requests.Session:
    session = _Session()
    adapter = requests.adapters.HTTPAdapter(pool_maxsize=concurrency)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _reason(response: requests.Response) -> str:
    if response.reason:
        return str(response.reason)
    try:
        return HTTPStatus(response.status_code).phrase
    except ValueError:
        return ""


def _connection_error(error: requests.RequestException, url: str) -> RequestsWebClientErrorResponse:
    """Sort out whether nobody is there, or somebody who may answer next time."""
    message = message_of(error)
    # A redirect may have led to another host: then nothing is said about the one that was asked.
    asked = error.request is None or host_of(error.request.url or "") == host_of(url)
    cause = _cause(error)
    nobody = isinstance(error, requests.ConnectTimeout) or isinstance(
        cause, urllib3.exceptions.NewConnectionError
    )
    if nobody:
        return RequestsWebClientErrorResponse(message, retryable=False, unreachable=asked)
    if isinstance(error, requests.Timeout):
        return RequestsWebClientErrorResponse(message, retryable=True, silent=asked)
    aborted = isinstance(error, requests.ConnectionError) and isinstance(
        cause, urllib3.exceptions.ProtocolError
    )
    return RequestsWebClientErrorResponse(message, retryable=aborted)


def _cause(error: Exception) -> object:
    """Give what ``requests`` has wrapped, perhaps twice."""
    cause = error.args[0] if error.args else None
    return getattr(cause, "reason", cause)
