"""Answers of sessions that are not ours: they may have no more than a status, headers and a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import requests
from requests.structures import CaseInsensitiveDict

if TYPE_CHECKING:
    from collections.abc import Iterator


def as_response(answer: Any, url: str = "") -> requests.Response:
    """Return an answer with everything that our client asks of one; ``url`` is what was asked for."""
    known = issubclass(type(answer), requests.Response | ForeignResponse)  # a mock only says so
    whole = known and not _was_filled_in(answer)
    return cast("requests.Response", answer if whole else ForeignResponse(answer, url))


def _was_filled_in(answer: Any) -> bool:
    """Return whether somebody wrote the body into a response of ``requests`` that never was sent.

    Tests do so. Such a response has no connection that could be read or closed.
    """
    if isinstance(answer, ForeignResponse):
        return False
    has_body = getattr(answer, "_content", False) is not False
    return answer.raw is None or (has_body and not getattr(answer, "_content_consumed", False))


class ForeignResponse:
    """An answer of which little is known: what it lacks has the value that means nothing."""

    def __init__(self, answer: Any, url: str) -> None:
        self._answer = answer
        self.status_code = int(answer.status_code)
        self.headers: CaseInsensitiveDict[str] = CaseInsensitiveDict(
            (str(name), str(value)) for name, value in _items(getattr(answer, "headers", None))
        )
        self.url = _text(answer, "url") or url
        self.reason = _text(answer, "reason")
        history = getattr(answer, "history", ())
        self.history = list(history) if isinstance(history, list | tuple) else []
        self.raw = None  # the body comes from ``iter_content``

    @property
    def content(self) -> bytes:
        """The body."""
        return b"".join(self.iter_content())

    def iter_content(self, chunk_size: int = 128 * 1024) -> Iterator[bytes]:
        """Yield the body: as the answer has it, in pieces if it has it in no other way."""
        body = getattr(self._answer, "content", None)
        if isinstance(body, bytes | bytearray | str):
            yield body.encode() if isinstance(body, str) else bytes(body)
        elif issubclass(type(self._answer), requests.Response):
            return  # it was filled in, with nothing
        elif hasattr(self._answer, "iter_content"):
            yield from self._answer.iter_content(chunk_size)
        elif hasattr(self._answer, "raw"):
            while piece := self._answer.raw.read(chunk_size):
                yield piece
        else:
            text = self._answer.text  # without which there is no body at all
            yield text.encode()

    def close(self) -> None:
        """Close the answer, if that can be done."""
        close = getattr(self._answer, "close", None)
        # One of ``requests`` closes what it was read from, which one that was filled in may not have.
        is_real = issubclass(type(self._answer), requests.Response)
        unsent = is_real and self._answer.raw is None
        if callable(close) and not unsent:
            close()


def _items(headers: Any) -> list[tuple[Any, Any]]:
    """Return the headers as pairs; what is no mapping has none."""
    try:
        return list(headers.items()) if headers is not None else []
    except (AttributeError, TypeError):
        return []


def _text(answer: Any, name: str) -> str:
    value = getattr(answer, name, None)
    return value if isinstance(value, str) else ""
