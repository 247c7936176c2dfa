"""Cuts text into lines: what robots.txt and plain-text sitemaps are made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.objects.problem import Problems

MAX_LINE = 64 * 1024
"""Longer lines are no lines that mean anything, and are passed over."""

_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")  # as str.splitlines has it


class Lines:
    """Gives the complete lines with their numbers: ``feed`` text, then ``close``."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._rest = ""
        self._number = 0
        self._too_long = False

    @property
    def idle(self) -> bool:
        """Whether the next character begins a line."""
        return not self._rest and not self._too_long

    def skip(self, count: int) -> None:
        """Count lines that somebody else has read."""
        self._number += count

    def feed(self, text: str) -> Iterator[tuple[int, str]]:
        """Give the lines that are complete so far, without their ends."""
        if self._rest.endswith("\r") or text.endswith("\r"):
            # A CR may be half of a CRLF: it waits for what follows.
            text, self._rest = self._rest + text, ""
            held = "\r" if text.endswith("\r") else ""
            text = text[: len(text) - len(held)]
        else:
            text, held = self._rest + text, ""
        *lines, self._rest = _LINE_END.split(text)
        for line in lines:
            yield from self._line(line)
        self._rest += held
        if len(self._rest) - len(held) > MAX_LINE:
            self._too_long = True
            self._rest = self._rest[-1:] if held else ""

    def close(self) -> Iterator[tuple[int, str]]:
        """Give the last line, unless the document breaks off in it."""
        line = self._rest.removesuffix("\r")
        self._rest = ""
        if line and self._problems.unfinished is not None:
            self._problems.add("the document breaks off in a line", self._number + 1, line, lost=1)
            return
        if line or self._too_long:
            yield from self._line(line)

    def _line(self, line: str) -> Iterator[tuple[int, str]]:
        self._number += 1
        if self._too_long or len(line) > MAX_LINE:
            self._too_long = False
            self._problems.add("a line is too long and was passed over", self._number)
            return
        yield self._number, line
