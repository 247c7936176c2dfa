"""Cursors: where the next part of a list begins, as an opaque text.

A cursor names the tree that the list was made from, so that its parts belong together however often
the website is fetched in the meantime, and the arguments of the call, so that it cannot be mixed up.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usp.mcp.words import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_CHARACTERS = 400
_LARGEST = 1e15


@dataclass(frozen=True, slots=True)
class Cursor:
    """A tree by its name, a digest of the arguments, and a position in the list."""

    tree: str
    digest: str
    position: tuple[float | int | None, ...]

    def __str__(self) -> str:
        fields = json.dumps([self.tree, self.digest, *self.position], separators=(",", ":"))
        return base64.urlsafe_b64encode(fields.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str, digest: str, numbers: int) -> Cursor:
        """Return the cursor that a text means; it must be of a call with the same arguments.

        ``numbers`` is how many its position has.
        """
        try:
            padded = text + "=" * (-len(text) % 4)
            fields = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
            tree, given, *position = fields
        except (ValueError, TypeError, RecursionError):
            fields, tree, given, position = None, None, None, []
        fits = len(position) == numbers and all(map(_is_number, position))
        if not isinstance(tree, str) or not isinstance(given, str) or not fits:
            raise Refusal(
                "This is not a cursor: pass next_cursor of an earlier result, or leave it out."
            )
        if given != digest:
            raise Refusal(
                "The cursor is from a call with other arguments: repeat those of that call, or leave "
                "the cursor out to begin a new list."
            )
        return cls(tree, given, tuple(position))


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return value is None or (isinstance(value, int | float) and -_LARGEST < value < _LARGEST)


def digest_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return what the calls for the parts of one list have in common."""
    text = json.dumps([tool, arguments], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()
