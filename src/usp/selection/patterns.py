"""Patterns for addresses: with stars, or regular expressions."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SITEMAP = "sitemap:"
_REGULAR = "re:"


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns for addresses, those that are wanted and those that are not."""

    include: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, given: Mapping[str, tuple[str, ...]], *, for_sitemaps: bool) -> Patterns:
        """Make those for sitemaps, or those for pages, of what stands in a selection."""
        chosen = {
            name: tuple(
                _compiled(name, text.removeprefix(_SITEMAP))
                for text in texts
                if text.startswith(_SITEMAP) == for_sitemaps
            )
            for name, texts in given.items()
        }
        return cls(**chosen)

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def match(self, url: str) -> bool:
        """Tell whether an address is wanted."""
        if self.include and not any(pattern.search(url) for pattern in self.include):
            return False
        return not any(pattern.search(url) for pattern in self.exclude)


def checked(name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Give patterns as a tuple; raises ``ValueError`` for one that is empty."""
    patterns = (given,) if isinstance(given, str) else tuple(given)
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern.removeprefix(_SITEMAP):
            raise ValueError(f"{name} has an empty pattern; write for example '*/blog/*'")
    return patterns


def _compiled(name: str, text: str) -> re.Pattern[str]:
    if not text.startswith(_REGULAR):
        host = r"[A-Za-z]+://[^/?#]*" if text.startswith("/") else ""
        return re.compile(rf"\A{host}{fnmatch.translate(text)}")
    try:
        return re.compile(text.removeprefix(_REGULAR))
    except re.error as error:
        raise ValueError(
            f"{name} has a regular expression that cannot be read, {text!r}: {error}"
        ) from error


def of_host(site: str | None) -> re.Pattern[str]:
    """Give what the addresses on the host of a website match."""
    host = urlsplit(site or "").hostname
    if host is None:
        raise ValueError("same_host needs to know the website: hand in its URL as 'site'")
    name = re.escape(host.removeprefix("www."))
    return re.compile(
        rf"https?://(?:[^/?#]*@)?(?:www\.)?{name}(?::\d*)?(?:[/?#]|\Z)", re.IGNORECASE
    )
