"""The command line: a thin skin over the library.

``commands`` has a module for each command, ``output`` one for each format of a listing; ``app``
puts the commands together and decides how they end.
"""

from usp.cli.app import main

__all__ = ["main"]
