"""The command line: a thin layer over the library.

``commands`` has a module for each command, ``cli`` puts them together and decides how they end. Ctrl-C
is handled here, from the first import to the last flush: one line and status 130, never a traceback.

While a command is being loaded, Ctrl-C ends the process: there is nothing to clean up. While it runs,
the first Ctrl-C raises ``KeyboardInterrupt``, so that files are cleaned up; a second one ends the
process. If SIGINT is ignored (``nohup``) or handled by other code, nothing is changed.

This is loaded before everything else of the command line, and imports almost nothing itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from usp._base.names import lazy_getattr

if TYPE_CHECKING:
    from collections.abc import Sequence
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = ["main"]


INTERRUPTED = 130
_AGAIN = 0.02  # seconds after which an interrupt that went nowhere is sent again


class Interrupts:
    """Handles Ctrl-C in the process of a command."""

    def __init__(self) -> None:
        self.reported = False  # whether the user knows
        self.received = False
        self._raises = self._over = False

    def guard(self) -> None:
        """End the process at Ctrl-C from now on, until :meth:`allow`."""
        is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if is_usual and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._handle)
            sys.unraisablehook = self._lost
            self._raises = self._over = False

    def allow(self) -> None:
        """Let the next Ctrl-C raise ``KeyboardInterrupt``."""
        self._raises = True

    def finish(self) -> None:
        """Restore the default handler; from now on, Ctrl-C ends the process silently."""
        if signal.getsignal(signal.SIGINT) == self._handle:
            self._over = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, *_: object) -> NoReturn:
        if self._raises:
            self._raises, self.received = False, True
            raise KeyboardInterrupt
        if not self.reported:
            clear_progress = b"\r\x1b[2K" if os.isatty(2) else b""
            os.write(2, clear_progress + _line())
        os._exit(INTERRUPTED)

    def _lost(self, unraisable: Any) -> None:
        """Raise an interrupt again that Python could not raise, in a destructor for example."""
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(unraisable)
        elif self._over:
            os._exit(INTERRUPTED)
        else:
            self._raises = True
            again = threading.Timer(_AGAIN, signal.raise_signal, (signal.SIGINT,))
            again.daemon = True
            again.start()


def has_format(args: Sequence[str]) -> bool:
    """Return whether arguments set the format of results, or the file whose suffix does."""
    return any(word.startswith(("-f", "-o", "--format", "--output")) for word in args)


_OFF = frozenset({"", "0", "false", "no", "off", "n", "f"})


def wants_json(argv: Sequence[str] | None = None) -> bool:
    """Return whether the options or the environment ask for messages as JSON.

    That is ``--log-format json`` or USP_LOG_FORMAT; in earlier versions, ``--json`` or USP_JSON.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    if "--json" in (given if has_format(given) else given[:1]):
        return True
    if "--log-format=json" in "=".join(given):
        return True
    log_format, as_json = (os.environ.get(name, "") for name in ("USP_LOG_FORMAT", "USP_JSON"))
    return log_format.strip().lower() == "json" or as_json.strip().lower() not in _OFF


def _line() -> bytes:
    if wants_json():
        return b'{"error": "interrupted", "status": 130, "hint": null}\n'
    return b"usp: interrupted\n"


interrupts = Interrupts()


def _open_closed_streams() -> None:
    """Open the standard streams that the caller has closed, before a file gets their numbers.

    What is written to the standard output fails, as it should; there is nobody to read messages.
    """
    for name, flags, mode in (
        ("stdin", os.O_RDONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:  # what is opened gets the lowest free number: its own
            opened = os.open(os.devnull, flags)
            setattr(sys, name, open(opened, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line with these arguments, by default those of the process.

    Always ends in ``SystemExit``.
    """
    if argv is None:  # the command is the whole process
        interrupts.guard()
        _open_closed_streams()
    from usp.cli import cli

    interrupts.allow()
    try:
        cli.main(argv)
    finally:
        interrupts.finish()
