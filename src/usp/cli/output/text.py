"""Text that is safe to print: what a website wrote must not steer a terminal."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from usp._base.safe_text import printable

__all__ = ["printable", "shown_below", "write_lines"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def shown_below(homepage_url: str) -> Callable[[str], str]:
    """Give what shows URLs from their path on, if they begin with ``homepage_url``."""
    keep_from = len(homepage_url) - 1  # the slash at its end

    def shown(url: str) -> str:
        return printable(url[keep_from:] if url.startswith(homepage_url) else url)

    return shown


def write_lines(lines: Iterable[str], stream: TextIO) -> None:
    """Write lines as they come; percent-encodes what the stream's encoding does not have."""
    encoding = (stream.encoding or "utf-8").lower()
    if encoding in ("utf-8", "utf8"):
        stream.writelines(f"{line}\n" for line in lines)
    else:
        stream.writelines(f"{_encodable(line, encoding)}\n" for line in lines)


def _encodable(line: str, encoding: str) -> str:
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return quote(line, safe=string.printable)
    return line
