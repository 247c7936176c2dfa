"""A website in memory, behind clients that a user might have written: one for threads, one for a loop.

Bodies come in pieces. A test may look at, or hold up, every piece through ``before``.
"""

import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from usp.web_client.abstract_client import (
    AbstractAsyncWebClient,
    AbstractAsyncWebClientSuccessResponse,
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    BrokenBody,
    ResponseFacts,
    WebClientErrorResponse,
)

H = "http://h"


@dataclass(frozen=True)
class Doc:
    """What a path answers: ``stumbles`` times 503 first, then a status or a body in pieces.

    It breaks off after so many pieces: one number for each try, the last one for ever. A client that
    does something wrong ``raises`` an error in one of its methods, in ``body`` after some pieces, or
    gives something ``instead`` of a response.
    """

    body: str | bytes = b""
    status: int = 200
    moved_to: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stumbles: int = 0
    pieces: int = 1
    broken: bool = False
    breaks: tuple[int | None, ...] = (None,)
    unreachable: bool = False
    raises: str = ""
    error: type[BaseException] = ValueError
    after: int = 0
    instead: tuple[object, ...] = ()
    redirects: tuple[str, ...] = ()

    def fail(self, method: str) -> None:
        """Raise the error if it is that of the method."""
        if self.raises == method:
            raise self.error("in the client")

    def cut(self, base: str) -> list[bytes]:
        data = self.body.encode() if isinstance(self.body, str) else self.body
        data = data.replace(b"{base}", base.encode())
        size = max(1, -(-len(data) // self.pieces))
        return [data[at : at + size] for at in range(0, len(data), size)] or [b""]


class Web:
    """The website: what is asked of it is in ``asked``, how many answers are open in ``open``."""

    def __init__(self, docs: Mapping[str, Doc | str | bytes], base: str = H) -> None:
        self.base = base
        self.docs = {path: doc if isinstance(doc, Doc) else Doc(doc) for path, doc in docs.items()}
        self.asked: list[str] = []
        self.open: Counter[str] = Counter()
        self.most = 0
        self.limit: int | None = None
        self._lock = threading.Lock()

    def answer(self, url: str) -> WebClientErrorResponse | tuple[Doc, str]:
        """Give an error, or what answers and its address after redirects."""
        path = url.removeprefix(self.base)
        with self._lock:
            turn = self.asked.count(path)
            self.asked.append(path)
        redirects: list[str] = []
        for _ in range(10):
            doc = self.docs.get(path, Doc(status=404))
            if doc.moved_to is None:
                break
            redirects.append(self.base + path)
            path = doc.moved_to
        else:
            return error(310, "too many redirects")
        if doc.unreachable:
            failure = WebClientErrorResponse("nobody there", retryable=False)
            failure.unreachable = True
            return failure
        doc.fail("get")
        if turn < doc.stumbles:
            return error(503)
        if doc.status != 200:
            return error(doc.status)
        this_time = doc.breaks[min(turn, len(doc.breaks) - 1)]
        return replace(doc, breaks=(this_time,), redirects=tuple(redirects)), self.base + path

    def response(self, kind: type, url: str, before: object) -> Any:
        """Give what a client gives: a response, an error, or something that is none."""
        answer = self.answer(url)
        if isinstance(answer, WebClientErrorResponse):
            return answer
        instead = answer[0].instead
        return instead[0] if instead else kind(self, *answer, before)

    def count(self, url: str, more: int) -> None:
        with self._lock:
            self.open[url] += more
            self.most = max(self.most, +self.open.total())


def error(status: int, reason: str = "no") -> WebClientErrorResponse:
    failure = WebClientErrorResponse(f"{status} {reason}", retryable=status == 503)
    failure.status = status
    return failure


class _Facts(ResponseFacts):
    def __init__(self, web: Web, doc: Doc, url: str, before: Callable[[str, int], Any]) -> None:
        self._web, self._doc, self._url, self._before = web, doc, url, before
        self._closed = False
        web.count(url, +1)

    def status_code(self) -> int:
        self._doc.fail("status_code")
        return 200

    def status_message(self) -> str:
        return "OK"

    def header(self, case_insensitive_name: str) -> str | None:
        self._doc.fail("header")
        lowered = {name.lower(): value for name, value in self._doc.headers.items()}
        return lowered.get(case_insensitive_name.lower())

    def headers(self) -> tuple[tuple[str, str], ...]:
        return tuple(self._doc.headers.items())

    def redirects(self) -> tuple[str, ...]:
        return self._doc.redirects

    def url(self) -> str:
        self._doc.fail("url")
        return self._url

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        (last,) = self._doc.breaks
        for number, piece in enumerate(self._doc.cut(self._web.base)):
            if number == last:
                raise BrokenBody("the line went dead")
            if number == self._doc.after:
                self._doc.fail("body")
            yield number, piece
        if self._doc.broken:
            raise BrokenBody("the line went dead")

    def let_go(self) -> None:
        self._doc.fail("close")
        if not self._closed:
            self._closed = True
            self._web.count(self._url, -1)


class Response(_Facts, AbstractWebClientSuccessResponse):
    """An answer for a thread."""

    def raw_data(self) -> bytes:
        return b"".join(self.body())

    def body(self) -> Iterator[bytes]:
        for number, piece in self.pieces():
            self._before(self._url, number)
            yield piece

    def close(self) -> None:
        self.let_go()


class AsyncResponse(_Facts, AbstractAsyncWebClientSuccessResponse):
    """An answer for a task."""

    async def body(self) -> AsyncIterator[bytes]:
        for number, piece in self.pieces():
            await self._before(self._url, number)
            yield piece

    async def close(self) -> None:
        self.let_go()


class _AnyClient:
    web: Web

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        self.web.limit = max_response_data_length


class Client(_AnyClient, AbstractWebClient):
    """A client for threads; ``at_once`` says how many it takes."""

    def __init__(
        self, web: Web, at_once: int = 4, before: Callable[[str, int], object] = lambda *_: None
    ) -> None:
        self.web, self.before = web, before
        self.max_concurrent_requests = at_once

    def get(self, url: str) -> AbstractWebClientResponse:
        return self.web.response(Response, url, self.before)


async def at_once(*_: object) -> None:
    """Hold nothing up."""


class AsyncClient(_AnyClient, AbstractAsyncWebClient):
    """A client for a loop."""

    def __init__(
        self,
        web: Web,
        before: Callable[[str, int], Awaitable[object]] = at_once,
        before_answer: Callable[[str], Awaitable[object]] = at_once,
    ) -> None:
        self.web, self.before, self.before_answer = web, before, before_answer

    async def get(self, url: str) -> AbstractWebClientResponse:
        await self.before_answer(url)
        return self.web.response(AsyncResponse, url, self.before)
