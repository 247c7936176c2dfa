"""``jsonl``: an object a line for each page; ``json``: the same objects in one array."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import IO, TYPE_CHECKING, Any

from usp.export.forms import number_text, rows
from usp.export.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from usp.export.schema import AnyKind
    from usp.objects.page import PageBlock


def write_lines(
    blocks: Iterable[tuple[str | None, PageBlock]], stream: IO[bytes], names: Sequence[str]
) -> None:
    """Write an object a line; each has every column."""
    style = _Object("\n")
    for sitemap_url, block in blocks:
        lines = rows(names, sitemap_url, block, style)
        stream.write("".join(lines).encode("utf-8", "replace"))


def write_array(
    blocks: Iterable[tuple[str | None, PageBlock]], stream: IO[bytes], names: Sequence[str]
) -> None:
    """Write one array, object by object."""
    style = _Object("")
    begin = "["
    for sitemap_url, block in blocks:
        objects = ",\n".join(rows(names, sitemap_url, block, style))
        stream.write(f"{begin}\n{objects}".encode("utf-8", "replace"))
        begin = ","
    stream.write(b"[]\n" if begin == "[" else b"\n]\n")


class _Object:
    begin = "{"

    def __init__(self, behind: str) -> None:
        self.end = "}" + behind

    def label(self, name: str) -> str:
        """Give the key."""
        return f'"{name}":'

    def cells(self, values: Sequence[Any], kind: AnyKind) -> Iterable[str]:
        """Give values as JSON."""
        encode = _ENCODERS.get(kind, _encode) if isinstance(kind, Kind) else _encode
        return ["null" if value is None else encode(value) for value in values]


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode

_ENCODERS: dict[Kind, Callable[[Any], str]] = {
    Kind.TEXT: encode_basestring,
    Kind.WORD: encode_basestring,
    Kind.TIME: encode_basestring,
    Kind.NUMBER: number_text,
}
