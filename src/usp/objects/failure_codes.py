"""The codes of failures: why a sitemap is missing, or why the rest of it is.

Each is written as: its severity and number in ``usp check``, the code and its message, what it means,
an example, what to do, and what the owner of the website does if that is something else. Of a limit
the message is left out, and how it is raised. A problem that kept the rest of a document from being
read has one of these codes too.
"""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import Self

__all__ = ["FailureCode"]


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
        """Make a member of the text that it is written as; its value is the code alone."""
        head, _, lines = text.partition(":")
        *about, value = head.split()
        member = str.__new__(cls, value)
        member._value_ = value
        texts = [line.strip() for line in lines.strip().splitlines()]
        if value.startswith(_LIMIT):
            name = value.removeprefix(_LIMIT).replace("-", "_")
            texts = [_REACHED.format(name), *texts, _RAISE.format(name)][: max(len(texts) + 1, 4)]
        member.message, member.meaning, member.example, member.remedy, *hint = texts
        member.hint = " ".join(hint) or member.remedy
        member.severity, member.rule = about
        return member


_LIMIT = "limit-"
_REACHED = "the limit {0} is reached"
_RAISE = "Raise the limit with Limits({0}=…), on the command line with --max {0}=…."


class FailureCode(Code):
    """Why something is missing; a code stays the same when the words of the reason change."""

    # The server returned an error -----------------------------------------------------------------

    NOT_FOUND = """error SM150 not-found: the sitemap does not exist
        The server returned 404 or 410.
        404 Not Found
        Correct the URL where the sitemap is declared, or remove the entry."""
    BLOCKED = """error SM250 blocked: the server blocks robots
        The server returned 403, or an error with the headers of a bot wall.
        403 Forbidden
        Try another user agent, fewer requests at a time, or a pause between them.
        Let robots fetch the sitemap: leave it out of the bot rules of the firewall or CDN."""
    UNAUTHORIZED = """error SM251 unauthorized: the server requires a login
        The server returned 401.
        401 Unauthorized
        Pass auth= to the client, or put the login into the URL: https://user:password@host/.
        Send the sitemap without a login. To check a protected website,
        write https://user:password@host/."""
    RATE_LIMITED = """error SM252 rate-limited: too many requests
        The server returned 429, even after pauses.
        429 Too Many Requests
        Send fewer requests at a time, with a pause between them.
        Allow robots more requests. To check more slowly, use --concurrency 1 or --wait."""
    SERVER_ERROR = """error SM253 server-error: the server failed
        The server returned 5xx, even when the request was repeated.
        503 Service Unavailable
        Try again later.
        Look into the error log of the server, and of the proxy in front of it."""
    HTTP_ERROR = """error SM254 http-error: the server did not send the sitemap
        The server returned any other status that is not 2xx.
        400 Bad Request
        Open the URL in a browser to see what the server says."""
    BAD_REDIRECT = """error SM255 bad-redirect: a redirect leads nowhere
        The URL in a Location header cannot be requested.
        redirected to 'ftp://example.org/', which is not an HTTP URL
        Correct the redirect, or declare the URL that it should lead to."""

    # There was no response ------------------------------------------------------------------------

    NO_SUCH_HOST = """error SM256 no-such-host: no such host
        The host name does not resolve to an address.
        no such host: example.invalid
        Check the spelling, and whether the network is up.
        Correct the host name where the sitemap is declared, or the DNS of the host."""
    CONNECTION_REFUSED = """error SM257 connection-refused: the connection was refused
        Nothing is listening on that port of the host.
        connection refused by example.org:443 (try http://example.org/)
        Check the scheme and the port.
        Correct the scheme and the port where the sitemap is declared."""
    UNREACHABLE = """error SM258 unreachable: the host cannot be reached
        The host's address cannot be reached from this machine.
        cannot connect to example.org:443: network is unreachable
        Check this machine's network connection."""
    CONNECT_TIMEOUT = """error SM259 connect-timeout: no connection in time
        The host did not accept the connection within the timeout.
        no connection to example.org:443 within 9.05 seconds
        Try again later, or raise the timeout.
        Make the server respond faster: search engines do not wait either. --timeout waits longer."""
    READ_TIMEOUT = """error SM260 read-timeout: no response in time
        The connection was established, but no response arrived within the timeout.
        no response from example.org within 60 seconds
        Try again later, or raise the timeout.
        Make the server respond faster: search engines do not wait either. --timeout waits longer."""
    CONNECTION_CLOSED = """error SM261 connection-closed: the connection was closed without a response
        The host accepted the connection and closed it before the end of the response headers.
        example.org closed the connection without a response
        Try again later; some bot walls do this to robots.
        Look into the error log of the server, and of the proxy in front of it."""
    UNTRUSTED_CERTIFICATE = """error SM262 untrusted-certificate: the certificate is not trusted
        The TLS certificate of the host is self-signed, expired, or for another host.
        the certificate of example.org is not trusted: certificate has expired
        Pass the issuer's certificates as verify='ca.pem' (--ca-bundle FILE), or skip the check.
        Renew or correct the certificate. --ca-bundle FILE trusts an authority of your own."""
    TLS_ERROR = """error SM263 tls-error: no secure connection
        The TLS handshake failed for a reason other than the certificate.
        example.org:80 does not speak TLS (try http://example.org:80/)
        Check the scheme and the port."""
    NOT_HTTP = """error SM264 not-http: the response is not HTTP
        Whatever is listening on that port does not speak HTTP.
        example.org:22 does not speak HTTP
        Check the port."""
    BAD_HEADERS = """error SM265 bad-headers: the headers are too large or contradict each other
        The headers of the response exceed what a client accepts, or browsers disagree about them.
        a Set-Cookie header of 100,000 characters, or two different values of Content-Length
        Report it to the operator of the server."""
    PROXY_ERROR = """warning SM053 proxy-error: the proxy cannot be used
        A request through a proxy failed at the proxy.
        the proxy cannot be used: connection refused by proxy.example.org:3128
        Check the proxy's address and login."""
    ADDRESS_REFUSED = """warning SM052 address-refused: connections to this address are not allowed
        A public website led to a private address, which is refused unless it is allowed.
        refused to connect to 10.0.0.1 (a private address)
        Allow the network with Zones(allow=…) or --allow-network, if you trust the website."""
    BAD_URL = """error SM151 bad-url: not an HTTP URL
        What is declared as a sitemap cannot be requested over HTTP.
        URL ftp://example.org/sitemap.xml is not a HTTP(s) URL.
        Correct the URL where it is declared."""
    HOST_FAILING = """warning SM056 host-failing: the host keeps failing
        So many requests to the host failed in a row that no more are sent.
        this host keeps failing (last error: 503 Service Unavailable)
        Try again later."""
    CLIENT_ERROR = """warning SM054 client-error: the request failed
        The client raised or returned an error of its own that has no other code.
        ValueError: my client cannot do this
        Read the reason; if the client is your own, look for the cause there."""
    INTERNAL_ERROR = """warning SM055 internal-error: a bug in this library
        An unexpected exception was caught, and this sitemap is lost.
        KeyError: 'x'
        Please report it, with the URL."""

    # The response broke off -----------------------------------------------------------------------

    BODY_CUT_OFF = """error SM266 body-cut-off: the connection was closed before the end of the body
        Less was received than announced. What was received is kept.
        the connection was closed before the end of the body
        Try again later.
        Look into the error log of the server, and of the proxy in front of it."""
    BODY_TIMEOUT = """error SM267 body-timeout: no more data in time
        No data arrived for longer than the timeout. What was received is kept.
        no more data from example.org within 60 seconds
        Try again later, or raise the timeout.
        Make the server respond faster: search engines do not wait either. --timeout waits longer."""
    BAD_CHUNK = """error SM268 bad-chunk: a chunk of the body is malformed
        A body in Transfer-Encoding: chunked is damaged. What was received before is kept.
        a chunk of the body is malformed
        Report it to the operator of the server, or of the proxy in front of it.
        Look into the error log of the server, and of the proxy in front of it."""
    BAD_CONTENT_ENCODING = """error SM269 bad-content-encoding:
        the body is not compressed as its Content-Encoding says
        The body cannot be decompressed. What was decompressed so far is kept.
        Content-Encoding: br for a body in gzip
        Correct the header, or the compression."""
    GZIP_CUT_OFF = """error SM270 gzip-cut-off: the compressed data breaks off
        The gzip data ends too early. Everything up to there is kept.
        a .gz file whose second half is missing
        Generate the file again."""
    GZIP_BROKEN = """error SM271 gzip-broken: the compressed data is broken
        The gzip data is damaged. Everything up to the damage is kept.
        the compressed data is broken (invalid block type)
        Generate the file again; transfer it as binary."""
    TRUNCATED = """error SM354 truncated: the document breaks off before its end
        The end tag of the root is missing. Every complete entry is kept.
        <urlset>…<url><loc>https://example.org/
        Generate the file again; write it under another name, then rename it."""
    TOO_DAMAGED = """error SM355 too-damaged: the rest is too damaged
        The rest was abandoned after too many repairs without a single readable entry.
        400,000 end tags without start tags
        Generate the file again."""

    # The document is not a sitemap ----------------------------------------------------------------

    HTML_PAGE = """error SM350 html-page: it is an HTML page
        The server sent a web page, often an error page with status 200.
        <!DOCTYPE html><html>…
        Correct the URL; make the server return 404 for pages that do not exist."""
    BOT_CHALLENGE = """error SM274 bot-challenge: it is an HTML page that blocks bots
        The server sent a page that asks visitors to prove that they are human.
        <title>Just a moment...</title>
        Try another user agent, fewer requests at a time, or a pause between them.
        Let robots fetch the sitemap: leave it out of the bot rules of the firewall or CDN."""
    FORBIDDEN_DOCTYPE = """error SM351 forbidden-doctype:
        the document declares entities or a document type of its own
        Such declarations are used in attacks on XML parsers. They are refused, never expanded.
        <!DOCTYPE urlset [<!ENTITY a 'b'>]>
        Remove the declarations: sitemaps need none."""
    EMPTY_DOCUMENT = """error SM352 empty-document: it is empty
        The document has no content.
        a file of 0 bytes
        Generate the file again, or remove it where it is declared."""
    NOT_A_SITEMAP = """error SM353 not-a-sitemap: it is not a sitemap
        The document is neither a sitemap nor an index, a feed, a robots.txt or a list of URLs.
        its root element is <svg>
        Correct the URL where it is declared."""

    # The tree -------------------------------------------------------------------------------------

    RECURSION = """warning SM152 recursion: it is one of the sitemaps above it
        An index lists itself or one of its ancestors, which is not followed again.
        https://example.org/sitemap.xml lists https://example.org/sitemap.xml
        Remove the entry."""
    REDIRECT_RECURSION = """warning SM153 redirect-recursion:
        it redirects to one of the sitemaps above it
        A sitemap redirects to one of its ancestors, which is not followed again.
        https://example.org/news.xml redirects to https://example.org/sitemap.xml
        Remove the entry, or correct the redirect."""
    NOT_FETCHED = """info SM050 not-fetched: not fetched
        The sitemap was not requested: local documents are read without network access.
        Un-fetched child sitemap
        Pass the URL of the website instead of a file."""
    INTERRUPTED = """warning SM051 interrupted: the crawl was interrupted
        Ctrl-C or the program ended the crawl before this sitemap was complete.
        the crawl was interrupted
        Run it again."""

    # Limits ---------------------------------------------------------------------------------------

    LIMIT_DOCUMENT_BYTES = """warning SM062 limit-document-bytes:
        The document, as received, is larger than allowed. The beginning is kept.
        more than 100 MiB in one sitemap"""
    LIMIT_UNPACKED_BYTES = """warning SM063 limit-unpacked-bytes:
        The document is larger than allowed after decompression. The beginning is kept.
        more than 256 MiB in one sitemap.xml.gz"""
    LIMIT_RATIO = """warning SM064 limit-ratio:
        The compression ratio is so high that the document may be a decompression bomb.
        10 GiB of zeros in a .gz file of 10 MiB"""
    LIMIT_DEPTH = """warning SM065 limit-depth:
        The sitemap is nested more deeply than sitemaps are followed.
        an index in an index in an index …"""
    LIMIT_SITEMAPS = """warning SM066 limit-sitemaps:
        The tree has as many sitemaps as allowed. The rest is left out.
        100,001 sitemaps"""
    LIMIT_PAGES = """info SM067 limit-pages:
        The tree has as many pages as allowed. The rest is left out.
        --max pages=1000"""
    LIMIT_REDIRECTS = """error SM273 limit-redirects:
        There are more redirects in a row than are followed.
        https://example.org/a and https://example.org/b redirect to each other
        Raise the limit with Limits(redirects=…), on the command line with --max redirects=….
        Declare the URL at the end of the redirects, and remove those in a circle."""
    LIMIT_URL_LENGTH = """warning SM068 limit-url-length:
        A URL, or all URLs of an index together, exceed the allowed length and are left out.
        <loc>https://example.org/?q=aaaa…</loc> with 10,000 characters"""
    LIMIT_SPOOL_BYTES = """warning SM069 limit-spool-bytes:
        The documents of the tree take more space in the temporary folder than allowed.
        more than 20 GiB of sitemaps"""
    LIMIT_DOCUMENT_SECONDS = """warning SM070 limit-document-seconds:
        The document takes longer than allowed, from the request to its last byte.
        a server that sends one byte per second"""
    LIMIT_LOWEST_RATE = """warning SM071 limit-lowest-rate:
        The document arrives more slowly than allowed.
        less than 100 bytes per second over half a minute
        Lower the limit with Limits(lowest_rate=…), on the command line with --max lowest_rate=…."""
    LIMIT_SECONDS = """warning SM072 limit-seconds:
        The crawl takes longer than allowed. What was not fetched by then is missing.
        --max seconds=60"""

    # Snapshots ------------------------------------------------------------------------------------

    NOT_IN_SNAPSHOT = """warning SM057 not-in-snapshot: it is not in the snapshot
        The tree was loaded from a file that has no response for this URL.
        usp.load('site.warc.gz')
        Update the snapshot, or record the website again."""
    EMPTIED = """warning SM073 emptied: it has lost its pages, or most of its sitemaps
        An update found less than it had. It is kept as it was until the next update finds the same.
        <urlset></urlset> where there were pages
        Update once more, or use --accept."""
    DAMAGED_RECORD = """warning SM058 damaged-record: its record in the snapshot is damaged
        The record ends too early, or its compressed data is damaged. What could be read is kept.
        a WARC file that was not copied to its end
        Copy the file again, or record the website again."""
    INCOMPLETE_SNAPSHOT = """warning SM059 incomplete-snapshot: the snapshot is incomplete
        The file was cut off, or parts of it cannot be read. What could be read is in the tree.
        a snapshot whose recording was killed
        Copy the file again, or record the website again."""

    OTHER_FAILURE = """warning SM060 other-failure: another reason
        A failure that was created directly, without a code.
        InvalidSitemap(url, "my own words")
        Read its reason."""

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
