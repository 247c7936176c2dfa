"""Decodes character references, and attribute values with them, the way XML means it."""

from __future__ import annotations

import html.entities
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Callable

    Note = Callable[[ProblemCode, str], None]
    """``note(code, excerpt)``: called for each problem."""

_REFERENCE = re.compile(r"&(?:#([0-9]+|[xX][0-9a-fA-F]+)|([^\s&;#<]{1,40}));")
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_MAX_DIGITS = 8
_XML = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/"'<>])([^\s=/"'<>]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))"""
)
_SIMPLE_ATTRIBUTE = re.compile(r"""\s([\w.:-]++)="([^"]*+)\"""")
_BLANK = re.compile(r"[\t\n\r]")
_SPACES = (9, 10, 13, 32, 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288)
MAX_REFERENCE = 50
"""Characters of a longer reference are not waited for; none to a blank is as long."""


def decode_text(raw: str, note: Note) -> str:
    """Return text with references decoded and forbidden characters removed."""
    return without_forbidden(decode_references(raw, note) if "&" in raw else raw, note)


def decode_references(raw: str, note: Note) -> str:
    """Return text with references decoded; they are never those of forbidden characters."""
    if raw.count("&") == raw.count("&amp;"):  # by far the most usual reference
        return raw.replace("&amp;", "&")

    def decode(match: re.Match[str]) -> str:
        number, name = match.groups()
        if number:
            return _character(number, match[0], note)
        known = _XML.get(name)
        if known is not None:
            return known
        note(ProblemCode.BAD_ENTITY, match[0])
        return html.entities.html5.get(f"{name};", match[0])

    decoded, count = _REFERENCE.subn(decode, raw)
    if raw.count("&") > count:
        note(ProblemCode.BARE_AMPERSAND, raw.strip())
    return decoded


def without_blanks(raw: str, others: str = "") -> str:
    """Return a text without the blanks before it, and ``others``, however these are written."""
    rest = raw.lstrip()
    if not rest or rest[0] not in f"&{others}":
        return rest
    found = _blanks(others).match(rest)
    return rest[found.end() :] if found else rest


@lru_cache(maxsize=4)
def _blanks(others: str) -> re.Pattern[str]:
    """Return the pattern of blanks, and others, as they are written: as such, or as references."""
    decimal, hexadecimal = "|".join(map(str, _SPACES)), "|".join(map("{:x}".format, _SPACES))
    written = rf"&#(?:0{{0,30}}+(?:{decimal})|[xX]0{{0,30}}+(?i:{hexadecimal}));"
    return re.compile(rf"(?:[\s{re.escape(others)}]++|{written})*+")


def without_forbidden(text: str, note: Note) -> str:
    """Return text, that of a CDATA section for example, without forbidden characters."""
    if text.isprintable():
        return text
    cleaned = FORBIDDEN.sub("", text)
    if len(cleaned) != len(text):
        note(ProblemCode.CONTROL_CHARACTER, cleaned)
    return cleaned


PRINTED = bytes(range(0x20, 0x7F))
"""All characters of ASCII that are printed."""


def has_others(text: str, usual: bytes) -> bool:
    """Return whether a text has other ASCII characters than the ``usual``, or any that is not printed.

    This takes a tenth of the time of ``str.isprintable`` where a text has only usual ones.
    """
    others = text.encode("utf-8", "surrogatepass").translate(None, usual)
    if not others:
        return False
    letters = others.decode("utf-8", "surrogatepass")
    return min(letters) <= "\x7f" or not letters.isprintable()


def _character(number: str, written: str, note: Note) -> str:
    digits, base = (number[1:], 16) if number[0] in "xX" else (number, 10)
    digits = digits.lstrip("0") or "0"
    code = int(digits, base) if len(digits) <= _MAX_DIGITS else -1
    try:
        character = chr(code)
    except (ValueError, OverflowError):
        character = "\0"
    if FORBIDDEN.match(character):
        note(ProblemCode.BAD_REFERENCE, written)
        return ""
    return character


def attributes(raw: str, note: Note) -> dict[str, str]:
    """Return the attributes of a tag, names in lower case; of two with one name the first counts."""
    if "&" not in raw:
        pairs = _SIMPLE_ATTRIBUTE.findall(raw)
        if raw.count("=") == len(pairs) and raw.isprintable():
            return {name.lower(): value for name, value in reversed(pairs)}
    result: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        result.setdefault(name.lower(), attribute_value(double or single or bare, note))
    return result


def attribute_value(raw: str, note: Note) -> str:
    """Return the value of an attribute as it is written between quotes, references decoded."""
    if "&" in raw or not raw.isprintable():
        return decode_text(_BLANK.sub(" ", raw), note)
    return raw
