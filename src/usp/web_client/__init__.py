"""HTTP clients: the interface a user's own client implements, and the one on ``requests``."""

from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr

if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(__name__)
