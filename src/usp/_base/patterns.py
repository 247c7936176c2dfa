"""Patterns for URLs, with stars or as regular expressions."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FOR_SITEMAPS = "sitemap:"
"""The prefix of a pattern for the URL of the sitemap."""

_REGULAR = "re:"


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns for URLs: those to include and those to exclude."""

    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, include: Iterable[str], exclude: Iterable[str]) -> Patterns:
        """Compile patterns; raises ``ValueError`` for one that is invalid."""
        return cls(
            tuple(_compiled("include", text) for text in include),
            tuple(_compiled("exclude", text) for text in exclude),
        )

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def match(self, url: str) -> bool:
        """Return whether a URL is included and not excluded."""
        return self.includes(url) and not self.excludes(url)

    def includes(self, url: str) -> bool:
        """Return whether a URL matches a pattern to include, or there are none."""
        return not self.include or any(pattern.search(url) for pattern in self.include)

    def excludes(self, url: str) -> bool:
        """Return whether a URL matches a pattern to exclude."""
        return any(pattern.search(url) for pattern in self.exclude)


def checked(name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return patterns as a tuple; raises ``ValueError`` for one that is empty."""
    patterns = (given,) if isinstance(given, str) else tuple(given)
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern.removeprefix(FOR_SITEMAPS):
            raise ValueError(f"{name} has an empty pattern; write for example '*/blog/*'")
    return patterns


def for_sitemaps(given: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of a selection that are for sitemaps, without their prefix."""
    return tuple(text.removeprefix(FOR_SITEMAPS) for text in given if text.startswith(FOR_SITEMAPS))


def for_pages(given: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of a selection that are for pages."""
    return tuple(text for text in given if not text.startswith(FOR_SITEMAPS))


def _compiled(name: str, text: str) -> re.Pattern[str]:
    if not text.startswith(_REGULAR):
        host = r"[A-Za-z]+://[^/?#]*" if text.startswith("/") else ""
        return re.compile(rf"\A{host}{fnmatch.translate(text)}")
    try:
        return re.compile(text.removeprefix(_REGULAR))
    except re.error as error:
        raise ValueError(f"{name} {text!r} is not a valid regular expression: {error}") from error
