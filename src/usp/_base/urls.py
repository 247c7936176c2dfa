"""The only parser of URLs: the same value is checked, requested and logged.

Libraries disagree about odd URLs: what one takes for a login is the host for another. So an HTTP URL is
parsed here, once, and written in an unambiguous form. A URL for which there is none is refused.
"""

from __future__ import annotations

import base64
import functools
import ipaddress
import re
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, parse_qs, unquote_to_bytes, urldefrag

if TYPE_CHECKING:
    from urllib3.util import Url

T = TypeVar("T")

# Nobody else imports from there.
quote, unquote = urllib.parse.quote, urllib.parse.unquote
quote_plus, unquote_plus = urllib.parse.quote_plus, urllib.parse.unquote_plus
urlsplit, urlunsplit, urljoin = urllib.parse.urlsplit, urllib.parse.urlunsplit, urllib.parse.urljoin

PORTS = {"http": 80, "https": 443}  # the default ports
_URL = re.compile(r"(https?)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NOT_IN_AUTHORITY = re.compile(r"[\\\s\x00-\x1f\x7f-\x9f]")
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::([0-9]*))?")
_NAMED = re.compile(r"([^:\[\]]+)(?::([0-9]*))?")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
BLANKS = " \t\r\n\f\v"  # what may be around a URL, and around values in XML and HTML
_LONGEST_NAME = 253
_LONGEST_PORT = 5
_HIGHEST_PORT = 65535
_NOT_HTTP = "is not an HTTP URL"
_ODD = "has a backslash, blank or control character in its host"
_SHORTEST_SECRET = 4  # characters of a password: a shorter one could be any word
_SHOWN = 200  # characters of a URL in a message
_MOST_CACHED = 300  # characters of a URL or authority
_ADDRESS_PARTS = 4
_SAFE = "!#$%&'()*+,/:;=?@[]~"  # stays as it is written, as requests has it
_ESCAPE = re.compile("%(?i:2[DE]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)")  # of what needs none
# What all libraries write as it is: nothing to escape, no segment that may be one or two dots.
_WRITTEN = re.compile(
    r"https?://[a-z0-9.-]++(?::[1-9][0-9]*+)?/(?:\.?+[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9_~!$&'()*+,;=:@.-]*+/?)*+"
    r"(?:\?[A-Za-z0-9_~!$&'()*+,;=:@/?.-]++)?"
)
_HTTP_URL = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?+://([^\s/?#]++)\S*+")
_LOGIN = re.compile(r"(\s*[A-Za-z][A-Za-z0-9+.-]{0,20}://)[^/?#]*@")


class BadUrl(ValueError):  # noqa: N818 - says what it is
    """A URL that cannot be requested; the message says why, without its password."""

    def __init__(self, why: str, url: str | None = None) -> None:
        super().__init__(why if url is None else f"{redact_url(url)!r} {why}")
        self.why = why

    @property
    def is_http(self) -> bool:
        """Whether it is an HTTP URL at all."""
        return self.why != _NOT_HTTP


@dataclass(frozen=True, slots=True)
class Login:
    """The user name and password in an address, decoded."""

    user: bytes = field(repr=False)
    password: bytes = field(repr=False)

    def header(self) -> str:
        """Return the value of the ``Authorization`` header."""
        return "Basic " + base64.b64encode(self.user + b":" + self.password).decode("ascii")

    def hidden_in(self, message: str) -> str:
        """Return a text without the login, however it is written there."""
        alone = {quote(self.password, safe=""), self.password.decode("utf-8", "replace")}
        for secret in (
            self.written(),
            self.header().partition(" ")[2],
            *(word for word in alone if len(word) >= _SHORTEST_SECRET),
        ):
            message = message.replace(secret, "***")
        return message

    def written(self) -> str:
        """Return the login as it is written in a URL, before the ``@``."""
        return f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"


