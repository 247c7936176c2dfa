"""Finds the lines of elements in a document that is read again."""

from __future__ import annotations

import io
import re
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_TAG = 300  # characters of the names that are looked for, and more


def _token(names: set[str]) -> re.Pattern[str]:
    either = "|".join(map(re.escape, sorted(names)))
    return re.compile(rf"<!--|-->|<({either})(?=[\s/>])")


def lines_of_tags(texts: Iterable[str], names: set[str]) -> dict[str, int]:
    """Return the lines of the first tags of some names, outside of comments."""
    lines: dict[str, int] = {}
    if not names:
        return lines
    token = _token(names)
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    line, held, in_comment = 1, "", False
    for piece in chain(texts, ("\n" * _LONGEST_TAG,)):
        text = held + newlines.decode(piece)
        end = max(0, len(text) - _LONGEST_TAG)  # what begins after it may go on in the next piece
        counted = 0
        for found in token.finditer(text):
            at = found.start()
            if at >= end:
                break
            if found[1] is None:
                in_comment = found[0] == "<!--"
            elif not in_comment and found[1] not in lines:
                line += text.count("\n", counted, at)
                counted = at
                lines[found[1]] = line
        if len(lines) == len(names):
            break
        line += text.count("\n", counted, end)
        held = text[end:]
    return lines
