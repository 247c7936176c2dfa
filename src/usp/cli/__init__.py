"""The command line: a thin layer over the library.

``commands`` has a module for each command, ``app`` puts them together and decides how they end. Ctrl-C
is handled before any of that is loaded.
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
    if argv is None:  # the command is the whole process
        interrupts.guard()
    from usp.cli import app

    interrupts.allow()
    try:
        app.main(argv)
    finally:
        interrupts.finish()
