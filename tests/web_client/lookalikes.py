"""A website in memory, and clients, responses and sessions that only look like ours."""

import io
from typing import Any

from usp.web_client.abstract_client import AbstractWebClientSuccessResponse, WebClientErrorResponse
from website import indexed, urlset

H = "http://h"
DOCS = indexed("/a.xml", "/gone.xml") | {"/a.xml": urlset("/p", "/q")}
PAGES = ["/p", "/q"]


def body_of(url: str) -> bytes | None:
    text = DOCS.get(url.removeprefix(H))
    return None if text is None else text.replace("{base}", H).encode()


class Duck:
    """Has the methods of a response, and is none."""

    def __init__(self, url: str, body: Any, headers: dict[str, str] | None = None) -> None:
        self._url, self._body, self._headers = url, body, headers or {}

    def status_code(self) -> int:
        return 200

    def status_message(self) -> str:
        return "OK"

    def header(self, case_insensitive_name: str) -> str | None:
        return self._headers.get(case_insensitive_name.lower())

    def raw_data(self) -> Any:
        return self._body

    def url(self) -> str:
        return self._url


class Response(Duck, AbstractWebClientSuccessResponse):
    """A response as 1.8.1 wants it."""


def answer(url: str, headers: dict[str, str] | None = None) -> Any:
    """Answer as a client does."""
    body = body_of(url)
    if body is None:
        return WebClientErrorResponse("404 Not Found", retryable=False)
    return Response(url, body, headers)


class Client:
    """The least that a client of 1.8.1 needs; it may give one answer to everything."""

    def __init__(self, told: Any = None, headers: dict[str, str] | None = None) -> None:
        self.told, self.headers, self.asked = told, headers, []

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        self.most = max_response_data_length

    def get(self, url: str) -> Any:
        self.asked.append(url)
        return self.told or answer(url, self.headers)


# What sessions give ------------------------------------------------------------------------------


class Content:
    """An answer with the four attributes that 1.8.1 reads."""

    def __init__(self, url: str, body: bytes, status: int = 200) -> None:
        self.url, self.status_code, self.headers = url, status, {"content-type": "text/xml"}
        self.give(body)

    def give(self, body: bytes) -> None:
        self.content = body


class Pieces(Content):
    def give(self, body: bytes) -> None:
        self.body = body

    def iter_content(self, chunk_size: int = 1) -> Any:
        del chunk_size
        yield self.body[:20]
        yield self.body[20:]


class Raw(Content):
    def give(self, body: bytes) -> None:
        self.raw = io.BytesIO(body)


class Text(Content):
    def give(self, body: bytes) -> None:
        self.text = body.decode()


KINDS = [Content, Pieces, Raw, Text]


class Session:
    """Has ``get`` with the five keywords of 1.8.1, and nothing else."""

    def __init__(self, kind: type[Content] = Content) -> None:
        self._kind, self.asked = kind, []

    def get(
        self, url: str, timeout: Any, stream: Any, headers: Any, proxies: Any, verify: Any
    ) -> Content:
        self.asked.append((url, timeout, stream, headers, proxies, verify))
        return respond(url, self._kind)


def respond(url: str, kind: type[Content] = Content) -> Content:
    body = body_of(url)
    return kind(url, b"not here", 404) if body is None else kind(url, body)
