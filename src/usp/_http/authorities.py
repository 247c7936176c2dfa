"""Certificate authorities that somebody has chosen: in a file, or in a folder."""

from __future__ import annotations

import ssl
from functools import cache
from pathlib import Path

__all__ = ["trusting"]


@cache
def trusting(place: str) -> ssl.SSLContext:
    """Return what trusts the authorities in a file (PEM) or a folder, and no others.

    Reading them takes long, so it is done once. Raises ``OSError`` if there are none.
    """
    if Path(place).is_dir():
        return ssl.create_default_context(capath=place)
    return ssl.create_default_context(cafile=place)
