"""The command line: a thin skin over the library.

``commands`` has a module for each command, ``output`` one for each format of a listing; ``app``
puts the commands together and decides how they end.
"""

from typing import TYPE_CHECKING

from usp.cli.app import main
from usp.names import elsewhere

if not TYPE_CHECKING:
    __getattr__ = elsewhere(__name__)

__all__ = ["main"]
