"""HTTP clients: the interface a user's own client implements, and the one on ``requests``."""

from typing import TYPE_CHECKING

from usp._base.names import elsewhere

if not TYPE_CHECKING:
    __getattr__ = elsewhere(__name__)
