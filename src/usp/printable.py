"""Text that is safe to show: what a website wrote must not steer a terminal, or forge a line."""

from __future__ import annotations

from urllib.parse import quote


def printable(text: str) -> str:
    """Return text with what has no shape percent-encoded: controls, line ends, marks of direction."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else quote(char, errors="surrogatepass") for char in text
    )
