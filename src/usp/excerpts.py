"""Text that strangers wrote, at the length at which it is kept in messages, reasons and names."""

from __future__ import annotations

MAX_TEXT = 500
"""Characters that are kept of a message, a reason or a name: what is longer says no more."""


def excerpt(text: str, most: int = MAX_TEXT) -> str:
    """Return text as it is, or its beginning if it has more than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
