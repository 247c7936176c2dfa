"""Text that a website wrote, fit to keep and to show: bounded, and unable to steer a terminal."""

from __future__ import annotations

from urllib.parse import quote

MAX_TEXT = 500
"""Characters that are kept of a message, a reason or a name: what is longer says no more."""


def excerpt(text: str, most: int = MAX_TEXT) -> str:
    """Return text as it is, or its beginning if it has more than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """Return text with what has no shape percent-encoded: controls, line ends, marks of direction."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else quote(char, errors="surrogatepass") for char in text
    )