@dataclass(frozen=True, slots=True)
class HttpUrl:
    """An HTTP URL, taken apart.

    ``host`` is a name in lower-case ASCII or an address in its usual form, without brackets;
    ``port`` is the one that is connected to. ``site`` is the host, and its port unless that is the
    usual one. The login is kept apart: no text of this value contains it.
    """

    scheme: str
    host: str
    port: int
    site: str
    authority: str
    rest: str
    login: Login | None = field(default=None, repr=False)

    @property
    def origin(self) -> str:
        """The scheme, the host and the port."""
        return f"{self.scheme}://{self.site}"

    def may_share(self, other: HttpUrl) -> bool:
        """Return whether a secret for this URL may be sent to the other one.

        It must be the same host and port, and HTTPS if this one is.
        """
        return self.site == other.site and not (self.scheme == "https" and other.scheme == "http")

    def text(self) -> str:
        """Return the URL as it is requested: all libraries read and write it in this way."""
        url = f"{self.scheme}://{self.authority}{self.rest}"
        if _WRITTEN.fullmatch(url):
            return url
        url = _escaped(_escaped(url))  # %2e%2e is .. after the first time, and gone after both
        parts = _parts(url)
        if (parts.host or "").strip("[]") != self.host or (
            parts.port or PORTS[self.scheme]
        ) != self.port:
            raise BadUrl("can be read in more than one way", url)
        return url if parts.path else parts._replace(path="/").url  # of nothing but dots


