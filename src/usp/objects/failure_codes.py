"""The codes of failures: why a sitemap is missing, or why the rest of it is.

Each is written as: the code, the message, what it means, an example, what to do. A problem that kept
the rest of a document from being read has one of these codes too.
"""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import Self

__all__ = [
    "FailureCode",
]


class Code(StrEnum):
    """A stable name, equal to its text, such as ``bare-ampersand``.

    ``message`` says it in a few words, ``meaning`` in a sentence or two, ``example`` shows it, and
    ``remedy`` says what to do. The pages of ``docs/problems.md`` are made of them.
    """

    message: str
    meaning: str
    example: str
    remedy: str

    def __new__(cls, value: str, message: str, meaning: str, example: str, remedy: str) -> Self:
        """Make a member; its value is its text alone."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.message = message
        member.meaning = meaning
        member.example = example
        member.remedy = remedy
        return member


_RAISE = "Raise the limit with Limits({0}=…), on the command line with --max {0}=…."


class FailureCode(Code):
    """Why something is missing; a code stays the same when the words of the reason change."""

    # The server answered ---------------------------------------------------------------------------

    NOT_FOUND = (
        "not-found",
        "the sitemap does not exist",
        "The server answered 404 or 410.",
        "404 Not Found",
        "Correct the address where the sitemap is declared, or remove it there.",
    )
    BLOCKED = (
        "blocked",
        "the server turns robots away",
        "The server answered 403, or an error with the headers of a bot wall.",
        "403 Forbidden",
        "Try another user agent, fewer requests at a time, or a pause between them.",
    )
    UNAUTHORIZED = (
        "unauthorized",
        "the server asks for a login",
        "The server answered 401.",
        "401 Unauthorized",
        "Pass auth= to the client, or write the login into the address: https://user:password@host/.",
    )
    RATE_LIMITED = (
        "rate-limited",
        "the server asks for fewer requests",
        "The server answered 429, also after pauses.",
        "429 Too Many Requests",
        "Ask for less at a time, with a pause between requests.",
    )
    SERVER_ERROR = (
        "server-error",
        "the server failed",
        "The server answered 5xx, also when it was asked again.",
        "503 Service Unavailable",
        "Try again later.",
    )
    HTTP_ERROR = (
        "http-error",
        "the server did not send the sitemap",
        "The server answered with any other status than 2xx.",
        "400 Bad Request",
        "Open the address in a browser to see what the server says.",
    )
    BAD_REDIRECT = (
        "bad-redirect",
        "a redirect leads nowhere",
        "The address in a Location header cannot be requested.",
        "redirected to 'ftp://example.org/', which is not an HTTP URL",
        "Correct the redirect, or declare the address that it should lead to.",
    )

    # There was no answer ---------------------------------------------------------------------------

    NO_SUCH_HOST = (
        "no-such-host",
        "no such host",
        "The name of the host has no address, or could not be looked up.",
        "no such host: example.invalid",
        "Check the spelling, and whether the network is up.",
    )
    CONNECTION_REFUSED = (
        "connection-refused",
        "the connection was refused",
        "Nobody listens at that port of the host.",
        "connection refused by example.org:443 (try http://example.org/)",
        "Check scheme and port.",
    )
    UNREACHABLE = (
        "unreachable",
        "the host cannot be reached",
        "No connection to the address of the host is possible from here.",
        "cannot connect to example.org:443: network is unreachable",
        "Check the network of this machine.",
    )
    CONNECT_TIMEOUT = (
        "connect-timeout",
        "no connection in time",
        "The host did not take the connection within the timeout.",
        "no connection to example.org:443 within 9.05 seconds",
        "Try again later, or raise the timeout.",
    )
    READ_TIMEOUT = (
        "read-timeout",
        "no answer in time",
        "The connection was made, but no answer came within the timeout.",
        "no answer from example.org within 60 seconds",
        "Try again later, or raise the timeout.",
    )
    CONNECTION_CLOSED = (
        "connection-closed",
        "the connection was closed without an answer",
        "The host took the connection, and closed it before it had answered.",
        "example.org closed the connection without an answer",
        "Try again later; some bot walls do this to robots.",
    )
    UNTRUSTED_CERTIFICATE = (
        "untrusted-certificate",
        "the certificate is not trusted",
        "The TLS certificate of the host is self-signed, expired, or for another host.",
        "the certificate of example.org is not trusted: certificate has expired",
        "Pass the issuer's certificates as verify='ca.pem' (--ca-bundle FILE), or skip the check.",
    )
    TLS_ERROR = (
        "tls-error",
        "no secure connection",
        "TLS failed for any other reason than the certificate.",
        "example.org:80 does not speak TLS (try http://example.org:80/)",
        "Check scheme and port.",
    )
    NOT_HTTP = (
        "not-http",
        "the answer is not HTTP",
        "What listens at that port answers something that is not HTTP.",
        "example.org:22 does not speak HTTP",
        "Check the port.",
    )
    BAD_HEADERS = (
        "bad-headers",
        "the headers are too many or too large",
        "The headers of the answer are longer than any client takes.",
        "a Set-Cookie header of 100,000 characters",
        "Tell whoever runs the server.",
    )
    PROXY_ERROR = (
        "proxy-error",
        "the proxy cannot be used",
        "A request by a proxy failed at the proxy.",
        "the proxy cannot be used: connection refused by proxy.example.org:3128",
        "Check the address of the proxy and its login.",
    )
    ADDRESS_REFUSED = (
        "address-refused",
        "the address may not be connected to",
        "A public website led to a private address, which is refused unless it is allowed.",
        "refused to connect to 10.0.0.1 (a private address)",
        "Allow the network with Zones(allow=…) or --allow-network, if you trust the website.",
    )
    BAD_URL = (
        "bad-url",
        "the address is not an HTTP URL",
        "What is declared as a sitemap cannot be requested by HTTP.",
        "URL ftp://example.org/sitemap.xml is not a HTTP(s) URL.",
        "Correct the address where it is declared.",
    )
    HOST_FAILING = (
        "host-failing",
        "the host keeps failing",
        "So many requests to the host failed in a row that it is not asked any more.",
        "this host keeps failing (the last time: 503 Service Unavailable)",
        "Try again later.",
    )
    CLIENT_ERROR = (
        "client-error",
        "the request failed",
        "The client failed in its own words: one of yours, or a library in a way that is unknown.",
        "ValueError: my client cannot do this",
        "Read the reason; with a client of your own, look there.",
    )
    INTERNAL_ERROR = (
        "internal-error",
        "a mistake of this library",
        "An exception that should not happen was caught, and cost this sitemap.",
        "KeyError: 'x'",
        "Please report it, with the address.",
    )

    # The answer broke off --------------------------------------------------------------------------

    BODY_CUT_OFF = (
        "body-cut-off",
        "the connection was closed before the end of the body",
        "Less came than was announced. What came is kept.",
        "the connection was closed before the end of the body",
        "Try again later.",
    )
    BODY_TIMEOUT = (
        "body-timeout",
        "no more data in time",
        "The body stopped coming for longer than the timeout. What came is kept.",
        "no more data from example.org within 60 seconds",
        "Try again later, or raise the timeout.",
    )
    BAD_CHUNK = (
        "bad-chunk",
        "a chunk of the body is malformed",
        "The body in Transfer-Encoding: chunked is damaged. What came before is kept.",
        "a chunk of the body is malformed",
        "Tell whoever runs the server or the proxy before it.",
    )
    BAD_CONTENT_ENCODING = (
        "bad-content-encoding",
        "the body is not compressed as its Content-Encoding says",
        "The body cannot be decompressed. What came out before is kept.",
        "Content-Encoding: br for a body in gzip",
        "Correct the header, or the compression.",
    )
    GZIP_CUT_OFF = (
        "gzip-cut-off",
        "the compressed data breaks off",
        "The gzip data of the document has no end. What it holds until there is kept.",
        "a .gz file of which the second half is missing",
        "Generate the file again.",
    )
    GZIP_BROKEN = (
        "gzip-broken",
        "the compressed data is broken",
        "The gzip data of the document is damaged. What it holds until there is kept.",
        "the compressed data is broken (invalid block type)",
        "Generate the file again; transfer it as binary.",
    )
    TRUNCATED = (
        "truncated",
        "the document breaks off before its end",
        "The end tag of the root is missing. Every complete entry is kept.",
        "<urlset>…<url><loc>https://example.org/",
        "Generate the file again; write it under another name, then rename it.",
    )
    TOO_DAMAGED = (
        "too-damaged",
        "the rest is too damaged",
        "So many repairs were needed without a single entry between them that the rest was given up.",
        "400,000 end tags without start tags",
        "Generate the file again.",
    )

    # The document is not a sitemap -----------------------------------------------------------------

    HTML_PAGE = (
        "html-page",
        "it is an HTML page",
        "The server sent a web page, often its error page with the status 200.",
        "<!DOCTYPE html><html>…",
        "Correct the address; let the server answer 404 for what is not there.",
    )
    BOT_CHALLENGE = (
        "bot-challenge",
        "it is an HTML page that turns robots away",
        "The server sent a page that asks its reader to prove to be human.",
        "<title>Just a moment...</title>",
        "Try another user agent, fewer requests at a time, or a pause between them.",
    )
    FORBIDDEN_DOCTYPE = (
        "forbidden-doctype",
        "the document declares entities or a document type of its own",
        "Such declarations are how attacks on XML parsers begin. They are refused, never expanded.",
        "<!DOCTYPE urlset [<!ENTITY a 'b'>]>",
        "Remove the declarations: sitemaps need none.",
    )
    EMPTY_DOCUMENT = (
        "empty-document",
        "it is empty",
        "The document has no content.",
        "a file of 0 bytes",
        "Generate the file again, or remove it where it is declared.",
    )
    NOT_A_SITEMAP = (
        "not-a-sitemap",
        "it is not a sitemap",
        "The document is neither a sitemap nor an index, a feed, a robots.txt or a list of URLs.",
        "its root element is <svg>",
        "Correct the address where it is declared.",
    )

    # The tree --------------------------------------------------------------------------------------

    RECURSION = (
        "recursion",
        "it is one of the sitemaps above it",
        "An index lists itself, or a sitemap that it is below of. It is not followed again.",
        "https://example.org/sitemap.xml lists https://example.org/sitemap.xml",
        "Remove the entry.",
    )
    REDIRECT_RECURSION = (
        "redirect-recursion",
        "it redirects to one of the sitemaps above it",
        "A sitemap redirects to one that it is below of. It is not followed again.",
        "https://example.org/news.xml redirects to https://example.org/sitemap.xml",
        "Remove the entry, or correct the redirect.",
    )
    NOT_FETCHED = (
        "not-fetched",
        "not fetched",
        "The sitemap was not requested: documents at hand are read without network access.",
        "Un-fetched child sitemap",
        "Give the address of the website instead of a file.",
    )
    INTERRUPTED = (
        "interrupted",
        "the crawl was interrupted",
        "Ctrl-C, or the program, ended the crawl before this sitemap was complete.",
        "the crawl was interrupted",
        "Run it again.",
    )

    # Limits ----------------------------------------------------------------------------------------

    LIMIT_DOCUMENT_BYTES = (
        "limit-document-bytes",
        "the limit document_bytes is reached",
        "The document, as it is received, is larger than allowed. The beginning is kept.",
        "more than 100 MiB in one sitemap",
        _RAISE.format("document_bytes"),
    )
    LIMIT_UNPACKED_BYTES = (
        "limit-unpacked-bytes",
        "the limit unpacked_bytes is reached",
        "The document is larger than allowed once it is decompressed. The beginning is kept.",
        "more than 256 MiB in one sitemap.xml.gz",
        _RAISE.format("unpacked_bytes"),
    )
    LIMIT_RATIO = (
        "limit-ratio",
        "the limit ratio is reached",
        "The document becomes so many times larger when it is decompressed that it may be a bomb.",
        "10 GiB of zeros in a .gz file of 10 MiB",
        _RAISE.format("ratio"),
    )
    LIMIT_DEPTH = (
        "limit-depth",
        "the limit depth is reached",
        "The sitemap stands deeper below its start than is followed.",
        "an index in an index in an index …",
        _RAISE.format("depth"),
    )
    LIMIT_SITEMAPS = (
        "limit-sitemaps",
        "the limit sitemaps is reached",
        "The tree has as many sitemaps as it may. The rest is left out.",
        "100,001 sitemaps",
        _RAISE.format("sitemaps"),
    )
    LIMIT_PAGES = (
        "limit-pages",
        "the limit pages is reached",
        "The tree has as many pages as it may. The rest is left out.",
        "--max pages=1000",
        _RAISE.format("pages"),
    )
    LIMIT_REDIRECTS = (
        "limit-redirects",
        "the limit redirects is reached",
        "The address redirects more often than is followed.",
        "https://example.org/a and https://example.org/b redirect to each other",
        _RAISE.format("redirects"),
    )
    LIMIT_URL_LENGTH = (
        "limit-url-length",
        "the limit url_length is reached",
        "A URL, or all URLs of an index together, are longer than allowed. They are left out.",
        "<loc>https://example.org/?q=aaaa…</loc> with 10,000 characters",
        _RAISE.format("url_length"),
    )
    LIMIT_SPOOL_BYTES = (
        "limit-spool-bytes",
        "the limit spool_bytes is reached",
        "The documents of the tree take more space in the temporary folder than allowed.",
        "more than 20 GiB of sitemaps",
        _RAISE.format("spool_bytes"),
    )
    LIMIT_DOCUMENT_SECONDS = (
        "limit-document-seconds",
        "the limit document_seconds is reached",
        "The document takes longer than allowed, from the request to its last byte.",
        "a server that sends one byte a second",
        _RAISE.format("document_seconds"),
    )
    LIMIT_LOWEST_RATE = (
        "limit-lowest-rate",
        "the limit lowest_rate is reached",
        "The document comes in more slowly than is waited for.",
        "less than 100 bytes a second over half a minute",
        "Lower the limit with Limits(lowest_rate=…), on the command line with --max lowest_rate=….",
    )
    LIMIT_SECONDS = (
        "limit-seconds",
        "the limit seconds is reached",
        "The crawl takes longer than allowed. What was not fetched by then is missing.",
        "--max seconds=60",
        _RAISE.format("seconds"),
    )

    OTHER_FAILURE = (
        "other-failure",
        "another reason",
        "A failure that was made by hand, without a code.",
        'InvalidSitemap(url, "my own words")',
        "Read its reason.",
    )

    @classmethod
    def of_limit(cls, name: str) -> FailureCode:
        """Return the code of a limit, by the name that it has in ``Limits``."""
        return cls[f"LIMIT_{name.upper()}"]

    @property
    def limit(self) -> str | None:
        """The name of the limit that was reached, if it is one."""
        kind, _, name = self.value.partition("limit-")
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
