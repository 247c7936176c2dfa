"""The codes of failures: why a sitemap is missing, or why the rest of it is.

What is said about each of them is in ``codes.txt``, and so it is of the codes of problems. A problem
that kept the rest of a document from being read has one of these codes too.
"""

from __future__ import annotations

import pkgutil
from enum import StrEnum
from http import HTTPStatus
from typing import Self

__all__ = ["FailureCode"]

_LIMIT = "limit-"


def _read_texts() -> dict[str, list[str]]:
    """Return what is written about each code: severity, rule, message, and the following lines."""
    text = (pkgutil.get_data(__package__, "codes.txt") or b"").decode()
    found = {}
    for head, *lines in (part.splitlines() for part in text.split("\n\n") if part[0] != "#"):
        about, _, message = head.partition(": ")
        severity, rule, code = about.split()
        found[code] = [severity, rule, message, *lines]
    return found


_TEXTS = _read_texts()


class Code(StrEnum):
    """A stable name, equal to its text, such as ``bare-ampersand``.

    ``message`` says it in a few words, ``meaning`` in a sentence or two, ``example`` shows it, and
    ``remedy`` says what to do. The pages of ``docs/reference/problems.md`` are made of them. ``rule``
    is its code in ``usp check``, such as ``SM356``; that rule has the ``severity`` and the ``hint``.
    """

    message: str
    meaning: str
    example: str
    remedy: str
    hint: str
    rule: str
    severity: str

    def __new__(cls, text: str) -> Self:
        """Make a member of its text, with what is written about it."""
        member = str.__new__(cls, text)
        member._value_ = text
        member.severity, member.rule, member.message, *texts = _TEXTS[text]
        member.meaning, member.example, member.remedy, *hint = texts
        member.hint = hint[0] if hint else member.remedy
        return member


class FailureCode(Code):
    """Why something is missing; a code stays the same when the words of the reason change."""

    # The server returned an error
    NOT_FOUND = "not-found"
    BLOCKED = "blocked"
    UNAUTHORIZED = "unauthorized"
    RATE_LIMITED = "rate-limited"
    SERVER_ERROR = "server-error"
    HTTP_ERROR = "http-error"
    BAD_REDIRECT = "bad-redirect"

    # There was no response
    NO_SUCH_HOST = "no-such-host"
    CONNECTION_REFUSED = "connection-refused"
    UNREACHABLE = "unreachable"
    CONNECT_TIMEOUT = "connect-timeout"
    READ_TIMEOUT = "read-timeout"
    CONNECTION_CLOSED = "connection-closed"
    UNTRUSTED_CERTIFICATE = "untrusted-certificate"
    TLS_ERROR = "tls-error"
    NOT_HTTP = "not-http"
    BAD_HEADERS = "bad-headers"
    PROXY_ERROR = "proxy-error"
    ADDRESS_REFUSED = "address-refused"
    BAD_URL = "bad-url"
    HOST_FAILING = "host-failing"
    CLIENT_ERROR = "client-error"
    INTERNAL_ERROR = "internal-error"

    # The response broke off
    BODY_CUT_OFF = "body-cut-off"
    BODY_TIMEOUT = "body-timeout"
    BAD_CHUNK = "bad-chunk"
    BAD_CONTENT_ENCODING = "bad-content-encoding"
    GZIP_CUT_OFF = "gzip-cut-off"
    GZIP_BROKEN = "gzip-broken"
    TRUNCATED = "truncated"
    TOO_DAMAGED = "too-damaged"

    # The document is not a sitemap
    HTML_PAGE = "html-page"
    BOT_CHALLENGE = "bot-challenge"
    FORBIDDEN_DOCTYPE = "forbidden-doctype"
    EMPTY_DOCUMENT = "empty-document"
    NOT_A_SITEMAP = "not-a-sitemap"

    # The tree
    RECURSION = "recursion"
    REDIRECT_RECURSION = "redirect-recursion"
    NOT_FETCHED = "not-fetched"
    INTERRUPTED = "interrupted"

    # Limits
    LIMIT_DOCUMENT_BYTES = "limit-document-bytes"
    LIMIT_UNPACKED_BYTES = "limit-unpacked-bytes"
    LIMIT_RATIO = "limit-ratio"
    LIMIT_DEPTH = "limit-depth"
    LIMIT_SITEMAPS = "limit-sitemaps"
    LIMIT_NEIGHBOURS = "limit-neighbours"
    LIMIT_PAGES = "limit-pages"
    LIMIT_REDIRECTS = "limit-redirects"
    LIMIT_URL_LENGTH = "limit-url-length"
    LIMIT_SPOOL_BYTES = "limit-spool-bytes"
    LIMIT_DOCUMENT_SECONDS = "limit-document-seconds"
    LIMIT_LOWEST_RATE = "limit-lowest-rate"
    LIMIT_SECONDS = "limit-seconds"

    # Snapshots
    NOT_IN_SNAPSHOT = "not-in-snapshot"
    EMPTIED = "emptied"
    DAMAGED_RECORD = "damaged-record"
    INCOMPLETE_SNAPSHOT = "incomplete-snapshot"
    OTHER_FAILURE = "other-failure"

    @classmethod
    def of_limit(cls, name: str) -> FailureCode:
        """Return the code of a limit, by the name that it has in ``Limits``."""
        return cls[f"LIMIT_{name.upper()}"]

    @property
    def limit(self) -> str | None:
        """The name of the limit that was reached, if it is one."""
        kind, _, name = self.value.partition(_LIMIT)
        return None if kind or not name else name.replace("-", "_")

    @classmethod
    def of_status(cls, status: int) -> FailureCode:
        """Return the code of an HTTP status that is not a success."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return cls.SERVER_ERROR
        return _STATUSES.get(status, cls.HTTP_ERROR)


_STATUSES = {
    401: FailureCode.UNAUTHORIZED,
    403: FailureCode.BLOCKED,
    404: FailureCode.NOT_FOUND,
    410: FailureCode.NOT_FOUND,
    429: FailureCode.RATE_LIMITED,
}

BY_VALUE = {code.value: code for code in FailureCode}  # the codes by their texts
