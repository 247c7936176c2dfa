"""Text of websites, made fit to be shown: no controls, no marks of direction, no endless lines."""

from __future__ import annotations

from urllib.parse import quote

MAX_URL = 300
MAX_TEXT = 200
DASH = "\N{EN DASH}"


def shown_url(url: str, most: int = MAX_URL) -> str:
    """Give a URL with everything that has no shape percent-encoded, cut in its middle if long."""
    if len(url) > 2 * most:
        url = url[:most] + url[-most:]
    if not url.isprintable():
        url = "".join(c if c.isprintable() else quote(c, errors="surrogatepass") for c in url)
    if len(url) <= most:
        return url
    tail = most // 3
    return f"{url[: most - tail - 1]}…{url[-tail:]}"


def shown_text(text: str, most: int = MAX_TEXT) -> str:
    """Give text on one line, what has no shape as an escape, cut if long."""
    text = " ".join(text[: 2 * most].split())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escape(c) for c in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _escape(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"
