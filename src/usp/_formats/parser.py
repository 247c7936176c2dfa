"""What every parser is: text in, entries out, problems beside."""

from __future__ import annotations

import abc
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urljoin

from usp._base.reason import Reason
from usp._base.urls import is_http_url
from usp.limits import DEFAULT
from usp.objects.problem import FailureCode, Problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from usp.objects.page import SitemapPage
    from usp.objects.problem import ProblemCode
    from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap

    Note = Callable[[ProblemCode, str], None]
    """``note(code, excerpt)``: told which field could not be read."""

_INVISIBLE = "\ufeff\u200b\u2060"  # stands around pasted URLs, and is no white space to Python
_BREAK = re.compile(r"(?<!\s)[^\S\t\r\n]*+[\t\r\n]\s*+")  # a URL that was wrapped
_BLANK = re.compile(r"\s")
_SCHEMES = ("http://", "https://")

TRUNCATED = Reason(FailureCode.TRUNCATED, "the document breaks off before its end")


@dataclass(frozen=True, slots=True)
class ChildEntry:
    """A child sitemap as an index declares it; ``loc`` is absolute, ``lastmod`` as written."""

    loc: str
    lastmod: str | None = None


class PageEntry(abc.ABC):
    """A page as it stands in a document, before its fields are read."""

    line: int | None = None
    """The line of the document where the entry begins, where that is known."""

    @abc.abstractmethod
    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Read the fields; None if there is no page in the entry. ``note`` hears of damage."""


class PageBatch(abc.ABC):
    """Many pages at once: their URLs in a column, everything else read when it is asked for."""

    urls: list[str]

    @abc.abstractmethod
    def pages(self) -> Iterator[SitemapPage]:
        """Give the pages, one for each URL and in their order."""

    @abc.abstractmethod
    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Give the fields of the protocol as they are written, in columns; see ``PageBlock``."""


Entry: TypeAlias = ChildEntry | PageEntry | PageBatch
"""What parsers give."""


MAX_PIECE = 256 * 1024
"""Parsers read so many characters at a time, however many are handed in."""


def pieces(text: str, most: int = MAX_PIECE) -> Iterator[str]:
    """Yield a text in pieces that a parser reads at a time."""
    for at in range(0, len(text), most):
        yield text[at : at + most]


class AbstractSitemapParser(abc.ABC):
    """Reads the text of one document: ``feed`` pieces of it, then ``close``.

    Cutting the text anywhere gives the same entries and the same problems. ``url`` is the address
    that relative ones are resolved against. With ``fast`` pages may come in batches, and problems
    inside of such a batch are not looked for.
    """

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap]
    """The node of the tree that a document of this kind becomes."""

    url_length: int | None = DEFAULT.url_length
    """How long the base of relative addresses may become: it is put in front of every one of them."""

    def __init__(
        self, url: str | None = None, problems: Problems | None = None, *, fast: bool = False
    ) -> None:
        self.url = url
        self.fast = fast
        self.problems = problems if problems is not None else Problems()

    @abc.abstractmethod
    def feed(self, text: str) -> Iterable[Entry]:
        """Give the entries that are complete so far."""

    @abc.abstractmethod
    def close(self) -> Iterable[Entry]:
        """Give the rest, and note what is missing."""


def is_address(text: str, base: str | None) -> bool:
    """Tell whether a text is clearly the address of something: not relative to a place unknown."""
    if _BLANK.search(text):
        return False
    return text[:8].lower().startswith((*_SCHEMES, "/")) or begins_with_host(text, base)


def begins_with_host(loc: str, base: str | None) -> bool:
    """Tell whether an address without a scheme begins with a host: ``www.…``, or one of the base's.

    Anything else may as well be the name of a file.
    """
    host = _HOST.match(loc)
    if host is None:
        return False
    name = host[1].lower()
    if name.startswith("www."):
        return name.count(".") > 1
    own = _HOST.match((base or "").partition("//")[2])
    if own is None:
        return False
    own_name = own[1].lower().removeprefix("www.")
    if name == own_name:
        return "." in name or (host[2] is not None and host[2] == own[2])
    return "." in name and (own_name.endswith(f".{name}") or name.endswith(f".{own_name}"))


_HOST = re.compile(r"([A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)*+\.?+)(:[0-9]{1,5})?+(?=[/?#]|\Z)")


def absolute_url(loc: str, base: str | None) -> str | None:
    """Give a URL as a sitemap means it, absolute; None if it is no HTTP URL.

    Without a base a relative address stays as it is.
    """
    loc = _BREAK.sub("", loc.strip().strip(_INVISIBLE).strip())
    absolute = loc[:8].lower().startswith(_SCHEMES)
    if not absolute and begins_with_host(loc, base):
        scheme = "https" if (base or "")[:6].lower() == "https:" else "http"
        absolute, loc = True, f"{scheme}://{loc}"
    if absolute:
        return loc if is_http_url(_BLANK.sub("%20", loc)) else None
    if not loc:
        return None
    scheme, colon, _ = loc.partition(":")
    if colon and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return None
    if base is None:
        return loc
    try:
        joined = urljoin(base, loc)
    except ValueError:
        return None
    return joined if is_http_url(joined) else None


def resolved(address: str, base: str | None) -> str:
    """Return an address of an image, a video or another language, resolved as a page's.

    One that cannot be is left as it is written.
    """
    if address[:8].lower().startswith(_SCHEMES):
        return address
    return absolute_url(address, base) or address
