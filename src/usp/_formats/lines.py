"""Cuts text into lines: what robots.txt and plain-text sitemaps are made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from usp.objects.problem import ProblemCode

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
        self._parts: list[str] = []  # of the line that is not complete
        self._length = 0  # of that line, however much of it is kept
        self._cr = False  # whether a CR waits: it may be half of a CRLF
        self._number = 0

    @property
    def idle(self) -> bool:
        """Whether the next character begins a line."""
        return not self._length and not self._cr

    def skip(self, count: int) -> None:
        """Count lines that somebody else has read."""
        self._number += count

    def feed(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines that are complete so far, without their ends."""
        if not text:
            return
        if self._cr:
            text = "\r" + text
        self._cr = text.endswith("\r")
        begun, *lines = _LINE_END.split(text[:-1] if self._cr else text)
        self._hold(begun)
        for line in lines:
            yield from self._complete()
            self._hold(line)

    def close(self) -> Iterator[tuple[int, str]]:
        """Yield the last line, unless the document breaks off in it."""
        self._cr = False
        if not self._length:
            return
        if self._problems.unfinished is not None and self._length <= MAX_LINE:
            line = "".join(self._parts)
            self._problems.add(ProblemCode.CUT_LINE, self._number + 1, line, lost=1)
            return
        yield from self._complete()

    def _hold(self, text: str) -> None:
        """Keep a part of a line; no more of a line is kept than may mean something."""
        self._length += len(text)
        if self._length > MAX_LINE:
            self._parts.clear()
        elif text:
            self._parts.append(text)

    def _complete(self) -> Iterator[tuple[int, str]]:
        line, too_long = "".join(self._parts), self._length > MAX_LINE
        self._parts.clear()
        self._length = 0
        self._number += 1
        if too_long:
            self._problems.add(ProblemCode.LONG_LINE, self._number)
        else:
            yield self._number, line
