"""URLs of images, videos and other languages that are relative, as they are written.

The parser resolves them, so they are looked for in the text that entries were read from.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.blocks import Block

# A value begins with neither a scheme nor markup.
_START = r"[ \t\r\n]*+(?![A-Za-z][A-Za-z0-9+.-]*+:|[ \t\r\n<\"'])"
_END = re.compile(r"</(?:[\w.-]++:)?url[ \t\r\n]*+>")


class Places(NamedTuple):
    """Where URLs are: what comes before one, and what finds a relative one."""

    before: tuple[str, ...]
    pattern: re.Pattern[str]


LINKS = Places(
    ('href="', "href='"),
    re.compile(rf"""<[\w.-]++:link[ \t\r\n][^<>]*?[ \t\r\n]href=["']{_START}([^"'<>]++)"""),
)
IMAGES = Places(("<image:loc>",), re.compile(rf"<image:loc>{_START}([^<]++)"))
VIDEOS = Places(
    ("<video:thumbnail_loc>", "<video:content_loc>", "<video:player_loc>"),
    re.compile(rf"<video:(?:thumbnail_loc|content_loc|player_loc)>{_START}([^<]++)"),
)


def relative_in(block: Block, places: Places) -> Iterator[tuple[int, str]]:
    """Yield the relative URLs at some places of a block, with the numbers of their entries."""
    text = block.text
    if text is None or "<!--" in text or block.sitemap.kind != "urlset":
        return
    if all(text.count(one) == text.count(f"{one}http") for one in places.before):
        return
    at = position = 0
    for found in places.pattern.finditer(text):
        at += sum(1 for _ in _END.finditer(text, position, found.start()))
        position = found.start()
        if at < len(block.urls):
            yield at, found[1].strip()