def cached(maxsize: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that caches what a function returns for texts that are not long."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        known = functools.lru_cache(maxsize)(function)

        @functools.wraps(function)
        def cached_function(text: str) -> T:
            is_short = isinstance(text, str) and len(text) <= _MOST_CACHED
            return known(text) if is_short else function(text)

        cached_function.cache_info = known.cache_info  # type: ignore[attr-defined] # as functools
        return cached_function

    return decorate


@cached(1024)
def read_host(text: str) -> str:
    """Parse a host by itself, with or without brackets; raises :class:`BadUrl`."""
    text = text.strip("[]")
    return _address6(text) if ":" in text else _name(text)


@cached(2048)  # it is parsed at several places, one after another; those of an index all at once
def read_url(text: str) -> HttpUrl:
    """Parse an HTTP URL; raises :class:`BadUrl` if there is any doubt about its host."""
    if not isinstance(text, str):  # a program's own mistake, reported as any other
        raise BadUrl(_NOT_HTTP, str(text))
    match = _URL.fullmatch(text.strip(BLANKS))
    if match is None:
        raise BadUrl(_NOT_HTTP, text)
    scheme, authority, rest = match.groups()
    scheme = scheme.lower()
    login = None
    if "@" in authority:
        userinfo, _, authority = authority.rpartition("@")
        if _NOT_IN_AUTHORITY.search(userinfo):
            raise BadUrl(_ODD, text)
        user, _, password = userinfo.partition(":")
        if user or password:
            login = Login(unquote_to_bytes(user), unquote_to_bytes(password))
    if _CONTROL.search(rest):
        raise BadUrl("has a control character in it", text)
    try:
        host, written, port = _authority(authority)
    except BadUrl as error:
        raise BadUrl(error.why, text) from None
    if not rest.startswith("/"):
        rest = f"/{rest}"
    usual = PORTS[scheme]
    authority = written if port is None else f"{written}:{port}"
    site = written if port == usual else authority
    return HttpUrl(scheme, host, usual if port is None else port, site, authority, rest, login)


@cached(4096)
def _authority(text: str) -> tuple[str, str, int | None]:
    """Return the host, as it is written in a URL, and the port; the end of a message is raised."""
    if _NOT_IN_AUTHORITY.search(text):
        raise BadUrl(_ODD)
    match = (_BRACKETED if text.startswith("[") else _NAMED).fullmatch(text)
    if match is None:
        raise BadUrl("has no host" if not text.strip(":") else "has an invalid host or port")
    host = _address6(match[1]) if text.startswith("[") else _name(match[1])
    written = f"[{host}]" if ":" in host else host
    if not match[2]:
        return host, written, None
    digits = match[2].lstrip("0") or "0"
    if len(digits) > _LONGEST_PORT or int(digits) > _HIGHEST_PORT:
        raise BadUrl("has a port above 65535")
    return host, written, int(digits)


def _address6(text: str) -> str:
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise BadUrl("has a host that is not an IPv6 address") from None


def _name(text: str) -> str:
    """Return a host as it is looked up: IDNA applied, an IPv4 address in its usual form.

    A dot at the end is left out.
    """
    name = text.lower()
    if not name.isascii():
        if len(name) > _LONGEST_NAME:
            raise BadUrl("has a host that is too long")
        import idna  # noqa: PLC0415 - its tables are large, and most hosts are ASCII

        try:
            name = idna.encode(name, uts46=True).decode("ascii").lower()
        except UnicodeError:
            raise BadUrl("has a host that is not a valid international name") from None
    name = name.removesuffix(".")
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise BadUrl("has a host that is not a valid name")
    labels = name.split(".")
    return _address4(labels) if _NUMBER.fullmatch(labels[-1]) else name


def _address4(labels: list[str]) -> str:
    """Read ``127.0.0.1`` and the short, octal and hexadecimal forms that resolvers know."""
    *first, last = labels
    try:
        end = _number(last).to_bytes(_ADDRESS_PARTS - len(first) or -1, "big")  # not of five
        return str(ipaddress.IPv4Address(bytes(map(_number, first)) + end))
    except (ValueError, OverflowError):
        raise BadUrl("has a host that is not an IPv4 address") from None


def _number(label: str) -> int:
    """Return the number in a part of an address; raises ``ValueError`` if there is none."""
    if not _NUMBER.fullmatch(label):
        raise ValueError(label)
    return int(label, 8 if label.startswith("0") and label.isdigit() else 0)


def _escaped(url: str) -> str:
    """Write path, query and fragment as ``requests`` does: escaped where that is needed."""
    parts = _parts(url)
    written = parts._replace(query=parts.query or None, fragment=parts.fragment or None).url
    return quote(_ESCAPE.sub(lambda escape: unquote(escape[0]), written), safe=_SAFE)


def _parts(url: str) -> Url:
    """Return the parts of a URL as ``requests`` parses it; few URLs are odd enough to need it."""
    from urllib3.util import parse_url  # noqa: PLC0415 - takes longer to load than all of this

    return parse_url(url)


def host_of(url: str) -> str | None:
    """Return the host of a URL, and its port unless it is the default port; None if it is refused."""
    try:
        return read_url(url).site
    except BadUrl:
        return None


def are_related(host: str | None, other: str | None) -> bool:
    """Return whether two hosts belong together: the same but for ``www.``, or one below the other.

    That is certain without a list of public suffixes. A host without a dot has none below it.
    """
    if not host or not other:
        return False
    ours, theirs = host.removeprefix("www."), other.removeprefix("www.")
    shorter, longer = sorted((ours, theirs), key=len)
    return ours == theirs or ("." in shorter and longer.endswith(f".{shorter}"))


def without_fragment(url: str) -> str:
    """Return a URL without its fragment, as it is requested."""
    return urldefrag(url)[0] if "#" in url else url


# Texts with a login in them ------------------------------------------------------------------------


def without_login(url: str) -> str:
    """Return a URL without user name and password, otherwise as it is written."""
    match = _LOGIN.match(url) if "@" in url else None
    return match[1] + url[match.end() :] if match else url


def with_login(url: str, login: Login) -> str:
    """Return a URL with a user name and password added."""
    head, slashes, tail = url.partition("//")
    return f"{head}{slashes}{login.written()}@{tail}"


def redact_url(url: object) -> str:
    """Return a URL for a message: without anything that may be a password, and not too long.

    If it is not clear what the login is, everything up to the last ``@`` is hidden.
    """
    text = str(url)
    if "@" in text and not _has_plain_login(text):
        head, slashes, _ = text.partition("//")
        text = f"{head if slashes else ''}{slashes}***@{text.rpartition('@')[2]}"
    else:
        text = without_login(text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _has_plain_login(text: str) -> bool:
    """Return whether it is clear what the login of a URL is, or that it has none."""
    match = _URL.fullmatch(text.strip(BLANKS))
    if match is None:
        return False
    userinfo, _, authority = match[2].rpartition("@")
    try:
        _authority(authority)
    except BadUrl:
        return False
    return not _NOT_IN_AUTHORITY.search(userinfo)


# URLs as they are written: to be shown, counted or compared, but not requested ---------------------


def url_parts(url: str) -> SplitResult:
    """Return the parts of an address as they are written; a path alone if it cannot be split."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
# The pattern of a scheme, a host in ASCII or an IPv4 address, and a port, as nearly all URLs have.
USUAL_ORIGIN = (
    rf"https?://(?:(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9.])"
    r"|(?:[A-Za-z0-9-]{1,40}+\.){0,5}+(?=[A-Za-z])[A-Za-z0-9-]{1,40}+)(?::[1-5]?[0-9]{1,4}+)?+"
)


def is_http_url(url: str | None) -> bool:
    """Return whether ``url`` is an absolute HTTP(S) URL, without blanks; None is not one.

    A host cannot begin with a dot.
    """
    found = None if url is None else _HTTP_URL.fullmatch(url)
    return found is not None and _has_host(found[1])


def can_be_requested(url: str) -> bool:
    """Return whether ``url`` is an HTTP(S) URL whose host and port can be connected to."""
    found = _HTTP_URL.fullmatch(url)
    return found is not None and _has_host(found[1]) and _has_sound_host(found[1])


@cached(4096)  # most URLs are of few hosts
def _has_host(authority: str) -> bool:
    host = url_parts(f"//{authority}").hostname
    return bool(host) and not str(host).startswith(".")


@cached(4096)
def _has_sound_host(authority: str) -> bool:
    try:
        _authority(authority.rpartition("@")[2])
    except BadUrl:
        return False
    return True


def origin_of(url: str) -> str:
    """Return scheme and host of an address as they are written; empty if it has no host."""
    parts = url_parts(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def host_in(url: str) -> str:
    """Return what comes before the path, in lower case; quick, for many URLs."""
    parts = url.split("/", 3)
    return parts[2].lower() if len(parts) > 2 else ""  # noqa: PLR2004 - scheme, nothing, host


def path_of(url: str) -> str:
    """Return the path of an address, and its query; quick, for many URLs."""
    return "/" + "".join(url.partition("#")[0].split("/", 3)[3:])


# Sections: the folders of the path that pages share. The last part of a path names the page and is no
# folder, with a slash behind it or without: /2021/post-10/ is in /2021/, and /about/ in /.

INDEX_PAGE = re.compile(r"/(?:index|default)\.\w{2,5}\Z", re.ASCII)
_LOCALE = re.compile(r"[a-z]{2}/[a-z]{2}(?:[-_][A-Za-z]{2,4})?", re.ASCII)  # country and language
_SLASHES = 6  # in http://host/one/two/three/

Folders = tuple[str, str]
"""The first and the second folder of a path, empty if there is none; ``us/en`` is one folder."""


_BEYOND_ASCII = re.compile(r"(?:%[89a-f][0-9a-f])+", re.IGNORECASE)


def readable(url: str) -> str:
    """Return a URL as browsers show it: letters beyond ASCII instead of their escapes."""
    return _BEYOND_ASCII.sub(_letters, url) if "%" in url else url


def _letters(escaped: re.Match[str]) -> str:
    try:
        text = unquote(escaped[0], errors="strict")
    except UnicodeDecodeError:
        return escaped[0]
    return text if text.isprintable() else escaped[0]


def folder_of(url: str) -> str:
    """Return the URL of the folder that a page is in, without a slash at its end."""
    path, _, query = url.partition("#")[0].partition("?")
    page = path if query else INDEX_PAGE.sub("", path.rstrip("/"))
    folder = page.rpartition("/")[0]
    return folder if folder.count("/") > 1 else page


def first_folders(folder: str) -> Folders:
    """Return the first folders of the URL of a folder; escaped letters are the letters."""
    first, second, third = [*readable(folder).split("/", _SLASHES)[3:6], "", "", ""][:3]
    return (
        (f"{first}/{second}", third) if _LOCALE.fullmatch(f"{first}/{second}") else (first, second)
    )


def section_of(url: str) -> str:
    """Return the section of a website that a page belongs to: the first folder of its path."""
    first, _ = first_folders(folder_of(url))
    return f"/{first}/" if first else "/"


# Relative URLs, resolved as RFC 3986 says ----------------------------------------------------------

# RFC 3986, appendix B. What is missing is None, and something else than what is empty.
_ANY_URL = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*+):)?+(//[^/?#]*+)?+([^?#]*+)(\?[^#]*+)?+(#.*+)?+", re.DOTALL
)


def joined(base: str, url: str) -> str:
    """Return a URL relative to a base, as RFC 3986, section 5.2 says."""
    scheme, host, path, query, fragment = _ANY_URL.fullmatch(url).groups()  # type: ignore[union-attr]
    own_scheme, own_host, own_path, own_query, _ = _ANY_URL.fullmatch(base).groups()  # type: ignore[union-attr]
    if scheme is not None:
        return url
    if host is None:
        host = own_host
        if not path:
            path, query = own_path, own_query if query is None else query
        elif path[0] == "/":
            path = _without_dots(path)
        elif host is not None and not own_path:
            path = _without_dots(f"/{path}")
        else:
            path = _without_dots(own_path[: own_path.rfind("/") + 1] + path)
    else:
        path = _without_dots(path)
    before = "" if own_scheme is None else f"{own_scheme.lower()}:"
    return f"{before}{host or ''}{path}{query or ''}{fragment or ''}"


def _without_dots(path: str) -> str:
    """Return a path with ``.`` and ``..`` resolved; empty segments are segments as any other."""
    if "/." not in path and path[:1] != ".":
        return path
    first, *segments = path.split("/")
    kept: list[str] = []
    for segment in segments if path[:1] == "/" else [first, *segments]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if path.endswith(("/.", "/..")) or path in (".", ".."):
        kept.append("")
    return ("/" if path[:1] == "/" else "") + "/".join(kept)


# URLs that look like those of sitemaps, before anything is fetched ---------------------------------

DOCUMENTS = (".xml", ".txt", ".rss", ".atom", ".opml")  # suffixes of sitemaps, feeds and robots.txt
ARCHIVES = (".warc", ".wacz", ".warc.zst")  # of web archives: files, never hosts
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")  # which are no hosts, too
PAGES = (".html", ".htm", ".xhtml")  # suffixes of pages, which stand for their website
MEDIA = frozenset(
    f".{suffix}"
    for suffix in (
        *("avif", "bmp", "gif", "heic", "ico", "jpeg", "jpg", "png", "svg", "tif", "tiff", "webp"),
        *("flac", "m4a", "m4v", "mov", "mp3", "mp4", "ogg", "wav", "webm"),
        *("css", "eot", "js", "map", "mjs", "otf", "pdf", "ttf", "wasm", "woff", "woff2", "zip"),
    )
)
"""Suffixes of what else a website has, much of it large; it is read only if an index lists it."""


def looks_like_sitemap(url: str) -> bool:
    """Return whether a URL looks like that of a sitemap rather than of a website.

    It does if the last segment of its path has a suffix of sitemaps, feeds or robots.txt (``.xml``,
    ``.txt``, ``.rss``, ``.atom``, ``.opml``, also compressed) or contains ``sitemap``, or if its query
    has a key ``sitemap``. A path that ends in a slash or in ``.html`` stands for its website, like any
    other URL.
    """
    parts = url_parts(url)
    name = parts.path.rpartition("/")[2].lower().removesuffix(".gz")
    if name.endswith(PAGES):
        return False
    if name.endswith(DOCUMENTS) or "sitemap" in name:
        return True
    return "sitemap" in parse_qs(parts.query, keep_blank_values=True)
