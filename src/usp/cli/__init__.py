"""The command line: a thin skin over the library.

``commands`` has a module for each command, ``output`` one for each format of a listing; ``app``
puts the commands together and decides how they end. Nothing of that is loaded before Ctrl-C is taken
care of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from usp._compat.names import elsewhere
from usp.cli.interrupts import interrupts

if TYPE_CHECKING:
    from collections.abc import Sequence
else:
    __getattr__ = elsewhere(__name__)

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line with these arguments, by default those of the process.

    Always ends in ``SystemExit``.
    """
    if argv is None:  # the process is that of the command
        interrupts.guard()
    from usp.cli import app

    interrupts.allow()
    try:
        app.main(argv)
    finally:
        interrupts.finish()
