"""The standard output as rich writes to it."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console

_NO_WRAP = 1_000_000  # columns: a pipe has no width, and a URL that is cut cannot be copied


class Output(Console):
    """A console that leaves it to the command what a closed pipe means."""

    def __init__(self) -> None:
        super().__init__(highlight=False, emoji=False, width=_NO_WRAP)

    def on_broken_pipe(self) -> NoReturn:
        """Say so, where rich would end the process."""
        raise BrokenPipeError
