"""The URLs that documents list: mended, distinguished from other texts, and made absolute."""

from __future__ import annotations

import re
from functools import lru_cache

from usp._base.urls import USUAL_ORIGIN, can_be_requested, is_http_url, joined

_INVISIBLE = "\ufeff\u200b\u2060"  # stands around pasted URLs, which are not white space to Python
_BLANK = re.compile(r"\s")
SCHEMES = ("http://", "https://")
_MARKUP = re.compile('["<>]')
_EXTENSION = re.compile("[A-Za-z0-9]{2,5}")
_HOST = re.compile(r"([A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)*+\.?+)(:[0-9]{1,5})?+(?=[/?#]|\Z)")


def is_address(text: str, base: str | None) -> bool:
    """Return whether a text is clearly a URL: with a scheme, a host, or a path from the root."""
    if _BLANK.search(text):
        return False
    return text[:8].lower().startswith((*SCHEMES, "/")) or begins_with_host(text, base)


def begins_with_host(loc: str, base: str | None) -> bool:
    """Return whether a URL without a scheme begins with a host: ``www.…``, or one of the base's.

    Anything else may as well be the name of a file.
    """
    host = _HOST.match(loc)
    if host is None:
        return False
    name = host[1].lower()
    if "." not in name and host[2] is None:
        return False
    if name.startswith("www."):
        return name.count(".") > 1
    own_name, own_port = _own_host(base) if base else (None, None)
    if own_name is None:
        return False
    if name == own_name:
        return "." in name or (host[2] is not None and host[2] == own_port)
    return "." in name and (own_name.endswith(f".{name}") or name.endswith(f".{own_name}"))


@lru_cache(maxsize=64)
def _own_host(base: str) -> tuple[str | None, str | None]:
    """Return the name of a base's host, without ``www.``, and its port as it is written."""
    own = _HOST.match(base.partition("//")[2])
    return (own[1].lower().removeprefix("www."), own[2]) if own else (None, None)


def absolute_url(loc: str, base: str | None) -> str | None:
    """Return the absolute form of a URL in a sitemap; None if it is not an HTTP URL.

    Without a base, a relative URL is returned as it is.
    """
    if USUAL.fullmatch(loc):
        return loc
    if loc[-1:] not in _INVISIBLE and can_be_requested(loc):
        return loc
    loc = _mended(loc)
    return loc if USUAL.fullmatch(loc) else _mended_url(loc, base)


def child_url(loc: str, base: str | None) -> str | None:
    """Return the absolute form of the URL of a sitemap that another one lists.

    One that cannot be requested is a failure of its own, so it stays.
    """
    url = absolute_url(loc, base)
    return loc.strip() if url is None and is_http_url(loc.strip()) else url


def _mended_url(loc: str, base: str | None) -> str | None:
    if not loc[:8].lower().startswith(SCHEMES):
        if begins_with_host(loc, base):
            scheme = "https" if (base or "")[:6].lower() == "https:" else "http"
            loc = f"{scheme}://{loc}"
        elif not _is_relative(loc):
            return None
        elif base is None:
            return loc
        else:
            loc = joined(base, loc)
    escaped = loc.replace(" ", "%20")
    return (
        loc if can_be_requested(escaped) or can_be_requested(_BLANK.sub("%20", escaped)) else None
    )


def _is_relative(loc: str) -> bool:
    """Return whether a text is a relative URL, and not one of another scheme, words or markup."""
    scheme, colon, _ = loc.partition(":")
    if colon and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return False
    if loc[:1] in ("/", "?", "#") or loc.startswith(("./", "../")):
        return True
    if not loc or _MARKUP.search(loc):
        return False
    word, *words = loc.split(None, 1)
    if not words or "/" in word:
        return True
    # With blanks in it, it must end as the name of a file does.
    _, dot, end = loc.partition("?")[0].partition("#")[0].rpartition(".")
    return bool(dot) and _EXTENSION.fullmatch(end) is not None


def _mended(loc: str) -> str:
    """Return a URL without what stands around it, and without the breaks of lines if it was wrapped."""
    loc = loc.strip().strip(_INVISIBLE).strip()
    if "\n" in loc or "\r" in loc or "\t" in loc:
        lines = loc.replace("\r", "\n").replace("\t", "\n").split("\n")
        loc = "".join(map(str.strip, lines))
    return loc


USUAL = re.compile(rf"{USUAL_ORIGIN}(?:[/?#][!-~\w]*+)?+")
"""A URL with a usual host in ASCII and nothing in it that is not printed."""


def resolved(address: str, base: str | None) -> str:
    """Return an address of an image, a video or another language, resolved as a page's.

    One that cannot be is left as it is written.
    """
    if address.startswith(SCHEMES) or address[:8].lower().startswith(SCHEMES):
        return address
    return absolute_url(address, base) or address
