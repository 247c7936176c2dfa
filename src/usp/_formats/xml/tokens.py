"""What the scanner gives: start tags, end tags and text, one by one or many at once."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Protocol, TypeAlias

# More than XML allows beyond ASCII: anything else there is damage anyway.
NAME = r"[A-Za-z_:\x80-\U0010ffff][A-Za-z0-9_.:\x80-\U0010ffff-]*+"
TAG = re.compile(rf"""<(/?)({NAME})([^<>"']*+(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*+)>""")
_TOKEN = re.compile(TAG.pattern + r"([^<]*+)(?:(</\2>)([^<]*+))?+")
_CLOSING = itemgetter(4)


Token: TypeAlias = tuple[str, str, str, str, str, str]
"""A tag and what follows: slash, name, attributes, text; the element's end, if that is next; text."""


def proper_tags(text: str, at: int, end: int) -> list[Token] | None:
    """Cut a stretch without comments, sections and instructions; None if a tag in it is not proper.

    If there are as many ``<`` as tags, then every ``<`` begins one.
    """
    opening = text.count("<", at, end)
    tokens: list[Token] = _TOKEN.findall(text, at, end)
    if not tokens or len(tokens) + sum(map(bool, map(_CLOSING, tokens))) != opening:
        return None
    return tokens


class Handler(Protocol):
    """Receives the tokens of a document from the scanner, in order."""

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Begin an element; ``attributes`` is the text in the tag after the name."""
        ...

    def end(self, name: str) -> None:
        """End an element, or what claims to be one."""
        ...

    def text(self, raw: str) -> None:
        """Add text, references not decoded; long runs come in pieces."""
        ...

    def cdata(self, text: str) -> None:
        """Add the text of a CDATA section."""
        ...

    def take(self, tokens: list[Token]) -> None:
        """Take many proper tags at once."""
        ...

    def declaration(self, kind: str, subset: bool) -> None:
        """Take a DOCTYPE or another declaration of a DTD, in capitals.

        ``subset`` if it may have declarations of its own inside.
        """
        ...


class Deaf:
    """A handler that ignores everything, for a document that was abandoned."""

    def _ignore(self, *_: object) -> None:
        """Pass over everything."""

    start = end = text = cdata = take = declaration = _ignore


DEAF = Deaf()
