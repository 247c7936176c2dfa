"""``csv``: a header, then a line for each page, as RFC 4180 has it."""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING, Any

from usp.export.forms import number_text, rows
from usp.export.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from usp.export.schema import AnyKind
    from usp.objects.page import PageBlock

_QUOTED = re.compile(r'[",\r\n]')
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNUSUAL = ('"', ",", "\r", *(f"\n{sign}" for sign in _FORMULA))


def write(
    blocks: Iterable[tuple[str | None, PageBlock]], stream: IO[bytes], names: Sequence[str]
) -> None:
    """Write a table; what has structure stands in its cell as JSON."""
    stream.write((",".join(names) + "\r\n").encode())
    style = _Line()
    for sitemap_url, block in blocks:
        lines = rows(names, sitemap_url, block, style)
        stream.write("".join(lines).encode("utf-8", "replace"))


class _Line:
    begin, end = "", "\r\n"

    def label(self, name: str) -> str:
        """Give nothing: the header has the names."""
        del name
        return ""

    def cells(self, values: Sequence[Any], kind: AnyKind) -> Iterable[str]:
        """Give cells, an empty one where there is no value."""
        if kind is Kind.NUMBER:
            return ["" if value is None else number_text(value) for value in values]
        if kind is Kind.FLAG:
            return ["" if value is None else "true" if value else "false" for value in values]
        if kind is Kind.TIME:
            return [value or "" for value in values]
        if not isinstance(kind, Kind):
            return ["" if value is None else quoted(_ENCODE(value)) for value in values]
        texts = [value or "" for value in values]
        # Most addresses and words need no quotes, and one look at all of them tells.
        joined = "\n" + "\n".join(texts)
        usual = joined.count("\n") == len(texts) and not any(sign in joined for sign in _UNUSUAL)
        return texts if usual else [quoted(guarded(text)) for text in texts]


def guarded(text: str) -> str:
    """Give text that no spreadsheet takes for a formula: with an apostrophe before it, if need be."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def quoted(text: str) -> str:
    """Give a cell for a text, in quotes if it needs them."""
    if not _QUOTED.search(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
